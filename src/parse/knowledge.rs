//! Knowledge: text for people and models, with or without front matter.

use serde_json::{Map, Value};

use super::data::{kind, plain, yaml};
use super::directive::{first_heading, signature_length};
use super::error::{PARSE_METADATA, ParseFault};
use crate::base::text::escape_line;

/// A knowledge item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Knowledge {
    /// From the front matter, else the first heading.
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) tags: Vec<String>,
    /// The text without the signature line and front matter.
    pub(crate) body: String,
}

impl Knowledge {
    /// The knowledge in a Markdown file.
    ///
    /// Front matter is YAML between a first line `---` and the next one; without that next line
    /// the first is a rule, and all of the text is body.
    ///
    /// # Errors
    /// `parse.yaml`, `parse.limit`, `parse.metadata` for front matter that is no mapping;
    /// `parse.invisible_text` and `parse.control_text` for what title, description and tags may not
    /// hold.
    pub(crate) fn markdown(text: &str) -> Result<Self, ParseFault> {
        let signed = signature_length(text);
        let rest = &text[signed..];
        let Some((front, body)) = front_matter(rest) else {
            let title = first_heading(rest)?;
            return Ok(Self { title, body: rest.to_owned(), ..Self::default() });
        };
        // Line feeds are kept, so that positions of faults are those of the file.
        let map = match yaml(&format!("{}{front}", "\n".repeat(1 + usize::from(signed > 0))))? {
            Value::Object(map) => map,
            Value::Null => Map::new(),
            other => {
                let why = format!("its front matter must be a mapping, not {}", kind(&other));
                return Err(ParseFault::new(PARSE_METADATA, why));
            }
        };
        let described = described(&map)?;
        let title = match described.title {
            Some(title) => Some(title),
            None => first_heading(body)?,
        };
        Ok(Self { title, body: body.to_owned(), ..described })
    }

    /// The knowledge in a YAML file; the body is the file as it is, without its signature line.
    ///
    /// # Errors
    /// `parse.yaml`, `parse.limit`, `parse.metadata`.
    pub(crate) fn yaml(text: &str, raw: String) -> Result<Self, ParseFault> {
        let described = match yaml(text)? {
            Value::Object(map) => described(&map)?,
            _ => Self::default(),
        };
        Ok(Self { body: raw, ..described })
    }
}

/// Splits front matter from what follows it; both lines `---` are left out.
fn front_matter(text: &str) -> Option<(&str, &str)> {
    let is_rule = |line: &str| line.trim_end() == "---";
    let first = text.split_inclusive('\n').next().filter(|line| is_rule(line))?;
    let mut end = first.len();
    for line in text[first.len()..].split_inclusive('\n') {
        if is_rule(line) {
            return Some((&text[first.len()..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

fn described(map: &Map<String, Value>) -> Result<Knowledge, ParseFault> {
    // People and models read these fields, so they are checked.
    ["title", "description", "tags"].iter().filter_map(|key| map.get(*key)).try_for_each(plain)?;
    let text = |key: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(key, "a string", other)),
    };
    let tags = match map.get("tags") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list
            .iter()
            .map(|tag| match tag {
                Value::String(tag) => Ok(tag.clone()),
                other => Err(wrong("tags", "a list of strings", other)),
            })
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(wrong("tags", "a list of strings", other)),
    };
    Ok(Knowledge {
        title: text("title")?,
        description: text("description")?,
        tags,
        ..Knowledge::default()
    })
}

fn wrong(key: &str, wanted: &str, got: &Value) -> ParseFault {
    let why = format!("`/{}` must be {wanted}, not {}", escape_line(key), kind(got));
    ParseFault::new(PARSE_METADATA, why)
}

#[cfg(test)]
mod tests {
    use super::Knowledge;
    use crate::base::text::Position;

    fn read(text: &str) -> (Option<String>, Option<String>, Vec<String>, String) {
        let Knowledge { title, description, tags, body } = Knowledge::markdown(text).unwrap();
        (title, description, tags, body)
    }

    #[test]
    fn markdown_table() {
        let front = "---\ntitle: T\ndescription: D\ntags: [a, b]\nother: 1\n---\n# H\n\nwords\n";
        let full = (
            Some("T".into()),
            Some("D".into()),
            vec!["a".into(), "b".into()],
            "# H\n\nwords\n".into(),
        );
        assert_eq!(read(front), full);
        assert_eq!(read(&format!("<!-- rye:signed:v2 x -->\n{front}")), full);
        let plain = |title: Option<&str>, body: &str| {
            (title.map(Into::into), None, Vec::new(), body.to_owned())
        };
        let rows = [
            ("", plain(None, "")),
            ("# H\nwords", plain(Some("H"), "# H\nwords")),
            ("<!-- rye:signed:v2 x -->\n# H\n", plain(Some("H"), "# H\n")),
            ("---\nwords, and no second rule\n", plain(None, "---\nwords, and no second rule\n")),
            ("---\n---\n# H", plain(Some("H"), "# H")),
            ("--- \r\ntags: []\r\n---\r\nbody", plain(None, "body")),
            ("\n---\ntitle: T\n---\n", plain(Some("title: T"), "\n---\ntitle: T\n---\n")),
        ];
        for (text, want) in rows {
            assert_eq!(read(text), want, "{text:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        let rows = [
            ("---\na: 1\na: 2\n---\n", "parse.yaml"),
            ("---\n- a\n---\n", "parse.metadata"),
            ("---\ntitle: [a]\n---\n", "parse.metadata"),
            ("---\ntitle: 1.0\n---\n", "parse.metadata"),
            ("---\ntags: a\n---\n", "parse.metadata"),
            ("---\ntags: [a, 1]\n---\n", "parse.metadata"),
            ("---\na: &a [*a]\n---\n", "parse.limit"),
        ];
        for (text, code) in rows {
            assert_eq!(Knowledge::markdown(text).map_err(|f| f.code.name()), Err(code), "{text:?}");
        }
        let fault =
            Knowledge::markdown("<!-- rye:signed:v2 x -->\n---\na: 1\nb: .nan\n---\n").unwrap_err();
        assert_eq!(fault.position, Some(Position { line: 4, column: 4 }));
    }

    #[test]
    fn yaml_is_its_own_body() {
        let text = "# rye:signed:v2 x\ntitle: T\nrows: [1]\n";
        let got = Knowledge::yaml(text, "title: T\nrows: [1]\n".into()).unwrap();
        assert_eq!((got.title.as_deref(), got.body.as_str()), (Some("T"), "title: T\nrows: [1]\n"));
        assert!(Knowledge::yaml("- a\n", "- a\n".into()).is_ok());
        assert_eq!(
            Knowledge::yaml("a: 1\na: 1", String::new()).map_err(|f| f.code.name()),
            Err("parse.yaml")
        );
    }
}
