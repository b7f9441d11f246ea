//! A call through `rye mcp` over pipes (p8 of the performance goals), and its memory at rest (p13):
//!
//! - `cargo bench --bench mcp` prints microseconds, `name p50 p99 minimum`
//! - `cargo bench --bench mcp -- npx -y @modelcontextprotocol/server-everything` beside another
//!   server, which has a tool `echo` that takes a `message`
//! - `cargo bench --bench mcp -- --searches HOME PROJECT` prints microseconds of searches in a
//!   project that is there (p11), `name median minimum`
//!
//! All sides in turn, a block of each a round.

#![expect(clippy::print_stdout, reason = "the numbers are for whoever reads them")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 10;
const CALLS: usize = 300;

/// One server, and one session with it.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    last: u64,
}

impl Server {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a server");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut server = Self { child, input, output, line: String::new(), last: 0 };
        server.ask(
            "initialize",
            "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\
             \"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}",
        );
        server.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        server
    }

    fn send(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).expect("a server that reads");
    }

    /// A request, to its answer.
    fn ask(&mut self, method: &str, params: &str) -> Duration {
        self.last += 1;
        let id = format!("\"id\":{}", self.last);
        let line =
            format!("{{\"jsonrpc\":\"2.0\",{id},\"method\":\"{method}\",\"params\":{params}}}\n");
        let start = Instant::now();
        self.send(&line);
        loop {
            self.line.clear();
            let read = self.output.read_line(&mut self.line).expect("an answer");
            assert!(read > 0, "the server ended");
            if self.line.contains(&format!("{id},")) || self.line.contains(&format!("{id}}}")) {
                break;
            }
        }
        let took = start.elapsed();
        let failed = self.line.contains("\"error\":{") || self.line.contains("\"isError\":true");
        assert!(!failed, "{}", self.line);
        took
    }

    /// Resident memory in KiB.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn main() {
    if let Some(at) = std::env::args().position(|arg| arg == "--searches") {
        let folders: Vec<String> = std::env::args().skip(at + 1).take(2).collect();
        return searches(&folders[0], &folders[1]);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    world(folder.path());
    let project = folder.path().join("project").display().to_string();
    let mut rye = Server::start(command(folder.path(), &["mcp"]));
    std::thread::sleep(Duration::from_millis(500));
    println!("memory_at_rest_kib {}", rye.memory());
    let call = |tool: &str, item: &str| {
        format!(
            "{{\"name\":\"{tool}\",\"arguments\":{{\"item_id\":\"{item}\",\"project_path\":\"{project}\"}}}}"
        )
    };
    let rows = [
        ("ping", "ping", "{}".to_owned()),
        ("fetch", "tools/call", call("rye_fetch", "knowledge:bench/note")),
        ("directive", "tools/call", call("rye_execute", "directive:bench/greet")),
        ("server", "tools/call", call("rye_execute", "tool:bench/server")),
        ("process", "tools/call", call("rye_execute", "tool:bench/process")),
    ];
    let args: Vec<_> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let mut beside = args.split_first().map(|(program, args)| {
        let mut command = Command::new(program);
        command.args(args);
        Server::start(command)
    });
    let mut took = vec![Vec::new(); rows.len() + 1];
    for _ in 0..ROUNDS {
        for (at, (_, method, params)) in rows.iter().enumerate() {
            rye.ask(method, params);
            took[at].extend((0..CALLS).map(|_| rye.ask(method, params)));
        }
        if let Some(beside) = &mut beside {
            let params = "{\"name\":\"echo\",\"arguments\":{\"message\":\"hi\"}}";
            beside.ask("tools/call", params);
            took[rows.len()].extend((0..CALLS).map(|_| beside.ask("tools/call", params)));
        }
    }
    let names = rows.iter().map(|(name, ..)| *name).chain(["beside"]);
    for (name, mut took) in names.zip(took).filter(|(_, took)| !took.is_empty()) {
        took.sort_unstable();
        let at = |part: usize| took[(took.len() - 1) * part / 100].as_nanos() / 100;
        let [p50, p99, least] = [at(50), at(99), at(0)].map(tenth);
        println!("{name} {p50} {p99} {least}");
    }
    println!("memory_after_kib {}", rye.memory());
}

/// Prints what searches take right behind each other.
fn searches(home: &str, project: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    command.arg("mcp").current_dir(project).env_clear().env("HOME", home);
    let mut rye = Server::start(command);
    let sides =
        [("one_word", "00017"), ("three_words", "bench page 00017"), ("slip", "pgae bnech 00017")];
    for (name, words) in sides {
        let asked = format!("{{\"query\":\"{words}\",\"limit\":5,\"project_path\":\"{project}\"}}");
        let params = format!("{{\"name\":\"rye_search\",\"arguments\":{asked}}}");
        rye.ask("tools/call", &params);
        let mut took: Vec<u128> =
            (0..100).map(|_| rye.ask("tools/call", &params).as_micros()).collect();
        assert!(rye.line.contains("\"verified\":true"), "{}", rye.line);
        took.sort_unstable();
        println!("{name} {} {}", took[took.len() / 2], took[0]);
    }
}

fn tenth(tenths: u128) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = folder.join("home");
    command.args(args).current_dir(folder.join("project")).env_clear();
    command.env("HOME", home).env("PATH", path);
    command
}

/// An accepted project with an item of each sort.
fn world(folder: &Path) {
    let ai = folder.join("project/.ai");
    for made in ["home", "project"] {
        fs::create_dir(folder.join(made)).expect("a folder");
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("chmod");
    rye(folder, &["init"]);
    for made in ["tools/bench/it", "directives/bench", "knowledge/bench"] {
        fs::create_dir_all(ai.join(made)).expect("a folder");
    }
    let program = ai.join("tools/bench/it/run.sh");
    let script = "#!/bin/sh\nwhile read -r line; do\nid=${line#*'\"id\":'}; id=${id%%,*}\n\
                  echo \"{\\\"id\\\":$id,\\\"result\\\":1}\"\ndone\n";
    fs::write(&program, script).expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("chmod");
    let files = [
        (
            "tools/bench/server.yaml",
            "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/server\n\
             category: bench\ndescription: x\nexec:\n  command: ./it/run.sh\n  runtime: server\n  \
             files: [it/run.sh]\n",
        ),
        (
            "tools/bench/process.yaml",
            "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/runtimes/native/program\n\
             category: bench\ndescription: x\nconfig: {command: 'true'}\n",
        ),
        (
            "directives/bench/greet.md",
            "# Greet\n\n```xml\n<directive name=\"greet\" version=\"1.0.0\">\n  <metadata>\n    \
             <description>Greet</description>\n    <category>bench</category>\n    \
             <author>bench</author>\n  </metadata>\n</directive>\n```\n\nSay hello.\n",
        ),
        ("knowledge/bench/note.md", "---\ntitle: note\n---\n\nA note.\n"),
    ];
    for (path, text) in files {
        fs::write(ai.join(path), text).expect("a file");
    }
    rye(folder, &["sign", "--all"]);
}

/// Runs the binary in the project; it must succeed.
fn rye(folder: &Path, args: &[&str]) {
    let done = command(folder, args).output().expect("rye");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
