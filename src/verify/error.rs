//! Why a file was not admitted.

use super::listed_files::PartFinding;
use crate::base::Timestamp;
use crate::base::text::{ForbiddenChar, Position, escape_line};
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::{Fingerprint, Ref, Space};
use crate::signature::PUBLISHER;
use crate::trust::{
    OutOfScope, VERIFY_EXAMPLE_KEY, VERIFY_REVOKED, VERIFY_TRUST_UNREADABLE, VERIFY_WEAK_KEY,
};

codes! {
    VERIFY_UNSIGNED = "verify.unsigned", Refused;
    VERIFY_MALFORMED = "verify.malformed", Refused;
    VERIFY_STRAY_SIGNATURE_LINE = "verify.stray_signature_line", Refused;
    VERIFY_LEGACY = "verify.legacy", Refused;
    VERIFY_MOVED = "verify.moved", Refused;
    VERIFY_ALTERED = "verify.altered", Refused;
    VERIFY_PROJECT_NOT_ACCEPTED = "verify.project_not_accepted", Refused;
    VERIFY_UNTRUSTED = "verify.untrusted", Refused;
    VERIFY_OUT_OF_SCOPE = "verify.out_of_scope", Refused;
    VERIFY_DEV_SIGNATURE = "verify.dev_signature", Refused;
    VERIFY_EXPIRED = "verify.expired", Refused;
    VERIFY_FORGED = "verify.forged", Refused;
    VERIFY_NOT_YET = "verify.not_yet", Refused;
    VERIFY_DEPENDENCY = "verify.dependency", Refused;
    PARSE_NOT_UTF8 = "parse.not_utf8", Malformed;
    PARSE_CONTROL_TEXT = "parse.control_text", Malformed;
    PARSE_INVISIBLE_TEXT = "parse.invisible_text", Malformed;
    SIGN_DEV_KEY = "sign.dev_key", Refused;
    SIGN_BUNDLED = "sign.bundled", Refused;
    SIGN_EMBEDDED = "sign.embedded", Refused;
    SIGN_RESERVED = "sign.reserved", Refused;
    SIGN_SHEBANG = "sign.shebang", Refused;
    SIGN_IO = "sign.io", Refused;
    VERIFY_ROLLED_BACK = "verify.rolled_back", Refused;
}

/// The rule that refused a file, in the order of core 3.6.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Reason {
    NotUtf8 {
        at: Position,
    },
    Text {
        unfit: ForbiddenChar,
        at: Position,
    },
    LoneReturn {
        at: Position,
    },
    Unsigned,
    Malformed {
        why: &'static str,
    },
    Stray {
        line: usize,
    },
    Legacy,
    Moved {
        says: String,
        is: String,
    },
    Altered,
    ProjectNotAccepted,
    TrustUnreadable {
        path: String,
        why: String,
        help: String,
    },
    Untrusted,
    ExampleKey,
    WeakKey,
    OutOfScope {
        why: OutOfScope,
    },
    Expired {
        at: Timestamp,
    },
    /// The time of the dev key is over.
    DevExpired {
        at: Timestamp,
    },
    /// A dev key signed it, and dev signatures do not count here.
    DevSignature,
    Revoked,
    Forged,
    NotYet {
        at: Timestamp,
    },
    /// A folder stands in for the shipped items, and its copy is older than the one in this binary.
    OlderThanShipped {
        at: Timestamp,
        shipped: Timestamp,
    },
    /// The files beside the item are not those that its header lists.
    Dependency {
        findings: Vec<PartFinding>,
    },
}

/// Who a signature line says has signed; `owner` where a trust document names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) key: Fingerprint,
    pub(crate) owner: Option<String>,
    pub(crate) at: Timestamp,
}

/// A file that was not admitted: which, where, by what rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) item: Ref,
    pub(crate) place: Place,
    pub(crate) claim: Option<Claim>,
    pub(crate) reason: Reason,
    /// An earlier version that verifies is at hand, so that `rye diff` can show the change.
    pub(crate) baseline: bool,
    /// A tool that lists the file: it is signed with that tool, and needs no line of its own.
    pub(crate) listed_by: Option<Ref>,
}

const WITHOUT_MARK: &str = "save the file as UTF-8 without a byte order mark (BOM)";
/// The next step where all line ends of a file were changed.
pub(crate) const LINE_ENDS: &str = "its line ends were changed, as git does with `core.autocrlf`: \
                                    run `rye git install`, which puts them back and keeps them";

/// Advice for a file that a tool lists, instead of running or signing it.
pub(crate) fn advice_for_file_of(tool: &Ref) -> String {
    format!(
        "run the tool: `rye run {tool}`; its signature covers the file, so after a change of yours \
         sign the tool: `rye sign {tool}`"
    )
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let item = &self.item;
        let key = self.claim.as_ref().map_or_else(|| "?".to_owned(), |c| c.key.short());
        match &self.reason {
            Reason::NotUtf8 { .. } => write!(f, "`{item}` is not valid UTF-8"),
            Reason::Text { unfit, .. } if unfit.invisible => {
                write!(f, "`{item}` holds an invisible character, U+{:04X}", u32::from(unfit.char))
            }
            Reason::Text { unfit, .. } => {
                write!(f, "`{item}` holds a control character, U+{:04X}", u32::from(unfit.char))
            }
            Reason::LoneReturn { .. } => {
                write!(f, "`{item}` holds a carriage return that is not before a line feed, U+000D")
            }
            Reason::Unsigned => match &self.listed_by {
                Some(tool) => {
                    write!(f, "`{item}` is a file of `{tool}`, and not an item by itself")
                }
                None => write!(f, "`{item}` is not signed"),
            },
            Reason::Malformed { why } => {
                write!(f, "the signature line of `{item}` is malformed: {why}")
            }
            Reason::Stray { line } => {
                write!(f, "`{item}` has a signature line where none belongs, on line {line}")
            }
            Reason::Legacy => {
                write!(f, "`{item}` carries a signature of the older form, which admits nothing")
            }
            Reason::Moved { says, is } => {
                write!(
                    f,
                    "`{item}` was signed as `{}`, and lies where `{is}` belongs",
                    escape_line(says)
                )
            }
            Reason::Altered => write!(f, "`{item}` was changed after it was signed"),
            Reason::ProjectNotAccepted => {
                write!(
                    f,
                    "`{item}` lies in a project that you have not accepted, so no key admits it"
                )
            }
            Reason::TrustUnreadable { path, why, .. } => {
                write!(
                    f,
                    "`{item}` cannot be judged: `{}` cannot be used: {}",
                    escape_line(path),
                    escape_line(why)
                )
            }
            Reason::Untrusted => write!(f, "`{item}` is signed by `{key}`, which you do not trust"),
            Reason::ExampleKey => {
                write!(f, "`{item}` is signed by the example key, whose private half is public")
            }
            Reason::WeakKey => write!(f, "`{item}` is signed by `{key}`, which is a weak key"),
            Reason::OutOfScope { why } => {
                write!(f, "`{key}` may not sign `{item}` here: {why}")
            }
            Reason::Expired { at } => {
                write!(f, "`{item}` is signed by `{key}`, which you trusted until {at}")
            }
            Reason::DevExpired { at } => {
                write!(f, "`{item}` is signed by the dev key `{key}`, whose time was over at {at}")
            }
            Reason::DevSignature => {
                write!(
                    f,
                    "`{item}` is signed by the dev key `{key}`, which counts on this machine alone"
                )
            }
            Reason::Revoked => write!(f, "`{item}` is signed by `{key}`, which you revoked"),
            Reason::Forged => write!(f, "the signature of `{item}` was not made by `{key}`"),
            Reason::NotYet { at } => {
                write!(f, "`{item}` says it was signed at {at}, which is in the future")
            }
            Reason::OlderThanShipped { at, shipped } => write!(
                f,
                "`{item}` of RYE_SYSTEM_SPACE was signed at {at}, before the one that this rye brings, \
                 at {shipped}"
            ),
            Reason::Dependency { findings } => {
                write!(f, "the files beside `{item}` are not those that were signed")?;
                findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
            }
        }
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// A refusal of a file whose signer is not known.
    pub(crate) fn new(item: Ref, place: Place, reason: Reason) -> Self {
        Self { item, place, claim: None, reason, baseline: false, listed_by: None }
    }

    /// The next step where `rye sign REF` would refuse an id below `rye/`.
    fn help_for_reserved(&self) -> Option<String> {
        let Self { item, place, reason, .. } = self;
        let (is_own, space) = (item.is_own_config(), place.space.as_deref());
        let is_altered = matches!(reason, Reason::Altered);
        let can_be = is_altered || matches!(reason, Reason::Unsigned | Reason::Moved { .. });
        match space {
            _ if !item.id.is_reserved() || !can_be => None,
            Some("user") if is_own => {
                Some(format!("read the file; if it is yours, run `rye sign {item} --space user`"))
            }
            Some("project") if is_own => Some(format!(
                "remove the file: no project has a say there, only `{item}` of your user space"
            )),
            Some("project") if !is_altered => Some(
                "remove the file, or give it an id of your own, such as `acme/…`: only rye signs \
                 ids below `rye/`"
                    .into(),
            ),
            _ => None,
        }
    }

    /// The bundle of the system space that holds the file.
    fn bundle(&self) -> Option<&str> {
        self.place.space.as_deref()?.strip_prefix("system:")
    }
}

impl Diagnose for Refused {
    fn code(&self) -> Code {
        self.reason.code()
    }

    fn help(&self) -> Option<String> {
        let item = &self.item;
        let review = "see who signs here with `rye trust review`";
        if let (Reason::Unsigned, Some(tool)) = (&self.reason, &self.listed_by) {
            return Some(advice_for_file_of(tool));
        }
        if let Some(help) = self.help_for_reserved() {
            return Some(help);
        }
        Some(match &self.reason {
            Reason::NotUtf8 { .. } => "save the file as UTF-8".into(),
            Reason::Text { unfit, .. } if unfit.char == '\u{feff}' => WITHOUT_MARK.into(),
            Reason::Text { .. } | Reason::LoneReturn { .. } => {
                "remove it; what a reviewer cannot see must not be in an item".into()
            }
            Reason::Altered
            | Reason::Unsigned
            | Reason::Moved { .. }
            | Reason::Dependency { .. }
            | Reason::Legacy
                if self.bundle().is_some() =>
            {
                let bundle = self.bundle().unwrap_or_default();
                format!("see `rye bundle verify {bundle}`, and install the bundle again")
            }
            Reason::Altered if self.item.id.is_reserved() => {
                "put the published file back; `rye why` shows where it lies".into()
            }
            Reason::Altered => format!(
                "see what changed with `rye diff {item}`; if the change is yours, run `rye sign {item}`"
            ),
            Reason::Unsigned if item.is_about_keys() => {
                "it is a proposal and no item: nobody signs it; see `rye trust review`".into()
            }
            Reason::Unsigned | Reason::Moved { .. } if self.baseline => format!(
                "see what changed with `rye diff {item}`; if it is yours, run `rye sign {item}`"
            ),
            Reason::Unsigned | Reason::Moved { .. } => {
                format!("read the file; if it is yours, run `rye sign {item}`")
            }
            Reason::Stray { line } => format!(
                "remove line {line} if it is a signature line; put an example behind another comment sign, and in a string of a program write it in two parts: \"# rye:\" \"signed:\""
            ),
            Reason::Malformed { why } if why.contains("carriage return") => LINE_ENDS.into(),
            Reason::Malformed { .. } | Reason::Forged => {
                format!(
                    "somebody edited the signature line: see `rye diff {item}` and `rye why {item}`"
                )
            }
            Reason::Legacy => format!("read the file; if you want it, run `rye sign {item}`"),
            Reason::ProjectNotAccepted | Reason::Untrusted => review.into(),
            Reason::TrustUnreadable { help, .. } => help.clone(),
            Reason::ExampleKey => {
                "sign with a key of your own: `rye keys generate`, then `rye sign`".into()
            }
            Reason::WeakKey => "ask the signer for a sound key; this one proves nothing".into(),
            Reason::OutOfScope { why } => match &self.claim {
                // This is an item of rye itself, from another version than this program.
                Some(claim) if claim.key == PUBLISHER => format!(
                    "sign a copy of your own with `rye sign {item}`, or name the folder that holds rye's own items with RYE_SYSTEM_SPACE"
                ),
                Some(claim) if why.ends_when_named() => {
                    let here = self.place.space.as_deref() == Some(Space::Project.as_str());
                    let verb = if here { "accept" } else { "add" };
                    format!(
                        "read it; to let the key sign it too, run `rye trust {verb} {} --items '{item}'`",
                        claim.key
                    )
                }
                Some(claim) if *why == OutOfScope::Elsewhere => here_too("trust accept", claim.key),
                Some(claim) if *why == OutOfScope::NotOfCaller => {
                    here_too("node authorize … --signers", claim.key)
                }
                Some(claim) => {
                    format!("see what the key may sign with `rye trust show {}`", claim.key)
                }
                None => review.into(),
            },
            Reason::Expired { .. } => {
                "ask the signer whether the key is still theirs, then `rye trust add` it again"
                    .into()
            }
            Reason::DevExpired { .. } => format!(
                "see what changed with `rye diff {item}`; then start `rye dev` again, or run `rye sign {item}`"
            ),
            Reason::DevSignature => format!("when the work is done, run `rye sign {item}`"),
            Reason::Revoked
                if self.claim.as_ref().and_then(|c| c.owner.as_deref()) == Some("you") =>
            {
                "it is your own key: make another with `rye keys rotate`, then sign again".into()
            }
            Reason::Revoked if item.id.is_reserved() => "you revoked the publisher's key".into(),
            Reason::Revoked => format!("if you still want it, read it and run `rye sign {item}`"),
            Reason::NotYet { .. } => "check the clock of this machine and the signer's".into(),
            Reason::OlderThanShipped { .. } => {
                "unset RYE_SYSTEM_SPACE: the items that this rye brings are newer".into()
            }
            Reason::Dependency { .. } => {
                format!("look at these files; if the changes are yours, run `rye sign {item}`")
            }
        })
    }

    fn place(&self) -> Option<Place> {
        let note = self.claim.as_ref().map(|claim| match &claim.owner {
            Some(owner) => {
                format!("signed {} by `{}` {}", claim.at.day(), owner, claim.key.short())
            }
            None => format!("signed {} by {}", claim.at.day(), claim.key.short()),
        });
        let place = Place { note, ..self.place.clone() };
        Some(match &self.reason {
            Reason::NotUtf8 { at } | Reason::Text { at, .. } | Reason::LoneReturn { at } => {
                place.at(*at)
            }
            Reason::Stray { line } => place.line(*line),
            _ => place,
        })
    }

    fn item(&self) -> Option<String> {
        Some(self.item.to_string())
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut data = serde_json::Map::new();
        if let Some(claim) = &self.claim {
            data.insert("signer".into(), claim.key.to_string().into());
            data.insert("signed_at".into(), claim.at.to_string().into());
            if let Some(owner) = &claim.owner {
                data.insert("owner".into(), owner.clone().into());
            }
        }
        if let Reason::Moved { says, is } = &self.reason {
            data.insert("signed_as".into(), says.clone().into());
            data.insert("lies_as".into(), is.clone().into());
        }
        if let Some(tool) = &self.listed_by {
            data.insert("listed_by".into(), tool.to_string().into());
        }
        if let Reason::Dependency { findings } = &self.reason {
            let findings: Vec<_> = findings.iter().map(ToString::to_string).collect();
            data.insert("findings".into(), findings.into());
        }
        data
    }
}

/// The project as a whole is not accepted, so nothing of it is interpreted.
#[derive(Debug, thiserror::Error)]
#[error("you have not accepted this project, so nothing of it is used")]
pub(crate) struct UnacceptedProject {
    pub(crate) folder: String,
}

impl Diagnose for UnacceptedProject {
    fn code(&self) -> Code {
        VERIFY_PROJECT_NOT_ACCEPTED
    }

    fn help(&self) -> Option<String> {
        Some("read what it brings with `rye trust review`".into())
    }

    fn place(&self) -> Option<Place> {
        Some(Place { path: self.folder.clone(), ..Place::default() })
    }
}

impl Reason {
    /// Returns true if dev mode forgives the reason: these five come of working on a file (core
    /// 5.1).
    pub(super) fn is_about_work_in_hand(&self) -> bool {
        matches!(
            self,
            Self::Unsigned | Self::Altered | Self::Moved { .. } | Self::Untrusted | Self::Legacy
        )
    }

    pub(crate) fn code(&self) -> Code {
        match self {
            Self::NotUtf8 { .. } => PARSE_NOT_UTF8,
            Self::Text { unfit, .. } if unfit.invisible => PARSE_INVISIBLE_TEXT,
            Self::Text { .. } | Self::LoneReturn { .. } => PARSE_CONTROL_TEXT,
            Self::Unsigned => VERIFY_UNSIGNED,
            Self::Malformed { .. } => VERIFY_MALFORMED,
            Self::Stray { .. } => VERIFY_STRAY_SIGNATURE_LINE,
            Self::Legacy => VERIFY_LEGACY,
            Self::Moved { .. } => VERIFY_MOVED,
            Self::Altered => VERIFY_ALTERED,
            Self::ProjectNotAccepted => VERIFY_PROJECT_NOT_ACCEPTED,
            Self::TrustUnreadable { .. } => VERIFY_TRUST_UNREADABLE,
            Self::Untrusted => VERIFY_UNTRUSTED,
            Self::ExampleKey => VERIFY_EXAMPLE_KEY,
            Self::WeakKey => VERIFY_WEAK_KEY,
            Self::OutOfScope { .. } => VERIFY_OUT_OF_SCOPE,
            Self::Expired { .. } | Self::DevExpired { .. } => VERIFY_EXPIRED,
            Self::DevSignature => VERIFY_DEV_SIGNATURE,
            Self::Revoked => VERIFY_REVOKED,
            Self::Forged => VERIFY_FORGED,
            Self::NotYet { .. } => VERIFY_NOT_YET,
            // The code is the lock's, because the rule is the same: nothing older than a known
            // version runs.
            Self::OlderThanShipped { .. } => VERIFY_ROLLED_BACK,
            Self::Dependency { .. } => VERIFY_DEPENDENCY,
        }
    }
}

fn here_too(verb: &str, key: Fingerprint) -> String {
    format!("to let the key sign here too, run `rye {verb} {key}`")
}
