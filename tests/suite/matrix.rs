//! The execution matrix (core 8), row h04, through the command line.

use serde_json::{Value, json};

use crate::keys::others::{files, put};
use crate::world::{GREET_MD, MARKER_SH, World};

const TOOL: &str = "tool:acme/mark";
const DIRECTIVE: &str = "directive:acme/greet";
const KNOWLEDGE: &str = "knowledge:acme/note";
const CONFIG: &str = "config:acme/settings";

/// A cell as it is typed.
struct Cell {
    target: &'static str,
    thread: &'static str,
    detached: bool,
    dry_run: bool,
}

impl Cell {
    fn run(&self, world: &World, item: &str) -> (String, i32, Value) {
        let mut args = vec!["execute", item, "--target", self.target, "--thread", self.thread];
        args.extend(self.detached.then_some("--async"));
        args.extend(self.dry_run.then_some("--dry-run"));
        args.push("--json");
        let said = world.rye(&args);
        (said.code(), said.status, said.json())
    }

    /// The same as an agent says it.
    #[cfg(feature = "mcp")]
    fn arguments(&self, item: &str) -> Value {
        json!({
            "item_id": item, "target": self.target, "thread": self.thread,
            "async": self.detached, "dry_run": self.dry_run,
        })
    }

    fn name(&self, item: &str) -> String {
        let detached = if self.detached { "async " } else { "" };
        let dry = if self.dry_run { "dry-run " } else { "" };
        format!("{item} {dry}{detached}{}+{}", self.target, self.thread)
    }
}

const fn cell(target: &'static str, thread: &'static str) -> Cell {
    Cell { target, thread, detached: false, dry_run: false }
}

const fn detached(target: &'static str, thread: &'static str) -> Cell {
    Cell { detached: true, ..cell(target, thread) }
}

const fn dry(target: &'static str, thread: &'static str) -> Cell {
    Cell { dry_run: true, ..cell(target, thread) }
}

/// One item of each kind, each admitted.
fn world() -> World {
    let world = World::new()
        .with(".ai/tools/acme/mark.sh", MARKER_SH)
        .with(".ai/directives/acme/greet.md", GREET_MD);
    let own = world.own_key();
    put(&world, &own, ".ai/knowledge/acme/note.md", "---\ntitle: note\n---\n\nA note.\n");
    put(&world, &own, ".ai/config/acme/settings.yaml", "a: 1\n");
    world
}

/// Every row's cell gives the code, and does nothing else; an empty code is success. Nobody named a
/// node here, which is told as a thing that is not found.
#[track_caller]
fn check(rows: &[(&str, Cell, &str)]) {
    let world = world();
    #[cfg(feature = "mcp")]
    let mut client = crate::mcp::client::Client::new(&world, &[]);
    for (item, cell, code) in rows {
        let (name, before) = (cell.name(item), files(&world));
        let marker = world.project().join("marker");
        drop(std::fs::remove_file(&marker));
        let (got, status, said) = cell.run(&world, item);
        assert_eq!(got, *code, "{name}: {said}");
        let refused = if *code == "remote.unknown" { 3 } else { 4 };
        assert_eq!(status, if code.is_empty() { 0 } else { refused }, "{name}: {said}");
        assert_eq!(files(&world), before, "{name}");
        let ran = code.is_empty() && *item == TOOL && !cell.dry_run;
        assert_eq!(marker.exists(), ran, "{name}");
        // An agent is told the same.
        #[cfg(feature = "mcp")]
        {
            drop(std::fs::remove_file(&marker));
            let (said, is_error) = client.call("rye_execute", cell.arguments(item));
            assert_eq!(said["code"].as_str().unwrap_or_default(), *code, "{name}: {said}");
            assert_eq!(is_error, !code.is_empty(), "{name}: {said}");
            assert_eq!((files(&world), marker.exists()), (before, ran), "{name}");
        }
    }
}

#[test]
fn h04_the_sixteen_cells() {
    check(&[
        (DIRECTIVE, cell("local", "inline"), ""),
        (DIRECTIVE, cell("local", "fork"), "thread.no_provider"),
        (DIRECTIVE, cell("remote", "fork"), "remote.unknown"),
        (DIRECTIVE, cell("remote", "inline"), "matrix.directive_remote_inline"),
        (DIRECTIVE, detached("local", "inline"), "matrix.directive_async_inline"),
        (DIRECTIVE, detached("local", "fork"), "thread.no_provider"),
        (DIRECTIVE, detached("remote", "fork"), "remote.unknown"),
        (DIRECTIVE, detached("remote", "inline"), "matrix.directive_remote_inline"),
        (TOOL, cell("local", "inline"), ""),
        (TOOL, cell("local", "fork"), "matrix.tool_fork"),
        (TOOL, cell("remote", "fork"), "matrix.tool_fork"),
        (TOOL, cell("remote", "inline"), "remote.unknown"),
        (TOOL, detached("local", "fork"), "matrix.tool_fork"),
        (TOOL, detached("remote", "fork"), "matrix.tool_fork"),
        (TOOL, detached("remote", "inline"), "remote.unknown"),
    ]);
}

#[test]
fn h04_a_tool_runs_detached_in_the_last_of_the_sixteen_cells() {
    let world = world();
    let (code, status, said) = detached("local", "inline").run(&world, TOOL);
    assert_eq!((&*code, status, &said["state"]), ("", 0, &json!("running")), "{said}");
    let (status, told) = world.json(&["thread", "wait", &crate::async_runs::id_of(&said)]);
    assert_eq!((status, world.project().join("marker").exists()), (0, true), "{told}");
}

#[test]
fn h04_the_cells_beyond_the_sixteen_table() {
    check(&[
        // A named remote is a remote.
        (DIRECTIVE, cell("remote:build", "fork"), "remote.unknown"),
        (DIRECTIVE, cell("remote:build", "inline"), "matrix.directive_remote_inline"),
        (TOOL, cell("remote:build", "fork"), "matrix.tool_fork"),
        (TOOL, detached("remote:build", "inline"), "remote.unknown"),
        (KNOWLEDGE, cell("remote:build", "inline"), "matrix.not_executable"),
        // A dry run is local and attached.
        (TOOL, dry("local", "inline"), ""),
        (DIRECTIVE, dry("local", "inline"), ""),
        // All but the start, so it is told what a start is told.
        (DIRECTIVE, dry("local", "fork"), "thread.no_provider"),
        (TOOL, dry("local", "fork"), "matrix.tool_fork"),
        (TOOL, dry("remote", "inline"), "matrix.dry_run_remote"),
        (TOOL, dry("remote:x", "inline"), "matrix.dry_run_remote"),
        (TOOL, dry("remote", "fork"), "matrix.dry_run_remote"),
        (DIRECTIVE, dry("remote", "fork"), "matrix.dry_run_remote"),
        (DIRECTIVE, dry("remote", "inline"), "matrix.dry_run_remote"),
        (TOOL, Cell { dry_run: true, ..detached("local", "inline") }, "matrix.async_dry_run"),
        (TOOL, Cell { dry_run: true, ..detached("local", "fork") }, "matrix.async_dry_run"),
        (DIRECTIVE, Cell { dry_run: true, ..detached("local", "fork") }, "matrix.async_dry_run"),
        (DIRECTIVE, Cell { dry_run: true, ..detached("local", "inline") }, "matrix.async_dry_run"),
        // An empty remote, and words that are none.
        (TOOL, cell("remote:", "inline"), "matrix.empty_remote"),
        (TOOL, cell("remote: ", "inline"), "matrix.empty_remote"),
        (DIRECTIVE, cell("remote:\t", "fork"), "matrix.empty_remote"),
        (TOOL, cell("moon", "inline"), "matrix.unknown_word"),
        (TOOL, cell("", "inline"), "matrix.unknown_word"),
        (TOOL, cell("Local", "inline"), "matrix.unknown_word"),
        (TOOL, cell("local ", "inline"), "matrix.unknown_word"),
        (TOOL, cell("local:x", "inline"), "matrix.unknown_word"),
        (TOOL, cell("remotes:x", "inline"), "matrix.unknown_word"),
        (TOOL, cell("local", "spoon"), "matrix.unknown_word"),
        (TOOL, cell("local", ""), "matrix.unknown_word"),
        (TOOL, cell("local", "FORK"), "matrix.unknown_word"),
        (DIRECTIVE, cell("local", "inline,fork"), "matrix.unknown_word"),
        // Knowledge is shown in one cell, and config in none.
        (KNOWLEDGE, cell("local", "inline"), ""),
        (KNOWLEDGE, cell("local", "fork"), "matrix.not_executable"),
        (KNOWLEDGE, cell("remote", "inline"), "matrix.not_executable"),
        (KNOWLEDGE, cell("remote", "fork"), "matrix.not_executable"),
        (KNOWLEDGE, detached("local", "inline"), "matrix.not_executable"),
        (KNOWLEDGE, detached("remote", "fork"), "matrix.not_executable"),
        (KNOWLEDGE, dry("local", "inline"), ""),
        (CONFIG, cell("local", "inline"), "matrix.not_executable"),
        (CONFIG, cell("local", "fork"), "matrix.not_executable"),
        (CONFIG, cell("remote", "inline"), "matrix.not_executable"),
        (CONFIG, cell("remote", "fork"), "matrix.not_executable"),
        (CONFIG, detached("local", "inline"), "matrix.not_executable"),
        (CONFIG, dry("local", "inline"), "matrix.not_executable"),
        // A plain id is judged by the kind that answers it.
        ("acme/mark", cell("local", "fork"), "matrix.tool_fork"),
        ("acme/greet", cell("remote", "inline"), "matrix.directive_remote_inline"),
        ("acme/greet", detached("local", "inline"), "matrix.directive_async_inline"),
        ("acme/greet", cell("local", "inline"), ""),
    ]);
}

#[test]
fn h04_the_check_comes_before_the_item_is_looked_up() {
    let absent = [
        ("tool:acme/nowhere", cell("local", "fork"), "matrix.tool_fork"),
        ("directive:acme/nowhere", cell("remote", "inline"), "matrix.directive_remote_inline"),
        ("directive:acme/nowhere", detached("local", "inline"), "matrix.directive_async_inline"),
        ("config:acme/nowhere", cell("local", "inline"), "matrix.not_executable"),
        ("knowledge:acme/nowhere", cell("local", "fork"), "matrix.not_executable"),
        ("acme/nowhere", dry("remote", "inline"), "matrix.dry_run_remote"),
        ("acme/nowhere", cell("moon", "inline"), "matrix.unknown_word"),
        ("acme/nowhere", cell("remote:", "fork"), "matrix.empty_remote"),
        (
            "acme/nowhere",
            Cell { dry_run: true, ..detached("local", "fork") },
            "matrix.async_dry_run",
        ),
    ];
    check(&absent);
    let world = world();
    let (code, status, _) = cell("local", "inline").run(&world, "tool:acme/nowhere");
    assert_eq!((code.as_str(), status), ("resolve.not_found", 3));
    // Unsigned or not: a cell that is not there is the first thing said.
    world.write(".ai/tools/acme/mark.sh", MARKER_SH);
    let (code, status, _) = cell("local", "fork").run(&world, TOOL);
    assert_eq!((code.as_str(), status), ("matrix.tool_fork", 4));
}

#[test]
fn h04_each_refusal_names_what_is_allowed() {
    let world = world();
    let rows = [
        (TOOL, cell("local", "fork"), "--thread inline"),
        (DIRECTIVE, cell("remote", "inline"), "--thread fork"),
        (DIRECTIVE, detached("local", "inline"), "--thread fork"),
        (TOOL, dry("remote", "inline"), "--target local"),
        (TOOL, Cell { dry_run: true, ..detached("local", "inline") }, "--dry-run"),
        (TOOL, cell("remote:", "inline"), "remote:<name>"),
        (TOOL, cell("moon", "inline"), "local, remote"),
        (TOOL, cell("local", "spoon"), "inline, fork"),
        (TOOL, cell("local", "frok"), "fork"),
        (KNOWLEDGE, cell("local", "fork"), "--thread inline"),
        (DIRECTIVE, cell("local", "fork"), "provider"),
    ];
    for (item, cell, allowed) in rows {
        let (_, _, said) = cell.run(&world, item);
        let help = said["help"].as_str().unwrap_or_default();
        assert!(help.contains(allowed), "{}: {said}", cell.name(item));
    }
}

#[test]
fn h04_a_refusal_is_one_object_in_the_one_form() {
    let world = world();
    let (_, _, mut said) = cell("local", "fork").run(&world, TOOL);
    let duration = said["metadata"]["duration_ms"].take();
    assert!(duration.is_number(), "{said}");
    let text = said["error"].take();
    assert!(text.as_str().is_some_and(|text| text.contains("fork")), "{text}");
    let want = json!({
        "status": "error", "code": "matrix.tool_fork", "error": null,
        "help": "run it with `--thread inline`", "item_id": TOOL, "chain": [],
        "metadata": {"duration_ms": null},
    });
    assert_eq!(said, want);
    // As text it is the same on standard error, and standard output stays empty.
    let said = world.rye(&["execute", TOOL, "--thread", "fork"]);
    assert_eq!((said.status, said.stdout.as_str()), (4, ""));
    assert!(said.stderr.starts_with("error[matrix.tool_fork]: "), "{said:?}");
}

#[test]
fn a_level_of_the_sandbox_for_a_thread_is_refused_and_never_passed_over() {
    let world = world();
    for (level, fork, code) in [
        ("landlock", true, "matrix.fork_sandbox"),
        ("bwrap", true, "matrix.fork_sandbox"),
        ("off", true, "matrix.fork_sandbox"),
        ("auto", true, "thread.no_provider"),
        ("landlock", false, ""),
    ] {
        let thread = if fork { "fork" } else { "inline" };
        let args = ["execute", DIRECTIVE, "--thread", thread, "--sandbox", level, "--json"];
        let said = world.rye(&args);
        assert_eq!(said.code(), code, "{level} {thread}: {said:?}");
        if code == "matrix.fork_sandbox" {
            assert_eq!(said.status, 4);
            let said = world.rye(&[&args[..], &["--async"]].concat());
            assert_eq!(said.code(), code, "{level} {thread}: {said:?}");
        }
    }
    assert_eq!(world.json(&["thread", "list"]).1["threads"], json!([]), "nothing was registered");
}
