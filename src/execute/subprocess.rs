//! The primitive `rye/core/primitives/execute`: a subprocess (core 7.11).

use super::authors_paths::{AuthorsPaths, StreamPaths};
use super::child::{RunContext, prepare, run_once};
use super::error::ExecuteError;
use super::new_repositories::Aftermath;
use super::outcome::{Outcome, shown_stderr, stderr_tail, was_cut};
use crate::base::mask::{Mask, StreamMask};
use crate::host::OutputStream;
use crate::id::Ref;
use crate::plan::{Plan, Process};
use crate::trace::{OutputPiece, Sink};

/// Starts the process and reads what it says to its end.
///
/// # Errors
/// `execute.*`
pub(crate) fn subprocess(
    plan: &Plan,
    process: &Process,
    running: &RunContext<'_>,
) -> Result<Outcome, ExecuteError> {
    let (spawn, folders) = prepare(plan, process, running)?;
    let mask = Mask::new(plan.secrets());
    let of_errors = Mask::new(plan.private_values());
    let paths = folders.authors_paths();
    let mut log = ErrorLog::new(plan, &paths, running.sink);
    let is_heard = running.sink.begin_output(!of_errors.is_empty());
    let mut shown = is_heard.then(|| Shown::new(&of_errors, &paths, running.sink));
    let ended = run_once(plan, &spawn, folders, running, &mut |stream, bytes, kept| {
        if let Some(shown) = &mut shown {
            shown.take(stream, bytes);
        }
        if stream == OutputStream::Stderr {
            log.take(&bytes[..kept]);
        }
    });
    if let Some(shown) = &mut shown {
        shown.end(ended.as_ref().map_or(true, was_cut));
    }
    let ended = ended?;
    log.end(|| shown_stderr(&ended, &mask, &paths));
    if ended.timed_out {
        let (item, limit) = (plan.item().clone(), plan.limit().clone());
        let stderr_tail = stderr_tail(&ended, &of_errors, &paths);
        let (traffic, new_repositories) = (ended.traffic, ended.new_repositories);
        let after = Box::new(Aftermath { traffic, new_repositories });
        return Err(ExecuteError::Timeout { item, limit, stderr_tail, after });
    }
    Ok(Outcome::from_child(&ended, &mask, &of_errors, &paths))
}

/// Shows the tool's output as it comes. It is not known yet whether the tool fails, so the output
/// is masked like the report of a failure.
struct Shown<'a> {
    stdout: StreamMask<&'a Mask>,
    stderr: StreamMask<&'a Mask>,
    paths: StreamPaths<'a>,
    sink: &'a dyn Sink,
}

impl<'a> Shown<'a> {
    fn new(mask: &'a Mask, paths: &'a AuthorsPaths, sink: &'a dyn Sink) -> Self {
        let (stdout, stderr) = (StreamMask::new(mask), StreamMask::new(mask));
        Self { stdout, stderr, paths: StreamPaths::new(paths), sink }
    }

    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        let (of_stderr, bytes) = match stream {
            OutputStream::Stdout => (false, self.stdout.next(bytes)),
            OutputStream::Stderr => (true, self.paths.next(&self.stderr.next(bytes))),
        };
        self.sink.wrote(OutputPiece { of_stderr, bytes: &bytes });
    }

    /// Shows the bytes that were held back: they are not part of a secret after all, unless the
    /// tool was cut off in it.
    fn end(&mut self, cut: bool) {
        self.sink.wrote(OutputPiece { of_stderr: false, bytes: &self.stdout.end(cut) });
        let rest = [self.paths.next(&self.stderr.end(cut)), self.paths.end()].concat();
        self.sink.wrote(OutputPiece { of_stderr: true, bytes: &rest });
    }
}

/// Tells whole lines of standard error while the tool runs. With secrets everything is told at the
/// end: who reads it may keep what is cut of a line.
struct ErrorLog<'a> {
    item: &'a Ref,
    paths: &'a AuthorsPaths,
    sink: &'a dyn Sink,
    is_live: bool,
    is_said: bool,
    line: Vec<u8>,
}

impl<'a> ErrorLog<'a> {
    fn new(plan: &'a Plan, paths: &'a AuthorsPaths, sink: &'a dyn Sink) -> Self {
        let is_live = plan.secrets().next().is_none();
        Self { item: plan.item(), paths, sink, is_live, is_said: false, line: Vec::new() }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.is_said |= !bytes.is_empty();
        if !self.is_live {
            return;
        }
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.line.extend_from_slice(&bytes[..end]);
        if end > 0 {
            let lines = std::mem::take(&mut self.line);
            self.sink.said(self.item, &|| self.text(&lines));
        }
        self.line.extend_from_slice(&bytes[end..]);
    }

    fn text(&self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(&self.paths.bytes(bytes)).into_owned()
    }

    /// The rest; `masked` is all of it without the secrets.
    fn end(self, masked: impl Fn() -> String) {
        if !self.is_live && self.is_said {
            self.sink.said(self.item, &masked);
        } else if !self.line.is_empty() {
            self.sink.said(self.item, &|| self.text(&self.line));
        }
    }
}
