//! `rye graph`: what items run through and use (core 11).

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::world::{End, GREET_MD, MARKER_SH, World};

const WITH_FILES: &str = "# /// rye\n# files = [\"lib/*.py\"]\n# ///\n\
    __version__ = \"1.2.0\"\n__tool_type__ = \"tool\"\n\
    __executor_id__ = \"rye/core/runtimes/python/function\"\n__category__ = \"acme\"\n\
    __tool_description__ = \"Has a file beside it\"\n\
    CONFIG_RESOLVE = {\"path\": \"acme/limits.yaml\", \"mode\": \"deep_merge\"}\n\n\n\
    def execute(params):\n    return 1\n";

/// A tool with a file, config and a shadowed copy.
fn world() -> World {
    let world = World::new();
    world.write(".ai/tools/acme/lib/h.py", "X = 1\n");
    world.signed(".ai/config/acme/limits.yaml", "a: 1\n");
    world.signed(".ai/tools/acme/multi.py", WITH_FILES);
    world.signed_home(".ai/tools/acme/multi.sh", MARKER_SH);
    world.works("acme/multi");
    world
}

/// Each edge as `from -tie-> to (standing or code)`.
fn edges(graph: &Value) -> Vec<String> {
    let nodes = graph["nodes"].as_array().unwrap();
    let name = |id: &Value| {
        let node = &nodes[usize::try_from(id.as_u64().unwrap()).unwrap()];
        let verdict = node["code"].as_str().or(node["standing"].as_str()).unwrap();
        let label = node["label"].as_str().unwrap();
        let label = label.rsplit_once("/bin/").map_or(label, |(_, program)| program);
        let space = node["space"].as_str().map(|s| format!("@{s}")).unwrap_or_default();
        format!("{label}{space} {verdict}")
    };
    let edges = graph["edges"].as_array().unwrap().iter();
    edges
        .map(|e| {
            format!("{} -{}-> {}", name(&e["from"]), e["tie"].as_str().unwrap(), name(&e["to"]))
        })
        .collect()
}

#[test]
fn a_graph_holds_the_chain_the_files_the_config_the_program_and_what_is_shadowed() {
    let world = world();
    let got = world.json(&["graph", "acme/multi"]).ok();
    let root = "tool:acme/multi@project you";
    let runtime = "tool:rye/core/runtimes/python/function@system publisher";
    assert_eq!(
        edges(&got),
        [
            format!("{root} -runs_through-> {runtime}"),
            format!("{root} -config-> config:acme/limits@project you"),
            format!("{root} -config-> config:execution/execution@system publisher"),
            format!("{root} -file-> lib/h.py@project covered"),
            format!("{root} -program-> python3 machine"),
            format!("{root} -shadows-> tool:acme/multi@user you"),
            format!("{runtime} -runs_through-> tool:rye/core/primitives/execute@system publisher"),
            format!("{runtime} -file-> lib/run.py@system covered"),
        ]
    );
    let again = world.rye(&["graph", "acme/multi", "--json"]).stdout;
    assert_eq!(again, world.rye(&["graph", "tool:acme/multi", "--json"]).stdout, "the same again");
    let text = world.rye(&["graph", "acme/multi"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "tool:acme/multi 1.2.0  project  ✓ signed by you");
    assert!(
        lines[1].starts_with("├─ runs through tool:rye/core/runtimes/python/function"),
        "{text}"
    );
    assert!(lines[2].starts_with("│  ├─ runs through tool:rye/core/primitives/execute"), "{text}");
    assert!(lines.last().unwrap().starts_with("└─ shadows tool:acme/multi 1.0.0  user"), "{text}");
}

#[test]
fn what_is_refused_is_drawn_with_its_code_and_stops_nothing() {
    let world = world();
    world.write(".ai/tools/acme/unsigned.sh", MARKER_SH);
    let lost = MARKER_SH.replace("shell/script", "shell/scirpt");
    world.signed(".ai/tools/acme/lost.sh", &lost);
    let asked = ["tool:acme/unsigned", "tool:acme/lost", "tool:acme/multi"];
    let (status, got) = world.json(&[&["graph"][..], &asked].concat());
    assert_eq!((status, got["roots"].to_string().as_str()), (0, "[0,1,3]"), "{got}");
    assert_eq!(got["nodes"][0]["code"], "verify.unsigned");
    let lost = "tool:acme/lost@project you -runs_through-> tool:rye/core/runtimes/shell/scirpt \
                chain.executor_not_found";
    assert_eq!(edges(&got)[0], lost);
    // An altered file beside a tool, an altered config, an altered copy that is shadowed.
    for (path, home, want) in [
        (".ai/tools/acme/lib/h.py", false, "verify.dependency"),
        (".ai/config/acme/limits.yaml", false, "verify.altered"),
        (".ai/tools/acme/multi.sh", true, "verify.altered"),
    ] {
        let file = if home { world.home().join(path) } else { world.project().join(path) };
        let before = fs::read(&file).unwrap();
        fs::write(&file, [&before[..], b"# more\n"].concat()).unwrap();
        let (status, got) = world.json(&["graph", "acme/multi"]);
        let codes: Vec<_> =
            got["nodes"].as_array().unwrap().iter().filter_map(|n| n["code"].as_str()).collect();
        assert!(status == 0 && codes.contains(&want), "{path}: {codes:?}");
        fs::write(&file, before).unwrap();
        let (_, got) = world.json(&["graph", "acme/multi"]);
        assert!(got["nodes"].as_array().unwrap().iter().all(|node| node["code"].is_null()));
    }
    world
        .rye(&["graph", "acme/mutli"])
        .fails(3, "resolve.not_found")
        .warns("did you mean `tool:acme/multi`");
}

#[test]
fn in_the_graph_of_everything_what_is_shared_stands_once() {
    let world = world();
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    let got = world.json(&["graph", "--all"]).ok();
    let nodes = got["nodes"].as_array().unwrap();
    let named = |label: &str| nodes.iter().filter(|n| n["label"] == label).count();
    for label in [
        "tool:rye/core/primitives/execute",
        "tool:rye/core/runtimes/python/script",
        "config:execution/execution",
        "tool:acme/mark",
        "directive:acme/greet",
        "tool:rye/bash",
    ] {
        assert_eq!(named(label), 1, "{label}");
    }
    assert_eq!(named("tool:acme/multi"), 2, "the copy that answers, and the one that it shadows");
    let ids: BTreeSet<u64> = nodes.iter().map(|n| n["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), nodes.len());
    let text = world.rye(&["graph", "--all"]).stdout;
    assert!(text.contains("(as above)"), "{text}");
    let of_user = world.json(&["graph", "--all", "--space", "user"]).1;
    assert_eq!(of_user["items"].to_string(), r#"["tool:acme/multi"]"#);
}

#[test]
fn the_svg_is_well_formed_needs_nothing_else_and_says_in_words_what_colours_say() {
    let world = world();
    world.write(".ai/tools/acme/unsigned.sh", MARKER_SH);
    let said = world.rye(&["graph", "--all", "--svg"]).ok();
    let svg = roxmltree::Document::parse(&said.stdout).expect("well-formed XML");
    let names: BTreeSet<&str> = svg
        .descendants()
        .filter(roxmltree::Node::is_element)
        .map(|n| n.tag_name().name())
        .collect();
    let known = ["svg", "title", "style", "rect", "path", "text", "g"].into_iter().collect();
    assert!(names.is_subset(&known), "no script, image or link: {names:?}");
    assert!(
        !said.stdout.contains("url(") && !said.stdout.contains("href"),
        "nothing from elsewhere"
    );
    assert!(said.stdout.contains("prefers-color-scheme:dark"));
    let words: Vec<&str> = svg.descendants().filter_map(|n| n.text()).collect();
    for word in
        ["✗ refused: verify.unsigned · project", "✓ signed by you", "○ of this machine, not signed"]
    {
        assert!(words.contains(&word), "{word}");
    }
    // No box lies over another one.
    let number = |n: &roxmltree::Node<'_, '_>, name: &str| {
        n.attribute(name).unwrap().parse::<i64>().unwrap()
    };
    let boxes: Vec<[i64; 4]> = svg
        .descendants()
        .filter(|n| n.attribute("class").is_some_and(|class| class.starts_with("node ")))
        .map(|n| ["x", "y", "width", "height"].map(|name| number(&n, name)))
        .collect();
    assert!(boxes.len() > 20, "{}", boxes.len());
    for (at, a) in boxes.iter().enumerate() {
        for b in &boxes[at + 1..] {
            let apart = a[0] + a[2] <= b[0]
                || b[0] + b[2] <= a[0]
                || a[1] + a[3] <= b[1]
                || b[1] + b[3] <= a[1];
            assert!(apart, "{a:?} {b:?}");
        }
    }
}

#[test]
fn mermaid_names_each_node_before_its_edges_and_ends_no_label_early() {
    let world = world();
    let said = world.rye(&["graph", "acme/multi", "--mermaid"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!((said.status, lines[0]), (0, "flowchart LR"), "{said:?}");
    let nodes: Vec<&&str> = lines.iter().filter(|line| line.contains("[\"")).collect();
    let edges: Vec<&&str> = lines.iter().filter(|line| line.contains("->|")).collect();
    assert_eq!((nodes.len(), edges.len()), (9, 8), "{lines:?}");
    for node in nodes {
        assert_eq!(node.matches('"').count(), 2, "{node}");
        let class = node.rsplit(":::").next().unwrap();
        assert!(
            lines.iter().any(|line| line.starts_with(&format!("  classDef {class} "))),
            "{node}"
        );
    }
    assert!(
        lines.contains(&"  n0 -.->|shadows| n8")
            || edges.iter().any(|e| e.contains("-.->|shadows|"))
    );
}

#[test]
fn nothing_that_an_item_says_leaves_its_label() {
    let world = World::new();
    let odd = "<b>&\"];'#.py";
    world.write(&format!(".ai/tools/acme/lib/{odd}"), "X = 1\n");
    world.signed(".ai/tools/acme/odd.py", &WITH_FILES.replace("*.py", "*"));
    let said = world.rye(&["graph", "acme/odd", "--svg"]);
    let svg = roxmltree::Document::parse(&said.stdout).expect("well-formed XML");
    let whole = format!("lib/{odd}");
    assert!(svg.descendants().any(|node| node.text() == Some(whole.as_str())), "{}", said.stdout);
    let said = world.rye(&["graph", "acme/odd", "--mermaid"]);
    let line = said.stdout.lines().find(|line| line.contains("lib/")).unwrap();
    assert!(line.contains("lib/#60;b#62;#38;#34;#93;#59;#39;#35;.py<br/>"), "{line}");
    let (status, got) = world.json(&["graph", "acme/odd"]);
    assert!(status == 0 && got["nodes"].to_string().contains("<b>&"), "{got}");
}
