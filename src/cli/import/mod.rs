//! `rye import`: turns files of other programs into items.

mod mcp;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::confirm::ask;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use crate::base::Digest;
use crate::base::bytes::{Bounded, open_named, read_at_most};
use crate::base::limits::ITEM_BYTES;
use crate::base::text::{escape, escape_line};
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::id::{ItemId, Space};
use crate::import::{
    Drafts, Import, ItemDraft, LeftOut, OlderFolder, OlderKey, Put, SkillRules, WantedSignature,
    Written, drafts, nothing, older_items, skill, write,
};
use crate::oms::{KnownSigner, OmsError, SignerIdentity, TrustedRoot};
use crate::resolve::Found;
use crate::rye::{SignReport, ToSign};

/// Turn what others wrote into signed items
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    format: Format,
}

#[derive(clap::Subcommand)]
enum Format {
    /// The programs that a `RuntimeConfig` of `PromptKit` binds: tools, evals and hooks
    ///
    /// Each becomes one item, with copies of the files of its command line. All of it is shown, and
    /// signed once you have said yes or gave `--yes`; without a terminal it is left unsigned. What
    /// a program loads by itself is not seen: name it in the item's `exec.files`.
    Runtimeconfig(RuntimeConfig),
    /// Items that are signed in the older form
    ///
    /// Each is checked by the rules of that form and shown with what those do not cover, such as
    /// the whole prompt of a directive. What they vouch for is signed anew once you have said yes
    /// or gave `--yes`; all else is told and left out. A key that the folder brings vouches for
    /// nothing.
    Rye(OlderItems),
    /// A skill of the Agent Skills format: a folder with `SKILL.md`
    ///
    /// It becomes a directive, and its files lie beside a tool of the same name, which gives them
    /// out: the signatures of the two cover all of it. `rye export skill` gives the skill back.
    ///
    /// A skill that others signed has `skill.oms.sig` in its folder (`OpenSSF` Model Signing). It
    /// is taken if one of your signers made that signature, and then just the files that it covers:
    /// `--signer` names them, or `import.signers` of your `config:rye/policy`. One of the method
    /// `sigstore` counts by the identity that an issuer vouches for, and by the trusted root that
    /// you give: rye asks nothing over the network.
    #[command(after_help = "examples:\n  rye import skill ./word-count\n  \
        rye import skill ./word-count --signer acme.pub.pem\n  \
        rye import skill ./word-count --signer-identity ann@acme.example \\\n    \
        --signer-issuer https://accounts.acme.example --trusted-root trusted_root.json")]
    Skill(SkillFolder),
    /// The tools of an MCP server
    ///
    /// The server is started, or asked, once. Each of its tools becomes one item that pins its
    /// name, title, description, schemas, annotations and icons, and how the server is reached:
    /// when one of them is another one later, the tool is not called. Name an exact version (`npx
    /// -y pkg@1.2.3`, `uvx pkg==1.2.3`), an image by its digest, or a file, which is copied and
    /// signed with the items.
    #[command(
        after_help = "examples:\n  rye import mcp --category time uvx mcp-server-time==2026.10.19\n  \
        rye import mcp --config ~/.cursor/mcp.json --only time\n  \
        rye import mcp --category tickets --secret ACME_TOKEN https://mcp.acme.example/mcp"
    )]
    Mcp(mcp::Args),
}

#[derive(clap::Args)]
struct RuntimeConfig {
    /// The configuration; paths in it are relative to its folder
    #[arg(value_name = "FILE")]
    config: PathBuf,
    /// The pack that describes the tools
    #[arg(long, value_name = "FILE")]
    pack: Option<PathBuf>,
    /// The folder of the items; evals go into `FOLDER/evals`, hooks into `hooks/FOLDER`
    #[arg(long, value_name = "FOLDER", default_value = "imported")]
    category: String,
    #[command(flatten)]
    to: To,
}

#[derive(clap::Args)]
struct OlderItems {
    /// The folder that holds `.ai`
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A public key that you vouch for, as PEM or in a document; may be repeated
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Also what no older signature vouches for; it is written and never signed with the rest
    #[arg(long)]
    unchecked: bool,
    /// The folder that the items are put into, such as `old`; by default each keeps its id, and
    /// what is below `rye/` is left out
    #[arg(long, value_name = "FOLDER")]
    category: Option<String>,
    #[command(flatten)]
    to: To,
}

#[derive(clap::Args)]
struct SkillFolder {
    /// The folder that holds `SKILL.md`
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The folder of the items
    #[arg(long, value_name = "FOLDER", default_value = "skills")]
    category: String,
    /// Take a skill that breaks rules of the format, with a remark for each: texts that are too
    /// long, a name that is not the folder's
    #[arg(long)]
    lenient: bool,
    /// The public key, as PEM, of a signer of the skill; may be repeated. Without a signature by
    /// one of them the skill is refused
    #[arg(long, value_name = "FILE", conflicts_with = "unchecked")]
    signer: Vec<PathBuf>,
    /// The address or the URI of the skill's signer, by the method `sigstore`
    #[arg(long, value_name = "IDENTITY", requires = "signer_issuer", conflicts_with = "unchecked")]
    signer_identity: Option<String>,
    /// Who vouched for that identity when it signed: the address of the issuer, `https://…`
    #[arg(long, value_name = "URL", requires = "signer_identity", conflicts_with = "unchecked")]
    signer_issuer: Option<String>,
    /// The authorities and logs of the method `sigstore`, the `trusted_root.json` of that service;
    /// by default `import.trusted_root` of your `config:rye/policy`
    #[arg(long, value_name = "FILE", conflicts_with = "unchecked")]
    trusted_root: Option<PathBuf>,
    /// The signature; by default `skill.oms.sig` in the folder
    #[arg(long, value_name = "FILE", conflicts_with = "unchecked")]
    signature: Option<PathBuf>,
    /// Leave out files that the signature does not cover, instead of refusing the skill
    #[arg(long, conflicts_with = "unchecked")]
    signed_only: bool,
    /// Take the skill as unsigned; its signature is not looked at
    #[arg(long)]
    unchecked: bool,
    #[command(flatten)]
    to: To,
}

/// Where items go.
#[derive(clap::Args)]
struct To {
    /// The space; by default the project
    #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
    space: Option<Space>,
    /// Write over what is there
    #[arg(long)]
    force: bool,
    /// Only show what would be written and signed
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.format {
        Format::Runtimeconfig(args) => runtimeconfig(args, context, out),
        Format::Rye(args) => older(args, context, out),
        Format::Skill(args) => {
            let rules = if args.lenient { SkillRules::Lenient } else { SkillRules::Strict };
            let wanted = wanted_signature(args, context)?;
            let category = args.category.parse::<ItemId>()?;
            let drafts = skill(&args.folder, &category, rules, &wanted)?;
            let left_out = Vec::new();
            Foreign { from: &args.folder, drafts, left_out, to: &args.to }.import(context, out)
        }
        Format::Mcp(args) => mcp::run(args, context, out),
    }
}

/// Whose signature the skill is to have: of the signers that are named, and of those whom the
/// person's policy lists.
fn wanted_signature(args: &SkillFolder, context: &Context) -> Result<WantedSignature, Failure> {
    let rye = context.rye()?;
    let trust = rye.trust();
    let policy = trust.policy()?.import();
    let mut signers = Vec::new();
    for path in &args.signer {
        let signer = KnownSigner::of_pem(None, &read(path)?);
        let path = path.display().to_string();
        signers.push(signer.map_err(|why| OmsError::Key { path, why })?);
    }
    if let (Some(identity), Some(issuer)) = (&args.signer_identity, &args.signer_issuer) {
        let who = SignerIdentity::new(identity, issuer).map_err(|why| CliError::Usage {
            message: format!("the signer {}", escape_line(&why)),
            help: Some("give an address or a URI, and the issuer as `https://…`".into()),
        })?;
        signers.push(KnownSigner::of_identity(None, who));
    }
    let root = args.trusted_root.as_deref().map(|path| {
        let root = TrustedRoot::of_text(&read(path)?);
        let path = path.display();
        root.map_err(|why| Failure::from(OmsError::Root { why: format!("`{path}` {why}") }))
    });
    let trusted_root = root.transpose()?.or_else(|| policy.root.clone());
    // Who names a signer for this skill does not mean another one.
    if signers.is_empty() {
        signers.clone_from(&policy.known);
    }
    let file = args.signature.clone().map(|path| Ok::<_, Failure>((path.clone(), bytes(&path)?)));
    Ok(WantedSignature {
        asked_for: !args.signer.is_empty()
            || args.signer_identity.is_some()
            || args.signature.is_some()
            || args.signed_only,
        file: file.transpose()?,
        signers,
        trusted_root,
        signed_only: args.signed_only,
        unchecked: args.unchecked,
        by_policy: policy.require_signature,
    })
}

fn runtimeconfig(args: &RuntimeConfig, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let category = args.category.parse::<ItemId>()?;
    let text = read(&args.config)?;
    let pack =
        args.pack.as_deref().map(|path| Ok::<_, Failure>((path, read(path)?))).transpose()?;
    let pack = pack.as_ref().map(|(path, text)| (*path, text.as_str()));
    let import = Import { config: &args.config, text: &text, pack, category: &category };
    let drafts = drafts(&import)?;
    Foreign { from: &args.config, drafts, left_out: Vec::new(), to: &args.to }.import(context, out)
}

fn older(args: &OlderItems, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let mut keys = Vec::new();
    for path in &args.key {
        let key = OlderKey::of_pem(&read(path)?).ok_or_else(|| CliError::Usage {
            message: format!("`{}` holds no public key", escape_line(&path.display().to_string())),
            help: Some("give a file with `-----BEGIN PUBLIC KEY-----`".into()),
        })?;
        keys.push(key);
    }
    let category = args.category.as_deref().map(str::parse::<ItemId>).transpose()?;
    let folder = OlderFolder { path: &args.folder, keys, unchecked: args.unchecked, category };
    let (drafts, left_out) = older_items(&context.rye()?, folder)?;
    Foreign { from: &args.folder, drafts, left_out, to: &args.to }.import(context, out)
}

/// The items that were read and are not written yet.
struct Foreign<'a> {
    from: &'a Path,
    drafts: Drafts,
    left_out: Vec<LeftOut>,
    to: &'a To,
}

impl Foreign<'_> {
    /// Shows all of it, asks, writes and signs.
    fn import(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        let Self { from, drafts: Drafts { items: drafts, remarks, faults }, left_out, to } = self;
        if !faults.is_empty() {
            return Ok(faulty(&faults, out));
        }
        if !out.is_json() {
            for draft in &drafts {
                show(draft, out);
            }
            for left in &left_out {
                let path = escape_line(&left.path);
                out.warn(&format!("`.ai/{path}` is left out: {}", escape_line(&left.why)));
            }
            for remark in &remarks {
                out.note(&format!("note: {}", escape_line(remark)));
            }
        }
        let mut told = Map::new();
        told.insert("remarks".into(), remarks.into());
        if !left_out.is_empty() {
            let rows: Vec<_> = left_out.iter().map(LeftOut::to_json).collect();
            told.insert("left_out".into(), rows.into());
        }
        if drafts.is_empty() && !to.dry_run {
            return Err(nothing(from, &left_out).into());
        }
        if to.dry_run {
            let count = drafts.len();
            match out.is_json() {
                true => {
                    told.insert("dry_run".into(), true.into());
                    told.insert("items".into(), drafts.iter().map(row).collect());
                    out.success(Value::Object(told));
                }
                false => out.line(&format!("{count} to import; nothing was written")),
            }
            return Ok(Exit::DONE);
        }
        let may_sign = drafts.iter().any(|draft| draft.is_vouched_for);
        let sign = may_sign
            && match context.common.yes {
                true => true,
                false if out.is_json() => false,
                false => {
                    out.flush();
                    let items = if drafts.len() == 1 { "this item" } else { "these items" };
                    match ask(&format!("Write and sign {items}? [y/N] ")) {
                        Some(false) => return Err(CliError::Declined.into()),
                        answer => answer.is_some(),
                    }
                }
            };
        let rye = context.rye()?;
        if sign {
            // Without a key nothing is written.
            rye.signing().own_pair()?;
        }
        let space = super::sign::written_space(to.space, &rye)?;
        if sign && space == Space::Project {
            // These items were shown; the rest of the project was not.
            let own: Vec<_> = drafts.iter().map(|draft| draft.item.clone()).collect();
            super::acceptance::accept_first(&rye, &[], &own, out)?;
        }
        let written = write(&rye, &drafts, Put { space, force: to.force })?;
        let signed = match sign {
            true => sign_all(&drafts, &written, context, out)?,
            false => Vec::new(),
        };
        Ok(tell(&drafts, &written, &signed, told, sign, out))
    }
}

/// Signs exactly the texts that were shown.
fn sign_all(
    drafts: &[ItemDraft],
    written: &[Written],
    context: &Context,
    out: &mut Out,
) -> Result<Vec<SignReport>, Failure> {
    // The folders may be new, so the spaces are found again.
    let rye = context.rye()?;
    let mut files = Vec::new();
    for (draft, written) in drafts.iter().zip(written).filter(|(draft, _)| draft.is_vouched_for) {
        let found = rye.signing().find(&written.item.clone().into(), Some(written.space))?;
        let found = Found { bytes: draft.text.clone().into_bytes().into(), ..found };
        // The older form is replaced in one step, so one of the two signatures is always there.
        let on_disk = written.older.clone().map_or_else(|| found.bytes.clone(), Into::into);
        files.push(ToSign { found, on_disk });
    }
    super::sign::sign(&rye, files, context, out)
}

fn read(path: &Path) -> Result<String, Failure> {
    let read = String::from_utf8(bytes(path)?).map_err(io::Error::other);
    read.map_err(|source| CliError::InputFile { path: path.display().to_string(), source }.into())
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = || match read_at_most(&mut open_named(path)?, ITEM_BYTES, 0)? {
        Bounded::All(bytes) => Ok(bytes),
        Bounded::More => Err(io::Error::other("it is too large")),
    };
    read().map_err(|source| CliError::InputFile { path: path.display().to_string(), source }.into())
}

/// Every fault, each with its place.
fn faulty(faults: &[Diagnostic], out: &mut Out) -> Exit {
    if out.is_json() {
        let rows: Vec<Value> = faults.iter().map(|fault| Value::Object(fault.to_json())).collect();
        let mut first = faults.first().expect("what is refused has a fault").to_json();
        first.insert("status".into(), "error".into());
        first.insert("findings".into(), rows.into());
        out.object(&Value::Object(first));
    } else {
        for fault in faults {
            let text = fault.to_text(out.paint_err());
            out.note(text.trim_end());
        }
        let noun = if faults.len() == 1 { "fault" } else { "faults" };
        out.note(&format!("{} {noun}; nothing was written", faults.len()));
    }
    Exit::Status(faults.iter().map(|fault| fault.code.exit_status()).max().unwrap_or(0))
}

/// Shows an item and the files that belong to it, in full.
fn show(draft: &ItemDraft, out: &mut Out) {
    let item = out.paint().style(Style::Strong, &draft.item.to_string());
    out.line(&item);
    for note in &draft.notes {
        let note = out.paint().style(Style::Dim, &escape_line(note));
        out.line(&format!("  ({note})"));
    }
    for line in draft.text.lines() {
        out.line(&format!("  {}", escape(line)));
    }
    out.line("");
    for (path, taken) in &draft.files {
        let digest = Digest::of(&taken.bytes).to_string();
        let path = escape_line(path.as_str());
        let (from, digest) = (escape_line(taken.path.as_str()), &digest[..12]);
        let head = format!("copies {from} to {path}  sha256 {digest}…");
        super::acceptance::show_text(&head, &taken.bytes, out);
    }
}

fn row(draft: &ItemDraft) -> Value {
    let files: Vec<Value> = draft
        .files
        .iter()
        .map(|(path, taken)| {
            let (from, digest) = (taken.path.as_str(), Digest::of(&taken.bytes));
            json!({"path": path.as_str(), "from": from, "sha256": digest})
        })
        .collect();
    let mut row = json!({"item_id": draft.item, "text": draft.text, "files": files});
    if let Value::Object(row) = &mut row {
        row.extend(draft.about.clone());
    }
    row
}

fn tell(
    drafts: &[ItemDraft],
    written: &[Written],
    signed: &[SignReport],
    told: Map<String, Value>,
    sign: bool,
    out: &mut Out,
) -> Exit {
    let worst = super::sign::worst(signed);
    let exit = super::sign::status(worst.as_ref());
    let left: Vec<_> = written.iter().flat_map(|w| &w.left_over).map(|place| &place.path).collect();
    let is_left = |(draft, _): &(&ItemDraft, &Written)| !sign || !draft.is_vouched_for;
    let next: Vec<String> = drafts
        .iter()
        .zip(written)
        .filter(is_left)
        .map(|(_, w)| {
            let space = if w.space == Space::User { " --space user" } else { "" };
            format!("rye sign {}{space}", w.item)
        })
        .collect();
    let older_tools: Vec<_> = written.iter().filter_map(|w| w.older_tool.as_ref()).collect();
    if out.is_json() {
        let older: Vec<_> = older_tools.iter().map(|(tool, _)| tool).collect();
        let items: Vec<Value> = drafts
            .iter()
            .zip(written)
            .map(|(draft, written)| {
                let mut row = row(draft);
                row["space"] = json!(written.space);
                row["path"] = json!(written.place.path);
                row
            })
            .collect();
        let signed: Vec<Value> = signed.iter().map(|row| super::sign::row(row, false)).collect();
        let mut object = json!({
            "items": items, "left_over": left, "older_tools": older, "signed": signed, "next": next,
        });
        if let Value::Object(object) = &mut object {
            object.extend(told);
        }
        out.batch(worst.as_ref(), object);
        return Exit::Status(exit);
    }
    for row in written {
        let verb = out.paint().style(Style::Good, "imported");
        out.line(&format!("{verb}  {}  {}  {}", row.item, row.space, escape_line(&row.place.path)));
    }
    for path in left {
        let path = escape_line(path);
        out.note(&format!(
            "note: `{path}` is left over from an earlier import and belongs to no item"
        ));
    }
    for (tool, place) in older_tools {
        let path = escape_line(&place.path);
        out.warn(&format!(
            "`{tool}` is there already and gives out files that this skill has not; if it is of an older version, remove `{path}`"
        ));
    }
    if sign {
        super::sign::shown(signed, false, out);
    } else if drafts.iter().any(|draft| draft.is_vouched_for) {
        out.note("note: nobody said yes, so nothing is signed");
    }
    if !next.is_empty() {
        out.line("");
        out.line("next, once you have read them:");
        for command in next {
            out.line(&format!("  {command}"));
        }
    }
    Exit::Status(exit)
}
