//! Folders of packages that the person let in for the tool's own code (core 7.9).
//!
//! They are looked for where the language would look, from the tool's own folder up to the folder
//! of its space, and in no other space: a tool of yours never picks up a project's packages. rye
//! does not verify what lies in them; they are shown as `external`.

use std::path::PathBuf;

use super::program::quoted;
use crate::chain::Chain;
use crate::id::Space;
use crate::plan::context::PlanContext;
use crate::space::ProjectIdentity;
use crate::trace::SkippedPath;
use crate::verify::Permit;

/// The folders named `name` that a record of yours lets in, nearest first, and those that are there
/// and are passed over.
pub(in crate::plan) fn find(
    chain: &Chain,
    machine: &PlanContext<'_>,
    name: &str,
) -> (Vec<PathBuf>, Vec<SkippedPath>) {
    let (mut allowed, mut passed) = (Vec::new(), Vec::new());
    let tool = &chain.tool().source;
    if tool.space() == Space::System {
        return (allowed, passed);
    }
    let folders = tool.path().ancestors().skip(1).take_while(|f| f.starts_with(tool.base()));
    for folder in folders.map(|folder| folder.join(name)) {
        if !machine.host.is_folder(&folder) {
            continue;
        }
        let Ok(identity) = ProjectIdentity::read(&folder) else { continue };
        let why = match machine.trust.permits_deps(&identity) {
            Permit::Given if identity.path.to_str().is_some() => {
                allowed.push(identity.path);
                continue;
            }
            Permit::Stale(why) => format!("you allowed it, but {why}"),
            _ => "it is not signed, and you have not allowed it".to_owned(),
        };
        let help = Some(format!("rye trust allow-deps {}", quoted(&folder)));
        passed.push(SkippedPath { path: folder.display().to_string(), why, help });
    }
    (allowed, passed)
}
