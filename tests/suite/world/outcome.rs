//! Calls of rye with the end that they must have, and what they must say.

use serde_json::Value;

use super::{Said, World};

impl World {
    /// Runs rye, which must do well.
    #[track_caller]
    pub fn rye_ok(&self, args: &[&str]) -> Said {
        let said = self.rye(args);
        assert_eq!(said.status, 0, "{args:?}: {said:?}");
        said
    }

    /// Runs rye, which must fail with this status and this code.
    #[track_caller]
    pub fn rye_fails(&self, args: &[&str], status: i32, code: &str) -> Said {
        let said = self.rye(args);
        assert_eq!((said.status, said.code().as_str()), (status, code), "{args:?}: {said:?}");
        said
    }

    /// Runs rye with `--json`, which must do well, and gives its answer.
    #[track_caller]
    pub fn json_ok(&self, args: &[&str]) -> Value {
        let (status, told) = self.json(args);
        assert_eq!(status, 0, "{args:?}: {told}");
        told
    }

    /// Runs rye with `--json`, which must fail with this status and this code.
    #[track_caller]
    pub fn json_fails(&self, args: &[&str], status: i32, code: &str) -> Value {
        let (ended, told) = self.json(args);
        assert_eq!((ended, &told["code"]), (status, &code.into()), "{args:?}: {told}");
        told
    }

    /// The same world with this item of the project, signed.
    #[track_caller]
    pub fn with(self, path: &str, text: &str) -> Self {
        self.signed(path, text);
        self
    }
}

impl Said {
    /// What rye said, where it did well.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 0, "{self:?}");
        self
    }

    /// What rye said, where it failed with this status and this code.
    #[track_caller]
    pub fn fails(self, status: i32, code: &str) -> Self {
        assert_eq!((self.status, self.code().as_str()), (status, code), "{self:?}");
        self
    }

    /// What rye said, where it failed with this code.
    #[track_caller]
    pub fn fails_with(self, code: &str) -> Self {
        assert_eq!(self.code(), code, "{self:?}");
        self
    }

    /// The text stands on standard output.
    #[track_caller]
    pub fn shows(&self, text: impl AsRef<str>) -> &Self {
        assert!(self.stdout.contains(text.as_ref()), "no {:?}: {self:?}", text.as_ref());
        self
    }

    /// The text stands on standard error.
    #[track_caller]
    pub fn warns(&self, text: impl AsRef<str>) -> &Self {
        assert!(self.stderr.contains(text.as_ref()), "no {:?}: {self:?}", text.as_ref());
        self
    }
}

/// The status and the JSON that a call gave.
pub trait End {
    /// The JSON of a call that did well.
    fn ok(self) -> Value;

    /// The JSON of a call that failed with this status and this code.
    fn fails(self, status: i32, code: &str) -> Value;
}

impl End for (i32, Value) {
    #[track_caller]
    fn ok(self) -> Value {
        assert_eq!(self.0, 0, "{}", self.1);
        self.1
    }

    #[track_caller]
    fn fails(self, status: i32, code: &str) -> Value {
        assert_eq!((self.0, &self.1["code"]), (status, &code.into()), "{}", self.1);
        self.1
    }
}
