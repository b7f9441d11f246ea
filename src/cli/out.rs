//! Output: text for people, one JSON object for programs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value};

use super::Common;
use super::error::CliError;
use super::exit::Exit;
use super::live::Streamed;
use crate::base::fold::{Shape, fold};
use crate::base::json;
use crate::base::sync::unpoisoned;
use crate::base::terminal_text::terminal_text;
use crate::base::text::{escape, escape_line};
use crate::diagnostic::{Diagnostic, Failure, Paint, Style};
use crate::report::{Warned, error_json, error_text};
use crate::rye::Failed;

/// Work that takes longer than this shows a progress bar, in milliseconds (core 11).
const PROGRESS_AFTER_MS: u64 = 500;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

thread_local! {
    /// Takes the place of standard error while this thread answers a caller of the library.
    static CALLER: RefCell<Option<Answer>> = const { RefCell::new(None) };
}

/// Answers a caller of the library: standard error goes to `stderr` while `does` runs.
pub(super) fn for_caller<T>(stderr: &Answer, does: impl FnOnce() -> T) -> T {
    CALLER.set(Some(stderr.clone()));
    let done = does();
    CALLER.set(None);
    done
}

fn has_caller() -> bool {
    CALLER.with_borrow(Option::is_some)
}

/// Standard error, or what the caller of the library reads in its place.
fn stderr() -> Box<dyn Write> {
    CALLER.with_borrow(|caller| match caller {
        Some(stderr) => Box::new(stderr.clone()) as Box<dyn Write>,
        None => Box::new(io::stderr()),
    })
}

/// The bytes of a stream, for a caller of the library.
#[derive(Clone, Default)]
pub(super) struct Answer(Arc<Mutex<Vec<u8>>>);

impl Answer {
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *unpoisoned(self.0.lock()))
    }
}

impl Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unpoisoned(self.0.lock()).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output and standard error, in the form that was asked for.
pub(super) struct Out {
    json: bool,
    stdout: BufWriter<Box<dyn Write>>,
    paint: Paint,
    paint_err: Paint,
    to_terminal: bool,
    /// The width of the terminal behind standard output.
    columns: Option<usize>,
    /// The standard error of a tool was shown as it came.
    showed_stderr: bool,
    /// The first thing that went wrong with standard output.
    lost: Option<io::Error>,
    /// Who reads standard output has seen enough.
    pub(super) is_closed: bool,
}

/// The output that the caller of the library reads, as JSON or as text.
impl From<(bool, Answer)> for Out {
    fn from((json, answer): (bool, Answer)) -> Self {
        let stdout = BufWriter::new(Box::new(answer) as Box<dyn Write>);
        Self { stdout, to_terminal: false, columns: None, ..Self::plain(json) }
    }
}

impl Out {
    pub(super) fn new(common: &Common) -> Self {
        let wanted = |terminal: bool| match common.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && takes_color(),
        };
        Self {
            paint: Paint(wanted(io::stdout().is_terminal())),
            paint_err: Paint(wanted(io::stderr().is_terminal())),
            ..Self::plain(common.json)
        }
    }

    /// The output for a command line that could not be read.
    pub(super) fn plain(json: bool) -> Self {
        Self {
            json,
            stdout: BufWriter::new(Box::new(io::stdout())),
            paint: Paint(false),
            paint_err: Paint(false),
            to_terminal: is_terminal(),
            columns: columns(&io::stdout()),
            showed_stderr: false,
            lost: None,
            is_closed: false,
        }
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    pub(super) fn paint(&self) -> Paint {
        self.paint
    }

    pub(super) fn paint_err(&self) -> Paint {
        self.paint_err
    }

    /// How many columns a line may have; as many as one likes where there is no terminal.
    pub(super) fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// Writes rye's own text, in lines that fit a terminal. Foreign parts are already escaped.
    pub(super) fn text(&mut self, text: &str) {
        self.shaped(text, Shape::Rows);
    }

    /// As [`Self::text`], for text with labels that end in the column of those of a dry run.
    pub(super) fn labelled(&mut self, text: &str) {
        self.shaped(text, Shape::Labels(12));
    }

    /// As [`Self::text`], for Markdown.
    pub(super) fn page(&mut self, text: &str) {
        self.shaped(text, Shape::Page);
    }

    fn shaped(&mut self, text: &str, shape: Shape) {
        match self.columns {
            Some(columns) => self.exact(&fold(text, columns, shape)),
            None => self.exact(text),
        }
    }

    /// Writes text of which each character counts, such as a change to a file.
    pub(super) fn exact(&mut self, text: &str) {
        let written = self.stdout.write_all(text.as_bytes());
        self.keep(written);
    }

    pub(super) fn line(&mut self, text: &str) {
        self.text(text);
        self.text("\n");
    }

    /// Writes foreign text: escaped on a terminal, unchanged anywhere else.
    pub(super) fn foreign(&mut self, text: &str) {
        if self.to_terminal {
            self.exact(&escape(text));
        } else {
            self.exact(text);
        }
    }

    /// Writes foreign text to standard error, always escaped.
    pub(super) fn foreign_err(&mut self, text: &str) {
        self.flush();
        let _ = stderr().write_all(escape(text).as_bytes());
    }

    /// Takes over from who showed output as it came.
    pub(super) fn go_on(&mut self, streamed: &mut Streamed) {
        self.showed_stderr = streamed.stderr;
        if let Some(lost) = streamed.lost.take() {
            self.keep(Err(lost));
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        // Earlier output is flushed, so that it comes first if both streams go to one terminal.
        self.flush();
        note(text);
    }

    pub(super) fn warn(&mut self, text: &str) {
        let label = self.paint_err.style(Style::Warning, "warning");
        self.note(&format!("{label}: {text}"));
    }

    /// Shows what dev mode let through, on standard error, also with JSON.
    pub(super) fn warned(&mut self, warnings: &[Warned]) {
        for warned in warnings {
            self.note(&format!("[DEV MODE] {}: {}", warned.code, escape_line(&warned.message)));
        }
    }

    pub(super) fn object(&mut self, value: &Value) {
        let written = json::write(&mut self.stdout, value);
        self.keep(written);
        self.text("\n");
    }

    /// The answer of a batch, which says at its top what it failed of.
    pub(super) fn batch(&mut self, worst: Option<&Diagnostic>, fields: Value) {
        let Some(worst) = worst else { return self.success(fields) };
        let mut out = Map::new();
        out.insert("status".into(), "error".into());
        out.extend(worst.to_json());
        if let Value::Object(fields) = fields {
            out.extend(fields);
        }
        self.object(&Value::Object(out));
    }

    /// `{"status": "success", …}`.
    pub(super) fn success(&mut self, fields: Value) {
        let mut out = Map::new();
        out.insert("status".into(), "success".into());
        if let Value::Object(fields) = fields {
            out.extend(fields);
        }
        self.object(&Value::Object(out));
    }

    /// Shows a failure and says how the process ends.
    pub(super) fn fail(&mut self, failure: &Failure) -> Exit {
        let diagnostic = failure.diagnostic();
        let run = failure.downcast_ref::<Failed>();
        self.warned(run.map_or(&[], |run| &run.warnings));
        if self.json {
            let value = match run {
                Some(run) => {
                    let trace = run.trace.as_deref();
                    let item = Some(run.item.as_str());
                    let shown = error_json(&diagnostic, item, &run.chain, run.elapsed, trace);
                    run.with_warnings(shown)
                }
                None => error_json(&diagnostic, None, &failure.chain(), Duration::ZERO, None),
            };
            self.object(&value);
        } else {
            // The last output of a program comes before the reason why it failed, as in a terminal.
            match diagnostic.data.get("stderr_tail").and_then(Value::as_str).map(str::trim_end) {
                None | Some("") => self.flush(),
                Some(_) if self.showed_stderr => self.flush(),
                Some(said) => self.foreign_err(&format!("{said}\n")),
            }
            let text = error_text(&diagnostic, self.paint_err);
            let _ = stderr().write_all(folded(&text, &io::stderr()).as_bytes());
        }
        let status = Exit::Status(diagnostic.code.exit_status());
        failure.interrupted().map_or(status, Exit::Signal)
    }

    pub(super) fn flush(&mut self) {
        let flushed = self.stdout.flush();
        self.keep(flushed);
    }

    fn keep(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) => {}
            // A closed pipe means that the reader has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.is_closed = true,
            Err(error) => drop(self.lost.get_or_insert(error)),
        }
    }

    /// Flushes the output; a lost answer is not a success.
    pub(super) fn end(&mut self, exit: Exit) -> Exit {
        self.flush();
        match self.lost.take() {
            Some(source) if exit == Exit::DONE => self.fail(&CliError::Output { source }.into()),
            _ => exit,
        }
    }
}

/// Writes the output of a program: as it would look without rye on a terminal, unchanged anywhere
/// else.
pub(super) fn output(text: &str, out: &mut Out) {
    match out.to_terminal {
        true => out.exact(&terminal_text(text)),
        false => out.exact(text),
    }
}

/// Writes the output of a program to standard error: escaped where that is no terminal.
pub(super) fn output_err(text: &str, out: &mut Out) {
    if io::stderr().is_terminal() {
        out.flush();
        let _ = stderr().write_all(terminal_text(text).as_bytes());
    } else {
        out.foreign_err(text);
    }
}

/// Notices that the reader of standard output is gone, without writing to it.
pub(super) fn notice_closed(out: &mut Out) {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let asked = poll(&mut fds, Some(&Timespec::default()));
    out.is_closed |= asked.is_ok() && fds[0].revents().contains(PollFlags::ERR);
}

/// Writes a line of rye's own to standard error, broken to fit a terminal.
pub(super) fn note(text: &str) {
    let _ = writeln!(stderr(), "{}", folded(text, &io::stderr()));
}

/// The text in lines that fit the terminal that it is for; as it is where there is none.
pub(super) fn folded<'t>(text: &'t str, stream: &(impl IsTerminal + AsFd)) -> Cow<'t, str> {
    columns(stream).map_or(Cow::Borrowed(text), |columns| fold(text, columns, Shape::Rows))
}

/// Writes what clap has to say: where a word of the line `hides` something, without colours, and
/// with that written out.
pub(super) fn usage(error: &clap::Error, hides: bool, out: &mut Out) {
    let text = error.render();
    let plain = || escape(&text.to_string()).into_owned();
    if has_caller() {
        let text = plain();
        match error.use_stderr() {
            true => drop(stderr().write_all(text.as_bytes())),
            false => out.exact(&text),
        }
        return out.flush();
    }
    let (columns, mut stream): (_, Box<dyn Write>) = match error.use_stderr() {
        true => (columns(&io::stderr()), Box::new(io::stderr())),
        false => (columns(&io::stdout()), Box::new(io::stdout())),
    };
    let text = match columns.is_some() && takes_color() && !hides {
        true => text.ansi().to_string(),
        false => plain(),
    };
    let text = columns.map_or(Cow::Borrowed(&*text), |columns| fold(&text, columns, Shape::Rows));
    let _ = stream.write_all(text.as_bytes());
}

/// Returns true if a terminal is to be coloured, as far as its environment says.
fn takes_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns true if standard output is a terminal.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The width of a terminal; `None` if there is none, or it does not say.
pub(super) fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let is_seen = !has_caller() && stream.is_terminal();
    let size = is_seen.then(|| rustix::termios::tcgetwinsize(stream).ok())??;
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= 40)
}

/// Logs go to standard error, and only when asked for: setting them up costs start-up time.
pub(super) fn logs(verbose: u8) {
    let asked = std::env::var("RYE_LOG").ok().filter(|v| !v.is_empty());
    let filter = match (asked, verbose) {
        (Some(filter), _) => filter,
        (None, 0) => return,
        (None, 1) => "rye=info".into(),
        (None, 2) => "rye=debug".into(),
        (None, _) => "rye=trace".into(),
    };
    let filter = tracing_subscriber::EnvFilter::new(filter);
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .without_time()
        .try_init();
}

/// A progress bar on standard error for work that takes longer than half a second; there is none if
/// standard error is not a terminal.
pub(super) struct Progress(indicatif::ProgressBar);

impl Progress {
    pub(super) fn new(out: &Out, length: usize, what: &'static str) -> Self {
        use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
        if out.json || !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(
            Some(u64::try_from(length).unwrap_or(u64::MAX)),
            ProgressDrawTarget::hidden(),
        );
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self(bar)
    }

    /// One more is done.
    pub(super) fn tick(&self) {
        self.0.inc(1);
        let late = self.0.elapsed().as_millis() > u128::from(PROGRESS_AFTER_MS);
        if late && self.0.is_hidden() && io::stderr().is_terminal() {
            self.0.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
    }

    pub(super) fn done(&self) {
        self.0.finish_and_clear();
    }
}
