//! Why nothing was imported.

use serde_json::{Map, Value};

use crate::base::text::{brief_line, escape_line};
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::execute::McpFault;
use crate::id::Ref;

codes! {
    IMPORT_EXISTS = "import.exists", Refused;
    IMPORT_IO = "import.io", CannotRun;
    IMPORT_NOT_A_SKILL = "import.not_a_skill", Malformed;
    IMPORT_NOTHING = "import.nothing", Malformed;
    IMPORT_SYNTAX = "import.syntax", Malformed;
    IMPORT_NOT_A_CONFIG = "import.not_a_config", Malformed;
    IMPORT_UNKNOWN_KEY = "import.unknown_key", Malformed;
    IMPORT_MISSING = "import.missing", Malformed;
    IMPORT_VALUE = "import.value", Malformed;
    IMPORT_NAME = "import.name", Malformed;
    IMPORT_NOT_IN_PACK = "import.not_in_pack", Malformed;
    IMPORT_FILE = "import.file", Malformed;
}

/// Help for a fault of a document.
pub(super) fn help(code: Code) -> String {
    let text = match code {
        IMPORT_NOT_A_CONFIG => {
            "it begins with `apiVersion: promptkit.altairalabs.ai/v1alpha1` and `kind: RuntimeConfig`, \
             or with `spec:` alone"
        }
        IMPORT_NOT_IN_PACK => "name the tool as the pack does, or give the pack that it belongs to",
        IMPORT_FILE => {
            "put what is wanted into the folder itself, as regular files, and leave out the rest; \
             see `rye explain import.file`"
        }
        IMPORT_SYNTAX => {
            "mend the file and import it again; in YAML a value with `: ` in it stands in quotes; \
             see `rye explain import.syntax`"
        }
        code => return format!("mend the file and import it again; see `rye explain {code}`"),
    };
    text.to_owned()
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ImportError {
    #[error("`{}` is there already, and is not overwritten", .place.path)]
    Exists { item: Ref, place: Place },
    #[error("`{}` is there already, and is not overwritten", .place.path)]
    There { place: Place },
    #[error("`{}` {fault}", brief_line(.server))]
    Server { server: String, fault: McpFault, stderr_tail: String, is_copy: bool },
    #[error("cannot write `{}`: {source}", .place.path)]
    Io { place: Place, source: std::io::Error },
    #[error("`{item}` cannot be a skill: {why}")]
    NotASkill { item: Ref, why: String },
    #[error("there is no folder `{}`", escape_line(.path))]
    NoFolder { path: String },
    #[error("`{}` holds nothing that may be imported", escape_line(.path))]
    Nothing { path: String, left_out: Vec<Value>, is_reserved: bool },
}

impl Diagnose for ImportError {
    fn code(&self) -> Code {
        match self {
            Self::Exists { .. } | Self::There { .. } => IMPORT_EXISTS,
            Self::Io { .. } => IMPORT_IO,
            Self::NotASkill { .. } => IMPORT_NOT_A_SKILL,
            Self::NoFolder { .. } | Self::Nothing { .. } => IMPORT_NOTHING,
            Self::Server { fault, .. } => fault.code(),
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Exists { .. } => {
                "see what it is, then give `--force` to write over it, or another `--category`"
                    .into()
            }
            Self::There { .. } => "name another folder with `--to`, or move that one".into(),
            Self::Io { .. } => "mend the cause and import again; nothing new was left".into(),
            Self::NotASkill { .. } => {
                "a skill has a name of small letters, digits and `-`, a description, and no inputs".into()
            }
            Self::NoFolder { .. } => "paths are relative to the working directory".into(),
            Self::Nothing { is_reserved: true, .. } => {
                "give `--category FOLDER`, and the `--key` that signed them".into()
            }
            Self::Nothing { left_out, .. } if !left_out.is_empty() => {
                "give the `--key` that signed them; what you have read yourself comes with `--unchecked`".into()
            }
            Self::Nothing { .. } => {
                "name a folder that holds `SKILL.md`, or `.ai` with items of the older form".into()
            }
            Self::Server { fault: McpFault::Unauthorized { .. }, .. } => {
                "get a token from whoever runs the server, put it into a variable, say MCP_TOKEN, and import again with `--secret MCP_TOKEN`: each item then has `secrets: [MCP_TOKEN]` and `auth: {type: bearer, secret: MCP_TOKEN}`".into()
            }
            Self::Server { server, .. } if server.starts_with("http") => {
                "see whether it is the address of an MCP server; where it wants a token, `--secret` names the variable that holds it; where its certificate is not believed, give its issuer's in SSL_CERT_FILE".into()
            }
            Self::Server { is_copy: true, fault: McpFault::ServerFailed { .. }, .. } => {
                "the server was started from a copy of the files that its command line names, as in each call; name what else it loads with `--file`".into()
            }
            Self::Server { .. } => {
                "run it by hand and see what it says; `rye import mcp --help` shows how it is named"
                    .into()
            }
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Exists { place, .. } | Self::There { place } | Self::Io { place, .. } => {
                Some(place.clone())
            }
            Self::NotASkill { .. }
            | Self::NoFolder { .. }
            | Self::Nothing { .. }
            | Self::Server { .. } => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::Exists { item, .. } | Self::NotASkill { item, .. } => Some(item.to_string()),
            Self::There { .. }
            | Self::Io { .. }
            | Self::NoFolder { .. }
            | Self::Nothing { .. }
            | Self::Server { .. } => None,
        }
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = Map::new();
        if let Self::Server { stderr_tail, .. } = self {
            data.insert("stderr_tail".into(), stderr_tail.as_str().into());
        }
        if let Self::Nothing { left_out, .. } = self
            && !left_out.is_empty()
        {
            data.insert("left_out".into(), left_out.clone().into());
        }
        data
    }
}
