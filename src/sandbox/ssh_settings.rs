//! The settings of ssh that root made, for an ordinary user in namespaces of its own.
//!
//! The namespaces know one user, so root's files have an unknown owner there, and ssh refuses an
//! included file that belongs to neither root nor the user. Each such file is shown as a copy that
//! belongs to the user.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use globset::Glob;

use crate::host::{Mount, Mounted, own_uid, read_small};

/// Where the settings of the machine are, and from where their paths count.
const SETTINGS: &str = "/etc/ssh";

/// Most files, and the most bytes of each; a longer one is left as it is.
const MOST: usize = 64;
const BYTES: u64 = 64 << 10;

/// The copies, which are made in a private folder of the run, each at the place of its file.
pub(super) fn copies(folder: &Path) -> Vec<Mount> {
    if own_uid() == 0 {
        return Vec::new();
    }
    let files = included(&Path::new(SETTINGS).join("ssh_config"));
    let roots = files.into_iter().filter(|file| fs::metadata(file).is_ok_and(|it| it.uid() == 0));
    let copied = roots.enumerate().filter_map(|(number, at)| {
        let from = folder.join(format!("ssh-{number}"));
        let mut copy = OpenOptions::new();
        let mut copy = copy.write(true).create_new(true).mode(0o400).open(&from).ok()?;
        copy.write_all(&read_small(&at, BYTES)?).ok()?;
        let what = Mounted::Bind { from, writable: false, must_exist: true };
        Some(Mount { at, what })
    });
    copied.collect()
}

/// The real files that this one includes, and those that they include.
fn included(settings: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut left = vec![settings.to_owned()];
    while let Some(file) = left.pop() {
        let text = read_small(&file, BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for line in text.lines() {
            let mut words = line.split([' ', '\t', '=', '"']).filter(|word| !word.is_empty());
            if !words.next().is_some_and(|word| word.eq_ignore_ascii_case("include")) {
                continue;
            }
            for path in words.flat_map(|pattern| matching(&Path::new(SETTINGS).join(pattern))) {
                if found.len() < MOST && found.insert(path.clone()) {
                    left.push(path);
                }
            }
        }
    }
    found
}

/// The real files that a pattern means, whose last part alone may have wildcards.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let Some(glob) = name.to_str().and_then(|name| Glob::new(name).ok()) else { return Vec::new() };
    let glob = glob.compile_matcher();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| glob.is_match(Path::new(&entry.file_name())));
    named.filter_map(|entry| entry.path().canonicalize().ok()).filter(|it| it.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::included;

    #[test]
    fn what_settings_of_ssh_include_is_found_behind_links_and_one_in_another() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let at = |name: &str| base.join(name);
        std::fs::create_dir(at("ssh_config.d")).unwrap();
        let of = |name: &str| at(name).display().to_string();
        std::fs::write(
            at("ssh_config"),
            format!("Host *\n include {}\n", of("ssh_config.d/*.conf")),
        )
        .unwrap();
        std::fs::write(at("proxy"), "# Include no\n").unwrap();
        std::fs::write(at("ssh_config.d/b.txt"), "").unwrap();
        std::fs::write(at("ssh_config.d/c.conf"), format!("Include \"{}\"", of("policy"))).unwrap();
        std::fs::write(at("policy"), format!("Include={}", of("ssh_config"))).unwrap();
        std::os::unix::fs::symlink("../proxy", at("ssh_config.d/a.conf")).unwrap();
        let found: Vec<_> = included(&at("ssh_config")).into_iter().collect();
        assert_eq!(found, ["policy", "proxy", "ssh_config", "ssh_config.d/c.conf"].map(at));
    }
}
