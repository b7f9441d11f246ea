//! The page "With a team", walked: three people, each with a home, and a machine that has none of
//! their keys.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

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
}

impl<'w> Person<'w> {
    fn new(world: &'w World, name: &'static str) -> Self {
        let home = world.outside().join(format!("home-{name}"));
        fs::create_dir(&home).unwrap();
        Self { world, name, home, clone: world.outside().join(format!("clone-{name}")) }
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
fn ci(world: &World, number: u8) -> Said {
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
    Said { status, stdout, stderr: String::new() }
}

#[test]
fn three_people_publish_review_accept_update_rotate_and_leave() {
    let world = World::empty();
    let (ann, bob, eve) =
        (Person::new(&world, "ann"), Person::new(&world, "bob"), Person::new(&world, "eve"));

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
    ann.well(&["new", "ci", "shell"]);
    ann.well(&["git", "install"]);
    ann.publish("first");
    let ann_key = ann.fingerprint();
    assert_eq!(ci(&world, 1).status, 0, "CI needs nobody's private key");

    // Bob clones, reads what is there, and accepts Ann's key.
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
    bob.write(".ai/tools/acme/bobs.sh", MARKER_SH);
    bob.well(&["sign", "--all"]);
    bob.well(&["trust", "propose"]);
    bob.well(&["lock"]);
    bob.publish("bob's tool");
    let bob_key = bob.fingerprint();
    assert_ne!(ci(&world, 2).status, 0, "the list of CI does not name Bob");
    ann.git(&["pull", "-q", "--rebase", "origin", "main"]);
    ann.refused(&["execute", "tool:acme/bobs"], "verify.untrusted");
    let said = ann.well(&["trust", "review"]);
    assert!(said.stdout.contains(&format!("rye trust accept {bob_key}")), "{said:?}");
    ann.well(&["trust", "accept", &bob_key]);
    ann.well(&["execute", "tool:acme/bobs"]);
    fs::remove_file(ann.clone.join("ci/rye.sh")).unwrap();
    ann.well(&["new", "ci", "shell"]);
    ann.publish("CI knows bob");
    assert_eq!(ci(&world, 3).status, 0, "{:?}", ci(&world, 4));

    // A third one, later: both keys, one after the other.
    eve.clone_it();
    eve.well(&["keys", "generate"]);
    eve.well(&["trust", "accept", &ann_key]);
    eve.refused(&["execute", "tool:acme/bobs"], "verify.untrusted");
    eve.well(&["trust", "accept", &bob_key]);
    eve.well(&["execute", "tool:acme/bobs"]);
    eve.well(&["verify", "--ci", "--locked"]);

    // An update that asks for more is told apart by whoever pulls it.
    bob.git(&["pull", "-q", "--rebase", "origin", "main"]);
    bob.write(
        ".ai/tools/acme/bobs.sh",
        &MARKER_SH.replace("# ///\n:", "# secrets = [\"TOKEN\"]\n# ///\n:"),
    );
    std::thread::sleep(std::time::Duration::from_millis(1100));
    bob.well(&["sign", "tool:acme/bobs"]);
    bob.well(&["lock", "--update"]);
    bob.publish("bob's tool needs a token");
    eve.git(&["pull", "-q", "--rebase", "origin", "main"]);
    let said = eve.well(&["trust", "review"]);
    assert!(said.stdout.contains("asks for more than before: secrets TOKEN"), "{said:?}");

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
    ann.refused(&["execute", "tool:acme/bobs"], "verify.untrusted");
    ann.well(&["trust", "accept", &new_key]);
    ann.well(&["verify", "tool:acme/bobs"]);

    // Bob leaves: what he signed is refused until somebody who read it signs it.
    ann.well(&["trust", "revoke", &new_key]);
    ann.refused(&["execute", "tool:acme/bobs"], "verify.revoked");
    ann.well(&["sign", "tool:acme/bobs"]);
    ann.well(&["lock", "--update"]);
    fs::remove_file(ann.clone.join(format!(".ai/config/keys/trusted/{new_key}.toml"))).unwrap();
    fs::remove_file(ann.clone.join("ci/rye.sh")).unwrap();
    ann.well(&["new", "ci", "shell"]);
    ann.publish("bob left");
    assert_eq!(ci(&world, 5).status, 0);
    let script = fs::read_to_string(ann.clone.join("ci/rye.sh")).unwrap();
    assert!(script.contains(&ann_key) && !script.contains(&new_key), "{script}");
    eve.git(&["pull", "-q", "--rebase", "origin", "main"]);
    eve.well(&["verify", "--ci", "--locked"]);
}
