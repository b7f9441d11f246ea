//! One session with an editor, from its first message to its last.
//!
//! A thread reads; everything else happens here, one message after the other, so that an answer is
//! about the texts as they were when the question came in.

use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Instant;

use gen_lsp_types as lsp;
use gen_lsp_types::json_rpc::{Error, Id, RequestObject, ResponseObject};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::action::{self, SHOW_DIFF, SIGN};
use super::asking::{Awaited, NO, Shown, YES, question};
use super::client::Client;
use super::document::Document;
use super::error::LspError;
use super::place::Units;
use super::uri::{path_of, uri_of};
use super::wire::{self, Frame};
use super::{complete, hover, remarks};
use crate::base::limits::{LSP_OPEN_BYTES, LSP_QUEUE};
use crate::diag::Diagnostic;
use crate::pipeline::{Failure, Offer, Rye, Taken};

/// What a session is given by whoever wires it.
pub(crate) struct Desk<'a> {
    /// The facade of the project that a folder is.
    pub(crate) project: &'a dyn Fn(&Path) -> Result<Rye, Failure>,
    /// Whether the editor was started by a person: what rye runs must not say yes to itself.
    pub(crate) may_sign: bool,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As agreed, or because the editor is gone.
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

type Answer = Result<Value, Error>;

/// Serves one editor until it is gone.
///
/// # Errors
/// `lsp.malformed`, `lsp.io`.
pub(crate) fn serve(
    input: impl Read + Send + 'static,
    output: &mut dyn Write,
    desk: &Desk<'_>,
) -> Result<Ended, LspError> {
    let (sender, frames) = sync_channel(LSP_QUEUE);
    std::thread::spawn(move || {
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
    });
    let mut session = Session::new(output, desk);
    match session.run(&frames) {
        // Whoever reads no more is gone; that is no fault of the session.
        Err(LspError::Io { source }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(Ended::Done)
        }
        ended => ended,
    }
}

struct Session<'a> {
    output: &'a mut dyn Write,
    desk: &'a Desk<'a>,
    phase: Phase,
    client: Client,
    /// By the editor's own name for them.
    documents: HashMap<String, Document>,
    awaited: HashMap<i64, Awaited>,
    last_id: i64,
    shown: Shown,
}

impl<'a> Session<'a> {
    fn new(output: &'a mut dyn Write, desk: &'a Desk<'a>) -> Self {
        Self {
            output,
            desk,
            phase: Phase::New,
            client: Client::of(&Value::Null),
            documents: HashMap::new(),
            awaited: HashMap::new(),
            last_id: 0,
            shown: Shown::default(),
        }
    }

    fn run(&mut self, frames: &Receiver<Result<Frame, LspError>>) -> Result<Ended, LspError> {
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
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Done),
            }
        }
    }

    fn take(&mut self, frame: Frame) -> Result<Option<Ended>, LspError> {
        let value = match frame {
            Frame::Message(value) => value,
            Frame::NoJson => {
                self.refuse(Id::Null, lsp::ErrorCodes::ParseError, "the message is no JSON")?;
                return Ok(None);
            }
            Frame::TooLarge => {
                // It may have been a change, so what the texts are is not known any more.
                self.documents.values_mut().for_each(|document| document.text = None);
                self.judge_all_again();
                let code = lsp::ErrorCodes::InvalidRequest;
                self.refuse(Id::Null, code, "the message is larger than any that is read")?;
                return Ok(None);
            }
        };
        if value.get("method").is_none()
            && let Ok(response) = serde_json::from_value::<ResponseObject>(value.clone())
        {
            self.answered(&response)?;
            return Ok(None);
        }
        let Ok(request) = serde_json::from_value::<RequestObject>(value) else {
            let code = lsp::ErrorCodes::InvalidRequest;
            self.refuse(Id::Null, code, "the message is no request, answer or notification")?;
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
                self.client = Client::of(&params);
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

    fn notice(&mut self, method: &str, params: Value) -> Result<Option<Ended>, LspError> {
        if method == "exit" {
            let agreed = self.phase == Phase::Down;
            return Ok(Some(if agreed { Ended::Done } else { Ended::Abandoned }));
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
            // A file may be another's executor, or say whom to trust.
            "textDocument/didSave"
            | "workspace/didChangeWatchedFiles"
            | "workspace/didChangeWorkspaceFolders" => self.judge_all_again(),
            _ => {}
        }
        Ok(None)
    }

    fn greeting(&self) -> Value {
        let sync = lsp::TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(lsp::TextDocumentSyncKind::Incremental),
            save: Some(true.into()),
            ..Default::default()
        };
        let folders = lsp::WorkspaceFoldersServerCapabilities {
            supported: Some(true),
            change_notifications: Some(true.into()),
        };
        let capabilities = lsp::ServerCapabilities {
            position_encoding: Some(self.client.units.kind()),
            text_document_sync: Some(sync.into()),
            hover_provider: Some(true.into()),
            completion_provider: Some(lsp::CompletionOptions {
                trigger_characters: Some(vec![":".to_owned(), "/".to_owned()]),
                ..Default::default()
            }),
            code_action_provider: Some(
                lsp::CodeActionOptions {
                    code_action_kinds: Some(vec![lsp::CodeActionKind::QuickFix]),
                    ..Default::default()
                }
                .into(),
            ),
            execute_command_provider: Some(lsp::ExecuteCommandOptions {
                commands: vec![SIGN.to_owned(), SHOW_DIFF.to_owned()],
                ..Default::default()
            }),
            workspace: Some(lsp::WorkspaceOptions {
                workspace_folders: Some(folders),
                ..Default::default()
            }),
            ..Default::default()
        };
        let version = Some(env!("RYE_VERSION").to_owned());
        let server_info = Some(lsp::ServerInfo { name: "rye".to_owned(), version });
        json!(lsp::InitializeResult { capabilities, server_info })
    }

    /// Items and trust change outside of the editor too.
    fn ask_to_watch(&mut self) -> Result<(), LspError> {
        if !self.client.watches {
            return Ok(());
        }
        let watchers = json!({"watchers": [{"globPattern": "**/.ai/**"}]});
        let registration = lsp::Registration {
            id: "rye.files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: Some(watchers),
        };
        let params = lsp::RegistrationParams { registrations: vec![registration] };
        self.ask::<lsp::RegistrationRequest>(params, Awaited::Nothing)
    }

    fn open(&mut self, item: lsp::TextDocumentItem) {
        let Some(path) = path_of(&item.uri.0) else { return };
        // What lies below no `.ai` is no item, and is not kept.
        if project_of(&path).is_none() {
            return;
        }
        let mut document = Document::new(path, item.version, item.text);
        let kept = self.documents.values().filter_map(|document| document.text.as_ref());
        let kept: usize = kept.map(String::len).sum();
        if document.text.as_ref().is_some_and(|text| kept + text.len() > LSP_OPEN_BYTES) {
            document.text = None;
        }
        document.now_due(Instant::now());
        self.documents.insert(item.uri.0, document);
    }

    fn change(&mut self, params: lsp::DidChangeTextDocumentParams) {
        let of = params.text_document;
        let Some(document) = self.documents.get_mut(&of.text_document_identifier.uri.0) else {
            return;
        };
        document.change(of.version, params.content_changes, self.client.units);
        document.put_off(Instant::now());
    }

    fn judge_all_again(&mut self) {
        let now = Instant::now();
        self.documents.values_mut().for_each(|document| document.now_due(now));
    }

    fn publish_due(&mut self) -> Result<(), LspError> {
        let now = Instant::now();
        let due = self.documents.iter().filter(|(_, d)| d.due().is_some_and(|due| due <= now));
        let uris: Vec<String> = due.map(|(uri, _)| uri.clone()).collect();
        for uri in uris {
            let found = self.judge(&uri).map(|(units, document)| {
                match (document.text.as_ref(), document.draft.as_ref()) {
                    (Some(text), Some(draft)) => remarks::diagnostics(draft, text, units),
                    (None, _) => vec![remarks::too_large()],
                    (Some(_), None) => Vec::new(),
                }
            });
            let diagnostics = found.unwrap_or_else(|failure| vec![remarks::nowhere(&failure)]);
            let Some(document) = self.documents.get_mut(&uri) else { continue };
            document.done();
            let version = document.version;
            self.publish(&uri, Some(version), diagnostics)?;
        }
        Ok(())
    }

    /// The text and what is known of it as it is at this moment.
    fn judge(&mut self, uri: &str) -> Result<(Units, &Document), Box<Diagnostic>> {
        let units = self.client.units;
        let document = self.documents.get_mut(uri).ok_or_else(|| {
            Box::new(Diagnostic {
                code: crate::diag::Code("lsp.malformed"),
                message: "the text is not open, or is no item".to_owned(),
                help: None,
                place: None,
                item: None,
                data: serde_json::Map::new(),
            })
        })?;
        if let (None, Some(text)) = (&document.draft, &document.text) {
            let rye = self.desk.rye(&document.path)?;
            let entry = rye.entry_at(&document.path);
            document.draft = entry.and_then(|entry| rye.draft(&entry, text));
        }
        Ok((units, document))
    }

    fn hover(&mut self, params: Value) -> Answer {
        let at = read::<lsp::HoverParams>(params)?.text_document_position_params;
        let Ok((units, document)) = self.judge(&at.text_document.uri.0) else {
            return Ok(Value::Null);
        };
        let (Some(text), Some(draft)) = (&document.text, &document.draft) else {
            return Ok(Value::Null);
        };
        let Some((markdown, bytes)) = hover::hover(draft, text, units.byte(text, at.position))
        else {
            return Ok(Value::Null);
        };
        let contents = lsp::MarkupContent::new(lsp::MarkupKind::Markdown, markdown);
        Ok(json!(lsp::Hover::new(contents.into(), Some(units.range(text, bytes)))))
    }

    fn complete(&mut self, params: Value) -> Answer {
        let at = read::<lsp::CompletionParams>(params)?.text_document_position_params;
        let desk = self.desk;
        let Ok((units, document)) = self.judge(&at.text_document.uri.0) else {
            return Ok(Value::Null);
        };
        let (Some(text), Some(draft)) = (&document.text, &document.draft) else {
            return Ok(Value::Null);
        };
        let Ok(rye) = desk.rye(&document.path) else { return Ok(Value::Null) };
        let byte = units.byte(text, at.position);
        let Some((bytes, rows)) = complete::complete(&rye, draft, text, byte) else {
            return Ok(Value::Null);
        };
        let range = units.range(text, bytes);
        let items = rows.into_iter().map(|(label, about)| lsp::CompletionItem {
            text_edit: Some(lsp::TextEdit::new(range, label.clone()).into()),
            detail: (!about.is_empty()).then_some(about),
            kind: Some(lsp::CompletionItemKind::Reference),
            label,
            ..Default::default()
        });
        Ok(json!(items.collect::<Vec<_>>()))
    }

    fn actions(&mut self, params: Value) -> Answer {
        let lsp::CodeActionParams { text_document, range, .. } = read(params)?;
        let takes_actions = self.client.takes_actions;
        let Ok((units, document)) = self.judge(&text_document.uri.0) else { return Ok(json!([])) };
        let (Some(text), Some(draft)) = (&document.text, &document.draft) else {
            return Ok(json!([]));
        };
        let bytes = units.byte(text, range.start)..units.byte(text, range.end);
        let actions = action::actions(draft, text, bytes, &text_document.uri, units);
        if takes_actions {
            return Ok(json!(actions));
        }
        Ok(json!(actions.into_iter().filter_map(|action| action.command).collect::<Vec<_>>()))
    }

    fn command(&mut self, id: Id, params: Value) -> Result<(), LspError> {
        let offer = self.offer(params);
        let (command, offer) = match offer {
            Ok(offered) => offered,
            Err(error) => return self.reply(id, Err(error)),
        };
        // The editor waits for this answer before it may show anything.
        self.reply(
            id,
            Ok(json!({"item_id": offer.item, "sha256": offer.digest, "diff": offer.diff})),
        )?;
        let file = match self.client.shows_documents {
            true => self.shown.write(&offer).ok(),
            false => None,
        };
        let asks = command == SIGN;
        let Some(file) = file else {
            return if asks { self.ask_to_sign(offer, false) } else { Ok(()) };
        };
        let awaited = if asks { Awaited::Shown(Box::new(offer)) } else { Awaited::Nothing };
        let params = lsp::ShowDocumentParams {
            uri: uri_of(&file).into(),
            external: None,
            take_focus: Some(true),
            selection: None,
        };
        self.ask::<lsp::ShowDocumentRequest>(params, awaited)
    }

    /// What a command is about, as it lies on disk.
    fn offer(&mut self, params: Value) -> Result<(String, Offer), Error> {
        let failed = |text: String| error(lsp::ErrorCodes::Custom(REQUEST_FAILED), &text);
        let lsp::ExecuteCommandParams { command, arguments, .. } = read(params)?;
        if command != SIGN && command != SHOW_DIFF {
            return Err(error(lsp::ErrorCodes::InvalidParams, "there is no such command"));
        }
        let arguments = arguments.unwrap_or_default();
        let [Value::String(uri)] = arguments.as_slice() else {
            return Err(error(lsp::ErrorCodes::InvalidParams, "a command takes one URI"));
        };
        if command == SIGN && !self.desk.may_sign {
            let why = "the editor was started by a program that rye runs, so it may not sign; \
                a person runs `rye sign` on a terminal";
            return Err(failed(why.to_owned()));
        }
        let desk = self.desk;
        let (_, document) = self.judge(uri).map_err(|d| failed(sentence(&d)))?;
        let unknown = || failed("the text is no item, or not known".to_owned());
        let draft = document.draft.as_ref().ok_or_else(unknown)?;
        if !draft.saved {
            return Err(failed(
                "save the file first: what is signed is what lies on disk".to_owned(),
            ));
        }
        let offer = desk
            .rye(&document.path)
            .and_then(|rye| rye.offer(&draft.entry).map_err(|f| Box::new(f.diagnostic())));
        Ok((command, offer.map_err(|diagnostic| failed(sentence(&diagnostic)))?))
    }

    fn ask_to_sign(&mut self, offer: Offer, is_shown: bool) -> Result<(), LspError> {
        let Some(message) = question(&offer, is_shown) else {
            let item = &offer.item;
            let text = format!(
                "what changed is too long for a question: read it with `rye diff {item}`, then run `rye sign {item}`"
            );
            return self.tell(lsp::MessageType::Warning, text);
        };
        let choice = |title: &str| lsp::MessageActionItem::new(title.to_owned(), HashMap::new());
        let actions = Some(vec![choice(YES), choice(NO)]);
        let params =
            lsp::ShowMessageRequestParams::new(lsp::MessageType::Warning, message, actions);
        self.ask::<lsp::ShowMessageRequest>(params, Awaited::Answered(Box::new(offer)))
    }

    fn answered(&mut self, response: &ResponseObject) -> Result<(), LspError> {
        let Id::Number(id) = *response.id() else { return Ok(()) };
        let said = |pointer: &str| response.result().and_then(|result| result.pointer(pointer));
        match self.awaited.remove(&id) {
            Some(Awaited::Shown(offer)) => {
                let is_shown = said("/success") == Some(&Value::Bool(true));
                self.ask_to_sign(*offer, is_shown)
            }
            Some(Awaited::Answered(offer)) if said("/title") == Some(&json!(YES)) => {
                self.sign(&offer)
            }
            _ => Ok(()),
        }
    }

    fn sign(&mut self, offer: &Offer) -> Result<(), LspError> {
        // The entry was found in the folder that this leads to.
        let taken = self
            .desk
            .rye(&offer.path)
            .and_then(|rye| rye.take(offer).map_err(|failure| Box::new(failure.diagnostic())));
        let item = &offer.item;
        let (kind, text) = match taken {
            Ok(Taken::Signed) => (lsp::MessageType::Info, format!("signed `{item}`")),
            Ok(Taken::Changed) => (
                lsp::MessageType::Error,
                format!("`{item}` was changed since it was shown, so nothing was signed"),
            ),
            Err(diagnostic) => (lsp::MessageType::Error, sentence(&diagnostic)),
        };
        self.judge_all_again();
        self.tell(kind, text)
    }

    fn tell(&mut self, kind: lsp::MessageType, message: String) -> Result<(), LspError> {
        self.inform::<lsp::ShowMessageNotification>(lsp::ShowMessageParams { kind, message })
    }

    fn publish(
        &mut self,
        uri: &str,
        version: Option<i32>,
        diagnostics: Vec<lsp::Diagnostic>,
    ) -> Result<(), LspError> {
        let params = lsp::PublishDiagnosticsParams::new(uri.into(), version, diagnostics);
        self.inform::<lsp::PublishDiagnosticsNotification>(params)
    }

    fn inform<N: lsp::Notification>(&mut self, params: N::Params) -> Result<(), LspError> {
        self.send(&json!(RequestObject::from_notification::<N>(params)))
    }

    fn ask<R: lsp::Request>(
        &mut self,
        params: R::Params,
        awaited: Awaited,
    ) -> Result<(), LspError> {
        self.last_id += 1;
        self.awaited.insert(self.last_id, awaited);
        self.send(&json!(RequestObject::from_request::<R>(Id::Number(self.last_id), params)))
    }

    fn refuse(&mut self, id: Id, code: lsp::ErrorCodes, message: &str) -> Result<(), LspError> {
        self.reply(id, Err(error(code, message)))
    }

    fn reply(&mut self, id: Id, answer: Answer) -> Result<(), LspError> {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!(ResponseObject::from_error(id, error)),
        };
        self.send(&message)
    }

    fn send(&mut self, message: &Value) -> Result<(), LspError> {
        wire::write(&mut self.output, message).map_err(|source| LspError::Io { source })
    }
}

/// `RequestFailed` of the protocol: the request was right, and it could not be done.
const REQUEST_FAILED: i32 = -32803;

impl Desk<'_> {
    /// The facade of the project that a file lies in.
    fn rye(&self, path: &Path) -> Result<Rye, Box<Diagnostic>> {
        let folder = project_of(path).unwrap_or(path);
        (self.project)(folder).map_err(|failure| Box::new(failure.diagnostic()))
    }
}

/// The folder that holds the `.ai` which a path leads through.
fn project_of(path: &Path) -> Option<&Path> {
    let ai = path.ancestors().find(|a| a.file_name().is_some_and(|name| name == ".ai"))?;
    ai.parent()
}

fn sentence(diagnostic: &Diagnostic) -> String {
    let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    let message = format!("{}: {}{help}", diagnostic.code, diagnostic.message);
    crate::base::text::escape(&message).into_owned()
}

fn error(code: lsp::ErrorCodes, message: &str) -> Error {
    Error { code, message: message.to_owned(), data: None }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|why| {
        error(lsp::ErrorCodes::InvalidParams, &format!("the parameters do not fit: {why}"))
    })
}
