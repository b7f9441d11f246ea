//! The checks of places and messages in every fuzz target, and the target for texts that are shown.

use super::event_stream::{EventStream, ServerEvent};
use super::text::{Position, brief_line, escape, escape_line, lone_return, position, unfit};
use super::{Digest, HostRule, Timestamp, canon};

/// Longest message for people, in bytes; what it quotes is cut before it is shown.
const MESSAGE: usize = 5_000;

/// The text of an item: what `verify` lets through to the readers.
pub(crate) fn item_text(data: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(data).ok()?;
    (unfit(text).is_none() && lone_return(data).is_none()).then_some(text)
}

/// A message must be one short line that a terminal can show.
pub(crate) fn is_message(message: &str) {
    assert!(message.len() <= MESSAGE, "a message of {} bytes", message.len());
    assert!(!message.contains(['\n', '\r', '\t']), "more than a line: {message:?}");
    assert_eq!(unfit(message), None, "not to be shown: {message:?}");
}

/// A place must be one that the text has, or the one behind its last character.
pub(crate) fn is_within(text: &str, place: Position) {
    let line = text.split('\n').nth(place.line.wrapping_sub(1));
    let columns = line.map(|line| line.chars().count() + 1);
    let fits = place.column >= 1 && columns.is_some_and(|columns| place.column <= columns);
    assert!(fits, "{place:?} is not within {text:?}");
}

/// Shown text steers no terminal and loses nothing; positions are places; times and digests have
/// one spelling.
pub(crate) fn text(data: &[u8]) {
    for at in [0, data.len() / 2, data.len()] {
        let place = position(data, at);
        let lines = data.iter().filter(|&&b| b == b'\n').count() + 1;
        assert!((1..=lines).contains(&place.line) && place.column >= 1, "{place:?}");
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (shown, line) = (escape(text), escape_line(text));
    assert_eq!(unfit(&shown), None, "{shown:?}");
    assert_eq!(lone_return(shown.as_bytes()), None, "{shown:?}");
    assert!(!line.contains(['\n', '\t']), "{line:?}");
    assert_eq!(escape(&shown), shown, "what is shown is shown as it is");
    assert!(shown.len() <= text.len() * 6 && line.len() <= text.len() * 6);
    if unfit(text).is_none() && !text.contains('\r') {
        assert_eq!(shown, text);
    }
    if let Some(found) = unfit(text) {
        assert!(text[found.at..].starts_with(found.char));
        is_within(text, position(data, found.at));
    }
    for (at, char) in text.char_indices() {
        // Written apart from the rule: what may stand in a text is at least this.
        let plain = char.is_ascii_graphic() || matches!(char, ' ' | '\n' | '\t' | '\r');
        assert!(!plain || unfit(&text[at..=at]).is_none(), "{char:?}");
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        assert_eq!(time.to_string(), text);
        assert_eq!(Timestamp::from_second(time.as_second()), time);
    }
    if let Ok(digest) = text.parse::<Digest>() {
        assert_eq!(digest.to_string(), text);
    }
}

/// A stream says the same in pieces of any size, and what a reader of the whole text finds.
pub(crate) fn event_stream(data: &[u8]) {
    let Some((size, bytes)) = data.split_first() else { return };
    let read = |size: usize| {
        let mut stream = EventStream::new(usize::MAX);
        let pieces = bytes.chunks(size).flat_map(|piece| stream.next(piece).unwrap_or_default());
        pieces.collect::<Vec<_>>()
    };
    let found = read(bytes.len().max(1));
    assert_eq!(read(usize::from(*size) + 1), found);
    assert_eq!(found, simply(&String::from_utf8_lossy(bytes)));
    let mut short = EventStream::new(64);
    for piece in bytes.chunks(7) {
        let Ok(events) = short.next(piece) else { return };
        assert!(events.iter().all(|event| event.data.len() < 3 * 64), "{events:?}");
    }
}

/// The events of a text that is there as a whole.
fn simply(text: &str) -> Vec<ServerEvent> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let Some((whole, _)) = text.rsplit_once('\n') else { return Vec::new() };
    let (mut events, mut event, mut lines) = (Vec::new(), ServerEvent::default(), Vec::new());
    for line in whole.split('\n') {
        let value = |name: &str| {
            let rest = line.strip_prefix(name)?;
            match rest.strip_prefix(':') {
                Some(value) => Some(value.strip_prefix(' ').unwrap_or(value).to_owned()),
                None => rest.is_empty().then(String::new),
            }
        };
        if line.is_empty() {
            event.data = lines.join("\n");
            let done = std::mem::take(&mut event);
            if !std::mem::take(&mut lines).is_empty() {
                events.push(done);
            }
        } else if let Some(kind) = value("event") {
            event.kind = kind;
        } else {
            lines.extend(value("data"));
        }
    }
    events
}

/// A document has one canonical text: what is read is written with the same bytes, and what is
/// written from any other text of the document is that text.
pub(crate) fn canonical(data: &[u8]) {
    match canon::read(data) {
        Ok(document) => {
            let written = canon::write(&document);
            assert_eq!(written.as_deref(), Ok(data.strip_suffix(b"\n").unwrap_or(data)));
        }
        Err(why) => is_message(&brief_line(&why.to_string())),
    }
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(data) else { return };
    if let Ok(written) = canon::write(&document) {
        assert_eq!(canon::read(&written).as_ref(), Ok(&document));
    }
    let exact = canon::exact(&document);
    let again = serde_json::from_str::<serde_json::Value>(&exact);
    assert_eq!(again.ok().as_ref().map(canon::exact), Some(exact));
}

/// A rule of hosts has one spelling, covers what it says, and a wildcard covers neither its own
/// name nor an address.
pub(crate) fn host_rule(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let rule = match HostRule::parse(text) {
        Ok(rule) => rule,
        Err(bad) => return is_message(&brief_line(&bad.to_string())),
    };
    let shown = rule.to_string();
    assert_eq!(HostRule::parse(&shown).as_ref(), Ok(&rule), "{shown}");
    assert!(rule.is_within(&rule) && shown.is_ascii(), "{shown}");
    let (host, port) = match shown.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().expect("a port")),
        _ => (shown.as_str(), 443),
    };
    match host.strip_prefix("*.") {
        None => assert!(rule.covers(host, port), "{shown}"),
        Some(below) => {
            assert!(!rule.covers(below, port), "{shown}");
            assert!(!rule.covers("93.184.216.34", port), "{shown}");
        }
    }
    assert!(!rule.covers(&format!("{host}.invalid"), port) && !rule.covers("", port), "{shown}");
}
