//! Fuzz target for directives: the fence, the XML in it, and the text around it.

use super::directive::{Directive, without_signature};
use super::fence::cut;
use crate::base::fuzz::{is_within, item_text};
use crate::base::text::unfit;
use crate::parse::error::PARSE_NO_DIRECTIVE_FENCE;
use crate::parse::fuzz::is_fault;

/// The parts of a directive lie one behind the other and hold all of it; only one fence is
/// metadata; everything declared is well-formed, and every place is one of the file.
pub(crate) fn directive(data: &[u8]) {
    let Some(text) = item_text(data) else { return };
    fence(&without_signature(text));
    let parsed = Directive::parse(text);
    assert_eq!(parsed, Directive::parse(text), "twice the same");
    match parsed {
        Ok(directive) => is_whole(text, &directive),
        Err(fault) => is_fault(text, &fault),
    }
}

fn fence(text: &str) {
    let layout = match cut(text) {
        Ok(layout) => layout,
        Err(fault) => return is_fault(text, &fault),
    };
    let places = [
        layout.preamble.start,
        layout.preamble.end,
        layout.fence,
        layout.xml.start,
        layout.xml.end,
        layout.body.start,
        layout.body.end,
    ];
    assert!(places.is_sorted(), "{layout:?}");
    assert_eq!((layout.preamble.end, layout.body.end), (layout.fence, text.len()));
    // Between the fence's place and its XML stands one line that opens a fence.
    let opening = &text[layout.fence..layout.xml.start];
    assert!(opening.starts_with("```") && opening.contains("xml"), "{opening:?}");
    assert!(opening.ends_with('\n') && opening.matches('\n').count() == 1, "{opening:?}");
    let closing = text[layout.xml.end..layout.body.start].trim();
    assert!(closing.len() >= 3 && closing.bytes().all(|b| b == b'`'), "{closing:?}");
    // No second one in what the agent is told to follow.
    let second = cut(&text[layout.body.clone()]).map_err(|fault| fault.code);
    assert_eq!(second, Err(PARSE_NO_DIRECTIVE_FENCE), "a fence in the body");
}

fn is_whole(text: &str, directive: &Directive) {
    assert!(text[directive.body_start..].starts_with(&directive.body));
    assert!(text.contains(&directive.preamble));
    is_within(text, directive.fence);
    is_within(text, directive.root);
    assert!(directive.unknown.iter().all(|(name, _)| !name.is_empty()));
    for (_, place) in directive.unknown.iter().take(20) {
        is_within(text, *place);
    }
    for (at, input) in directive.inputs.iter().enumerate() {
        let later = &directive.inputs[at + 1..];
        assert!(later.iter().all(|other| other.name != input.name), "{}", input.name);
        let name = input.name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        assert!(name && !input.name.is_empty(), "{:?}", input.name);
        if let Some(default) = &input.default {
            assert_eq!(input.ty.coerce(default.clone()).as_ref(), Some(default));
        }
    }
    for capability in directive.permissions.iter().flatten() {
        let mut parts = capability.split('.');
        assert_eq!(parts.next(), Some("rye"));
        assert!(matches!(parts.next(), Some("execute" | "fetch" | "sign")), "{capability}");
        let target = parts.next();
        assert!(matches!(target, Some("*" | "tool" | "directive" | "knowledge")), "{capability}");
        assert!(parts.all(|part| !part.is_empty() && !part.contains('/')), "{capability}");
    }
    let json = directive.to_json(&str::to_owned);
    let shown = serde_json::Value::Object(json).to_string();
    assert_eq!(unfit(&shown), None, "{shown}");
    // An entity makes five bytes of one at most, and JSON six of one.
    assert!(shown.len() <= 64 * (text.len() + 64), "{} from {}", shown.len(), text.len());
}
