//! Stable names of failures, with the exit status and the page of each.

use std::fmt;

/// A row of a layer's table of codes, which [`codes!`] alone makes.
///
/// Invariant: the page is there, since it is read when the program is built.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Code {
    name: &'static str,
    exit: ExitStatus,
    page: &'static str,
}

/// How the process ends because of a failure (core 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ExitStatus {
    ToolFailed = 1,
    Usage = 2,
    NotFound = 3,
    Refused = 4,
    Malformed = 5,
    CannotRun = 6,
    PeerFailed = 7,
    /// Not a failure, and no code has it: a person has to decide first.
    Waits = 8,
}

/// Every exit status with what it means, in the words of `knowledge:rye/errors` and of the manual.
pub(crate) const EXIT_STATUSES: &[(u8, &str)] = &[
    (0, "done"),
    (ExitStatus::ToolFailed as u8, "the tool itself failed"),
    (ExitStatus::Usage as u8, "usage"),
    (ExitStatus::NotFound as u8, "not found or ambiguous"),
    (ExitStatus::Refused as u8, "refused"),
    (ExitStatus::Malformed as u8, "malformed item"),
    (ExitStatus::CannotRun as u8, "cannot run here"),
    (ExitStatus::PeerFailed as u8, "a peer failed: a program, a server, an editor or an agent"),
    (ExitStatus::Waits as u8, "it waits for a person"),
    (70, "a bug in rye"),
];

impl Code {
    /// For [`codes!`] alone.
    pub(crate) const fn new(name: &'static str, exit: ExitStatus, page: &'static str) -> Self {
        Self { name, exit, page }
    }

    /// `<layer>.<reason>`, such as `verify.altered`.
    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    /// The exit status that the code stands for.
    pub(crate) fn exit_status(self) -> u8 {
        self.exit as u8
    }

    /// The meaning of the code, in one sentence or two, on one line.
    pub(crate) fn summary(self) -> String {
        self.page.split("\n\n").next().unwrap_or_default().replace('\n', " ")
    }

    /// The page that `rye explain` shows, in Markdown: what happened, why, what to do, the exit
    /// status.
    pub(crate) fn page(self) -> String {
        format!("{}\nExit status: {}\n", self.page, self.exit_status())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

/// The codes of a layer, a row each: the constant, the name, the exit status. The page of a code is
/// `errors/<name>.md` beside the file that holds the table.
macro_rules! codes {
    ($($code:ident = $name:literal, $exit:ident;)+) => {
        $(pub(crate) const $code: crate::diagnostic::Code = crate::diagnostic::Code::new(
            $name,
            crate::diagnostic::ExitStatus::$exit,
            include_str!(concat!("errors/", $name, ".md")),
        );)+

        /// Every code of this layer.
        pub(crate) const CODES: &[crate::diagnostic::Code] = &[$($code),+];
    };
}

pub(crate) use codes;
