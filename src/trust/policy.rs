//! The person's own policy, `config:rye/policy` of the user space.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::store::yaml;
use crate::base::text::{brief_line, near};
use crate::id::{ItemId, Pattern, Ref};
use crate::oms::{KnownSigner, SignerIdentity, TrustedRoot};

/// The person's own policy, `config:rye/policy` of the user space.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnPolicy {
    #[serde(default)]
    allow_shadow: Vec<String>,
    #[serde(default)]
    receipts: Receipts,
    /// Hooks that every call of a tool needs.
    #[serde(default)]
    required_hooks: Vec<String>,
    /// Patterns of tools that run without a sandbox.
    #[serde(default)]
    sandbox_off: Vec<String>,
    #[serde(default)]
    import: ImportPolicy,
    #[serde(skip)]
    required: Vec<ItemId>,
    #[serde(skip)]
    let_out: Vec<Pattern>,
}

/// The keys of a policy; a misspelt one would be none.
const KEYS: [&str; 5] = ["allow_shadow", "import", "receipts", "required_hooks", "sandbox_off"];

/// The rules for the signatures of others when a skill is imported.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportPolicy {
    /// A skill without a signature by a signer whom the person knows is refused.
    #[serde(default)]
    pub(crate) require_signature: bool,
    /// Signers by the names that the person gives them.
    #[serde(default)]
    signers: BTreeMap<String, NamedSigner>,
    #[serde(skip)]
    pub(crate) known: Vec<KnownSigner>,
    /// The text of a `trusted_root.json`, for signatures of the method `sigstore`.
    #[serde(default)]
    trusted_root: Option<String>,
    #[serde(skip)]
    pub(crate) root: Option<TrustedRoot>,
}

/// A public key, as PEM; or who it is to an issuer.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a signer is a PEM text, or an `identity` with its `issuer`")]
enum NamedSigner {
    Pem(String),
    Identity(NamedIdentity),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedIdentity {
    identity: String,
    issuer: String,
}

/// When the run of a tool leaves a receipt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Receipts {
    Always,
    #[default]
    OnRequest,
}

impl OwnPolicy {
    /// # Errors
    /// One line that says why the text is not a policy.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        only_known(text)?;
        let mut policy: Self = yaml(text)?;
        let hooks = std::mem::take(&mut policy.required_hooks);
        let id = |hook: &String| {
            let id = hook.strip_prefix("tool:").unwrap_or(hook).parse::<ItemId>();
            id.map_err(|error| format!("`required_hooks`: {error}"))
        };
        policy.required = hooks.iter().map(id).collect::<Result<_, _>>()?;
        let signers = std::mem::take(&mut policy.import.signers);
        let signer = |(name, is): (String, NamedSigner)| {
            let said = format!("`import.signers`: `{}`", brief_line(&name));
            let known = match is {
                NamedSigner::Pem(pem) => KnownSigner::of_pem(Some(name), &pem),
                NamedSigner::Identity(NamedIdentity { identity, issuer }) => {
                    SignerIdentity::new(&identity, &issuer)
                        .map(|who| KnownSigner::of_identity(Some(name), who))
                }
            };
            known.map_err(|why| format!("{said} {why}"))
        };
        policy.import.known = signers.into_iter().map(signer).collect::<Result<_, _>>()?;
        let root = policy.import.trusted_root.take();
        let root = root.map(|text| {
            TrustedRoot::of_text(&text).map_err(|why| format!("`import.trusted_root` {why}"))
        });
        policy.import.root = root.transpose()?;
        let pattern = |text: &String| {
            text.parse::<Pattern>().map_err(|why| format!("`sandbox_off`: {}", brief_line(&why)))
        };
        policy.let_out = policy.sandbox_off.iter().map(pattern).collect::<Result<_, _>>()?;
        Ok(policy)
    }

    pub(super) fn may_shadow(&self, id: &ItemId) -> bool {
        self.allow_shadow.iter().any(|listed| listed == id.as_str())
    }

    pub(super) fn wants_receipts(&self) -> bool {
        self.receipts == Receipts::Always
    }

    pub(super) fn required_hooks(&self) -> &[ItemId] {
        &self.required
    }

    /// The rules for the signatures of others when a skill is imported.
    pub(crate) fn import(&self) -> &ImportPolicy {
        &self.import
    }

    pub(super) fn lets_out(&self, item: &Ref) -> bool {
        self.let_out.iter().any(|pattern| pattern.matches(item))
    }
}

/// Refuses a key that no policy has, with the nearest one.
fn only_known(text: &str) -> Result<(), String> {
    let Ok(given) = yaml::<BTreeMap<String, serde_json::Value>>(text) else { return Ok(()) };
    let Some(unknown) = given.keys().find(|key| !KEYS.contains(&key.as_str())) else {
        return Ok(());
    };
    let meant = match near(unknown, KEYS.into_iter(), 1).pop() {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None => format!(": they are `{}`", KEYS.join("`, `")),
    };
    Err(format!("`{}` is not a key of a policy{meant}", brief_line(unknown)))
}
