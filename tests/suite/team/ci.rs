//! The workflow that `rye new ci` writes, and how rye gets onto the runner.

use std::fs;

use super::{FILE, clone_by};
use crate::world::{World, program};

/// The script of CI, on a runner without rye and with an empty home.
const RUN: &str = "mkdir -p ../home-ci && PATH=/usr/bin:/bin HOME=$(cd ../home-ci && pwd) \
                   ci/rye.sh; echo \"status $?\"";

/// A project of which every key is trusted and proposed.
fn ready() -> World {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    world.rye(&["trust", "propose", "--owner", "me"]).ok();
    world
}

/// Writes the workflow anew, with this command.
#[track_caller]
fn with(world: &World, service: &str, path: &str, install: &str) -> String {
    drop(fs::remove_file(world.project().join(path)));
    world.rye(&["new", "ci", service, "--install", install]).ok();
    String::from_utf8(world.read(path)).unwrap()
}

#[test]
fn the_script_of_ci_installs_rye_as_it_is_told_or_says_that_nothing_does() {
    let world = ready();
    let said = world.rye(&["new", "ci", "shell"]);
    for part in ["fails on a runner without rye", "`--install 'COMMAND'`"] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    let ran = world.shell(RUN);
    let told = "rye is not on this runner: write the command that installs it in the place of this";
    assert!(ran.contains(told) && ran.ends_with("status 1\n"), "{ran}");
    let install = format!(
        "mkdir -p ../bin && ln -sf '{}' ../bin/rye && PATH=\"$PWD/../bin:$PATH\"",
        program()
    );
    let more = format!("{install} # that's {{{{commands}}}}");
    for command in [&install, &more] {
        with(&world, "shell", "ci/rye.sh", command);
        let ran = world.shell(RUN);
        assert!(ran.contains("verified") && ran.ends_with("status 0\n"), "{command}: {ran}");
    }
    let said = world.rye(&["new", "ci", "gitlab", "--install", &install]);
    assert!(!said.stdout.contains("--install"), "nothing is left to say: {said:?}");
    // What it leaves open ends with it, and takes no check in.
    let good = world.read(FILE);
    world.write(FILE, [&good[..], b"# more\n"].concat());
    for open in ["cat <<E", "echo 'x", "echo \"x", "(", "if true; then", "echo \\"] {
        with(&world, "shell", "ci/rye.sh", &format!("{install} && {open}"));
        let ran = world.shell(RUN);
        assert!(!ran.ends_with("status 0\n"), "{open}: {ran}");
    }
}

#[test]
fn an_install_command_is_one_step_of_the_workflow_whatever_it_holds() {
    let world = ready();
    for command in [
        "curl -sSf https://example.com/rye.sh | sh",
        "echo \"it's: here\" # and 'there'",
        "a: b",
        "- x",
        "  {x: [",
        "? : |",
        "'",
        "\"",
        "&a *b !c %d @e `f`",
        "{{commands}} {{install}} \\n",
        "echo 漢字",
    ] {
        let text = with(&world, "github", ".github/workflows/rye.yml", command);
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let steps = read["jobs"]["verify"]["steps"].as_sequence().unwrap();
        let runs: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
        assert_eq!(runs[0].trim_end(), command.trim(), "{text}");
        assert!(runs.len() == 3 && runs[2].starts_with("rye verify --ci --trust "), "{text}");
        let text = with(&world, "gitlab", ".gitlab-ci.yml", command);
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let steps = read["rye"]["script"].as_sequence().unwrap();
        assert_eq!(steps.len(), 3, "{text}");
        let word = steps[0].as_str().unwrap().strip_prefix("eval ").unwrap();
        assert_eq!(world.shell(&format!("printf %s {word}")), command.trim(), "{text}");
    }
    fs::remove_file(world.project().join(".gitlab-ci.yml")).unwrap();
    for bad in ["", "  ", "a\nb", "a\rb", "a\u{85}b", "a\u{2028}b", "a\u{1b}[2J"] {
        world.rye(&["new", "ci", "gitlab", "--install", bad, "--json"]).fails(2, "cli.usage");
    }
    world.rye(&["new", "tool", "acme/x", "--install", "true", "--json"]).fails(2, "cli.usage");
    assert!(!world.project().join(".gitlab-ci.yml").exists());
}

/// A runner checks out as another user, into folders that everybody may write, with a home that is
/// another's.
#[test]
fn each_workflow_judges_a_checkout_whoever_owns_it_and_whatever_its_umask() {
    let world = ready();
    let install = format!("ln -sf '{}' ../rye && PATH=\"$PWD/..:$PATH\"", program());
    let shell = with(&world, "shell", "ci/rye.sh", &install);
    let github = with(&world, "github", ".github/workflows/rye.yml", &install);
    let gitlab = with(&world, "gitlab", ".gitlab-ci.yml", &install);
    let github: serde_yaml::Value = serde_yaml::from_str(&github).unwrap();
    let gitlab: serde_yaml::Value = serde_yaml::from_str(&gitlab).unwrap();
    let steps = github["jobs"]["verify"]["steps"].as_sequence().unwrap();
    let of_github = steps.iter().filter_map(|step| step["run"].as_str());
    let of_gitlab = gitlab["rye"]["script"].as_sequence().unwrap().iter();
    let of_gitlab = of_gitlab.filter_map(|step| step.as_str());
    let scripts = [
        shell.replace("cd \"$(dirname \"$0\")/..\"", ""),
        of_github.collect::<Vec<_>>().join("\n"),
        of_gitlab.collect::<Vec<_>>().join("\n"),
    ];
    for (at, script) in scripts.iter().enumerate() {
        world.write("job.sh", script);
        let ran = world.shell(
            "rm -rf ../job && (umask 0000 && cp -r --no-preserve=mode . ../job) && \
             chmod 0777 ../job ../job/.ai && mkdir -p ../other && chmod 0777 ../other && \
             { chown -R 1234:1234 ../job ../other 2>/dev/null || :; } && cd ../job && \
             HOME=$(cd ../other && pwd) PATH=/usr/bin:/bin sh -e job.sh; echo \"status $?\"",
        );
        assert!(ran.contains("verified") && ran.ends_with("status 0\n"), "{at}: {ran}");
    }
    // It runs nothing; whatever runs something goes on asking who owns the folder.
    let said = world.shell("cd ../job && rye verify --ci; rye verify");
    assert!(said.contains("space.foreign_owner"), "{said}");
    // A changed file is refused there as everywhere.
    let more = format!("echo '# more' >> ../job/{FILE} && cd ../job && HOME=/nowhere");
    let said = world.shell(&format!("{more} PATH=/usr/bin:/bin sh -e job.sh; echo \"status $?\""));
    assert!(said.contains("verify.altered") && said.ends_with("status 4\n"), "{said}");
}
