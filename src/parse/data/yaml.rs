//! YAML, strictly: the core schema of YAML 1.2 as the reader understands it.
//!
//! The reader walks aliases instead of copying them, so every cap is kept while it walks: nodes,
//! bytes and depth are counted at each visit, and a bomb is refused at the node that is too many.
//!
//! Refused: a second document, `%` directives, tags but the core schema's own, merge keys (`<<`),
//! duplicate keys, keys that are not strings, NaN and infinities. Plain `no`, `1_000` and `0755`
//! are strings; `0o7`, `0x1f` and `0b1` are integers.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{Deserialize, VariantAccess, Visitor};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
};
use serde_json::{Map, Number, Value};

use super::{decimal, kind, too_deep, too_dense};
use crate::base::limits::{DATA_DEPTH, DATA_SIGNS, ITEM_BYTES, YAML_NODES};
use crate::base::text::{Position, escape_line, position};
use crate::base::value_count::has_more_signs;
use crate::parse::error::{Fault, PARSE_LIMIT, PARSE_YAML};

/// Reads one YAML document; an empty one is null.
///
/// # Errors
/// `parse.yaml` for what the module header lists and for text that is not YAML; `parse.limit` for
/// more than `YAML_NODES` nodes with aliases followed, or nesting deeper than `DATA_DEPTH`.
pub(crate) fn yaml(text: &str) -> Result<Value, Fault> {
    if has_more_signs(text, DATA_SIGNS) {
        return Err(too_dense());
    }
    let lines = preamble(text)?;
    open_brackets(text)?;
    let remarks = remarks(text);
    let joined = format!("{}{}", lines.concat(), &text[remarks.len()..]);
    let shift = Shift { before: lines.len(), after: remarks.lines().count() };
    let reader = Reader { text: &joined, ..Reader::default() };
    let fault = |error: serde_yaml::Error| reader.fault(&error, shift);
    let document = serde_yaml::Deserializer::from_str(&joined);
    let mut value = Node { reader: &reader, depth: 0 }.deserialize(document).map_err(fault)?;
    if reader.inexact.get() {
        let document = serde_yaml::Deserializer::from_str(&joined);
        Exact(&mut value).deserialize(document).map_err(fault)?;
    }
    Ok(value)
}

/// The lines to put before the text, so that the reader shows the core schema's tags (`!!str`) as
/// local ones; it passes over all others but local ones in silence.
pub(super) fn preamble(text: &str) -> Result<&'static [&'static str], Fault> {
    let content = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let (number, first) = match text.lines().enumerate().find(|(_, line)| content(line)) {
        Some((at, line)) => (at + 1, line),
        None => (1, ""),
    };
    if first.starts_with('%') {
        let why = "`%` directives are not supported";
        return Err(Fault::new(PARSE_YAML, why).at(Position { line: number, column: 1 }));
    }
    let marked =
        first.strip_prefix("---").is_some_and(|rest| rest.trim_start() != rest || rest.is_empty());
    Ok(if marked { &["%TAG !! !!\n"] } else { &["%TAG !! !!\n", "---\n"] })
}

/// The remarks at the top, which the reader is spared: it takes longer for them than for most of
/// what it keeps. Only lines of plain characters, so that none of them ends a line sooner for the
/// reader, or is one that it refuses.
fn remarks(text: &str) -> &str {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    let is_one =
        |line: &&str| line.starts_with('#') && line.ends_with('\n') && line.bytes().all(plain);
    let length = text.split_inclusive('\n').take_while(is_one).map(str::len).sum();
    &text[..length]
}

/// Where a line of the text stands for the reader: so many lines further down, and so many further
/// up.
#[derive(Clone, Copy)]
struct Shift {
    before: usize,
    after: usize,
}

/// Bounds how many brackets stand open at once: below the reader lies a scanner that takes time for
/// each of them at every token. Quoted ones count too; no honest text leaves hundreds open.
fn open_brackets(text: &str) -> Result<(), Fault> {
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > 4 * DATA_DEPTH {
            return Err(too_deep().at(position(text.as_bytes(), at)));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Reader<'t> {
    text: &'t str,
    nodes: Cell<usize>,
    bytes: Cell<u64>,
    /// A number was met whose text says more than the reader's number.
    inexact: Cell<bool>,
    /// The fault behind the reader's error, where it is ours.
    own: RefCell<Option<Fault>>,
}

impl Reader<'_> {
    fn refuse<E: Error>(&self, fault: Fault) -> E {
        *self.own.borrow_mut() = Some(fault);
        E::custom("refused")
    }

    fn wrong<E: Error>(&self, why: impl Into<String>) -> E {
        self.refuse(Fault::new(PARSE_YAML, why))
    }

    /// Counts a visit of a node with that many bytes of text.
    fn charge<E: Error>(&self, nodes: usize, bytes: usize) -> Result<(), E> {
        self.nodes.set(self.nodes.get() + nodes);
        self.bytes.set(self.bytes.get() + bytes as u64);
        if self.nodes.get() > YAML_NODES {
            let why = format!("it has more than {YAML_NODES} nodes once aliases are followed");
            return Err(self.refuse(Fault::new(PARSE_LIMIT, why)));
        }
        // An escape in double quotes may write two bytes with one more.
        if self.bytes.get() > 2 * ITEM_BYTES {
            let why = "it grows beyond the size of an item once aliases are followed";
            return Err(self.refuse(Fault::new(PARSE_LIMIT, why)));
        }
        Ok(())
    }

    fn fault(&self, error: &serde_yaml::Error, shift: Shift) -> Fault {
        let message = error.to_string();
        let said = message.split(" at line ").next().unwrap_or_default();
        let own = self.own.borrow_mut().take();
        let fault =
            own.unwrap_or_else(|| Fault::new(PARSE_YAML, format!("it is not YAML: {said}")));
        match error.location() {
            Some(at) if at.line() > shift.before => {
                let line = at.line() - shift.before + shift.after;
                let at = Position { line, column: at.column() };
                fault.at(self.end(shift).filter(|end| at.line > end.line).unwrap_or(at))
            }
            _ => fault,
        }
    }

    /// The end of the text, which is where the reader misses something when it counts a line more.
    fn end(&self, shift: Shift) -> Option<Position> {
        let end = position(self.text.as_bytes(), self.text.len());
        Some(Position { line: end.line.checked_sub(shift.before)? + shift.after, ..end })
    }

    /// Whether a text that stands in the document as it is stands there without quotes.
    fn is_plain(&self, text: &str) -> bool {
        let start = (text.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let before =
            start.and_then(|at| at.checked_sub(1)).and_then(|at| self.text.as_bytes().get(at));
        !matches!(before, Some(b'"' | b'\''))
    }
}

#[derive(Clone, Copy)]
struct Node<'r, 't> {
    reader: &'r Reader<'t>,
    depth: usize,
}

impl Node<'_, '_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth >= DATA_DEPTH {
            return Err(self.reader.refuse(too_deep()));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.reader.charge(1, 0)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Value, E> {
        Ok(Number::from_u128(number).map_or(Value::Null, Value::Number))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Value, E> {
        Ok(Number::from_i128(number).map_or(Value::Null, Value::Number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        self.reader.inexact.set(true);
        match Number::from_f64(number) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(self.reader.wrong("a number must be finite")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.reader.charge(0, text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Value, E> {
        // The reader takes a number beyond its range for a string.
        let large = text.parse().is_ok_and(f64::is_infinite) && self.reader.is_plain(text);
        match large.then(|| decimal(text)).flatten() {
            Some(number) => Ok(Value::Number(number)),
            None => self.visit_str(text),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(value) = from.next_element_seed(inner)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = from.next_key_seed(Key { reader: self.reader, before: &map })? {
            map.insert(key, from.next_value_seed(inner)?);
        }
        Ok(Value::Object(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<Value, A::Error> {
        let (tag, tagged) = from.variant::<String>()?;
        if tag == "!str" {
            return tagged.newtype_variant_seed(Text(Tagged(self.reader)));
        }
        let value = tagged.newtype_variant_seed(self)?;
        let fits = match tag.as_str() {
            "!null" => value.is_null(),
            "!bool" => value.is_boolean(),
            "!int" => value.as_number().is_some_and(|n| !n.as_str().contains(['.', 'e', 'E'])),
            "!float" => value.is_number(),
            "!seq" => value.is_array(),
            "!map" => value.is_object(),
            _ => {
                let why = format!("the tag `!{}` is not supported", escape_line(&tag));
                return Err(self.reader.wrong(why));
            }
        };
        if !fits {
            let why = format!("the tag `!{tag}` stands before {}", kind(&value));
            return Err(self.reader.wrong(why));
        }
        Ok(value)
    }
}

/// A scalar's text, whatever it looks like, handed to the visitor inside.
struct Text<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Text<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        from.deserialize_str(self.0)
    }
}

/// What `!!str` makes of a scalar: a string, also where it looks like a number.
struct Tagged<'r, 't>(&'r Reader<'t>);

impl Visitor<'_> for Tagged<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scalar behind `!!str`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.0.charge(0, text.len())?;
        Ok(Value::String(text.to_owned()))
    }
}

/// A key of a mapping, which none of the keys before it may equal.
struct Key<'r, 't> {
    reader: &'r Reader<'t>,
    before: &'r Map<String, Value>,
}

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Key<'_, '_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a string")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<String, E> {
        self.reader.charge(1, key.len())?;
        if key == "<<" {
            return Err(self.reader.wrong("merge keys (`<<`) are not supported"));
        }
        if self.before.contains_key(key) {
            let key = escape_line(key);
            return Err(self.reader.wrong(format!("the key `{key}` occurs twice in a mapping")));
        }
        Ok(key.to_owned())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<String, A::Error> {
        match from.variant::<String>()? {
            (tag, tagged) if tag == "!str" => tagged.newtype_variant_seed(Text(self)),
            _ => Err(self.reader.wrong("a key must be a string")),
        }
    }
}

/// Walks a document along the value read from it and puts every number's own text in.
struct Exact<'v>(&'v mut Value);

impl<'de> DeserializeSeed<'de> for Exact<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.0 {
            // A whole number that the reader holds is exact; its text may have another base or
            // sign.
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                IgnoredAny::deserialize(from).map(drop)
            }
            Value::Number(_) => from.deserialize_str(self),
            Value::Array(_) => from.deserialize_seq(self),
            Value::Object(_) => from.deserialize_map(self),
            _ => IgnoredAny::deserialize(from).map(drop),
        }
    }
}

impl<'de> Visitor<'de> for Exact<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value read before")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if let Some(number) = decimal(text) {
            *self.0 = Value::Number(number);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        for value in self.0.as_array_mut().into_iter().flatten() {
            from.next_element_seed(Exact(value))?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        for (_, value) in self.0.as_object_mut().into_iter().flatten() {
            from.next_key::<IgnoredAny>()?;
            from.next_value_seed(Exact(value))?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
