//! YAML, strictly: the core schema of YAML 1.2 as the reader understands it.
//!
//! The reader walks aliases instead of copying them, so every cap is checked while it reads: nodes,
//! bytes and depth are counted at each visit, and a bomb is refused at the first node beyond a cap.
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
use crate::parse::error::{PARSE_LIMIT, PARSE_YAML, ParseFault};

/// Reads one YAML document; an empty one is null.
///
/// # Errors
/// `parse.yaml` for what the module header lists and for text that is not YAML; `parse.limit` for
/// more than `YAML_NODES` nodes with aliases followed, or nesting deeper than `DATA_DEPTH`.
pub(crate) fn yaml(text: &str) -> Result<Value, ParseFault> {
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
/// local ones; it silently ignores all other tags except local ones.
pub(super) fn preamble(text: &str) -> Result<&'static [&'static str], ParseFault> {
    let content = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let (number, first) = match text.lines().enumerate().find(|(_, line)| content(line)) {
        Some((at, line)) => (at + 1, line),
        None => (1, ""),
    };
    if first.starts_with('%') {
        let why = "`%` directives are not supported";
        return Err(ParseFault::new(PARSE_YAML, why).at(Position { line: number, column: 1 }));
    }
    let marked =
        first.strip_prefix("---").is_some_and(|rest| rest.trim_start() != rest || rest.is_empty());
    Ok(if marked { &["%TAG !! !!\n"] } else { &["%TAG !! !!\n", "---\n"] })
}

/// The comments at the top, which are cut off, because the library takes long to read them. Only
/// lines of plain characters are cut, so that no line of them would end sooner or be refused by the
/// library.
fn remarks(text: &str) -> &str {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    let is_one =
        |line: &&str| line.starts_with('#') && line.ends_with('\n') && line.bytes().all(plain);
    let length = text.split_inclusive('\n').take_while(is_one).map(str::len).sum();
    &text[..length]
}

/// How line numbers of the library differ from those of the text: lines added, and lines cut.
#[derive(Clone, Copy)]
struct Shift {
    before: usize,
    after: usize,
}

/// Bounds the number of open brackets, because the library's scanner takes time for each of them at
/// every token. Brackets in quotes count too; no honest text leaves hundreds open.
fn open_brackets(text: &str) -> Result<(), ParseFault> {
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
    /// A number was met whose text says more than the library's number.
    inexact: Cell<bool>,
    /// The fault behind the library's error, if it is one of ours.
    own: RefCell<Option<ParseFault>>,
}

impl Reader<'_> {
    fn refuse<E: Error>(&self, fault: ParseFault) -> E {
        *self.own.borrow_mut() = Some(fault);
        E::custom("refused")
    }

    fn wrong<E: Error>(&self, why: impl Into<String>) -> E {
        self.refuse(ParseFault::new(PARSE_YAML, why))
    }

    /// Counts a visit to a node with this many bytes of text.
    fn charge<E: Error>(&self, nodes: usize, bytes: usize) -> Result<(), E> {
        self.nodes.set(self.nodes.get() + nodes);
        self.bytes.set(self.bytes.get() + bytes as u64);
        if self.nodes.get() > YAML_NODES {
            let why = format!("it has more than {YAML_NODES} nodes once aliases are followed");
            return Err(self.refuse(ParseFault::new(PARSE_LIMIT, why)));
        }
        // An escape in double quotes may write two bytes with one more.
        if self.bytes.get() > 2 * ITEM_BYTES {
            let why = "it grows beyond the size of an item once aliases are followed";
            return Err(self.refuse(ParseFault::new(PARSE_LIMIT, why)));
        }
        Ok(())
    }

    fn fault(&self, error: &serde_yaml::Error, shift: Shift) -> ParseFault {
        let message = error.to_string();
        let said = message.split(" at line ").next().unwrap_or_default();
        let own = self.own.borrow_mut().take();
        let fault =
            own.unwrap_or_else(|| ParseFault::new(PARSE_YAML, format!("it is not YAML: {said}")));
        match error.location() {
            Some(at) if at.line() > shift.before => {
                let line = at.line() - shift.before + shift.after;
                let at = Position { line, column: at.column() };
                fault.at(self.end(shift).filter(|end| at.line > end.line).unwrap_or(at))
            }
            _ => fault,
        }
    }

    /// The end of the text, where the library reports a missing part with a line too many.
    fn end(&self, shift: Shift) -> Option<Position> {
        let end = position(self.text.as_bytes(), self.text.len());
        Some(Position { line: end.line.checked_sub(shift.before)? + shift.after, ..end })
    }

    /// Returns true if a text stands in the document without quotes.
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
        // The library reads a number beyond its range as a string.
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

/// Hands a scalar's text to the inner visitor, whatever the text looks like.
struct Text<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Text<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        from.deserialize_str(self.0)
    }
}

/// Reads a scalar tagged `!!str`: a string, even if it looks like a number.
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

/// A key of a mapping, which must differ from all keys before it.
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

/// Reads a document again along its value, and puts in the original text of every number.
struct Exact<'v>(&'v mut Value);

impl<'de> DeserializeSeed<'de> for Exact<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.0 {
            // A whole number in the value is exact already; its text may have another base or sign.
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
