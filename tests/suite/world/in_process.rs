//! rye in the process of the tests, for what shows in codes and JSON: a start of the debug program
//! costs more than most of its answers.
//!
//! What a test sees of a process (signals, streams, a terminal, what is left behind) it sees at the
//! door alone, and so does what starts rye once more: sandboxes, snippets, detached runs.

use std::ffi::OsString;
use std::sync::Once;
use std::sync::atomic::Ordering;

use super::{Said, World};

/// Verbs that read and write files of the spaces and start no process.
const VERBS: &[&str] = &[
    "describe", "diff", "explain", "fetch", "hooks", "init", "keys", "list", "lock", "search",
    "show", "sign", "trust", "verify", "why",
];

/// Verbs that run items.
const RUNS: &[&str] = &["execute", "run", "thread"];

/// Options whose runs start rye once more, or whose value is a file of the working directory; so is
/// what begins with a dot or an at sign.
const OF_A_PROCESS: &[&str] = &[
    "-",
    "--async",
    "--color",
    "--help",
    "--out",
    "--plan",
    "--receipt",
    "--sandbox",
    "--sarif",
    "-h",
    "-v",
    "-vv",
];

impl World {
    /// The answer of rye with `--json`, without a process where the call needs none.
    pub(super) fn answer(&self, args: &[&str]) -> Said {
        let args = [args, &["--json"]].concat();
        self.in_process(&args).unwrap_or_else(|| self.rye_in(&self.project(), &args, b""))
    }

    /// The answer of rye to a call of a verb that runs nothing.
    pub(super) fn looked_up(&self, args: &[&str]) -> Option<Said> {
        VERBS.contains(args.first()?).then(|| self.in_process(args)).flatten()
    }

    fn in_process(&self, args: &[&str]) -> Option<Said> {
        if self.needs_a_process(args) {
            return None;
        }
        ask_no_one();
        let argv: Vec<OsString> = ["rye"].iter().chain(args).map(OsString::from).collect();
        let vars = self.env.iter().map(|(name, value)| (name.into(), value.into()));
        let (status, stdout, stderr) = rye::answer(&argv, vars, self.project());
        let [stdout, stderr] =
            [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Some(Said { status: status.into(), stdout, stderr })
    }

    fn needs_a_process(&self, args: &[&str]) -> bool {
        let Some(&verb) = args.first() else { return true };
        let is_run = RUNS.contains(&verb);
        // An approval carries out what was asked, which may be a snippet.
        let looks = verb == "pending" && matches!(args.get(1), Some(&("list" | "show")));
        let is_below = ["RYE_RUN_ID", "RYE_THREAD"].iter().any(|name| self.env.contains_key(*name));
        // A file is named, or git is asked.
        let asks_more =
            ["export", "import", "propose"].into_iter().any(|word| args.contains(&word));
        self.is_at_the_door
            || self.users.is_some()
            || asks_more
            || is_below
            || std::env::var_os("RYE_UNDER_TEST").is_some()
            || is_run && (!self.is_let_out || self.has_snippets.load(Ordering::Relaxed))
            || !is_run && !looks && !VERBS.contains(&verb)
            || args.iter().any(|arg| is_of_a_process(arg))
    }
}

fn is_of_a_process(arg: &str) -> bool {
    // The shipped examples hold snippets.
    OF_A_PROCESS.contains(&arg)
        || arg.starts_with(['@', '.'])
        || arg.contains("/.")
        || arg.contains("rye/examples")
}

/// A person at the terminal of the tests is asked nothing.
fn ask_no_one() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let nothing = std::fs::File::open("/dev/null").expect("/dev/null");
        rustix::stdio::dup2_stdin(&nothing).expect("a standard input");
    });
}
