//! rye in the process of the tests, for what shows in codes and JSON: a start of the debug program
//! costs more than most of its answers.
//!
//! What a test sees of a process (signals, streams, a terminal, what is left behind) it sees at the
//! door alone, and so does what starts rye once more: sandboxes, snippets, detached runs.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::Ordering;

use super::{Said, World};

/// Verbs that read and write files of the spaces and start no process.
const VERBS: &[&str] = &[
    "describe", "diff", "explain", "fetch", "graph", "hooks", "init", "keys", "list", "lock", "mv",
    "node", "remote", "search", "show", "sign", "store", "trust", "verify", "why",
];

/// Verbs that run items. Without `--json` what a tool writes goes straight to the terminal.
const RUNS: &[&str] = &["execute", "run", "thread"];

/// Options whose runs start rye once more, or about a terminal; so is what begins with a dot or an
/// at sign, which names a file of the working directory.
const OF_A_PROCESS: &[&str] =
    &["-", "--async", "--color", "--help", "--sandbox", "--sarif", "-h", "-v", "-vv"];

/// Options whose value is a file.
const OF_A_FILE: &[&str] = &["--out", "--params-file", "--plan", "--receipt", "--to"];

impl World {
    /// The answer of rye with `--json`, without a process where the call needs none.
    pub(super) fn answer(&self, args: &[&str]) -> Said {
        self.rye_in(&self.project(), &[args, &["--json"]].concat(), b"")
    }

    /// The answer of rye in this process, where the call needs none of its own.
    pub(super) fn in_process(
        &self,
        folder: &Path,
        args: &[&str],
        stdin: &[u8],
        env: &[(&str, &str)],
    ) -> Option<Said> {
        // Parameters at standard input are as good as those of the command line.
        let params = match (args.windows(2).position(|pair| pair == ["--params", "-"]), stdin) {
            (None, []) => None,
            (None, _) => return None,
            // It is about how much is read.
            (Some(_), stdin) if stdin.len() > 1 << 20 => return None,
            (Some(at), stdin) => Some((at, format!("--params={}", str::from_utf8(stdin).ok()?))),
        };
        let mut args = args.to_vec();
        if let Some((at, params)) = &params {
            args.splice(*at..=at + 1, [params.as_str()]);
        }
        if self.needs_a_process(&args, env) {
            return None;
        }
        ask_no_one();
        let argv: Vec<OsString> = ["rye"].iter().chain(&args).map(OsString::from).collect();
        let vars = self.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let vars = vars.chain(env.iter().copied()).map(|(name, value)| (name.into(), value.into()));
        let (status, stdout, stderr) = rye::answer(&argv, vars, folder.to_owned());
        let [stdout, stderr] =
            [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Some(Said { status: status.into(), stdout, stderr })
    }

    fn needs_a_process(&self, args: &[&str], env: &[(&str, &str)]) -> bool {
        let Some(&verb) = args.first() else { return true };
        let is_run = RUNS.contains(&verb);
        // An approval carries out what was asked, which may be a snippet.
        let looks = verb == "pending" && matches!(args.get(1), Some(&("list" | "show")));
        let is_of_its_own = |(name, value): (&str, &str)| {
            ["RYE_RUN_ID", "RYE_THREAD"].contains(&name) || value.starts_with("/proc/")
        };
        // A file is named, or git is asked.
        let asks_more =
            ["export", "import", "propose"].into_iter().any(|word| args.contains(&word));
        self.is_at_the_door
            || asks_more
            || self.users.is_some()
            || self.env.iter().any(|(name, value)| is_of_its_own((name, value)))
            || env.iter().copied().any(is_of_its_own)
            || std::env::var_os("RYE_UNDER_TEST").is_some()
            || is_run && !args.contains(&"--json")
            || is_run && (!self.is_let_out || self.has_snippets.load(Ordering::Relaxed))
            || !is_run && !looks && !VERBS.contains(&verb)
            || args.iter().any(|arg| is_of_a_process(arg))
            || args.windows(2).any(|pair| OF_A_FILE.contains(&pair[0]) && !pair[1].starts_with('/'))
    }
}

fn is_of_a_process(arg: &str) -> bool {
    // The shipped examples hold snippets.
    OF_A_PROCESS.contains(&arg)
        || arg.starts_with(['@', '.'])
        || arg.contains("/.")
        || arg.contains("=@")
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
