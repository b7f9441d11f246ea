//! Blocks in, interpreters or pointers out.

use super::{Interpreter, Manager, Search};
use crate::parse::data::yaml;
use crate::parse::tool::fields::Fields;

fn parse(text: &str) -> Result<Interpreter, String> {
    let value = yaml(text).expect("the fixture is YAML");
    let fields = Fields::from_value(&value, "/env_config/interpreter".into()).expect("a mapping");
    Interpreter::new(&fields).map_err(|fault| format!("{fault:?}"))
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_type_table() {
    let rows = [
        (
            "{type: local_binary, candidates: [a, b], search_paths: [.venv/bin, c]}",
            Search::LocalBinary {
                candidates: list(&["a", "b"]),
                search_paths: list(&[".venv/bin", "c"]),
            },
        ),
        (
            "{type: local_binary, binary: a, search_paths: [c]}",
            Search::LocalBinary { candidates: list(&["a"]), search_paths: list(&["c"]) },
        ),
        ("{type: venv_python}", Search::VenvPython { venv: ".venv".into() }),
        ("{type: venv_python, venv: env/x}", Search::VenvPython { venv: "env/x".into() }),
        ("{type: node_modules, binary: tsx}", Search::NodeModules { binary: "tsx".into() }),
        ("{type: system_binary, binary: lua}", Search::SystemBinary { candidates: list(&["lua"]) }),
        (
            "{type: version_manager, manager: asdf, binary: ruby}",
            Search::VersionManager { manager: Manager::Asdf, binary: "ruby".into() },
        ),
        (
            "{type: command, command: [/usr/bin/which, node]}",
            Search::Command { argv: list(&["/usr/bin/which", "node"]) },
        ),
    ];
    for (text, search) in rows {
        assert_eq!(parse(text), Ok(Interpreter { search, var: None, fallback: None }), "{text}");
    }
    let whole =
        parse("{type: system_binary, binary: lua, var: LUA_2, fallback: /opt/lua}").unwrap();
    assert_eq!(
        (whole.var.as_deref(), whole.fallback.as_deref()),
        (Some("LUA_2"), Some("/opt/lua"))
    );
}

#[test]
fn what_is_wrong_is_named_by_its_pointer() {
    let rows = [
        ("{}", "/type"),
        ("{type: 1}", "/type"),
        ("{type: magic}", "/type"),
        ("{type: venv_python, binary: x}", "/binary"),
        ("{type: venv_python, vnev: x}", "/vnev"),
        ("{type: venv_python, venv: ../x}", "/venv"),
        ("{type: venv_python, venv: /x}", "/venv"),
        ("{type: venv_python, venv: x/}", "/venv"),
        ("{type: venv_python, venv: ''}", "/venv"),
        ("{type: local_binary, binary: a}", "/search_paths"),
        ("{type: local_binary, binary: a, search_paths: []}", "/search_paths"),
        ("{type: local_binary, binary: a, search_paths: [b, ../c]}", "/search_paths/1"),
        ("{type: local_binary, search_paths: [b]}", "/candidates"),
        ("{type: local_binary, binary: a, candidates: [b], search_paths: [c]}", "/binary"),
        ("{type: local_binary, candidates: [a, b/c], search_paths: [c]}", "/candidates/1"),
        ("{type: node_modules}", "/binary"),
        ("{type: node_modules, binary: ..}", "/binary"),
        ("{type: system_binary, binary: -x}", "/binary"),
        ("{type: system_binary, candidates: a}", "/candidates"),
        ("{type: version_manager, binary: a}", "/manager"),
        ("{type: version_manager, manager: sdkman, binary: a}", "/manager"),
        ("{type: command, command: which}", "/command"),
        ("{type: command, command: [./which]}", "/command/0"),
        ("{type: system_binary, binary: a, fallback: ./a}", "/fallback"),
        ("{type: system_binary, binary: a, fallback: a/b}", "/fallback"),
        ("{type: system_binary, binary: a, var: lower}", "/var"),
        ("{type: system_binary, binary: a, var: 1A}", "/var"),
        ("{type: system_binary, binary: a, var: 1}", "/var"),
        ("{type: system_binary, binary: a, var: PATH}", "/var"),
        ("{type: system_binary, binary: a, var: LD_PRELOAD}", "/var"),
        ("{type: system_binary, binary: a, var: RYE_PROJECT}", "/var"),
    ];
    for (text, pointer) in rows {
        let said = parse(text).expect_err(text);
        assert!(said.contains(&format!("`/env_config/interpreter{pointer}`")), "{text}: {said}");
    }
}
