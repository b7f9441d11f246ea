//! Programs that speak the exec protocol (exec-protocol 1 to 3): the vectors of
//! `tests/vectors/exec` by both doors, what becomes of a server, what an `exec` block may say.

mod battery;
mod bounds;
mod kept;
mod rules;
mod servers;
mod shutdown;
mod told;
mod vector;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rye::{Rye, RyeBuilder};

use crate::world::wait::until;
use crate::world::{World, python_folder};

/// What the host's environment holds for the programs of this folder.
pub const HOST: [(&str, &str); 4] = [
    ("ACME_NAMED", "canary-named"),
    ("ACME_IDLE", "canary-idle"),
    ("ACME_SECRET", "canary-secret"),
    ("DATABASE_URL", "orders://test"),
];

/// What of it is shown nowhere, whatever a program says.
const CANARIES: [&str; 2] = ["canary-idle", "canary-secret"];

/// An accepted project, with these variables in rye's environment.
fn world() -> World {
    HOST.iter().fold(World::new(), |world, (name, value)| world.env(name, value))
}

/// The library below the folder of a world, as a program that keeps it would build it.
fn library(base: &Path) -> Rye {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", python_folder().display());
    let mut vars: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), base.join("home").into()),
        ("PATH".into(), path.into()),
        ("LANG".into(), "C.UTF-8".into()),
    ];
    vars.extend(HOST.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    let project = base.join("project");
    RyeBuilder::new().vars(vars).cwd(&project).project(&project).build().unwrap()
}

/// Writes the tool `acme/<name>` with a shell program beside it and signs both; `exec` are more
/// lines of the block.
fn signed(world: &World, name: &str, mode: &str, exec: &str, script: &str) {
    world.signed_exec(name, mode, exec, script);
}

/// A server in shell that answers with the number of its process unless `cases` says otherwise; the
/// cases see `$line`, `$id` and `$n`, the number of the call.
fn server(cases: &str) -> String {
    format!(
        "#!/bin/sh\nwhile read -r line; do\nid=${{line#*'\"id\":'}}; id=${{id%%,*}}; n=$((n + 1))\n\
         case $line in\n{cases}\nesac\necho \"{{\\\"id\\\":$id,\\\"result\\\":$$}}\"\ndone\n"
    )
}

/// The processes, but for this one, that work in the world's project or were started for it.
fn processes(base: &Path) -> Vec<String> {
    let needle = base.as_os_str().as_encoded_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let name = entry.file_name().into_string().unwrap_or_default();
        if name.parse::<u32>().is_err() || name == std::process::id().to_string() {
            continue;
        }
        let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_named = environ.windows(needle.len()).any(|window| window == needle);
        if cwd.starts_with(base) || is_named {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(format!("{name} {}", String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}

/// The private folders of runs.
fn pins(base: &Path) -> usize {
    let entries = fs::read_dir(base.join("home/.ai/state/pin")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().contains('-')).count()
}

/// No process and no private folder is left of anything that ran in the world.
#[track_caller]
fn nothing_is_left(base: &Path) {
    until("nothing is left", || processes(base).is_empty() && pins(base) == 0);
}

/// No file below the folder holds what nobody may be shown.
#[track_caller]
fn no_file_tells(base: &Path) {
    for file in walkdir::WalkDir::new(base).into_iter().filter_map(Result::ok) {
        let bytes = fs::read(file.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let told = CANARIES.iter().find(|canary| text.contains(*canary));
        assert_eq!(told, None, "{}", file.path().display());
    }
}
