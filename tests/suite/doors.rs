//! Every door by which an item runs or is handed on, and every state in which it must not: one
//! table of both, over one world whose item is spoiled and put back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;

use crate::keys::others::{AT, signed_text, stranger, trust};
#[cfg(feature = "mcp")]
use crate::mcp::client::Client;
use crate::thread_table::{call, prepared};
use crate::world::{World, fingerprint, item_of};

/// An item, the file that it lists and the runtime of the project that it runs through; a directive
/// has neither of these two.
struct Thing {
    path: &'static str,
    listed: &'static str,
    runtime: &'static str,
}

const TOOL: Thing = Thing {
    path: ".ai/tools/acme/mark.sh",
    listed: ".ai/tools/acme/part.txt",
    runtime: ".ai/tools/acme/shell.yaml",
};
const HOOK: Thing = Thing {
    path: ".ai/tools/hooks/guard.yaml",
    listed: ".ai/tools/hooks/guard-it.sh",
    runtime: ".ai/tools/acme/exec.yaml",
};
const EVAL: Thing = Thing {
    path: ".ai/tools/acme/score.yaml",
    listed: ".ai/tools/acme/score-it.sh",
    runtime: ".ai/tools/acme/exec.yaml",
};
const PARENT: Thing = Thing { path: ".ai/directives/acme/base.md", listed: "", runtime: "" };
const PAGE: Thing = Thing { path: ".ai/knowledge/acme/note.md", listed: "", runtime: "" };
const CONFIG: Thing = Thing { path: ".ai/config/acme/settings.yaml", listed: "", runtime: "" };
#[cfg(all(feature = "code", feature = "mcp"))]
const SNIPPET: Thing = Thing { path: ".ai/tools/acme/itself.js", listed: "", runtime: "" };

/// An answer of a door about an item that is refused.
#[derive(Clone, Copy)]
enum Tells {
    /// It ends with the code and its status.
    Refuses,
    /// It answers an agent with the code.
    #[cfg(feature = "mcp")]
    Answers,
    /// It ends with this status and names the code.
    Names(i32),
    /// It ends with this status and says this.
    Says(i32, &'static str),
}
#[cfg(feature = "mcp")]
use Tells::Answers;
use Tells::{Names, Refuses, Says};

/// The words behind `rye` that go through a door, what it is about, what it tells, and how far it
/// judges. An agent calls a tool of `rye mcp`; a snippet comes on standard input.
struct Door(&'static str, &'static Thing, Tells, Reach);

#[derive(Clone, Copy, PartialEq)]
enum Reach {
    /// It judges the item alone.
    Item,
    /// It judges the item and all that it runs through.
    Chain,
    /// The same, and where all is well the item runs.
    Runs,
}
use Reach::{Chain, Item, Runs};

const DOORS: &[Door] = &[
    Door("execute tool:acme/mark", &TOOL, Refuses, Runs),
    Door("execute tool:acme/mark --dry-run", &TOOL, Refuses, Chain),
    Door("run .ai/tools/acme/mark.sh", &TOOL, Refuses, Runs),
    Door("acme/mark", &TOOL, Refuses, Runs),
    Door("execute tool:acme/mark --async", &TOOL, Refuses, Runs),
    Door("plan acme/mark", &TOOL, Refuses, Chain),
    Door("learn acme/mark", &TOOL, Refuses, Runs),
    Door("test tool:acme/mark", &TOOL, Names(1), Chain),
    Door("verify tool:acme/mark", &TOOL, Refuses, Chain),
    Door("why tool:acme/mark", &TOOL, Refuses, Chain),
    Door("show tool:acme/mark", &TOOL, Refuses, Item),
    Door("describe tool:acme/mark", &TOOL, Refuses, Item),
    Door("fetch tool:acme/mark", &TOOL, Refuses, Item),
    Door("search mark --space project", &TOOL, Names(0), Item),
    Door("list --long --space project", &TOOL, Names(0), Item),
    Door("list --cyclonedx", &TOOL, Names(0), Item),
    Door("graph --all --space project", &TOOL, Names(0), Chain),
    Door("lock tool:acme/mark", &TOOL, Refuses, Chain),
    Door("bundle pack acme-b tool:acme/mark --version 1.0.0", &TOOL, Refuses, Item),
    Door("export skill acme/base --to out", &PARENT, Refuses, Item),
    Door("execute directive:acme/base", &PARENT, Refuses, Item),
    Door("fetch knowledge:acme/note", &PAGE, Refuses, Item),
    Door("fetch config:acme/settings", &CONFIG, Refuses, Item),
    Door("execute directive:acme/leaf", &PARENT, Refuses, Item),
    Door("execute directive:acme/go --thread fork", &TOOL, Says(0, "tool:acme/mark"), Runs),
    Door("execute tool:acme/watched", &HOOK, Says(4, "hook.unusable"), Runs),
    Door("hooks test tool:hooks/guard", &HOOK, Refuses, Chain),
    Door("eval run acme/score --content x", &EVAL, Refuses, Chain),
    #[cfg(all(feature = "code", feature = "mcp"))]
    Door("code run -", &TOOL, Names(0), Runs),
    #[cfg(all(feature = "code", feature = "mcp"))]
    Door("run acme/caller", &TOOL, Names(0), Runs),
    #[cfg(all(feature = "code", feature = "mcp"))]
    Door("run acme/itself", &SNIPPET, Refuses, Item),
    #[cfg(feature = "mcp")]
    Door("agent rye_execute", &TOOL, Answers, Runs),
    #[cfg(feature = "mcp")]
    Door("agent rye_fetch", &TOOL, Answers, Item),
    #[cfg(feature = "mcp")]
    Door("agent rye_describe", &TOOL, Answers, Item),
];

/// What is wrong with an item, the code, its status, and how it is made so.
struct State(&'static str, &'static str, i32, Spoils);
type Spoils = fn(&Rig, &Thing);

const STATES: &[State] = &[
    State("unsigned", "verify.unsigned", 4, |rig, it| rig.put(it.path, &rest(rig, it.path))),
    State("altered", "verify.altered", 4, |rig, it| rig.put(it.path, &more(rig, it.path))),
    State("another time", "verify.forged", 4, |rig, it| {
        rig.put(it.path, &rig.good(it.path).replacen(AT, "2025-01-01T00:00:01Z", 1));
    }),
    State("nobody trusts its key", "verify.untrusted", 4, |rig, it| rig.signed_by(it, 1, AT)),
    State("its key was revoked", "verify.revoked", 4, |rig, it| rig.signed_by(it, 2, AT)),
    State("the time of its key is over", "verify.expired", 4, |rig, it| rig.signed_by(it, 3, AT)),
    State("its key is for others", "verify.out_of_scope", 4, |rig, it| rig.signed_by(it, 4, AT)),
    State("another form of the line", "verify.malformed", 4, |rig, it| {
        rig.put(it.path, &rig.good(it.path).replacen("v2 item", "v3 item", 1));
    }),
    State("signed for another name", "verify.moved", 4, |rig, it| {
        let item = format!("{}2", item_of(it.path));
        rig.put(it.path, &rig.text(&rig.world.own_key(), &item, it.path, AT));
    }),
    State("signed in the future", "verify.not_yet", 4, |rig, it| {
        let (key, item) = (rig.world.own_key(), item_of(it.path));
        rig.put(it.path, &rig.text(&key, &item, it.path, "2099-01-01T00:00:00Z"));
    }),
    State("gone", "resolve.not_found", 3, |rig, it| {
        fs::remove_file(rig.world.project().join(it.path)).unwrap();
    }),
    State("a link", "space.symlink", 4, |rig, it| {
        let (file, real) = (rig.world.project().join(it.path), rig.world.outside().join("real"));
        fs::write(&real, rig.good(it.path)).unwrap();
        fs::remove_file(&file).unwrap();
        symlink(real, file).unwrap();
    }),
    State("nobody accepted the project", "verify.project_not_accepted", 4, |rig, _| {
        fs::remove_dir_all(rig.world.home().join(".ai/config/keys/projects")).unwrap();
    }),
    State("the lock has a later one", "verify.rolled_back", 4, |rig, it| {
        rig.put(".ai/rye.lock", &rig.lock);
        let (key, item) = (rig.world.own_key(), item_of(it.path));
        rig.put(it.path, &rig.text(&key, &item, it.path, "2024-01-01T00:00:00Z"));
    }),
    State("the lock has another signer", "verify.signer_changed", 4, |rig, it| {
        rig.put(".ai/rye.lock", &rig.lock);
        rig.signed_by(it, 5, "2026-01-01T00:00:00Z");
    }),
    State("no lock", "lock.malformed", 4, |rig, _| rig.put(".ai/rye.lock", "version = ")),
    State("its runtime altered", "verify.altered", 4, |rig, it| {
        rig.put(it.runtime, &more(rig, it.runtime));
    }),
    State("its runtime gone", "chain.executor_not_found", 3, |rig, it| {
        fs::remove_file(rig.world.project().join(it.runtime)).unwrap();
    }),
    State("its file altered", "verify.dependency", 4, |rig, it| {
        rig.put(it.listed, &more(rig, it.listed));
    }),
];

/// The cells that say something else: what the words of the door hold, how the state begins, and
/// what is told. A list leaves out what is not there; a bundle goes by the item and not by the
/// lock; a thread is begun without the tool, and told of it by the item alone.
const OTHERWISE: &[(&str, &str, Tells)] = &[
    ("run .ai/", "gone", Says(3, "cli.not_an_item")),
    ("test tool:acme", "gone|a link", Says(3, "test.no_item")),
    ("search|list|graph", "gone|a link", Says(0, "")),
    ("directive:acme/leaf", "gone", Says(5, "chain.parent_not_found")),
    (
        "fetch config:|hooks test",
        "the time of its key|the lock has another",
        Says(4, "verify.out_of_scope"),
    ),
    ("test tool:acme", "nobody accepted", Names(4)),
    ("--thread fork|acme/watched|acme/caller", "nobody accepted|no lock", Names(4)),
    ("lock tool:", "the lock has", Says(4, "lock.differs")),
    ("bundle pack", "the lock has|no lock", Says(0, "")),
    ("fetch knowledge:|fetch config:", "the lock has", Says(0, "")),
    ("--thread fork", "its runtime", Says(0, "")),
    ("acme/watched", "its runtime", Says(4, "hook.denied")),
];

/// A file without its signature line.
fn rest(rig: &Rig, path: &str) -> String {
    let text = rig.good(path);
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.contains("rye:signed:v2 ")).collect()
}

fn more(rig: &Rig, path: &str) -> String {
    rig.good(path) + "# more\n"
}

/// The world, what all of it was before anything was spoiled, and a client that stays.
struct Rig {
    world: World,
    whole: BTreeMap<PathBuf, Vec<u8>>,
    lock: String,
    #[cfg(feature = "mcp")]
    client: Client,
}

/// The files of both spaces, but for what rye itself keeps.
fn files(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let kept = |path: &std::path::Path| path.ends_with("state");
    let below = [world.project(), world.home()].into_iter().flat_map(|root| {
        let all = walkdir::WalkDir::new(root).into_iter().filter_entry(move |e| !kept(e.path()));
        all.filter_map(Result::ok).filter(|entry| !entry.file_type().is_dir())
    });
    let bytes = |entry: &walkdir::DirEntry| match entry.path_is_symlink() {
        true => b"a link".to_vec(),
        false => fs::read(entry.path()).unwrap(),
    };
    below.map(|entry| (entry.path().to_owned(), bytes(&entry))).collect()
}

fn yaml(kind: &str, runtime: &str, more: &str) -> String {
    format!("version: 1.0.0\ntool_type: {kind}\nexecutor_id: {runtime}\ndescription: x\n{more}")
}

fn exec(name: &str) -> String {
    format!("exec:\n  command: ./{name}-it.sh\n  files: [{name}-it.sh]\n")
}

fn shell(header: &str) -> String {
    crate::world::MARKER_SH.replace("# ///\n:", &format!("{header}# ///\n:"))
}

impl Rig {
    fn new() -> Self {
        let world = World::new();
        prepared(
            &world,
            &[call("acme_mark", &json!({}))],
            "<execute><tool>acme.mark</tool></execute>",
        );
        let (base, rest) = crate::world::GREET_MD.split_once("  <inputs>").unwrap();
        let base = base.replace("greet", "base") + rest.split_once("</inputs>\n").unwrap().1;
        let base = base.replace(" to {input:who}", "");
        let leaf = base.replace("\"base\"", "\"leaf\" extends=\"acme/base\"");
        let run = "config:\n  command: /bin/bash\n  args: ['{tool_path}']\n";
        let own = shell("# effects = \"read\"\n# files = [\"part.txt\"]\n");
        let guard = format!(
            "hook: tool\nphases: [before_execution]\nmatch: [\"acme/watched\"]\n{}",
            exec("guard")
        );
        world.write(TOOL.listed, "a part\n");
        world.write(HOOK.listed, "#!/bin/sh\necho '{\"allow\":true}'\n");
        world.write(EVAL.listed, "#!/bin/sh\necho '{\"score\":1}'\n");
        world.write(".ai/tools/acme/mark.test.yaml", "cases:\n  - {name: a}\n");
        for (path, text) in [
            (TOOL.runtime, yaml("runtime", "rye/core/primitives/execute", run)),
            (HOOK.runtime, yaml("runtime", "rye/core/runtimes/exec/oneshot", "")),
            (TOOL.path, own.replace("rye/core/runtimes/shell/script", "acme/shell")),
            (HOOK.path, yaml("hook", "acme/exec", &guard)),
            (EVAL.path, yaml("eval", "acme/exec", &exec("score"))),
            (PARENT.path, base),
            (PAGE.path, "---\ntitle: note\n---\n\nA note.\n".into()),
            (CONFIG.path, "a: 1\n".into()),
            (".ai/directives/acme/leaf.md", leaf),
            (".ai/tools/acme/watched.sh", shell("")),
            #[cfg(all(feature = "code", feature = "mcp"))]
            (SNIPPET.path, crate::saved_snippets::snippet(&[], "1")),
            #[cfg(all(feature = "code", feature = "mcp"))]
            (".ai/tools/acme/caller.js", crate::saved_snippets::snippet(&["tool:acme/*"], CATCHES)),
        ] {
            world.signed(path, &text);
        }
        for (number, more) in [
            (2, &[][..]),
            (3, &["--not-after", "2020-01-01T00:00:00Z"]),
            (4, &["--items", "tool:other/*"]),
            (5, &[]),
        ] {
            trust(&world, &stranger(number), more);
        }
        world.rye(&["trust", "revoke", &fingerprint(&stranger(2))]).ok();
        #[cfg(feature = "mcp")]
        let client = Client::new(&world, &[]);
        let mut rig = Self {
            whole: files(&world),
            world,
            lock: String::new(),
            #[cfg(feature = "mcp")]
            client,
        };
        for it in [
            &TOOL,
            &HOOK,
            &EVAL,
            &PARENT,
            &PAGE,
            &CONFIG,
            #[cfg(all(feature = "code", feature = "mcp"))]
            &SNIPPET,
        ] {
            let text = rig.text(&rig.world.own_key(), &item_of(it.path), it.path, AT);
            rig.put(it.path, &text);
        }
        rig.world.rye(&["lock"]).ok();
        let lock = rig.world.project().join(".ai/rye.lock");
        rig.lock = fs::read_to_string(&lock).unwrap();
        fs::remove_file(lock).unwrap();
        rig.whole = files(&rig.world);
        rig
    }

    fn put(&self, path: &str, text: &str) {
        self.world.write(path, text);
    }

    fn good(&self, path: &str) -> String {
        String::from_utf8(self.whole[&self.world.project().join(path)].clone()).unwrap()
    }

    /// The file as that key signs it for that item.
    fn text(&self, key: &ed25519_dalek::SigningKey, item: &str, path: &str, at: &str) -> String {
        let ext = path.rsplit_once('.').unwrap().1;
        signed_text(key, item, ext, at, &rest(self, path))
    }

    fn signed_by(&self, it: &Thing, number: u8, at: &str) {
        self.put(it.path, &self.text(&stranger(number), &item_of(it.path), it.path, at));
    }

    /// Puts all back as it was.
    fn restore(&self) {
        let now = files(&self.world);
        for path in now.keys().filter(|path| !self.whole.contains_key(*path)) {
            fs::remove_file(path).unwrap();
        }
        for (path, bytes) in self.whole.iter().filter(|(path, bytes)| now.get(*path) != Some(bytes))
        {
            drop(fs::remove_file(path));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// Goes through the door: the status, the code, all that was said, and whether the tool ran.
    fn seen(&mut self, door: &Door) -> (i32, String, String, bool) {
        let world = &self.world;
        let of = |said: crate::world::Said| (said.status, said.code(), said.stdout + &said.stderr);
        let words: Vec<&str> = door.0.split(' ').chain(["--json"]).collect();
        let (status, code, text) = match words[..] {
            #[cfg(all(feature = "code", feature = "mcp"))]
            ["code", ..] => of(world.rye_in(&world.project(), &words, CATCHES.as_bytes())),
            #[cfg(feature = "mcp")]
            ["agent", tool, _] => {
                let (told, is_error) = self.client.call(tool, json!({"item_id": "tool:acme/mark"}));
                let code = told["code"].as_str().unwrap_or_default().to_owned();
                (i32::from(is_error), code, told.to_string())
            }
            [.., "--async", _] => {
                let said = world.rye(&words);
                match said.json()["thread_id"].as_str() {
                    Some(id) => of(world.rye(&["thread", "wait", id, "--json"])),
                    None => of(said),
                }
            }
            _ => of(world.rye(&words)),
        };
        let ran = fs::remove_file(self.world.project().join("marker")).is_ok();
        (status, code, text, ran)
    }
}

/// Calls the tool and says with which code that was refused.
#[cfg(all(feature = "code", feature = "mcp"))]
const CATCHES: &str = "__out = await runTool('acme/mark', {}).then(() => '', e => e.code)";

#[test]
fn at_every_door_an_item_is_refused_by_the_code_of_its_state_and_nothing_runs_table() {
    crate::sandbox::needed();
    let mut rig = Rig::new();
    let mut wrong = Vec::new();
    for door in DOORS {
        let (status, _, text, ran) = rig.seen(door);
        let fixture = format!("{}: the fixture: {status} {text}", door.0);
        assert_eq!((status, ran), (0, door.3 == Runs), "{fixture}");
        rig.restore();
    }
    for State(what, want, exit, spoils) in STATES {
        for door in DOORS {
            let of_the_chain = what.starts_with("its runtime") || what.starts_with("its file");
            if of_the_chain && (door.3 == Item || door.1.runtime.is_empty()) {
                continue;
            }
            spoils(&rig, door.1);
            let (status, code, text, ran) = rig.seen(door);
            let otherwise = OTHERWISE.iter().find(|(parts, states, _)| {
                parts.split('|').any(|part| door.0.contains(part))
                    && states.split('|').any(|state| what.starts_with(state))
            });
            let told = match otherwise.map_or(door.2, |(_, _, tells)| *tells) {
                Refuses => (status, code.as_str()) == (*exit, *want),
                #[cfg(feature = "mcp")]
                Answers => (status, code.as_str()) == (1, *want),
                Names(as_ever) => status == as_ever && text.contains(want),
                Says(as_ever, words) => status == as_ever && text.contains(words),
            };
            if !told || ran {
                wrong.push(format!("{what}: {}: {status} {code} {ran} {text:.300}", door.0));
            }
            rig.restore();
        }
    }
    assert!(wrong.is_empty(), "{} cells: {wrong:#?}", wrong.len());
}
