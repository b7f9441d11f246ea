//! `rye trust`: whom you believe, for what, where and until when.

mod add;
mod allow;
mod list;
mod propose;
mod records;
mod review;

pub(super) use add::key_of;
pub(super) use allow::allowed;
pub(super) use list::dev_keys;
pub(super) use propose::is_unproposed;

use std::path::PathBuf;

use serde_json::json;

use super::confirm::{confirm, confirm_always};
use super::context::Context;
use super::exit::Exit;
use super::out::Out;
use super::still_named::StillNamed;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Place};
use crate::id::{Fingerprint, IdError, ItemId, Pattern};
use crate::rye::{Rye, now};
use crate::space::{ProjectIdentity, SpaceError};
use crate::verify::{AllowedRoot, PUBLISHER, Revocation, TrustDocument, remove_own, write_own};

/// The next step in a project whose items you do not let in yet.
pub(super) const UNKNOWN_SIGNERS: &str = "next: items here are signed by keys that you do not \
     trust yet: `rye trust review` shows them, and how to let each key in";

/// Decide whom you trust, and which projects
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Show on one screen what this project brings: proposed keys, items, signers, and what each
    /// item may touch
    Review,
    /// Propose your own public key in this project, so that others can accept it
    Propose {
        /// Whose key it is; by default as it is proposed already, or the name you are logged in by
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
    },
    /// Accept this project and one of the keys it proposes, for this project
    Accept {
        /// The key's fingerprint, or at least the first 16 digits of it
        #[arg(value_name = "FINGERPRINT")]
        key: String,
        /// For every project, not just this one
        #[arg(long)]
        everywhere: bool,
        #[command(flatten)]
        scope: Scope,
    },
    /// Accept this project, so that items signed by keys you trust already may run in it
    Project,
    /// Trust a key: a PEM file, a trust document, or a fingerprint that this project proposes
    Add {
        /// The file, or at least the first 16 digits of a fingerprint
        #[arg(value_name = "FILE|FINGERPRINT")]
        key: String,
        /// Whose key it is
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
        /// Only in this project; again for more
        #[arg(long = "in", value_name = "DIR")]
        projects: Vec<PathBuf>,
        /// Let the example key in, whose private half is public
        #[arg(long)]
        example: bool,
        #[command(flatten)]
        scope: Scope,
    },
    /// Take a trust document away
    Remove {
        /// The key's fingerprint, or the beginning of it
        #[arg(value_name = "FINGERPRINT")]
        key: String,
    },
    /// Refuse every signature of a key, whenever it was made
    Revoke {
        /// The key's fingerprint
        #[arg(value_name = "FINGERPRINT")]
        key: String,
        /// Why, for your own memory
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Take back a revocation of yours: what the key signed counts again as far as you trust it
    Unrevoke {
        /// The key's fingerprint, or the beginning of it
        #[arg(value_name = "FINGERPRINT")]
        key: String,
    },
    /// List the keys you trust and have revoked, dev keys, and what of projects you let in
    List {
        /// And records for an audit: when you accepted projects and keys, and what; which bundles,
        /// MCP servers and skills that others signed came, when and whence
        #[arg(long)]
        records: bool,
    },
    /// Show what is said of one key: its trust document, or the record of a dev key
    Show {
        /// The key's fingerprint, or the beginning of it
        #[arg(value_name = "FINGERPRINT")]
        key: String,
    },
    /// Use the `.ai` of a folder that others own or can write
    ///
    /// Or take a folder for your home, below which you work, although the user database does not
    /// name it.
    AllowRoot {
        /// The folder that holds `.ai`
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Let tools run with a program of a project, such as `.venv/bin/python3`, as it is now
    AllowInterpreter {
        /// The program, or a file that chooses a version, such as `.python-version`
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
    /// Let Node tools load packages from a folder that is not signed
    AllowDeps {
        /// The folder `node_modules`, or the one that holds it
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Let threads ask a model by a provider that lies in this project, as it is now
    AllowProvider {
        /// The provider, such as `acme/model`
        #[arg(value_name = "REF|PATH")]
        item: String,
    },
    /// Let threads have their sandboxes on a server of OpenSandbox
    AllowBackend {
        /// Its address, such as `https://box.example:8080`
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Take back what you let in: a program, packages, a provider, or a server of sandboxes
    Disallow {
        /// The program, the folder, the provider by its file or its ref, or the server
        #[arg(value_name = "REF|PATH|URL")]
        path: PathBuf,
    },
}

/// The items that a key may sign, and until when.
#[derive(clap::Args)]
struct Scope {
    /// Add these items, such as 'tool:acme/**', to what the key may sign; a key that you do not
    /// trust yet may sign just these. Again for more
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    items: Vec<Pattern>,
    /// Only these items, instead of what the key may sign now; again for more
    #[arg(long, value_name = "PATTERN", value_parser = pattern, conflicts_with = "items")]
    only: Vec<Pattern>,
    /// Replace what the key may sign now by what a key may sign of which nothing was said
    #[arg(long, conflicts_with_all = ["items", "only"])]
    default: bool,
    /// Trust it until this moment, such as 2027-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    not_after: Option<crate::base::Timestamp>,
}

fn pattern(text: &str) -> Result<Pattern, String> {
    text.parse()
}

fn time(text: &str) -> Result<crate::base::Timestamp, String> {
    text.parse().map_err(|()| "no time such as 2027-01-01T00:00:00Z".to_owned())
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    if let Verb::AllowRoot { folder } = &args.verb {
        return allow_root(folder, context, out);
    }
    let rye = context.rye()?;
    match &args.verb {
        Verb::Review => {
            rye.spaces().project()?;
            review::run(&rye, out)
        }
        Verb::Accept { key, everywhere, scope } => {
            rye.spaces().project()?;
            add::accept(key, *everywhere, scope, &rye, context, out)
        }
        Verb::Project => project(&rye, context, out),
        Verb::Add { key, owner, projects, example, scope } => {
            let wanted =
                add::Wanted { owner: owner.clone(), projects: projects.clone(), example: *example };
            add::run(key, wanted, scope, &rye, context, out)
        }
        Verb::Remove { key } => remove(key, &rye, context, out),
        Verb::Revoke { key, reason } => revoke(key, reason, &rye, context, out),
        Verb::Propose { owner } => propose::run(owner.as_deref(), &rye, context, out),
        Verb::Unrevoke { key } => unrevoke(key, &rye, context, out),
        Verb::List { records: false } => list::run(&rye, out),
        Verb::List { records: true } => records::run(&rye, out),
        Verb::Show { key } => list::show(key, &rye, out),
        Verb::AllowInterpreter { path } => allow::interpreter(path, &rye, context, out),
        Verb::AllowDeps { folder } => allow::deps(folder, &rye, context, out),
        Verb::AllowProvider { item } => allow::provider(item, &rye, context, out),
        Verb::AllowBackend { url } => allow::backend(url, &rye, context, out),
        Verb::Disallow { path } => allow::disallow(path, &rye, context, out),
        Verb::AllowRoot { .. } => Ok(Exit::DONE),
    }
}

/// The keys that a command line names for one check: files, and whole fingerprints of keys that the
/// project proposes.
///
/// # Errors
/// `space.no_project`; `cli.input_file`; `trust.malformed`, `trust.not_found`;
/// `verify.weak_key`, `verify.example_key`
pub(super) fn named_keys(
    names: &[String],
    rye: &Rye,
    out: &mut Out,
) -> Result<Vec<TrustDocument>, Failure> {
    rye.spaces().project()?;
    names.iter().map(|name| add::named_key(name, rye, out)).collect()
}

/// The screen of `rye trust review`, for verbs that ask before a project is accepted.
pub(super) fn show_review(review: &crate::rye::Review, rye: &Rye, out: &mut Out) {
    review::show(review, rye, out);
}

fn project(rye: &Rye, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    rye.spaces().project()?;
    let path = rye.spaces().project_path().display().to_string();
    confirm(&format!("accept the project `{path}`"), "", context, out)?;
    let pair = rye.signing().own_pair()?;
    let fresh = rye.project().accept(&pair)?;
    if !fresh {
        rye.project().approve(&pair)?;
    }
    let has_unknown = rye.project().has_unknown_signers()?;
    if out.is_json() {
        out.success(json!({
            "project": path, "changed": fresh, "has_unknown_signers": has_unknown,
        }));
    } else {
        let path = escape_line(&path);
        out.line(&match fresh {
            true => {
                format!("accepted `{path}`: items signed by keys you trust run in it from here on")
            }
            false => format!(
                "`{path}` was accepted already; what is admitted in it now is what `rye diff` \
                 compares with from here on"
            ),
        });
        if has_unknown {
            out.line(UNKNOWN_SIGNERS);
        }
        let here = rye.spaces().project_identity();
        for key in list::documents(rye, "trusted")? {
            let document = rye.trust().document(key).ok().flatten();
            if document.is_some_and(|document| document.answer_for_other(here).is_some()) {
                out.line(&format!(
                    "another folder lay here before, of which you said what {key} may sign: no \
                     more than that holds until you say it anew with `rye trust accept {key}`"
                ));
            }
        }
    }
    Ok(Exit::DONE)
}

fn remove(key: &str, rye: &Rye, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let fingerprint = list::find(key, rye)?;
    confirm(&format!("stop trusting `{fingerprint}`"), "", context, out)?;
    let id = document_id("trusted", fingerprint)?;
    remove_own(rye.spaces().user()?, &id)?;
    if out.is_json() {
        out.success(json!({"fingerprint": fingerprint}));
    } else {
        out.line(&format!("`{fingerprint}` is not trusted any more"));
    }
    Ok(Exit::DONE)
}

fn revoke(
    key: &str,
    reason: &str,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    // This takes a whole fingerprint, because the key may never have been trusted.
    let fingerprint: Fingerprint = match key.parse() {
        Ok(fingerprint) => fingerprint,
        Err(_) => list::find_signer(key, rye)?,
    };
    let pair = rye.signing().own_pair()?;
    let is_known = fingerprint == PUBLISHER
        || fingerprint == pair.public().fingerprint()
        || list::find_signer(&fingerprint.to_string(), rye).is_ok();
    let is_own = fingerprint == pair.public().fingerprint();
    let what = format!("revoke `{fingerprint}`");
    if is_own {
        // It could not be taken back: what you trust is what this key signed.
        if !out.is_json() {
            out.warn(
                "this key is your own: what it signed, and whom you trust by it, counts no more, \
                 and that cannot be taken back; `rye keys rotate` first keeps both",
            );
            out.flush();
        }
        confirm_always(&what, "", context, out)?;
    } else {
        confirm(&what, "", context, out)?;
    }
    let revocation = Revocation { fingerprint: fingerprint.to_string(), reason: reason.to_owned() };
    let id = document_id("revoked", fingerprint)?;
    write_own(rye.spaces().user()?, &id, &revocation.to_toml(), &pair, now())?;
    let named = StillNamed::new(fingerprint, rye);
    let mut warnings = Vec::new();
    if !is_known && named.proposals.is_empty() {
        warnings.push("nothing was known of that key here: see that the fingerprint is right");
    }
    if is_own {
        warnings.push("make another key with `rye keys rotate`");
    }
    if fingerprint == PUBLISHER {
        warnings.push("that is the publisher's key: no shipped item runs any more");
    }
    if out.is_json() {
        out.success(json!({
            "fingerprint": fingerprint, "lock_rows": named.lock_rows,
            "proposals": named.proposals, "workflows": named.workflows, "warnings": warnings,
        }));
    } else {
        out.line(&format!(
            "revoked `{fingerprint}`: nothing that it signed is admitted, whenever it was signed"
        ));
        for path in &named.workflows {
            out.line(&format!("  `{path}` still trusts it in CI: take it out there, and commit"));
        }
        for path in &named.proposals {
            let path = escape_line(path);
            out.line(&format!(
                "  `{path}` still proposes it to others: remove the file, and commit"
            ));
        }
        if !is_own {
            out.line(&format!("  take it back with `rye trust unrevoke {fingerprint}`"));
        }
        for warning in warnings {
            out.warn(warning);
        }
    }
    Ok(Exit::DONE)
}

/// Shows what would count again, asks, and removes the revocation.
fn unrevoke(key: &str, rye: &Rye, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let fingerprint = list::find_revoked(key, rye)?;
    // A revoked own key has no say.
    rye.signing().own_pair()?;
    let trust = rye.trust();
    let standing = match trust.document(fingerprint) {
        Ok(Some(document)) => {
            let owner = escape_line(&document.owner);
            format!("you trust it as `{owner}`, for {}", escape_line(&document.covers_everywhere()))
        }
        _ => "you have no trust document about it, so it stays untrusted".to_owned(),
    };
    if !out.is_json() {
        out.line(&format!("{fingerprint}  {standing}"));
        out.flush();
    }
    let what = format!("take back the revocation of `{fingerprint}`");
    confirm_always(&what, &fingerprint.to_string(), context, out)?;
    remove_own(rye.spaces().user()?, &document_id("revoked", fingerprint)?)?;
    if out.is_json() {
        out.success(json!({"fingerprint": fingerprint, "standing": standing}));
    } else {
        out.line("the revocation is taken back");
    }
    Ok(Exit::DONE)
}

/// The id of a document about a key.
fn document_id(folder: &str, key: Fingerprint) -> Result<ItemId, Failure> {
    Ok(format!("keys/{folder}/{key}").parse()?)
}

/// This works without a project, because the folder is refused until this was run.
fn allow_root(folder: &std::path::Path, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let io = |source| {
        let place = Place { path: folder.display().to_string(), ..Place::default() };
        SpaceError::Io { place, source }
    };
    let at = context.located();
    let identity = ProjectIdentity::read(&at.cwd.join(folder)).map_err(io)?;
    let user = crate::space::Spaces::find_user(&at)?.ok_or(SpaceError::NoUserSpace)?;
    let pair = crate::verify::OwnKeys::new(&user).pair()?;
    let path = identity.path.display().to_string();
    let is_home = ProjectIdentity::read(user.base()).is_ok_and(|home| home == identity);
    let what = match is_home {
        true => format!("take `{path}` for your home, whatever the user database says"),
        false => format!("use `.ai` of `{path}`, which others can change"),
    };
    confirm(&what, "", context, out)?;
    AllowedRoot::allow(&user, &pair, &identity, now())?;
    if out.is_json() {
        out.success(json!({"folder": path}));
    } else {
        let path = escape_line(&path);
        out.line(&match is_home {
            true => format!("`{path}` is your home, in whatever folder below it you work"),
            false => format!("`{path}` may be used although others own or can write it"),
        });
    }
    Ok(Exit::DONE)
}

/// A fingerprint as people name one: its beginning, or the short form `3f9a…c21e` that is shown.
struct Named<'a> {
    head: &'a str,
    tail: &'a str,
}

impl<'a> Named<'a> {
    /// # Errors
    /// `id.malformed` for anything but hex digits, or fewer of them than asked for.
    fn parse(text: &'a str, digits: usize) -> Result<Self, IdError> {
        let (head, tail) = text.split_once('…').unwrap_or((text, ""));
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let long = head.len() >= 4 && head.len() + tail.len() >= digits;
        if long && head.bytes().all(hex) && tail.bytes().all(hex) {
            return Ok(Self { head, tail });
        }
        Err(IdError::Fingerprint { text: text.chars().take(80).collect() })
    }

    fn fits(&self, fingerprint: &str) -> bool {
        fingerprint.starts_with(self.head) && fingerprint.ends_with(self.tail)
    }
}
