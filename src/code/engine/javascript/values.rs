//! Values across the border: of JavaScript as JSON, and back.
//!
//! Invariants
//! - A value comes out as JSON, by the engine's own `JSON.stringify` as it was before the snippet
//!   ran, or is refused with the path to what is not; nothing of it is left out, but what JSON
//!   leaves out as well: a property that is `undefined`.
//! - Integers go both ways digit for digit.
//! - The depth, the number of values and the bytes of what comes out are bounded, whatever getters
//!   and proxies answer.

use rquickjs::object::Property;
use rquickjs::{Array, Ctx, Error, Function, Object, Value};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;

use crate::base::limits::{JSON_NODES, SNIPPET_LINE_BYTES};

/// Deepest nesting of a value of a snippet: below what a reader of JSON recurses into.
#[cfg(feature = "code")]
const SNIPPET_DEPTH: usize = 100;

/// The functions of the prelude that values need.
pub(super) struct Kinds<'js> {
    pub(super) bigint: Function<'js>,
    /// Writes a value by `JSON.stringify`, and says what of it is not JSON.
    pub(super) write: Function<'js>,
}

/// Why a value is not JSON.
#[derive(Debug)]
pub(super) struct NotJson {
    /// A JSON pointer.
    pub(super) path: String,
    pub(super) why: String,
}

/// How values that are not JSON are treated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is refused.
    Strict,
    /// It is named, for a person who reads it.
    Shown,
}

/// Most bytes of a value: what is around it on its line must fit as well.
const VALUE_BYTES: usize = SNIPPET_LINE_BYTES - (16 << 10);

/// The value as JSON, and what was changed in it.
pub(super) fn to_json<'js>(
    kinds: &Kinds<'js>,
    value: Value<'js>,
    mode: Mode,
) -> Result<(String, Vec<String>), NotJson> {
    let ctx = value.ctx().clone();
    let (values, depth, bytes) = (JSON_NODES as u64, SNIPPET_DEPTH as u64, VALUE_BYTES as u64);
    let written = kinds.write.call::<_, Object<'js>>((
        value,
        mode == Mode::Shown,
        values,
        depth,
        bytes,
        SNIPPET_LINE_BYTES >> 20,
    ));
    let Ok(written) = written else {
        let why = format!("a value whose getter, proxy or `toJSON` throws {}", thrown(&ctx));
        return Err(NotJson { path: String::new(), why });
    };
    let read = |key: &str| written.get::<_, Value<'js>>(key).ok();
    let why = read("why").filter(Value::is_string).map(|why| lossy(&why));
    let places: Object<'js> = written.get("places").map_err(|_| unwritten(&ctx))?;
    let mut told = Vec::new();
    for number in 0..written.get::<_, u32>("count").unwrap_or_default() {
        let place: Object<'js> = places.get(number).map_err(|_| unwritten(&ctx))?;
        told.push((pointer(&place), place.get::<_, String>("was").unwrap_or_default()));
    }
    if let Some(why) = why {
        let path = told.pop().map(|(path, _)| path).unwrap_or_default();
        return Err(NotJson { path, why: why.chars().take(300).collect() });
    }
    let text = read("text").and_then(|text| text_of(&text)).ok_or_else(|| unwritten(&ctx))?;
    if text.len() > VALUE_BYTES {
        let why = format!("it has more than {} MiB", SNIPPET_LINE_BYTES >> 20);
        return Err(NotJson { path: String::new(), why });
    }
    let warnings = told.into_iter().map(|(path, was)| {
        let at = if path.is_empty() { "the value".to_owned() } else { format!("`{path}`") };
        format!("{at} was {was} and is null")
    });
    Ok((text, warnings.collect()))
}

/// The prelude gave what it never gives.
fn unwritten(ctx: &Ctx<'_>) -> NotJson {
    ctx.catch();
    NotJson { path: String::new(), why: "a value that cannot be written".into() }
}

/// The keys that lead to a value, as a JSON pointer.
fn pointer(place: &Object<'_>) -> String {
    let mut pointer = String::new();
    for number in 0..place.get::<_, u32>("length").unwrap_or_default() {
        let key = place.get::<_, Value<'_>>(number).map(|key| lossy(&key)).unwrap_or_default();
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        if pointer.len() > 256 {
            pointer.push_str("/…");
            break;
        }
    }
    pointer
}

/// The text, unless it is not Unicode.
pub(super) fn text_of(value: &Value<'_>) -> Option<String> {
    value.as_string()?.to_string().ok()
}

/// The text, with signs of replacement for what is not Unicode.
pub(super) fn lossy(value: &Value<'_>) -> String {
    let Some(text) = value.as_string() else { return String::new() };
    if let Ok(text) = text.to_string() {
        return text;
    }
    // As JSON, halves of pairs are written out.
    let json = value.ctx().json_stringify(value.clone()).ok().flatten();
    let json = json.and_then(|json| json.to_string().ok()).unwrap_or_default();
    let mut out = String::with_capacity(json.len());
    let mut rest = json.as_str();
    while let Some(at) = rest.find("\\u") {
        // A backslash before it is one of the text.
        let before = rest[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        let code = rest.get(at + 2..at + 6).and_then(|code| u32::from_str_radix(code, 16).ok());
        let is_half = before % 2 == 0 && code.is_some_and(|code| (0xd800..=0xdfff).contains(&code));
        out.push_str(&rest[..at]);
        let end = if is_half { at + 6 } else { at + 2 };
        out.push_str(if is_half { "\u{fffd}" } else { "\\u" });
        rest = &rest[end..];
    }
    out.push_str(rest);
    serde_json::from_str(&out).unwrap_or_default()
}

/// Takes the pending exception, and returns its message, cut at 200 characters.
pub(super) fn thrown(ctx: &Ctx<'_>) -> String {
    let value = ctx.catch();
    let message = value.as_object().and_then(|error| error.get::<_, Value<'_>>("message").ok());
    if ctx.has_exception() {
        ctx.catch();
    }
    let text = match message.as_ref().filter(|message| message.is_string()) {
        Some(message) => lossy(message),
        None if value.is_string() => lossy(&value),
        None => value.type_name().to_owned(),
    };
    let text: String = text.chars().take(200).collect();
    format!("`{text}`")
}

/// A value of JSON as one of JavaScript.
pub(super) struct Made<'m, 'js> {
    pub(super) ctx: &'m Ctx<'js>,
    pub(super) kinds: &'m Kinds<'js>,
}

/// How `serde_json` gives a number that keeps its digits.
const NUMBER: &str = "$serde_json::private::Number";

/// The greatest integer whose neighbours are doubles as well.
const SAFE: u64 = (1 << 53) - 1;

impl<'js> Made<'_, 'js> {
    /// # Errors
    /// The message of the JSON reader or of the engine.
    pub(super) fn read(self, json: &str) -> Result<Value<'js>, String> {
        let mut reader = serde_json::Deserializer::from_str(json);
        self.deserialize(&mut reader).map_err(|error| error.to_string())
    }

    fn again(&self) -> Self {
        Self { ctx: self.ctx, kinds: self.kinds }
    }

    fn number<E: serde::de::Error>(&self, digits: &str) -> Result<Value<'js>, E> {
        let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if is_integer {
            match digits.parse::<i64>() {
                Ok(0) if digits.starts_with('-') => {}
                Ok(number) if number.unsigned_abs() <= SAFE => {
                    #[expect(clippy::cast_precision_loss, reason = "it fits")]
                    return Ok(Value::new_number(self.ctx.clone(), number as f64));
                }
                _ => return self.kinds.bigint.call((digits,)).map_err(E::custom),
            }
        }
        let number: f64 = digits.parse().map_err(E::custom)?;
        Ok(Value::new_float(self.ctx.clone(), number))
    }
}

impl<'de, 'js> DeserializeSeed<'de> for Made<'_, 'js> {
    type Value = Value<'js>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value<'js>, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de, 'js> Visitor<'de> for Made<'_, 'js> {
    type Value = Value<'js>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'js>, E> {
        Ok(Value::new_null(self.ctx.clone()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'js>, E> {
        Ok(Value::new_bool(self.ctx.clone(), value))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Value<'js>, E> {
        self.number(&number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value<'js>, E> {
        self.number(&number.to_string())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'js>, E> {
        Ok(Value::new_float(self.ctx.clone(), number))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value<'js>, E> {
        let text = rquickjs::String::from_str(self.ctx.clone(), text).map_err(E::custom)?;
        Ok(text.into_value())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value<'js>, A::Error> {
        let array = Array::new(self.ctx.clone()).map_err(A::Error::custom)?;
        let mut index = 0;
        while let Some(value) = values.next_element_seed(self.again())? {
            array.set(index, value).map_err(A::Error::custom)?;
            index += 1;
        }
        Ok(array.into_value())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'js>, A::Error> {
        let Some(first) = entries.next_key::<String>()? else {
            return Object::new(self.ctx.clone()).map(Object::into_value).map_err(A::Error::custom);
        };
        if first == NUMBER {
            return self.number(&entries.next_value::<String>()?);
        }
        let object = Object::new(self.ctx.clone()).map_err(A::Error::custom)?;
        let mut key = first;
        loop {
            let value = entries.next_value_seed(self.again())?;
            define(&object, &key, value).map_err(A::Error::custom)?;
            match entries.next_key()? {
                Some(next) => key = next,
                None => return Ok(object.into_value()),
            }
        }
    }
}

/// Gives the object a property of its own, whatever its prototype says of that name.
pub(super) fn define<'js>(object: &Object<'js>, key: &str, value: Value<'js>) -> Result<(), Error> {
    object.prop(key, Property::from(value).writable().enumerable().configurable())
}
