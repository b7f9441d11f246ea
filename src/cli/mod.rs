//! Cli: the command line. One file a verb, and the only place that builds the facade.
//!
//! It sees the facade; only `main` sees it.
//!
//! - `context.rs` what the facade is built from · `out.rs` text and JSON · `exit.rs` how the
//!   process ends · `error.rs` what can be wrong with a command line · `input.rs` parameters ·
//!   `confirm.rs` questions to a person

mod acceptance;
mod bundle;
#[cfg(feature = "code")]
mod code;
mod codes;
mod complete;
mod completions;
mod confirm;
mod context;
mod describe;
mod dev;
mod diff;
mod doctor;
mod error;
mod eval;
mod examples;
mod execute;
mod exit;
mod explain;
mod export;
mod fetch;
mod git;
mod graph;
mod hooks;
mod import;
mod init;
mod input;
mod keys;
mod learn;
mod list;
mod live;
mod lock;
#[cfg(feature = "lsp")]
mod lsp;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_install;
mod mv;
mod named;
mod new;
#[cfg(feature = "node")]
mod node;
mod out;
mod passphrase;
mod pending;
mod plan;
mod receipt;
mod remote;
mod search;
#[cfg(feature = "node")]
mod serve;
mod short;
mod show;
mod sign;
mod still_named;
mod store;
mod test;
mod thread;
mod trust;
mod value_parsers;
mod verify;
mod why;

use crate::diagnostic::Failure;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};

use context::{Context, Surroundings};
use error::CliError;
use exit::Exit;
use out::{Answer, Out};

use crate::base::fold::{Shape, fold};
use crate::base::text::{escape, escape_line};
use crate::host::Vars;
use crate::id::Kind;
use crate::scaffold::languages;

// The options of every verb. A docstring here would become the first line of each verb's help.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Global options")]
struct Common {
    /// The project folder; by default the nearest one above that holds `.ai`
    #[arg(short, long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
    /// One JSON object on standard output, and nothing else there
    #[arg(long, global = true)]
    json: bool,
    /// When to colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = false
    )]
    color: out::Color,
    /// Say more on standard error; twice for even more (or set `RYE_LOG`)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Do not ask; for signing and trusting from inside a run
    #[arg(long, global = true)]
    yes: bool,
}

/// A verb: the first word of a command line.
struct Verb {
    name: &'static str,
    /// A command line that is of use, for the end of its help.
    example: &'static str,
    /// Adds the verb's arguments to a grammar.
    grammar: fn(Command) -> Command,
    run: Run,
}

/// Runs a verb, if its part of the command line is valid.
type Run = fn(&ArgMatches, &Context, &mut Out) -> Result<Result<Exit, Failure>, clap::Error>;

/// The verbs, in the groups and the order of `rye --help`; each is the module of its name, with
/// `Args` and `run`, and has one example.
macro_rules! verbs {
    ($($group:literal { $($(#[$gate:meta])* $verb:ident $example:literal)* })*) => {
        const GROUPS: &[(&str, &[Verb])] = &[$(($group, &[$($(#[$gate])* Verb {
            name: stringify!($verb),
            example: $example,
            grammar: $verb::Args::augment_args,
            run: |matches, context, out| {
                Ok($verb::run(&$verb::Args::from_arg_matches(matches)?, context, out))
            },
        }),*])),*];
    };
}

verbs! {
    "Start" {
        init "rye init"
        new "rye new tool acme/greet --lang python"
        sign "rye sign acme/greet"
        execute "rye run acme/greet name=Ada"
        list "rye list acme/"
        doctor "rye doctor"
    }
    "Look" {
        show "rye show acme/greet"
        describe "rye describe acme/greet --level schema"
        fetch "rye fetch knowledge:rye/overview"
        search "rye search read a file"
        why "rye why acme/greet"
        diff "rye diff acme/greet"
        graph "rye graph acme/greet"
    }
    "Write and try" {
        dev "rye dev acme/greet name=Ada"
        test "rye test 'acme/**'"
        eval "rye eval run acme/mood --content 'Great!' --min-score 0.5"
        learn "rye learn acme/build target=debug"
        mv "rye mv acme/greet acme/hello --dry-run"
        git "rye git install"
    }
    "Check and decide" {
        verify "rye verify --ci"
        plan "rye plan acme/deploy to=staging --out deploy.plan.json"
        receipt "rye receipt verify deploy.receipt.json"
        pending "rye pending list"
        hooks "rye hooks list"
        thread "rye thread list"
    }
    "Trust" {
        trust "rye trust review"
        keys "rye keys show"
        lock "rye lock --check"
    }
    "Agents and editors" {
        #[cfg(feature = "code")]
        code "rye code run snippet.js --allow 'tool:acme/**'"
        #[cfg(feature = "mcp")]
        mcp "rye mcp --project ."
        #[cfg(feature = "lsp")]
        lsp "rye lsp"
    }
    "Other machines" {
        remote "rye remote add gpu https://gpu.example:8700"
        #[cfg(feature = "node")]
        serve "rye serve --listen 127.0.0.1:8700"
        #[cfg(feature = "node")]
        node "rye node list"
    }
    "Exchange" {
        import "rye import skill ./pdf-forms"
        export "rye export skill skills/pdf_forms"
        bundle "rye bundle pack tools 'acme/**' --version 1.0.0"
        store "rye store gc --dry-run"
    }
    "Help" {
        explain "rye explain verify.altered"
        completions "rye completions bash > ~/.local/share/bash-completion/completions/rye"
        man "rye man ~/.local/share/man/man1"
    }
}

/// The other name of `execute`.
const RUN: &str = "run";

/// The greatest width of a help text, in columns.
const WIDTH: usize = 100;

/// The grammar without its verbs.
fn bare() -> Command {
    Common::augment_args(Command::new("rye"))
        .version(env!("RYE_VERSION"))
        .about("A manager for directives and tools whose every file is signed")
        .term_width(width())
}

/// The width of the terminal, where there is one that is not too wide to be read.
fn width() -> usize {
    out::columns(&std::io::stdout()).map_or(WIDTH, |columns| columns.min(WIDTH))
}

/// The whole grammar.
fn command() -> Command {
    Verb::all().map(Verb::command).fold(bare(), Command::subcommand)
}

/// The grammar for `rye --help`, which lists the verbs in their groups.
fn grouped() -> Command {
    let whole = command();
    let mut text = String::new();
    for (group, verbs) in GROUPS {
        let _ = writeln!(text, "{group}:");
        for verb in *verbs {
            let about = whole.find_subcommand(verb.name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let name = if verb.name == "execute" { "execute, run" } else { verb.name };
            let _ = writeln!(text, "  {name:<14}{about}");
        }
        text.push('\n');
    }
    let text = fold(&text, width(), Shape::Rows);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"
    );
    whole
        .override_usage("rye [OPTIONS] <VERB> …\n       rye [OPTIONS] <REF|PATH> [NAME=VALUE]…")
        .after_help(
            "`rye VERB --help` has an example of each.\n\
             `rye greet name=Ada` is `rye run greet name=Ada` where no verb has that name;\n\
             in a script write `rye run`, which no later verb can change.",
        )
        .help_template(template)
}

impl Verb {
    fn find(name: &str) -> Option<&'static Self> {
        let name = if name == RUN { "execute" } else { name };
        Self::all().find(|verb| verb.name == name)
    }

    fn all() -> impl Iterator<Item = &'static Self> {
        GROUPS.iter().flat_map(|(_, verbs)| *verbs)
    }

    /// Every word that is a verb.
    fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(|verb| verb.name).chain([RUN, "help"])
    }

    /// The grammar of this verb.
    fn command(&self) -> Command {
        let verb = (self.grammar)(Command::new(self.name));
        examples::add(verb.after_help(format!("Example: {}", self.example)))
    }
}

/// A command line that was understood.
struct CommandLine {
    /// `None` if the command line has no verb.
    verb: Option<&'static Verb>,
    /// The word that stands where a verb would, if it is to be an item, as in `rye greet`.
    item: Option<String>,
    /// The matches that the verb reads.
    matches: ArgMatches,
    common: Common,
}

impl CommandLine {
    /// Building the grammar of each verb takes time and memory, so a line that begins with a verb
    /// is read by that verb's grammar alone.
    fn read(argv: &[OsString]) -> Result<Self, clap::Error> {
        let first = argv.get(1).and_then(|first| first.to_str());
        if short::word(argv).is_some() {
            return Self::read_item(argv, 1);
        }
        if let Some((typed, verb)) = first.and_then(|first| Some((first, Verb::find(first)?))) {
            let program = Path::new(&argv[0]).file_name().unwrap_or(OsStr::new("rye"));
            let name = format!("{} {typed}", program.to_string_lossy());
            let alone = Common::augment_args(verb.command().bin_name(name)).term_width(width());
            let matches = alone.try_get_matches_from(&argv[1..])?;
            let common = Common::from_arg_matches(&matches)?;
            return Ok(Self { verb: Some(verb), item: None, matches, common });
        }
        // Behind `--` no word is a verb.
        let dashes = argv.iter().position(|word| word == "--");
        if let Some(at) = dashes.filter(|at| at + 1 < argv.len())
            && bare().try_get_matches_from(&argv[..at]).is_ok()
        {
            return Self::read_item(argv, at);
        }
        let asks_version = argv.len() == 2 && matches!(first, Some("--version" | "-V"));
        let whole = if asks_version { bare() } else { grouped() };
        let mut matches = whole.allow_external_subcommands(true).try_get_matches_from(argv)?;
        let common = Common::from_arg_matches(&matches)?;
        let (verb, matches) = match matches.remove_subcommand() {
            Some((name, behind)) if Verb::find(&name).is_none() => {
                let behind = behind.get_many::<OsString>("").map_or(0, Iterator::count);
                return Self::read_item(argv, argv.len() - behind - 1);
            }
            Some((name, matches)) => (Verb::find(&name), matches),
            None => (None, matches),
        };
        Ok(Self { verb, item: None, matches, common })
    }

    /// Reads a line on which an item stands instead of the verb, at `at`.
    fn read_item(argv: &[OsString], at: usize) -> Result<Self, clap::Error> {
        let (before, behind) = argv.split_at(at);
        let line = Self::read(&[before, &[RUN.into()], behind].concat())?;
        let item = behind[0].to_str().filter(|word| *word != "--").map(str::to_owned);
        Ok(Self { item, ..line })
    }
}

/// Reads the command line, runs the verb, shows the result.
pub(crate) fn run(argv: impl IntoIterator<Item = OsString>) -> ExitCode {
    if std::env::var_os("COMPLETE").is_some() {
        complete::answer(command);
    }
    let argv: Vec<OsString> = argv.into_iter().collect();
    let plain = || Out::plain(argv.iter().any(|arg| arg == "--json"));
    let line = match CommandLine::read(&argv) {
        Ok(line) => line,
        Err(error) => return usage(&with_tip(error, &argv), &argv, &mut plain()).end(),
    };
    let mut out = Out::new(&line.common);
    out::logs(line.common.verbose);
    match line.run(Surroundings::Process, &mut out) {
        Ok(exit) => exit.end(),
        Err(error) => usage(&error, &argv, &mut plain()).end(),
    }
}

/// Runs a command line in this process, which lives on; gives the exit status, and the bytes for
/// standard output and for standard error.
pub(crate) fn answer(argv: &[OsString], vars: Vars, cwd: PathBuf) -> (u8, Vec<u8>, Vec<u8>) {
    let (stdout, stderr) = (Answer::default(), Answer::default());
    let mut out = Out::from((argv.iter().any(|arg| arg == "--json"), stdout.clone()));
    let exit = out::for_caller(&stderr, || {
        CommandLine::read(argv)
            .map_err(|error| with_tip(error, argv))
            .and_then(|line| line.run(Surroundings::Named { vars, cwd }, &mut out))
            .unwrap_or_else(|error| usage(&error, argv, &mut out))
    });
    (exit.status(), stdout.take(), stderr.take())
}

impl CommandLine {
    /// Runs the verb and shows its result; an error if the verb's part of the line is invalid.
    fn run(self, surroundings: Surroundings, out: &mut Out) -> Result<Exit, clap::Error> {
        let Self { verb, item, matches, common } = self;
        let context = Context::new(common, verb.filter(|_| item.is_none()), surroundings);
        let done = match (verb, item) {
            (None, _) => list::here(&context, out),
            (Some(verb), item) => match item.as_deref().map_or(Ok(()), short::is_no_slip) {
                Err(slip) => Err(slip),
                Ok(()) => (verb.run)(&matches, &context, out)?.map_err(|failure| match &item {
                    Some(item) => short::explain(item, failure),
                    None => failure,
                }),
            },
        };
        let exit = done.unwrap_or_else(|error| out.fail(&error));
        if let Some(aside) = crate::registry::moved_aside() {
            out.note(&format!(
                "the runs and requests that an earlier rye kept are in `{}` now; none of them \
                 goes on here",
                escape_line(&aside.display().to_string())
            ));
        }
        Ok(out.end(exit))
    }
}

/// A command line that clap did not understand, or a question for help.
fn usage(error: &clap::Error, argv: &[OsString], out: &mut Out) -> Exit {
    let asks = !error.use_stderr();
    if let Some(word) = short::word(argv).filter(|_| !asks) {
        let slip = short::is_no_slip(word).err();
        let exit = out.fail(&slip.unwrap_or_else(|| short::misread(word, error)));
        out.flush();
        return exit;
    }
    if !asks && out.is_json() {
        let text = error.to_string();
        // The JSON form holds the sentence and what it names; the usage is for people.
        let told = text
            .lines()
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let told: Vec<_> = told.map(str::trim).filter(|line| !line.is_empty()).collect();
        let told = told.join(" ");
        let message = told.trim_start_matches("error: ");
        let exit = out.fail(&CliError::Usage { message: message.to_owned(), help: None }.into());
        out.flush();
        return exit;
    }
    let hides = argv.iter().any(|word| {
        let word = word.to_string_lossy();
        escape(&word) != word
    });
    out::usage(error, hides, out);
    if asks { Exit::DONE } else { Exit::Status(2) }
}

/// Adds a tip to the error for a common slip, such as an input of an item that is typed like an
/// option of rye, or bare.
fn with_tip(mut error: clap::Error, argv: &[OsString]) -> clap::Error {
    let runs = argv.get(1).is_some_and(|verb| verb == "execute" || verb == RUN);
    if let Some(ContextValue::String(said)) = error.get(ContextKind::InvalidArg)
        && runs
        && error.kind() == ErrorKind::UnknownArgument
    {
        let name = said.trim_start_matches('-').split('=').next().unwrap_or_default();
        let tip = format!("an input of an item is given as '{}=VALUE'", escape_line(name));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    if argv.get(1).is_some_and(|verb| verb == "thread") {
        thread::set_tip(&mut error);
    }
    if let Some(ContextValue::String(said)) = error.get(ContextKind::InvalidArg)
        && said.starts_with("--lang")
        && let Some(kind) = argv.iter().find_map(|word| word.to_str()?.parse::<Kind>().ok())
    {
        let known = languages(kind).into_iter().map(str::to_owned).collect();
        error.insert(ContextKind::ValidValue, ContextValue::Strings(known));
        let is_http = argv.iter().any(|word| word == "http" || word == "--lang=http");
        if kind == Kind::Tool && is_http {
            let tip = "an HTTP request is written in YAML: see `rye fetch knowledge:rye/tools`, and take '--lang yaml'";
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{CommandLine, Verb, command};

    #[test]
    fn a_verb_alone_reads_and_says_what_it_does_among_the_others() {
        for verb in Verb::all() {
            for rest in
                [&["--help"][..], &["-h"], &["--bogus"], &["a", "b", "c", "d"], &["--color=x"]]
            {
                let line = [&["rye", verb.name], rest].concat();
                let line: Vec<_> = line.iter().map(OsString::from).collect();
                let alone = CommandLine::read(&line).err().map(|error| error.to_string());
                let among = command().try_get_matches_from(&line).err();
                assert_eq!(alone, among.map(|error| error.to_string()), "{line:?}");
            }
        }
    }

    /// The helps of a verb and of those below it, by their command lines.
    fn helps(command: &clap::Command, path: &str, all: &mut Vec<(String, String)>) {
        let path = format!("{path} {}", command.get_name());
        all.push((
            path.clone(),
            command.get_after_help().map(ToString::to_string).unwrap_or_default(),
        ));
        for below in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            helps(below, &path, all);
        }
    }

    #[test]
    fn each_help_has_an_example_that_can_be_typed() {
        let mut all = Vec::new();
        for verb in Verb::all() {
            helps(&verb.command(), "rye", &mut all);
        }
        assert!(all.len() > 60, "{}", all.len());
        for (path, after) in all {
            let example = after.strip_prefix("Example: ").unwrap_or_default();
            let is_its_own = example.starts_with(&path.replace("rye execute", "rye run"));
            assert!(is_its_own, "`{path} --help` has no example: {example}");
            let typed = example.split(" > ").next().unwrap_or_default();
            // A word in quotes is one word.
            let words = typed.split('\'').enumerate().flat_map(|(at, text)| match at % 2 {
                0 => text.split_whitespace().map(OsString::from).collect::<Vec<_>>(),
                _ => vec![OsString::from(text)],
            });
            let read = CommandLine::read(&words.collect::<Vec<_>>());
            assert!(read.is_ok(), "{example}: {}", read.err().unwrap());
        }
    }
}
