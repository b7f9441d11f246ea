//! `rye keys`: your own key pair.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::json;
use zeroize::Zeroizing;

use super::confirm::confirm;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use super::passphrase;
use super::still_named::StillNamed;
use super::trust::dev_keys;
use crate::base::bytes::{open_named, write_new};
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::id::Fingerprint;
use crate::rye::Rye;
use crate::verify::{
    EXAMPLE, EncryptedKeyFault, KeyError, KeyPair, OwnKeys, TrustDocument, TrustError,
    is_encrypted, rotate,
};

/// Make, show, import, export and rotate your own key pair
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Make a key pair in your user space
    Generate,
    /// Take a private key from a file, from standard input (`-`), or from `RYE_SIGNING_KEY`
    Import {
        /// The PKCS#8 PEM file
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Take the example key, whose private half is public
        #[arg(long)]
        example: bool,
        /// The file whose first line is the passphrase of an encrypted key; else you are asked
        #[arg(long, value_name = "FILE")]
        passphrase_file: Option<PathBuf>,
    },
    /// Print your public key, or a trust document that others may accept; or write your private key
    Export {
        /// As a trust document, for a project's `.ai/config/keys/trusted/<fingerprint>.toml`
        #[arg(long, value_name = "OWNER")]
        document: Option<String>,
        /// Write your private key to this file, under a passphrase; nothing is overwritten
        #[arg(long, value_name = "FILE", conflicts_with = "document")]
        private: Option<PathBuf>,
        /// The file whose first line is that passphrase; by default you are asked
        #[arg(long, value_name = "FILE", requires = "private")]
        passphrase_file: Option<PathBuf>,
    },
    /// List your own key, those kept from rotations, and dev keys
    List,
    /// Show your own key
    Show,
    /// Replace your key pair by another one; what you signed keeps running until you revoke the old
    ///
    /// There is no question, because nothing is lost: the old key is kept beside the new one, and
    /// what it signed goes on.
    Rotate,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = match args.verb {
        // It says where the project still names the old key.
        Verb::Rotate => context.rye()?,
        _ => context.rye_of_user()?,
    };
    let user = rye.spaces().user()?;
    let keys = OwnKeys::new(user);
    match &args.verb {
        Verb::Generate => {
            confirm("make a key pair", &keys.folder().display().to_string(), context, out)?;
            let pair = KeyPair::generate()
                .map_err(|source| KeyError::Io { path: keys.folder(), source })?;
            keys.store(&pair)?;
            made("generated", &pair, &keys, out);
        }
        Verb::Import { file, example, passphrase_file } => {
            let text = read_private(file.as_ref(), &rye)?;
            if text.matches("-----BEGIN ").count() > 1 {
                let message = "what was given holds more than one PEM block".to_owned();
                let help = Some("give the one key that you mean, in a file of its own".to_owned());
                return Err(CliError::Usage { message, help }.into());
            }
            let pair = opened(&text, file.as_ref(), passphrase_file.as_ref())?;
            let fingerprint = pair.public().fingerprint();
            if fingerprint == EXAMPLE && !example {
                return Err(TrustError::Example { fingerprint }.into());
            }
            confirm("import a key pair", &pair.public().fingerprint().to_string(), context, out)?;
            keys.store(&pair)?;
            made("imported", &pair, &keys, out);
        }
        Verb::Export { private: Some(file), passphrase_file, .. } => {
            export_private(file, passphrase_file.as_ref(), &keys, context, out)?;
        }
        Verb::Export { document, .. } => export(document.as_ref(), &keys, out)?,
        Verb::List => list(&keys, &rye, out)?,
        Verb::Show => show(&keys, out)?,
        Verb::Rotate => replace(&keys, &rye, context, out)?,
    }
    Ok(Exit::DONE)
}

/// `rye keys rotate`.
fn replace(keys: &OwnKeys<'_>, rye: &Rye, context: &Context, out: &mut Out) -> Result<(), Failure> {
    let old = keys.pair()?.public().fingerprint();
    confirm("replace your key pair", &old.to_string(), context, out)?;
    let done = rotate(rye.spaces().user()?, crate::rye::now())?;
    // What the new key says counts from here on.
    let named = StillNamed::new(done.old, &context.rye()?);
    if out.is_json() {
        let (old, current) = (done.old, done.current);
        out.success(json!({
            "old": old, "fingerprint": current, "documents": done.documents,
            "lock_rows": named.lock_rows, "proposals": named.proposals,
            "workflows": named.workflows,
        }));
        return Ok(());
    }
    out.line(&format!("your key is `{}` from here on", done.current));
    let noun =
        if done.documents == 1 { "document or record is" } else { "documents and records are" };
    out.line(&format!("{} trust {noun} signed again", done.documents));
    if done.was_revoked {
        out.line("the old key was revoked: whom it trusted and what it accepted is not taken over");
        out.line(
            "next: read what the old key signed, and sign what you still want with \
             `rye sign <ref>`: `rye sign --all` passes it over",
        );
        return Ok(());
    }
    out.line("next:");
    for step in after_rotation(done.old, done.current, &named) {
        out.line(&format!("  {step}"));
    }
    Ok(())
}

/// The next steps after a key was replaced.
fn after_rotation(old: Fingerprint, current: Fingerprint, named: &StillNamed) -> Vec<String> {
    let mut steps = vec![
        "sign your items again with `rye sign --all`, in each project and with `--space user`; \
         it passes over what others signed"
            .to_owned(),
    ];
    if named.lock_rows > 0 {
        let rows = match named.lock_rows {
            1 => "1 row of `.ai/rye.lock` here names".to_owned(),
            rows => format!("{rows} rows of `.ai/rye.lock` here name"),
        };
        steps.push(format!("{rows} the old key: then run `rye lock --update`"));
    }
    steps.extend(named.proposals.iter().map(|path| {
        let path = escape_line(path);
        format!("`{path}` proposes the old key to others: run `rye trust propose`, and commit it")
    }));
    steps.extend(named.workflows.iter().map(|path| {
        format!(
            "`{path}` trusts the old key: put {current} beside it, and commit it; take the old \
             one out once nothing here is signed by it"
        )
    }));
    steps.push("tell those who trust your old key the new fingerprint".to_owned());
    steps.push(format!("then stop trusting the old key: `rye trust revoke {old}`"));
    steps
}

fn read_private(file: Option<&PathBuf>, rye: &Rye) -> Result<Zeroizing<String>, Failure> {
    let failed = |path: &str, source| CliError::InputFile { path: path.to_owned(), source };
    let mut text = Zeroizing::new(String::new());
    match file {
        Some(path) if path.as_os_str() == "-" => {
            io::stdin().take(1 << 16).read_to_string(&mut text).map_err(|e| failed("-", e))?;
        }
        Some(path) => {
            let shown = path.display().to_string();
            let file = open_named(path).map_err(|e| failed(&shown, e))?;
            file.take(1 << 16).read_to_string(&mut text).map_err(|e| failed(&shown, e))?;
        }
        None => {
            let given = rye.located().vars.text("RYE_SIGNING_KEY");
            let message = "name a file, `-` for standard input, or set RYE_SIGNING_KEY".to_owned();
            text.push_str(given.ok_or(CliError::Usage { message, help: None })?);
        }
    }
    Ok(text)
}

/// The key that a PEM text holds, by its passphrase where it has one.
fn opened(
    text: &str,
    file: Option<&PathBuf>,
    passphrase_file: Option<&PathBuf>,
) -> Result<KeyPair, Failure> {
    let malformed = || {
        let name = match file {
            Some(path) if path.as_os_str() == "-" => "standard input".to_owned(),
            Some(path) => path.display().to_string(),
            None => "RYE_SIGNING_KEY".to_owned(),
        };
        let what = match () {
            () if text.contains("-----BEGIN PUBLIC KEY-----") => "private key: it is a public one",
            () if text.contains("-----BEGIN OPENSSH PRIVATE KEY-----") => {
                "private key in PKCS#8: it is in a form of OpenSSH's own"
            }
            () => "private key",
        };
        KeyError::Malformed { name, what }
    };
    if !is_encrypted(text) {
        return Ok(KeyPair::from_pem(text).ok_or_else(malformed)?);
    }
    let passphrase = passphrase::read(passphrase_file, "Passphrase of the key: ")?;
    let opened = KeyPair::from_encrypted_pem(text, &passphrase);
    Ok(opened.map_err(|fault| match fault {
        EncryptedKeyFault::Malformed => malformed(),
        EncryptedKeyFault::Costly => KeyError::Costly,
        EncryptedKeyFault::Passphrase => {
            KeyError::Passphrase { why: "it does not open the key, or the file is damaged" }
        }
        EncryptedKeyFault::OtherKey => KeyError::Passphrase {
            why: "it opens another key than the one that the file names, so the file is damaged",
        },
    })?)
}

/// `rye keys export --private`.
fn export_private(
    file: &Path,
    passphrase_file: Option<&PathBuf>,
    keys: &OwnKeys<'_>,
    context: &Context,
    out: &mut Out,
) -> Result<(), Failure> {
    let pair = keys.pair()?;
    let fingerprint = pair.public().fingerprint();
    let io = |source| KeyError::Io { path: file.to_owned(), source };
    // Before anybody thinks of a passphrase.
    if file.symlink_metadata().is_ok() {
        return Err(KeyError::FileExists { path: file.to_owned() }.into());
    }
    confirm("write your private key to a file", &fingerprint.to_string(), context, out)?;
    let passphrase = passphrase::read_new(passphrase_file)?;
    let text = pair.to_encrypted_pem(&passphrase).map_err(io)?;
    // A name alone lies in the folder that one stands in.
    let path = std::path::absolute(file).map_err(io)?;
    write_new(&path, text.as_bytes(), 0o600).map_err(io)?;
    let shown = file.display().to_string();
    if out.is_json() {
        out.success(json!({"fingerprint": fingerprint, "path": shown}));
        return Ok(());
    }
    let shown = escape_line(&shown);
    out.line(&format!("wrote the private key of `{fingerprint}` to {shown}, under the passphrase"));
    out.line(&format!(
        "next: on the other machine `rye keys import {shown}`, then remove the file"
    ));
    Ok(())
}

fn made(how: &str, pair: &KeyPair, keys: &OwnKeys<'_>, out: &mut Out) {
    let fingerprint = pair.public().fingerprint();
    let folder = keys.folder().display().to_string();
    if out.is_json() {
        out.success(json!({"fingerprint": fingerprint, "folder": folder}));
        return;
    }
    out.line(&format!("{how} your key pair `{fingerprint}`"));
    out.line(&format!("  in {}", escape_line(&folder)));
    out.line("next: sign an item with `rye sign <ref>`");
}

fn export(document: Option<&String>, keys: &OwnKeys<'_>, out: &mut Out) -> Result<(), Failure> {
    let public = keys.find_public()?.ok_or(KeyError::Missing)?;
    let text = match document {
        None => public.to_pem(),
        Some(owner) => {
            let document = TrustDocument::new(public.clone(), owner.clone());
            let text = document.to_toml();
            TrustDocument::parse(&text)
                .map_err(|why| CliError::Usage { message: why.to_string(), help: None })?;
            text
        }
    };
    if out.is_json() {
        out.success(json!({"fingerprint": public.fingerprint(), "text": text}));
    } else {
        out.exact(&text);
    }
    Ok(())
}

fn show(keys: &OwnKeys<'_>, out: &mut Out) -> Result<(), Failure> {
    let public = keys.find_public()?.ok_or(KeyError::Missing)?;
    let can_sign = keys.pair().is_ok();
    let folder = keys.folder().display().to_string();
    if out.is_json() {
        out.success(
            json!({"fingerprint": public.fingerprint(), "can_sign": can_sign, "folder": folder}),
        );
        return Ok(());
    }
    out.line(&format!("fingerprint  {}", public.fingerprint()));
    out.line(&format!(
        "can sign     {}",
        if can_sign { "yes" } else { "no: only the public half is here" }
    ));
    out.line(&format!("folder       {}", escape_line(&folder)));
    Ok(())
}

fn list(keys: &OwnKeys<'_>, rye: &Rye, out: &mut Out) -> Result<(), Failure> {
    let own = keys.find_public()?.map(|public| public.fingerprint().to_string());
    let kept: Vec<String> = std::fs::read_dir(keys.folder())
        .map(|entries| {
            let names = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
            let mut kept: Vec<_> = names
                .filter_map(|n| {
                    Some(n.strip_prefix("private_key.")?.strip_suffix(".pem")?.to_owned())
                })
                .filter(|fingerprint| !fingerprint.is_empty())
                .collect();
            kept.sort();
            kept
        })
        .unwrap_or_default();
    let dev = dev_keys(rye)?;
    if out.is_json() {
        let dev: Vec<_> = dev
            .iter()
            .map(|(key, dev)| {
                let project = dev.project.display().to_string();
                json!({"fingerprint": key, "project": project, "not_after": dev.not_after})
            })
            .collect();
        out.success(json!({"fingerprint": own, "kept": kept, "dev": dev}));
        return Ok(());
    }
    match own {
        Some(fingerprint) => out.line(&format!("{fingerprint}  your key")),
        None => out.line("no key yet: make one with `rye keys generate`"),
    }
    for fingerprint in kept {
        out.line(&format!("{}  kept from a rotation", escape_line(&fingerprint)));
    }
    for (fingerprint, dev) in dev {
        let project = escape_line(&dev.project.display().to_string());
        out.line(&format!("{fingerprint}  dev key of `{project}` until {}", dev.not_after));
    }
    Ok(())
}
