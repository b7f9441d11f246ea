//! The headers of a request: which names may be set, and values that stay values.

use serde_json::{Map, Value};

use super::config::{Auth, Bad, Config};
use crate::base::text::escape_line;
use crate::plan::template_context::TemplateContext;

/// Headers that only the client sets: they frame a message, or are for the next hop alone.
const FRAMING: &[&str] = &[
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "proxy-authorization",
    "proxy-connection",
];

/// Headers that say what is asked for and nothing of who asks.
const PLAIN: &[&str] = &["accept", "accept-language", "user-agent"];

const POINTER: &str = "/config/headers";

/// One header: name in lower case, template, value.
struct Header {
    name: String,
    template: String,
    value: String,
}

/// The headers of one request.
pub(super) struct Headers(Vec<Header>);

impl Headers {
    /// # Errors
    /// A name or value that is none, one that is the client's own, one that a parameter would
    /// reach, and a secret that no link declares.
    pub(super) fn new(
        config: &Config,
        secrets: &[(String, String)],
        context: &TemplateContext,
    ) -> Result<Self, Bad> {
        let filled = context.fill_without_private();
        let mut headers = Self(Vec::new());
        for (name, template) in &config.headers {
            if context.env.takes_parameters(template) {
                let why = "takes a value of the caller's parameters; they go into `body`";
                return Err((POINTER, format!("`{}` {why}", escape_line(name))));
            }
            headers.add(name, template.clone(), filled.scope().text(template))?;
        }
        let declared = |wanted: &str| {
            let found = secrets.iter().find(|(name, _)| name == wanted);
            let why = || format!("names `{}`, which no `secrets` list has", escape_line(wanted));
            found.map(|(_, value)| value.as_str()).ok_or_else(|| ("/config/auth/secret", why()))
        };
        match &config.auth {
            None => {}
            Some(Auth::Bearer { secret }) => {
                let value = format!("Bearer {}", declared(secret)?);
                headers.add("authorization", format!("Bearer ${{{secret}}}"), value)?;
            }
            Some(Auth::Header { name, secret }) => {
                headers.add(name, format!("${{{secret}}}"), declared(secret)?.to_owned())?;
            }
        }
        Ok(headers)
    }

    fn add(&mut self, name: &str, template: String, value: String) -> Result<(), Bad> {
        let bad = |why: &str| Err((POINTER, format!("`{}` {why}", escape_line(name))));
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let lower = name.to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(token) {
            return bad("is not a valid name of a header");
        }
        if FRAMING.contains(&lower.as_str()) {
            return bad("is not for a tool to set");
        }
        if self.0.iter().any(|header| header.name == lower) {
            return bad("is given twice");
        }
        // Without a line's end in it, a value cannot become another header.
        if value.bytes().any(|b| (b < b' ' && b != b'\t') || b == 0x7f) {
            return bad("would hold a character that no header may have");
        }
        self.0.push(Header { name: lower, template, value });
        Ok(())
    }

    pub(super) fn templates(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|header| header.template.as_str())
    }

    /// Returns true if any server may get them.
    pub(super) fn are_plain(&self) -> bool {
        self.0.iter().all(|header| PLAIN.contains(&header.name.as_str()))
    }

    /// The type of the body, where a header says it.
    pub(super) fn content_type(&self) -> Option<String> {
        let named = self.0.iter().find(|header| header.name == "content-type");
        named.map(|header| header.value.to_ascii_lowercase())
    }

    /// Names and values; the type of the body unless one is there.
    pub(super) fn filled(&self, content_type: Option<&str>) -> Vec<(String, String)> {
        let own = self.0.iter().map(|header| (header.name.clone(), header.value.clone()));
        own.chain(added(content_type)).collect()
    }

    /// Names and templates.
    pub(super) fn shown(&self, content_type: Option<&str>) -> Value {
        let own = self.0.iter().map(|header| (header.name.clone(), header.template.clone()));
        let all = own.chain(added(content_type)).map(|(name, text)| (name, Value::from(text)));
        Value::Object(all.collect::<Map<_, _>>())
    }
}

fn added(content_type: Option<&str>) -> Option<(String, String)> {
    content_type.map(|kind| ("content-type".to_owned(), kind.to_owned()))
}
