//! The paths that every confined program may read: the system, and the program and its libraries.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::machine::{Chosen, Survey};
use crate::host::{Host, Net};

/// Folders of programs, libraries and settings that every program may read.
pub(super) const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/run/current-system/sw",
    "/sys/devices/system/cpu",
];

/// Of the folder above a program's `bin`: what it loads from there.
const BESIDE_BIN: [&str; 6] = ["bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg"];

/// The system, the program with what it loads, and the packages that you let in.
pub(super) fn base_folders(host: &dyn Host, survey: &Survey, net: Net) -> Vec<PathBuf> {
    let mut base: BTreeSet<PathBuf> =
        SYSTEM.iter().map(PathBuf::from).filter(|path| host.is_folder(path)).collect();
    if net != Net::None {
        base.extend(links_out_of_settings(host));
    }
    base.extend(survey.external().iter().cloned());
    if let Some(program) = survey.program() {
        base.extend(of_program(host, program));
    }
    base.iter()
        .filter(|path| !base.iter().any(|other| other != *path && path.starts_with(other)))
        .cloned()
        .collect()
}

fn of_program(host: &dyn Host, program: &Chosen) -> BTreeSet<PathBuf> {
    let mut out = BTreeSet::new();
    if program.is_rye {
        return [program.look.real().to_owned()].into();
    }
    for place in program.look.places() {
        let Some(folder) = place.parent() else { continue };
        let above = folder.parent().filter(|_| folder.file_name().is_some_and(|n| n == "bin"));
        match above {
            Some(above) => {
                let beside = BESIDE_BIN.iter().map(|name| above.join(name));
                out.extend(
                    beside.filter(|path| host.is_folder(path) || host.real_file(path).is_some()),
                );
            }
            None => out.extend([place.to_owned()]),
        }
    }
    // A program right below a home is no reason to show that home.
    let is_root = |path: &Path| path.components().all(|part| part == Component::RootDir);
    out.retain(|path| !is_root(path));
    out
}

/// Targets of links in `/etc`, where names, certificates and other settings of the network often
/// lie.
fn links_out_of_settings(host: &dyn Host) -> BTreeSet<PathBuf> {
    /// How deep links are looked for, and among how many names.
    const DEEPEST: usize = 3;
    const MOST: usize = 4096;
    let found = walkdir::WalkDir::new("/etc").max_depth(DEEPEST).into_iter().take(MOST).flatten();
    let links = found.filter(walkdir::DirEntry::path_is_symlink);
    let real = |path: &Path| host.real_folder(path).or_else(|| host.real_file(path));
    let out = links.filter_map(|link| real(link.path()));
    // The kernel's own, and what no program needs as a whole.
    let is_settings = |path: &PathBuf| {
        let mut others = SYSTEM.into_iter().chain(["/proc", "/dev", "/sys"]);
        !others.any(|folder| path.starts_with(folder)) && path.iter().count() > 2
    };
    out.filter(is_settings).collect()
}
