//! Fuzz target for patterns over refs.

use super::Pattern;
use crate::base::fuzz::is_message;
use crate::id::Ref;

/// A pattern matches what the two rules say, `*` within a segment and `**` across segments, and
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
    let (wanted, given): (Vec<&str>, Vec<&str>) =
        (id.split('/').collect(), item.id.as_str().split('/').collect());
    let want = (kind == "*" || kind == item.kind.as_str()) && segments(&wanted, &given);
    assert_eq!(parsed.matches(&item), want, "{pattern:?} {item}");
}

/// `**` is any number of segments; behind a slash at the end at least one.
fn segments(pattern: &[&str], id: &[&str]) -> bool {
    match pattern {
        [] => id.is_empty(),
        ["**"] => !id.is_empty(),
        ["**", rest @ ..] => (0..=id.len()).any(|taken| segments(rest, &id[taken..])),
        [one, rest @ ..] => match id {
            [first, others @ ..] => {
                within(one.as_bytes(), first.as_bytes()) && segments(rest, others)
            }
            [] => false,
        },
    }
}

/// `*` is any number of signs of one segment.
fn within(pattern: &[u8], segment: &[u8]) -> bool {
    // The place behind the last star, and how much of the segment that star has taken.
    let (mut at, mut star, mut taken) = (0, None, 0);
    let mut here = 0;
    while here < segment.len() {
        match pattern.get(at) {
            Some(b'*') => {
                (star, taken) = (Some(at + 1), here);
                at += 1;
            }
            Some(sign) if *sign == segment[here] => (at, here) = (at + 1, here + 1),
            _ => {
                let Some(behind) = star else { return false };
                taken += 1;
                (at, here) = (behind, taken);
            }
        }
    }
    pattern[at..].iter().all(|sign| *sign == b'*')
}
