//! Fuzz target for the words that become paths.

use std::path::{Component, Path};

use super::{Fingerprint, IdError, ItemId, Kind, Query, Ref, Space};
use crate::base::fuzz::is_message;
use crate::diagnostic::Diagnose;

/// A text that is accepted keeps the rule, prints as it was written, and as a path lies below the
/// folder that it is joined to.
pub(crate) fn name(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.parse::<ItemId>() {
        Ok(id) => is_path_below(&id, text),
        Err(error) => is_refusal(&error),
    }
    assert_eq!(text.parse::<ItemId>().is_ok(), is_id(text), "{text:?}");
    match text.parse::<Ref>() {
        Ok(item) => {
            assert_eq!(item.to_string(), text);
            assert_eq!(text.parse::<Query>(), Ok(item.into()));
        }
        Err(error) => is_refusal(&error),
    }
    match text.parse::<Query>() {
        Ok(query) => assert_eq!(query.to_string(), text),
        Err(error) => is_refusal(&error),
    }
    let words = [
        text.parse::<Kind>().map(|word| word.to_string()),
        text.parse::<Space>().map(|word| word.to_string()),
        text.parse::<Fingerprint>().map(|word| word.to_string()),
    ];
    for word in words {
        match word {
            Ok(word) => assert_eq!(word, text),
            Err(error) => is_refusal(&error),
        }
    }
}

fn is_refusal(error: &IdError) {
    is_message(&error.to_string());
    is_message(&error.help().unwrap_or_default());
    assert!(super::CODES.contains(&error.code()), "{:?}", error.code());
}

fn is_path_below(id: &ItemId, text: &str) {
    assert_eq!(id.as_str(), text);
    let root = Path::new("/space/.ai/tools");
    let path = root.join(format!("{id}.py"));
    let below = path.strip_prefix(root).unwrap_or(Path::new(""));
    let parts: Vec<Component<'_>> = below.components().collect();
    assert_eq!(parts.len(), text.split('/').count(), "{}", path.display());
    assert!(parts.iter().all(|part| matches!(part, Component::Normal(_))), "{}", path.display());
    assert_eq!(path.file_stem().and_then(|stem| stem.to_str()), Some(id.name()));
    let whole = match id.folder() {
        "" => id.name().to_owned(),
        folder => format!("{folder}/{}", id.name()),
    };
    assert_eq!(whole, text);
}

/// Core 1.1, written a second time: segments of letters, digits, `_`, `-` and `.`, the first sign
/// neither `-` nor `.`, the last no dot; no device name.
fn is_id(text: &str) -> bool {
    const DEVICES: &str = " con prn aux nul ";
    let segments: Vec<&str> = text.split('/').collect();
    text.len() <= 255
        && segments.len() <= 16
        && segments.iter().all(|segment| {
            let stem = segment.split('.').next().unwrap_or_default().to_ascii_lowercase();
            let port = matches!(stem.get(..3), Some("com" | "lpt"))
                && stem.len() == 4
                && stem.ends_with(|c: char| c.is_ascii_digit());
            let letters = segment
                .chars()
                .all(|c| matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.'));
            let first = !segment.is_empty() && !segment.starts_with(['-', '.']);
            let device = !stem.contains(' ') && DEVICES.contains(&format!(" {stem} "));
            letters && first && !segment.ends_with('.') && !port && !device
        })
}
