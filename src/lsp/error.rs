//! Why a session with an editor cannot go on.

use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    LSP_MALFORMED = "lsp.malformed", PeerFailed;
    LSP_IO = "lsp.io", PeerFailed;
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LspError {
    #[error("the input is not the language server protocol: {why}")]
    Malformed { why: &'static str },
    #[error("the connection to the editor failed: {source}")]
    Io { source: std::io::Error },
}

impl Diagnose for LspError {
    fn code(&self) -> Code {
        match self {
            Self::Malformed { .. } => LSP_MALFORMED,
            Self::Io { .. } => LSP_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Malformed { .. } => {
                "an editor starts this, see `rye fetch knowledge:rye/editors`; by hand, try `rye verify`"
                    .into()
            }
            Self::Io { .. } => "start the server again from the editor".into(),
        })
    }
}
