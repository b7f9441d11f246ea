//! What a test needs and the machine may lack: found once by trying, and told in one summary.

use std::any::Any;
use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, Once, PoisonError};

/// A program that the two commands of the README do without.
pub struct Program {
    name: &'static str,
    /// The package of Debian that holds it.
    package: &'static str,
    works: LazyLock<bool>,
}

pub static BASH: Program = Program::new("bash", "bash", || tried("bash", &["-c", "true"]));
pub static GIT: Program = Program::new("git", "git", || tried("git", &["--version"]));
pub static NODE: Program = Program::new("node", "nodejs", || tried("node", &["-e", "0"]));
pub static PYTHON: Program =
    Program::new("python3", "python3", || tried("python3", &["-c", "import json"]));

/// Words of a text or a command line that say that a program will be run.
const SIGNS: &[(&str, &Program)] = &[
    ("runtimes/python", &PYTHON),
    ("python3", &PYTHON),
    ("rye/bash", &PYTHON),
    ("rye/file-system", &PYTHON),
    ("rye/git", &PYTHON),
    ("runtimes/shell", &BASH),
    ("bash", &BASH),
    ("rye/git", &GIT),
    ("runtimes/node", &NODE),
];

impl Program {
    const fn new(name: &'static str, package: &'static str, works: fn() -> bool) -> Self {
        Self { name, package, works: LazyLock::new(works) }
    }

    /// Ends the test as not run where the machine lacks the program.
    pub fn needed(&self) {
        if !*self.works {
            end_as_not_run(self.why());
        }
    }

    fn why(&self) -> String {
        format!("`{}` does not work here (package {})", self.name, self.package)
    }
}

/// Ends the test; it is listed as not run, with the reason.
pub fn end_as_not_run(why: String) -> ! {
    resume_unwind(Box::new(NotRun { why }))
}

/// Ends the test as not run where the machine lacks a program that the text names.
pub fn needed_by(text: &[u8]) {
    for (sign, program) in SIGNS {
        if !*program.works && text.windows(sign.len()).any(|window| window == sign.as_bytes()) {
            program.needed();
        }
    }
}

thread_local! {
    /// A program that the machine lacks and an answer to the test of this thread named.
    static NAMED: Cell<Option<&'static Program>> = const { Cell::new(None) };
}

/// Keeps in mind that rye's answer names a program that the machine lacks, should the test fail.
pub fn note_answer(texts: &[&str]) {
    if let Some(program) = lacking(texts) {
        NAMED.set(Some(program));
    }
}

/// The program that the machine lacks and one of the texts names.
fn lacking(texts: &[&str]) -> Option<&'static Program> {
    let named = |program: &&Program| {
        texts.iter().any(|text| text.contains(program.name)) && !*program.works
    };
    [&BASH, &GIT, &NODE, &PYTHON].into_iter().find(named)
}

fn tried(name: &str, args: &[&str]) -> bool {
    let mut command = Command::new(name);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The end of a test that was not run.
struct NotRun {
    why: String,
}

/// Runs a test; one that lacks something is listed as not run, and does not fail. So is one that fails
/// where its message, or an answer that it was given, names a program that the machine lacks.
pub fn run_test(name: &str, body: impl FnOnce()) {
    let Err(ended) = catch_unwind(AssertUnwindSafe(body)) else { return };
    let ended: Box<dyn Any + Send> = ended;
    let ended = match ended.downcast::<NotRun>() {
        Ok(not) => return not_run(name, &not.why),
        Err(ended) => ended,
    };
    let message = ended.downcast_ref::<String>().map_or("", String::as_str);
    match NAMED.take().or_else(|| lacking(&[message])) {
        Some(program) => not_run(name, &program.why()),
        None => resume_unwind(ended),
    }
}

static LIST: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Lists a test, or the part of one that it names, as not run.
pub fn not_run(test: &str, why: &str) {
    static ONCE: Once = Once::new();
    ONCE.call_once(summarise_at_exit);
    let line = format!("not run: {}: {why}\n", test.trim_start_matches("suite::"));
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-run.txt");
    let mut file = OpenOptions::new().create(true).append(true).open(list).expect("a list");
    file.write_all(line.as_bytes()).expect("a line");
    LIST.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

/// The standard harness has no last step of ours, so the summary comes as the process ends.
#[expect(unsafe_code, reason = "there is no safe way to run something at the end of the process")]
fn summarise_at_exit() {
    extern "C" fn summary() {
        let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        list.sort();
        let count = list.len();
        drop(write!(std::io::stderr(), "\n{}{count} not run on this machine\n", list.concat()));
    }
    // SAFETY: the function is one of ours, takes nothing and does not unwind.
    unsafe {
        libc::atexit(summary);
    }
}
