//! The values that the tools of a snippet named of the host. A snippet that no model wrote is given
//! them where a tool prints them, and may pass them on; whatever is told of it and kept is shown
//! without them.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::base::sync::unpoisoned;
use crate::base::{Mask, spelled_as_json};

/// The private values of what a snippet called, and its own. Has no `Debug`.
#[derive(Default)]
pub(super) struct PrivateValues(Mutex<BTreeSet<String>>);

impl PrivateValues {
    pub(super) fn of<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        Self(Mutex::new(values.map(str::to_owned).collect()))
    }

    /// These are private from here on.
    pub(super) fn add<'v>(&self, values: impl Iterator<Item = &'v str>) {
        unpoisoned(self.0.lock()).extend(values.map(str::to_owned));
    }

    pub(super) fn all(&self) -> Vec<String> {
        unpoisoned(self.0.lock()).iter().cloned().collect()
    }

    pub(super) fn count(&self) -> usize {
        unpoisoned(self.0.lock()).len()
    }

    pub(super) fn mask(&self) -> Mask {
        Mask::new(self.all().iter().map(String::as_str))
    }

    /// What of them stands in this JSON, and no part that does not: for who keeps both.
    pub(super) fn standing_in(&self, json: &str) -> Vec<String> {
        let values = self.all();
        // A text in it may hold JSON again. A value of many lines is masked line by line.
        let stands = |part: &str| {
            let is_one_line = !part.contains('\n');
            json.contains(&spelled_as_json(part))
                || is_one_line && Mask::new(std::iter::once(part)).words(json) != json
        };
        let parts = values.iter().flat_map(|value| {
            let mask = Mask::new(std::iter::once(value.as_str()));
            let lines = value.lines().map(str::trim).filter(move |line| mask.text(line) != *line);
            std::iter::once(value.trim()).chain(lines)
        });
        let standing: BTreeSet<&str> =
            parts.filter(|part| !part.is_empty() && stands(part)).collect();
        standing.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::PrivateValues;

    #[test]
    fn what_of_the_values_is_kept_stands_in_what_is_kept_anyway() {
        let values = ["token-0123", "ab\nfirst long line\nsecond long line", "a\"quote", ""];
        let values = PrivateValues::of(values.into_iter());
        let rows: [(&str, &[&str]); 6] = [
            ("{}", &[]),
            (r#"["is token-0123"]"#, &["token-0123"]),
            (r#"["token-012", "ab"]"#, &[]),
            (r#"["ab second long line"]"#, &["second long line"]),
            (r#"["a\"quote"]"#, &["a\"quote"]),
            (r#"["{\"is\": \"a\\\"quote\"}"]"#, &["a\"quote"]),
        ];
        for (json, want) in rows {
            assert_eq!(values.standing_in(json), want, "{json}");
        }
    }
}
