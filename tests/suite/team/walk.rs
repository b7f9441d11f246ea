//! The page "With a team", walked: three people, each with a home, a newcomer and a new machine, and
//! a machine of CI that has none of their keys. What the page and the README say is what is walked.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::world::{MARKER_SH, Said, World};

const ITEM: &str = "tool:acme/mark";
const GIT: [(&str, &str); 7] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "a"),
    ("GIT_AUTHOR_EMAIL", "a@b"),
    ("GIT_COMMITTER_NAME", "a"),
    ("GIT_COMMITTER_EMAIL", "a@b"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// Somebody with a home and a clone of their own.
struct Person<'w> {
    world: &'w World,
    name: &'static str,
    home: PathBuf,
    clone: PathBuf,
    walked: &'w Walked,
}

/// The command lines that went well, each as the words behind `rye`.
type Walked = RefCell<Vec<Vec<String>>>;

impl<'w> Person<'w> {
    fn new(world: &'w World, name: &'static str, walked: &'w Walked) -> Self {
        let home = world.outside().join(format!("home-{name}"));
        fs::create_dir(&home).unwrap();
        Self { world, name, home, clone: world.outside().join(format!("clone-{name}")), walked }
    }

    fn env(&self) -> Vec<(&str, &str)> {
        let home = self.home.to_str().unwrap();
        [&GIT[..], &[("HOME", home), ("USER", self.name)]].concat()
    }

    fn rye(&self, args: &[&str]) -> Said {
        self.world.rye_env(&self.clone, args, b"", &self.env())
    }

    /// The same, which must go well.
    #[track_caller]
    fn well(&self, args: &[&str]) -> Said {
        let said = self.rye(args);
        assert_eq!(said.status, 0, "{} {args:?}: {said:?}", self.name);
        self.walked.borrow_mut().push(args.iter().map(|word| (*word).to_owned()).collect());
        said
    }

    /// The same, which must be refused with this code.
    #[track_caller]
    fn refused(&self, args: &[&str], code: &str) {
        let said = self.rye(&[args, &["--json"]].concat());
        let refused = said.stdout.contains(&format!("\"{code}\""));
        assert!(said.status == 4 && refused, "{} {args:?}: {said:?}", self.name);
    }

    #[track_caller]
    fn git(&self, args: &[&str]) {
        let folder = if self.clone.exists() { &self.clone } else { self.world.outside() };
        let mut git = Command::new("git");
        git.args(args).current_dir(folder).envs(self.env());
        let output = git.output().expect("git");
        assert!(output.status.success(), "{} {args:?}: {output:?}", self.name);
    }

    #[track_caller]
    fn publish(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
        self.git(&["push", "-q", "origin", "HEAD:main"]);
    }

    fn clone_it(&self) {
        let to = self.clone.display().to_string();
        self.git(&["clone", "-q", "-b", "main", "hub.git", &to]);
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.clone.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn fingerprint(&self) -> String {
        let said = self.well(&["keys", "show", "--json"]);
        said.json()["fingerprint"].as_str().unwrap().to_owned()
    }
}

/// The script that CI runs, in a fresh clone, with an empty home.
fn ci(world: &World, number: u8, walked: &Walked) -> Said {
    let (clone, home) = (format!("ci-{number}"), format!("ci-home-{number}"));
    fs::create_dir(world.outside().join(&home)).unwrap();
    let at = |name: &str| world.outside().join(name).display().to_string();
    let cloned = Command::new("git")
        .args(["clone", "-q", "-b", "main", &at("hub.git"), &at(&clone)])
        .envs(GIT)
        .status();
    assert!(cloned.expect("git").success());
    let script = format!("cd ../{clone} && HOME={} ci/rye.sh; echo \"status $?\"", at(&home));
    let stdout = world.shell(&script);
    let status = if stdout.ends_with("status 0\n") { 0 } else { 4 };
    if status == 0 {
        let text = fs::read_to_string(Path::new(&at(&clone)).join("ci/rye.sh")).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("rye "));
        walked.borrow_mut().extend(lines.map(words));
    }
    Said { status, stdout, stderr: String::new() }
}

/// The words of a command line; what stands in quotes has no spaces here.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[test]
fn three_people_publish_review_accept_update_rotate_and_leave() {
    assert!(walked().len() > 60, "{:#?}", walked());
}

/// The walk, once for all who look at it.
fn walked() -> &'static [Vec<String>] {
    static WALKED: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    WALKED.get_or_init(|| {
        let (world, walked) = (World::empty(), Walked::default());
        let person = |name| Person::new(&world, name, &walked);
        let (ann, bob, eve) = (person("ann"), person("bob"), person("eve"));
        publish(&world, &ann);
        let bob_key = come(&world, &ann, &bob);
        update(&ann, &bob, &eve, &bob_key);
        leave(&world, &ann, &bob, &eve, &bob_key);
        newcomer(&ann, &person("fay"));
        new_machine(&ann, &person("kim"));
        walked.take()
    })
}

fn publish(world: &World, ann: &Person<'_>) {
    // Ann publishes: a tool, the project's limits, her key, a lock, a check before each commit.
    ann.git(&["init", "-q", "--bare", "-b", "main", "hub.git"]);
    fs::create_dir(&ann.clone).unwrap();
    ann.git(&["init", "-q", "-b", "main"]);
    ann.git(&["remote", "add", "origin", "../hub.git"]);
    ann.well(&["init"]);
    ann.write(".ai/tools/acme/mark.sh", MARKER_SH);
    ann.write(".ai/config/execution/execution.yaml", "defaults: {timeout: 20}\n");
    ann.well(&["sign", "--all"]);
    ann.well(&["trust", "propose"]);
    ann.well(&["lock"]);
    ann.well(&["new", "ci"]);
    ann.well(&["git", "install"]);
    ann.publish("first");
    assert_eq!(ci(world, 1, ann.walked).status, 0, "CI needs nobody's private key");
}

/// Gives Bob's key.
fn come(world: &World, ann: &Person<'_>, bob: &Person<'_>) -> String {
    // Bob clones, reads what is there, and accepts Ann's key.
    let ann_key = ann.fingerprint();
    bob.clone_it();
    bob.well(&["keys", "generate"]);
    bob.refused(&["execute", ITEM], "verify.project_not_accepted");
    let said = bob.well(&["trust", "review"]);
    for part in ["not accepted", ITEM, "says it is `ann`", "through rye/core/runtimes"] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    assert!(said.stdout.contains(&format!("rye trust accept {ann_key}")), "{said:?}");
    bob.well(&["trust", "accept", &ann_key]);
    bob.well(&["execute", ITEM]);
    bob.well(&["verify", "--ci"]);
    bob.well(&["git", "install"]);

    // Bob adds a tool of his own and proposes his key; CI lets it in once its list names him.
    bob.write(".ai/tools/acme/theirs.sh", MARKER_SH);
    bob.well(&["sign", "--all"]);
    bob.well(&["trust", "propose"]);
    bob.well(&["lock"]);
    bob.publish("bob's tool");
    let bob_key = bob.fingerprint();
    assert_ne!(ci(world, 2, ann.walked).status, 0, "the list of CI does not name Bob");
    ann.git(&["pull", "-q", "--rebase", "origin", "main"]);
    ann.refused(&["execute", "tool:acme/theirs"], "verify.untrusted");
    ann.well(&["trust", "review"]).shows(&format!("rye trust accept {bob_key}"));
    ann.well(&["trust", "accept", &bob_key]).shows(&format!("add {bob_key} behind each `--trust`"));
    ann.well(&["execute", "tool:acme/theirs"]);
    fs::remove_file(ann.clone.join("ci/rye.sh")).unwrap();
    ann.well(&["new", "ci"]);
    ann.publish("CI knows bob");
    ci(world, 3, ann.walked).ok();
    bob_key
}

fn update(ann: &Person<'_>, bob: &Person<'_>, eve: &Person<'_>, bob_key: &str) {
    let ann_key = ann.fingerprint();
    // A third one, later: both keys, one after the other.
    eve.clone_it();
    eve.well(&["keys", "generate"]);
    eve.well(&["trust", "accept", &ann_key]);
    eve.refused(&["execute", "tool:acme/theirs"], "verify.untrusted");
    eve.well(&["trust", "accept", bob_key]);
    eve.well(&["execute", "tool:acme/theirs"]);
    eve.well(&["verify", "--ci", "--locked"]);

    // An update that asks for more is told apart by whoever pulls it.
    bob.git(&["pull", "-q", "--rebase", "origin", "main"]);
    bob.write(
        ".ai/tools/acme/theirs.sh",
        &MARKER_SH.replace("# ///\n:", "# secrets = [\"TOKEN\"]\n# ///\n:"),
    );
    std::thread::sleep(std::time::Duration::from_millis(1100));
    bob.well(&["sign", "tool:acme/theirs"]);
    bob.well(&["lock", "--update"]);
    bob.publish("bob's tool needs a token");
    eve.git(&["pull", "-q", "--rebase", "origin", "main"]);
    eve.well(&["trust", "review"])
        .shows("asks for more than before: secrets TOKEN")
        .shows("  changed since you last verified it");
    eve.well(&["diff"]).shows("+# secrets = [\"TOKEN\"]");
    eve.well(&["lock", "--check"]);
    eve.well(&["trust", "project"]);
    eve.well(&["sign", "."]);
    for verb in ["show", "describe", "graph"] {
        eve.well(&[verb, "tool:acme/theirs"]).shows("TOKEN");
    }
    eve.well(&["execute", "tool:acme/mark", "--locked"]);
}

fn leave(world: &World, ann: &Person<'_>, bob: &Person<'_>, eve: &Person<'_>, bob_key: &str) {
    let ann_key = ann.fingerprint();
    // Bob rotates his key: nothing stops, and what is left to do is named.
    let said = bob.well(&["keys", "rotate"]);
    for part in ["rye sign --all", "rye lock --update", "rye trust propose"] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    bob.well(&["execute", ITEM]);
    bob.well(&["sign", "--all"]);
    bob.well(&["lock", "--update"]);
    bob.well(&["trust", "propose"]);
    fs::remove_file(bob.clone.join(format!(".ai/config/keys/trusted/{bob_key}.toml"))).unwrap();
    bob.publish("bob's new key");
    let new_key = bob.fingerprint();
    ann.git(&["pull", "-q", "--rebase", "origin", "main"]);
    ann.refused(&["execute", "tool:acme/theirs"], "verify.untrusted");
    ann.well(&["trust", "accept", &new_key]);
    ann.well(&["verify", "tool:acme/theirs"]);

    // Bob leaves: what he signed is refused until somebody who read it signs it.
    ann.well(&["trust", "revoke", &new_key]);
    ann.refused(&["execute", "tool:acme/theirs"], "verify.revoked");
    ann.well(&["trust", "unrevoke", &new_key, "--yes"]);
    ann.well(&["verify", "tool:acme/theirs"]);
    ann.well(&["trust", "revoke", &new_key]);
    ann.well(&["trust", "review"]).shows("revoked: ");
    ann.well(&["sign", "tool:acme/theirs"]);
    ann.well(&["lock", "--update"]);
    fs::remove_file(ann.clone.join(format!(".ai/config/keys/trusted/{new_key}.toml"))).unwrap();
    fs::remove_file(ann.clone.join("ci/rye.sh")).unwrap();
    ann.well(&["new", "ci", "--install", "command -v rye"]);
    ann.publish("bob left");
    assert_eq!(ci(world, 5, ann.walked).status, 0);
    let script = fs::read_to_string(ann.clone.join("ci/rye.sh")).unwrap();
    assert!(script.contains(&ann_key) && !script.contains(&new_key), "{script}");
    eve.git(&["pull", "-q", "--rebase", "origin", "main"]);
    eve.well(&["verify", "--ci", "--locked"]);
}

/// Fay comes later, and says more of Ann's key than that she believes it here.
fn newcomer(ann: &Person<'_>, fay: &Person<'_>) {
    let key = ann.fingerprint();
    fay.clone_it();
    fay.well(&["fetch", "knowledge:rye/team"]);
    fay.well(&["keys", "generate"]);
    fs::write(fay.clone.join("ann.pem"), ann.well(&["keys", "export"]).stdout).unwrap();
    fay.well(&["trust", "add", "ann.pem", "--in", "."]);
    for scope in [
        &["--items", "tool:hooks/guard"][..],
        &["--only", "tool:acme/**"],
        &["--default"],
        &["--everywhere"],
        &["--not-after", "2027-01-01T00:00:00Z"],
    ] {
        fay.well(&[&["trust", "accept", &key], scope].concat());
    }
    ann.well(&[
        "bundle",
        "pack",
        "tools",
        "acme/**",
        "--version",
        "1.0.0",
        "--out",
        "../t.tar.zst",
    ]);
    fay.well(&["trust", "add", &key, "--items", "tool:acme/**"]);
    fay.well(&["bundle", "install", "../t.tar.zst"]);
    // What nobody signed.
    fs::create_dir_all(fay.clone.join(".venv/bin")).unwrap();
    fs::create_dir_all(fay.clone.join("node_modules/left")).unwrap();
    fs::write(fay.clone.join(".venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let python = crate::world::python();
    std::os::unix::fs::symlink(python, fay.clone.join(".venv/bin/python3")).unwrap();
    fs::write(fay.clone.join("node_modules/left/package.json"), "{}\n").unwrap();
    fay.well(&["trust", "allow-interpreter", ".venv/bin/python3"]);
    fay.well(&["trust", "allow-deps", "node_modules"]);
}

/// Ann's key goes to a machine of which she is Kim.
fn new_machine(ann: &Person<'_>, kim: &Person<'_>) {
    kim.clone_it();
    let passphrase = kim.world.outside().join("passphrase");
    fs::write(&passphrase, "that the horse is correct\n").unwrap();
    fs::set_permissions(&passphrase, fs::Permissions::from_mode(0o600)).unwrap();
    let by = ["--passphrase-file", "../passphrase"];
    ann.well(&[&["keys", "export", "--private", "key.pem"], &by[..]].concat());
    fs::rename(ann.clone.join("key.pem"), kim.clone.join("key.pem")).unwrap();
    kim.well(&[&["keys", "import", "key.pem"], &by[..]].concat());
    fs::remove_file(kim.clone.join("key.pem")).unwrap();
    assert_eq!(kim.fingerprint(), ann.fingerprint());
    kim.refused(&["execute", ITEM], "verify.project_not_accepted");
    kim.well(&["trust", "review"]);
    kim.well(&["trust", "project"]);
    kim.well(&["execute", ITEM]);
}

/// A command line of a page.
#[derive(Debug, Clone)]
struct Written {
    words: Vec<String>,
    /// It is to be typed as it is, and not the name of a verb in a sentence.
    is_whole: bool,
}

/// The command lines of a page that begin with `rye`: each line of its blocks, and what stands in
/// backticks in its tables and sentences.
fn written(page: &str) -> Vec<Written> {
    let mut all = Vec::new();
    let mut in_block = false;
    let mut add = |text: &str, is_whole| {
        if let Some(line) = text.strip_prefix("rye ") {
            let line = line.split(" #").next().unwrap_or_default();
            all.push(Written { words: words(line), is_whole });
        }
    };
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            line.split("&&").for_each(|part| add(part.trim_start(), true));
        } else {
            let code = line.split('`').skip(1).step_by(2);
            code.for_each(|code| add(code, line.starts_with('|')));
        }
    }
    all
}

/// Whether a word of a page stands for others.
fn stands_for(word: &str) -> Option<fn(&str) -> bool> {
    let is_key = |word: &str| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    match word {
        "FINGERPRINT" | "<fingerprint>" => Some(is_key),
        "FILE.pem" | "KEY.pem" => {
            Some(|word| word.rsplit_once('.').is_some_and(|(_, end)| end == "pem"))
        }
        "…" | "COMMAND" => Some(|_| true),
        _ => None,
    }
}

fn is_walked(written: &Written, walked: &[Vec<String>]) -> bool {
    let fits = |said: &String, typed: &String| match stands_for(said) {
        Some(fits) => fits(typed),
        None => said == typed,
    };
    walked.iter().any(|typed| {
        // How a question is answered is not part of the command.
        let answers = ["--json", "--yes", "--passphrase-file", "../passphrase"];
        let mut typed = typed.iter().filter(|word| !answers.contains(&word.as_str()));
        let verb = written.words.first().zip(typed.clone().next());
        match written.is_whole {
            true => {
                let is_long = typed.clone().count() == written.words.len();
                is_long && written.words.iter().zip(typed).all(|(said, typed)| fits(said, typed))
            }
            false => {
                verb.is_some_and(|(said, typed)| said == typed)
                    && written.words.iter().all(|said| typed.any(|typed| fits(said, typed)))
            }
        }
    })
}

/// The pages that the walk is about: the one of the team, and the section of the README.
fn pages() -> [String; 2] {
    let page = |path| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let readme: String = page("README.md");
    let section = readme.split("\n## With a team\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap().to_owned();
    [page(".ai/knowledge/rye/team.md"), section]
}

#[test]
fn each_command_of_the_page_and_of_the_readme_is_walked() {
    for (page, at_least) in pages().iter().zip([40, 15]) {
        let all = written(page);
        assert!(all.len() >= at_least, "{}", all.len());
        let missing: Vec<_> = all.iter().filter(|one| !is_walked(one, walked())).collect();
        assert!(missing.is_empty(), "the walk does not go through {missing:#?}");
        // Another command would be found.
        for one in &all {
            for (at, _) in one.words.iter().enumerate().filter(|(_, w)| stands_for(w).is_none()) {
                let mut other = one.clone();
                other.words[at].push('x');
                assert!(!is_walked(&other, walked()), "{other:?}");
            }
        }
    }
}
