//! `rye node`: who may ask this machine for runs.

use serde_json::{Value, json};

use super::confirm::confirm;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use super::trust::key_of;
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::id::Fingerprint;
use crate::rye::{Rye, now};
use crate::verify::{CallerScope, KeyError, NodeCaller, TrustError};

/// Say who may ask this machine for runs, as a node
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Show the key by which callers know this node
    Identity,
    /// Let a key ask this node; what was said of it before is replaced
    Authorize {
        /// The public key: a file, `ed25519:…` as `rye remote add` shows it, or the fingerprint of
        /// a key that you trust
        #[arg(value_name = "KEY")]
        key: String,
        /// The requests that it may make: `objects`, to push files, and `execute:` with patterns of
        /// items, such as 'execute:tool:acme/**'
        #[arg(long, value_name = "SCOPE", value_delimiter = ',', required = true)]
        scopes: Vec<String>,
        /// The keys whose items it may send; each needs a trust document, `rye trust add`
        #[arg(long, value_name = "FINGERPRINT", value_delimiter = ',')]
        signers: Vec<String>,
        /// How this node calls the caller
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Take back a key's right to ask
    Revoke {
        /// The fingerprint of the key
        #[arg(value_name = "FINGERPRINT")]
        key: String,
    },
    /// List who may ask
    List,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye_of_user()?;
    match &args.verb {
        Verb::Identity => identity(&rye, out),
        Verb::Authorize { key, scopes, signers, name } => {
            let caller = wanted(key, scopes, signers, name.as_deref(), &rye)?;
            authorize(&caller, &rye, context, out)
        }
        Verb::Revoke { key } => revoke(key, &rye, context, out),
        Verb::List => list(&rye, out),
    }
}

fn identity(rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    let trust = rye.trust();
    let key = trust.own()?.ok_or(KeyError::Missing)?;
    let (node, text) = (key.fingerprint(), key.to_text());
    if out.is_json() {
        out.success(json!({"node": node, "public_key": key.to_pem(), "key": text}));
    } else {
        out.line(&node.to_string());
        out.line(&text);
    }
    Ok(Exit::DONE)
}

fn fingerprint(text: &str) -> Result<Fingerprint, CliError> {
    text.trim().parse().map_err(|_| CliError::Usage {
        message: format!("`{}` is not a fingerprint", escape_line(text)),
        help: Some("give all 32 digits, as `rye keys show` prints them".into()),
    })
}

fn wanted(
    key: &str,
    scopes: &[String],
    signers: &[String],
    name: Option<&str>,
    rye: &Rye,
) -> Result<NodeCaller, Failure> {
    let (key, owner) = key_of(key, rye)?;
    let usage = |message| CliError::Usage { message, help: None };
    let scopes = scopes.iter().map(|scope| scope.trim().parse::<CallerScope>());
    let scopes = scopes.collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let signers =
        signers.iter().map(|signer| fingerprint(signer)).collect::<Result<Vec<_>, _>>()?;
    let trust = rye.trust();
    for &signer in &signers {
        let own = trust.own()?.is_some_and(|own| own.fingerprint() == signer);
        if !own && trust.document(signer)?.is_none() {
            return Err(TrustError::NotFound {
                what: format!("you do not trust the key `{signer}`: `rye trust add` it first"),
            }
            .into());
        }
    }
    Ok(NodeCaller { key, owner: name.map_or(owner, str::to_owned), scopes, signers })
}

fn authorize(
    caller: &NodeCaller,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let (pair, key) = (rye.signing().own_pair()?, caller.key.fingerprint());
    let what =
        format!("let `{}` ask this node: {}", caller.owner, texts(&caller.scopes).join(", "));
    confirm(&what, &key.to_string(), context, out)?;
    caller.write(rye.spaces().user()?, &pair, now())?;
    if out.is_json() {
        out.success(row(caller));
    } else {
        out.line(&format!("`{}` may ask this node", escape_line(&caller.owner)));
        show(caller, out);
        out.line(&format!("  take it back with `rye node revoke {key}`"));
    }
    Ok(Exit::DONE)
}

fn revoke(key: &str, rye: &Rye, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let key = fingerprint(key)?;
    confirm("let a key ask this node no more", &key.to_string(), context, out)?;
    if !NodeCaller::remove(rye.spaces().user()?, key)? {
        return Err(TrustError::NotFound { what: format!("`{key}` may not ask this node") }.into());
    }
    if out.is_json() {
        out.success(json!({"caller": key}));
    } else {
        out.line(&format!("{key} may ask this node no more"));
    }
    Ok(Exit::DONE)
}

fn list(rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    let trust = rye.trust();
    let mut rows = Vec::new();
    for key in NodeCaller::all(&trust) {
        match NodeCaller::find(&trust, key)? {
            Some(caller) if out.is_json() => rows.push(row(&caller)),
            Some(caller) => show(&caller, out),
            None if out.is_json() => rows.push(json!({"caller": key, "revoked": true})),
            None => out.line(&format!("  {key}  revoked")),
        }
    }
    if out.is_json() {
        out.success(json!({"callers": rows}));
    } else if NodeCaller::all(&trust).is_empty() {
        out.line("no key may ask this node: `rye node authorize`");
    }
    Ok(Exit::DONE)
}

fn texts<T: ToString>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn row(caller: &NodeCaller) -> Value {
    json!({
        "caller": caller.key.fingerprint(), "owner": caller.owner,
        "scopes": texts(&caller.scopes), "signers": caller.signers,
    })
}

fn show(caller: &NodeCaller, out: &mut Out) {
    out.line(&format!("  {}  {}", caller.key.fingerprint(), escape_line(&caller.owner)));
    for scope in texts(&caller.scopes) {
        out.line(&format!("    may ask for  {scope}"));
    }
    for signer in &caller.signers {
        out.line(&format!("    may send items of  {signer}"));
    }
}
