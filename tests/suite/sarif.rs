//! `rye verify --sarif`: the findings as SARIF 2.1.0 has them.

use serde_json::{Value, json};

use crate::world::{MARKER_SH, World};

/// The log, and the status that the call ended with.
fn log(world: &World, args: &[&str]) -> (i32, Value) {
    let said = world.rye(&[&["verify", "--sarif"], args].concat());
    (said.status, said.json())
}

/// Of each object in the log, the keys that the published schema knows and those that it asks for;
/// everything else is refused there.
fn fits(value: &Value, known: &[&str], required: &[&str]) {
    let map = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    for key in map.keys() {
        assert!(known.contains(&key.as_str()), "`{key}` in {value}");
    }
    for key in required {
        assert!(map.contains_key(*key), "no `{key}` in {value}");
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}")).iter()
}

fn text(value: &Value) -> &str {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or_else(|| panic!("no text: {value}"))
}

/// The shape of a log, as the schema of 2.1.0 says it.
fn is_sarif(log: &Value) {
    fits(log, &["$schema", "version", "runs", "properties"], &["version", "runs"]);
    assert_eq!(log["version"], "2.1.0");
    for run in list(&log["runs"]) {
        let known = ["tool", "columnKind", "originalUriBaseIds", "invocations", "results"];
        fits(run, &known, &["tool", "results"]);
        assert_eq!(run["columnKind"], "unicodeCodePoints");
        fits(&run["tool"], &["driver"], &["driver"]);
        fits(&run["tool"]["driver"], &["name", "version", "rules"], &["name"]);
        let rules: Vec<_> = list(&run["tool"]["driver"]["rules"]).collect();
        for rule in &rules {
            fits(rule, &["id", "shortDescription", "help"], &["id"]);
            fits(&rule["shortDescription"], &["text"], &["text"]);
            fits(&rule["help"], &["text", "markdown"], &["text"]);
        }
        let ids: std::collections::BTreeSet<_> = rules.iter().map(|r| text(&r["id"])).collect();
        assert_eq!(ids.len(), rules.len(), "a rule stands there twice");
        for invocation in list(&run["invocations"]) {
            fits(invocation, &["executionSuccessful", "exitCode"], &["executionSuccessful"]);
        }
        let bases = run["originalUriBaseIds"].as_object().unwrap();
        for base in bases.values() {
            fits(base, &["description"], &[]);
            text(&base["description"]["text"]);
        }
        for result in list(&run["results"]) {
            let known = [
                "ruleId",
                "ruleIndex",
                "level",
                "message",
                "locations",
                "partialFingerprints",
                "properties",
            ];
            fits(result, &known, &["message"]);
            assert!(["error", "warning"].contains(&text(&result["level"])));
            fits(&result["message"], &["text"], &["text"]);
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            for location in list(&result["locations"]) {
                fits(location, &["physicalLocation", "logicalLocations"], &[]);
                for logical in location.get("logicalLocations").iter().flat_map(|l| list(l)) {
                    fits(logical, &["fullyQualifiedName"], &["fullyQualifiedName"]);
                }
                let Some(physical) = location.get("physicalLocation") else { continue };
                fits(physical, &["artifactLocation", "region"], &["artifactLocation"]);
                let artifact = &physical["artifactLocation"];
                fits(artifact, &["uri", "uriBaseId"], &["uri"]);
                let uri = text(&artifact["uri"]);
                assert!(uri.bytes().all(|b| b.is_ascii_graphic()), "{uri}");
                assert!(bases.contains_key(text(&artifact["uriBaseId"])));
                let Some(region) = physical.get("region") else { continue };
                fits(region, &["startLine", "startColumn"], &["startLine"]);
                assert!(region["startLine"].as_u64() >= Some(1));
            }
        }
    }
}

/// What a person would see of each result: rule, level, place.
fn seen(log: &Value) -> Vec<(String, String, String, Value)> {
    is_sarif(log);
    let results = list(&log["runs"][0]["results"]).map(|result| {
        let place = &result["locations"][0]["physicalLocation"];
        let path = place["artifactLocation"]["uri"].as_str().unwrap_or_default();
        (
            text(&result["ruleId"]).to_owned(),
            text(&result["level"]).to_owned(),
            path.to_owned(),
            place["region"]["startLine"].clone(),
        )
    });
    results.collect()
}

/// A project with one of everything that can be the matter.
fn world() -> World {
    let world = World::new().with(".ai/tools/acme/good.sh", MARKER_SH);
    for name in ["altered", "hidden"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), MARKER_SH);
    }
    let append = |name: &str, text: &str| {
        let path = format!(".ai/tools/acme/{name}.sh");
        let signed = String::from_utf8(world.read(&path)).unwrap();
        world.write(&path, format!("{signed}{text}"));
    };
    append("altered", "# more\n");
    append("hidden", "# a\u{200b}b\n");
    world.write(".ai/tools/acme/a b.sh", MARKER_SH);
    world.write(".ai/tools/acme/none.sh", MARKER_SH);
    world
}

#[test]
fn every_finding_is_a_result_at_its_place_with_its_code_as_the_rule() {
    let world = World::new().with(".ai/tools/acme/good.sh", MARKER_SH);
    let (status, got) = log(&world, &["--ci"]);
    assert_eq!((status, seen(&got)), (0, vec![]), "the fixture itself is good");
    let world = self::world();
    let (status, got) = log(&world, &["--ci"]);
    let row = |rule: &str, path: &str, line: Value| {
        (rule.to_owned(), "error".to_owned(), format!(".ai/tools/acme/{path}.sh"), line)
    };
    assert_eq!(
        seen(&got),
        [
            row("verify.altered", "altered", json!(2)),
            row("parse.invisible_text", "hidden", json!(12)),
            row("verify.unsigned", "none", json!(2)),
            row("space.odd_file", "a%20b", Value::Null),
        ]
    );
    // The status is that of the same call without it.
    assert_eq!(status, world.rye(&["verify", "--ci"]).status);
    assert_eq!(got["runs"][0]["invocations"][0]["exitCode"], json!(status));
    let results = &got["runs"][0]["results"];
    assert!(text(&results[0]["message"]["text"]).contains("\nsee what changed with `rye diff"));
    let names = &results[0]["locations"][0]["logicalLocations"];
    assert_eq!(names[0]["fullyQualifiedName"], "tool:acme/altered");
    assert_eq!(results[1]["locations"][0]["physicalLocation"]["region"]["startColumn"], json!(4));
}

#[test]
fn each_rule_is_explained_by_the_page_of_its_code() {
    let world = world();
    let (_, got) = log(&world, &["--ci"]);
    is_sarif(&got);
    let rules: Vec<_> = list(&got["runs"][0]["tool"]["driver"]["rules"]).collect();
    assert!(rules.len() >= 4);
    for rule in rules {
        let (_, page) = world.json(&["explain", text(&rule["id"])]);
        let page = text(&page["page"]);
        assert_eq!(rule["help"]["markdown"], page);
        let title = page.split("\n\n").next().unwrap().replace('\n', " ");
        assert_eq!(rule["shortDescription"]["text"], title);
    }
}

#[test]
fn named_items_with_their_chains_are_findings_as_well() {
    let world = world();
    let (status, got) = log(&world, &["acme/good", "acme/altered", "acme/nothing"]);
    let rules: Vec<_> = seen(&got).into_iter().map(|row| row.0).collect();
    assert_eq!((status, rules), (4, vec!["verify.altered".into(), "resolve.not_found".into()]));
    let (status, got) = log(&world, &["acme/good"]);
    assert_eq!((status, seen(&got)), (0, vec![]));
}

#[test]
fn what_dev_mode_lets_through_is_a_warning_and_in_ci_an_error() {
    let world = world().env("RYE_DEV_MODE", "1");
    let levels = |args: &[&str]| {
        let (status, got) = log(&world, args);
        let unsigned = seen(&got).into_iter().find(|row| row.0 == "verify.unsigned");
        (status, unsigned.expect("a finding").1)
    };
    assert_eq!(levels(&[]).1, "warning");
    assert_eq!(levels(&["--ci"]).1, "error");
    let said = world.rye(&["verify", "--sarif", "--json"]);
    assert_eq!(said.status, 2, "{said:?}");
}

#[test]
fn a_finding_keeps_its_fingerprint_when_its_line_moves() {
    let world = world();
    let print = |log: &Value| log["runs"][0]["results"][1]["partialFingerprints"].clone();
    let before = log(&world, &["--ci"]).1;
    let path = ".ai/tools/acme/hidden.sh";
    let moved = String::from_utf8(world.read(path)).unwrap().replace(": > marker", ":\n: > marker");
    world.write(path, moved);
    let after = log(&world, &["--ci"]).1;
    assert_eq!(seen(&after)[1].3, json!(13));
    assert!(print(&before).is_object());
    assert_eq!(print(&after), print(&before));
}
