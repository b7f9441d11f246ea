//! The chain of a tool: judged, planned, shown and traced (core 7.3–7.5, 7.12–7.14).

use std::fs;

use crate::world::{End, MARKER_SH, World, fingerprint, links};
use serde_json::{Value, json};

const SHELL: &str = "rye/core/runtimes/shell/script";
const EXECUTE: &str = "rye/core/primitives/execute";

/// A shell tool that names this executor, with more lines in its header.
fn tool(executor: &str, header: &str) -> String {
    let header: String = header.lines().map(|line| format!("# {line}\n")).collect();
    MARKER_SH.replace(SHELL, executor).replace("# ///\n:", &format!("{header}# ///\n:"))
}

/// A runtime that hands on to `next`.
fn runtime(next: &str, more: &str) -> String {
    format!("version: \"1.0.0\"\ntool_type: runtime\nexecutor_id: {next}\ncategory: acme\n{more}\n")
}

#[test]
fn a_dry_run_says_all_that_a_run_would_do_and_starts_nothing() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    world.works("tool:acme/mark");
    let marker = world.project().join("marker");
    fs::remove_file(&marker).unwrap();
    let (status, mut got) = world.json(&["execute", "acme/mark", "--dry-run"]);
    let plan = got.as_object_mut().expect("an object").remove("plan").expect("a plan");
    for key in ["metadata", "trace"] {
        got.as_object_mut().expect("an object").remove(key).expect(key);
    }
    let config = "config:execution/execution";
    let want = json!({
        "limit": {
            "timeout_ms": 30_000, "set_by": "item", "item_id": config, "space": "system",
            "path": ".ai/config/execution/execution.yaml", "key": "defaults.timeout",
        },
        "status": "validation_passed", "message": "Tool chain validation passed (dry run)",
        "type": "tool", "item_id": "tool:acme/mark", "chain": links(&["acme/mark", SHELL, EXECUTE]),
        "validated_pairs": [format!("tool:acme/mark -> tool:{SHELL}"), format!("tool:{SHELL} -> tool:{EXECUTE}")],
    });
    assert_eq!((status, got), (0, want));
    assert_eq!((&plan["args"], &plan["timeout_ms"]), (&json!(["{tool_path}"]), &json!(30_000)));
    assert_eq!(plan["cwd"], world.project().display().to_string());
    let own = ["RYE_ITEM", "RYE_ITEM_PATH", "RYE_PIN", "RYE_PROJECT", "RYE_RUN_ID"];
    let names =
        [&["HOME", "LANG", "PATH", "PERL_USE_UNSAFE_INC", "PYTHONSAFEPATH"][..], &own].concat();
    assert_eq!(plan["env"], json!(names));
    assert!(
        plan["command"].as_str().is_some_and(|c| c.starts_with('/') && c.ends_with("bash")),
        "{plan}"
    );
    let own = fingerprint(&world.own_key());
    let signers: Vec<_> = plan["digests"].as_array().unwrap().iter().map(|d| &d["item"]).collect();
    assert_eq!(signers, ["tool:acme/mark", &format!("tool:{SHELL}"), &format!("tool:{EXECUTE}")]);
    assert_eq!(plan["digests"][0]["signer"], own);
    assert!(!plan["sandbox"].is_null(), "{plan}");
    let said = world.rye(&["execute", "acme/mark", "--dry-run"]);
    let lines: Vec<_> = said.stdout.lines().collect();
    assert_eq!(said.status, 0);
    assert!(lines[0].starts_with("validation passed"), "{said:?}");
    assert!(lines[2].starts_with("tool:acme/mark"), "{said:?}");
    assert!(lines[3].starts_with(&format!("└─ tool:{SHELL}")), "{said:?}");
    assert!(lines[4].starts_with(&format!("   └─ tool:{EXECUTE}")), "{said:?}");
    assert!(!marker.exists(), "a dry run ran");
}

#[test]
fn a_dry_run_of_the_shell_tool_spawns_nothing() {
    crate::sandbox::needed();
    let world = World::empty();
    let args = ["execute", "tool:rye/bash", "-i", "command=touch marker"];
    let python = "rye/core/runtimes/python/script";
    let (status, got) = world.json(&[&args[..], &["--dry-run"]].concat());
    assert_eq!((status, &got["status"]), (0, &json!("validation_passed")));
    assert_eq!(got["message"], "Tool chain validation passed (dry run)");
    assert_eq!(got["chain"], links(&["rye/bash", python, EXECUTE]));
    let pairs = json!([
        format!("tool:rye/bash -> tool:{python}"),
        format!("tool:{python} -> tool:{EXECUTE}")
    ]);
    assert_eq!(got["validated_pairs"], pairs);
    assert_eq!(fs::read_dir(world.project()).unwrap().count(), 0, "something was written");
    assert_eq!(fs::read_dir(world.home()).unwrap().count(), 0, "something was written");
    let (status, got) = world.json(&args);
    assert_eq!((status, &got["data"]["exit_code"]), (0, &json!(0)));
    assert!(world.project().join("marker").exists(), "the fixture itself leaves a marker");
}

#[test]
fn each_link_is_told_on_request() {
    let world = World::new();
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let (_, got) = world.json(&["execute", "acme/mark"]);
    assert!(got.get("chain_details").is_none() && got.get("trace").is_none(), "{got}");
    for more in [&[][..], &["--dry-run"]] {
        let (_, got) = world.json(&[&["execute", "acme/mark", "--chain-details"], more].concat());
        let details = got["chain_details"].as_array().expect("a list");
        let text = fs::read_to_string(&file).unwrap();
        let rest: String =
            text.split_inclusive('\n').filter(|l| !l.contains("rye:signed:")).collect();
        let want = json!({
            "item_id": "tool:acme/mark", "space": "project", "path": ".ai/tools/acme/mark.sh",
            "version": "1.0.0", "digest": crate::world::sha256(rest.as_bytes()),
            "signer": fingerprint(&world.own_key()), "owner": "you", "integrity": "verified",
        });
        assert_eq!((details.len(), &details[0]), (3, &want));
        for (detail, id) in details[1..].iter().zip([SHELL, EXECUTE]) {
            let part =
                (&detail["item_id"], &detail["space"], &detail["owner"], &detail["integrity"]);
            let want = json!([format!("tool:{id}"), "system", "rye", "verified"]);
            assert_eq!(part, (&want[0], &want[1], &want[2], &want[3]));
        }
    }
}

/// The steps of a trace, with the item or the pair that each is about.
fn steps(got: &Value) -> Vec<String> {
    let events = got["trace"].as_array().unwrap_or_else(|| panic!("a trace: {got}"));
    let mut last = 0;
    for event in events {
        let at = event["at_us"].as_u64().expect("microseconds");
        assert!(at >= last, "time goes back: {got}");
        last = at;
    }
    let what = |e: &Value| {
        let of = ["item_id", "pair", "contributed_by"].iter().find_map(|key| e[*key].as_str());
        format!("{} {}", e["step"].as_str().expect("a step"), of.unwrap_or_default())
            .trim_end()
            .to_owned()
    };
    events.iter().map(what).collect()
}

#[test]
fn a_trace_tells_each_decision_in_order_and_changes_none() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let link = |id: &str| {
        ["resolve", "verify_integrity", "parse", "chain_link"]
            .map(|step| format!("{step} tool:{id}"))
    };
    let mut want: Vec<String> = [link("acme/mark"), link(SHELL), link(EXECUTE)].concat();
    want.extend([
        format!("validate acme/mark -> {SHELL}"),
        format!("validate {SHELL} -> {EXECUTE}"),
        "verify_integrity config:execution/execution".into(),
        "resolve_config config:execution/execution".into(),
        "resolve_env host".into(),
        "resolve_env rye".into(),
        "interpreter".into(),
        "time_limit".into(),
        "plan".into(),
    ]);
    let (status, got) = world.json(&["execute", "acme/mark", "--dry-run", "--trace"]);
    assert_eq!((status, steps(&got)), (0, want.clone()));
    want.extend(["pin".into(), "spawn".into(), "exit".into()]);
    let (status, got) = world.json(&["execute", "acme/mark", "--trace"]);
    assert_eq!((status, steps(&got)), (0, want));
    let find = |step: &str| {
        got["trace"].as_array().unwrap().iter().find(|e| e["step"] == step).unwrap().clone()
    };
    let resolve = find("resolve");
    let fields = (&resolve["path"], &resolve["space"], &resolve["searched"], &resolve["shadowed"]);
    let want = json!([".ai/tools/acme/mark.sh", "project", ["project", "user", "system"], []]);
    assert_eq!(fields, (&want[0], &want[1], &want[2], &want[3]));
    let verify = find("verify_integrity");
    let fields = (&verify["verified"], &verify["key_fp"], &verify["owner"], &verify["space"]);
    let want = json!([true, fingerprint(&world.own_key()), "you", "project"]);
    assert_eq!(fields, (&want[0], &want[1], &want[2], &want[3]));
    assert!(find("spawn")["pid"].as_u64().is_some_and(|pid| pid > 1));
    assert_eq!(find("exit")["exit_code"], 0);
    assert_eq!(find("plan")["digest"].as_str().map(str::len), Some(64));
    // The same run without a trace is the same.
    let (_, quiet) = world.json(&["execute", "acme/mark"]);
    let same = ["status", "type", "item_id", "data", "chain"];
    assert!(same.iter().all(|key| quiet[*key] == got[*key]), "{quiet} {got}");
    // For people it is a tree on standard error.
    let plain = world.rye(&["execute", "acme/mark"]);
    let said = world.rye(&["execute", "acme/mark", "--trace"]);
    assert_eq!((said.status, &said.stdout), (0, &plain.stdout));
    let words = ["resolve", "verify", "parse", "link", "resolve"];
    let seen: Vec<_> =
        said.stderr.lines().map(|l| l.split_whitespace().nth(2).unwrap_or("")).collect();
    assert_eq!(seen[..5], words, "{}", said.stderr);
    assert!(seen.contains(&"spawn") && seen.last() == Some(&"exit"), "{}", said.stderr);
}

#[test]
fn a_refusal_is_an_event_too() {
    let world = World::new();
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let signed = fs::read_to_string(&file).unwrap();
    fs::write(&file, signed.replace("marker", "markr")).unwrap();
    let got = world.json(&["execute", "acme/mark", "--trace"]).fails(4, "verify.altered");
    let steps = steps(&got);
    assert_eq!(steps.last().map(String::as_str), Some("refused tool:acme/mark"), "{steps:?}");
    let last = got["trace"].as_array().unwrap().last().unwrap();
    assert_eq!(last["code"], "verify.altered");
    for args in [
        &["execute", "acme/nothing", "--trace"][..],
        &["execute", "tool:acme/../x", "--trace"],
        &["execute", "acme/mark", "--trace", "--thread", "fork"],
        &["execute", "directive:rye/core/create_directive", "--trace"],
    ] {
        let (_, got) = world.json(args);
        let last = got["trace"].as_array().and_then(|t| t.last()).cloned().unwrap_or_default();
        assert_eq!(
            (&last["step"], &last["code"]),
            (&json!("refused"), &got["code"]),
            "{args:?}: {got}"
        );
    }
    world.rye(&["execute", "acme/mark", "--trace"]).warns("refused");
}

#[test]
fn every_finding_about_a_chain_is_told_together() {
    let world = World::new();
    let more = "inputs: [code, {name: level, required: false}, {name: lint}]\noutputs: [text]\n\
                child_constraints: {min_version: 2.0.0, version: '>=3, <4'}\nallowed_targets: [remote]";
    world.signed(".ai/tools/acme/r.yaml", &runtime("acme/s", more));
    let more = "inputs: [{name: text}, {name: other}]\nchild_constraints: {max_version: 0.9.0}\nallowed_threads: [fork]";
    world.signed(".ai/tools/acme/s.yaml", &runtime(SHELL, more));
    world.signed(".ai/tools/acme/t.sh", &tool("acme/r", "outputs = [\"code\"]"));
    for flags in [&[][..], &["--dry-run"], &["--trace"]] {
        let (status, got) = world.json(&[&["execute", "acme/t"], flags].concat());
        assert_eq!((status, &got["status"]), (4, &json!("error")), "{got}");
        let findings = got["data"]["findings"].as_array().expect("findings");
        let rows: Vec<_> = findings
            .iter()
            .map(|f| (f["code"].as_str().unwrap(), f["pair"].as_str().unwrap()))
            .collect();
        let want = [
            ("validate.io", "acme/t -> acme/r"),
            ("validate.version", "acme/t -> acme/r"),
            ("validate.version", "acme/t -> acme/r"),
            ("validate.io", "acme/r -> acme/s"),
            ("validate.version", "acme/r -> acme/s"),
            ("validate.target", "tool:acme/r"),
            ("validate.target", "tool:acme/s"),
        ];
        assert_eq!(rows, want, "{got}");
        for (finding, word) in
            findings.iter().zip(["lint", "2.0.0", ">=3, <4", "other", "0.9.0", "remote", "fork"])
        {
            assert!(finding["message"].as_str().unwrap().contains(word), "{word}: {finding}");
        }
        assert_eq!(got["chain"], links(&["acme/t", "acme/r", "acme/s", SHELL, EXECUTE]));
    }
    // What fits is let through.
    let more = "inputs: [code]\nchild_constraints: {min_version: 1.0.0, max_version: 1.0.0, version: ^1}\n\
                allowed_targets: [local]\nallowed_threads: [inline]";
    world.signed(".ai/tools/acme/r.yaml", &runtime(SHELL, more));
    world.works("tool:acme/t");
    // A version that is none, in the child or in the parent, is a finding.
    for (child, parent) in
        [("one", "min_version: 1.0.0"), ("1.0", "version: '*'"), ("1.0.0", "min_version: two")]
    {
        let text = tool("acme/r", "").replace("\"1.0.0\"", &format!("\"{child}\""));
        let key = world.own_key();
        for (path, item, ext, text) in [
            (".ai/tools/acme/t.sh", "tool:acme/t", "sh", text),
            (
                ".ai/tools/acme/r.yaml",
                "tool:acme/r",
                "yaml",
                runtime(SHELL, &format!("child_constraints: {{{parent}}}")),
            ),
        ] {
            let signed =
                crate::world::line(&key, item, ext, "2026-01-01T00:00:00Z", text.as_bytes());
            let (first, rest) = if ext == "sh" {
                text.split_at(text.find('\n').unwrap() + 1)
            } else {
                ("", text.as_str())
            };
            world.write(path, format!("{first}# {signed}\n{rest}"));
        }
        world.refused("tool:acme/t", "validate.version", 4);
    }
}

#[test]
fn an_executor_that_is_not_there_is_named_with_near_ones() {
    let world =
        World::new().with(".ai/tools/acme/t.sh", &tool("rye/core/runtimes/shell/scrip", ""));
    let got = world.json(&["execute", "acme/t"]).fails(3, "chain.executor_not_found");
    assert_eq!((&got["item_id"], &got["chain"]), (&json!("tool:acme/t"), &links(&["acme/t"])));
    assert_eq!(got["data"]["executor"], "rye/core/runtimes/shell/scrip");
    assert_eq!(got["data"]["near"][0], SHELL, "{got}");
    assert!(got["help"].as_str().unwrap().contains(SHELL), "{got}");
    for item in [SHELL, EXECUTE] {
        world.json(&["execute", item]).fails(5, "chain.not_a_tool");
    }
}

#[test]
fn a_child_gets_a_small_environment_and_what_signed_links_add() {
    let world = World::new()
        .env("CANARY", "canary-value")
        .env("LC_TIME", "C")
        .env("RYE_TEST_ASKED", "asked");
    let more =
        "env_config:\n  env: {FROM: runtime, BASE: \"${FROM}:${CANARY:-none}\", BOTH: runtime}";
    world.signed(".ai/tools/acme/r.yaml", &runtime(SHELL, more));
    let header = "env = [\"RYE_TEST_ASKED\"]\n[env_config.env]\nBOTH = \"tool\"\nNAME = \"x${BOTH}${NONE:-d}${low}$HOME\"\n\
                  RYE_ITEM = \"forged\"\nRYE_PROJECT = \"/forged\"\nTOLD = \"<${RYE_TEST_ASKED}>\"";
    let text = tool("acme/r", header)
        .replace(": > marker\necho '{\"ran\": true}'\n", "env -0 | tr '\\0' '\\n' | sort\n");
    world.signed(".ai/tools/acme/env.sh", &text);
    let got = world.json(&["execute", "acme/env"]).ok();
    let env: Vec<_> = got["data"]["stdout"].as_str().unwrap().lines().collect();
    let has = |line: &str| assert!(env.contains(&line), "{line}: {env:?}");
    let project = world.project().display().to_string();
    for line in [
        "FROM=runtime",
        "BASE=runtime:none",
        "BOTH=tool",
        "NAME=xtoold${low}$HOME",
        "LC_TIME=C",
        "RYE_ITEM=tool:acme/env",
        "RYE_TEST_ASKED=asked",
        "TOLD=<asked>",
        "LANG=C.UTF-8",
        &format!("RYE_PROJECT={project}"),
        &format!("RYE_ITEM_PATH={project}/.ai/tools/acme/env.sh"),
        &format!("HOME={}", world.home().display()),
    ] {
        has(line);
    }
    assert!(
        !env.iter().any(|line| line.contains("CANARY") || line.contains("canary-value")),
        "{env:?}"
    );
    // Names are shown, values never.
    let said =
        world.rye(&["execute", "acme/env", "--dry-run", "--trace", "--json", "--chain-details"]);
    assert!(said.stdout.contains("RYE_TEST_ASKED") && !said.stdout.contains("asked\""), "{said:?}");
}
