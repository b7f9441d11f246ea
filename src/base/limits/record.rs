//! Caps of what is kept of a thread or a detached run.

/// How often a process tries to lock what it registers: whoever looks has the lock for a moment.
pub(crate) const LOCK_TRIES: u32 = 40;
/// Largest record of a thread that is read, in bytes: it is read as a whole.
pub(crate) const THREAD_RECORD_BYTES: u64 = 512 << 20;
/// Largest `thread.json` that is read, in bytes: what stands in it are names, limits and
/// permissions of a directive.
pub(crate) const THREAD_FILE_BYTES: u64 = 1 << 20;
/// How often a record is read by one that verifies it, where what the registry knows of its thread
/// changes meanwhile.
pub(crate) const THREAD_READINGS: usize = 4;
/// Files in the folder of a record that nothing names, which are told by name.
pub(crate) const THREAD_FILES_TOLD: usize = 100;
/// Most words of one answer that are told while they come, in bytes; the whole answer is told once
/// it is there.
pub(crate) const LIVE_WORDS_BYTES: usize = 1 << 20;
/// Longest line of a transcript that is read while it is written, in bytes: what is longer than a
/// result may be is kept beside it.
pub(crate) const THREAD_LINE_BYTES: usize = 64 << 20;
/// How much of the end of a record is read for why its thread failed, in bytes: a failure in words,
/// with its help and its values, and the checkpoint behind it.
pub(crate) const THREAD_END_BYTES: u64 = 256 << 10;
/// Deepest nesting of JSON that rye wrote: what it was given stands some levels deeper there.
pub(crate) const KEPT_DEPTH: usize = 2 * super::DATA_DEPTH;
/// Most values of JSON that rye wrote: what it was given stands beside its own.
pub(crate) const KEPT_NODES: usize = 2 * super::JSON_NODES;
