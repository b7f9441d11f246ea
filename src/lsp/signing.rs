//! From a command to a signature: the change, the question, the answer.

use std::collections::HashMap;

use gen_lsp_types as lsp;
use gen_lsp_types::json_rpc::{Error, Id, ResponseObject};
use serde_json::{Value, json};

use super::action::{SHOW_DIFF, SIGN};
use super::error::LspError;
use super::outgoing::{error, read, sentence};
use super::session::Session;
use super::sign_prompt::{Awaited, NO, YES, question};
use super::uri::uri_of;
use crate::rye::{Offer, OfferOutcome};

/// `RequestFailed` of the protocol: the request was valid and could not be carried out.
const REQUEST_FAILED: i32 = -32803;

impl Session<'_> {
    pub(super) fn command(&mut self, id: Id, params: Value) -> Result<(), LspError> {
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

    /// The item that a command is about, as it lies on disk.
    pub(super) fn offer(&mut self, params: Value) -> Result<(String, Offer), Error> {
        let failed = |text: String| error(lsp::ErrorCodes::Custom(REQUEST_FAILED), &text);
        let lsp::ExecuteCommandParams { command, arguments, .. } = read(params)?;
        if command != SIGN && command != SHOW_DIFF {
            return Err(error(lsp::ErrorCodes::InvalidParams, "there is no such command"));
        }
        let arguments = arguments.unwrap_or_default();
        let [Value::String(uri)] = arguments.as_slice() else {
            return Err(error(lsp::ErrorCodes::InvalidParams, "a command takes one URI"));
        };
        if command == SIGN && !self.context.may_sign {
            let why = "the editor was started by a program that rye runs, so it may not sign; \
                a person runs `rye sign` on a terminal";
            return Err(failed(why.to_owned()));
        }
        let context = self.context;
        let (_, document) = self.judge(uri).map_err(|d| failed(sentence(&d)))?;
        let unknown = || failed("the text is not open, or it is not an item".to_owned());
        let draft = document.draft.as_ref().ok_or_else(unknown)?;
        if !draft.saved {
            return Err(failed(
                "save the file first: what is signed is what lies on disk".to_owned(),
            ));
        }
        let offer = context.rye(&document.path).and_then(|rye| {
            rye.signing().offer(&draft.entry).map_err(|f| Box::new(f.diagnostic()))
        });
        Ok((command, offer.map_err(|diagnostic| failed(sentence(&diagnostic)))?))
    }

    pub(super) fn ask_to_sign(&mut self, offer: Offer, is_shown: bool) -> Result<(), LspError> {
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

    pub(super) fn answered(&mut self, response: &ResponseObject) -> Result<(), LspError> {
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

    pub(super) fn sign(&mut self, offer: &Offer) -> Result<(), LspError> {
        // The entry was found through this folder.
        let taken = self.context.rye(&offer.path).and_then(|rye| {
            rye.signing().take(offer).map_err(|failure| Box::new(failure.diagnostic()))
        });
        let item = &offer.item;
        let (kind, text) = match taken {
            Ok(OfferOutcome::Signed) => (lsp::MessageType::Info, format!("signed `{item}`")),
            Ok(OfferOutcome::Changed) => (
                lsp::MessageType::Error,
                format!("`{item}` was changed since it was shown, so nothing was signed"),
            ),
            Err(diagnostic) => (lsp::MessageType::Error, sentence(&diagnostic)),
        };
        self.judge_all_again();
        self.tell(kind, text)
    }
}
