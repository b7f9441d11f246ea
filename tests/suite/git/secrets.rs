//! Secrets that are never committed, and programs that git is kept from starting.

use std::fs;

use serde_json::json;

use super::{check, found, git, one, refused, well, world};
use crate::world::items::tool_sh;
use crate::world::wait::{lives, until};
use crate::world::{End, World};

#[test]
fn an_env_file_that_gives_a_secret_is_not_committed() {
    let world = world();
    world.signed(".ai/tools/acme/ask.sh", &tool_sh("secrets = [\"TRACKER_TOKEN\"]", "echo\n"));
    let said = world.json(&["run", "acme/ask"]).fails(6, "plan.missing_secret");
    assert!(said["help"].as_str().unwrap().contains("`.env`"), "{said}");
    world.write(".env", "export TRACKER_TOKEN = s3cret\n");
    well(&world, "git add -A && git commit -qm tools && ! git ls-files --error-unmatch .env");
    world.rye(&["doctor"]).ok();
    refused(&world, "git add -f .env && git commit -qm env", "gives `TRACKER_TOKEN`");
    assert_eq!(found(&world), one("git.refused"));
    let service = "sandbox.services.acme = {upstream = \"https://api.example.com\", \
                   secret = \"ACME_TOKEN\", allow = [\"GET /x\"], env = \"ACME_URL\"}";
    world.signed(".ai/tools/acme/call.sh", &tool_sh(service, "echo\n"));
    world.write(".env", "ACME_TOKEN=s3cret\n");
    refused(&world, "git add -f .env .ai && git commit -qm env", "gives `ACME_TOKEN`");
    world.write(".env", "OTHER=1\nTRACKER_TOKEN=\n");
    well(&world, "git add -f .env");
    assert_eq!(check(&world).0, 0, "what no item asks for is nobody's secret");
    well(&world, "git rm -q --cached .env && rm .gitignore");
    world.rye(&["doctor"]).ok().shows("git does not ignore the project's `.env`");
}

#[test]
fn a_project_in_a_repository_ignores_secrets_from_its_first_day() {
    let world = World::empty();
    git(&world, "git init -q");
    world.write(".gitignore", "target\n.env");
    world.rye(&["init"]).ok().shows("made     .gitignore");
    assert_eq!(world.read(".gitignore"), b"target\n.env\n/.ai/state/\n");
    assert!(!world.rye(&["init"]).ok().stdout.contains(".gitignore"));
}

#[test]
fn nothing_that_a_partial_clone_lacks_is_fetched() {
    let world = world();
    let marker = world.outside().join("ran");
    let program = world.write("fetches", format!("#!/bin/sh\ntouch {}\n", marker.display()));
    let program = program.display();
    let absent = "1234567890123456789012345678901234567890";
    well(
        &world,
        &format!(
            "chmod +x {program} && git config core.repositoryformatversion 1 && \
             git config extensions.partialClone origin && git config remote.origin.url . && \
             git config remote.origin.promisor true && \
             git config remote.origin.uploadpack {program} && \
             git update-index --add --cacheinfo 100644,{absent},.ai/tools/acme/x.sh"
        ),
    );
    let (status, said) = check(&world);
    assert_eq!((status, &said["code"]), (6, &json!("git.failed")), "{said}");
    assert!(!marker.exists(), "a program of the repository's configuration ran");
}

#[test]
fn a_git_that_waits_for_a_pipe_ends_with_rye() {
    let world = world();
    well(&world, "rm .git/HEAD && mkfifo .git/HEAD");
    let mut rye = world.start(&["git", "install"]);
    let children = format!("/proc/{0}/task/{0}/children", rye.id());
    let mut git = String::new();
    until("git waits", || {
        fs::read_to_string(&children).unwrap().trim().clone_into(&mut git);
        fs::read_to_string(format!("/proc/{git}/comm")).is_ok_and(|name| name == "git\n")
    });
    rye.kill().unwrap();
    rye.wait().unwrap();
    until("git is gone", || !lives(&git));
}
