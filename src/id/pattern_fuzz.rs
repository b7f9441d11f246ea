//! Fuzz target for patterns over refs.

use globset::GlobBuilder;

use super::Pattern;
use super::Ref;
use crate::base::fuzz::is_message;

/// A pattern matches what it matches as a glob, `*` within a segment and `**` across segments, and
/// nothing more. The first line is the pattern, the second a ref.
pub(crate) fn pattern(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, item) = text.split_once('\n').unwrap_or((text, ""));
    let parsed = match pattern.parse::<Pattern>() {
        Ok(parsed) => parsed,
        Err(why) => return is_message(&why),
    };
    assert_eq!(parsed.as_str(), pattern);
    let Ok(item) = item.parse::<Ref>() else { return };
    let (kind, id) = pattern.split_once(':').unwrap_or_default();
    let glob = GlobBuilder::new(id).literal_separator(true).build();
    let by_glob = glob.is_ok_and(|glob| glob.compile_matcher().is_match(item.id.as_str()));
    let want = (kind == "*" || kind == item.kind.as_str()) && by_glob;
    assert_eq!(parsed.matches(&item), want, "{pattern:?} {item}");
}
