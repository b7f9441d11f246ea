//! Web page: the program of the tool `rye/web/fetch`, one page of the web as Markdown or text.
//!
//! Sees `host` and below. It is rye itself, started once more in the tool's sandbox: what anybody
//! wrote is read where nothing can be touched, and which hosts are reached is not decided here but
//! by the proxy, which is the only way out of there. By hand it is no more than any other program
//! that fetches a page.
//!
//! In:  parameters as JSON on standard input.
//! Out: one line of JSON on standard output; for what failed `{"success": false, "error": …}`.
//!
//! - `fetch.rs` requests and redirects · `letters.rs` bytes to text · `html.rs` a page to Markdown
//!   or text · `table.rs` its tables · `foreign.rs` marks words as those of another author ·
//!   `plain.rs` requests without TLS
//!
//! Invariants
//! - Of an answer at most 2 MiB are held, before and after it is decompressed.
//! - No word of a page stands outside of the frame that is told with it, but for its title on one
//!   line; what steers a terminal or is not seen is written out.

mod fetch;
mod foreign;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod html;
mod letters;
mod plain;
mod table;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::fetch::{Answer, Form, fetch};
use self::foreign::{Frame, cut, shown, title_line};
use crate::base::Address;
use crate::base::limits::{PAGE_BYTES, PAGE_STACK_BYTES};
use crate::base::text::brief_line;
use crate::host::Vars;

/// The time of `rye/web/fetch` for making text of a page, in milliseconds.
#[cfg(feature = "http")]
const PAGE_READ_MS: u64 = 20_000;

/// Most bytes of the parameters of `rye/web/fetch`: a URL, many times over.
#[cfg(feature = "http")]
const PAGE_PARAMS_BYTES: u64 = 64 << 10;

/// Most characters of its words that come back unless the caller says otherwise: a tenth of what a
/// large model reads at once.
#[cfg(feature = "http")]
const PAGE_CHARS: usize = 100_000;

/// The first argument of rye when it is this program.
const ENTRY: &str = "--fetch-page";

/// The parameters of the caller. The tool's schema shows them to the caller.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    url: String,
    #[serde(default)]
    format: Format,
    #[serde(default = "most_bytes")]
    max_bytes: usize,
    #[serde(default = "most_chars")]
    max_chars: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Markdown,
    Text,
}

fn most_bytes() -> usize {
    PAGE_BYTES
}

fn most_chars() -> usize {
    PAGE_CHARS
}

/// Why there is no page: a sentence, and what is known of the answer.
#[derive(Debug, Default)]
struct Refused {
    error: String,
    details: Map<String, Value>,
}

impl From<String> for Refused {
    fn from(error: String) -> Self {
        Self { error, details: Map::new() }
    }
}

impl From<&str> for Refused {
    fn from(error: &str) -> Self {
        error.to_owned().into()
    }
}

/// Handles the command line of the entry; `None` for any other command line.
pub(crate) fn enter(argv: &[OsString]) -> Option<ExitCode> {
    argv.get(1).filter(|first| *first == ENTRY)?;
    let (value, status) = match asked().and_then(|asked| page(&asked)) {
        Ok(page) => (Value::Object(page), 0),
        Err(Refused { error, details }) => {
            let mut said = Map::new();
            said.insert("success".into(), false.into());
            said.insert("error".into(), error.into());
            said.extend(details);
            (Value::Object(said), 1)
        }
    };
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{value}").and_then(|()| out.flush());
    Some(ExitCode::from(if written.is_ok() { status } else { 1 }))
}

fn asked() -> Result<Asked, Refused> {
    let mut text = String::new();
    let read = io::stdin().lock().take(PAGE_PARAMS_BYTES + 1).read_to_string(&mut text);
    if read.is_err() || text.len() as u64 > PAGE_PARAMS_BYTES {
        return Err("the parameters on standard input are not one JSON object in UTF-8".into());
    }
    let asked: Asked = serde_json::from_str(&text)
        .map_err(|error| Refused::from(format!("the parameters are not valid: {error}")))?;
    if asked.max_bytes == 0 || asked.max_bytes > PAGE_BYTES {
        return Err(format!("`max_bytes` must be from 1 to {PAGE_BYTES}").into());
    }
    if asked.max_chars == 0 || asked.max_chars > PAGE_BYTES {
        return Err(format!("`max_chars` must be from 1 to {PAGE_BYTES}").into());
    }
    Ok(asked)
}

/// The page as the tool tells it.
fn page(asked: &Asked) -> Result<Map<String, Value>, Refused> {
    let vars = Vars::from_process();
    let answer = fetch(&asked.url, asked.max_bytes, &vars)?;
    let status = answer.status;
    let origin = answer.address.origin();
    let told = tell(asked, answer)?;
    match status {
        200..=299 => Ok(told),
        _ => Err(Refused {
            error: format!("the server `{origin}` answered with status {status}"),
            details: told,
        }),
    }
}

fn tell(asked: &Asked, answer: Answer) -> Result<Map<String, Value>, Refused> {
    let Answer { address, status, content_type, form, bytes, is_cut, charset } = answer;
    let length = bytes.len();
    let decoded = letters::decode(&bytes, charset.as_deref(), form);
    let (title, format, text, is_deep) = match form {
        Form::Html => {
            let words = read_html(decoded, address.clone(), asked.format)?;
            let format = if asked.format == Format::Text { "text" } else { "markdown" };
            (words.title, format, words.text, words.is_cut)
        }
        Form::Markdown => (None, "markdown", decoded, false),
        Form::Xml | Form::Text => (None, "text", decoded, false),
    };
    let (text, is_long) = cut(shown(&text), asked.max_chars);
    let frame = Frame::around(&text, &address.origin())?;
    let mut page = Map::new();
    let mut put = |key: &str, value: Value| drop(page.insert(key.to_owned(), value));
    put("url", asked.url.clone().into());
    put("final_url", address.as_str().into());
    put("status", status.into());
    put("content_type", content_type.into());
    put("title", json!(title.as_deref().map(title_line)));
    put("format", format.into());
    put("text", frame.text(&text).into());
    put("bytes", length.into());
    put("is_cut", (is_cut || is_deep || is_long).into());
    put("foreign", frame.note());
    Ok(page)
}

/// The result of reading a page of HTML.
struct Read {
    title: Option<String>,
    text: String,
    is_cut: bool,
}

/// Reads a page on a thread of its own, with room for the deepest tree, and a limit of time.
fn read_html(html: String, address: Address, format: Format) -> Result<Read, Refused> {
    let (tell, told) = channel();
    let read = move || {
        let words = html::words(&html, &address);
        let text = match format {
            Format::Markdown => words.markdown,
            Format::Text => html::plain(&words.markdown),
        };
        let _ = tell.send(Read { title: words.title, text, is_cut: words.is_cut });
    };
    let thread = std::thread::Builder::new().stack_size(PAGE_STACK_BYTES).spawn(read);
    thread.map_err(|error| Refused::from(format!("the page cannot be read here: {error}")))?;
    told.recv_timeout(Duration::from_millis(PAGE_READ_MS)).map_err(|error| match error {
        RecvTimeoutError::Timeout => {
            format!("the page is made so that reading it takes more than {PAGE_READ_MS} ms").into()
        }
        RecvTimeoutError::Disconnected => "the page could not be read".into(),
    })
}

/// The text of a caller, on one line.
fn quoted(text: &str) -> String {
    format!("`{}`", brief_line(text))
}
