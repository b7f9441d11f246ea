//! Thread: a directive, run as a conversation between a model and the tools that it may call.
//!
//! Sees the typed items, keys and the registry. Knows no run: the caller carries out the calls that
//! a model makes, by [`Calls`].
//!
//! In:  a [`Conversation`]: prompt, tools, model and limits; and an open [`Record`].
//! Out: an [`Ended`], or a [`ThreadError`] that says which limit or output stopped it.
//!
//! Invariants
//! - Before a model is asked, its worst case is held in the ledger; what it took is booked after.
//! - Whatever is said or called stands in the record before the next thing happens.
//! - What a model may reach is decided above, and by nothing that a model says.
//!
//! Start at `converse.rs`, the loop, and `ask.rs`, one answer · `prompt.rs` what the model is told
//! · `table.rs` the tools that it may call, `tool.rs` one of them, `dispatch.rs` what carries calls
//! out, `backend.rs` what one does in the thread's sandbox, `stream.rs` in queues, and
//! `workspace.rs` those of rye that do · `result.rs` what it is given of a call · `model/` who
//! answers · `limits.rs` · `record.rs` what is kept, `record_check.rs` whether it is whole,
//! `record_files.rs` with the files beside it, `replay.rs` how far it came · `waits.rs` waiting for
//! a person · `continuation.rs` handing over to another thread · `transcript_lines.rs` what is
//! written and `live_words.rs` what is being said, for a reader that watches · `thread_id.rs`

mod ask;
mod backend;
mod continuation;
mod converse;
mod dispatch;
mod error;
mod limits;
mod live_words;
mod model;
mod prompt;
mod record;
mod record_check;
mod record_files;
mod replay;
mod result;
mod stream;
#[cfg(test)]
mod stream_tests;
mod table;
mod thread_file;
mod thread_id;
mod tool;
mod transcript_lines;
mod waits;
mod watch;
mod workspace;

pub use backend::{
    BackendCapability, BackendFault, BackendFaultKind, FileEncoding, Payload, PayloadResult,
    SandboxBackend, WorkspaceEntry,
};
pub use stream::{BackendEvent, BackendStream, BackendStreams, PayloadFuture};
pub use tool::{ThreadSession, ThreadTool, ToolCallFault, ToolCallFaultKind};

pub(crate) use continuation::Continued;
pub(crate) use converse::{Conversation, Ended, Resumed, ThreadOutcome, converse};
pub(crate) use error::{
    CODES, THREAD_CANCELLED, THREAD_KILLED, THREAD_NOT_FOUND, THREAD_NOT_RUNNING,
    THREAD_STILL_RUNS, ThreadError, see_how_far,
};
pub(crate) use limits::ThreadLimits;
pub(crate) use live_words::{LIVE_WORDS, LiveText, output_log};
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use model::fuzz;
pub(crate) use model::{
    CODES as PROVIDER_CODES, Credential, HttpModel, LanguageModel, Message, ModelCall, ModelName,
    Scripted, Turn, is_broken_off,
};
pub(crate) use prompt::Prompt;
pub(crate) use record::{
    ProvenRecord, Record, THREAD_ENDED, THREAD_RESUMED, USAGE_IS_RESERVED, new_output_log,
    refuse_record_links, transcript,
};
pub(crate) use record_check::{CheckedRecord, RecordFinding, check_record};
pub(crate) use record_files::{CheckedFiles, check_files};
pub(crate) use replay::{Replay, replay};
pub(crate) use table::{TableTool, ToolTable, tool_name};
pub(crate) use thread_file::RECORD_VERSION;
pub(crate) use thread_id::{ThreadId, is_uuid, new_uuid};
pub(crate) use transcript_lines::{TranscriptLines, duration_limit, kept_end, last_event};
pub(crate) use waits::Awaited;
pub(crate) use watch::{
    ReplacedRequest, ShownRequest, Watcher, messages_from_json, turn_from_json,
};
pub(crate) use workspace::{WorkspaceTool, cut_streams, shown_bytes};
