//! Row c08, Node: what lies above the private folder of a run, in the project or in a home is not
//! loaded; packages come from folders that were let in; and programs behave as they do without rye.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::c_interpreters::{data, passed_over};
use crate::world::World;

const HEADER: &str = r#"// /// rye
// version = "1.0.0"
// tool_type = "tool"
// executor_id = "rye/core/runtimes/node/node"
// category = "acme"
// description = "Tries what it can load"
// ///
"#;

/// Tries each way of loading a package and says what came of it.
const TRIES: &str = r#"
const tries = {
  import: async (name) => (await import(name)).default,
  require: async (name) => load(name),
  resolve: async (name) => load(load.resolve(name, { paths: [process.env.RYE_PROJECT, "/"] })),
};
const said = {};
for (const [way, attempt] of Object.entries(tries)) {
  try {
    said[way] = await attempt("planted");
  } catch (error) {
    said[way] = error.code;
  }
}
"#;

/// The tool that tries, as an ES module and with `require`.
fn tools() -> [(&'static str, String); 2] {
    let load = "import { createRequire } from 'node:module';\nconst load = createRequire(import.meta.url);\n";
    [
        ("tries.mjs", format!("{HEADER}{load}{TRIES}console.log(JSON.stringify(said));\n")),
        (
            "common.cjs",
            format!(
                "{HEADER}const load = require;\n(async () => {{{TRIES}console.log(JSON.stringify(said));\n}})();\n"
            ),
        ),
    ]
}

const ITEMS: [&str; 2] = ["tool:acme/tries", "tool:acme/common"];

fn world() -> World {
    let world = World::new();
    for (name, text) in tools() {
        world.signed(&format!(".ai/tools/acme/{name}"), &text);
    }
    world
}

/// A package that says where it lies.
fn plant(folder: &Path, says: &str) {
    let package = folder.join("planted");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("index.js"), format!("module.exports = '{says}';\n")).unwrap();
    fs::write(package.join("package.json"), r#"{"name": "planted", "main": "index.js"}"#).unwrap();
}

#[track_caller]
fn refuses_all(world: &World, what: &str) {
    for item in ITEMS {
        for (way, said) in data(world, item).as_object().unwrap() {
            let codes = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_RYE_OUTSIDE"];
            assert!(codes.contains(&said.as_str().unwrap()), "{what}: {item} {way}: {said}");
        }
    }
}

#[test]
fn c08_packages_above_the_pin_in_the_project_and_in_the_home_are_not_loaded() {
    let world = world();
    let (home, project) = (world.home(), world.project());
    refuses_all(&world, "nothing planted");
    for folder in [
        home.join("node_modules"),
        home.join(".node_modules"),
        home.join(".node_libraries"),
        home.join(".ai/node_modules"),
        home.join(".ai/state/node_modules"),
        home.join(".ai/state/pin/node_modules"),
        world.outside().join("node_modules"),
        project.join("node_modules"),
        project.join(".ai/node_modules"),
        project.join(".ai/tools/acme/node_modules"),
    ] {
        plant(&folder, "evil");
        refuses_all(&world, &folder.display().to_string());
    }
    // Everywhere at once, with the variables that Node would listen to.
    let modules = project.join("node_modules").display().to_string();
    let evil = world.write("evil.cjs", "require('fs').writeFileSync('evil', '')\n");
    let options = format!("--require {}", evil.display());
    let env = [("NODE_PATH", modules.as_str()), ("NODE_OPTIONS", options.as_str())];
    let deps = format!("[{modules:?}]");
    let env = [&env[..], &[("RYE_DEPS", deps.as_str())]].concat();
    for item in ITEMS {
        let said = world.rye_env(&project, &["execute", item, "--json"], b"", &env);
        assert!(!format!("{}", said.json()["data"]).contains("evil\""), "{said:?}");
        assert!(!project.join("evil").exists(), "NODE_OPTIONS reached the child");
    }
}

#[test]
fn c08_a_package_json_above_the_pin_decides_nothing() {
    let world = World::new();
    let text = format!("{HEADER}console.log(JSON.stringify(typeof require));\n");
    world.signed(".ai/tools/acme/kind.js", &text);
    assert_eq!(data(&world, "tool:acme/kind"), json!("function"));
    let planted = r##"{"name": "planted", "type": "module", "exports": "./x.js", "imports": {"#x": "./x.js"}}"##;
    for folder in ["", ".ai/", ".ai/state/", ".ai/state/pin/"] {
        world.write_home(&format!("{folder}package.json"), planted);
        world.write_home(&format!("{folder}x.js"), "module.exports = 'evil'");
    }
    world.write("package.json", planted);
    assert_eq!(data(&world, "tool:acme/kind"), json!("function"));
    let own =
        format!("{HEADER}try {{ console.log(require('#x')) }} catch (e) {{ console.log(1) }}\n");
    world.signed(".ai/tools/acme/kind.js", &own);
    assert_eq!(data(&world, "tool:acme/kind"), json!(1));
}

#[test]
fn c08_packages_are_loaded_from_a_folder_that_was_let_in() {
    let world = world();
    let modules = world.project().canonicalize().unwrap().join("node_modules");
    plant(&modules, "mine");
    plant(&world.home().join("node_modules"), "evil");
    plant(&world.project().join(".ai/node_modules"), "evil");
    // A project that is itself a package of that name does not take its place.
    world.write("package.json", r#"{"name": "planted", "exports": "./evil.js"}"#);
    world.write("evil.js", "module.exports = 'evil';");
    refuses_all(&world, "nothing let in");
    let path = modules.display().to_string();
    let help = format!("rye trust allow-deps {path}");
    assert!(passed_over(&world, ITEMS[0]).iter().any(|p| p.2 == help));
    world.rye(&["trust", "allow-deps", "."]).ok();
    let all = json!({"import": "mine", "require": "mine", "resolve": "mine"});
    for item in ITEMS {
        assert_eq!(data(&world, item), all, "{item}");
    }
    let external = json!([{"path": path, "integrity": "external"}]);
    let (_, said) = world.json(&["execute", ITEMS[0], "--chain-details"]);
    assert_eq!(said["external"], external, "{said}");
    let (_, said) = world.json(&["execute", ITEMS[0], "--dry-run"]);
    assert_eq!(said["plan"]["external"], external, "{said}");
    assert!(said["plan"]["env"].as_array().unwrap().contains(&json!("RYE_DEPS")));
    for args in [&["execute", ITEMS[0], "--dry-run"][..], &["why", ITEMS[0]]] {
        let text = world.rye(args).stdout;
        assert!(text.contains(&format!("{path}  external")), "{args:?}: {text}");
    }
    // Another folder at that place is another folder.
    fs::rename(&modules, world.project().join("old")).unwrap();
    plant(&modules, "evil");
    refuses_all(&world, "another folder at the place");
    assert!(world.rye(&["trust", "list"]).stdout.contains("not used: another folder lies there"));
    fs::remove_dir_all(&modules).unwrap();
    fs::rename(world.project().join("old"), &modules).unwrap();
    assert_eq!(data(&world, ITEMS[1]), all);
    world.rye(&["trust", "disallow", "node_modules"]).ok();
    refuses_all(&world, "taken back");
}

#[test]
fn c08_a_package_may_not_lead_out_of_the_folder_that_was_let_in() {
    let world = world();
    let modules = world.project().join("node_modules");
    fs::create_dir_all(&modules).unwrap();
    world.rye(&["trust", "allow-deps", "node_modules"]).ok();
    plant(&world.outside().join("far"), "evil");
    std::os::unix::fs::symlink(world.outside().join("far/planted"), modules.join("planted"))
        .unwrap();
    refuses_all(&world, "a link out of it");
}

#[test]
fn a_users_tool_loads_no_packages_of_a_project() {
    let world = World::new();
    for (name, text) in tools() {
        world.signed_home(&format!(".ai/tools/acme/{name}"), &text);
    }
    let modules = world.project().join("node_modules");
    plant(&modules, "the project's");
    world.rye(&["trust", "allow-deps", "node_modules"]).ok();
    refuses_all(&world, "a tool of the user space");
    let own = world.home().join(".ai/node_modules");
    plant(&own, "mine");
    world.rye(&["trust", "allow-deps", own.to_str().unwrap()]).ok();
    for item in ITEMS {
        assert_eq!(data(&world, item)["require"], json!("mine"), "{item}");
    }
}

#[test]
fn c08_files_outside_the_pin_are_refused_by_every_way_in() {
    let world = World::new();
    let project = world.project().canonicalize().unwrap();
    fs::write(project.join("x.cjs"), "module.exports = 'evil'\n").unwrap();
    fs::write(project.join("x.mjs"), "export default 'evil'\n").unwrap();
    fs::write(project.join("x.node"), "no addon").unwrap();
    let text = r#"
const { Worker } = require("node:worker_threads");
const { fork } = require("node:child_process");
const path = require("node:path");
const at = (name) => path.join(process.env.RYE_PROJECT, name);
const climb = (name) => path.relative(__dirname, at(name));
const code = async (attempt) => {
  try {
    return String((await attempt()) ?? "done");
  } catch (error) {
    return error.code;
  }
};
const worker = (source) => new Promise((done) => {
  const child = new Worker(source, { eval: true });
  child.on("message", done).on("error", (error) => done(error.code));
});
(async () => {
  const said = {
    absolute: await code(() => require(at("x.cjs"))),
    climbing: await code(() => require(climb("x.cjs"))),
    url: await code(() => import("file://" + at("x.mjs"))),
    relative: await code(() => import(climb("x.mjs"))),
    addon: await code(() => require(at("x.node"))),
    dlopen: await code(() => process.dlopen({ exports: {} }, at("x.node"))),
    worker: await worker(`require("worker_threads").parentPort.postMessage(require(${JSON.stringify(at("x.cjs"))}))`),
    module: await worker(`import(${JSON.stringify("file://" + at("x.mjs"))}).catch((e) => require("worker_threads").parentPort.postMessage(e.code))`),
  };
  const child = fork(at("x.cjs"), { silent: true });
  said.fork = await new Promise((done) => child.on("exit", (status) => done(status === 0 ? "ran" : "ERR_RYE_OUTSIDE")));
  console.log(JSON.stringify(said));
})();
"#;
    world.signed(".ai/tools/acme/ways.cjs", &format!("{HEADER}{text}"));
    let said = data(&world, "tool:acme/ways");
    for (way, code) in said.as_object().unwrap() {
        assert_eq!(code, "ERR_RYE_OUTSIDE", "{way}: {said}");
    }
    assert_eq!(said.as_object().unwrap().len(), 9);
}

#[test]
fn node_programs_behave_as_they_do_without_rye() {
    let world = World::new();
    world.write(".ai/tools/acme/parts/data.json", "{\"b\": 2}");
    world.write(".ai/tools/acme/parts/near.cjs", "module.exports = require('./data.json').b;\n");
    world.write(
        ".ai/tools/acme/parts/near.mjs",
        "import near from './near.cjs';\nexport { near };\n",
    );
    let files = HEADER.replacen("// version", "// files = [\"parts/*\"]\n// version", 1);
    let common = format!(
        "{files}{}",
        r#"
const input = require("fs").readFileSync(0, "utf8");
const said = {
  main: require.main === module,
  mainModule: process.mainModule === module,
  argv: process.argv.length === 2 && process.argv[1] === __filename,
  dirname: require("path").dirname(__filename) === __dirname,
  self: require("./common.cjs") === module.exports,
  builtin: typeof require("node:fs").readFileSync,
  json: require("./parts/data.json"),
  near: require("./parts/near.cjs"),
  input: JSON.parse(input),
  globals: typeof globalThis.fs,
  missing: (() => { try { require("./none") } catch (e) { return e.code } })(),
  node: process.env.RYE_NODE === process.execPath || typeof process.env.RYE_NODE,
};
import("./parts/near.mjs").then(async (sibling) => {
  said.dynamic = sibling.near;
  console.log(JSON.stringify(said));
  process.exitCode = 3;
});
"#
    );
    world.signed(".ai/tools/acme/common.cjs", &common);
    let params = r#"{"a": 1}"#;
    let (status, said) = world.json(&["execute", "acme/common", "--params", params]);
    assert_eq!((status, &said["metadata"]["exit_code"]), (1, &json!(3)), "{said}");
    let want = json!({
        "main": true, "mainModule": true, "argv": true, "dirname": true, "self": true,
        "builtin": "function", "json": {"b": 2}, "near": 2, "input": {"a": 1}, "globals": "undefined",
        "missing": "MODULE_NOT_FOUND", "dynamic": 2,
    });
    for (key, value) in want.as_object().unwrap() {
        assert_eq!(&said["data"][key], value, "{key}: {said}");
    }
    let module = format!(
        "{files}import {{ readFileSync }} from \"node:fs\";\nimport path from \"path\";\n\
         import {{ near }} from \"./parts/near.mjs\";\n\
         import data from \"./parts/data.json\" with {{ type: \"json\" }};\n{}",
        r#"
const later = await new Promise((done) => setTimeout(done, 1, "later"));
const self = import("./module.mjs");
export const answer = 7;
console.log(JSON.stringify({
  later,
  file: path.basename(new URL(import.meta.url).pathname),
  input: JSON.parse(readFileSync(0, "utf8")),
  argv: process.argv.length,
  self: typeof self,
  near,
  data,
}));
"#
    );
    world.signed(".ai/tools/acme/module.mjs", &module);
    let (status, said) = world.json(&["execute", "acme/module", "--params", params]);
    let want = json!({"later": "later", "file": "module.mjs", "input": {"a": 1}, "argv": 2, "self": "object", "near": 2, "data": {"b": 2}});
    assert_eq!((status, &said["data"]), (0, &want), "{said}");
    let error = format!("{HEADER}setTimeout(() => {{ throw new Error(\"mine\") }}, 1);\n");
    world.signed(".ai/tools/acme/error.cjs", &error);
    let (status, said) = world.json(&["execute", "acme/error"]);
    assert_eq!(status, 1);
    assert!(said["data"]["stderr_tail"].as_str().unwrap().contains("Error: mine"), "{said}");
}

/// The guard reads no program: what is loaded is judged, whatever the text that asks for it.
#[test]
fn c08_no_form_of_an_import_passes_unseen() {
    let world = World::new();
    plant(&world.home().join("node_modules"), "evil");
    let forms = [
        "import x from 'planted'; console.log(x)",
        "import * as x from \"planted\"; console.log(x)",
        "import 'planted'",
        "import{default as x}from'planted'",
        "import /* from 'node:fs' */ x from 'planted'",
        "import x /* c */ from 'planted'",
        "import x from /* c */ 'planted'",
        "import x\nfrom\n'planted'",
        "import 'node:fs'; import('planted').then(console.log, () => process.exit(5))",
        "await import('planted')",
        "await import(/* c */ 'planted')",
        "await import(['plan', 'ted'].join(''))",
        "await eval(\"imp\" + \"ort('planted')\")",
        "await new Function(\"return imp\" + \"ort('planted')\")()",
        "await globalThis['ev' + 'al'](\"imp\" + \"ort('planted')\")",
        "import vm from 'node:vm'; await vm.runInThisContext(\"imp\" + \"ort('planted')\", \
         {importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER})",
        "export { default } from 'planted'",
        "export { default as y } /* c */ from 'planted'",
        "export * from 'planted'",
        "export * as z from 'planted'",
        "import x from 'pl\\u0061nted'",
        "import { createRequire } from 'node:module'; createRequire(import.meta.url)('planted')",
    ];
    for (at, form) in forms.into_iter().enumerate() {
        let name = format!("form{at}");
        world.signed(&format!(".ai/tools/acme/{name}.mjs"), &format!("{HEADER}{form}\n"));
        let said = world.rye(&["execute", &format!("tool:acme/{name}"), "--json"]);
        assert_eq!(said.status, 1, "{form}: {said:?}");
        let value: Value = said.json();
        assert!(!value.to_string().contains("evil"), "{form}: {value}");
    }
}

#[test]
fn c08_a_module_of_the_project_is_refused_though_no_reading_of_the_text_finds_the_import() {
    let world = World::new();
    let text = "import vm from 'node:vm';\nconst load = (text) => vm.runInThisContext(text, \
        { importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER });\n";
    let tool = |text: &str, asks: &str| format!("{HEADER}{text}{asks}\nconsole.log('ran')\n");
    world.signed(".ai/tools/acme/fine.mjs", &tool(text, "await load('imp' + \"ort('node:fs')\")"));
    world.works("tool:acme/fine");
    world.write("node_modules/planted/package.json", r#"{"type": "module", "exports": "./i.js"}"#);
    world.write("node_modules/planted/i.js", "console.log('evil');\n");
    world.signed(".ai/tools/acme/asks.mjs", &tool(text, "await load('imp' + \"ort('planted')\")"));
    let said =
        world.rye(&["execute", "tool:acme/asks", "--json"]).fails_with("execute.tool_failed");
    assert!(!said.json()["data"]["stdout"].to_string().contains("evil"), "{said:?}");
}
