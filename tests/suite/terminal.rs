//! What shells and terminals get: completion, colour, escapes, logs (core 11).

use crate::cli::world;
use crate::world::{End, GREET_MD, MARKER_SH, World};

/// What rye answers a shell that completes the last of these words.
fn completed(world: &World, words: &[&str]) -> Vec<String> {
    let index = (words.len() - 1).to_string();
    let env = [("COMPLETE", "bash"), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_INDEX", &index)];
    let said = world.rye_env(&world.project(), &[&["--"], words].concat(), b"", &env);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{words:?}");
    let mut answers: Vec<_> = said.stdout.lines().map(str::to_owned).collect();
    answers.sort_unstable();
    answers
}

#[test]
fn a_shell_completes_verbs_refs_input_names_and_codes() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    let rows: &[(&[&str], &[&str])] = &[
        (&["rye", "ex"], &["execute", "explain", "export"]),
        (&["rye", "execute", "acme/"], &["acme/echo", "acme/greet"]),
        (&["rye", "execute", "tool:acme/"], &["tool:acme/echo"]),
        (&["rye", "run", "directive:acme/g"], &["directive:acme/greet"]),
        (&["rye", "show", "knowledge:rye/over"], &["knowledge:rye/overview"]),
        (&["rye", "why", "rye/ba"], &["rye/bash"]),
        (&["rye", "execute", "tool:acme/echo", "-i", ""], &["fast=", "mode=", "n="]),
        (&["rye", "execute", "acme/echo", "-i", "mo"], &["mode="]),
        (&["rye", "execute", "acme/echo", "-i", "mode="], &["mode=one", "mode=two"]),
        (&["rye", "execute", "acme/echo", "--dry-run", "-i", "fast=t"], &["fast=true"]),
        (&["rye", "execute", "directive:acme/greet", "--input", "w"], &["who="]),
        (&["rye", "explain", "verify.al"], &["verify.altered"]),
        (&["rye", "completions", "z"], &["zsh"]),
        (&["rye", "execute", "no/such"], &[]),
        (&["rye", "show", "rye/core/primitives/m"], &["rye/core/primitives/mcp"]),
    ];
    for (words, want) in rows {
        assert_eq!(completed(&world, words), *want, "{words:?}");
    }
    // What is completed for a verb that runs it can be run: not what tools run through.
    for verb in ["execute", "run", "plan", "dev", "learn"] {
        let all = completed(&world, &["rye", verb, ""]);
        assert!(all.contains(&"tool:acme/echo".to_owned()), "{verb}: {all:?}");
        assert!(all.contains(&"tool:rye/bash".to_owned()), "{verb}: {all:?}");
        for kind in ["", "tool:", "knowledge:", "config:"] {
            let all = completed(&world, &["rye", verb, &format!("{kind}rye/")]);
            let is_run = |item: &String| {
                let id = item.split_once(':').map_or(item.as_str(), |(_, id)| id);
                !id.starts_with("rye/core/runtimes/") && !id.starts_with("rye/core/primitives/")
            };
            assert!(all.iter().all(is_run), "{verb} {kind}: {all:?}");
            assert_eq!(all.is_empty(), matches!(kind, "knowledge:" | "config:"), "{verb} {kind}");
        }
    }
    // Whoever wrote an item does not write on the command line of who completes.
    let hostile = "#!/bin/sh\n# /// rye\n# version = \"1.0.0\"\n# tool_type = \"tool\"\n\
        # executor_id = \"rye/core/runtimes/shell/script\"\n# description = \"d\"\n\
        # [input_schema.properties.\"a;touch PWN;b\"]\n# type = \"string\"\n\
        # [input_schema.properties.ab]\n# enum = [\"x\", \"$(touch PWN)\", \"y z\"]\n# ///\necho 1\n";
    world.signed(".ai/tools/acme/hostile.sh", hostile);
    world.write("sub/c;touch PWN", "");
    world.write("sub/cd", "");
    for (word, want) in [("a", "ab="), ("ab=", "ab=x"), ("./sub/c", "./sub/cd")] {
        let words = ["rye", "execute", "acme/hostile", "-i", word];
        let words = if word == "./sub/c" { &["rye", "show", word][..] } else { &words };
        assert_eq!(completed(&world, words), [want], "{words:?}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = world.rye(&["completions", shell]);
        assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{shell}");
        assert!(said.stdout.contains("COMPLETE") && said.stdout.contains("rye"), "{shell}");
    }
    assert_eq!(world.rye(&["completions", "tcsh"]).status, 2);
}

#[test]
fn a_completion_script_for_a_program_is_in_an_object() {
    let world = World::empty();
    let script = world.rye(&["completions", "zsh"]).stdout;
    let (status, got) = world.json(&["completions", "zsh"]);
    assert_eq!((status, got["script"].as_str()), (0, Some(script.as_str())));
}

#[test]
fn bash_completes_a_ref_and_a_value_although_it_breaks_words_at_colons() {
    let world = world();
    let script = world.rye(&["completions", "bash"]).stdout;
    // What bash hands over for `rye execute tool:acme/e<TAB>` and `… -i mode=t<TAB>`.
    for (words, line, want) in [
        ("rye execute acme/e", "rye execute acme/e", "acme/echo"),
        ("rye execute tool : acme/e", "rye execute tool:acme/e", "acme/echo"),
        ("rye execute acme/echo -i mode = t", "rye execute acme/echo -i mode=t", "two"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let ask = format!(
            "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={}\nCOMP_LINE='{line}'\n\
             COMP_POINT=${{#COMP_LINE}}\nCOMP_TYPE=9\n\
             registered=$(complete -p rye | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
             $registered rye '{last}' '{before}'\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1,
        );
        let got = world.shell(&ask);
        assert_eq!(got.trim(), want, "{line}");
    }
}

/// What a person sees who runs this on a terminal.
fn on_a_terminal(world: &World, args: &str, env: &str) -> String {
    let spawn = "import pty, sys; pty.spawn(sys.argv[1:])";
    world.shell(&format!("{env} python3 -c '{spawn}' rye {args} < /dev/null"))
}

#[test]
fn on_a_terminal_there_is_colour_and_nothing_that_a_tool_says_steers_it() {
    let world = world().env("TERM", "xterm");
    let script = "printf '\\e]0;title\\a\\e[2Jout\\u202e\\n'; printf '\\e[2Jerr\\n' >&2\n";
    world.signed(
        ".ai/tools/acme/loud.sh",
        &MARKER_SH.replace(": > marker\necho '{\"ran\": true}'\n", script),
    );
    let seen = on_a_terminal(&world, "execute acme/loud", "");
    assert!(seen.contains("\\u{1b}]0;title\\u{7}\\u{1b}[2Jout\\u{202e}"), "{seen:?}");
    assert!(seen.contains("\\u{1b}[2Jerr") && !seen.contains('\u{1b}'), "{seen:?}");
    // Colours and progress within the line are as they are without rye, and end with the tool.
    let script = "printf '\\e[1;32mgreen\\e[0m 10%%\\r20%%\\e[K\\n'; printf '\\e[31mred' >&2\n";
    world.signed(
        ".ai/tools/acme/bar.sh",
        &MARKER_SH.replace(": > marker\necho '{\"ran\": true}'\n", script),
    );
    let seen = on_a_terminal(&world, "execute acme/bar", "");
    assert!(seen.contains("\u{1b}[1;32mgreen\u{1b}[0m 10%\r20%\u{1b}[K\r\n"), "{seen:?}");
    assert!(seen.contains("\u{1b}[31mred\u{1b}[0m"), "{seen:?}");
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    let seen = on_a_terminal(&world, "execute acme/greet -i who=$'\\e[2J'", "");
    assert!(seen.contains("hello to \\u{1b}[2J.") && !seen.contains('\u{1b}'), "{seen:?}");
    let plain = world.rye(&["execute", "acme/loud"]);
    assert!(plain.stdout.contains("\u{1b}]0;title\u{7}"), "a pipe gets the bytes: {plain:?}");
    assert!(on_a_terminal(&world, "list", "").contains('\u{1b}'), "colour on a terminal");
    for (args, env) in [
        ("list", "NO_COLOR=1"),
        ("list --color never", ""),
        ("list", "TERM=dumb"),
        ("list --json", ""),
    ] {
        let seen = on_a_terminal(&world, args, env);
        assert!(seen.contains("acme/echo") && !seen.contains('\u{1b}'), "{args} {env}: {seen:?}");
    }
}

#[test]
fn logs_and_a_reader_that_leaves_early_disturb_nothing() {
    let world = world();
    let quiet = world.rye(&["list", "--json"]);
    for (args, env) in
        [(&["list", "--json", "-vvv"][..], &[][..]), (&["list", "--json"], &[("RYE_LOG", "trace")])]
    {
        let said = world.rye_env(&world.project(), args, b"", env);
        assert_eq!((said.status, &said.stdout), (0, &quiet.stdout), "{args:?}");
    }
    for verb in
        ["list --all", "list --all --json", "explain", "execute tool:acme/echo --dry-run --json"]
    {
        let said =
            world.shell(&format!("rye {verb} | head -c 1 > /dev/null; echo ${{PIPESTATUS[0]}}"));
        assert_eq!(said, "0\n", "{verb}");
    }
    // The project may be named, from anywhere.
    let project = world.project().display().to_string();
    for args in [
        &["-p", &project, "execute", "acme/echo", "--json"][..],
        &["execute", "acme/echo", "--json", "--project", &project],
    ] {
        world.rye_in(world.outside(), args, b"").ok();
    }
    let anywhere = world.outside().join("anywhere");
    std::fs::create_dir(&anywhere).unwrap();
    let said = world.rye_in(&anywhere, &["execute", "acme/echo", "--json"], b"");
    assert_eq!((said.status, said.code().as_str()), (3, "resolve.not_found"));
}

/// Drives a real shell, which must be there.
fn complete_in(world: &World, shell: &str) -> String {
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shells/complete.py");
    let rows = [
        "rye exec=>rye execute",
        "rye execute tool:acme/ec=>rye execute tool:acme/echo",
        "rye execute acme/ec=>rye execute acme/echo",
        "rye graph acme/gr=>rye graph acme/greet",
        "rye execute acme/echo -i mo=>rye execute acme/echo -i mode=",
        "rye execute tool:acme/echo -i mode=t=>rye execute tool:acme/echo -i mode=two",
        "rye execute acme/echo -i fast=t=>rye execute acme/echo -i fast=true",
        "rye explain verify.alt=>rye explain verify.altered",
        "rye list --kind kn=>rye list --kind knowledge",
        "rye new tool x --lang ty=>rye new tool x --lang typescript",
    ];
    let rows: Vec<String> = rows.iter().map(|row| format!("'{row}'")).collect();
    world.shell(&format!("python3 {driver} {shell} {}", rows.join(" ")))
}

#[test]
fn a_real_bash_completes_what_is_typed_into_it_and_so_do_zsh_and_fish_where_they_are() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    assert_eq!(complete_in(&world, "bash"), "bash 10\n");
    for (shell, want) in [("zsh", "zsh 10\n"), ("fish", "fish 10\n")] {
        if world.shell(&format!("command -v {shell}")).is_empty() {
            eprintln!("{shell} is not installed: its completion is tried by `.ci/run` alone");
            continue;
        }
        assert_eq!(complete_in(&world, shell), want);
    }
}

#[test]
fn there_is_a_manual_page_for_every_verb_and_it_says_what_its_help_says() {
    let world = World::empty();
    world.rye(&["man"]).ok().shows("\n.SH NAME\nrye \\- ");
    let got = world.json(&["man", "pages/man1"]).ok();
    let pages: Vec<&str> =
        got["pages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap()).collect();
    let help = world.rye(&["--help"]).stdout;
    let verbs = help.split("\nOptions:\n").next().unwrap().lines();
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split([' ', ',']).next());
    let verbs: Vec<&str> = verbs.filter(|verb| !verb.is_empty()).collect();
    assert!(verbs.len() > 15 && pages.len() > verbs.len(), "{verbs:?} {pages:?}");
    for verb in verbs {
        let name = format!("rye-{verb}.1");
        assert!(pages.contains(&name.as_str()), "{verb}");
        let page = String::from_utf8(world.read(&format!("pages/man1/{name}"))).unwrap();
        let title = format!(".TH RYE-{} 1 \"\" \"rye ", verb.to_uppercase());
        assert!(page.contains(&title), "{page}");
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\""] {
            assert!(page.contains(&format!(".SH {section}\n")), "{verb}: {section}");
        }
        // Each long option of the help is on the page.
        let help = world.rye(&[verb, "--help"]).stdout;
        let options = help.split_whitespace().filter(|word| word.starts_with("--"));
        for option in options.map(|word| word.trim_end_matches([',', '.', ';', ')', ':'])) {
            let plain = option.trim_matches(['`', '[', ']']).split('=').next().unwrap();
            let written = plain.replace('-', "\\-");
            assert!(page.contains(&written) || page.contains(plain), "{verb}: {plain}");
        }
        let drawn = world.shell(&format!("command -v man >/dev/null && man -l pages/man1/{name}"));
        assert!(drawn.is_empty() || drawn.contains("EXIT STATUS"), "{verb}: {drawn}");
    }
}

#[test]
fn words_of_a_command_line_steer_no_terminal_in_an_error_of_usage() {
    let world = World::new();
    for args in [&["verify", "--\u{1b}]0;x\u{7}"][..], &["list", "--kind", "\u{1b}[2Jx"]] {
        let said = world.rye_at_a_terminal("", args);
        assert_eq!(said.status, 2, "{said:?}");
        assert!(
            !said.stdout.contains("\u{1b}]0;") && !said.stdout.contains("\u{1b}[2J"),
            "{said:?}"
        );
        let said = world.rye(args);
        assert!(!said.stderr.contains('\u{1b}'), "{said:?}");
    }
}
