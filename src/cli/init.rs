//! `rye init`: set a project up.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use serde_json::json;

use super::confirm::confirm;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::id::{Kind, Space};
use crate::verify::{KeyError, KeyPair, OwnKeys, TrustError};

/// Set up the working directory as a project: folders, your key, and your acceptance
///
/// Files that lie there already, such as in a clone of another person's project, are shown first,
/// and you are asked; that takes a person at a terminal, and `--yes` does not answer it.
#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let user = rye.spaces().user()?;
    let Some(project) = rye.spaces().get(Space::Project) else {
        let message = "this folder is or holds your user space, so it is not a project".to_owned();
        let help = Some("go to a folder of the project's own".to_owned());
        return Err(CliError::Usage { message, help }.into());
    };
    let path = rye.spaces().project_path().display().to_string();
    confirm(&format!("set up `{path}` as a project"), "", context, out)?;
    let keys = OwnKeys::new(user);
    let known = match keys.pair() {
        Ok(_) => Some(rye.signing().own_pair()?),
        Err(KeyError::Missing) => None,
        Err(other) => return Err(other.into()),
    };
    super::acceptance::accept_first(&rye, &[], &[], out)?;
    let mut made = Vec::new();
    for kind in [Kind::Tool, Kind::Directive, Kind::Knowledge] {
        let folder = project.path(kind.folder());
        if !folder.is_dir() {
            // Whatever the umask is: a folder that others may write would be refused.
            let made_so = DirBuilder::new().recursive(true).mode(0o755).create(&folder);
            made_so.map_err(|source| TrustError::Io { path: folder.clone(), source })?;
            made.push(format!(".ai/{}", kind.folder()));
        }
    }
    let (pair, fresh_key) = match known {
        Some(pair) => (pair, false),
        None => {
            let failed = |source| KeyError::Io { path: keys.folder(), source };
            let pair = KeyPair::generate().map_err(failed)?;
            keys.store(&pair)?;
            (pair, true)
        }
    };
    // The folders may be new, so the project is found again.
    let rye = context.rye()?;
    let accepted = rye.project().accept(&pair)?;
    if crate::git::ignore_secrets(rye.spaces().project_path())? {
        made.push(".gitignore".to_owned());
    }
    let has_unknown = rye.project().has_unknown_signers()?;
    let fingerprint = pair.public().fingerprint();
    if out.is_json() {
        out.success(json!({
            "project": path, "made": made, "fingerprint": fingerprint, "key_generated": fresh_key,
            "accepted": accepted, "has_unknown_signers": has_unknown,
        }));
        return Ok(Exit::DONE);
    }
    out.line(&format!("project  {}", escape_line(&path)));
    for folder in &made {
        let slash = if folder.starts_with(".ai/") { "/" } else { "" };
        out.line(&format!("made     {folder}{slash}"));
    }
    let how = if fresh_key { "generated" } else { "there already" };
    out.line(&format!("key      {fingerprint}  ({how})"));
    out.line(&format!("accepted {}", if accepted { "from here on" } else { "already" }));
    let is_below = context.common.project.is_none() && context.located().cwd != Path::new(&path);
    if is_below {
        out.line("to make this folder a project of its own: `rye init -p .`");
    }
    out.line("");
    if has_unknown {
        out.line(super::trust::UNKNOWN_SIGNERS);
        return Ok(Exit::DONE);
    }
    out.line(
        "next: `rye new tool hello` writes a first tool; read it, sign it with `rye sign tool:hello`,\n      \
         run it with `rye run tool:hello` (more: `rye fetch knowledge:rye/tools`)",
    );
    Ok(Exit::DONE)
}
