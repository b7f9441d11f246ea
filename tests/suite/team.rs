//! More than one person at one project: what a colleague meets, step by step.

mod ci;
mod look_alikes;
mod newcomer;
mod projects;
mod pulled;
mod reach;
mod records;
mod revoked;
mod risk;
mod walk;

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::keys::others::{
    clone_world, document, files, pem, put, refused_and_unchanged, stranger, trust, trusted,
};
use crate::world::{End, MARKER_SH, World, fingerprint};

const FILE: &str = ".ai/tools/acme/mark.sh";
const ITEM: &str = "tool:acme/mark";
const LIMITS: &str = ".ai/config/execution/execution.yaml";
const CONFIG: &str = "config:execution/execution";

/// A clone whose tool and config one key signed, which the project proposes.
fn clone_by(number: u8) -> (World, String) {
    let world = clone_world();
    let key = stranger(number);
    put(&world, &key, FILE, MARKER_SH);
    put(&world, &key, LIMITS, "defaults: {timeout: 10}\n");
    world.write(&trusted(&key), document(&key, "Ann", ""));
    (world, fingerprint(&key))
}

#[test]
fn a_key_that_is_accepted_for_a_project_signs_its_config_and_no_hook() {
    let (world, key) = clone_by(1);
    refused_and_unchanged(&world, ITEM, "verify.project_not_accepted");
    world.rye(&["trust", "accept", &key]).ok().shows("everything but `rye/**` and hooks");
    world.works(ITEM);
    put(&world, &stranger(1), ".ai/tools/hooks/watch.sh", MARKER_SH);
    let said = world.rye(&["trust", "accept", &key]);
    let add = format!("rye trust accept {key} --items 'tool:hooks/watch'");
    assert!(said.stdout.contains(&add), "what is left out is named with its command: {said:?}");
    world.json(&["verify", CONFIG]).ok();
    let (status, got) = world.json(&["verify", "tool:hooks/watch"]);
    assert_eq!((status, &got["items"][0]["code"]), (4, &json!("verify.out_of_scope")), "{got}");
    // The refusal itself says how the item is let in, and that command does it.
    let help = got["items"][0]["help"].as_str().unwrap();
    let command = format!("rye trust accept {key} --items 'tool:hooks/watch'");
    assert!(help.contains(&command), "{help}");
    world.rye(&["trust", "accept", &key, "--items", "tool:hooks/watch"]).ok();
    world.json(&["verify", "tool:hooks/watch", ITEM, CONFIG]).ok();
}

#[test]
fn the_config_of_another_project_and_of_your_own_space_stays_out() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    let text = String::from_utf8(world.read(LIMITS)).unwrap();
    world.write_home(LIMITS, &text);
    let (status, got) = world.json(&["verify", &format!("{CONFIG}@user")]);
    assert_eq!((status, &got["items"][0]["code"]), (4, &json!("verify.out_of_scope")), "{got}");
    fs::remove_file(world.home().join(LIMITS)).unwrap();
    let other = world.outside().join("other");
    fs::create_dir_all(other.join(".ai/config/execution")).unwrap();
    fs::write(other.join(LIMITS), &text).unwrap();
    assert_eq!(world.rye_in(&other, &["trust", "project"], b"").status, 0);
    let said = world.rye_in(&other, &["verify", CONFIG, "--json"], b"");
    assert_eq!(said.json()["items"][0]["code"], "verify.out_of_scope", "{said:?}");
    // For every project, config is not among what the key may sign.
    let (world, key) = clone_by(2);
    world
        .rye(&["trust", "accept", &key, "--everywhere"])
        .ok()
        .shows(&format!("--items '{CONFIG}'"));
    let (status, got) = world.json(&["verify", CONFIG]);
    assert_eq!((status, &got["items"][0]["code"]), (4, &json!("verify.out_of_scope")), "{got}");
}

#[test]
fn items_are_added_to_what_a_key_may_sign_and_only_replaces_it() {
    let (world, key) = clone_by(1);
    let hook = ".ai/tools/hooks/watch.sh";
    put(&world, &stranger(1), hook, MARKER_SH);
    world.rye(&["trust", "accept", &key]).ok();
    let may = |item: &str| world.rye(&["verify", item]).status == 0;
    let accept = |args: &[&str]| world.json(&[&["trust", "accept", &key], args].concat()).ok();
    assert!(may(ITEM) && may(CONFIG) && !may("tool:hooks/watch"));
    let got = accept(&["--items", "tool:hooks/**"]);
    assert_eq!((&got["items"], &got["also"]), (&json!(null), &json!(["tool:hooks/**"])));
    assert!(may(ITEM) && may(CONFIG) && may("tool:hooks/watch"));
    let got = accept(&["--only", "config:execution/*"]);
    assert_eq!((&got["items"], &got["also"]), (&json!(["config:execution/*"]), &json!([])));
    assert!(!may(ITEM) && may(CONFIG) && !may("tool:hooks/watch"));
    accept(&["--items", ITEM]);
    assert!(may(ITEM) && may(CONFIG));
    // A key of which nothing was said yet may sign just what is named.
    let other = stranger(2);
    trust(&world, &other, &["--items", "tool:other/**"]);
    put(&world, &other, FILE, MARKER_SH);
    world.refused(ITEM, "verify.out_of_scope", 4);
    // A proposal adds nothing by itself.
    let third = stranger(3);
    put(&world, &third, hook, MARKER_SH);
    world.write(&trusted(&third), document(&third, "Eve", "also = [\"tool:hooks/**\"]\n"));
    world.rye(&["trust", "accept", &fingerprint(&third)]).ok();
    assert!(!may("tool:hooks/watch"));
}

#[test]
fn what_a_key_may_sign_in_one_project_changes_nothing_in_another() {
    let (world, key) = clone_by(1);
    let hook = "tool:hooks/watch";
    put(&world, &stranger(1), ".ai/tools/hooks/watch.sh", MARKER_SH);
    world.rye(&["trust", "accept", &key]).ok();
    // The same files, in two more projects that the same key signs.
    let folders = ["second", "third"].map(|name| world.outside().join(name));
    for folder in &folders {
        let at = folder.to_str().unwrap();
        world.shell(&format!("mkdir -p {at} && cp -r .ai {at}"));
    }
    let [second, third] = &folders;
    let may = |place: &Path, item: &str| world.rye_in(place, &["verify", item], b"").status == 0;
    let accept = |place: &Path, args: &[&str]| {
        let said = world.rye_in(place, &[&["trust", "accept", &key], args].concat(), b"").ok();
        said.stdout
    };
    let first = &world.project();
    assert!(may(first, ITEM) && may(first, CONFIG) && !may(first, hook));
    let said = accept(second, &["--items", hook]);
    assert!(may(second, hook) && !may(second, ITEM), "a new project, so just what is named");
    assert!(may(first, ITEM) && !may(first, hook), "the other project is as it was: {said}");
    assert!(said.contains("everything but `rye/**` and hooks, in "), "{said}");
    assert!(said.contains(&format!("; {hook}, in {}", second.display())), "{said}");
    accept(first, &["--only", ITEM]);
    assert!(may(first, ITEM) && !may(first, CONFIG) && may(second, hook));
    // A third begins like the first one did, whatever was said of the others.
    accept(third, &[]);
    assert!(may(third, ITEM) && may(third, CONFIG) && !may(third, hook));
    accept(second, &["--not-after", "2020-01-01T00:00:00Z"]);
    assert!(!may(second, hook) && may(first, ITEM) && may(third, ITEM));
    let (_, got) = world.json(&["trust", "show", &key]);
    assert!(got.to_string().contains("until 2020"), "{got}");
    // Of all of them nothing more is said than of one.
    accept(first, &["--everywhere"]);
    assert!(may(first, ITEM) && !may(first, hook) && !may(second, hook));
}

#[test]
fn after_a_rotation_all_goes_on_and_what_is_left_to_do_is_named() {
    let world = World::new().with(FILE, MARKER_SH).with(LIMITS, "defaults: {timeout: 10}\n");
    let old = fingerprint(&world.own_key());
    world.rye(&["trust", "propose", "--owner", "Ann"]).ok();
    world.rye(&["lock"]).ok();
    let said = world.rye(&["keys", "rotate"]).ok();
    for part in
        ["rye lock --update", "rye trust propose", &format!(".ai/config/keys/trusted/{old}.toml")]
    {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    world.works(ITEM);
    world.rye(&["verify", CONFIG]).ok();
    world
        .rye(&["trust", "propose"])
        .ok()
        .shows("you replaced")
        .shows(&format!("trusted/{old}.toml"));
    // Done as it was said, nothing names the old key any more, and it can go.
    world.rye(&["sign", "--all"]).ok();
    world.rye(&["lock", "--update"]).ok();
    world.rye(&["trust", "revoke", &old]).ok();
    world.works(ITEM);
    world.rye(&["verify", "--ci", "--locked"]).ok();
}

#[test]
fn what_a_project_proposes_is_no_item_for_any_verb() {
    let world = World::new().with(FILE, MARKER_SH);
    world.rye(&["trust", "propose", "--owner", "Ann"]).ok();
    let theirs = stranger(1);
    world.write(&trusted(&theirs), document(&theirs, "Bob", ""));
    let before = files(&world);
    for verb in
        [&["verify"][..], &["verify", "--ci"], &["sign", "--all"], &["sign", "--check", "--all"]]
    {
        let said = world.rye(verb).ok();
        assert!(!(said.stdout + &said.stderr).contains("keys/trusted"), "{verb:?}");
    }
    for verb in [&["list", "--all", "--kind", "config"][..], &["verify", "--all"]] {
        let (status, got) = world.json(verb);
        assert!(status == 0 && !got.to_string().contains("keys/trusted"), "{verb:?}: {got}");
    }
    assert_eq!(files(&world), before);
    // A file of another kind of document is none of these, and is still judged.
    world.write(".ai/config/keys/revoked/x.toml", "a = 1\n");
    assert_eq!(world.rye(&["verify", "--ci"]).status, 4);
}

#[test]
fn your_key_is_proposed_under_its_name_and_others_accept_it() {
    let world = World::new().with(FILE, MARKER_SH);
    world.rye(&["trust", "review"]).shows("propose it with `rye trust propose`");
    let said = world.rye(&["trust", "propose", "--json"]);
    assert_eq!(
        (said.code().as_str(), said.status),
        ("cli.usage", 2),
        "nobody says whose: {said:?}"
    );
    let env = [("USER", "ann")];
    let said = world.rye_env(&world.project(), &["trust", "propose", "--json"], b"", &env);
    let own = fingerprint(&world.own_key());
    let path = format!(".ai/config/keys/trusted/{own}.toml");
    let got = said.json();
    assert_eq!((&got["owner"], &got["path"]), (&json!("ann"), &json!(path)), "{said:?}");
    assert_eq!(String::from_utf8(world.read(&path)).unwrap(), got["document"].as_str().unwrap());
    // The owner that was given once stays.
    world.rye(&["trust", "propose", "--owner", "Ann B"]).ok();
    let (_, got) = world.json(&["trust", "propose"]);
    assert_eq!(got["owner"], "Ann B");
    let said = world.rye(&["trust", "review"]);
    assert!(!said.stdout.contains("rye trust propose"), "{said:?}");
    for bad in ["a`b", "a\nb", " "] {
        world.rye(&["trust", "propose", "--owner", bad, "--json"]).fails(2, "cli.usage");
    }
    // Nothing is written through a link.
    fs::remove_dir_all(world.project().join(".ai/config")).unwrap();
    std::os::unix::fs::symlink(world.outside(), world.project().join(".ai/config")).unwrap();
    world.rye(&["trust", "propose", "--owner", "Ann", "--json"]).fails(4, "space.symlink");
}

#[test]
fn review_names_the_next_step_for_a_signer_that_nobody_proposes() {
    let world = clone_world();
    put(&world, &stranger(1), FILE, MARKER_SH);
    for accepted in [false, true] {
        if accepted {
            world.rye(&["trust", "project"]).ok();
            world.refused(ITEM, "verify.untrusted", 4);
        }
        let said = world.rye(&["trust", "review"]);
        for part in ["rye trust propose", "rye keys export", "rye trust add FILE.pem --in ."] {
            assert!(said.status == 0 && said.stdout.contains(part), "{part}: {said:?}");
        }
    }
    // And the step leads on.
    fs::write(world.outside().join("ann.pem"), pem(&stranger(1))).unwrap();
    world.rye(&["trust", "add", "../ann.pem", "--in", "."]).ok();
    world.works(ITEM);
}

#[test]
fn a_machine_without_a_key_verifies_by_the_keys_that_it_is_told() {
    let (world, key) = clone_by(1);
    put(&world, &stranger(1), ".ai/tools/hooks/watch.sh", MARKER_SH);
    fs::write(world.outside().join("ann.pem"), pem(&stranger(1))).unwrap();
    fs::write(world.outside().join("eve.pem"), pem(&stranger(2))).unwrap();
    let home = world.outside().join("nobody");
    fs::create_dir(&home).unwrap();
    let home = home.display().to_string();
    let verify = |args: &[&str]| {
        let args = [&["verify", "--ci"], args].concat();
        world.rye_env(&world.project(), &args, b"", &[("HOME", &home)])
    };
    assert_eq!(verify(&[]).status, 4, "by nobody's word nothing is good");
    for names in [&["../ann.pem"][..], &[&key], &["../eve.pem", "../ann.pem"]] {
        let said = verify(&[&["--trust"], names].concat());
        assert_eq!(said.status, 0, "{names:?}: {said:?}");
    }
    for names in [&["../eve.pem"][..], &["../nobody.pem"], &["a".repeat(32).as_str()]] {
        let said = verify(&[&["--trust"], names].concat());
        assert_ne!(said.status, 0, "{names:?}: {said:?}");
    }
    let said = verify(&["--trust", "../eve.pem"]);
    let help = "help: if its signer is one of you, name their key with `--trust` too";
    assert!(said.stderr.contains(help) && !said.stderr.contains("rye trust"), "{said:?}");
    // A part of a fingerprint would be the project's to complete.
    assert_ne!(verify(&["--trust", &key[..16]]).status, 0);
    // A key in the project is the project's word; that is said.
    world.write("keys/ann.pem", pem(&stranger(1)));
    verify(&["--trust", "keys/ann.pem"]).ok().warns("name the key's fingerprint");
    // What an own key trusts does not count, so every machine says the same.
    trust(&world, &stranger(2), &[]);
    put(&world, &stranger(2), ".ai/tools/acme/other.sh", MARKER_SH);
    world.rye(&["trust", "project"]).ok();
    let said = world.rye(&["verify", "--ci", "--json", "--trust", "../ann.pem"]);
    let rows = said.json()["items"].as_array().unwrap().clone();
    let refused: Vec<_> = rows.iter().filter(|row| row["status"] == "refused").collect();
    assert_eq!((refused.len(), &refused[0]["code"]), (1, &json!("verify.untrusted")), "{said:?}");
    assert_eq!(refused[0]["item_id"], "tool:acme/other");
    fs::remove_file(world.project().join(".ai/tools/acme/other.sh")).unwrap();
    // Nor does what it revoked: whoever names a key answers for it.
    world.rye(&["trust", "revoke", &key]).ok();
    world.rye(&["verify", "--ci", "--trust", "../ann.pem"]).ok();
    // One changed byte is still one.
    let bytes = world.read(FILE);
    world.write(FILE, [&bytes[..], b"# more\n"].concat());
    let said = verify(&["--trust", "../ann.pem", "--json"]);
    assert!(said.status == 4 && said.stdout.contains("verify.altered"), "{said:?}");
    // It is for judging alone.
    world.rye(&["verify", "--trust", "../ann.pem", "--json"]).fails(2, "cli.usage");
}

#[test]
fn a_pipe_in_the_project_is_refused_and_one_that_the_caller_gives_is_read() {
    let (world, _) = clone_by(1);
    fs::write(world.outside().join("ann.pem"), pem(&stranger(1))).unwrap();
    world.shell("mkfifo k.pem; mkdir keys; ln -s ../k.pem keys/k.pem");
    for args in [
        &["verify", "--ci", "--trust", "k.pem"][..],
        &["verify", "--ci", "--trust", "keys/k.pem"],
        &["trust", "add", "k.pem"],
        &["import", "mcp", "--config", "k.pem"],
        &["import", "runtimeconfig", "k.pem"],
        &["keys", "import", "k.pem"],
        &["execute", "acme/mark", "-i", "x=@k.pem"],
    ] {
        let said = world.rye_under(&["timeout", "10"], &[args, &["--json"]].concat());
        assert_eq!(
            (said.code().as_str(), said.status),
            ("cli.input_file", 2),
            "{args:?}: {said:?}"
        );
    }
    for given in ["< ../ann.pem", "< <(cat ../ann.pem)"] {
        let said = world.shell(&format!("rye verify --ci --trust /dev/stdin {given} && echo good"));
        assert!(said.ends_with("good\n"), "{said}");
    }
    let said = world.shell("rye verify --ci --trust <(cat ../ann.pem) && echo good");
    assert!(said.ends_with("good\n"), "{said}");
}

#[test]
fn a_key_behind_a_link_of_the_project_is_the_project_s_word() {
    let (world, _) = clone_by(1);
    fs::create_dir(world.outside().join("keys")).unwrap();
    fs::write(world.outside().join("keys/ann.pem"), pem(&stranger(1))).unwrap();
    world.shell("ln -s ../keys/ann.pem ann.pem; ln -s ../keys keys");
    for (key, is_told) in [("ann.pem", true), ("keys/ann.pem", true), ("../keys/ann.pem", false)] {
        let said = world.rye(&["verify", "--ci", "--trust", key]);
        let told = said.stderr.contains("name the key's fingerprint");
        assert_eq!((said.status, told), (0, is_told), "{key}: {said:?}");
    }
}

#[test]
fn ci_that_finds_nothing_to_verify_says_so() {
    let world = World::empty();
    fs::write(world.outside().join("ann.pem"), pem(&stranger(1))).unwrap();
    fs::create_dir(world.project().join(".ai")).unwrap();
    for more in [&[][..], &["--locked"], &["--sarif"]] {
        let said = world.rye(&[&["verify", "--ci", "--trust", "../ann.pem"], more].concat());
        let told = said.stderr.contains("holds no item, so there is nothing to verify");
        assert_eq!((said.status, told), (2, true), "{more:?}: {said:?}");
    }
}

#[test]
fn a_workflow_is_written_through_no_link() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    world.shell("mkdir ../out; ln -s ../out .github; ln -s ../out ci");
    for service in ["github", "shell"] {
        let said = world.rye(&["new", "ci", service, "--json"]).fails(6, "author.io");
        assert!(said.json()["error"].as_str().unwrap().contains("is a link"), "{said:?}");
    }
    assert_eq!(fs::read_dir(world.outside().join("out")).unwrap().count(), 0);
}

#[test]
fn a_workflow_names_the_keys_and_runs_as_it_is_written() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    let own = fingerprint(&world.own_key());
    let said = world.rye(&["new", "ci", "shell"]).ok();
    assert!(said.stdout.contains("rye trust propose"), "its own key is not proposed yet: {said:?}");
    let script = String::from_utf8(world.read("ci/rye.sh")).unwrap();
    assert!(script.contains(&key) && script.contains(&own), "{script}");
    let run = "mkdir -p ../home-ci && HOME=$(cd ../home-ci && pwd) ci/rye.sh && echo good";
    assert!(!world.shell(run).contains("good\n"), "the key that it names is not there");
    world.rye(&["trust", "propose", "--owner", "me"]).ok();
    assert!(world.shell(run).ends_with("good\n"), "{}", world.shell(run));
    world.rye(&["new", "ci", "shell", "--json"]).fails(4, "author.exists");
    for (service, path) in [("github", ".github/workflows/rye.yml"), ("gitlab", ".gitlab-ci.yml")] {
        assert_eq!(world.json(&["new", "ci", service]).ok()["path"], json!(path));
        let text = String::from_utf8(world.read(path)).unwrap();
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let command = format!("rye verify --ci --trust {}", [own.clone(), key.clone()].join(" "));
        let command =
            if own < key { command } else { format!("rye verify --ci --trust {key} {own}") };
        assert!(serde_yaml::to_string(&read).unwrap().contains(&command), "{text}");
    }
    // Behind a file of that service, it is that one that is meant; and another one's is kept.
    let (_, got) = world.json(&["new", "ci", "gitlab"]);
    assert_eq!(got["path"], ".gitlab/rye.yml");
    world.rye(&["new", "ci", "jenkins", "--json"]).fails(2, "cli.usage");
    world.rye(&["new", "tool", "--json"]).fails(2, "cli.usage");
}

#[test]
fn a_workflow_names_no_key_that_lets_nothing_in_here() {
    let (world, key) = clone_by(1);
    let names = |world: &World| {
        world.json(&["new", "ci", "shell"]).ok();
        let script = String::from_utf8(world.read("ci/rye.sh")).unwrap();
        fs::remove_file(world.project().join("ci/rye.sh")).unwrap();
        script.contains(&key)
    };
    // Trusted in another project, whose files were copied here.
    let other = world.outside().join("other");
    let at = other.to_str().unwrap();
    world.shell(&format!("mkdir -p {at} && cp -r .ai {at}"));
    assert_eq!(world.rye_in(&other, &["trust", "accept", &key], b"").status, 0);
    world.rye(&["trust", "project"]).ok();
    assert!(!names(&world), "elsewhere");
    world.rye(&["trust", "accept", &key]).ok();
    assert!(names(&world), "here");
    let good = world.read(FILE);
    for file in [FILE, LIMITS] {
        let text = String::from_utf8(world.read(file)).unwrap();
        world.write(file, format!("{text}\n# more\n"));
    }
    assert!(!names(&world), "what it signed was changed");
    world.write(FILE, good);
    assert!(names(&world), "here again");
    let over = ["trust", "accept", &key, "--not-after", "2020-01-01T00:00:00Z"];
    world.rye(&over).ok();
    assert!(!names(&world), "its time is over");
}

#[test]
fn whoever_leaves_is_taken_out_of_ci_and_of_the_proposals_as_it_is_said() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    world.rye(&["trust", "propose", "--owner", "me"]).ok();
    world.rye(&["new", "ci", "shell"]).ok();
    let ci = "mkdir -p ../home-ci && HOME=$(cd ../home-ci && pwd) ci/rye.sh && echo good";
    assert!(world.shell(ci).ends_with("good\n"), "the fixture itself is good");
    let said = world.rye(&["trust", "revoke", &key]);
    let proposal = trusted(&stranger(1));
    for part in ["`ci/rye.sh` still trusts it", &proposal] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    // Done as it was said, CI lets in nothing of it, and nothing is named any more.
    world.shell(&format!("sed -i 's/{key}//' ci/rye.sh; rm {proposal}"));
    assert!(!world.shell(ci).contains("good"), "what the key signed stops it");
    let (_, got) = world.json(&["trust", "revoke", &key]);
    assert_eq!((&got["workflows"], &got["proposals"]), (&json!([]), &json!([])), "{got}");
    // The same for a key of one's own that was replaced.
    let (_, got) = world.json(&["keys", "rotate"]);
    assert_eq!(got["workflows"], json!(["ci/rye.sh"]), "{got}");
}

#[test]
fn what_a_former_key_signed_is_nobodys_once_you_stopped_to_trust_it() {
    let world = World::new().with(FILE, MARKER_SH);
    let old = fingerprint(&world.own_key());
    world.rye(&["keys", "rotate"]).ok();
    let (_, got) = world.json(&["sign", "--all", "--check"]);
    assert_eq!((&got["changed"], &got["passed_over"]), (&json!(1), &json!(0)), "{got}");
    world.rye(&["trust", "remove", &old]).ok();
    world.refused(ITEM, "verify.untrusted", 4);
    let (_, got) = world.json(&["sign", "--all"]);
    assert_eq!((&got["changed"], &got["passed_over"]), (&json!(0), &json!(1)), "{got}");
    world.refused(ITEM, "verify.untrusted", 4);
    assert_eq!(world.rye(&["sign", ITEM]).status, 0, "by its name it is signed");
    world.works(ITEM);
}

#[test]
fn nobody_to_trust_makes_no_workflow() {
    let world = World::empty();
    put(&world, &stranger(1), FILE, MARKER_SH);
    world.rye(&["new", "ci", "--json"]).fails(4, "author.no_signer");
}

#[test]
fn the_end_of_trust_is_said_and_one_that_is_over_warned_of() {
    let (world, key) = clone_by(1);
    let said = world.rye(&["trust", "accept", &key, "--not-after", "2099-01-01T00:00:00Z"]);
    assert!(
        said.stdout.contains("until 2099-01-01T00:00:00Z") && said.stderr.is_empty(),
        "{said:?}"
    );
    world
        .rye(&["trust", "accept", &key, "--not-after", "2020-01-01T00:00:00Z"])
        .warns("that time is over");
}

#[test]
fn a_file_with_two_keys_is_not_imported() {
    let world = World::new();
    let folder = world.home().join(".ai/config/keys/signing");
    let pem = fs::read_to_string(folder.join("private_key.pem")).unwrap();
    let other = World::empty();
    for text in [format!("{pem}{pem}"), format!("{}{pem}", pem.replace("PRIVATE", "PUBLIC"))] {
        let args = ["keys", "import", "-", "--json"];
        other.rye_in(&other.project(), &args, text.as_bytes()).fails(2, "cli.usage");
    }
    other.rye_in(&other.project(), &["keys", "import", "-"], pem.as_bytes()).ok();
}

#[test]
fn a_clone_that_is_not_accepted_is_one_finding_for_a_person() {
    let (world, _) = clone_by(1);
    for name in ["a", "b", "c"] {
        put(&world, &stranger(1), &format!(".ai/tools/acme/{name}.sh"), MARKER_SH);
    }
    let said = world.rye(&["verify"]);
    assert_eq!(said.stderr.matches("verify.project_not_accepted").count(), 1, "{said:?}");
    assert!(said.status == 4 && said.stderr.contains("4 more items here"), "{said:?}");
    let (_, got) = world.json(&["verify"]);
    assert_eq!(got["failed"], 5, "each is a row for a program");
    assert!(world.rye(&[]).stdout.contains("is not accepted: `rye trust review`"));
    // Each signer whom nobody trusts is one as well.
    world.rye(&["trust", "project"]).ok();
    put(&world, &stranger(2), ".ai/tools/acme/c.sh", MARKER_SH);
    let said = world.rye(&["verify"]);
    assert_eq!(said.stderr.matches("verify.untrusted").count(), 2, "{said:?}");
    assert!(said.status == 4 && said.stderr.contains("3 more items here"), "{said:?}");
    let said = World::new().rye(&["verify"]);
    assert!(said.stdout.contains(" that rye brings, "), "{said:?}");
}

#[test]
fn a_row_of_the_lock_without_an_item_names_the_way_out() {
    let world = World::new().with(FILE, MARKER_SH);
    world.rye(&["lock"]).ok();
    fs::remove_file(world.project().join(FILE)).unwrap();
    world.rye(&["lock"]).shows("rye lock --remove tool:acme/mark");
    // Who runs it, and CI, are told as well.
    for args in
        [&["run", "acme/mark"][..], &["verify", "--locked"], &["verify", "--ci", "--locked"]]
    {
        world.rye(args).fails(3, "lock.gone").warns("rye lock --remove tool:acme/mark");
    }
    world.rye(&["lock", "--remove", "tool:acme/mark"]).ok();
    world.rye(&["lock", "--check"]).ok();
    assert_eq!(world.rye(&["run", "acme/mark"]).code(), "resolve.not_found");
}
