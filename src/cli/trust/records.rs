//! Records for an auditor: when projects and keys were accepted and what of them, and whence
//! bundles, MCP servers and imported skills came.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::allow::{Allowed, allowed};
use super::{document_id, list};
use crate::base::Timestamp;
use crate::base::text::escape_line;
use crate::bundle::{BundleState, InstalledBundles};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::show::came_signed_by;
use crate::diagnostic::{Failure, Style};
use crate::id::{Fingerprint, Kind, Query, Ref, Space};
use crate::parse::Item;
use crate::plan::MCP_TOOL;
use crate::rye::{Described, Rye};
use crate::space::ProjectIdentity;
use crate::verify::{ProjectApproval, TrustDocument, approval, signed_at};

/// See the module.
#[derive(Serialize)]
struct Records {
    projects: Vec<AcceptedProjectRow>,
    keys: Vec<KeyRow>,
    allowed: Vec<Value>,
    bundles: Vec<Value>,
    mcp_servers: Vec<ServerRow>,
    signed_before: Vec<SignedBeforeRow>,
}

/// A project that you accepted.
#[derive(Serialize)]
struct AcceptedProjectRow {
    path: String,
    /// The folder there is still the one that you accepted.
    counts: bool,
    /// When the acceptance was signed last; a rotation of your key signs it anew.
    signed_at: Option<Timestamp>,
    /// The content when you accepted it; an earlier rye did not record it.
    approval: Option<ProjectApproval>,
}

/// A key that you trust.
#[derive(Serialize)]
struct KeyRow {
    fingerprint: Fingerprint,
    owner: Option<String>,
    signed_at: Option<Timestamp>,
    covers: Option<String>,
}

/// An MCP server whose tools lie here as signed items.
#[derive(Serialize)]
struct ServerRow {
    /// The command that starts it, or its address.
    server: String,
    space: Space,
    items: usize,
    /// The latest signature of one of them.
    signed_at: Option<Timestamp>,
    signers: Vec<Fingerprint>,
}

/// An item that came signed by others when it was imported.
#[derive(Serialize)]
struct SignedBeforeRow {
    item_id: Ref,
    space: Space,
    /// Who signed it then, by the word of the item's signer.
    by: String,
    signer: Option<Fingerprint>,
    signed_at: Option<Timestamp>,
}

/// `rye trust list --records`.
pub(super) fn run(rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    let records = Records {
        projects: projects(rye)?,
        keys: keys(rye)?,
        allowed: allowed(rye)?.iter().map(Allowed::to_json).collect(),
        bundles: bundles(rye)?,
        mcp_servers: servers(rye)?,
        signed_before: signed_before(rye)?,
    };
    if out.is_json() {
        out.success(json!({"records": records}));
    } else {
        show(&records, out);
    }
    Ok(Exit::DONE)
}

fn projects(rye: &Rye) -> Result<Vec<AcceptedProjectRow>, Failure> {
    let trust = rye.trust();
    let mut rows = Vec::new();
    for entry in rye.items().list(Space::User, Kind::Config)? {
        let id = &entry.item.id;
        if id.folder() != "keys/projects" || entry.ext != "toml" {
            continue;
        }
        // What cannot be read counts for nothing; `rye doctor` tells it.
        let Ok(Some(project)) = trust.record::<ProjectIdentity>(id) else { continue };
        rows.push(AcceptedProjectRow {
            path: project.path.display().to_string(),
            counts: ProjectIdentity::read(&project.path).is_ok_and(|now| project.is(&now)),
            signed_at: signed_at(&trust, id),
            approval: approval(&trust, &project.path).ok().flatten(),
        });
    }
    rows.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(rows)
}

fn keys(rye: &Rye) -> Result<Vec<KeyRow>, Failure> {
    let trust = rye.trust();
    let row = |fingerprint| {
        let document = trust.document(fingerprint).ok().flatten();
        Ok(KeyRow {
            fingerprint,
            owner: document.as_ref().map(|document| document.owner.clone()),
            signed_at: signed_at(&trust, &document_id("trusted", fingerprint)?),
            covers: document.as_ref().map(TrustDocument::covers_everywhere),
        })
    };
    list::documents(rye, "trusted")?.into_iter().map(row).collect()
}

fn bundles(rye: &Rye) -> Result<Vec<Value>, Failure> {
    let row = |bundle: crate::bundle::InstalledBundle| match bundle.state {
        BundleState::Readable { manifest, key, owner, installed_at, installed_from, .. } => json!({
            "name": bundle.name, "version": manifest.about().version, "signer": key,
            "owner": owner, "packed_at": manifest.about().packed_at,
            "installed_at": installed_at, "installed_from": installed_from,
        }),
        BundleState::Unreadable(why) => json!({"name": bundle.name, "unusable": why}),
    };
    Ok(InstalledBundles::new(rye)?.list().into_iter().map(row).collect())
}

/// The items of a space that can be read.
fn verified(
    rye: &Rye,
    space: Space,
    kind: Kind,
) -> Result<impl Iterator<Item = Described>, Failure> {
    let entries = rye.items().list(space, kind)?;
    let query = |entry: crate::space::Entry| Query {
        space: Some(space),
        bundle: entry.bundle,
        ..entry.item.into()
    };
    let described = rye.items().describe_all(entries.into_iter().map(query).collect());
    Ok(described.into_iter().flatten())
}

/// Items of the project and of the user space that came signed by others.
fn signed_before(rye: &Rye) -> Result<Vec<SignedBeforeRow>, Failure> {
    let mut rows = Vec::new();
    for (space, kind) in [Space::Project, Space::User]
        .into_iter()
        .flat_map(|space| [(space, Kind::Directive), (space, Kind::Tool)])
    {
        let came = verified(rye, space, kind)?.filter_map(|described| {
            let by = came_signed_by(&described)?;
            let (item_id, signer) = (described.detail.item.clone(), described.detail.signer);
            Some(SignedBeforeRow { item_id, space, by, signer, signed_at: described.signed_at })
        });
        rows.extend(came);
    }
    Ok(rows)
}

/// Those of the project and of the user space, as their verified items name them.
fn servers(rye: &Rye) -> Result<Vec<ServerRow>, Failure> {
    let mut rows: BTreeMap<(String, Space), ServerRow> = BTreeMap::new();
    for space in [Space::Project, Space::User] {
        for item in verified(rye, space, Kind::Tool)? {
            let Item::Tool(tool) = &item.item else { continue };
            if tool.executor.as_ref().is_none_or(|executor| executor.as_str() != MCP_TOOL) {
                continue;
            }
            let mut reach = item.item.reach().rows().into_iter();
            let server = reach.find(|(what, _)| matches!(*what, "starts" | "calls"));
            let Some((_, server)) = server else { continue };
            let new = ServerRow {
                server: server.clone(),
                space,
                items: 0,
                signed_at: None,
                signers: Vec::new(),
            };
            let row = rows.entry((server, space)).or_insert(new);
            row.items += 1;
            row.signed_at = row.signed_at.max(item.signed_at);
            row.signers.extend(item.detail.signer);
            row.signers.sort_unstable();
            row.signers.dedup();
        }
    }
    Ok(rows.into_values().collect())
}

fn show(records: &Records, out: &mut Out) {
    let time = |at: Option<Timestamp>| at.map_or("at an unknown time".into(), |at| at.to_string());
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let title = out.paint().style(Style::Strong, title);
            out.line(&title);
            for line in lines {
                out.line(&format!("  {line}"));
            }
        }
    };
    let project = |row: &AcceptedProjectRow| {
        let mut lines = vec![format!("`{}`", escape_line(&row.path))];
        if !row.counts {
            lines.push("  another folder lies there now, or none: it counts no more".into());
        }
        match &row.approval {
            Some(approval) => {
                lines.push(format!("  accepted {} by rye {}", approval.at, approval.rye));
                if approval.first_at != approval.at {
                    lines.push(format!("  first accepted {}", approval.first_at));
                }
                lines.push(format!("  {} items then", approval.count));
                lines.push(format!("  sha256 {}", approval.sha256));
            }
            None => lines.push(format!(
                "  accepted {}; what was there then was not recorded",
                time(row.signed_at)
            )),
        }
        lines
    };
    part("projects that you accepted", records.projects.iter().flat_map(project).collect());
    let key = |row: &KeyRow| {
        let owner = row.owner.as_deref().map(escape_line).unwrap_or_default();
        let covers = row.covers.as_deref().map(escape_line).unwrap_or_default();
        vec![
            format!("{} `{owner}`", row.fingerprint),
            format!("  accepted {}, for {covers}", time(row.signed_at)),
        ]
    };
    part("keys that you trust", records.keys.iter().flat_map(key).collect());
    let text = |row: &Value, key: &str| {
        row.get(key).and_then(Value::as_str).map(escape_line).unwrap_or_default()
    };
    let let_in = |row: &Value| {
        let (what, path, at) = (text(row, "what"), text(row, "path"), text(row, "signed_at"));
        format!("{what} `{path}`  {at}")
    };
    part("what you let in of projects", records.allowed.iter().map(let_in).collect());
    let bundle = |row: &Value| {
        let of = |key| text(row, key);
        if row.get("unusable").is_some() {
            return vec![format!("{}  {}", of("name"), of("unusable"))];
        }
        let from = match row.get("installed_from").and_then(Value::as_str) {
            Some(from) => format!(" from `{}`", escape_line(from)),
            None => String::new(),
        };
        vec![
            format!("{} {} of `{}` {}", of("name"), of("version"), of("owner"), of("signer")),
            format!("  installed {}{from}", of("installed_at")),
        ]
    };
    part("bundles", records.bundles.iter().flat_map(bundle).collect());
    let server = |row: &ServerRow| {
        let signers: Vec<String> = row.signers.iter().map(Fingerprint::short).collect();
        let items = if row.items == 1 { "1 tool".into() } else { format!("{} tools", row.items) };
        let (at, space) = (time(row.signed_at), row.space.as_str());
        vec![
            format!("`{}`", escape_line(&row.server)),
            format!("  {items} in {space}, signed by {}, last {at}", signers.join(", ")),
        ]
    };
    part("MCP servers", records.mcp_servers.iter().flat_map(server).collect());
    let before = |row: &SignedBeforeRow| {
        let signer = row.signer.map_or("nobody".into(), |signer| signer.short());
        let (at, space) = (time(row.signed_at), row.space.as_str());
        vec![
            format!("{} in {space}", row.item_id),
            format!("  came signed by {}, as {signer} says {at}", row.by),
        ]
    };
    part(
        "items that others signed before",
        records.signed_before.iter().flat_map(before).collect(),
    );
}
