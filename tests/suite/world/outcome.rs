//! How a call of rye must end, and what it must say.

use serde_json::Value;

use super::{Said, World};

impl World {
    /// Signs this item of the project and gives the world.
    #[track_caller]
    pub fn with(self, path: &str, text: &str) -> Self {
        self.signed(path, text);
        self
    }

    /// Writes this file of the project and gives the world.
    pub fn with_file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.write(path, text);
        self
    }

    /// Signs this item of the user space and gives the world.
    #[track_caller]
    pub fn with_home(self, path: &str, text: &str) -> Self {
        self.signed_home(path, text);
        self
    }
}

impl Said {
    /// The call did well.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 0, "{self:?}");
        self
    }

    /// The call failed with this status and this code.
    #[track_caller]
    pub fn fails(self, status: i32, code: &str) -> Self {
        assert_eq!((self.status, self.code().as_str()), (status, code), "{self:?}");
        self
    }

    /// The call failed with this code.
    #[track_caller]
    pub fn fails_with(self, code: &str) -> Self {
        assert_eq!(self.code(), code, "{self:?}");
        self
    }

    /// The text stands on standard output.
    #[track_caller]
    pub fn shows(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "no {text:?}: {self:?}");
        self
    }

    /// The text stands on standard error.
    #[track_caller]
    pub fn warns(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no {text:?}: {self:?}");
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
