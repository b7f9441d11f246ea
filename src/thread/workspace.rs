//! The tools of rye that work in the workspace of a thread (threads 4.1, 4.3, 4.4).

use serde_json::{Map, Value, json};

use super::backend::{
    BackendFault, BackendFaultKind, FileEncoding, Payload, PayloadResult, WorkspaceEntry,
};
use super::tool::{ThreadSession, ThreadTool, ToolCallFault, ToolCallFaultKind};
use crate::base::limits::WORKSPACE_OUTPUT_BYTES;

/// Longest command that the model of a thread has run, in characters (threads 4.4).
const WORKSPACE_COMMAND_CHARS: usize = 2_048;

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkspaceTool {
    List,
    Read,
    Run,
    Write,
}

impl WorkspaceTool {
    pub(crate) const ALL: [Self; 4] = [Self::List, Self::Read, Self::Run, Self::Write];

    fn command(session: &ThreadSession<'_>, cmd: &str) -> Result<Value, ToolCallFault> {
        if cmd.chars().count() > WORKSPACE_COMMAND_CHARS || cmd.contains(['\n', '\r', '\0']) {
            let most = WORKSPACE_COMMAND_CHARS;
            let why = format!("a command is one line of at most {most} characters");
            return Err(ToolCallFault::new(why));
        }
        match session.backend().dispatch(Payload::command(cmd, session.time_left())) {
            Ok(PayloadResult::Command {
                exit_code,
                stdout,
                stderr,
                stdout_total,
                stderr_total,
                elapsed,
            }) => {
                let mut told = Map::new();
                told.insert("exit_code".into(), exit_code.into());
                insert_text(&mut told, "stdout", &stdout);
                insert_text(&mut told, "stderr", &stderr);
                let ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
                told.insert("elapsed_ms".into(), ms.into());
                let cut = cut_streams(WORKSPACE_OUTPUT_BYTES, stdout_total, stderr_total);
                if !cut.is_empty() {
                    told.insert("truncated".into(), cut.into());
                }
                Ok(told.into())
            }
            other => Err(unexpected(other)),
        }
    }
}

impl ThreadTool for WorkspaceTool {
    fn name(&self) -> &str {
        match self {
            Self::List => "list_workspace",
            Self::Read => "read_workspace_file",
            Self::Run => "run_shell_command",
            Self::Write => "write_workspace_file",
        }
    }

    fn description(&self) -> &str {
        match self {
            Self::List => "Lists a folder of the workspace.",
            Self::Read => "Gives the text of a file of the workspace.",
            Self::Run => {
                "Runs one line of shell in the workspace, in a sandbox: it sees the workspace and \
                 the system's programs, and no network."
            }
            Self::Write => "Writes a text file of the workspace; folders above it are made.",
        }
    }

    fn parameters(&self) -> Value {
        let path = json!({"type": "string", "description": "relative to the workspace"});
        let (properties, required) = match self {
            Self::List => (json!({"path": path}), json!([])),
            Self::Read => (json!({"path": path}), json!(["path"])),
            Self::Run => (json!({"cmd": {"type": "string"}}), json!(["cmd"])),
            Self::Write => {
                (json!({"path": path, "content": {"type": "string"}}), json!(["path", "content"]))
            }
        };
        json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        })
    }

    fn only_reads(&self) -> bool {
        matches!(self, Self::List | Self::Read)
    }

    fn call(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        let text = |key: &str| args.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let backend = session.backend();
        match self {
            Self::Run => Self::command(session, &text("cmd")),
            Self::List => {
                let path = args.get("path").map_or_else(|| ".".to_owned(), |_| text("path"));
                match backend.dispatch(Payload::FilesList { path }) {
                    Ok(PayloadResult::Entries(entries)) => Ok(listed(entries)),
                    other => Err(unexpected(other)),
                }
            }
            Self::Read => {
                let (path, encoding) = (text("path"), FileEncoding::Bytes);
                match backend.dispatch(Payload::FilesRead { path, encoding }) {
                    Ok(PayloadResult::Bytes(bytes)) => {
                        let mut told = Map::new();
                        insert_text(&mut told, "content", &bytes);
                        Ok(told.into())
                    }
                    other => Err(unexpected(other)),
                }
            }
            Self::Write => {
                let (path, data) = (text("path"), text("content").into_bytes());
                match backend.dispatch(Payload::FilesWrite { path, data, mode: 0o644 }) {
                    Ok(PayloadResult::Written(bytes)) => Ok(json!({"bytes_written": bytes})),
                    other => Err(unexpected(other)),
                }
            }
        }
    }
}

fn listed(entries: Vec<WorkspaceEntry>) -> Value {
    let entries = entries.into_iter();
    let rows = entries.map(|it| json!({"name": it.name, "path": it.path, "is_dir": it.is_dir}));
    json!({"entries": rows.collect::<Vec<_>>()})
}

/// Adds a text. Bytes of it that are not UTF-8 are escaped, and `escaped` names the text then.
fn insert_text(told: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    told.insert(key.into(), shown_bytes(bytes).into());
    if std::str::from_utf8(bytes).is_err()
        && let Value::Array(names) = told.entry("escaped").or_insert_with(|| json!([]))
    {
        names.push(key.into());
    }
}

/// Of which streams more was printed than is kept: how many bytes of how many.
pub(crate) fn cut_streams(kept: usize, stdout: u64, stderr: u64) -> Map<String, Value> {
    let beyond = [("stdout", stdout), ("stderr", stderr)].into_iter();
    let beyond = beyond.filter(|(_, total)| *total > kept as u64);
    beyond.map(|(of, total)| (of.to_owned(), json!({"shown": kept, "total": total}))).collect()
}

/// The bytes as text, each that is not UTF-8 as `\xNN`.
pub(crate) fn shown_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        part.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

fn unexpected(came: Result<PayloadResult, BackendFault>) -> ToolCallFault {
    let Err(fault) = came else {
        return ToolCallFault::new("the sandbox gave something else than was asked for");
    };
    let kind = match fault.kind {
        BackendFaultKind::PermissionDenied => ToolCallFaultKind::PermissionDenied,
        _ => ToolCallFaultKind::Exception,
    };
    let detail = json!({"kind": fault.kind.as_str()});
    ToolCallFault { signal: fault.signal, ..ToolCallFault::of(kind, fault.message, detail) }
}

#[cfg(test)]
mod tests {
    use super::shown_bytes;

    #[test]
    fn bytes_that_are_not_text_are_escaped_and_text_stays_as_it_is() {
        for (bytes, want) in [
            (&b"plain"[..], "plain"),
            ("é🦀".as_bytes(), "é🦀"),
            (b"a\xffb\xc3", "a\\xffb\\xc3"),
            (b"", ""),
        ] {
            assert_eq!(shown_bytes(bytes), want);
        }
    }
}
