//! The items that a caller may reach.

use super::{Pattern, Ref};

/// Patterns over items, in sets: a caller reaches what every set lets in.
///
/// Invariant: sets are only ever added, so that what is made from grants never reaches more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grants(Vec<Vec<Pattern>>);

impl Grants {
    /// Whatever one of the patterns matches; nothing without any.
    pub(crate) fn new(patterns: Vec<Pattern>) -> Self {
        Self(vec![patterns])
    }

    /// The same, and of that only what one of these matches too.
    pub(crate) fn narrowed(mut self, patterns: Vec<Pattern>) -> Self {
        self.0.push(patterns);
        self
    }

    /// The items that both reach.
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    pub(crate) fn allow(&self, item: &Ref) -> bool {
        self.0.iter().all(|set| set.iter().any(|pattern| pattern.matches(item)))
    }

    /// The sets as text, each the patterns of one.
    pub(crate) fn to_texts(&self) -> Vec<Vec<String>> {
        let texts = |set: &Vec<Pattern>| set.iter().map(|p| p.as_str().to_owned()).collect();
        self.0.iter().map(texts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Grants;
    use crate::id::Pattern;

    fn patterns(texts: &[&str]) -> Vec<Pattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn what_is_reached_is_what_every_set_lets_in() {
        let one = || Grants::new(patterns(&["tool:acme/**", "tool:b/x"]));
        let rows = [
            (one(), "tool:acme/a/b", true),
            (one(), "tool:b/x", true),
            (one(), "tool:b/y", false),
            (one(), "directive:acme/a", false),
            (one().narrowed(patterns(&["tool:acme/a"])), "tool:acme/a", true),
            (one().narrowed(patterns(&["tool:acme/a"])), "tool:b/x", false),
            (one().narrowed(patterns(&["tool:c/**"])), "tool:c/x", false),
            (one().narrowed(Vec::new()), "tool:acme/a", false),
            (Grants::new(Vec::new()), "tool:acme/a", false),
        ];
        for (grants, item, want) in rows {
            assert_eq!(grants.allow(&item.parse().unwrap()), want, "{grants:?} {item}");
        }
    }
}
