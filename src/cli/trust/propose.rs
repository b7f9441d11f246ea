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
use crate::id::{Fingerprint, Space};
use crate::rye::Rye;
use crate::space::Root;
use crate::verify::{KeyError, OwnKeys, Proposal, PublicKey, TrustDocument, TrustError, proposals};

/// The folder of a project's proposals, below its `.ai`.
const FOLDER: &str = "config/keys/trusted";

/// # Errors
/// `key.missing`; `cli.usage` without a project or a usable owner; `space.symlink` where a folder
/// on the way is a link; `trust.io`.
pub(super) fn run(
    owner: Option<&str>,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let project = rye.spaces().get(Space::Project).filter(|root| root.exists());
    let Some(project) = project else {
        let message = "there is no project here that your key could be proposed in".to_owned();
        let help = Some("set one up with `rye init`".to_owned());
        return Err(CliError::Usage { message, help }.into());
    };
    let public = OwnKeys::new(rye.spaces().user()?).find_public()?.ok_or(KeyError::Missing)?;
    let key = public.fingerprint();
    let proposed = proposals(project);
    // Your key's own proposal, or that of one that you replaced.
    let trust = rye.trust();
    let documents = || proposed.iter().filter_map(|proposal| proposal.document.as_ref().ok());
    let known = documents().find(|document| document.fingerprint == key);
    let known = known.or_else(|| documents().find(|d| trust.is_yours(d.fingerprint)));
    let vars = &rye.located().vars;
    let login = || vars.text("USER").or_else(|| vars.text("LOGNAME"));
    let owner = owner.or(known.map(|document| document.owner.as_str())).or_else(login);
    let Some(owner) = owner.filter(|owner| !owner.trim().is_empty()) else {
        let message = "nothing says whose key it is".to_owned();
        let help = Some("say so: `rye trust propose --owner NAME`".to_owned());
        return Err(CliError::Usage { message, help }.into());
    };
    let text = TrustDocument::new(public, owner.to_owned()).to_toml();
    TrustDocument::parse(&text)
        .map_err(|why| CliError::Usage { message: why.to_string(), help: None })?;
    confirm("propose your public key here", &key.to_string(), context, out)?;
    let path = write(project, key, &text)?;
    let replaced = replaced(&proposed, key, rye);
    if out.is_json() {
        out.success(json!({
            "fingerprint": key, "owner": owner, "path": path, "document": text,
            "replaced": replaced,
        }));
        return Ok(Exit::DONE);
    }
    out.line(&format!("proposed `{}` {key}", escape_line(owner)));
    out.line(&format!("  in {path}"));
    out.line(&format!(
        "next: commit that file; the others read it with `rye trust review` and let your key in\n      \
         with `rye trust accept {key}`; tell them the\n      \
         fingerprint in another way too, so that they can compare"
    ));
    for old in replaced {
        let old = escape_line(&old);
        out.line(&format!("`{old}` proposes a key that you replaced: remove it once nothing here"));
        out.line("      is signed by that key");
    }
    Ok(Exit::DONE)
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

/// Whether you have a key, and this project does not propose it.
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
