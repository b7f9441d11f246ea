//! Patterns over refs.

use std::fmt;
use std::str::FromStr;

use super::{Kind, Ref};

/// A pattern such as `tool:acme/*`: `*` matches within a segment, `**` across segments, at
/// the end at least one.
///
/// Invariant: no other sign has a meaning; what globs elsewhere call classes and alternatives is
/// refused, so a pattern never means more than it looks like. A text and nothing made of it: a
/// document may hold thousands.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: String,
    /// `None` is any kind.
    kind: Option<Kind>,
}

impl Pattern {
    pub(crate) fn matches(&self, item: &Ref) -> bool {
        let (_, id) = self.text.split_once(':').unwrap_or_default();
        self.kind.is_none_or(|kind| kind == item.kind) && covers(id, item.id.as_str())
    }

    /// The one item that it matches, where it has no star.
    pub(crate) fn only_item(&self) -> Option<Ref> {
        self.text.parse().ok().filter(|_| !self.text.contains('*'))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if an item could match both. It may be true for patterns that no valid id
    /// matches, and is never false for patterns that one does.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let kinds = self.kind.zip(other.kind);
        let (own, others) = (self.segments(), other.segments());
        kinds.is_none_or(|(own, other)| own == other)
            && meet(
                &own,
                &others,
                |segment| *segment == "**",
                |own, other| {
                    meet(own.as_bytes(), other.as_bytes(), |sign| *sign == b'*', PartialEq::eq)
                },
            )
    }

    /// Of the id, with a last `**` as what it is.
    fn segments(&self) -> Vec<&str> {
        segments(self.text.split_once(':').unwrap_or_default().1)
    }

    /// The kind that it says; `None` is any.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.kind
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-./:*".contains(c);
        if let Some(c) = text.chars().find(|&c| !allowed(c)) {
            return Err(format!("a pattern cannot hold `{}`", c.escape_default()));
        }
        if text.len() > 512 {
            return Err("a pattern has at most 512 bytes".into());
        }
        let (kind, id) = text.split_once(':').unwrap_or(("", text));
        let kind = match kind {
            "*" => None,
            kind => Some(kind.parse::<Kind>().map_err(|_| {
                String::from("a pattern begins with a kind, such as `tool:`, or with `*:`")
            })?),
        };
        if id.split('/').any(str::is_empty) {
            return Err("a pattern has no empty segments, as in `tool:acme/*`".into());
        }
        if id.split('/').any(|segment| segment.contains("**") && segment != "**") {
            return Err("`**` stands for whole segments, as in `tool:acme/**`".into());
        }
        Ok(Self { text: text.to_owned(), kind })
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// At the end `**` stands for at least one segment.
fn segments(pattern: &str) -> Vec<&str> {
    let mut wanted: Vec<&str> = pattern.split('/').collect();
    if wanted.last() == Some(&"**") {
        wanted.push("*");
    }
    wanted
}

/// Returns true if something fits two patterns. Where both have a star, what is between the first
/// and the last of each can stand one behind the other, so the ends decide.
fn meet<P>(
    one: &[P],
    other: &[P],
    is_star: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &P) -> bool,
) -> bool {
    match (one.iter().any(&is_star), other.iter().any(&is_star)) {
        (true, false) => fits(one, other, is_star, is_one),
        (false, true) => fits(other, one, is_star, |other, one| is_one(one, other)),
        (false, false) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_one(one, other))
        }
        (true, true) => {
            let plain = |part: &&P| !is_star(part);
            let both = |(one, other): (&P, &P)| is_one(one, other);
            let others = other.iter().take_while(plain);
            let last = other.iter().rev().take_while(plain);
            one.iter().take_while(plain).zip(others).all(both)
                && one.iter().rev().take_while(plain).zip(last).all(both)
        }
    }
}

/// Says if a pattern such as `acme/*` matches a text of segments.
pub(crate) fn covers(pattern: &str, id: &str) -> bool {
    let wanted = segments(pattern);
    let given: Vec<&str> = id.split('/').collect();
    let in_segment = |wanted: &&str, given: &&str| {
        fits(wanted.as_bytes(), given.as_bytes(), |sign| *sign == b'*', PartialEq::eq)
    };
    fits(&wanted, &given, |segment| *segment == "**", in_segment)
}

/// Returns true if the parts of a pattern fit all given ones in order; a star is any number. Only
/// the last star is ever moved on, so the work is at most one product of the lengths.
fn fits<W, G>(
    wanted: &[W],
    given: &[G],
    is_star: impl Fn(&W) -> bool,
    is_one: impl Fn(&W, &G) -> bool,
) -> bool {
    // Behind the last star, and up to where that star reaches.
    let mut star = None;
    let (mut at, mut here) = (0, 0);
    while here < given.len() {
        match wanted.get(at) {
            Some(part) if is_star(part) => {
                at += 1;
                star = Some((at, here));
            }
            Some(part) if is_one(part, &given[here]) => (at, here) = (at + 1, here + 1),
            _ => {
                let Some((behind, reach)) = star else { return false };
                star = Some((behind, reach + 1));
                (at, here) = (behind, reach + 1);
            }
        }
    }
    wanted[at..].iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_table() {
        let rows = [
            ("tool:acme/*", "tool:acme/x", true),
            ("tool:acme/*", "tool:acme/x/y", false),
            ("tool:acme/**", "tool:acme/x/y", true),
            ("tool:acme/**", "tool:acmex/y", false),
            ("tool:acme/**", "directive:acme/x", false),
            ("*:acme/*", "directive:acme/x", true),
            ("tool:**", "tool:a/b/c", true),
            ("tool:a", "tool:a", true),
            ("tool:a*", "tool:abc", true),
            ("tool:*/x", "tool:a/x", true),
        ];
        for (pattern, item, want) in rows {
            let got = pattern.parse::<Pattern>().unwrap().matches(&item.parse().unwrap());
            assert_eq!(got, want, "{pattern} {item}");
        }
        for bad in [
            "acme/*",
            "tool:{a,b}",
            "tool:[a]",
            "tool:?",
            "tool:\\*",
            "tool:***",
            "zap:a",
            "tool:a b",
            "tool:",
            "tool:**/",
            "tool:a/**/",
            "tool:/a",
            "tool:a//b",
        ] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad}");
        }
    }

    /// Each row of at most so many of the parts.
    fn of(parts: &[&str], most: usize) -> Vec<String> {
        let mut all: Vec<String> = vec![String::new()];
        let mut longest = all.clone();
        for _ in 0..most {
            let longer = |text: &String| {
                let slash = if text.is_empty() { "" } else { "/" };
                parts.iter().map(move |part| format!("{text}{slash}{part}")).collect::<Vec<_>>()
            };
            longest = longest.iter().flat_map(longer).collect();
            all.extend(longest.clone());
        }
        all.split_off(1)
    }

    #[test]
    fn two_patterns_meet_where_an_item_matches_both() {
        let items = of(&["a", "b", "ab", "aab"], 4);
        let items: Vec<crate::id::Ref> =
            items.iter().map(|id| format!("tool:{id}").parse().unwrap()).collect();
        let patterns = of(&["a", "b", "*", "**", "a*", "*b", "a*b"], 2);
        let patterns: Vec<Pattern> =
            patterns.iter().map(|id| format!("tool:{id}").parse().unwrap()).collect();
        let matched: Vec<Vec<bool>> = patterns
            .iter()
            .map(|pattern| items.iter().map(|item| pattern.matches(item)).collect())
            .collect();
        for (one, by_one) in patterns.iter().zip(&matched) {
            for (other, by_other) in patterns.iter().zip(&matched) {
                let want = by_one.iter().zip(by_other).any(|(one, other)| *one && *other);
                assert_eq!(one.meets(other), want, "{one:?} {other:?}");
            }
        }
        let meet =
            |one: &str, other: &str| one.parse::<Pattern>().unwrap().meets(&other.parse().unwrap());
        assert!(meet("*:a", "tool:a") && meet("tool:**", "*:**"));
        assert!(!meet("tool:a", "directive:a"));
    }

    #[test]
    fn a_pattern_means_what_it_means_as_a_glob() {
        let ids = of(&["a", "b", "aab"], 3);
        for pattern in of(&["a", "*", "**", "a*b"], 3) {
            for id in &ids {
                crate::id::pattern_fuzz::pattern(format!("tool:{pattern}\ntool:{id}").as_bytes());
            }
        }
    }
}
