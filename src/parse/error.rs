//! Why an admitted text is not an item.

use crate::base::text::{Position, brief_line};
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::Ref;

codes! {
    PARSE_NO_DIRECTIVE_FENCE = "parse.no_directive_fence", Malformed;
    PARSE_TWO_DIRECTIVE_FENCES = "parse.two_directive_fences", Malformed;
    PARSE_XML = "parse.xml", Malformed;
    PARSE_DIRECTIVE = "parse.directive", Malformed;
    PARSE_DUPLICATE_METADATA = "parse.duplicate_metadata", Malformed;
    PARSE_METADATA = "parse.metadata", Malformed;
    PARSE_SYNTAX = "parse.syntax", Malformed;
    PARSE_YAML = "parse.yaml", Malformed;
    PARSE_TOML = "parse.toml", Malformed;
    PARSE_JSON = "parse.json", Malformed;
    PARSE_LIMIT = "parse.limit", Malformed;
    PARSE_ENCODING = "parse.encoding", Malformed;
}

/// A fault of a text, without the item that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParseFault {
    pub(crate) code: Code,
    pub(crate) position: Option<Position>,
    /// A fragment that follows the item's name: "… cannot be read: `why`".
    pub(crate) why: String,
}

impl ParseFault {
    pub(crate) fn new(code: Code, why: impl Into<String>) -> Self {
        // The sentence may quote the text, which libraries do without escaping.
        Self { code, position: None, why: brief_line(&why.into()) }
    }

    pub(crate) fn at(self, position: Position) -> Self {
        Self { position: Some(position), ..self }
    }
}

/// An admitted file that is not a well-formed item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be read: {}", .0.item, .0.fault.why)]
pub(crate) struct ParseError(Box<Broken>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Broken {
    item: Ref,
    place: Place,
    fault: ParseFault,
}

impl ParseError {
    /// The fault `fault` of the file at `place`, which is `item`.
    pub(crate) fn new(item: Ref, place: Place, fault: ParseFault) -> Self {
        let place = match fault.position {
            Some(position) => place.at(position),
            None => place,
        };
        Self(Box::new(Broken { item, place, fault }))
    }
}

impl ParseError {
    /// Moves the fault up, for a file with `lines` fewer lines above it.
    pub(crate) fn up(mut self, lines: usize) -> Self {
        if let Some(line) = self.0.place.line.as_mut() {
            *line = line.saturating_sub(lines).max(1);
        }
        self
    }
}

/// How advice goes on where a person signs what was mended; not so in a session that signs what is
/// saved.
pub(crate) fn then_sign(item: impl std::fmt::Display) -> String {
    format!(", then run `rye sign {item}`")
}

impl Diagnose for ParseError {
    fn code(&self) -> Code {
        self.0.fault.code
    }

    fn help(&self) -> Option<String> {
        let item = &self.0.item;
        Some(match self.code() {
            PARSE_NO_DIRECTIVE_FENCE => {
                "a directive holds one fence that opens with ```xml and whose \
                root element is `<directive>`"
                    .into()
            }
            PARSE_TWO_DIRECTIVE_FENCES => {
                "keep one `<directive>` fence; show an example in a fence \
                with another info string, such as ```text"
                    .into()
            }
            PARSE_DUPLICATE_METADATA => "bind each name once, at top level, to one plain literal, \
                in one form"
                .into(),
            PARSE_ENCODING => "save the file as UTF-8 and drop the coding line".into(),
            code => format!("mend the file{}; see `rye explain {code}`", then_sign(item)),
        })
    }

    fn place(&self) -> Option<Place> {
        Some(self.0.place.clone())
    }

    fn item(&self) -> Option<String> {
        Some(self.0.item.to_string())
    }
}
