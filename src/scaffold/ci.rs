//! A workflow for CI, which judges a project by keys that it names.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use super::error::AuthorError;
use crate::base::bytes::{Bounded, read_plain, refuse_links, write_new};
use crate::base::limits::ITEM_BYTES;
use crate::base::text::shell_word;
use crate::diagnostic::{Failure, Place};
use crate::id::{Fingerprint, Space};
use crate::rye::{ReviewedItem, Rye, SignerIs, now};
use crate::verify::{KeyStatus, PublicKey};

/// The service that runs the workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CiService {
    GitHub,
    GitLab,
    /// Anything that can run a script.
    Shell,
}

impl CiService {
    pub(crate) const ALL: [Self; 3] = [Self::GitHub, Self::GitLab, Self::Shell];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Shell => "shell",
        }
    }

    /// The service whose files the project holds, else a script; and what was seen.
    fn of_project(rye: &Rye) -> (Self, &'static str) {
        let has = |name: &str| rye.spaces().project_path().join(name).exists();
        match () {
            () if has(".github") => (Self::GitHub, "the project has `.github`"),
            () if has(".gitlab-ci.yml") => (Self::GitLab, "the project has `.gitlab-ci.yml`"),
            () if has(".gitlab") => (Self::GitLab, "the project has `.gitlab`"),
            () => (Self::Shell, "the project has no `.github`, `.gitlab-ci.yml` or `.gitlab`"),
        }
    }

    /// Where the file lies in the project, what it begins as, and the file's mode.
    fn file(self, rye: &Rye) -> (&'static str, &'static str, u32) {
        let root = rye.spaces().project_path();
        match self {
            Self::GitHub => (GITHUB, include_str!("templates/ci.github.yml"), 0o644),
            Self::GitLab => {
                let is_first = !root.join(".gitlab-ci.yml").exists();
                let path = if is_first { GITLAB } else { GITLAB_INCLUDED };
                (path, include_str!("templates/ci.gitlab.yml"), 0o644)
            }
            Self::Shell => (SHELL, include_str!("templates/ci.sh"), 0o755),
        }
    }

    /// A command as a step of the file; in a block of YAML a line means itself, whatever it holds.
    fn step(self, command: &str) -> String {
        match self {
            Self::GitHub => format!("      - run: |\n          {command}"),
            Self::GitLab => format!("    - |\n      {command}"),
            Self::Shell => command.to_owned(),
        }
    }
}

/// A command for a step of a workflow: one line, of characters that every reader takes for part of
/// it.
#[derive(Debug, Clone)]
pub(crate) struct Install(String);

impl FromStr for Install {
    type Err = &'static str;

    fn from_str(command: &str) -> Result<Self, Self::Err> {
        // The last three end a line for some readers of YAML, or are dropped.
        let is_odd = |c: char| c.is_control() || "\u{2028}\u{2029}\u{feff}".contains(c);
        match command.trim() {
            "" => Err("there is no command in it"),
            command if command.contains(is_odd) => {
                Err("not one line of plain characters; join two commands with `&&`")
            }
            command => Ok(Self(command.to_owned())),
        }
    }
}

/// The first step, which puts rye on the path; without a command it ends the workflow where rye is
/// not there.
fn first_step(service: CiService, install: Option<&Install>) -> String {
    let Some(Install(command)) = install else { return service.step(NO_RYE) };
    match service {
        CiService::GitHub => service.step(command),
        // The steps are one script: a quote or a `<<` that is left open takes no later step in.
        CiService::GitLab | CiService::Shell => {
            service.step(&format!("eval {}", shell_word(command)))
        }
    }
}

const NO_RYE: &str = "command -v rye || { echo 'rye is not on this runner: write the command \
                      that installs it in the place of this line' >&2; exit 1; }";

/// Where [`workflow`] writes.
const PATHS: [&str; 4] = [GITHUB, GITLAB, GITLAB_INCLUDED, SHELL];
const GITHUB: &str = ".github/workflows/rye.yml";
const GITLAB: &str = ".gitlab-ci.yml";
const GITLAB_INCLUDED: &str = ".gitlab/rye.yml";
const SHELL: &str = "ci/rye.sh";

/// The workflows of this project that name a key, where `rye new ci` puts them.
pub(crate) fn workflows_with(key: Fingerprint, rye: &Rye) -> Vec<String> {
    let name = key.to_string();
    workflows(rye, |text| text.contains(&name))
}

/// The workflows of this project that name keys, and not this one.
pub(crate) fn workflows_without(key: Fingerprint, rye: &Rye) -> Vec<String> {
    let name = key.to_string();
    let is_key = |word: &str| word.parse::<Fingerprint>().is_ok();
    workflows(rye, |text| {
        let mut words = text.split_whitespace();
        text.contains("--trust") && words.any(is_key) && !text.contains(&name)
    })
}

fn workflows(rye: &Rye, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let project = rye.spaces().project_path();
    let is_meant = |path: &&str| match read_plain(&project.join(path), ITEM_BYTES) {
        Ok(Bounded::All(bytes)) => is_meant(&String::from_utf8_lossy(&bytes)),
        _ => false,
    };
    PATHS.into_iter().filter(is_meant).map(str::to_owned).collect()
}

/// A workflow that was written.
#[derive(Debug)]
pub(crate) struct Workflow {
    pub(crate) service: CiService,
    /// Why it is this service, where none was named.
    pub(crate) because: Option<&'static str>,
    pub(crate) path: String,
    pub(crate) text: String,
    /// The keys that it names: yours, and those you trust that sign here.
    pub(crate) keys: Vec<Fingerprint>,
    /// Those of them that the project does not propose, so that the check cannot find them.
    pub(crate) unproposed: Vec<Fingerprint>,
}

/// Writes a workflow into the project; without a service, for the one that it seems to use.
/// `install` is the command that puts rye on the path of the runner.
///
/// # Errors
/// `author.exists`, `author.io`; `author.no_signer` where no key could be named.
pub(crate) fn workflow(
    rye: &Rye,
    service: Option<CiService>,
    install: Option<&Install>,
) -> Result<Workflow, Failure> {
    let (service, because) = match service {
        Some(service) => (service, None),
        None => {
            let (service, why) = CiService::of_project(rye);
            (service, Some(why))
        }
    };
    let review = rye.project().review()?;
    // Only keys that let something in here: a signature can be copied from another project.
    let counts = |item: &&ReviewedItem| {
        item.signer_is == SignerIs::Known
            && item.out_of_scope.is_none()
            && !(item.altered || item.forged)
    };
    let here = rye.spaces().project_identity();
    let is_over = |key: &Fingerprint| match rye.trust().key_status(*key, here) {
        Ok(KeyStatus::Key(trusted)) => trusted.not_after.is_some_and(|at| at < now()),
        // A dev key is good for half a day, on one machine.
        _ => true,
    };
    let signers = review.items.iter().filter(counts).filter_map(|item| item.signer);
    let mut keys: Vec<Fingerprint> =
        signers.map(|(key, _)| key).filter(|key| !is_over(key)).collect();
    keys.extend(rye.trust().own().ok().flatten().map(PublicKey::fingerprint));
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Err(AuthorError::NoSigner.into());
    }
    let proposed: Vec<Fingerprint> = review
        .proposals
        .iter()
        .filter_map(|proposal| proposal.document.as_ref().ok())
        .map(|document| document.fingerprint)
        .collect();
    let unproposed = keys.iter().copied().filter(|key| !proposed.contains(key)).collect();
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let trust = format!("--trust {}", names.join(" "));
    let has_lock =
        rye.spaces().get(Space::Project).is_some_and(|root| root.path("rye.lock").exists());
    let (path, text, mode) = service.file(rye);
    let mut commands = vec!["rye --version".to_owned(), format!("rye verify --ci {trust}")];
    if has_lock {
        commands.push(format!("rye verify --ci --locked {trust}"));
    }
    let steps: Vec<String> = commands.iter().map(|command| service.step(command)).collect();
    // The command comes last: nothing that it holds is a place of the template.
    let text = text.replace("{{commands}}", &steps.join("\n"));
    let text = text.replace("{{install}}", &first_step(service, install));
    let file = rye.spaces().project_path().join(path);
    let place = Place { path: path.to_owned(), ..Place::default() };
    let written = refuse_links(rye.spaces().project_path(), Path::new(path));
    let written = written.and_then(|()| file.parent().map_or(Ok(()), fs::create_dir_all));
    let written = written.and_then(|()| write_new(&file, text.as_bytes(), mode));
    match written {
        Ok(()) => Ok(Workflow { service, because, path: path.to_owned(), text, keys, unproposed }),
        Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(AuthorError::WorkflowExists { place, trust }.into())
        }
        Err(source) => Err(AuthorError::Io { place, source }.into()),
    }
}
