//! The `initialize` answer: what this server can do, and which notifications it wants.

use gen_lsp_types as lsp;
use serde_json::{Value, json};

use super::action::{SHOW_DIFF, SIGN};
use super::error::LspError;
use super::session::Session;
use super::sign_prompt::Awaited;

impl Session<'_> {
    pub(super) fn greeting(&self) -> Value {
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

    /// Items and trust documents also change outside of the editor.
    pub(super) fn ask_to_watch(&mut self) -> Result<(), LspError> {
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
}
