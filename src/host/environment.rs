//! The environment of this process, read once and passed down.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// Environment variables as they were at the start; a clone costs nothing.
#[derive(Clone, Default)]
pub(crate) struct Vars(Arc<BTreeMap<OsString, OsString>>);

impl Vars {
    pub(crate) fn from_process() -> Self {
        std::env::vars_os().collect()
    }

    /// The value; an empty one counts as none.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// The others without these.
    pub(crate) fn without(&self, names: &[&str]) -> Self {
        let pairs = self.0.iter().filter(|(name, _)| !names.iter().any(|no| name == no));
        pairs.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// All of them, in the order of their names.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().filter_map(|name| name.to_str())
    }
}

impl FromIterator<(OsString, OsString)> for Vars {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(pairs: T) -> Self {
        Self(Arc::new(pairs.into_iter().collect()))
    }
}
