//! Whom a person believes for the method `sigstore`, and by which root. Nothing here is known of
//! its own: both are given.

use serde_json::Value;

use crate::base::Digest;
use crate::base::json_reader::may_hold_more;
use crate::base::limits::MESSAGE_NODES;
use crate::base::text::brief_line;

/// Longest identity and longest issuer of a signer in bytes: an address, or that of a workflow.
const IDENTITY_BYTES: usize = 1 << 10;

/// Largest trusted root in bytes: the usual ones have seven to thirty thousand.
const TRUSTED_ROOT_BYTES: usize = 256 << 10;

/// An identity and the issuer that vouched for it when the certificate was made. One without the
/// other names no person: each issuer may give the same address to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignerIdentity {
    pub(super) identity: String,
    pub(super) issuer: String,
}

impl SignerIdentity {
    /// # Errors
    /// A clause that says what is wrong with it.
    pub(crate) fn new(identity: &str, issuer: &str) -> Result<Self, String> {
        for (what, text) in [("identity", identity), ("issuer", issuer)] {
            // It goes into items, where the last four would mean something.
            let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '`' | '{' | '}' | '"');
            if text.is_empty() || text.len() > IDENTITY_BYTES || !text.chars().all(is_plain) {
                let shown = brief_line(text);
                return Err(format!("has an {what} that cannot be used: `{shown}`"));
            }
        }
        if !identity.contains('@') && !identity.contains("://") {
            let shown = brief_line(identity);
            return Err(format!("has an identity that is not an address or a URI: `{shown}`"));
        }
        if !issuer.starts_with("https://") {
            let shown = brief_line(issuer);
            return Err(format!("has an issuer that does not begin with `https://`: `{shown}`"));
        }
        Ok(Self { identity: identity.into(), issuer: issuer.into() })
    }

    /// Both in one line.
    pub(super) fn line(&self) -> String {
        format!("`{}` of the issuer `{}`", self.identity, self.issuer)
    }

    /// Returns true if it is a URI, as of a workflow; else it is an address of electronic mail.
    #[cfg(feature = "sigstore")]
    pub(super) fn is_uri(&self) -> bool {
        self.identity.contains("://")
    }
}

/// The trusted root of one service: its authorities, logs and clocks with their keys. The text of
/// `trusted_root.json` (`sigstore_trustroot.proto`); it is read in full where it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrustedRoot {
    pub(super) text: String,
    pub(super) sha256: Digest,
}

/// Versions 0.1 and 0.2, in the two ways to write a media type.
const MEDIA_TYPES: [&str; 4] = [
    "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    "application/vnd.dev.sigstore.trustedroot.v0.1+json",
    "application/vnd.dev.sigstore.trustedroot+json;version=0.2",
    "application/vnd.dev.sigstore.trustedroot.v0.2+json",
];

impl TrustedRoot {
    /// # Errors
    /// A clause that says why it is not one.
    pub(crate) fn of_text(text: &str) -> Result<Self, String> {
        if text.len() > TRUSTED_ROOT_BYTES {
            return Err(format!("is larger than {TRUSTED_ROOT_BYTES} bytes"));
        }
        if may_hold_more(text.as_bytes(), MESSAGE_NODES) {
            return Err(format!("may hold more than {MESSAGE_NODES} values"));
        }
        let root: Value =
            serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
        let kind = root.get("mediaType").and_then(Value::as_str).ok_or("has no media type")?;
        match MEDIA_TYPES.contains(&kind) {
            true => Ok(Self { text: text.into(), sha256: Digest::of(text.as_bytes()) }),
            false => Err(format!("is of the media type `{}`", brief_line(kind))),
        }
    }
}
