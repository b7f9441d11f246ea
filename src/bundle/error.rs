//! Why a bundle was not packed, installed or removed.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, Diagnostic, Place, codes};
use crate::id::{BundleName, Fingerprint, Ref};
use crate::verify::KeyProblem;

codes! {
    BUNDLE_MALFORMED = "bundle.malformed", Refused;
    BUNDLE_UNTRUSTED = "bundle.untrusted", Refused;
    BUNDLE_FORGED = "bundle.forged", Refused;
    BUNDLE_CONTENT = "bundle.content", Refused;
    BUNDLE_CLASH = "bundle.clash", Refused;
    BUNDLE_REFUSED = "bundle.refused", Refused;
    BUNDLE_INSTALLED = "bundle.installed", Refused;
    BUNDLE_NOT_FOUND = "bundle.not_found", NotFound;
    BUNDLE_CHANGED = "bundle.changed", Refused;
    BUNDLE_EXISTS = "bundle.exists", Refused;
    BUNDLE_IO = "bundle.io", CannotRun;
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum BundleError {
    #[error("`{}` is not a valid bundle: {why}", escape_line(.path))]
    Malformed { path: String, why: String },
    #[error("the bundle is signed by `{key}`: {}", doubt(.why))]
    Untrusted { key: Fingerprint, why: KeyProblem },
    #[error(
        "the bundle is signed by `{key}`, who may not sign `{item}` in the system space: {why}"
    )]
    OutOfScope { key: Fingerprint, item: Ref, why: String },
    #[error("the bundle says that `{key}` signed it, but that key did not make its signature")]
    Forged { key: Fingerprint },
    #[error("a bundle may not hold `{}`: {why}", escape_line(.path))]
    Content { path: String, why: String },
    #[error("`{item}` is there already, in {}", .there.space.as_deref().unwrap_or("the system space"))]
    Clash { item: Ref, there: Place },
    #[error("{} of the bundle's items {} refused", .findings.len(), if .findings.len() == 1 { "is" } else { "are" })]
    Refused { findings: Vec<Diagnostic> },
    #[error("`{name}` is installed already: {why}")]
    Installed { name: BundleName, why: String },
    #[error("no bundle `{name}` is installed")]
    NotFound { name: BundleName, known: Vec<BundleName> },
    #[error("the bundle `{name}` is not what was installed{}", lines(.findings))]
    Changed { name: BundleName, findings: Vec<String> },
    #[error("`{}` is there already", escape_line(&.path.display().to_string()))]
    Exists { path: PathBuf },
    #[error("`{}`: {source}", escape_line(&.path.display().to_string()))]
    Io { path: PathBuf, source: std::io::Error },
}

fn lines(findings: &[String]) -> String {
    findings.iter().map(|finding| format!("\n{}", escape_line(finding))).collect()
}

fn doubt(why: &KeyProblem) -> String {
    match why {
        KeyProblem::Unknown => "you do not trust that key".into(),
        KeyProblem::Weak => "that key is weak".into(),
        KeyProblem::Example => "the private half of that key is public".into(),
        KeyProblem::Elsewhere => "you trust that key in other projects only".into(),
        KeyProblem::Expired { at } => format!("you trusted that key until {at}"),
        KeyProblem::Revoked => "you revoked that key".into(),
        KeyProblem::Unreadable(error) => error.to_string(),
    }
}

impl Diagnose for BundleError {
    fn code(&self) -> Code {
        match self {
            Self::Malformed { .. } => BUNDLE_MALFORMED,
            Self::Untrusted { .. } | Self::OutOfScope { .. } => BUNDLE_UNTRUSTED,
            Self::Forged { .. } => BUNDLE_FORGED,
            Self::Content { .. } => BUNDLE_CONTENT,
            Self::Clash { .. } => BUNDLE_CLASH,
            Self::Refused { .. } => BUNDLE_REFUSED,
            Self::Installed { .. } => BUNDLE_INSTALLED,
            Self::NotFound { .. } => BUNDLE_NOT_FOUND,
            Self::Changed { .. } => BUNDLE_CHANGED,
            Self::Exists { .. } => BUNDLE_EXISTS,
            Self::Io { .. } => BUNDLE_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Malformed { .. } => {
                "nothing was written; get the file again from whoever published it".into()
            }
            Self::Untrusted { .. } => {
                "if you know whose key it is: `rye trust add <their key> --items 'tool:acme/**'`, with the items you want of them".into()
            }
            Self::OutOfScope { .. } => {
                "name the items that you want of them: `rye trust add <their key> --items 'tool:acme/**'`".into()
            }
            Self::Forged { .. } => "do not use it; somebody pretends to be the publisher".into(),
            Self::Content { .. } => {
                "a bundle holds tools, directives, knowledge and config under ids of its publisher".into()
            }
            Self::Clash { .. } => "one of the two has to go: see `rye bundle list`".into(),
            Self::Refused { .. } => "nothing was installed; tell its publisher what is refused".into(),
            Self::Installed { name, .. } => {
                format!("if you want the other one: `rye bundle remove {name}`, then install again")
            }
            Self::NotFound { known, .. } if !known.is_empty() => {
                let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
                format!("installed are {}", known.join(", "))
            }
            Self::NotFound { .. } => "none is installed: `rye bundle install <file>`".into(),
            Self::Changed { name, .. } => {
                format!("install it again; `rye bundle remove {name}` keeps what was changed")
            }
            Self::Exists { .. } => "name another file with `--out`, or move that one".into(),
            Self::Io { .. } => "mend the cause and try again; a bundle is there whole or not at all".into(),
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Clash { there, .. } => Some(there.clone()),
            Self::Refused { findings } => findings.first().and_then(|f| f.place.clone()),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::Clash { item, .. } | Self::OutOfScope { item, .. } => Some(item.to_string()),
            _ => None,
        }
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = Map::new();
        match self {
            Self::Refused { findings } => {
                let rows: Vec<_> = findings.iter().map(|f| Value::Object(f.to_json())).collect();
                data.insert("findings".into(), rows.into());
            }
            Self::Changed { findings, .. } => {
                data.insert("findings".into(), findings.clone().into());
            }
            Self::Untrusted { key, .. } | Self::Forged { key } | Self::OutOfScope { key, .. } => {
                data.insert("key".into(), key.to_string().into());
            }
            _ => {}
        }
        data
    }
}
