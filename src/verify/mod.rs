//! Verify: from a file that was found to a source that was admitted; and `stage`, its mirror.
//!
//! Sees `trust`, `signature`, `resolve`, `space`, `trace`, `id`, `diagnostic`, `base`. Parses no
//! item.
//!
//! In:  a `Found`, the trust store, dev mode or not.
//! Out: a [`Source`]: the same bytes, with who signed them.
//!
//! Invariants
//! - A `Source` is made here and nowhere else; no file is admitted by the name of its space alone.
//! - The file is judged strictly; dev mode is asked afterwards what it forgives.
//!
//! Start at `admit.rs`. `listed_files.rs` is what a signature covers beside its item, `stage.rs`
//! the mirror of `admit`. What `signature` and `trust` have is given on to the layers above.

mod admit;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod listed_files;
mod source;
mod stage;

pub(crate) use admit::{DevMode, admit};
pub(crate) use error::{
    CODES, LINE_ENDS, PARSE_CONTROL_TEXT, PARSE_INVISIBLE_TEXT, Reason, Refused, UnacceptedProject,
    VERIFY_ALTERED, VERIFY_DEPENDENCY, VERIFY_DEV_SIGNATURE, VERIFY_EXPIRED, VERIFY_OUT_OF_SCOPE,
    VERIFY_PROJECT_NOT_ACCEPTED, VERIFY_ROLLED_BACK, VERIFY_UNSIGNED, VERIFY_UNTRUSTED,
    advice_for_file_of,
};
#[cfg(feature = "lsp")]
pub(crate) use error::{VERIFY_LEGACY, VERIFY_MOVED};
pub(crate) use listed_files::{FileList, PartFinding, PartsRoot, parts_path, path_below_base};
pub(crate) use source::{Integrity, Source};
pub(crate) use stage::{SignError, SignWith, SignedFile, digest_to_sign, stage};

pub(crate) use crate::signature::{
    AnyEnvelope, EXAMPLE, EncryptedKeyFault, Envelope, KeyPair, MARK, PUBLISHER, PayloadType,
    PublicKey, Scan, SigLine, SignedText, TextFault, brief, check, is_encrypted, line_range, scan,
    without_line,
};
pub(crate) use crate::trust::{
    AcceptedProject, AllowedRoot, BACKENDS, BackendIdentity, CallerScope, DEPS, DEV_OWNER, DevKey,
    DevRecord, DocumentFault, FileIdentity, INTERPRETERS, KeyError, KeyProblem, KeyScope,
    KeyStatus, NamedKeys, NodeCaller, OutOfScope, OwnKeys, PROVIDERS, Permit, Proposal,
    ProviderIdentity, Revocation, TrustDocument, TrustError, TrustStore, allow_backend, allow_deps,
    allow_file, allow_provider, check_own_config, own_text, proposals, record_id, relative,
    remove_own, rotate, write_own,
};
pub(crate) use crate::trust::{ApprovedItem, ProjectApproval, approval, approve, signed_at};
