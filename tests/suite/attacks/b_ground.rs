//! Row b08, and what core 2.0 promises: nothing that decides about trust lies in the foreign
//! ground, the project or working directory and the git work trees around it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;

use super::b_spaces::{ITEM, shell};
use crate::world::{MARKER_SH, World, line, seconds_from_now};

const REFUSED: (i32, &str) = (4, "space.untrusted_root");

fn folder(path: &Path) -> PathBuf {
    fs::create_dir_all(path).unwrap();
    path.canonicalize().unwrap()
}

fn put(path: &Path, text: impl AsRef<[u8]>) {
    folder(path.parent().unwrap());
    fs::write(path, text).unwrap();
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// An `.ai` below `base` as a clone brings it: its maker's public key in the place of the user's
/// own, a policy that lets tools out of the sandbox, and a tool, all of it signed by the maker.
/// Even the modes are those of a user space.
fn hostile_user_space(base: &Path) {
    let maker = SigningKey::from_bytes(&[66; 32]);
    let pem = maker.verifying_key().to_public_key_pem(LineEnding::LF).unwrap();
    put(&base.join(".ai/config/keys/signing/public_key.pem"), pem);
    let policy = "sandbox_off: [\"tool:**\"]\n";
    let at = seconds_from_now(-60);
    let signed = |item: &str, ext: &str, text: &str| {
        let (first, rest) = match text.strip_prefix("#!/bin/bash\n") {
            Some(rest) => ("#!/bin/bash\n", rest),
            None => ("", text),
        };
        format!("{first}# {}\n{rest}", line(&maker, item, ext, &at, text.as_bytes()))
    };
    put(&base.join(".ai/config/rye/policy.yaml"), signed("config:rye/policy", "yaml", policy));
    put(&base.join(".ai/tools/evil/mark.sh"), signed(EVIL, "sh", MARKER_SH));
    for keys in [".ai/config/keys", ".ai/config/keys/signing"] {
        mode(&base.join(keys), 0o700);
    }
}

const EVIL: &str = "tool:evil/mark";

/// A call with variables that a clone could set, in a folder of the clone.
fn called(world: &World, at: &Path, env: &[(&str, &str)]) -> (i32, String) {
    let said = world.rye_env(at, &["execute", EVIL, "--json"], b"", env);
    assert!(!at.join("marker").exists(), "the clone's tool ran: {env:?} {said:?}");
    (said.status, said.code())
}

#[track_caller]
fn is_refused(world: &World, at: &Path, name: &str, value: &str) {
    let (status, code) = called(world, at, &[(name, value)]);
    assert_eq!((status, code.as_str()), REFUSED, "{name}={value} in {}", at.display());
}

#[test]
fn b08_a_clone_is_never_the_user_space_by_whatever_name() {
    let (world, _) = shell();
    world.works(ITEM);
    let clone = folder(&world.outside().join("clone"));
    folder(&clone.join(".git"));
    folder(&clone.join("sub/deep"));
    hostile_user_space(&clone);
    symlink(&clone, world.outside().join("link")).unwrap();
    let here = clone.display().to_string();
    let link = world.outside().join("link").display().to_string();
    // A folder outside of the clone, whose `.ai` is the clone's.
    let apart = folder(&world.outside().join("apart"));
    symlink(clone.join(".ai"), apart.join(".ai")).unwrap();
    let names = [
        here.clone(),
        format!("{here}/"),
        format!("{here}/."),
        format!("{here}/sub/.."),
        format!("{here}/../clone"),
        format!("/proc/self/root{here}"),
        "/proc/self/cwd".to_owned(),
        "/proc/thread-self/cwd".to_owned(),
        link,
        apart.display().to_string(),
        format!("{here}/sub/new"),
    ];
    for at in [clone.clone(), clone.join("sub"), clone.join("sub/deep")] {
        for name in ["USER_SPACE", "HOME"] {
            for value in names.iter().filter(|value| at == clone || !value.ends_with("/cwd")) {
                is_refused(&world, &at, name, value);
            }
            for relative in [".", "./", "..", "../..", "sub", "../clone"] {
                is_refused(&world, &at, name, relative);
            }
        }
    }
    // From where the same folder is nobody's clone, it is a user space, and the tool would run.
    let away = folder(&world.outside().join("away"));
    let said = world.rye_env(&away, &["execute", EVIL, "--json"], b"", &[("USER_SPACE", &here)]);
    assert_eq!(said.status, 0, "the fixture itself is good: {said:?}");
    assert!(fs::remove_file(away.join("marker")).is_ok());
    world.works(ITEM);
}

#[test]
fn b08_the_ground_needs_no_ai_and_reaches_to_the_outermost_work_tree() {
    let (world, _) = shell();
    world.works(ITEM);
    let out = world.outside().to_owned();
    // Without `.ai` at its top, and without git.
    let plain = folder(&out.join("plain"));
    // A project below a work tree, and a neighbour in it.
    let mono = folder(&out.join("mono"));
    folder(&mono.join(".git"));
    folder(&mono.join("project/.ai"));
    // A submodule in a work tree; its `.git` is a file.
    let outer = folder(&out.join("outer"));
    folder(&outer.join(".git/modules/inner"));
    put(&outer.join("inner/.git"), "gitdir: ../.git/modules/inner\n");
    folder(&outer.join("inner/src"));
    // An empty `.git`, one that is a link to nowhere, and one that leads elsewhere.
    let odd = folder(&out.join("odd"));
    symlink("/nowhere", odd.join(".git")).unwrap();
    let elsewhere = folder(&out.join("elsewhere"));
    put(&elsewhere.join(".git"), "gitdir: /tmp\n");
    folder(&elsewhere.join("src"));
    let rows = [
        (plain.clone(), plain.join("vendor/x")),
        (mono.join("project"), mono.clone()),
        (mono.join("project"), mono.join("other")),
        (outer.join("inner/src"), outer.join("vendor")),
        (outer.join("inner"), outer.clone()),
        (folder(&odd.join("src")), odd.join("vendor")),
        (elsewhere.join("src"), elsewhere.join("vendor")),
    ];
    for (at, base) in rows {
        hostile_user_space(&base);
        let base = base.display().to_string();
        for name in ["USER_SPACE", "HOME"] {
            is_refused(&world, &at, name, &base);
            // git's own variables do not say where the ground ends.
            let away = out.join("away").display().to_string();
            for git in ["GIT_DIR", "GIT_WORK_TREE", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR"] {
                let (status, code) = called(&world, &at, &[(name, &base), (git, &away)]);
                assert_eq!((status, code.as_str()), REFUSED, "{git}");
            }
        }
    }
    // The work tree that is stood in counts beside the project that is named.
    let project = world.project().display().to_string();
    let base = mono.join("other").display().to_string();
    let args = ["-p", &project, "execute", ITEM, "--json"];
    let said = world.rye_env(&mono.join("project"), &args, b"", &[("USER_SPACE", &base)]);
    assert_eq!((said.status, said.code().as_str()), REFUSED, "{said:?}");
    let said = world.rye_env(&mono.join("project"), &args, b"", &[]);
    assert_eq!(said.status, 0, "the fixture itself is good: {said:?}");
    world.works(ITEM);
}

#[test]
fn b08_another_work_tree_of_the_same_repository_is_foreign_too() {
    let (world, _) = shell();
    let out = world.outside().canonicalize().unwrap();
    let main = out.join("main");
    let script = "set -e; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
        git init -q main; cd main; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x
        git worktree add -q ../one; git worktree add -q ../two";
    let made = Command::new("bash").args(["-c", script]).current_dir(&out).status().unwrap();
    assert!(made.success());
    let trees = [main, out.join("one"), out.join("two")];
    for tree in &trees {
        hostile_user_space(tree);
    }
    for at in &trees {
        for base in &trees {
            is_refused(&world, at, "USER_SPACE", base.to_str().unwrap());
        }
    }
    // A `.git` that points into a repository which does not know it claims nothing.
    let claim = folder(&out.join("claim"));
    put(&claim.join(".git"), format!("gitdir: {}/.git/worktrees/one\n", trees[0].display()));
    world.rye_env(&claim, &["list"], b"", &[("USER_SPACE", trees[1].to_str().unwrap())]).ok();
    world.works(ITEM);
}

#[test]
fn b08_a_work_tree_of_the_same_repository_is_foreign_however_it_came_to_its_place() {
    let (world, _) = shell();
    let out = world.outside().canonicalize().unwrap();
    let script = "set -e; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
        git() { command git -c user.name=x -c user.email=x@x -c protocol.file.allow=always \"$@\"; }
        git init -q lib; git -C lib commit -q --allow-empty -m x
        git clone -q --separate-git-dir=apart.git lib apart; git -C apart worktree add -q $PWD/apart2
        git init -q top; cd top; git submodule --quiet add $OLDPWD/lib sub 2>/dev/null ||
            git submodule --quiet add ../lib sub; git commit -qm x; cd ..
        git -C top/sub worktree add -q $PWD/sub2
        git -C top worktree add -q $PWD/gone; mv gone moved
        git init -q stranger; git -C stranger commit -q --allow-empty -m x";
    let made = Command::new("bash").args(["-c", script]).current_dir(&out).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let tree = |name: &str| out.join(name);
    for name in ["apart", "apart2", "top", "top/sub", "sub2", "moved", "stranger"] {
        hostile_user_space(&tree(name));
    }
    for (at, base) in [
        ("apart2", "apart"),
        ("apart", "apart2"),
        ("sub2", "top/sub"),
        ("sub2", "top"),
        ("top", "sub2"),
        ("top", "moved"),
        ("moved", "top"),
    ] {
        is_refused(&world, &tree(at), "USER_SPACE", tree(base).to_str().unwrap());
    }
    let space = tree("stranger").display().to_string();
    let said = world.rye_env(&tree("moved"), &["list"], b"", &[("USER_SPACE", &space)]);
    assert_eq!(said.status, 0, "another repository is not of the ground: {said:?}");
    world.works(ITEM);
}

#[test]
fn b08_a_git_folder_that_another_user_planted_makes_no_home_foreign() {
    let (world, _) = shell();
    world.works(ITEM);
    // The folder that holds both home and project, as `/tmp` may.
    let git = folder(&world.outside().join(".git"));
    let help = world.rye(&["execute", ITEM]);
    assert_eq!(help.code(), "space.untrusted_root", "a work tree of one's own counts: {help:?}");
    if !super::b_spaces::is_root(&world) {
        return;
    }
    chown(&git, Some(1234), Some(1234)).unwrap();
    let said = world.rye(&["execute", ITEM]);
    assert_eq!(said.code(), "space.untrusted_root", "where nobody else may write: {said:?}");
    mode(world.outside(), 0o1777);
    world.works(ITEM);
    fs::remove_dir(&git).unwrap();
    symlink("/", &git).unwrap();
    std::os::unix::fs::lchown(&git, Some(1234), Some(1234)).unwrap();
    world.works(ITEM);
    fs::remove_file(&git).unwrap();
    // That of the folder's own owner counts: it is their clone.
    let shared = folder(&world.outside().join("shared"));
    folder(&shared.join(".git"));
    folder(&shared.join("sub"));
    for path in [&shared, &shared.join(".git")] {
        chown(path, Some(1234), Some(1234)).unwrap();
        mode(path, 0o1777);
    }
    let base = folder(&shared.join("mine")).display().to_string();
    is_refused(&world, &shared.join("sub"), "USER_SPACE", &base);
}

#[test]
fn b08_a_home_inside_the_workspace_is_refused_with_what_to_set() {
    let (world, _) = shell();
    world.works(ITEM);
    let project = world.project().canonicalize().unwrap();
    let home = folder(&project.join(".home")).display().to_string();
    let said = world.rye_env(&project, &["list"], b"", &[("HOME", &home)]);
    assert_eq!((said.status, said.code().as_str()), REFUSED, "{said:?}");
    let help = format!("set USER_SPACE to a folder of your own outside `{}`", project.display());
    assert!(said.stderr.contains(&help), "{said:?}");
    let own = world.home().display().to_string();
    let env = [("HOME", home.as_str()), ("USER_SPACE", own.as_str())];
    let said = world.rye_env(&project, &["execute", ITEM], b"", &env);
    assert_eq!(said.status, 0, "what the help says works: {said:?}");
    let doctor = world.rye_env(&project, &["doctor"], b"", &[("HOME", &home)]);
    assert!(doctor.status == 4 && doctor.stdout.contains(&help), "{doctor:?}");
}

#[test]
fn a_folder_that_holds_your_home_is_not_made_a_project() {
    let world = World::new().with_home(".ai/tools/acme/mark.sh", MARKER_SH);
    let above = world.outside().canonicalize().unwrap();
    let Some(world) = world.at_home() else { return };
    let works = || {
        world.rye_in(&above, &["execute", ITEM, "--json"], b"").ok();
        fs::remove_file(above.join("marker")).unwrap();
    };
    works();
    let refused = [(&["init"][..], "cli.usage", 2), (&["trust", "project"], "space.no_project", 4)];
    for (args, code, status) in refused {
        let said = world.rye_in(&above, args, b"");
        assert_eq!((said.code().as_str(), said.status), (code, status), "{args:?}: {said:?}");
    }
    // Without a project the user space is written into, if that is what was asked for.
    let new = ["new", "tool", "acme/mine", "--json"];
    assert_eq!(world.rye_in(&above, &new, b"").code(), "space.no_project");
    let said = world.rye_in(&above, &[&new[..], &["--space", "user"]].concat(), b"");
    assert_eq!((said.status, &said.json()["space"]), (0, &"user".into()), "{said:?}");
    assert!(!above.join(".ai").exists(), "it would be foreign ground around your keys");
    works();
}

#[test]
fn a_home_that_is_a_git_work_tree_keeps_working_and_its_clones_stay_foreign() {
    let world = World::new().with_home(".ai/tools/acme/mark.sh", MARKER_SH);
    let home = world.home().canonicalize().unwrap();
    folder(&home.join(".git"));
    let project = folder(&home.join("work/project"));
    folder(&project.join(".git"));
    let run = ["execute", ITEM, "--json"];
    let Some(world) = world.at_home() else { return };
    for at in [&home, &home.join("work"), &project] {
        let said = world.rye_in(at, &run, b"");
        assert_eq!(said.status, 0, "{}: {said:?}", at.display());
        assert!(fs::remove_file(at.join("marker")).is_ok(), "{}", at.display());
    }
    // A clone below it is no user space, by no name; and the home stays one, seen from the clone.
    hostile_user_space(&project);
    for at in [project.clone(), folder(&project.join("src"))] {
        for name in ["USER_SPACE", "HOME"] {
            is_refused(&world, &at, name, project.to_str().unwrap());
        }
        world.rye_in(&at, &run, b"").ok();
        fs::remove_file(project.join("marker")).unwrap();
    }
    // Where the user database names another home, this one is a work tree like any other.
    let elsewhere = world.outside().to_owned();
    let world = world.where_home_is(&elsewhere).unwrap();
    let said = world.rye_in(&home.join("work"), &run, b"");
    assert_eq!((said.status, said.code().as_str()), REFUSED, "{said:?}");
}

/// In a folder below the home, two calls before there is a project, then the project.
#[track_caller]
fn a_project_begins(world: &World, at: &Path) {
    let run = ["run", "rye/bash", "command=echo hi", "--json"];
    for _ in 0..2 {
        let said = world.rye_in(at, &run, b"");
        assert_eq!(said.status, 0, "{}: {said:?}", at.display());
    }
    let said = world.rye_in(at, &["init", "--json"], b"").ok().json();
    assert_eq!(said["project"], at.display().to_string());
}

#[test]
fn below_a_home_with_a_user_space_each_folder_may_become_a_project() {
    let Some(world) = World::empty().at_home() else { return };
    let home = world.home().canonicalize().unwrap();
    for name in ["one", "two"] {
        a_project_begins(&world, &folder(&home.join(name)));
    }
}

#[test]
fn b08_a_home_that_no_database_names_is_one_if_you_said_so() {
    crate::sandbox::needed();
    let world = World::empty();
    let home = world.home().canonicalize().unwrap();
    let (one, two) = (folder(&home.join("one")), folder(&home.join("two")));
    // Its state, too, says what is to run, and a clone could bring that.
    world.rye_in(&one, &["run", "rye/bash", "command=echo hi"], b"").ok();
    let refused = world.rye_in(&two, &["init"], b"");
    assert_eq!((refused.status, refused.code().as_str()), REFUSED, "{refused:?}");
    let said_so = format!("cd / && rye trust allow-root {}`", home.display());
    assert!(refused.stderr.contains(&said_so), "{refused:?}");
    let allow = ["trust", "allow-root", home.to_str().unwrap()];
    assert_eq!(world.rye_in(&two, &allow, b"").code(), REFUSED.1, "not from there");
    world.rye_in(Path::new("/"), &["keys", "generate"], b"").ok();
    world.rye_in(Path::new("/"), &allow, b"").ok();
    a_project_begins(&world, &one);
    a_project_begins(&world, &two);
    // The same bytes in a clone, which knows the path even, are not its word.
    let clone = folder(&world.outside().join("clone"));
    folder(&clone.join("sub"));
    let copied = Command::new("cp").arg("-a").arg(home.join(".ai")).arg(&clone).status().unwrap();
    assert!(copied.success());
    let listed = |at: &Path, base: &Path| {
        let said = world.rye_env(at, &["list", "--json"], b"", &[("HOME", base.to_str().unwrap())]);
        (said.status, said.code())
    };
    let refused = (REFUSED.0, REFUSED.1.to_owned());
    assert_eq!(listed(&clone.join("sub"), &clone), refused);
    let aside = world.outside().join("aside");
    fs::rename(&home, &aside).unwrap();
    fs::rename(&clone, &home).unwrap();
    assert_eq!(listed(&home.join("sub"), &home), refused, "at the place of the home itself");
    // A git work tree is no home of the kind.
    fs::rename(&home, &clone).unwrap();
    fs::rename(&aside, &home).unwrap();
    assert_eq!(listed(&two, &home), (0, String::new()));
    folder(&home.join(".git"));
    assert_eq!(listed(&two, &home), refused);
}

/// A folder of system items, signed at that time by a key that a document of the user's names for
/// them.
fn system_space(world: &World, base: &Path, at: &str) {
    let maker = SigningKey::from_bytes(&[67; 32]);
    for item in ["runtimes/shell/script", "primitives/execute"] {
        let path = format!("tools/rye/core/{item}.yaml");
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai").join(&path);
        let text = fs::read_to_string(shipped).unwrap();
        let rest = text.split_once('\n').unwrap().1;
        let line = line(&maker, &format!("tool:rye/core/{item}"), "yaml", at, rest.as_bytes());
        put(&base.join(".ai").join(path), format!("# {line}\n{rest}"));
    }
    let pem = maker.verifying_key().to_public_key_pem(LineEnding::LF).unwrap();
    let file = world.outside().join("maker.pem");
    put(&file, pem);
    let trust = ["trust", "add", file.to_str().unwrap(), "--items", "tool:rye/**"];
    world.rye(&[&trust[..], &["--owner", "maker", "--yes"]].concat()).ok();
}

#[test]
fn b08_system_items_never_come_from_the_ground_but_from_an_accepted_project() {
    let (world, _) = shell();
    world.works(ITEM);
    let now = seconds_from_now(0);
    let project = world.project().canonicalize().unwrap();
    let out = world.outside().canonicalize().unwrap();
    let (clone, apart) = (folder(&out.join("clone")), folder(&out.join("apart")));
    folder(&clone.join(".git"));
    for base in [&clone, &clone.join("old"), &apart, &project] {
        system_space(&world, base, &now);
    }
    let run = |at: &Path, base: &str| {
        let project = ["-p", project.to_str().unwrap()];
        let args = [&project[..], &["execute", ITEM, "--json"]].concat();
        let args = if at.starts_with(project[1]) { &args[2..] } else { &args };
        let said = world.rye_env(at, args, b"", &[("RYE_SYSTEM_SPACE", base)]);
        (said.status, said.code())
    };
    let refused = (REFUSED.0, REFUSED.1.to_owned());
    assert_eq!(run(&project, apart.to_str().unwrap()), (0, String::new()), "the fixture is good");
    let sub = folder(&clone.join("sub"));
    let (old, top) = (clone.join("old").display().to_string(), clone.display().to_string());
    for (at, base) in [(&clone, "old"), (&clone, "."), (&clone, &old), (&sub, ".."), (&sub, &top)] {
        assert_eq!(run(at, base), refused, "{base} in {}", at.display());
    }
    for base in [".", project.to_str().unwrap()] {
        assert_eq!(run(&project, base), (0, String::new()), "an accepted project: {base}");
    }
    let records = world.home().join(".ai/config/keys/projects");
    fs::rename(&records, out.join("records")).unwrap();
    for base in [".", project.to_str().unwrap()] {
        assert_eq!(run(&project, base), refused, "not accepted: {base}");
    }
    fs::rename(out.join("records"), &records).unwrap();
    fs::remove_dir_all(project.join(".ai/tools/rye")).unwrap();
    world.works(ITEM);
}

#[test]
fn b07_no_system_item_is_older_than_the_one_that_rye_brings() {
    let (world, _) = shell();
    world.works(ITEM);
    let base = world.outside().join("system");
    let run = |at: &str| {
        system_space(&world, &base, at);
        let env = [("RYE_SYSTEM_SPACE", base.to_str().unwrap())];
        let said = world.rye_env(&world.project(), &["execute", ITEM, "--json"], b"", &env);
        (said.status, said.code())
    };
    assert_eq!(run(&seconds_from_now(0)), (0, String::new()), "the fixture is good");
    assert_eq!(run("2020-01-01T00:00:00Z"), (4, "verify.rolled_back".to_owned()));
    world.works(ITEM);
}

#[test]
fn c05_keys_count_as_yours_if_all_above_them_is_yours_and_closed() {
    let (world, _) = shell();
    world.works(ITEM);
    let ai = world.home().canonicalize().unwrap().join(".ai");
    let keys = ai.join("config/keys");
    let signing = keys.join("signing");
    let refused = |what: &str, mend: &str| {
        let said = world.rye(&["execute", ITEM]);
        assert_eq!((said.status, said.code().as_str()), (4, "verify.trust_unreadable"), "{what}");
        assert!(said.stderr.contains(mend), "{what}: {said:?}");
        let said = world.rye(&["keys", "export"]);
        assert_eq!((said.status, said.code().as_str()), (4, "key.permissions"), "{what}: {said:?}");
        let doctor = world.rye(&["doctor"]);
        assert!(doctor.status == 4 && doctor.stdout.contains(mend), "{what}: {doctor:?}");
    };
    for folder in [&keys, &signing] {
        for open in [0o755, 0o750, 0o711, 0o770] {
            mode(folder, open);
            refused(&format!("{open:o}"), &format!("chmod 700 {}`", folder.display()));
        }
        mode(folder, 0o700);
        world.works(ITEM);
    }
    if !super::b_spaces::is_root(&world) {
        return;
    }
    // A group that others are in may write: it could put another folder there.
    for folder in [&ai, &ai.join("config")] {
        let was = fs::metadata(folder).unwrap();
        mode(folder, 0o775);
        world.works(ITEM);
        chown(folder, None, Some(1)).unwrap();
        refused("a group", &format!("chmod go-w {}`", folder.display()));
        chown(folder, None, Some(was.gid())).unwrap();
        mode(folder, was.mode());
    }
    for path in [ai.join("config"), keys.clone(), signing.clone(), signing.join("private_key.pem")]
    {
        chown(&path, Some(1234), None).unwrap();
        refused("another user", &format!("chown -R \"$(id -un)\" {}`", path.display()));
        chown(&path, Some(0), None).unwrap();
    }
    fs::remove_file(signing.join("private_key.pem")).unwrap();
    chown(signing.join("public_key.pem"), Some(1234), None).unwrap();
    refused("a public key", &format!("{}`", signing.join("public_key.pem").display()));
    chown(signing.join("public_key.pem"), Some(0), None).unwrap();
    world.works(ITEM);
}
