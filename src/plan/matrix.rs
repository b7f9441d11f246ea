//! The requests that are possible at all (core 8): target, thread, async and dry run by kind.

use super::error::{
    MATRIX_ASYNC_DRY_RUN, MATRIX_DIRECTIVE_ASYNC_INLINE, MATRIX_DIRECTIVE_REMOTE_INLINE,
    MATRIX_DRY_RUN_REMOTE, MATRIX_EMPTY_REMOTE, MATRIX_FORK_SANDBOX, MATRIX_NOT_EXECUTABLE,
    MATRIX_TOOL_FORK, MATRIX_UNKNOWN_WORD,
};
use std::fmt;
use std::str::FromStr;

use crate::base::text::{escape_line, near};
use crate::diagnostic::{Code, Diagnose};
use crate::id::Kind;

/// Where a run happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Local,
    /// A remote by name; `remote` alone is `default`.
    Remote(String),
}

/// Who carries a run out: the caller itself, or a managed model thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thread {
    Inline,
    Fork,
}

impl FromStr for Target {
    type Err = MatrixError;

    fn from_str(text: &str) -> Result<Self, MatrixError> {
        match text.split_once(':') {
            None if text == "local" => Ok(Self::Local),
            None if text == "remote" => Ok(Self::Remote("default".into())),
            Some(("remote", name)) if name.trim().is_empty() => Err(MatrixError::EmptyRemote),
            Some(("remote", name)) => Ok(Self::Remote(name.to_owned())),
            _ => Err(MatrixError::unknown("target", text, &["local", "remote"])),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Remote(name) if name == "default" => f.write_str("remote"),
            Self::Remote(name) => write!(f, "remote:{name}"),
        }
    }
}

impl FromStr for Thread {
    type Err = MatrixError;

    fn from_str(text: &str) -> Result<Self, MatrixError> {
        match text {
            "inline" => Ok(Self::Inline),
            "fork" => Ok(Self::Fork),
            _ => Err(MatrixError::unknown("thread", text, &["inline", "fork"])),
        }
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inline => "inline",
            Self::Fork => "fork",
        })
    }
}

/// One way of asking for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunMode {
    pub(crate) target: Target,
    pub(crate) thread: Thread,
    pub(crate) detached: bool,
    pub(crate) dry_run: bool,
}

impl RunMode {
    /// The rules that hold for every kind; checked before anything is looked up.
    ///
    /// # Errors
    /// `matrix.dry_run_remote`, `matrix.async_dry_run`.
    pub(crate) fn check_words(&self) -> Result<(), MatrixError> {
        if self.dry_run && self.target != Target::Local {
            return Err(MatrixError::DryRunRemote);
        }
        if self.dry_run && self.detached {
            return Err(MatrixError::AsyncDryRun);
        }
        Ok(())
    }

    /// The row of the kind. `Ok` is a cell that this build carries out.
    ///
    /// # Errors
    /// `matrix.*`
    pub(crate) fn check(&self, kind: Kind) -> Result<(), MatrixError> {
        self.check_words()?;
        let local = self.target == Target::Local;
        let fork = self.thread == Thread::Fork;
        match kind {
            Kind::Tool if fork => Err(MatrixError::ToolFork),
            Kind::Tool => Ok(()),
            Kind::Directive if !local && !fork => Err(MatrixError::DirectiveRemoteInline),
            Kind::Directive if self.detached && !fork => Err(MatrixError::DirectiveAsyncInline),
            Kind::Directive => Ok(()),
            Kind::Knowledge if local && !fork && !self.detached => Ok(()),
            Kind::Knowledge | Kind::Config => Err(MatrixError::NotExecutable { kind }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum MatrixError {
    #[error("a tool cannot fork: a thread is a conversation with a model, which a tool is not")]
    ToolFork,
    #[error("a directive runs remotely as a thread only")]
    DirectiveRemoteInline,
    #[error("an inline directive has nothing to detach: it is handed to you, not run")]
    DirectiveAsyncInline,
    #[error("a dry run is local: it shows what this machine would do")]
    DryRunRemote,
    #[error("a dry run starts nothing, so nothing can be detached")]
    AsyncDryRun,
    #[error("a thread has no sandbox of its own: each tool that it calls is held by itself")]
    ForkSandbox,
    #[error("`remote:` names no remote")]
    EmptyRemote,
    #[error("`{}` is not a valid {what}", escape_line(.word))]
    UnknownWord {
        what: &'static str,
        word: String,
        words: &'static [&'static str],
        near: Option<String>,
    },
    #[error("{} cannot be run like this", describe(*.kind))]
    NotExecutable { kind: Kind },
}

fn describe(kind: Kind) -> &'static str {
    match kind {
        Kind::Knowledge => "knowledge",
        Kind::Config => "config",
        Kind::Tool => "a tool",
        Kind::Directive => "a directive",
    }
}

impl MatrixError {
    fn unknown(what: &'static str, word: &str, words: &'static [&'static str]) -> Self {
        let near = near(word, words.iter().copied(), 1).pop();
        Self::UnknownWord { what, word: word.chars().take(80).collect(), words, near }
    }
}

impl Diagnose for MatrixError {
    fn code(&self) -> Code {
        match self {
            Self::ToolFork => MATRIX_TOOL_FORK,
            Self::DirectiveRemoteInline => MATRIX_DIRECTIVE_REMOTE_INLINE,
            Self::DirectiveAsyncInline => MATRIX_DIRECTIVE_ASYNC_INLINE,
            Self::DryRunRemote => MATRIX_DRY_RUN_REMOTE,
            Self::AsyncDryRun => MATRIX_ASYNC_DRY_RUN,
            Self::ForkSandbox => MATRIX_FORK_SANDBOX,
            Self::EmptyRemote => MATRIX_EMPTY_REMOTE,
            Self::UnknownWord { .. } => MATRIX_UNKNOWN_WORD,
            Self::NotExecutable { .. } => MATRIX_NOT_EXECUTABLE,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::ToolFork => "run it with `--thread inline`".into(),
            Self::DirectiveRemoteInline => "use `--thread fork` with a remote target".into(),
            Self::DirectiveAsyncInline => {
                "use `--thread fork` with `--async`, or drop `--async`".into()
            }
            Self::DryRunRemote => "use `--target local` with `--dry-run`".into(),
            Self::AsyncDryRun => "drop `--async` or `--dry-run`".into(),
            Self::ForkSandbox => "drop `--sandbox`".into(),
            Self::EmptyRemote => "use `remote` for the default one, or `remote:<name>`".into(),
            Self::UnknownWord { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownWord { words, .. } => format!("allowed: {}", words.join(", ")),
            Self::NotExecutable { kind: Kind::Knowledge } => {
                "knowledge is shown with `--target local --thread inline`, or by `rye fetch`".into()
            }
            Self::NotExecutable { .. } => "tools and directives run; see `rye list`".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{RunMode, Target, Thread};
    use crate::diagnostic::Diagnose;
    use crate::id::Kind;

    #[test]
    fn h04_every_cell_of_the_matrix() {
        // target, thread, async, dry run → tool, directive, knowledge.
        let rows = [
            ("local", "inline", false, false, "ok", "ok", "ok"),
            ("local", "fork", false, false, "tool_fork", "ok", "not_executable"),
            ("remote", "fork", false, false, "tool_fork", "ok", "not_executable"),
            ("remote", "inline", false, false, "ok", "directive_remote_inline", "not_executable"),
            ("local", "inline", true, false, "ok", "directive_async_inline", "not_executable"),
            ("local", "fork", true, false, "tool_fork", "ok", "not_executable"),
            ("remote", "fork", true, false, "tool_fork", "ok", "not_executable"),
            ("remote", "inline", true, false, "ok", "directive_remote_inline", "not_executable"),
            ("local", "inline", false, true, "ok", "ok", "ok"),
            ("local", "fork", false, true, "tool_fork", "ok", "not_executable"),
            (
                "remote:x",
                "inline",
                false,
                true,
                "dry_run_remote",
                "dry_run_remote",
                "dry_run_remote",
            ),
            ("local", "inline", true, true, "async_dry_run", "async_dry_run", "async_dry_run"),
        ];
        for (target, thread, detached, dry_run, tool, directive, knowledge) in rows {
            let mode = RunMode {
                target: target.parse().unwrap(),
                thread: thread.parse().unwrap(),
                detached,
                dry_run,
            };
            let got = |kind| match mode.check(kind) {
                Ok(()) => "ok",
                Err(error) => error.code().name().trim_start_matches("matrix."),
            };
            let row = (target, thread, detached, dry_run);
            assert_eq!(got(Kind::Tool), tool, "{row:?}");
            assert_eq!(got(Kind::Directive), directive, "{row:?}");
            assert_eq!(got(Kind::Knowledge), knowledge, "{row:?}");
            assert!(mode.check(Kind::Config).is_err());
        }
        for (word, code) in [
            ("remote:", "matrix.empty_remote"),
            ("Local", "matrix.unknown_word"),
            ("local:x", "matrix.unknown_word"),
            ("", "matrix.unknown_word"),
        ] {
            assert_eq!(word.parse::<Target>().unwrap_err().code().name(), code, "{word}");
        }
        assert_eq!("forked".parse::<Thread>().unwrap_err().code().name(), "matrix.unknown_word");
        assert_eq!("remote:gpu".parse::<Target>().unwrap().to_string(), "remote:gpu");
    }
}
