//! `verify_deps`: every module in reach of the tool is covered by a signature (core 7.8).

use super::plan_source::PlanSource;
use super::tree::{Anchored, join};
use crate::base::limits::PARTS;
use crate::chain::Chain;
use crate::diagnostic::Failure;
use crate::id::Kind;
use crate::parse::{DepsScope, VerifyDeps};
use crate::space::is_test_spec;
use crate::trace::{Event, Sink};
use crate::verify::{PartFinding, PartsRoot, Source};

/// The modules of the chain's tool that carry a signature line of their own, as the nearest link's
/// `verify_deps` asks for them.
///
/// # Errors
/// `verify.dependency` with every file that no signature covers; what such a file is refused with.
pub(super) fn modules(
    chain: &Chain,
    anchored: Option<&Anchored<'_>>,
    plan_source: &dyn PlanSource,
    sink: &dyn Sink,
) -> Result<Vec<Source>, Failure> {
    let asked = chain.links().iter().find_map(|link| link.tool.verify_deps.as_ref());
    let Some(asked) = asked.filter(|deps| deps.scope != DepsScope::ToolFile) else {
        return Ok(Vec::new());
    };
    let tool = &chain.tool().source;
    let root = match (asked.scope, anchored) {
        (DepsScope::Anchor, Some(anchored)) => anchored.anchor.root,
        _ => PartsRoot::ToolDir,
    };
    let Some((folder, own)) = plan_source.parts_folder(tool, root)? else {
        return Err(refused(tool, vec![PartFinding::NoFolder]));
    };
    let recursive = asked.recursive && asked.scope != DepsScope::ToolSiblings;
    let walked = folder.walk("", &|path| recursive && enters(asked, path));
    let walked = walked.ok_or_else(|| refused(tool, vec![PartFinding::TooMany]))?;
    let whole = tool.path_below_base();
    let folder_of = |root: PartsRoot| root.folder(&whole, tool.space()).unwrap_or_default();
    let listed = chain.tool().tool.files.as_ref().map_or(PartsRoot::ToolDir, |l| l.root);
    let listed = folder_of(listed);
    let covered: Vec<String> =
        tool.parts().iter().map(|part| join(listed, part.path.as_str())).collect();
    let (mut sources, mut findings, mut files) = (Vec::new(), Vec::new(), 0);
    for file in walked.into_iter().filter(|file| file.path != own && wants(asked, &file.path)) {
        files += 1;
        let path = join(folder_of(root), &file.path);
        if covered.contains(&path) {
            continue;
        }
        if !file.is_file {
            findings.push(PartFinding::Unusable(file.path));
            continue;
        }
        match plan_source.admit_beside(tool, &path)? {
            Some(source) => sources.push(source),
            None => findings.push(PartFinding::Uncovered(file.path)),
        }
    }
    if sources.len() > PARTS {
        findings.push(PartFinding::TooMany);
    }
    if !findings.is_empty() {
        return Err(refused(tool, findings));
    }
    sink.record(Event::VerifyDeps { files });
    Ok(sources)
}

/// Says if `asked` covers this file below the folder where it begins.
pub(crate) fn asks_about(asked: &VerifyDeps, below: &str) -> bool {
    let folders = below.rsplit_once('/').map_or("", |(folders, _)| folders);
    let recursive = asked.recursive && asked.scope != DepsScope::ToolSiblings;
    let is_entered = recursive && folders.split('/').all(|folder| enters(asked, folder));
    asked.scope != DepsScope::ToolFile && (folders.is_empty() || is_entered) && wants(asked, below)
}

fn refused(tool: &Source, findings: Vec<PartFinding>) -> Failure {
    tool.lacking(findings).into()
}

fn enters(asked: &VerifyDeps, folder: &str) -> bool {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    !name.starts_with('.') && !asked.exclude_dirs.iter().any(|excluded| excluded == name)
}

/// Returns true if the file belongs to the modules of the tool. A hidden file cannot be imported by
/// name, and is never put beside the tool.
fn wants(asked: &VerifyDeps, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ext = name.rsplit_once('.').map_or("", |(_, ext)| ext);
    // A spec is never loaded: it says how the tool is tested, and no copy of it is made.
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if is_test_spec(Kind::Tool, stem, ext) {
        return false;
    }
    let of_kind = asked.extensions.is_empty() || asked.extensions.iter().any(|e| e == ext);
    of_kind && !name.starts_with('.')
}
