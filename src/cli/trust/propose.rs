//! `rye trust propose`: your public key, where others of the project find it.

use std::fs;

use serde_json::json;

use crate::base::bytes::write_atomic;
use crate::base::text::escape_line;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::git::global_user_name;
use crate::id::{Fingerprint, Space};
use crate::rye::Rye;
use crate::scaffold::workflows_without;
use crate::space::Root;
use crate::verify::{KeyError, OwnKeys, Proposal, PublicKey, TrustDocument, TrustError, proposals};

/// The folder of a project's proposals, below its `.ai`.
const FOLDER: &str = "config/keys/trusted";

/// # Errors
/// `space.no_project`, `key.missing`; `cli.usage` without a usable owner; `space.symlink` where a
/// folder on the way is a link; `trust.io`.
pub(super) fn run(
    owner: Option<&str>,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let project = rye.spaces().project()?;
    let public = OwnKeys::new(rye.spaces().user()?).find_public()?.ok_or(KeyError::Missing)?;
    let key = public.fingerprint();
    let proposed = proposals(project);
    // Your key's own proposal, or that of one that you replaced.
    let trust = rye.trust();
    let documents = || proposed.iter().filter_map(|proposal| proposal.document.as_ref().ok());
    let known = documents().find(|document| document.fingerprint == key);
    let known = known.or_else(|| documents().find(|d| trust.is_yours(d.fingerprint)));
    let vars = &rye.located().vars;
    let said = |from: &'static str, name: Option<&str>| {
        name.filter(|name| !name.trim().is_empty()).map(|name| (name.to_owned(), from))
    };
    let in_git = || global_user_name(rye.spaces().project_path());
    let unsaid = || {
        said("proposal", known.map(|document| document.owner.as_str()))
            .or_else(|| said("$USER", vars.text("USER")))
            .or_else(|| said("$LOGNAME", vars.text("LOGNAME")))
            .or_else(|| said("git config --global user.name", in_git().as_deref()))
    };
    let named = if owner.is_some() { said("--owner", owner) } else { unsaid() };
    let Some((owner, owner_from)) = named else {
        let message = "nothing says whose key it is".to_owned();
        let help = Some("say so: `rye trust propose --owner NAME`".to_owned());
        return Err(CliError::Usage { message, help }.into());
    };
    let text = TrustDocument::new(public, owner.clone()).to_toml();
    TrustDocument::parse(&text)
        .map_err(|why| CliError::Usage { message: why.to_string(), help: None })?;
    confirm("propose your public key here", &key.to_string(), context, out)?;
    let path = write(project, key, &text)?;
    let replaced = replaced(&proposed, key, rye);
    let without_it = workflows_without(key, rye);
    if out.is_json() {
        out.success(json!({
            "fingerprint": key, "owner": owner, "owner_from": owner_from, "path": path, "document": text,
            "replaced": replaced, "workflows_without_it": without_it,
        }));
        return Ok(Exit::DONE);
    }
    out.line(&format!("proposed `{}` {key}", escape_line(&owner)));
    out.line(&format!("  in {path}"));
    if owner_from != "--owner" {
        let from = match owner_from {
            "proposal" => "the earlier proposal".to_owned(),
            from => format!("`{from}`"),
        };
        out.line(&format!("  the name is from {from}; `--owner NAME` says another"));
    }
    out.line(&format!(
        "next: commit that file; the others read it with `rye trust review` and let your key in \
         with `rye trust accept {key}`; tell them the fingerprint in another way too, so that they \
         can compare"
    ));
    name_workflows(&without_it, key, out);
    for old in replaced {
        let old = escape_line(&old);
        out.line(&format!(
            "`{old}` proposes a key that you replaced: remove it once nothing here is signed by \
             that key"
        ));
    }
    Ok(Exit::DONE)
}

/// Says which workflows of CI do not let in yet what the key signs.
pub(super) fn name_workflows(paths: &[String], key: Fingerprint, out: &mut Out) {
    for path in paths {
        out.line(&format!(
            "`{path}` names the keys that count in CI, and not this one: add {key} behind each \
             `--trust` there, and commit it"
        ));
    }
}

/// The paths of proposals of keys that were yours before.
fn replaced(proposed: &[Proposal], own: Fingerprint, rye: &Rye) -> Vec<String> {
    let trust = rye.trust();
    let is_old = |proposal: &&Proposal| {
        let key = proposal.document.as_ref().map(|document| document.fingerprint);
        key.is_ok_and(|key| key != own && trust.is_yours(key))
    };
    proposed.iter().filter(is_old).map(|proposal| proposal.path.clone()).collect()
}

/// Returns true if you have a key, and this project does not propose it.
pub(in crate::cli) fn is_unproposed(rye: &Rye) -> bool {
    let trust = rye.trust();
    let own = trust.own().ok().flatten().map(PublicKey::fingerprint);
    let proposed = rye.spaces().get(Space::Project).map(proposals).unwrap_or_default();
    let mut documents = proposed.iter().filter_map(|proposal| proposal.document.as_ref().ok());
    own.is_some_and(|own| !documents.any(|document| document.fingerprint == own))
}

fn write(project: &Root, key: Fingerprint, text: &str) -> Result<String, Failure> {
    // Says so if one of the folders on the way is a link.
    project.folder(FOLDER)?;
    let (folder, relative) = (project.path(FOLDER), format!("{FOLDER}/{key}.toml"));
    let path = project.path(&relative);
    let written =
        fs::create_dir_all(&folder).and_then(|()| write_atomic(&path, text.as_bytes(), 0o644));
    written.map_err(|source| TrustError::Io { path, source })?;
    Ok(format!(".ai/{relative}"))
}
