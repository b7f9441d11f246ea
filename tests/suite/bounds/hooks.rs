//! What stands where hooks lie, and is no folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::world::{MARKER_SH, World};

#[test]
fn f07_what_stands_in_the_place_of_the_hooks_folder_and_is_no_folder_lets_nothing_through() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let call = || {
        let said = world.rye(&["execute", "acme/mark", "--json"]);
        let ran = fs::remove_file(world.project().join("marker")).is_ok();
        (said.status, said.code(), ran)
    };
    let tools = world.home().join(".ai/tools");
    let hooks = tools.join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    assert_eq!(call(), (0, String::new(), true), "an empty folder asks nobody");
    fs::remove_dir(&hooks).unwrap();
    assert_eq!(call(), (0, String::new(), true), "nor does none");
    let unusable = |what: &str| {
        assert_eq!(call(), (4, "hook.unusable".into(), false), "{what}");
        fs::remove_file(&hooks).unwrap();
    };
    fs::write(&hooks, "").unwrap();
    unusable("an empty file");
    assert!(Command::new("mkfifo").arg(&hooks).status().unwrap().success());
    unusable("a pipe");
    let _socket = UnixListener::bind(&hooks).unwrap();
    unusable("a socket");
    symlink("nowhere", &hooks).unwrap();
    unusable("a link to nothing");
    // The folder above it; what the tool runs through is looked for there as well.
    fs::rename(&tools, world.home().join(".ai/away")).unwrap();
    symlink("away", &tools).unwrap();
    let (status, _, ran) = call();
    assert_eq!((status, ran), (4, false), "a link above it");
    fs::remove_file(&tools).unwrap();
    fs::write(&tools, "").unwrap();
    let (status, _, ran) = call();
    assert_eq!((status, ran), (4, false), "a file above it");
}
