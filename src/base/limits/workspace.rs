//! Caps of what a thread does in its sandbox.

/// Longest command that the model of a thread has run, in characters (threads 4.4).
pub(crate) const WORKSPACE_COMMAND_CHARS: usize = 2_048;
/// What is kept of each output of such a command, in bytes: many times what a model is given.
pub(crate) const WORKSPACE_OUTPUT_BYTES: usize = 1 << 20;
/// Largest file of a workspace that is read for a model, in bytes: it is held in memory.
pub(crate) const WORKSPACE_FILE_BYTES: u64 = 8 << 20;
/// Most names of a folder of a workspace that are read; a model is given 500 of them.
pub(crate) const WORKSPACE_NAMES: usize = 20_000;
/// Most streams of one call of a tool in its sandbox: each has a thread.
pub(crate) const BACKEND_STREAMS: usize = 16;
/// Most payloads that wait in one of them: what is written is held in memory.
pub(crate) const STREAM_WAITING: usize = 256;
/// Deepest path in a workspace, in folders: each is opened by itself.
pub(crate) const WORKSPACE_DEPTH: usize = 64;
/// Most that a workspace holds, in mebibytes: behind each command nothing more is written to a
/// fuller one.
pub(crate) const WORKSPACE_MIB: u64 = 2_048;
/// Most files and folders that a workspace holds: they are counted behind each command.
pub(crate) const WORKSPACE_FILES: u64 = 50_000;
/// Largest file that a command in a workspace writes, in mebibytes: a mistake does not fill a disk.
pub(crate) const WORKSPACE_FILE_MIB: u64 = 1_024;
