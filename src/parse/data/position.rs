//! Finds the position of a node in a YAML document.
//!
//! The YAML reader keeps no positions of values, but its errors have one. So the document is read
//! once more, and reading fails at the wanted node.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::yaml::preamble;
use crate::base::text::Position;

/// The place of the node at `path` of a text that [`super::yaml`] has read, or of the key before it
/// if `key` is given; a list's entries are named by their index. `None` if there is no such node.
pub(crate) fn yaml_position(text: &str, path: &[String], key: bool) -> Option<Position> {
    let lines = preamble(text).ok()?;
    let joined = format!("{}{text}", lines.concat());
    let document = serde_yaml::Deserializer::from_str(&joined);
    let at = Seek { path, key }.deserialize(document).err()?.location()?;
    Some(Position { line: at.line().checked_sub(lines.len())?.max(1), column: at.column() })
}

/// A visitor that fails at the node, and nowhere before it.
struct Seek<'p> {
    path: &'p [String],
    key: bool,
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

/// A scalar ends the path; the default methods fail here.
impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a way on")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let Some((step, path)) = self.path.split_first() else { return Err(Error::custom("here")) };
        let index = step.parse::<usize>().unwrap_or(usize::MAX);
        for _ in 0..index {
            if from.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        from.next_element_seed(Seek { path, ..self })?;
        while from.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let Some((step, path)) = self.path.split_first() else { return Err(Error::custom("here")) };
        let stop = self.key && path.is_empty();
        while let Some(is_it) = from.next_key_seed(Key { step, stop })? {
            match is_it {
                true => from.next_value_seed(Seek { path, ..self })?,
                false => drop(from.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<(), A::Error> {
        let (_, tagged) = from.variant::<String>()?;
        tagged.newtype_variant_seed(self)
    }
}

/// Compares a key with the next step. Where the key itself is wanted, it fails there.
struct Key<'p> {
    step: &'p str,
    stop: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        let is_it = key == self.step;
        if is_it && self.stop { Err(E::custom("here")) } else { Ok(is_it) }
    }
}

#[cfg(test)]
mod tests {
    use super::yaml_position;

    /// A path, whether its key is meant, and the line and column.
    type Row = (&'static str, bool, Option<(usize, usize)>);

    #[test]
    fn a_node_and_its_key_have_their_places() {
        let text = "# é\nspec:\n  tools:\n    a: &a {exec: {command: ./x, args: [-v, 'é', 3]}}\n    \
                    b:\n      exec: !!map\n        command: y\n    c: *a\n    \"d\": ~\n";
        let rows: &[Row] = &[
            ("", false, Some((2, 1))),
            ("spec", true, Some((2, 1))),
            ("spec", false, Some((3, 3))),
            ("spec tools a", true, Some((4, 5))),
            ("spec tools a exec command", true, Some((4, 19))),
            ("spec tools a exec command", false, Some((4, 28))),
            ("spec tools a exec args 1", false, Some((4, 44))),
            ("spec tools a exec args 2", false, Some((4, 49))),
            ("spec tools a exec args 3", false, None),
            ("spec tools b exec command", false, Some((7, 18))),
            // An alias stands for the node that it names.
            ("spec tools c exec command", false, Some((4, 28))),
            ("spec tools d", true, Some((9, 5))),
            ("spec tools e", true, None),
        ];
        for (path, key, want) in rows {
            let steps: Vec<String> = path.split_whitespace().map(str::to_owned).collect();
            for (above, more) in [("", 0), ("---\n", 1), ("# x\n---\n", 2)] {
                let got = yaml_position(&format!("{above}{text}"), &steps, *key);
                let got = got.map(|at| (at.line - more, at.column));
                assert_eq!(got, *want, "{path} {key} {above:?}");
            }
        }
    }
}
