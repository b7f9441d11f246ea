//! The program `git`, asked for one thing at a time.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::GitError;
use crate::base::durations::GIT_SETTINGS_TIME;
use crate::host::{Host as _, Os, Spawn};
use crate::rye::located;
use crate::space::Spaces;

/// A working tree.
#[derive(Debug)]
pub(crate) struct Repository {
    /// Its top folder.
    top: PathBuf,
    git: Git,
}

/// The program `git`, found outside of the foreign ground: a clone may bring one of its own.
#[derive(Debug)]
pub(super) struct Git {
    program: PathBuf,
    /// The `PATH` that it gets.
    path: OsString,
}

/// The output and the exit status of a command of git.
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Said {
    fn is_success(&self) -> bool {
        self.code == 0
    }
}

impl Repository {
    /// The working tree that `folder` lies in.
    ///
    /// # Errors
    /// `git.no_repository`; `git.failed` without a `git`, and where it refuses the repository.
    pub(crate) fn discover(folder: &Path) -> Result<Self, GitError> {
        let git = Git::find(Some(folder))?;
        let output = git.run(folder, &["rev-parse", "--show-toplevel"], None)?;
        let top = output.stdout.trim_ascii_end();
        if !output.is_success() || top.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr);
            let is_none = said.is_empty()
                || said.contains("not a git repository")
                || said.contains("must be run in a work tree");
            return Err(match is_none {
                true => GitError::NoRepository { folder: folder.to_owned() },
                // It has a repository and does not use it, such as one that another user owns.
                false => failed(&["rev-parse"], &output),
            });
        }
        Ok(Self { top: PathBuf::from(OsStr::from_bytes(top)), git })
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// The output of a command.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn ask(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        self.feed(args, None)
    }

    /// As [`Self::ask`], for a command that reads `input`.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn feed(&self, args: &[&str], input: Option<Vec<u8>>) -> Result<Vec<u8>, GitError> {
        let output = self.git.run(&self.top, args, input)?;
        match output.is_success() {
            true => Ok(output.stdout),
            false => Err(failed(args, &output)),
        }
    }

    /// The one line that a command says, or `None` where it fails: a value that is not set.
    ///
    /// # Errors
    /// `git.failed` without a `git`.
    pub(super) fn find(&self, args: &[&str]) -> Result<Option<Vec<u8>>, GitError> {
        let output = self.git.run(&self.top, args, None)?;
        Ok(output.is_success().then(|| output.stdout.trim_ascii_end().to_vec()))
    }

    /// A path that git keeps to itself, such as `hooks`, wherever this working tree has it.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn own_path(&self, name: &str) -> Result<PathBuf, GitError> {
        let path = self.ask(&["rev-parse", "--git-path", name])?;
        Ok(self.top.join(OsStr::from_bytes(path.trim_ascii_end())))
    }
}

/// `user.name` of the person's own git configuration; that of no repository is read.
pub(crate) fn global_user_name(project: &Path) -> Option<String> {
    let args = ["config", "--global", "--get", "user.name"];
    let output = Git::find(Some(project)).ok()?.run(Path::new("/"), &args, None).ok()?;
    let name = String::from_utf8(output.stdout).ok().filter(|_| output.code == 0)?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

impl Git {
    /// For a call about `folder`, or about where the caller stands.
    ///
    /// # Errors
    /// `git.failed` where there is no `git`.
    pub(super) fn find(folder: Option<&Path>) -> Result<Self, GitError> {
        let failed = |why: String| GitError::Failed { what: "git".to_owned(), why };
        let at = located(folder.map(Path::to_owned));
        let ground = Spaces::find_ground(&at).map_err(|error| failed(error.to_string()))?;
        let program = ground.find_program(&at.vars, "git");
        let why = "there is no such program on `PATH`, outside of the project and its work tree";
        let program = program.ok_or_else(|| failed(why.into()))?;
        let path = std::env::join_paths(ground.own_path(&at.vars))
            .expect("a folder of `PATH` holds no colon");
        Ok(Self { program, path })
    }

    /// Runs git in a folder. The variables that git gives to its hooks, such as that of the index
    /// of this very commit, reach it.
    ///
    /// # Errors
    /// `git.failed` if it does not start, or does not end in time.
    pub(super) fn run(
        &self,
        folder: &Path,
        args: &[&str],
        input: Option<Vec<u8>>,
    ) -> Result<Said, GitError> {
        let mut env: BTreeMap<String, OsString> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| !NOT_FOR_GIT.contains(&name.as_str()))
            .collect();
        env.insert("PATH".into(), self.path.clone());
        // No index is rewritten, no path is a pattern, and no program of the configuration is
        // asked.
        // Nor is what a partial clone lacks fetched, by a program that its configuration names.
        let set = [
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("LC_ALL", "C"),
        ];
        env.extend(set.map(|(name, value)| (name.to_owned(), value.into())));
        let all = ["-c", "core.fsmonitor=false"].iter().chain(args).map(OsString::from).collect();
        let time = Duration::from_secs(GIT_SETTINGS_TIME);
        let asked = Spawn::new(&self.program, folder, usize::MAX, time);
        let spawn = Spawn { args: all, env, stdin: input.unwrap_or_default(), ..asked };
        let failed = |why: String| GitError::Failed { what: what(args), why };
        let ended = Os::new(false).run(&spawn, &mut |_| {});
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        if ended.timed_out {
            return Err(failed(format!("it did not end within {GIT_SETTINGS_TIME} seconds")));
        }
        let code = ended.told_like_a_shell();
        Ok(Said { code: code.exit_code.unwrap_or(1), stdout: code.stdout, stderr: code.stderr })
    }
}

/// Variables that name programs for git to start.
const NOT_FOR_GIT: [&str; 3] = ["GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PAGER"];

fn what(args: &[&str]) -> String {
    args.first().copied().unwrap_or_default().to_owned()
}

pub(super) fn failed(args: &[&str], output: &Said) -> GitError {
    let said = String::from_utf8_lossy(&output.stderr);
    let why = match said.trim() {
        "" => format!("it ended with status {}", output.code),
        said => said.to_owned(),
    };
    GitError::Failed { what: what(args), why }
}
