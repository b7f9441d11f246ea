//! What a tool writes is shown in a terminal as it comes, and captured whole (core 11).

use serde_json::json;

use crate::sandbox::levels;
use crate::world::items::tool_sh;
use crate::world::{Said, World};

/// A shell tool with lines in its header.
fn tool(header: &str, script: &str) -> String {
    let till = "till() { while [ ! -e \"$1\" ]; do sleep 0.1; done; }";
    tool_sh(header, &format!("{till}\n{script}"))
}

/// A terminal without colours.
fn world() -> World {
    World::new().env("NO_COLOR", "1")
}

const LOUD: &str = "tool:acme/loud";
const FILE: &str = ".ai/tools/acme/loud.sh";

/// What the terminal shows, with its line ends as they were written.
fn shown(said: &Said) -> String {
    said.stdout.replace("\r\n", "\n")
}

#[test]
fn lines_are_shown_while_the_tool_runs_and_in_their_order() {
    let world = world();
    // It goes on only when the line before was seen: at the end would be too late.
    let script = "echo e1 >&2; till a; echo o1; till b; echo o2; till c; echo e2 >&2; till d\n\
                  printf 'in a line'; till e; echo ' and on'; echo e3 >&2; till f; exit 0\n";
    world.signed(FILE, &tool("# [config]\n# timeout = 20\n", script));
    let steps =
        [("e1", "a"), ("o1", "b"), ("o2", "c"), ("e2", "d"), ("in a line", "e"), ("e3", "f")];
    let said = world.rye_at_a_terminal_by_steps(&steps, &["run", LOUD]).ok();
    assert_eq!(shown(&said), "e1\no1\no2\ne2\nin a line and on\ne3\n", "once, and nothing else");
    // A pipe gets each stream as a whole, and `--no-stream` shows that in a terminal.
    let said = world.rye(&["run", LOUD]);
    let (out, err) = ("o1\no2\nin a line and on\n", "e1\ne2\ne3\n");
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), (out, err));
    let said = world.rye_at_a_terminal("", &["run", LOUD, "--no-stream"]);
    assert_eq!(shown(&said), format!("{out}{err}"));
    let said = world.rye_at_a_terminal("", &["run", LOUD, "--quiet"]);
    assert_eq!((said.status, shown(&said).as_str()), (0, ""));
    let (_, got) = world.json(&["run", LOUD]);
    assert_eq!(got["data"], json!({"stdout": out, "stderr": err}));
}

#[test]
fn a_pipe_gets_the_bytes_of_a_tool_while_it_runs() {
    let world = world();
    let script = "echo e1 >&2; till a; printf '\\377\\033[m\\n'; till b; printf 'no end'; exit 3\n";
    world.signed(FILE, &tool("# [config]\n# timeout = 20\n", script));
    let reader = "{ read x; echo \"$x\"; touch a; read x; echo \"$x\"; touch b; cat; }";
    let seen = world.shell(&format!("rye run {LOUD} 2>&1 | {reader} | od -An -c | tr -d ' \\n'"));
    assert!(seen.starts_with("e1\\n377033[m\\nnoend"), "{seen}");
    let said = world.shell(&format!("rye run {LOUD} 2>&1 >/dev/null | head -n 2"));
    assert!(said.starts_with("e1\nerror[execute.tool_failed]"), "{said}");
}

#[test]
fn f08_a_secret_that_comes_in_two_writes_is_masked_in_both_streams() {
    let world = world().env("API_TOKEN", "token-0123456789");
    let script = "printf 'first\\nout tok'; till a; printf 'en-0123456789 end\\n'\n\
                  printf 'err token-01234' >&2; till b; printf '56789 over\\n' >&2; till c\n\
                  printf 'a tok'; till d; echo en\n";
    let header = "# secrets = [\"API_TOKEN\"]\n# [config]\n# timeout = 20\n";
    world.signed(FILE, &tool(header, script));
    let steps = [("out ", "a"), ("err ", "b"), ("over", "c"), ("a ", "d")];
    let said = world.rye_at_a_terminal_by_steps(&steps, &["run", LOUD]).ok();
    let want = "first\nout *** end\nerr *** over\na token\n";
    assert_eq!(shown(&said), want, "what only began like it is whole");
}

/// A result that is JSON is shown at the end, and is masked in a terminal like what comes before.
#[test]
fn f08_a_secret_in_a_result_is_masked_in_a_terminal_and_whole_for_programs() {
    let world = world().env("API_TOKEN", "token-0123456789").env("PLACE", "place-of-acme");
    let header = "# secrets = [\"API_TOKEN\"]\n# env = [\"PLACE\"]\n";
    let script =
        "echo \"{\\\"by\\\": \\\"$API_TOKEN\\\", \\\"$PLACE\\\": [\\\"x$API_TOKEN\\\"]}\"\n";
    world.signed(FILE, &tool(header, script));
    for args in [&["run", LOUD][..], &["run", LOUD, "--no-stream"]] {
        let said = world.rye_at_a_terminal("", args);
        let text = shown(&said);
        assert!(said.status == 0 && text.contains("by") && text.contains("***"), "{said:?}");
        assert!(!text.contains("token-0123456789") && !text.contains("place-of"), "{said:?}");
    }
    let (status, got) = world.json(&["run", LOUD]);
    assert_eq!((status, &got["data"]["by"]), (0, &"token-0123456789".into()), "{got}");
    let said = world.rye(&["run", LOUD]);
    assert!(said.stdout.contains("token-0123456789"), "a pipe gets it whole: {said:?}");
}

#[test]
fn what_a_tool_says_beside_a_result_is_shown_at_the_end_where_it_is_not_shown_as_it_comes() {
    let world = world().env("API_TOKEN", "token-0123456789");
    let header = "# secrets = [\"API_TOKEN\"]\n";
    world.signed(FILE, &tool(header, "echo beside $API_TOKEN >&2; echo '{\"a\": 1}'\n"));
    let said = world.rye(&["run", LOUD]);
    assert_eq!((said.status, said.stderr.as_str()), (0, "beside ***\n"), "{said:?}");
    let said = world.rye(&["run", LOUD, "--no-stream"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, "beside ***\n"), "{said:?}");
    let said = world.rye_at_a_terminal("", &["run", LOUD, "--no-stream"]);
    assert_eq!(shown(&said).matches("beside ***").count(), 1, "{said:?}");
    for silent in ["--quiet", "--json"] {
        assert_eq!(world.rye(&["run", LOUD, silent]).stderr, "", "{silent}");
    }
    world.signed(FILE, &tool(header, "echo beside >&2; echo text\n"));
    assert_eq!(world.rye(&["run", LOUD, "--no-stream"]).stderr, "beside\n", "said once");
}

#[test]
fn f08_what_is_shown_of_a_run_that_fails_holds_no_value_that_its_item_named() {
    let world = world().env("PLACE", "place-of-acme").env("API_TOKEN", "token-0123456789");
    let header = "# env = [\"PLACE\"]\n# secrets = [\"API_TOKEN\"]\n";
    let script = "echo at $PLACE; sleep 0.1; echo by $API_TOKEN $PLACE >&2; exit 3\n";
    world.signed(FILE, &tool(header, script));
    let said = world.rye_at_a_terminal("", &["run", LOUD]);
    assert!(said.status == 1 && shown(&said).starts_with("at ***\nby *** ***\n"), "{said:?}");
    // A pipe would get what is no error of a run that succeeds; so it gets it at the end.
    let said = world.rye(&["run", LOUD]);
    assert_eq!((said.status, said.stdout.as_str()), (1, "at ***\n"), "{said:?}");
    assert!(said.stderr.starts_with("by *** ***\nerror["), "{said:?}");
    world.signed(FILE, &tool(header, "echo at $PLACE; echo by $PLACE $API_TOKEN >&2\n"));
    let said = world.rye(&["run", LOUD]);
    let got = (said.status, said.stdout.as_str(), said.stderr.as_str());
    assert_eq!(got, (0, "at place-of-acme\n", "by place-of-acme ***\n"));
}

#[test]
fn f08_the_beginning_of_a_secret_is_masked_where_the_tool_was_cut_off_in_it() {
    let world = world().env("API_TOKEN", "token-0123456789");
    let header = "# secrets = [\"API_TOKEN\"]\n# [config]\n# timeout_ms = 700\n";
    let begun = "printf 'is token-0123'; printf 'was token-012345' >&2";
    world.signed(FILE, &tool(header, &format!("{begun}\n")));
    let said = world.rye(&["run", LOUD]);
    let got = (said.stdout.as_str(), said.stderr.as_str());
    assert_eq!(got, ("is token-0123", "was token-012345"), "a tool that ended meant it");
    for end in ["sleep 60", "kill -9 $$"] {
        world.signed(FILE, &tool(header, &format!("{begun}\n{end}\n")));
        let said = world.rye_at_a_terminal("", &["run", LOUD]);
        let text = shown(&said);
        assert!(text.starts_with("is was ******\n"), "{end}: {text}");
        assert!(!text.contains("oken-"), "{end}: {text}");
        let said = world.rye(&["run", LOUD, "--json"]);
        assert!(said.stdout.contains("was ***"), "{end}: {said:?}");
        assert!(!said.stdout.contains("oken-"), "{end}: {said:?}");
    }
}

#[test]
fn what_came_of_a_failure_or_a_time_out_is_not_told_twice() {
    let world = world();
    let header = "# [config]\n# timeout = 20\n";
    world.signed(FILE, &tool(header, "echo why >&2; till a; printf 'no end'; till b; exit 3\n"));
    let steps = [("why", "a"), ("no end", "b")];
    let said = world.rye_at_a_terminal_by_steps(&steps, &["run", LOUD]);
    assert_eq!(said.status, 1, "{said:?}");
    let text = shown(&said);
    assert!(text.starts_with("why\nno end\nerror[execute.tool_failed]: "), "{text}");
    assert_eq!(text.matches("why").count(), 1, "{text}");
    world.signed(FILE, &tool("# [config]\n# timeout_ms = 500\n", "echo why >&2; sleep 60\n"));
    let said = world.rye_at_a_terminal("", &["run", LOUD]);
    let text = shown(&said);
    assert!(said.status == 6 && text.starts_with("why\nerror[execute.timeout]: "), "{text}");
    assert_eq!(text.matches("why").count(), 1, "{text}");
    // Who wants quiet hears of a failure.
    world.signed(FILE, &tool("", "echo out; echo why >&2; exit 3\n"));
    let said = world.rye(&["run", LOUD, "-q"]);
    assert_eq!((said.status, said.stdout.as_str()), (1, "out\n"));
    assert!(said.stderr.starts_with("why\nerror["), "{said:?}");
}

#[test]
fn a_result_is_shown_at_its_end_as_ever() {
    let world = world();
    let said = world.rye_at_a_terminal("", &["run", "rye/bash", "-i", "command=echo hello"]);
    assert_eq!((said.status, shown(&said).as_str()), (0, "hello\n"), "{said:?}");
    world.signed(FILE, &tool("", "echo notes >&2; sleep 0.1; printf '{\"a\":'; echo ' [1]}'\n"));
    let said = world.rye_at_a_terminal("", &["run", LOUD]);
    assert_eq!(shown(&said), "notes\n{\n  \"a\": [\n    1\n  ]\n}\n");
    world.signed(FILE, &tool("", "printf '[INFO]'; echo ' building'; echo done\n"));
    let said = world.rye_at_a_terminal("", &["run", LOUD]);
    assert_eq!(shown(&said), "[INFO] building\ndone\n", "what begins like one is text");
    let failed = "echo '{\"success\": false, \"error\": \"no luck\"}'\n";
    world.signed(FILE, &tool("", failed));
    let said = world.rye_at_a_terminal("", &["run", LOUD]);
    assert!(said.status == 1 && shown(&said).starts_with("error[execute.tool_failed]"), "{said:?}");
}

#[test]
fn what_was_cut_is_said_on_standard_error() {
    let world = world();
    let flood = "head -c 20000000 /dev/zero | tr '\\0' a\n";
    world.signed(FILE, &tool("# [config]\n# timeout = \"10m\"\n", flood));
    let said = world.rye(&["run", LOUD, "--no-stream"]);
    assert_eq!((said.status, said.stdout.len()), (0, 16 << 20));
    let want = format!("warning: what `{LOUD}` wrote was cut: of each stream the first 16 MiB");
    assert!(said.stderr.starts_with(&want), "{}", said.stderr);
    let (_, got) = world.json(&["run", LOUD]);
    assert_eq!(got["metadata"]["truncated"], true);
    // Who hears it as it comes gets all of it, in a pipe and in a terminal.
    let said = world.rye(&["run", LOUD]);
    assert_eq!((said.status, said.stdout.len(), said.stderr.as_str()), (0, 20_000_000, ""));
    let pty = "python3 -c 'import pty, sys; pty.spawn(sys.argv[1:], lambda fd: __import__(\"os\").read(fd, 65536))'";
    let seen =
        world.shell(&format!("{pty} rye run {LOUD} </dev/null | tee seen | tr -d a; wc -c <seen"));
    assert_eq!(seen, "20000000\n");
    world.signed(FILE, &tool("", "echo short\n"));
    assert_eq!(world.rye(&["run", LOUD]).stderr, "");
}

#[test]
fn what_a_hook_may_withhold_is_not_shown_before_it_was_asked() {
    let world = world();
    let hook = |answer: &str| {
        world.write_home(".ai/tools/hooks/g.sh", format!("#!/bin/sh\ncat >/dev/null\n{answer}\n"));
        world.signed_home(
            ".ai/tools/hooks/guard.yaml",
            "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
             category: hooks\ndescription: A hook.\nhook: tool\nphases: [after_execution]\n\
             exec:\n  command: ./g.sh\n  files: [g.sh]\n",
        );
    };
    world.signed(FILE, &tool("", "echo hidden; echo hidden >&2; sleep 0.2\n"));
    assert!(shown(&world.rye_at_a_terminal("", &["run", LOUD])).contains("hidden"));
    hook("echo '{\"allow\":false,\"reason\":\"no\"}'");
    let said = world.rye_at_a_terminal("", &["run", LOUD]);
    assert_eq!((said.status, said.code_shown().as_str()), (4, "hook.denied"), "{said:?}");
    assert!(!said.stdout.contains("hidden"), "{said:?}");
    hook("echo '{\"allow\":true}'");
    let said = world.rye_at_a_terminal("", &["run", LOUD]);
    assert_eq!(shown(&said), "hidden\nhidden\n");
}

#[test]
fn a_verbose_run_shows_the_command() {
    let world = world();
    world.signed(FILE, &tool("", "echo done\n"));
    let said = world.rye(&["run", LOUD, "-v"]);
    assert_eq!(said.stdout, "done\n");
    let line = said.stderr.lines().find(|line| line.contains("runs ")).expect("a line");
    assert!(line.contains("/acme/loud.sh") || line.contains("/loud.sh"), "{line}");
    assert!(!world.rye(&["run", LOUD]).stderr.contains("runs "));
}

#[test]
fn a_tool_that_a_signal_ended_says_so_alike_at_every_level() {
    let world = world();
    for (script, status) in [("kill -9 $$", 137), ("kill -TERM $$", 143), ("exit 3", 3)] {
        world.signed(FILE, &tool("", &format!("{script}\n")));
        let at = |level: &str| {
            let (_, got) = world.json(&["run", LOUD, "--sandbox", level]);
            let metadata = &got["metadata"];
            json!([got["error"], metadata["exit_code"], metadata["signal"]])
        };
        let want = at("off");
        assert_eq!(want[1], status, "{want}");
        for level in levels("a_tool_that_a_signal_ended_says_so_alike_at_every_level") {
            assert_eq!(at(level), want, "{level}");
        }
    }
}

#[test]
fn tests_evals_and_dev_take_the_level_that_is_wanted() {
    let world = world().held();
    world.signed(FILE, &tool("", "echo done\n"));
    world.write(".ai/tools/acme/loud.test.yaml", "cases:\n  - {expect: {text: done}}\n");
    world.rye(&["test"]).ok();
    let said = world.rye(&["test", "--sandbox", "off", "--json"]);
    assert_eq!(said.status, 1, "{said:?}");
    assert!(said.stdout.contains("sandbox.not_allowed"), "{said:?}");
    world.let_out();
    world.rye(&["test", "--sandbox", "off"]).ok();
    world.write(".ai/tools/acme/mood-it.sh", "#!/bin/sh\ncat >/dev/null\necho '{\"score\":1}'\n");
    world.signed(
        ".ai/tools/acme/mood.yaml",
        "version: \"1.0.0\"\ntool_type: eval\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
         category: acme\ndescription: x\nexec:\n  command: ./mood-it.sh\n  files: [mood-it.sh]\n",
    );
    let eval = ["eval", "run", "acme/mood", "--content", "x", "--sandbox", "off"];
    world.rye(&eval).ok();
    let world = world.held();
    assert_eq!(world.rye(&eval).code(), "sandbox.not_allowed");
    for verb in [&["test"][..], &["eval", "run"], &["dev"]] {
        let help = world.rye(&[verb, &["--help"]].concat()).stdout;
        assert!(help.contains("--sandbox <LEVEL>"), "{verb:?}: {help}");
    }
}

#[cfg(feature = "code")]
#[test]
fn what_a_saved_snippet_prints_is_shown_while_it_runs_beside_its_value() {
    let world = world();
    // It goes on only when what it printed before was seen.
    let waits = tool("# effects = \"read\"\n", "till go\n");
    world.signed(".ai/tools/acme/waits.sh", &waits);
    let code = "println('begins');\nawait tools.acme.waits();\nconsole.error('went on');\n\
                __out = {n: 1};";
    let saved = |code: &str| {
        format!(
            "// /// rye\n// version = \"1.0.0\"\n// tool_type = \"tool\"\n\
             // executor_id = \"rye/core/runtimes/code/snippet\"\n\
             // calls = [\"tool:acme/*\"]\n// ///\n{code}\n"
        )
    };
    world.signed(".ai/tools/acme/said.js", &saved(code));
    let said = world.rye_at_a_terminal_by_steps(&[("begins", "go")], &["run", "acme/said"]).ok();
    let text = shown(&said);
    assert!(text.starts_with("begins\nwent on\n") && text.matches("begins").count() == 1, "{text}");
    assert!(text.contains("\"n\""), "{text}");
    // A pipe gets it as it comes, the value alone on standard output.
    std::fs::remove_file(world.project().join("go")).unwrap();
    let reader = "{ read x; echo \"$x\"; touch go; cat; }";
    let seen = world.shell(&format!("rye run acme/said 2>&1 >value | {reader}"));
    assert_eq!(seen, "begins\nwent on\n");
    let value = String::from_utf8(world.read("value")).unwrap();
    assert!(value.starts_with('{') && !value.contains("begins"), "{value}");
    // Once, at the end, or not at all.
    let said = world.rye(&["run", "acme/said", "--no-stream"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, "begins\nwent on\n"), "{said:?}");
    let said = world.rye(&["run", "acme/said", "--quiet"]);
    assert_eq!((said.status, said.stderr.as_str(), said.stdout.as_str()), (0, "", ""), "{said:?}");
    let (status, told) = world.json(&["run", "acme/said"]);
    assert_eq!((status, &told["metadata"]["stdout"]), (0, &json!("begins\n")), "{told}");
    assert_eq!(world.rye(&["run", "acme/said", "--json"]).stderr, "");
    // What fails has shown what it printed, too.
    let fails = saved("println('all of it'); nothing()");
    world.signed(".ai/tools/acme/said.js", &fails);
    let said = world.rye(&["run", "acme/said"]);
    assert!(
        said.status == 1 && said.stderr.starts_with("all of it\nerror[code.failed]"),
        "{said:?}"
    );
}

/// What a person asked for, and paid for, is not what a tool says on its way.
#[test]
fn with_quiet_a_thread_a_page_and_a_detached_run_still_give_their_outcome() {
    let turns = json!([crate::threads::call("acme_echo", &json!({})), crate::threads::hand_over()]);
    let world = crate::threads::world(&turns, "turns=\"9\"", crate::threads::ONLY_ECHO);
    let said = |args: &[&str]| world.rye(args).ok();
    for item in [&["directive:acme/go", "--thread", "fork"][..], &["directive:acme/go"]] {
        let run = [&["execute"], item].concat();
        let (quiet, loud) = (said(&[&run[..], &["--quiet"]].concat()), said(&run));
        assert_eq!(quiet.stdout, loud.stdout, "{item:?}");
        assert!(!quiet.stdout.is_empty() && quiet.stderr.is_empty(), "{quiet:?}");
    }
    for item in ["directive:acme/go", "tool:acme/echo"] {
        let fork: &[&str] = if item.starts_with('d') { &["--thread", "fork"] } else { &[] };
        let quiet = said(&[&["execute", item, "--async", "--quiet"], fork].concat());
        let id = quiet.stdout.trim_end();
        assert!(!id.is_empty() && quiet.stderr.is_empty(), "{quiet:?}");
        said(&["thread", "wait", id]);
    }
    let quiet = said(&["execute", "tool:acme/echo", "--quiet"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

/// A snippet has no environment; what its header names is masked in what is shown all the same.
#[cfg(feature = "code")]
#[test]
fn f08_a_secret_that_a_saved_snippet_prints_is_masked_as_it_is_shown() {
    let world = world().env("API_TOKEN", "token-0123456789");
    let header = "# effects = \"read\"\n# secrets = [\"API_TOKEN\"]\n";
    world.signed(FILE, &tool(header, "printf '{\"t\": \"%s\"}' \"$API_TOKEN\"\n"));
    let text = "// /// rye\n// version = \"1.0.0\"\n// tool_type = \"tool\"\n\
         // executor_id = \"rye/core/runtimes/code/snippet\"\n// calls = [\"tool:acme/*\"]\n\
         // secrets = [\"API_TOKEN\"]\n// ///\n\
         const {t} = await tools.acme.loud();\nprintln('is ' + t.slice(0, 8));\n\
         println(t);\n__out = t.length;\n";
    world.signed(".ai/tools/acme/said.js", text);
    let said = world.rye_at_a_terminal("", &["run", "acme/said"]);
    assert_eq!((said.status, shown(&said).as_str()), (0, "is token-01\n***\n16\n"), "{said:?}");
}
