//! `rye bundle`: items of one publisher in one file, installed beside the system space.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::confirm::confirm;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use super::sign::NamedFiles;
use crate::base::text::escape_line;
use crate::bundle::{Bundle, BundleState, InstalledBundles, Left, Wish, check_archive, pack};
use crate::diagnostic::{Failure, Style};
use crate::id::{BundleName, Space};
use crate::rye::Signed;

/// Pack verified items into one signed file, and install such files
///
/// An installed bundle joins the system space as `system:<name>`. Its items are verified at each
/// run like any other: their signer must be one whom you trust for them, `rye trust add <key>
/// --items …`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Pack items, and the files that they list, into a signed `.tar.zst`
    Pack {
        /// The name of the bundle: small letters, digits, `-`, `_` and `.`
        #[arg(value_name = "NAME")]
        name: String,
        /// Items, or globs such as 'tool:acme/**'
        #[arg(value_name = "REF|GLOB|PATH", required = true, add = super::complete::refs())]
        items: Vec<String>,
        /// A semantic version, such as 1.2.0
        #[arg(long, value_name = "VERSION")]
        version: String,
        /// One line that says what it is for
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// The file to make; by default NAME-VERSION.tar.zst
        #[arg(short, long = "out", alias = "output", value_name = "FILE")]
        output: Option<PathBuf>,
        /// The space whose items are packed; by default the project
        #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
        space: Option<Space>,
        /// Write FILE.oms.sig as well, a signature by `OpenSSF` Model Signing for people without
        /// rye: a private key on P-256, P-384 or P-521, as PEM
        #[arg(long, value_name = "KEY")]
        oms: Option<PathBuf>,
    },
    /// Check a bundle, a file or an installed one, and show what it holds; nothing is installed
    Verify {
        /// A file, or the name of an installed bundle
        #[arg(value_name = "FILE|NAME")]
        bundle: PathBuf,
    },
    /// Check a bundle and put it into your user space
    Install {
        /// The file that `rye bundle pack` made
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// List what is installed
    List,
    /// Take out a bundle; files that were changed since are put aside
    Remove {
        /// The name of an installed bundle
        #[arg(value_name = "NAME")]
        name: String,
    },
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::Pack { name, items, version, description, output, space, oms } => {
            let with = super::export::sign_with(oms.as_deref())?;
            let name = name.parse::<BundleName>()?;
            let version: semver::Version = version.parse().map_err(|error| CliError::Usage {
                message: format!("`{}` is not a valid version: {error}", escape_line(version)),
                help: Some("a version is three numbers, such as 1.2.0".into()),
            })?;
            let file = format!("{name}-{version}.tar.zst");
            let output = output.clone().unwrap_or_else(|| file.into());
            let wish = Wish {
                name,
                version,
                description: description.clone(),
                items: Vec::new(),
                output,
                oms: with,
            };
            packed(items, *space, wish, context, out)
        }
        Verb::Verify { bundle } => verify(bundle, context, out),
        Verb::Install { file } => install(file, context, out),
        Verb::List => list(context, out),
        Verb::Remove { name } => remove(&name.parse()?, context, out),
    }
}

fn packed(
    items: &[String],
    space: Option<Space>,
    wish: Wish,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let NamedFiles { files, failed, .. } = super::sign::find(items, false, space, &rye)?;
    for report in failed {
        if let Signed::Failed(failure) = report.signed {
            return Err(failure);
        }
    }
    let what = format!("sign the bundle `{}` of {} items", wish.name, files.len());
    confirm(&what, &format!("version {}", wish.version), context, out)?;
    let output = wish.output.clone();
    let packed = pack(&rye, Wish { items: files, ..wish })?;
    let oms = packed.oms.as_ref().map(|path| path.display().to_string());
    let about = &packed.manifest.about();
    let files = packed.manifest.files().count();
    if out.is_json() {
        out.success(json!({
            "bundle": about.name, "version": about.version, "file": output.display().to_string(),
            "items": packed.items, "files": files, "bytes": packed.bytes, "sha256": packed.sha256,
            "oms_signature": oms,
        }));
        return Ok(Exit::DONE);
    }
    for item in &packed.items {
        out.line(&format!("  {item}"));
    }
    let verb = out.paint().style(Style::Good, "packed");
    let (path, digest) = (escape_line(&output.display().to_string()), packed.sha256.to_string());
    out.line(&format!(
        "{verb}  {} {}  {files} files  {path}  sha256 {}…",
        about.name,
        about.version,
        &digest[..12]
    ));
    if let Some(path) = oms {
        out.line(&format!("{verb}  its signature for others  {}", escape_line(&path)));
    }
    Ok(Exit::DONE)
}

fn verify(bundle: &Path, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let name = bundle.to_str().and_then(|name| name.parse::<BundleName>().ok());
    // The word names a file if there is such a file, or if it ends like a bundle's file.
    let name = name.filter(|_| !bundle.is_file() && bundle.extension().is_none_or(|e| e != "zst"));
    let found = match name {
        Some(name) => InstalledBundles::new(&rye)?.verify(&name)?,
        None => {
            let folder = tempfile::tempdir().map_err(|source| unread(bundle, source))?;
            check_archive(&rye, bundle, folder.path(), &|name, at| {
                context.rye_with_bundle(name, at)
            })?
        }
    };
    match out.is_json() {
        true => out.success(json!({"verified": true, "bundle": row(&found)})),
        false => {
            show(&found, out);
            let verb = out.paint().style(Style::Good, "verified");
            out.line(&format!("{verb}  every item is one that may run here"));
        }
    }
    Ok(Exit::DONE)
}

fn install(file: &Path, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let mut refused = None;
    let mut agreed = |bundle: &Bundle| {
        if !out.is_json() {
            show(bundle, out);
        }
        let about = &bundle.manifest.about();
        let what = format!("install the bundle `{}`", about.name);
        let by = format!("version {}, signed by {}", about.version, bundle.key);
        refused = confirm(&what, &by, context, out).err();
        refused.is_none()
    };
    let seeing = |name, at| context.rye_with_bundle(name, at);
    let done = InstalledBundles::new(&rye)?.install(file, &seeing, &mut agreed)?;
    let Some((bundle, left)) = done else {
        let what = "the bundle".to_owned();
        return Err(refused.unwrap_or_else(|| CliError::NotConfirmed { what }.into()));
    };
    let about = &bundle.manifest.about();
    if out.is_json() {
        out.success(json!({"installed": row(&bundle), "kept": kept(&left)}));
        return Ok(Exit::DONE);
    }
    let verb = out.paint().style(Style::Good, "installed");
    out.line(&format!("{verb}  {} {}  as `system:{}`", about.name, about.version, about.name));
    tell_kept(&left, out);
    Ok(Exit::DONE)
}

fn remove(name: &BundleName, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    confirm(&format!("remove the bundle `{name}`"), "", context, out)?;
    let rye = context.rye()?;
    let left = InstalledBundles::new(&rye)?.remove(name)?;
    if out.is_json() {
        out.success(json!({"removed": name, "kept": kept(&left)}));
        return Ok(Exit::DONE);
    }
    let verb = out.paint().style(Style::Good, "removed");
    out.line(&format!("{verb}  {name}"));
    tell_kept(&left, out);
    Ok(Exit::DONE)
}

fn list(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let listed = InstalledBundles::new(&rye)?.list();
    if out.is_json() {
        let rows = listed.iter().map(|bundle| match &bundle.state {
            BundleState::Readable {
                manifest,
                key,
                owner,
                changed,
                installed_at,
                installed_from,
            } => json!({
                "name": bundle.name, "version": manifest.about().version, "signer": key,
                "description": manifest.about().description, "owner": owner,
                "files": manifest.files().count(), "changed": changed,
                "installed_at": installed_at, "installed_from": installed_from,
            }),
            BundleState::Unreadable(why) => json!({"name": bundle.name, "unusable": why}),
        });
        out.success(json!({"bundles": rows.collect::<Vec<_>>()}));
        return Ok(Exit::DONE);
    }
    for bundle in &listed {
        match &bundle.state {
            BundleState::Readable { manifest, owner, changed, .. } => {
                let about = &manifest.about();
                let (name, version) = (&about.name, &about.version);
                let (owner, said) = (escape_line(owner), escape_line(&about.description));
                out.line(&format!("{name} {version}  signed by `{owner}`  {said}"));
                for change in changed {
                    let change = out.paint().style(Style::Warning, &escape_line(change));
                    out.line(&format!("  {change}"));
                }
            }
            BundleState::Unreadable(why) => {
                let why = out.paint().style(Style::Error, &escape_line(why));
                out.line(&format!("{}  {why}", bundle.name));
            }
        }
    }
    if listed.is_empty() {
        out.note("no bundle is installed: `rye bundle install <file>`");
    }
    Ok(Exit::DONE)
}

fn unread(path: &Path, source: std::io::Error) -> Failure {
    CliError::InputFile { path: path.display().to_string(), source }.into()
}

fn row(bundle: &Bundle) -> Value {
    let about = &bundle.manifest.about();
    let files = bundle.manifest.files();
    let files = files.map(|file| json!({"path": file.path.as_str(), "sha256": file.sha256}));
    json!({
        "name": about.name, "version": about.version, "description": about.description,
        "packed_at": about.packed_at, "signer": bundle.key, "owner": bundle.owner,
        "items": bundle.items, "files": files.collect::<Vec<_>>(),
    })
}

fn show(bundle: &Bundle, out: &mut Out) {
    let about = &bundle.manifest.about();
    let head = format!("{} {}", about.name, about.version);
    let head = out.paint().style(Style::Strong, &head);
    let (owner, said) = (escape_line(&bundle.owner), escape_line(&about.description));
    out.line(&format!("{head}  signed by `{owner}` {}  {said}", bundle.key.short()));
    for item in &bundle.items {
        out.line(&format!("  {item}"));
    }
}

fn kept(left: &Left) -> Vec<String> {
    left.kept.iter().map(|path| path.display().to_string()).collect()
}

fn tell_kept(left: &Left, out: &mut Out) {
    for path in &left.kept {
        let path = escape_line(&path.display().to_string());
        out.note(&format!("note: changed since it was installed, and kept: {path}"));
    }
}
