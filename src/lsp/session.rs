//! One session with an editor, from its first message to its last.
//!
//! A thread reads; everything else happens here, one message after the other, so that an answer is
//! about the texts as they were when the question came in.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Instant;

use gen_lsp_types as lsp;
use gen_lsp_types::json_rpc::{Id, RequestObject, ResponseObject};
use serde_json::Value;

use super::capabilities::Client;
use super::context::SessionContext;
use super::document::Document;
use super::error::LspError;
use super::outgoing::{error, read};
use super::sign_prompt::{Awaited, Shown};
use super::wire::{self, Frame};
use crate::base::json_reader::typed;

/// Most messages that wait to be answered; then the editor waits as well.
#[cfg(feature = "lsp")]
const LSP_QUEUE: usize = 8;

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LspEnd {
    /// The session ended as agreed, or the editor is gone.
    Done,
    /// The editor said `exit` without `shutdown` before it.
    Abandoned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Ready,
    Down,
}

/// Serves one editor until it is gone.
///
/// # Errors
/// `lsp.malformed`, `lsp.io`.
pub(crate) fn serve(
    input: impl Read + Send + 'static,
    output: &mut dyn Write,
    context: &SessionContext<'_>,
) -> Result<LspEnd, LspError> {
    let (sender, frames) = sync_channel(LSP_QUEUE);
    let reads = move || {
        let mut input = BufReader::new(input);
        loop {
            let frame = wire::read(&mut input).transpose();
            let last = !matches!(frame, Some(Ok(_)));
            if let Some(frame) = frame
                && sender.send(frame).is_err()
            {
                return;
            }
            if last {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(reads).map_err(|source| LspError::Io { source })?;
    let mut session = Session::new(output, context);
    match session.run(&frames) {
        // If the editor no longer reads, it is gone; that is not an error of the session.
        Err(LspError::Io { source }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(LspEnd::Done)
        }
        ended => ended,
    }
}

pub(super) struct Session<'a> {
    pub(super) output: &'a mut dyn Write,
    pub(super) context: &'a SessionContext<'a>,
    phase: Phase,
    pub(super) client: Client,
    /// The open texts by the editor's URI.
    pub(super) documents: HashMap<String, Document>,
    /// Requests to the editor that are not answered, by their ids, the oldest first.
    pub(super) awaited: BTreeMap<i64, Awaited>,
    pub(super) last_id: i64,
    pub(super) shown: Shown,
}

impl<'a> Session<'a> {
    fn new(output: &'a mut dyn Write, context: &'a SessionContext<'a>) -> Self {
        Self {
            output,
            context,
            phase: Phase::New,
            client: Client::from_params(&Value::Null),
            documents: HashMap::new(),
            awaited: BTreeMap::new(),
            last_id: 0,
            shown: Shown::default(),
        }
    }

    fn run(&mut self, frames: &Receiver<Result<Frame, LspError>>) -> Result<LspEnd, LspError> {
        loop {
            let due = self.documents.values().filter_map(Document::due).min();
            let next = match due {
                None => frames.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => frames.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match next {
                Ok(frame) => {
                    if let Some(ended) = self.take(frame?)? {
                        return Ok(ended);
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.publish_due()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(LspEnd::Done),
            }
        }
    }

    fn take(&mut self, frame: Frame) -> Result<Option<LspEnd>, LspError> {
        let value = match frame {
            Frame::Message(value) => value,
            Frame::NoJson => {
                self.refuse(Id::Null, lsp::ErrorCodes::ParseError, "the message is not JSON")?;
                return Ok(None);
            }
            Frame::TooLarge => {
                // The frame may have been a change, so the texts are no longer known.
                self.documents.values_mut().for_each(|document| document.text = None);
                self.judge_all_again();
                let code = lsp::ErrorCodes::InvalidRequest;
                self.refuse(Id::Null, code, "the message is larger than any that is read")?;
                return Ok(None);
            }
        };
        if value.get("method").is_none()
            && let Ok(response) = typed::<ResponseObject>(value.clone())
        {
            self.answered(&response)?;
            return Ok(None);
        }
        let Ok(request) = typed::<RequestObject>(value) else {
            let code = lsp::ErrorCodes::InvalidRequest;
            self.refuse(Id::Null, code, "the message is not a request, answer or notification")?;
            return Ok(None);
        };
        let (method, id, params) = request.into_parts();
        tracing::debug!(%method, "message");
        let params = params.unwrap_or_default();
        match id {
            Some(id) => {
                self.request(id, &method, params)?;
                Ok(None)
            }
            None => self.notice(&method, params),
        }
    }

    fn request(&mut self, id: Id, method: &str, params: Value) -> Result<(), LspError> {
        let answer = match (self.phase, method) {
            (Phase::New, "initialize") => {
                self.phase = Phase::Ready;
                self.client = Client::from_params(&params);
                Ok(self.greeting())
            }
            (Phase::New, _) => {
                Err(error(lsp::ErrorCodes::ServerNotInitialized, "`initialize` comes first"))
            }
            (Phase::Down, _) => {
                Err(error(lsp::ErrorCodes::InvalidRequest, "after `shutdown` comes `exit`"))
            }
            (Phase::Ready, "initialize") => {
                Err(error(lsp::ErrorCodes::InvalidRequest, "`initialize` comes once"))
            }
            (Phase::Ready, "shutdown") => {
                self.phase = Phase::Down;
                Ok(Value::Null)
            }
            (Phase::Ready, "textDocument/hover") => self.hover(params),
            (Phase::Ready, "textDocument/completion") => self.complete(params),
            (Phase::Ready, "textDocument/codeAction") => self.actions(params),
            (Phase::Ready, "workspace/executeCommand") => return self.command(id, params),
            (Phase::Ready, _) => {
                Err(error(lsp::ErrorCodes::MethodNotFound, "there is no such request here"))
            }
        };
        self.reply(id, answer)
    }

    fn notice(&mut self, method: &str, params: Value) -> Result<Option<LspEnd>, LspError> {
        if method == "exit" {
            let agreed = self.phase == Phase::Down;
            return Ok(Some(if agreed { LspEnd::Done } else { LspEnd::Abandoned }));
        }
        if self.phase != Phase::Ready {
            return Ok(None);
        }
        match method {
            "initialized" => self.ask_to_watch()?,
            "textDocument/didOpen" => {
                if let Ok(params) = read::<lsp::DidOpenTextDocumentParams>(params) {
                    self.open(params.text_document);
                }
            }
            "textDocument/didChange" => {
                if let Ok(params) = read::<lsp::DidChangeTextDocumentParams>(params) {
                    self.change(params);
                }
            }
            "textDocument/didClose" => {
                if let Ok(params) = read::<lsp::DidCloseTextDocumentParams>(params)
                    && self.documents.remove(&params.text_document.uri.0).is_some()
                {
                    self.publish(&params.text_document.uri.0, None, Vec::new())?;
                }
            }
            // A changed file may be the executor of another item, or may decide about trust.
            "textDocument/didSave"
            | "workspace/didChangeWatchedFiles"
            | "workspace/didChangeWorkspaceFolders" => self.judge_all_again(),
            _ => {}
        }
        Ok(None)
    }
}
