//! How deep a JavaScript or TypeScript text may nest, before it is parsed.
//!
//! The parser lexes as it goes and tells its tokens afterwards alone, so this file cuts the text
//! into tokens itself. Where it cannot be sure what a sign means, mostly a slash behind a brace,
//! all that follows counts as nested: a text may be refused for that, and never be nested deeper
//! than is said.

use super::nesting::{Extent, Nesting, on_a_stack_for};

/// Does `work`, which parses the text as JavaScript or, with `types`, as TypeScript, on a stack
/// that holds all of its levels.
///
/// # Errors
/// A text that is too long or nests too deep, as a fragment of a sentence: "it has …".
pub(crate) fn with_room_for_javascript<T: Send>(
    text: &str,
    types: bool,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    on_a_stack_for(extent(text, types), || Ok(work())).map_err(|fault| fault.why)
}

/// How deep the text nests at most, and how long it is.
fn extent(text: &str, types: bool) -> Extent {
    let mut reader = Reader {
        text,
        types,
        at: 0,
        nesting: Nesting::new(),
        last: Last::Start,
        before: Last::Start,
        line_broken: true,
        ended: false,
        tokens: 0,
        is_word: false,
    };
    if text.starts_with("#!") {
        reader.line_comment();
    }
    while reader.token() {}
    Extent { depth: reader.nesting.deepest(), tokens: reader.tokens }
}

#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    /// Behind `if`, `while`, `for` or `with`.
    Condition,
    Paren,
    Square,
    Brace,
    /// `${` in a template.
    Template,
}

/// The kind of a token that stands before another.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// An operator, or a bracket that opens: an expression begins behind it.
    Sign,
    /// As `Sign`, but a statement may begin as well: a brace that opens, a semicolon, a colon.
    Start,
    /// A comma: an expression begins behind it, or a name of one.
    Comma,
    /// A dot: a name behind it is no keyword.
    Dot,
    /// A name that is no keyword, a number, a text, or a bracket that closes: an expression may end
    /// here.
    Operand,
    /// A name that is a keyword elsewhere: what follows may belong to it, and is never an
    /// expression.
    Name,
    /// A keyword that an expression follows.
    Keyword,
    /// `if`, `while`, `for` or `with`.
    Condition,
    /// The end of a condition: a statement follows.
    ConditionEnd,
    /// A brace that closes: an expression may end here, or a statement.
    Brace,
    /// Something that is an operand or a keyword, by its place.
    Either,
}

struct Reader<'t> {
    text: &'t str,
    types: bool,
    at: usize,
    nesting: Nesting<Bracket>,
    last: Last,
    /// The kind of the token before the last one.
    before: Last,
    /// A line ends between the last token and this one.
    line_broken: bool,
    /// A semicolon was the last token.
    ended: bool,
    tokens: usize,
    /// The last token was a word.
    is_word: bool,
}

/// Words that an expression follows, and that nest.
const PREFIXES: &[&str] = &[
    "typeof",
    "case",
    "delete",
    "void",
    "throw",
    "new",
    "do",
    "in",
    "instanceof",
    "else",
    "return",
    "extends",
    "default",
    "class",
    "function",
    "var",
    "let",
    "const",
    "export",
    "import",
    "enum",
    "switch",
    "try",
    "catch",
    "finally",
    "debugger",
    "break",
    "continue",
];
/// Words that are keywords in some places and names in others.
const CONTEXTUAL: &[&str] = &[
    "await",
    "yield",
    "async",
    "of",
    "as",
    "satisfies",
    "is",
    "keyof",
    "unique",
    "readonly",
    "infer",
    "asserts",
    "abstract",
    "declare",
    "implements",
    "get",
    "set",
    "static",
    "out",
    "accessor",
    "from",
    "type",
    "namespace",
    "module",
    "global",
    "interface",
    "override",
    "using",
];
/// Words that a statement or an expression goes on with.
const CONTINUES: &[&str] = &[
    "else",
    "while",
    "catch",
    "finally",
    "in",
    "instanceof",
    "extends",
    "with",
    "as",
    "satisfies",
    "is",
    "of",
    "from",
    "implements",
    "asserts",
];
/// Words that open a statement which holds another one, or a class which may extend another.
const CLAUSES: &[&str] = &["if", "else", "for", "while", "do", "with", "class", "extends"];

/// The weight of an open `<` of TypeScript: wherever it may open a list of types, the parser reads
/// on to find out, and does so again for each one that stands open around it.
const TYPE_WEIGHT: usize = 40;

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// All that follows may be nested.
    fn give_up(&mut self) -> bool {
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80;
        let mut in_word = false;
        let mut tokens = 0;
        for byte in self.rest().bytes() {
            let begins = is_word(byte) && !in_word;
            in_word = is_word(byte);
            tokens += usize::from(begins || byte.is_ascii_punctuation());
        }
        self.nesting.at_most(tokens);
        false
    }

    /// Reads one token; `false` behind the last one.
    fn token(&mut self) -> bool {
        let Some(sign) = self.rest().chars().next() else { return false };
        let begins_line = self.line_broken;
        match sign {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => {
                self.line_broken = true;
                self.at += sign.len_utf8();
                return true;
            }
            _ if sign.is_whitespace() || sign == '\u{feff}' => {
                self.at += sign.len_utf8();
                return true;
            }
            '/' if self.rest().starts_with("//") => {
                self.line_comment();
                return true;
            }
            '/' if self.rest().starts_with("/*") => {
                let Some(length) = self.rest()[2..].find("*/") else { return false };
                let comment = &self.rest()[..2 + length];
                let broken = comment.contains(['\n', '\r', '\u{2028}', '\u{2029}']);
                self.line_broken |= broken;
                self.at += 2 + length + 2;
                return true;
            }
            // Old scripts know two more comments.
            '<' if self.rest().starts_with("<!--") => return self.give_up(),
            '-' if begins_line && self.rest().starts_with("-->") => return self.give_up(),
            _ => {}
        }
        let went_on = match sign {
            '"' | '\'' => self.string(sign),
            '`' => {
                self.at += 1;
                self.ends_statement(false);
                self.nesting.link();
                self.template()
            }
            '/' => self.slash(),
            '(' | '[' | '{' => self.open(sign),
            ')' | ']' | '}' => self.close(sign),
            _ if is_part(sign) => self.word(begins_line),
            _ => self.sign(sign),
        };
        self.line_broken = false;
        went_on
    }

    fn became(&mut self, last: Last) -> bool {
        self.before = std::mem::replace(&mut self.last, last);
        self.is_word = false;
        self.tokens += 1;
        true
    }

    /// Closes what stood open in the statement before, if another one begins here, behind a
    /// semicolon.
    fn ends_statement(&mut self, goes_on: bool) {
        if std::mem::take(&mut self.ended) && !goes_on {
            self.nesting.end_statement();
        }
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(rest.len());
    }

    fn string(&mut self, quote: char) -> bool {
        self.ends_statement(false);
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        loop {
            match bytes.get(at) {
                Some(b'\\') => at += if bytes[at..].starts_with(b"\\\r\n") { 3 } else { 2 },
                Some(b'\n' | b'\r') | None => return self.give_up(),
                Some(&byte) if char::from(byte) == quote => break,
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        self.became(Last::Operand)
    }

    /// Reads on in a template, up to its end or to a substitution.
    fn template(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                None => return false,
                Some(b'\\') => self.at += 2,
                Some(b'`') => {
                    self.at += 1;
                    return self.became(Last::Operand);
                }
                Some(b'$') if bytes.get(self.at + 1) == Some(&b'{') => {
                    self.at += 2;
                    self.nesting.open(Bracket::Template);
                    return self.became(Last::Sign);
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// A division, or a regular expression.
    fn slash(&mut self) -> bool {
        match self.last {
            Last::Operand | Last::Name => {
                self.at += 1;
                self.nesting.link();
                return self.became(Last::Sign);
            }
            Last::Brace | Last::Either | Last::Dot => return self.give_up(),
            _ => {}
        }
        self.ends_statement(false);
        let (mut at, mut in_class) = (self.at + 1, false);
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(at) {
                Some(b'\n' | b'\r') | None => return self.give_up(),
                Some(b'\\') if !matches!(bytes.get(at + 1), Some(b'\n' | b'\r') | None) => at += 2,
                Some(b'\\') => return self.give_up(),
                Some(b'[') => (at, in_class) = (at + 1, true),
                Some(b']') => (at, in_class) = (at + 1, false),
                Some(b'/') if !in_class => break,
                Some(_) => at += 1,
            }
        }
        let text = &self.text[self.at..at];
        // They end a line as well.
        if text.contains(['\u{2028}', '\u{2029}']) {
            return self.give_up();
        }
        self.at = at + 1;
        let flags = self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        self.at += flags;
        self.became(Last::Operand)
    }

    fn open(&mut self, sign: char) -> bool {
        self.ends_statement(false);
        let bracket = match (sign, self.last) {
            ('(', Last::Condition) => Bracket::Condition,
            ('(', _) => Bracket::Paren,
            ('[', _) => Bracket::Square,
            _ => Bracket::Brace,
        };
        self.at += 1;
        self.nesting.open(bracket);
        self.became(if bracket == Bracket::Brace { Last::Start } else { Last::Sign })
    }

    fn close(&mut self, sign: char) -> bool {
        self.ended = false;
        let last = match (self.nesting.innermost(), sign) {
            (Some(Bracket::Condition), ')') => Last::ConditionEnd,
            (Some(Bracket::Paren), ')') | (Some(Bracket::Square), ']') => Last::Operand,
            (Some(Bracket::Brace), '}') => Last::Brace,
            (Some(Bracket::Template), '}') => {
                self.nesting.close();
                self.at += 1;
                return self.template();
            }
            _ => return self.give_up(),
        };
        self.nesting.close();
        self.at += 1;
        self.became(last)
    }

    fn word(&mut self, begins_line: bool) -> bool {
        let text = self.text;
        let rest = text.get(self.at..).unwrap_or_default();
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit());
        let end = rest.find(|c| !(is_part(c) || is_number && c == '.')).unwrap_or(rest.len());
        let word = &rest[..end];
        let is_name = self.last == Last::Dot || word.starts_with('#') || word.contains('\\');
        let is = |words: &[&str]| !is_name && words.contains(&word);
        let (clause, prefix, contextual) = (is(CLAUSES), is(PREFIXES), is(CONTEXTUAL));
        let is_condition =
            is(&["if", "while", "for", "with"]) || (is(&["await"]) && self.last == Last::Condition);
        let goes_on = is(CONTINUES);
        self.ends_statement(goes_on);
        let may_end = match self.last {
            // Behind a decorator a class is what it stands on.
            Last::Operand => begins_line && word != "class",
            Last::Brace => true,
            _ => false,
        };
        if may_end && !goes_on {
            self.nesting.end_statement();
        }
        if clause {
            self.nesting.clause();
        } else if prefix || contextual {
            self.nesting.link();
        }
        let is_either = is(&["await", "yield", "of"]);
        self.at += end;
        self.became(match () {
            () if is_condition => Last::Condition,
            () if is_either => Last::Either,
            () if contextual => Last::Name,
            () if prefix => Last::Keyword,
            () => Last::Operand,
        });
        self.is_word = true;
        true
    }

    fn sign(&mut self, sign: char) -> bool {
        let rest = self.rest();
        let length = match sign {
            '.' if rest.starts_with("...") => 3,
            '+' if rest.starts_with("++") => 2,
            '-' if rest.starts_with("--") => 2,
            '=' if rest.starts_with("=>") => 2,
            '<' if rest.starts_with("<=") => 2,
            '?' if rest.starts_with("?.") => 2,
            _ => sign.len_utf8(),
        };
        let (last, begins_line) = (self.last, self.line_broken);
        self.at += length;
        match sign {
            ';' => {
                self.ended = true;
                self.nesting.end_expression();
                return self.became(Last::Start);
            }
            ',' => {
                self.nesting.end_expression();
                return self.became(Last::Comma);
            }
            _ => {}
        }
        self.ends_statement(false);
        // A label holds a statement, and a type holds types.
        let is_label = sign == ':'
            && self.is_word
            && !matches!(self.before, Last::Sign | Last::Comma | Last::Dot);
        match sign {
            '<' if self.types && length == 1 => self.nesting.open_angle(TYPE_WEIGHT),
            '>' if self.types => {
                self.nesting.close_angle(TYPE_WEIGHT);
                self.nesting.link();
            }
            ':' if is_label => self.nesting.clause(),
            _ => self.nesting.link(),
        }
        let follows = last == Last::Operand;
        self.became(match sign {
            '.' if length == 1 => Last::Dot,
            '?' if length == 2 => Last::Dot,
            '+' | '-' if length == 2 => match last {
                Last::Operand if !begins_line => Last::Operand,
                Last::Brace | Last::Either | Last::Name => Last::Either,
                _ => Last::Sign,
            },
            '!' if follows && !begins_line => Last::Operand,
            '!' if matches!(last, Last::Brace | Last::Either | Last::Name) => Last::Either,
            '>' if self.types => Last::Either,
            ':' => Last::Start,
            _ => Last::Sign,
        })
    }
}

/// Returns true if a sign may be a part of a name, a number or a keyword.
fn is_part(sign: char) -> bool {
    match sign {
        '_' | '$' | '#' | '\\' => true,
        _ if sign.is_ascii() => sign.is_ascii_alphanumeric(),
        _ => !sign.is_whitespace() && sign != '\u{feff}',
    }
}

#[cfg(test)]
#[path = "javascript_depth_tests.rs"]
mod tests;
