//! Attacks on an item: what is refused, and that nothing else happened.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{World, sha256};

/// What came of an attack on an item: the refusal, and what else happened, which must be nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Attempt {
    pub code: String,
    pub status: i32,
    /// The tool of the fixture left its marker.
    pub ran: bool,
    /// Files of either space that are new, gone or different.
    pub changed: Vec<PathBuf>,
}

impl Attempt {
    /// A refusal with this code and the status that goes with it, and nothing else.
    pub fn refused(code: &str) -> Self {
        let status = match code.split('.').next().unwrap_or_default() {
            "verify" | "space" | "validate" | "key" | "sign" | "lock" => 4,
            "id" => 3,
            "resolve" if code == "resolve.reserved" => 4,
            "resolve" => 3,
            "chain" if code == "chain.executor_not_found" => 3,
            "parse" | "chain" => 5,
            other => panic!("no status is known for the layer `{other}`"),
        };
        Self { code: code.to_owned(), status, ran: false, changed: Vec::new() }
    }
}

impl World {
    /// Runs an item that must not run, and gives what came of it.
    pub fn attempt(&self, item: &str) -> Attempt {
        self.attempt_by(&["execute", item, "--json"])
    }

    /// The same with any call of rye. A call that blocks is ended, with status 124.
    pub fn attempt_by(&self, args: &[&str]) -> Attempt {
        let marker = self.project().join("marker");
        drop(fs::remove_file(&marker));
        let before = self.snapshot();
        let said = self.rye_under(&["timeout", "10"], args);
        let ran = marker.exists();
        drop(fs::remove_file(&marker));
        let after = self.snapshot();
        let paths = before.keys().chain(after.keys());
        let mut changed: Vec<PathBuf> =
            paths.filter(|path| before.get(*path) != after.get(*path)).cloned().collect();
        changed.sort();
        changed.dedup();
        Attempt { code: said.code(), status: said.status, ran, changed }
    }

    /// Each content of the file is refused with its code and changes nothing; put back, it runs.
    #[track_caller]
    pub fn refuses_each(&self, item: &str, file: &Path, rows: &[(&str, Vec<u8>, &str)]) {
        let good = fs::read(file).expect("a file");
        self.works(item);
        for (what, bytes, code) in rows {
            assert_ne!(*bytes, good, "{what}: the file is as it was");
            fs::write(file, bytes).expect("a written file");
            assert_eq!(self.attempt(item), Attempt::refused(code), "{what}");
        }
        fs::write(file, good).expect("a written file");
        self.works(item);
    }

    /// Every file, folder and link of both spaces: kind, mode, owner, and digest or size.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        use std::os::unix::fs::MetadataExt;
        let files = walkdir::WalkDir::new(self.outside()).into_iter().filter_map(Result::ok);
        let state = |path: &Path| {
            let stat = fs::symlink_metadata(path).expect("a file's state");
            let content = match stat.is_file() && stat.len() < 8 << 20 {
                true => sha256(&fs::read(path).expect("a file")),
                // The size of a folder is the file system's own business.
                false if stat.is_dir() => String::new(),
                false => stat.len().to_string(),
            };
            format!("{:o} {} {} {content}", stat.mode(), stat.uid(), stat.gid())
        };
        files.map(|file| (file.path().to_owned(), state(file.path()))).collect()
    }
}
