//! Errors of the receipt of a run.

use std::io;
use std::path::PathBuf;

use crate::base::Digest;
use crate::base::text::{brief_line, escape_line};
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::Fingerprint;
use crate::verify::KeyProblem;

codes! {
    RECEIPT_MALFORMED = "receipt.malformed", Refused;
    RECEIPT_UNTRUSTED = "receipt.untrusted", Refused;
    RECEIPT_REVOKED = "receipt.revoked", Refused;
    RECEIPT_FORGED = "receipt.forged", Refused;
    RECEIPT_OTHER_PLAN = "receipt.other_plan", Refused;
    RECEIPT_OTHER_RUN = "receipt.other_run", Refused;
    RECEIPT_IO = "receipt.io", CannotRun;
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ReceiptError {
    #[error("it is not a receipt of rye: {}", brief_line(.why))]
    Malformed { why: String },
    #[error("the receipt is signed by `{key}`, {}", doubt(.why))]
    Untrusted { key: Fingerprint, why: KeyProblem },
    #[error("you revoked `{key}`, so no receipt by it counts")]
    Revoked { key: Fingerprint, own: bool },
    #[error("the receipt says that `{key}` ({}) signed it, but that key did not make its signature", escape_line(.owner))]
    Forged { key: Fingerprint, owner: String },
    #[error("the receipt is of the plan `{of}`, not of `{wanted}`")]
    OtherPlan { of: Digest, wanted: Digest },
    #[error("the receipt is of `{}`, not of `{}`", escape_line(.of), escape_line(.wanted))]
    OtherRun { of: String, wanted: String },
    #[error("no receipt can be written to `{}`, so nothing was run: {source}", .path.display())]
    NoPlace { path: PathBuf, source: io::Error },
    #[error("the run of `{item}` ended with {ended}, but its receipt `{}` could not be written: {source}", .path.display())]
    Lost { item: String, ended: String, path: PathBuf, source: io::Error },
}

fn doubt(doubt: &KeyProblem) -> String {
    match doubt {
        KeyProblem::Unknown => "which is neither your own key nor one that you trust".into(),
        KeyProblem::Weak => "which is a weak key and proves nothing".into(),
        KeyProblem::Example => "the example key, whose private half is public".into(),
        KeyProblem::Elsewhere => "which you trust in other projects only".into(),
        KeyProblem::Expired { at } => format!("which you trusted until {at}"),
        KeyProblem::Revoked => "which you revoked".into(),
        KeyProblem::Unreadable(error) => {
            format!("and your trust document for it cannot be read: {error}")
        }
    }
}

impl ReceiptError {
    /// Why the word of `key` does not count.
    pub(crate) fn doubted(key: Fingerprint, why: KeyProblem, own: bool) -> Self {
        match why {
            KeyProblem::Revoked => Self::Revoked { key, own },
            why => Self::Untrusted { key, why },
        }
    }
}

impl Diagnose for ReceiptError {
    fn code(&self) -> Code {
        match self {
            Self::Malformed { .. } => RECEIPT_MALFORMED,
            Self::Untrusted { .. } => RECEIPT_UNTRUSTED,
            Self::Revoked { .. } => RECEIPT_REVOKED,
            Self::Forged { .. } => RECEIPT_FORGED,
            Self::OtherPlan { .. } => RECEIPT_OTHER_PLAN,
            Self::OtherRun { .. } => RECEIPT_OTHER_RUN,
            Self::NoPlace { .. } | Self::Lost { .. } => RECEIPT_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Malformed { .. } => {
                "use the file exactly as `rye execute --receipt` wrote it, without reformatting it".into()
            }
            Self::Untrusted { why: KeyProblem::Unreadable(error), .. } => return error.help(),
            Self::Untrusted { .. } => {
                "if you know whose key it is, add it with `rye trust add <their key>.pem`".into()
            }
            Self::Revoked { own: true, .. } => "make another key with `rye keys rotate`".into(),
            Self::Revoked { .. } => "ask for the same run by another key".into(),
            Self::Forged { .. } => {
                "the receipt was changed after it was signed, or it never was signed; ask for the original".into()
            }
            Self::OtherPlan { .. } | Self::OtherRun { .. } => {
                "`rye receipt verify FILE` shows which run the receipt is of".into()
            }
            Self::NoPlace { .. } => "name a file in a folder that exists and that you may write to".into(),
            Self::Lost { .. } => "make room; the run itself is done and is not taken back".into(),
        })
    }

    fn place(&self) -> Option<Place> {
        None
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::Lost { item, .. } => Some(item.clone()),
            _ => None,
        }
    }
}
