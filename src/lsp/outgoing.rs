//! The messages that the server sends: answers, requests and notifications.

use gen_lsp_types as lsp;
use gen_lsp_types::json_rpc::{Error, Id, RequestObject, ResponseObject};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::LspError;
use super::session::Session;
use super::sign_prompt::Awaited;
use super::wire;
use crate::base::json_reader::typed;
use crate::base::text::escape;
use crate::diagnostic::Diagnostic;

/// Most questions that wait for a person at a time; older ones are given up.
#[cfg(feature = "lsp")]
const LSP_AWAITED: usize = 16;

/// The result of a request, or the error to answer with.
pub(super) type Answer = Result<Value, Error>;

impl Session<'_> {
    pub(super) fn tell(&mut self, kind: lsp::MessageType, message: String) -> Result<(), LspError> {
        self.inform::<lsp::ShowMessageNotification>(lsp::ShowMessageParams { kind, message })
    }

    pub(super) fn publish(
        &mut self,
        uri: &str,
        version: Option<i32>,
        diagnostics: Vec<lsp::Diagnostic>,
    ) -> Result<(), LspError> {
        let params = lsp::PublishDiagnosticsParams::new(uri.into(), version, diagnostics);
        self.inform::<lsp::PublishDiagnosticsNotification>(params)
    }

    pub(super) fn inform<N: lsp::Notification>(
        &mut self,
        params: N::Params,
    ) -> Result<(), LspError> {
        self.send(&json!(RequestObject::from_notification::<N>(params)))
    }

    pub(super) fn ask<R: lsp::Request>(
        &mut self,
        params: R::Params,
        awaited: Awaited,
    ) -> Result<(), LspError> {
        self.last_id += 1;
        self.awaited.insert(self.last_id, awaited);
        // The server does not wait without end for an editor that never answers.
        if self.awaited.len() > LSP_AWAITED {
            self.awaited.pop_first();
        }
        self.send(&json!(RequestObject::from_request::<R>(Id::Number(self.last_id), params)))
    }

    pub(super) fn refuse(
        &mut self,
        id: Id,
        code: lsp::ErrorCodes,
        message: &str,
    ) -> Result<(), LspError> {
        self.reply(id, Err(error(code, message)))
    }

    pub(super) fn reply(&mut self, id: Id, answer: Answer) -> Result<(), LspError> {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!(ResponseObject::from_error(id, error)),
        };
        self.send(&message)
    }

    pub(super) fn send(&mut self, message: &Value) -> Result<(), LspError> {
        wire::write(&mut self.output, message).map_err(|source| LspError::Io { source })
    }
}

pub(super) fn sentence(diagnostic: &Diagnostic) -> String {
    let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    let message = format!("{}: {}{help}", diagnostic.code, diagnostic.message);
    escape(&message).into_owned()
}

pub(super) fn error(code: lsp::ErrorCodes, message: &str) -> Error {
    Error { code, message: message.to_owned(), data: None }
}

pub(super) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    typed(params).map_err(|why| {
        error(lsp::ErrorCodes::InvalidParams, &format!("the parameters do not fit: {why}"))
    })
}
