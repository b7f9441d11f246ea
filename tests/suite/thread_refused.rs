//! Threads that are refused, or only tried: nothing is registered and nothing written.

use std::fs;

use serde_json::{Value, json};

use crate::threads::{
    ECHO, ONLY_ECHO, RESEARCH, call, directive, events, fork, hand_over, provider,
    rows as all_threads, world,
};
use crate::world::{End, MARKER_SH, World};

type Breaks = fn(&World);

#[test]
fn what_is_refused_before_the_start_has_registered_and_written_nothing_table() {
    let turns = json!([hand_over()]);
    let rows: [(&str, i32, &[&str], Breaks); 19] = [
        ("thread.bad_limit", 4, &["--limit", "turn=1"], |_| ()),
        ("thread.bad_limit", 4, &["--limit", "spend=NaN"], |_| ()),
        ("thread.bad_limit", 4, &["--limit", "spend=1e999"], |_| ()),
        ("thread.bad_limit", 4, &["--limit", "turns=-1"], |_| ()),
        ("cli.usage", 2, &["--limit", "turns=1", "--limit", "turns=2"], |_| ()),
        ("thread.unknown_model", 4, &["--model", "huge"], |_| ()),
        ("thread.unknown_price", 4, &[], |world| {
            let text = provider(&json!([hand_over()])).replace("\"m\":{", "\"other\":{");
            world.signed_home(".ai/tools/acme/script.yaml", &text);
        }),
        ("thread.not_a_provider", 4, &[], |world| {
            fs::remove_file(world.home().join(".ai/tools/acme/script.yaml")).unwrap();
            world.signed_home(".ai/tools/acme/script.sh", MARKER_SH);
        }),
        ("thread.no_provider", 4, &[], |world| {
            fs::remove_file(world.home().join(".ai/tools/acme/script.yaml")).unwrap();
            world.signed_home(".ai/tools/acme/scripts.yaml", &provider(&json!([hand_over()])));
            let said = world.rye(&["execute", "directive:acme/go", "--thread", "fork"]).stderr;
            assert!(said.contains("did you mean `tool:acme/scripts`?"), "{said}");
            assert_eq!(said.matches("did you mean").count(), 1, "only a provider is named: {said}");
        }),
        ("thread.project_provider", 4, &[], |world| {
            world.signed(".ai/tools/acme/script.yaml", &provider(&json!([hand_over()])));
        }),
        ("thread.no_provider", 4, &[], |world| {
            let text =
                directive("go", "turns=\"2\"", "").replace("<model provider=\"acme/script\"/>", "");
            world.signed(".ai/directives/acme/go.md", &text);
        }),
        // A typing error there would be no limit at all.
        ("thread.bad_config", 4, &[], |world| {
            signed_before(world, "limits", "mots: {spend: 0.01}\n");
        }),
        ("thread.bad_config", 4, &[], |world| signed_before(world, "limits", "most: [1]\n")),
        ("thread.bad_config", 4, &[], |world| signed_before(world, "limits", "defaults: 3\n")),
        ("thread.bad_limit", 4, &[], |world| signed_before(world, "limits", "most: {turn: 1}\n")),
        ("thread.bad_config", 4, &[], |world| models(world, "providr: acme/script\n")),
        ("thread.bad_config", 4, &[], |world| models(world, "provider: [acme/script]\n")),
        ("thread.tool_name_conflict", 4, &[], |world| {
            world.signed(".ai/tools/acme/e-cho.sh", ECHO);
            world.signed(".ai/tools/acme/e_cho.sh", ECHO);
            let all = "<execute><tool>acme.*</tool></execute>";
            world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"2\"", all));
        }),
        ("verify.altered", 4, &[], |world| {
            let path = world.home().join(".ai/tools/acme/script.yaml");
            let text = fs::read_to_string(&path)
                .unwrap()
                .replace("\"answer_tokens\":100", "\"answer_tokens\":101");
            fs::write(path, text).unwrap();
        }),
    ];
    for (code, status, args, breaks) in rows {
        let world = world(&turns, "turns=\"2\"", ONLY_ECHO);
        assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
        breaks(&world);
        let kept = || {
            let threads = world.project().join(".ai/state/threads/acme/go");
            (all_threads(&world).len(), fs::read_dir(threads).unwrap().count())
        };
        assert_eq!(kept(), (1, 1));
        // One that is only tried, or detached, is refused the same way.
        for tried in [&[][..], &["--dry-run"], &["--async"]] {
            let (got, told) = fork(&world, &[args, tried].concat());
            assert_eq!((got, told["code"].as_str().unwrap()), (status, code), "{tried:?} {told}");
            assert_eq!(kept(), (1, 1), "{code}");
            if code == "thread.bad_limit" && args.is_empty() {
                assert!(told["error"].as_str().unwrap().contains("config:agent/limits"), "{told}");
            }
        }
    }
}

type Adds = fn(&World, &str);

fn put_provider(world: &World, from: &str, to: &str) {
    let text = provider(&json!([hand_over()]));
    assert!(text.contains(from));
    world.signed_home(".ai/tools/acme/script.yaml", &text.replace(from, to));
}

#[test]
fn h01_limits_that_are_negative_no_number_infinite_or_too_large_are_refused_table() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    for name in ["turns", "tokens", "spend", "spawns", "depth", "duration_seconds"] {
        let fine = format!("{name}=1");
        assert_eq!(fork(&world, &["--dry-run", "--limit", &fine]).0, 0, "{fine} works untouched");
        for value in ["-1", "NaN", "inf", "-inf", "1e999", "1e300", "18446744073709551616", ""] {
            let (status, told) = fork(&world, &["--limit", &format!("{name}={value}")]);
            let got = (status, told["code"].as_str().unwrap());
            assert_eq!(got, (4, "thread.bad_limit"), "{name}={value}: {told}");
        }
    }
    assert!(all_threads(&world).is_empty());
}

/// Whoever adds the line that the help names has a thread that starts.
#[test]
fn the_line_that_the_help_of_a_refused_start_names_lets_it_start_table() {
    const MODEL: &str = "<model provider=\"acme/script\"/>";
    let rows: [(&str, &[&str], Breaks, &str, Adds); 6] = [
        (
            "thread.unknown_model",
            &["--model", "huge"],
            |_| (),
            "huge: MODEL",
            |world, line| {
                let line = line.replace("MODEL", "m");
                put_provider(world, "\"models\":{", &format!("\"models\":{{{line},"));
            },
        ),
        (
            "thread.unknown_price",
            &[],
            |world| put_provider(world, "\"m\":{", "\"other\":{"),
            "prices: {m: {input: …, output: …}}",
            |world, line| {
                let line = format!("{}\n", line.replace('…', "1"));
                world.signed_home(".ai/config/agent/models.yaml", &line);
            },
        ),
        (
            "thread.no_provider",
            &[],
            |world| {
                let text = directive("go", "turns=\"2\"", ONLY_ECHO).replace(MODEL, "");
                world.signed(".ai/directives/acme/go.md", &text);
            },
            "provider: my/local",
            |world, line| {
                let line = format!("{}\n", line.replace("my/local", "acme/script"));
                world.signed_home(".ai/config/agent/models.yaml", &line);
            },
        ),
        (
            "thread.project_provider",
            &[],
            |world| {
                fs::remove_file(world.home().join(".ai/tools/acme/script.yaml")).unwrap();
                world.signed(".ai/tools/acme/script.yaml", &provider(&json!([hand_over()])));
            },
            "rye trust allow-provider tool:acme/script",
            |world, line| {
                let words: Vec<&str> = line.split(' ').skip(1).chain(["--yes"]).collect();
                world.rye(&words).ok();
            },
        ),
        (
            "thread.tool_name_conflict",
            &[],
            |world| {
                world.signed(".ai/tools/acme/e-cho.sh", ECHO);
                world.signed(".ai/tools/acme/e_cho.sh", ECHO);
                let all = "<execute><tool>acme.*</tool></execute>";
                world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"2\"", all));
            },
            "<execute><tool>acme/e-cho</tool></execute>",
            |world, line| {
                world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"2\"", line));
            },
        ),
        (
            "thread.missing_outputs",
            &[],
            |world| {
                let silent = provider(&json!([{"text": "a"}, {"text": "b"}, {"text": "c"}]));
                world.signed_home(".ai/tools/acme/script.yaml", &silent);
                let text = directive("go", "turns=\"5\"", ONLY_ECHO);
                world.signed(".ai/directives/acme/go.md", &text);
            },
            "required=\"false\"",
            |world, line| {
                let text = directive("go", "turns=\"5\"", ONLY_ECHO);
                let text = text.replace("name=\"n\"", &format!("name=\"n\" {line}"));
                world.signed(".ai/directives/acme/go.md", &text);
            },
        ),
    ];
    for (code, args, breaks, line, adds) in rows {
        let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
        assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
        breaks(&world);
        let (_, told) = fork(&world, args);
        assert_eq!(told["code"], code, "{told}");
        let help = told["help"].as_str().unwrap();
        assert!(help.contains(&format!("`{line}`")), "{code}: {help}");
        adds(&world, line);
        let (status, told) = fork(&world, args);
        assert_eq!(status, 0, "{code}: {told}");
    }
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    let (_, told) = fork(&world, &["--limit", "turn=5"]);
    let help = told["help"].as_str().unwrap();
    assert!(help.contains("`--limit turns=5`"), "{told}");
    assert!(told["error"].as_str().unwrap().contains("did you mean `turns`?"), "{told}");
    assert_eq!(fork(&world, &["--limit", "turns=5"]).0, 0);
}

fn limits_of_all(world: &World, text: &str) {
    world.signed_home(".ai/config/agent/limits.yaml", text);
}

/// Leaves it to the configuration who answers.
fn models(world: &World, text: &str) {
    let nobody =
        directive("go", "turns=\"2\"", "").replace("<model provider=\"acme/script\"/>", "");
    world.signed(".ai/directives/acme/go.md", &nobody);
    world.signed_home(".ai/config/agent/models.yaml", "provider: acme/script\n");
    assert_eq!(fork(world, &["--dry-run"]).0, 0, "the fixture itself is good");
    signed_before(world, "models", text);
}

#[test]
fn whoever_starts_a_thread_is_told_that_the_provider_of_a_project_does_not_count() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    models(&world, "provider: acme/script\n");
    let go = ["execute", "directive:acme/go", "--thread", "fork"];
    let said = world.rye(&go);
    assert!(said.status == 0 && !said.stderr.contains("does not count"), "{said:?}");
    world.signed(".ai/config/agent/models.yaml", "provider: acme/theirs\n");
    let why = "`provider` of `config:agent/models` in the project does not count, as a project \
               does not choose who answers";
    let whose = format!("{why}; that of the user space does, which names `acme/script`");
    for tried in [&[][..], &["--dry-run"]] {
        let said = world.rye(&[&go[..], tried].concat());
        let shown = if tried.is_empty() { &said.stderr } else { &said.stdout };
        assert_eq!((said.status, shown.matches(&whose).count()), (0, 1), "{said:?}");
    }
    assert_eq!(fork(&world, &["--dry-run"]).1["thread"]["passed_over"], whose);
    let (_, told) = fork(&world, &[]);
    let begun = &events(&world, told["thread_id"].as_str().unwrap(), "thread_started")[0];
    assert_eq!(begun["passed_over"], whose, "{begun}");
    fs::remove_file(world.home().join(".ai/config/agent/models.yaml")).unwrap();
    let (_, told) = fork(&world, &[]);
    let help = told["help"].as_str().unwrap();
    assert_eq!(told["code"], "thread.no_provider", "{told}");
    assert!(help.starts_with(&format!("{why}; make one with")), "{told}");
}

#[test]
fn the_help_for_a_link_in_the_place_of_the_folder_of_records_is_about_the_link() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    let elsewhere = world.outside().join("elsewhere");
    fs::create_dir_all(world.project().join(".ai/state")).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.project().join(".ai/state/threads")).unwrap();
    let (status, told) = fork(&world, &[]);
    assert_ne!(status, 0, "{told}");
    assert_eq!(told["code"], "thread.record_io", "{told}");
    let help = told["help"].as_str().unwrap();
    assert!(help.contains("in the place of the link") && !help.contains("disk"), "{help}");
}

/// A configuration of the user space that a rye signed which did not look at what it says.
fn signed_before(world: &World, name: &str, text: &str) {
    world.signed_before(&world.home(), &format!(".ai/config/agent/{name}.yaml"), text);
}

#[test]
fn what_no_thread_would_start_with_is_not_signed_table() {
    let limits = "config:agent/limits";
    let models = "config:agent/models";
    let risk = "config:agent/risk";
    let guardrails = "config:agent/guardrails";
    let rows = [
        (limits, "defaults: {turns: -10}\n", "`-10` is not a whole number"),
        (limits, "most: {turn: 1}\n", "did you mean `turns`?"),
        (limits, "mots: {spend: 0.01}\n", "did you mean `most`?"),
        (limits, "most: [1]\n", "is not a mapping"),
        (limits, "max_async: 0\n", "`max_async`"),
        (models, "providr: acme/script\n", "did you mean `provider`?"),
        (models, "provider: [acme/script]\n", "is not the id of one"),
        (models, "prices: {m: {input: -1, output: 1}}\n", "is not an amount of money"),
        (risk, "clases: {}\n", "did you mean `classes`?"),
        (risk, "classes: {rye.execute.tool.acme.x: elevatd}\n", "did you mean `elevated`?"),
        (risk, "classes: {acme.x: safe}\n", "is not a capability"),
        (guardrails, "guardrails: {}\n", "is not a list"),
        (
            guardrails,
            "guardrails:\n  - {eval: tool:acme/x, mod: enforce}\n",
            "did you mean `mode`?",
        ),
        (guardrails, "guardrails:\n  - {eval: 7, mode: monitor}\n", "is not an item such as"),
    ];
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    for (item, text, words) in rows {
        let path = format!(".ai/{}.yaml", item.replace(':', "/"));
        for space in ["user", "project"] {
            let file = match space {
                "user" => world.write_home(&path, text),
                _ => world.write(&path, text),
            };
            let (status, told) = world.json(&["sign", item, "--space", space]);
            let row = &told["items"][0];
            assert_eq!((status, &row["code"]), (4, &json!("sign.invalid")), "{text} {told}");
            assert!(row["error"].as_str().unwrap().contains(words), "{text} {told}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            fs::remove_file(file).unwrap();
        }
    }
    let good = "defaults: {turns: 10, spend: 0.5}\nmost: {duration: 2m}\nmax_async: 3\n";
    world.signed(".ai/config/agent/limits.yaml", good);
    world.signed_home(".ai/config/agent/models.yaml", "prices: {m: {input: 1, output: 1}}\n");
    world.signed(".ai/config/agent/risk.yaml", "classes: {rye.execute.tool.acme.x: elevated}\n");
    let later = "guardrails:\n  - {eval: tool:acme/later, mode: monitor}\n";
    world.signed(".ai/config/agent/guardrails.yaml", later);
    let text = provider(&json!([hand_over()]));
    let none = text.replace("\"answer_tokens\":100", "\"answer_tokens\":0");
    assert_ne!(none, text);
    world.write_home(".ai/tools/acme/script.yaml", none);
    let (status, told) = world.json(&["sign", "tool:acme/script", "--space", "user"]);
    assert_ne!(status, 0, "{told}");
    let why = told["items"][0]["error"].as_str().unwrap();
    assert!(why.contains("`/provider/answer_tokens` is 0"), "{told}");
}

#[test]
fn a_thread_that_is_only_tried_is_shown_and_leaves_nothing() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    let (status, told) = fork(&world, &["--dry-run", "--limit", "turns=1", "--model", "m"]);
    assert_eq!((status, &told["status"]), (0, &json!("validation_passed")), "{told}");
    assert_eq!(told["data"]["permissions"], json!(["rye.execute.tool.acme.echo"]));
    let thread = &told["thread"];
    let provider = &thread["provider"];
    assert_eq!(
        (&provider["item_id"], &provider["space"]),
        (&json!("tool:acme/script"), &json!("user"))
    );
    assert!(provider["path"].as_str().unwrap().ends_with(".ai/tools/acme/script.yaml"), "{told}");
    assert_eq!(thread["model"], "m");
    assert!(thread["model_from"].as_str().unwrap().contains("`--model`"), "{told}");
    assert_eq!(thread["limits"]["turns"], json!({"value": 1, "from": "`--limit`"}));
    assert_eq!(thread["limits"]["spend_micros"], json!({"value": 5_000_000, "from": "shipped"}));
    assert_eq!(thread["permissions"], json!(["rye.execute.tool.acme.echo"]));
    assert!(thread["tools"].as_array().unwrap().contains(&json!("acme_echo")), "{told}");
    let said = world.rye(&["execute", "directive:acme/go", "--thread", "fork", "--dry-run"]);
    for wanted in [
        "tool:acme/script  user  ",
        "m  (the tier `general` in `models` of `tool:acme/script`, as nobody names another one)",
        "turns 2  (`<limits>` of `directive:acme/go`)",
        "spend 5.00 USD  (shipped)",
        "rye.execute.tool.acme.echo",
        "acme_echo",
    ] {
        assert!(said.stdout.contains(wanted), "{wanted}: {said:?}");
    }
    // An agent that is handed a directive starts no model.
    assert_eq!(world.json(&["execute", "directive:acme/go", "--dry-run"]).1["thread"], Value::Null);
    assert!(!world.home().join(".ai/state/registry.db").exists());
    assert!(!world.project().join(".ai/state").exists());
    limits_of_all(&world, "defaults: {tokens: 7000}\nmost: {turns: 1}\n");
    let limits = fork(&world, &["--dry-run", "--limit", "turns=9"]).1["thread"]["limits"].clone();
    let of = |key: &str| format!("`{key}` of `config:agent/limits`, user");
    assert_eq!(limits["turns"], json!({"value": 1, "from": of("most")}));
    assert_eq!(limits["tokens"], json!({"value": 7_000, "from": of("defaults")}));
}

#[test]
fn a_fallback_is_taken_where_the_provider_has_no_model_of_the_first_name_and_nobody_asks_for_one() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    let names = |tier: &str, fallback: &str| {
        let model = format!(
            "<model provider=\"acme/script\" tier=\"{tier}\"><fallback>{fallback}</fallback></model>"
        );
        let text = directive("go", "turns=\"2\"", ONLY_ECHO);
        let text = text.replace("<model provider=\"acme/script\"/>", &model);
        world.signed(".ai/directives/acme/go.md", &text);
    };
    names("huge", "general");
    let thread = fork(&world, &["--dry-run"]).1["thread"].clone();
    assert_eq!(thread["model"], "m");
    assert!(thread["model_from"].as_str().unwrap().contains("`<fallback>`"), "{thread}");
    assert_eq!(fork(&world, &["--dry-run", "--model", "huge"]).1["code"], "thread.unknown_model");
    names("general", "huge");
    let thread = fork(&world, &["--dry-run"]).1["thread"].clone();
    assert!(thread["model_from"].as_str().unwrap().contains("tier `general`"), "{thread}");
    names("huge", "larger");
    assert_eq!(fork(&world, &["--dry-run"]).1["code"], "thread.unknown_model");
}

/// Another provider would be asked than the one that was meant, with that provider's key.
#[test]
fn what_is_misspelt_in_the_model_of_a_directive_is_not_signed_and_asks_no_other_provider() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    assert_eq!(fork(&world, &[]).0, 0, "the fixture itself is good");
    let other = provider(&json!([call("directive_return", &json!({"n": 8}))]));
    world.signed_home(".ai/tools/acme/other.yaml", &other);
    world.signed_home(".ai/config/agent/models.yaml", "provider: acme/other\n");
    let before = all_threads(&world).len();
    for model in [
        "<model providr=\"acme/script\"/>",
        "<model>acme/script</model>",
        "<model><fallback provider=\"acme/script\"/></model>",
    ] {
        let text = directive("go", "turns=\"2\"", ONLY_ECHO);
        let text = text.replace("<model provider=\"acme/script\"/>", model);
        world.write(".ai/directives/acme/go.md", &text);
        let (status, told) = world.json(&["sign", "directive:acme/go"]);
        assert_ne!(status, 0, "{model}: {told}");
        assert!(told.to_string().contains("parse.directive"), "{model}: {told}");
        // Nor does it start where it was signed by a rye that passed over it.
        world.signed_before(&world.project(), ".ai/directives/acme/go.md", &text);
        assert_eq!(fork(&world, &[]).1["code"], "parse.directive", "{model}");
    }
    assert_eq!(all_threads(&world).len(), before);
}

#[test]
fn without_a_key_and_from_inside_of_a_run_no_thread_starts() {
    let world = World::empty();
    world.json(RESEARCH).fails(4, "key.missing");
    assert!(!world.home().join(".ai/state/registry.db").exists());
    let world = World::new().env("RYE_RUN_ID", "run-1");
    world.json(RESEARCH).fails(4, "thread.outside");
}

#[test]
fn a_provider_of_a_project_takes_the_place_of_none_that_you_name_in_your_user_space() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    let other = provider(&json!([call("directive_return", &json!({"n": 8}))]));
    world.signed(".ai/tools/acme/script.yaml", &other);
    // The project's directive names the project's, which nobody let in.
    assert_eq!(fork(&world, &[]).1["code"], "thread.project_provider");
    let mine = directive("mine", "turns=\"2\"", "");
    world.signed_home(".ai/directives/acme/mine.md", &mine);
    let mine = ["execute", "directive:acme/mine", "--thread", "fork"];
    assert_eq!(world.json(&mine).ok()["outputs"], json!({"n": 7}));
    models(&world, "provider: acme/script\n");
    assert_eq!(fork(&world, &[]).ok()["outputs"], json!({"n": 7}));
    // What lies in the project alone is that of the project.
    fs::remove_file(world.home().join(".ai/tools/acme/script.yaml")).unwrap();
    assert_eq!(world.json(&mine).1["code"], "thread.project_provider");
}

#[test]
fn a_tier_is_not_taken_for_the_model_of_another_tier_that_has_its_name() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    let text = provider(&json!([hand_over()]))
        .replace("{\"general\":\"m\"}", "{\"fast\":\"general\",\"general\":\"m\"}")
        .replace("\"m\":{", "\"general\":{\"input\":1,\"output\":1},\"m\":{");
    world.signed_home(".ai/tools/acme/script.yaml", &text);
    for (asked, model) in
        [(&[][..], "m"), (&["--model", "general"], "m"), (&["--model", "fast"], "general")]
    {
        assert_eq!(fork(&world, asked).0, 0);
        assert_eq!(all_threads(&world).last().unwrap()["model"], model, "{asked:?}");
    }
}

#[test]
fn a_model_without_a_price_is_priced_by_your_configuration_and_by_no_project() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    let text = provider(&json!([hand_over()])).replace("\"m\":{", "\"other\":{");
    world.signed_home(".ai/tools/acme/script.yaml", &text);
    let prices = "prices: {m: {input: 4, output: 8}}\n";
    world.signed(".ai/config/agent/models.yaml", prices);
    assert_eq!(fork(&world, &[]).1["code"], "thread.unknown_price");
    for (said, code) in [
        ("prices: {m: {input: 4}}\n", "thread.bad_config"),
        ("prices: {m: {input: -4, output: 8}}\n", "thread.bad_config"),
        ("prices: 3\n", "thread.bad_config"),
        ("prices: {n: {input: 4, output: 8}}\n", "thread.unknown_price"),
    ] {
        signed_before(&world, "models", said);
        assert_eq!(fork(&world, &[]).1["code"], code, "{said}");
    }
    assert_eq!(all_threads(&world).len(), 0);
    world.signed_home(".ai/config/agent/models.yaml", prices);
    // 10 tokens read and 5 written.
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["cost"]["spend_micros"]), (0, &json!(80)), "{told}");
    // What the provider says goes before.
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&json!([hand_over()])));
    assert_eq!(fork(&world, &[]).1["cost"]["spend_micros"], 20);
}
