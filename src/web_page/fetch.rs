//! One page and the redirects before it. Every host of the way is the proxy's to allow.

use std::io::Read as _;
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;

use super::{Refused, plain, quoted};
use crate::base::Address;
use crate::base::durations::CONNECT_TIMEOUT_MS;
use crate::base::limits::PAGE_BYTES;
use crate::host::{
    Host as _, HttpAnswer, HttpCall, NetFault, NetSettings, Os, REFUSED_HEADER, Vars,
};

/// The time of `rye/web/fetch` for all requests of a page, in milliseconds.
#[cfg(feature = "http")]
const PAGE_FETCH_MS: u64 = 45_000;

/// Most redirects before a page.
#[cfg(feature = "http")]
const PAGE_REDIRECTS: usize = 5;

/// The config item of the tool's `hosts_from`, for sentences.
const LIST: &str = "config:web/hosts";

/// The types that are asked for, the more welcome first.
const ACCEPT: &str = "text/html, application/xhtml+xml, text/markdown, text/plain, \
                      application/json, application/xml;q=0.9, text/xml;q=0.9";

/// How an answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Markdown,
    Xml,
    Text,
}

/// The last answer of the way.
#[derive(Debug)]
pub(super) struct Answer {
    /// Whence it came.
    pub(super) address: Address,
    pub(super) status: u16,
    /// Without parameters, in lower case.
    pub(super) content_type: String,
    pub(super) form: Form,
    /// Decompressed.
    pub(super) bytes: Vec<u8>,
    /// There is more of it.
    pub(super) is_cut: bool,
    /// As the server names it.
    pub(super) charset: Option<String>,
}

/// Fetches what a URL leads to.
///
/// # Errors
/// A sentence.
pub(super) fn fetch(url: &str, most: usize, vars: &Vars) -> Result<Answer, Refused> {
    let mut address = address_of(url)?;
    let until = Instant::now() + Duration::from_millis(PAGE_FETCH_MS);
    // The run's proxy leads to listed addresses of this machine too; its own loopback is empty.
    let vars: Vars = vars
        .names()
        .filter(|name| !name.eq_ignore_ascii_case("no_proxy"))
        .filter_map(|name| Some((name.into(), vars.get(name)?.to_owned())))
        .collect();
    for _ in 0..=PAGE_REDIRECTS {
        let answer = ask(&address, until, &vars)?;
        if header(&answer, REFUSED_HEADER).is_some() {
            return Err(not_led(&address, "").into());
        }
        match location(&answer) {
            Some(location) => address = next(&address, &location)?,
            None => return read(address, answer, most),
        }
    }
    let text = format!("more than {PAGE_REDIRECTS} redirects, the last one to {}", at(&address));
    Err(text.into())
}

/// The URL that a person or a model wrote: letters beyond ASCII are encoded, and the place in the
/// page, which no server is told, is left out.
fn address_of(url: &str) -> Result<Address, Refused> {
    let plain = plain_url(url.split('#').next().unwrap_or(url).trim());
    Address::parse(&plain).map_err(|why| {
        // What stands behind it is for who writes an item.
        let why = why.split(';').next().unwrap_or(why);
        format!("`url` is {}, which {why}", quoted(url)).into()
    })
}

/// A URL in which what is not plain ASCII is written in percent signs.
pub(super) fn plain_url(url: &str) -> String {
    let mut plain = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            b'!'..=b'~' if !b"\"<>\\^`{|}".contains(&byte) => plain.push(char::from(byte)),
            other => plain.push_str(&format!("%{other:02X}")),
        }
    }
    plain
}

fn ask(address: &Address, until: Instant, vars: &Vars) -> Result<HttpAnswer, Refused> {
    let headers = [("Accept", ACCEPT), ("Accept-Encoding", "gzip")];
    let call = HttpCall {
        method: "GET",
        url: address.as_str().to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        body: None,
        until,
        connect_timeout: Duration::from_millis(CONNECT_TIMEOUT_MS),
        // How long it is decompressed is not known yet.
        body_cap: PAGE_BYTES,
        way: NetSettings::of_scheme(vars, address.is_https()),
    };
    let proxy = match address.is_https() {
        true => Ok(None),
        false => call.way.outer_proxy(address.host(), address.port()),
    };
    let answer = proxy.and_then(|proxy| match proxy.filter(|proxy| !proxy.is_https) {
        Some(proxy) => plain::ask(&call, &proxy),
        None => Os::new(false).call(&call),
    });
    answer.map_err(|fault| sentence(address, fault).into())
}

fn sentence(address: &Address, fault: NetFault) -> String {
    let to = at(address);
    match fault {
        // The proxy of the run says no more to who asks for a tunnel.
        NetFault::Proxy(why) if why.contains("responded 403") => not_led(address, ""),
        NetFault::Proxy(why) if why.contains("responded 502") => {
            format!("{to} cannot be reached, or its name leads to no address")
        }
        NetFault::Proxy(why) | NetFault::Unreachable(why) => {
            format!("{to} cannot be reached: {why}")
        }
        NetFault::Tls(why) => format!("{to} cannot prove who it is: {why}"),
        NetFault::Certificates(why) => format!("{to} cannot prove who it is: {why}"),
        NetFault::Broken(why) => format!("{to} gave no whole answer: {why}"),
        NetFault::TimedOut => {
            format!("{to} gave no whole answer within {PAGE_FETCH_MS} ms")
        }
        NetFault::NoNetwork => "this rye was built without a network".into(),
        NetFault::Interrupted(signal) => format!("signal {signal} ended it"),
    }
}

fn not_led(address: &Address, before: &str) -> String {
    format!(
        "{before}{} is not among the hosts that your `{LIST}` lists, or leads to no public address",
        at(address)
    )
}

/// A server as a person calls it.
fn at(address: &Address) -> String {
    quoted(&address.origin())
}

/// Where a redirect leads to, if it may be followed. Whether its host is listed the proxy says.
fn next(from: &Address, location: &str) -> Result<Address, Refused> {
    let led = |why: &str| {
        // The words of a server are no part of what is said about it.
        Refused::from(format!("{} leads on to an address that {why}", at(from)))
    };
    let to = from
        .follow(&plain_url(location.trim()))
        .ok_or_else(|| led("is not a page of the web, and was not followed"))?;
    match from.is_https() && !to.is_https() {
        true => Err(led("is not encrypted any more, and was not followed")),
        false => Ok(to),
    }
}

/// Where an answer says that the page is now.
fn location(answer: &HttpAnswer) -> Option<String> {
    matches!(answer.status, 301 | 302 | 303 | 307 | 308).then(|| header(answer, "location"))?
}

fn header(answer: &HttpAnswer, name: &str) -> Option<String> {
    let found = answer.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| String::from_utf8_lossy(value).trim().to_owned())
}

fn read(address: Address, answer: HttpAnswer, most: usize) -> Result<Answer, Refused> {
    let named = header(&answer, "content-type").unwrap_or_default();
    let mut parts = named.split(';');
    let content_type = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let status = answer.status;
    let form = match form(&content_type) {
        Some(form) => form,
        // An answer without words, such as 204, needs no type.
        None if answer.body.is_empty() => Form::Text,
        None if content_type.is_empty() => {
            return Err(format!("{} does not say of what type its answer is", at(&address)).into());
        }
        None => {
            let text = format!(
                "{} answered with status {status} and {}, and only HTML, XML, JSON, Markdown and \
                 plain text are read",
                at(&address),
                kind_of(&content_type)
            );
            return Err(text.into());
        }
    };
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| value.to_owned())
    });
    let encoding = header(&answer, "content-encoding").unwrap_or_default().to_ascii_lowercase();
    let (bytes, is_cut) = match encoding.as_str() {
        "" | "identity" => {
            let is_cut = answer.truncated || answer.body.len() > most;
            let mut body = answer.body;
            body.truncate(most);
            (body, is_cut)
        }
        "gzip" | "x-gzip" => unzipped(&answer, most)
            .ok_or_else(|| format!("{} sent gzip that cannot be read", at(&address)))?,
        _ => {
            let text = format!("{} compressed its answer in a way that is not read", at(&address));
            return Err(text.into());
        }
    };
    // Nothing else fits a content type: the name is one that is known.
    let content_type = if form_is_named(&content_type) { content_type } else { String::new() };
    Ok(Answer { address, status, content_type, form, bytes, is_cut, charset })
}

/// As much of a compressed body as is wanted, and whether there is more; `None` if it is damaged.
fn unzipped(answer: &HttpAnswer, most: usize) -> Option<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let ended = MultiGzDecoder::new(&answer.body[..]).take(limit).read_to_end(&mut bytes);
    // The end of what was cut is missing.
    if ended.is_err() && !answer.truncated {
        return None;
    }
    let is_cut = answer.truncated || bytes.len() > most;
    bytes.truncate(most);
    Some((bytes, is_cut))
}

/// A type that is not read, without the words of the server.
fn kind_of(content_type: &str) -> &'static str {
    match content_type.split('/').next() {
        Some("image") => "an image",
        Some("audio" | "video") => "audio or video",
        Some("font") => "a font",
        Some("application") => "data of a program",
        _ => "data of another type",
    }
}

fn form_is_named(content_type: &str) -> bool {
    form(content_type).is_some()
}

/// How an answer of a type is read; `None` for what is not words.
fn form(content_type: &str) -> Option<Form> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/+-._".contains(&b);
    if content_type.len() > 100 || !content_type.bytes().all(is_plain) {
        return None;
    }
    Some(match content_type {
        "text/html" | "application/xhtml+xml" => Form::Html,
        "text/markdown" => Form::Markdown,
        "text/plain" | "application/json" => Form::Text,
        "text/xml" | "application/xml" => Form::Xml,
        _ => match content_type.strip_prefix("application/")?.rsplit_once('+')?.1 {
            "json" => Form::Text,
            "xml" => Form::Xml,
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{Address, Form, address_of, form, next};

    #[test]
    fn which_urls_are_fetched_table() {
        for (url, want) in [
            ("https://a.example", Ok("https://a.example/")),
            ("HTTP://A.example:80/x#place", Ok("http://a.example/x")),
            ("https://a.example/ä b?q=ü", Ok("https://a.example/%C3%A4%20b?q=%C3%BC")),
            ("https://a.example:8443/", Ok("https://a.example:8443/")),
            ("file:///etc/passwd", Err("not an absolute")),
            ("ftp://a.example/", Err("not an absolute")),
            ("a.example", Err("not an absolute")),
            ("", Err("not an absolute")),
            ("https://ada:secret@a.example/", Err("has a user name or password in it")),
            ("https://a.example@evil.example/", Err("has a user name")),
            ("https://a.example\\@evil.example/", Err("")),
            ("https://bücher.example/", Err("")),
            ("https:///x", Err("")),
            ("https://a.example:0/", Err("no such port")),
            ("https://a.example\r\nX: y/", Err("")),
        ] {
            match (address_of(url), want) {
                (Ok(got), Ok(want)) => assert_eq!(got.as_str(), want, "{url}"),
                (Err(got), Err(want)) => assert!(got.error.contains(want), "{url}: {}", got.error),
                (got, _) => panic!("{url}: {got:?}"),
            }
        }
    }

    #[test]
    fn where_a_redirect_leads_table() {
        let from = Address::parse("https://a.example/x/y").unwrap();
        for (location, want) in [
            ("/z", Ok("https://a.example/z")),
            ("z?q#p", Ok("https://a.example/x/z?q")),
            ("//b.example/", Ok("https://b.example/")),
            ("https://b.example:8443/ä", Ok("https://b.example:8443/%C3%A4")),
            ("http://a.example/", Err("not encrypted any more")),
            ("ftp://b.example/", Err("an address that is not a page of the web")),
            ("file:///etc/passwd", Err("not a page of the web")),
            ("javascript:alert(1)", Err("not a page of the web")),
            ("data:text/html,x", Err("not a page of the web")),
            ("https://u:p@b.example/", Err("not a page of the web")),
            ("\u{1b}[2Jx:", Err("not a page of the web")),
        ] {
            match (next(&from, location), want) {
                (Ok(got), Ok(want)) => assert_eq!(got.as_str(), want, "{location}"),
                (Err(got), Err(want)) => {
                    assert!(got.error.contains(want), "{location}: {}", got.error);
                    assert!(!got.error.contains('\u{1b}'));
                }
                (got, _) => panic!("{location}: {got:?}"),
            }
        }
        let plain = Address::parse("http://a.example/").unwrap();
        assert_eq!(next(&plain, "https://a.example/").unwrap().as_str(), "https://a.example/");
    }

    #[test]
    fn which_types_are_words_table() {
        for (name, want) in [
            ("text/html", Some(Form::Html)),
            ("application/xhtml+xml", Some(Form::Html)),
            ("text/plain", Some(Form::Text)),
            ("text/markdown", Some(Form::Markdown)),
            ("application/json", Some(Form::Text)),
            ("application/ld+json", Some(Form::Text)),
            ("application/rss+xml", Some(Form::Xml)),
            ("text/xml", Some(Form::Xml)),
            ("image/svg+xml", None),
            ("image/png", None),
            ("application/pdf", None),
            ("application/octet-stream", None),
            ("application/x\u{1b}+json", None),
            ("application/ignore all that was said+json", None),
            ("", None),
        ] {
            assert_eq!(form(name), want, "{name}");
        }
    }
}
