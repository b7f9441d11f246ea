//! Why a signature of others was not accepted, or none was made.

use serde_json::{Map, Value};

use crate::base::text::{brief_line, escape_line};
use crate::diagnostic::{Code, Diagnose, Place, codes};

codes! {
    OMS_MALFORMED = "oms.malformed", Refused;
    OMS_FORGED = "oms.forged", Refused;
    OMS_UNKNOWN_SIGNER = "oms.unknown_signer", Refused;
    OMS_FILES = "oms.files", Refused;
    OMS_UNSUPPORTED = "oms.unsupported", Refused;
    OMS_REQUIRED = "oms.required", Refused;
    OMS_ROOT = "oms.root", Refused;
    OMS_KEY = "oms.key", Malformed;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum OmsError {
    #[error("the signature file is not one of OpenSSF Model Signing: {}", brief_line(.why))]
    Malformed { why: String },
    #[error("the signature was not made by `{}`, or what it signs was changed since", escape_line(.signer))]
    Forged { signer: String },
    #[error("the signature is by {}, whom you did not name as a signer", escape_line(.signer))]
    UnknownSigner { signer: String },
    #[error("the files are not the signed ones{}", lines(.findings))]
    Files { findings: Vec<String> },
    #[error("{} cannot be checked here", escape_line(.what))]
    Unsupported { what: String },
    #[error("{why}")]
    Required { why: String, is_policy: bool },
    #[error("the trusted root {}", escape_line(.why))]
    Root { why: String },
    #[error("`{}` {}", escape_line(.path), escape_line(.why))]
    Key { path: String, why: String },
}

/// How many findings a message lists; the rest is counted.
const SHOWN: usize = 20;

fn lines(findings: &[String]) -> String {
    let shown = findings.iter().take(SHOWN).map(|finding| format!("\n{}", escape_line(finding)));
    let more = match findings.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    shown.collect::<String>() + &more
}

impl OmsError {
    pub(super) fn malformed(why: impl Into<String>) -> Self {
        Self::Malformed { why: why.into() }
    }
}

impl Diagnose for OmsError {
    fn code(&self) -> Code {
        match self {
            Self::Malformed { .. } => OMS_MALFORMED,
            Self::Forged { .. } => OMS_FORGED,
            Self::UnknownSigner { .. } => OMS_UNKNOWN_SIGNER,
            Self::Files { .. } => OMS_FILES,
            Self::Unsupported { .. } => OMS_UNSUPPORTED,
            Self::Required { .. } => OMS_REQUIRED,
            Self::Root { .. } => OMS_ROOT,
            Self::Key { .. } => OMS_KEY,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Malformed { .. } => "get the folder again from whoever published it".into(),
            Self::Forged { .. } => {
                "do not use it; get it again from whoever published it, and ask them which key they sign with".into()
            }
            Self::UnknownSigner { .. } => {
                "get the signer's public key from a place that you trust, and give it with `--signer FILE`; of a signature by `sigstore` name the identity and its issuer with `--signer-identity` and `--signer-issuer`; `--unchecked` takes the skill as one that nobody vouches for".into()
            }
            Self::Files { .. } => {
                "get the folder again; where files were only added to it, `--signed-only` leaves them out".into()
            }
            Self::Unsupported { .. } => {
                "ask the signer for a signature by the method `key`, on P-256, P-384 or P-521, or by `sigstore`; `--unchecked` takes the skill as one that nobody vouches for".into()
            }
            Self::Required { is_policy: true, .. } => {
                "give the signer with `--signer FILE`, or list them in `import.signers` of your `config:rye/policy`".into()
            }
            Self::Required { is_policy: false, .. } => {
                "get the signature from whoever published the skill, and give it with `--signature FILE`".into()
            }
            Self::Root { .. } => {
                "name a newer trusted root, or that of the service which the signer used: its `trusted_root.json` with `--trusted-root FILE`, or as `import.trusted_root` of your `config:rye/policy`".into()
            }
            Self::Key { .. } => {
                "a signer is a PEM file with the label `PUBLIC KEY`, and your own key one with the label `PRIVATE KEY`, on P-256, P-384 or P-521".into()
            }
        })
    }

    fn place(&self) -> Option<Place> {
        None
    }

    fn item(&self) -> Option<String> {
        None
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = Map::new();
        if let Self::Files { findings } = self {
            data.insert("findings".into(), findings.clone().into());
        }
        if let Self::UnknownSigner { signer } | Self::Forged { signer } = self {
            data.insert("signer".into(), signer.as_str().into());
        }
        data
    }
}
