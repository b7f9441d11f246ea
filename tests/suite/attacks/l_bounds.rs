//! Attack row l05: what a schema and what a caller gives may cost.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::mcp::client::Client;
use crate::world::items::native;
use crate::world::{AT, World, line, python};

/// Longer than anything here takes on a busy machine, and far shorter than the attack.
const PATIENCE: Duration = Duration::from_mins(2);

/// Definitions that each name the next one twice: 2^levels steps.
fn doubling(levels: usize) -> Value {
    let mut defs = Map::new();
    for at in 0..levels {
        let next = json!({"$ref": format!("#/$defs/n{}", at + 1)});
        defs.insert(format!("n{at}"), json!({"allOf": [next, next]}));
    }
    defs.insert(format!("n{levels}"), json!({"type": "object"}));
    json!({"$defs": defs, "$ref": "#/$defs/n0"})
}

/// Each value of a list is held against 1,000 patterns; `x999y` fits the last.
fn wide() -> Value {
    let others: Vec<Value> =
        (0..1_000).map(|at| json!({"type": "string", "pattern": format!("^x{at}y")})).collect();
    json!({"properties": {"v": {"items": {"anyOf": others}}}})
}

fn tool(schema: &Value) -> String {
    native(&format!("config: {{command: 'true'}}\nconfig_schema: {schema}\n"))
}

/// Writes an item with a good signature that `rye sign` would not give.
fn signed_by_hand(world: &World, name: &str, text: &str) {
    let id = format!("tool:acme/{name}");
    let line = line(&world.own_key(), &id, "yaml", AT, text.as_bytes());
    world.write(&format!(".ai/tools/acme/{name}.yaml"), format!("# {line}\n{text}"));
}

#[test]
fn l05_a_schema_that_doubles_with_each_step_is_refused_in_time() {
    let world = World::new().with(".ai/tools/acme/few.yaml", &tool(&doubling(8)));
    world.works("tool:acme/few");
    signed_by_hand(&world, "few2", &tool(&doubling(8)));
    world.works("tool:acme/few2");
    let knot = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"});
    for schema in [doubling(40), knot, json!({"allOf": [{"$ref": "#"}]})] {
        let start = Instant::now();
        signed_by_hand(&world, "many", &tool(&schema));
        world
            .rye(&["execute", "tool:acme/many", "--timeout", "1", "--json"])
            .fails(5, "parse.limit");
        world.write(".ai/tools/acme/many.yaml", tool(&schema));
        let said = world.rye(&["sign", "tool:acme/many", "--json"]);
        assert!(said.stdout.contains("parse.limit") && said.status != 0, "{said:?}");
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    }
}

#[test]
fn l05_a_check_of_parameters_ends_with_the_time_of_its_call() {
    let world = World::new().with(".ai/tools/acme/wide.yaml", &tool(&wide()));
    let ask = |values: Vec<&str>, time: &str| {
        let given = json!({"v": values}).to_string();
        let args = ["execute", "tool:acme/wide", "--params", "-", "--timeout", time, "--json"];
        let start = Instant::now();
        let said = world.rye_in(&world.project(), &args, given.as_bytes());
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        said.code()
    };
    assert_eq!(ask(vec!["x999y"], "30"), "", "the fixture itself runs");
    assert_eq!(ask(vec!["y"], "30"), "plan.invalid_parameters", "and judges");
    assert_eq!(ask(vec!["x999y"; 20_000], "30"), "parse.limit");
    assert_eq!(ask(vec!["x999y"; 20_000], "0.001"), "execute.timeout");
    assert_eq!(ask(vec![""; 100_001], "30"), "cli.params_json");
}

#[test]
fn l05_calls_with_costly_schemas_leave_a_server_answering() {
    let world = World::new().with(".ai/tools/acme/wide.yaml", &tool(&wide()));
    signed_by_hand(&world, "many", &tool(&doubling(40)));
    let mut client = Client::new(&world, &[]);
    let project = world.project().display().to_string();
    let values = vec!["x999y"; 20_000];
    let mut begun = Vec::new();
    for at in 0..20 {
        let item = if at % 2 == 0 { "tool:acme/wide" } else { "tool:acme/many" };
        let arguments = json!({
            "item_id": item, "project_path": project, "parameters": {"v": values},
        });
        begun.push(
            client.begin("tools/call", &json!({"name": "rye_execute", "arguments": arguments})),
        );
    }
    for id in &begun[..10] {
        let params = json!({"requestId": id, "reason": "enough"});
        client.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }
    let start = Instant::now();
    let (said, is_error) = client.call("rye_search", json!({"query": "wide"}));
    assert!(!is_error, "{said}");
    for id in &begun[10..] {
        let said = client.answer(*id);
        let code = &said["result"]["structuredContent"]["code"];
        assert!(*code == "parse.limit" || *code == "execute.timeout", "{said}");
    }
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    drop(client);
}

/// Peak memory of a call of rye with this on standard input, in KiB.
fn peak_kib(world: &World, args: &[&str], input: &[u8]) -> u64 {
    let file = world.outside().join("input");
    fs::write(&file, input).unwrap();
    let wrapper = "import resource, subprocess, sys\n\
        subprocess.run(sys.argv[2:], stdin=open(sys.argv[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let rye = world.command(args);
    let mut command = std::process::Command::new(python());
    command.args(["-c", wrapper]).arg(&file).arg(rye.get_program()).args(rye.get_args());
    command.current_dir(world.project()).env_clear();
    for (name, value) in rye.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let said = command.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    text.parse().unwrap_or_else(|_| panic!("{said:?}"))
}

#[test]
fn l05_listing_what_is_wrong_takes_no_more_memory_the_oftener_a_schema_names_itself() {
    let world = World::new();
    // Each level of the value is held against two parts, which hold the next against two.
    let same = json!({"$ref": "#/$defs/part"});
    let part =
        json!({"anyOf": [{"type": "string"}, {"items": {"anyOf": [same, same]}, "maxItems": 0}]});
    let schema = json!({"properties": {"v": {"$ref": "#/$defs/part"}}, "$defs": {"part": part}});
    world.signed(".ai/tools/acme/itself.yaml", &tool(&schema));
    world.works("tool:acme/itself");
    let nested = |depth: usize| format!("{{\"v\": {}1{}}}", "[".repeat(depth), "]".repeat(depth));
    let args = ["execute", "tool:acme/itself", "--params", "-", "--json"];
    let own = peak_kib(&world, &args, nested(1).as_bytes());
    let input = nested(58);
    let peak = peak_kib(&world, &args, input.as_bytes());
    let most = own + ((10 * input.len() as u64 + (32 << 20)) >> 10);
    assert!(peak <= most, "{peak} KiB for {} bytes", input.len());
}

#[test]
fn l05_what_is_wrong_is_listed_up_to_a_bound_in_memory_and_in_the_answer() {
    let world = World::new();
    let same = json!({"$ref": "#/$defs/a"});
    let part = json!({
        "type": "object", "properties": {"x": same},
        "additionalProperties": {"allOf": [same, same]},
    });
    world.signed(
        ".ai/tools/acme/twice.yaml",
        &tool(&json!({"$ref": "#/$defs/a", "$defs": {"a": part}})),
    );
    world.works("tool:acme/twice");
    let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let args = ["execute", "tool:acme/twice", "--params", "-", "--json"];
    let say = |depth| world.rye_in(&world.project(), &args, nested(depth).as_bytes());
    let listed = |said: &Value| {
        let lists = said["data"].as_array().or_else(|| said["data"]["violations"].as_array());
        lists.map_or(0, Vec::len)
    };
    let few = say(2).json();
    assert!(listed(&few) > 1, "{few}");
    let own = peak_kib(&world, &args, nested(1).as_bytes());
    for depth in [9, 12, 14, 17, 24] {
        let said = say(depth);
        assert_eq!(said.code(), "plan.invalid_parameters");
        let count = listed(&said.json());
        assert!((1..=101).contains(&count), "{count} at depth {depth}");
        assert!(said.stdout.len() < 256 << 10, "{} bytes", said.stdout.len());
        let input = nested(depth);
        let peak = peak_kib(&world, &args, input.as_bytes());
        let most = own + ((10 * input.len() as u64 + (32 << 20)) >> 10);
        assert!(peak <= most, "{peak} KiB, and {own} for one level, at depth {depth}");
    }
    // What repeats long names is bounded by its bytes.
    let names: Vec<String> = (0..90).map(|at| format!("{at}{}", "n".repeat(1_000))).collect();
    let props: Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({"type": "integer"}))).collect();
    world.signed(".ai/tools/acme/long.yaml", &tool(&json!({"properties": props})));
    let given: Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!("text"))).collect();
    let args = ["execute", "tool:acme/long", "--params", "-", "--json"];
    let given = Value::Object(given).to_string();
    let said = world
        .rye_in(&world.project(), &args, given.as_bytes())
        .fails_with("plan.invalid_parameters");
    let count = listed(&said.json());
    assert!((2..90).contains(&count), "{count}");
}

#[test]
fn l05_a_trust_document_of_thousands_of_patterns_takes_no_more_than_its_size() {
    let (author, world) = (World::new(), World::new());
    let document = author.rye(&["keys", "export", "--document", "ada"]).stdout;
    let path = world.outside().join("ada.toml");
    let trust = ["trust", "add", path.to_str().unwrap(), "--yes"];
    let with = |count: usize| {
        let patterns: Vec<String> = (0..count).map(|at| format!("\"tool:{at}*\"")).collect();
        format!("items = [{}]\n{document}", patterns.join(","))
    };
    fs::write(&path, with(1)).unwrap();
    let own = peak_kib(&world, &trust, b"");
    fs::write(&path, with(4_000)).unwrap();
    let peak = peak_kib(&world, &trust, b"");
    let most = own + ((10 * with(4_000).len() as u64 + (32 << 20)) >> 10);
    assert!(peak <= most, "{peak} KiB for {} bytes", with(4_000).len());
    assert!(world.rye(&["trust", "list"]).stdout.contains("tool:3999*"));
}

#[test]
fn l05_no_parameters_and_no_answer_take_more_than_ten_times_their_size() {
    let world = World::new().with(".ai/tools/acme/free.yaml", &tool(&json!({})));
    world.works("tool:acme/free");
    let list = |count: usize, value: &str| {
        format!("{{\"v\": [{}{value}]}}", format!("{value},").repeat(count - 1))
    };
    let keys = |count: usize| {
        let all: Vec<String> = (0..count).map(|at| format!("\"{at}\":1")).collect();
        format!("{{{}}}", all.join(","))
    };
    // What a program of this build takes by itself is no part of it.
    let own = peak_kib(&world, &["execute", "tool:acme/free", "--json"], b"");
    for (what, input) in [
        ("numbers", list(990_000, "1")),
        ("as many numbers as there may be", list(99_000, "1")),
        ("keys", keys(900_000)),
        ("as many keys as there may be", keys(99_000)),
        ("one long text", format!("{{\"v\": \"{}\"}}", "x".repeat(8 << 20))),
    ] {
        let args = ["execute", "tool:acme/free", "--params", "-", "--json"];
        let peak = peak_kib(&world, &args, input.as_bytes());
        let most = own + ((10 * input.len() as u64 + (32 << 20)) >> 10);
        assert!(peak <= most, "{what}: {peak} KiB for {} bytes", input.len());
    }
    let says =
        |script: &str| native(&format!("config: {{command: python3, args: [-c, \"{script}\"]}}\n"));
    for (what, script, bytes) in [
        (
            "many keys",
            "print('{' + ','.join(chr(34) + str(i) + chr(34) + ':1' for i in range(900000)) + '}')",
            9_788_892,
        ),
        ("NUL", "import sys; sys.stdout.write(chr(0) * (16 << 20))", 16 << 20),
    ] {
        world.signed(".ai/tools/acme/says.yaml", &says(script));
        let peak = peak_kib(&world, &["execute", "tool:acme/says", "--json"], b"");
        let most: u64 = own + ((10 * bytes + (32 << 20)) >> 10);
        // The interpreter that says it is a child too.
        assert!(peak <= most.max(own + (120 << 10)), "{what}: {peak} KiB for {bytes} bytes");
    }
}

#[test]
fn l05_patterns_of_unsigned_headers_take_no_more_than_their_size() {
    let world = World::new();
    let tools = |count: usize| {
        let mut size = 0;
        for at in 0..count {
            let lines = (0..100).map(|n| format!("\"*{at}x{n}*\"")).collect::<Vec<_>>().join(",");
            let text = native(&format!("config: {{command: 'true'}}\nfiles: [{lines}]\n"));
            size += text.len();
            world.write(&format!(".ai/tools/acme/t{at}.yaml"), text);
        }
        size
    };
    tools(1);
    let review = ["trust", "review"];
    let own = peak_kib(&world, &review, b"");
    let size = tools(200) as u64;
    let most = own + ((10 * size + (32 << 20)) >> 10);
    for args in [&review[..], &["verify"], &["list"]] {
        let peak = peak_kib(&world, args, b"");
        assert!(peak <= most, "{args:?}: {peak} KiB for {size} bytes");
    }
}
