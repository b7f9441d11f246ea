//! The program `git`, asked for one thing at a time.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::error::GitError;
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

impl Repository {
    /// The working tree that `folder` lies in.
    ///
    /// # Errors
    /// `git.no_repository`; `git.failed` without a `git`.
    pub(crate) fn discover(folder: &Path) -> Result<Self, GitError> {
        let git = Git::find(Some(folder))?;
        let output = git.run(folder, &["rev-parse", "--show-toplevel"], None)?;
        let top = output.stdout.trim_ascii_end();
        if !output.status.success() || top.is_empty() {
            return Err(GitError::NoRepository { folder: folder.to_owned() });
        }
        Ok(Self { top: PathBuf::from(OsStr::from_bytes(top)), git })
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// What a command says.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn ask(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        self.feed(args, None)
    }

    /// The same for a command that reads `input`.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn feed(&self, args: &[&str], input: Option<Vec<u8>>) -> Result<Vec<u8>, GitError> {
        let output = self.git.run(&self.top, args, input)?;
        match output.status.success() {
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
        Ok(output.status.success().then(|| output.stdout.trim_ascii_end().to_vec()))
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
    let name = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
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
    /// `git.failed` if it does not start.
    pub(super) fn run(
        &self,
        folder: &Path,
        args: &[&str],
        input: Option<Vec<u8>>,
    ) -> Result<Output, GitError> {
        let mut command = Command::new(&self.program);
        command.env("PATH", &self.path);
        for name in NOT_FOR_GIT {
            command.env_remove(name);
        }
        // No index is rewritten, no path is a pattern, and no program of the configuration is
        // asked.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_LITERAL_PATHSPECS", "1").env("LC_ALL", "C");
        command.args(["-c", "core.fsmonitor=false"]).args(args).current_dir(folder);
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.spawn().and_then(|mut child| {
            let pipe = child.stdin.take();
            let writes = move || match (pipe, input) {
                (Some(mut pipe), Some(input)) => pipe.write_all(&input),
                _ => io::Result::Ok(()),
            };
            let writer = std::thread::Builder::new().spawn(writes).inspect_err(|_| {
                let _ = child.kill().and_then(|()| child.wait());
            })?;
            let output = child.wait_with_output();
            // A git that reads no further says why itself.
            let _ = writer.join();
            output
        });
        output.map_err(|error| GitError::Failed { what: what(args), why: error.to_string() })
    }
}

/// Variables that name programs for git to start.
const NOT_FOR_GIT: [&str; 3] = ["GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PAGER"];

fn what(args: &[&str]) -> String {
    args.first().copied().unwrap_or_default().to_owned()
}

pub(super) fn failed(args: &[&str], output: &Output) -> GitError {
    let said = String::from_utf8_lossy(&output.stderr);
    let why = match said.trim() {
        "" => format!("it ended with {}", output.status),
        said => said.to_owned(),
    };
    GitError::Failed { what: what(args), why }
}
