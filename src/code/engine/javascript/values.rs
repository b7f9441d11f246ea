//! Values across the border: of JavaScript as JSON, and back.
//!
//! Invariants
//! - A value comes out as JSON or is refused with the path to what is not; nothing of it is left
//!   out, but what JSON leaves out as well: a property that is `undefined`.
//! - Integers go both ways digit for digit.
//! - The depth, the number of values and the bytes of what comes out are bounded, whatever getters
//!   and proxies answer.

use rquickjs::convert::Coerced;
use rquickjs::object::{Filter, Property};
use rquickjs::{Array, Ctx, Error, Function, Object, Type, Value};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;

use crate::base::json_reader::PRIVATE;
use crate::base::limits::{JSON_NODES, SNIPPET_LINE_BYTES};

/// Deepest nesting of a value of a snippet: below what a reader of JSON recurses into.
#[cfg(feature = "code")]
const SNIPPET_DEPTH: usize = 100;

/// The functions of the prelude that say what an object is.
pub(super) struct Kinds<'js> {
    pub(super) kind: Function<'js>,
    pub(super) unbox: Function<'js>,
    pub(super) bigint: Function<'js>,
    pub(super) plain: Object<'js>,
}

/// Why a value is not JSON.
#[derive(Debug)]
pub(super) struct NotJson {
    /// A JSON pointer.
    pub(super) path: String,
    pub(super) why: String,
}

/// What is done with what is not JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is refused.
    Strict,
    /// It is named, for a person who reads it.
    Shown,
}

/// Writes values as JSON.
pub(super) struct Writer<'w, 'js> {
    kinds: &'w Kinds<'js>,
    mode: Mode,
    out: String,
    /// What stands around the present value, the outermost first.
    inside: Vec<Object<'js>>,
    /// The keys that lead to it.
    path: Vec<String>,
    values: usize,
    /// What was changed on the way.
    warnings: Vec<String>,
}

/// Bytes of a line that are left to what is around a value.
const SNIPPET_LINE_REST: usize = 16 << 10;

/// Most warnings of one value.
const WARNINGS: usize = 10;

/// The value as JSON, and what was changed in it.
pub(super) fn to_json<'js>(
    kinds: &Kinds<'js>,
    value: Value<'js>,
    mode: Mode,
) -> Result<(String, Vec<String>), NotJson> {
    let mut writer = Writer {
        kinds,
        mode,
        out: String::new(),
        inside: Vec::new(),
        path: Vec::new(),
        values: 0,
        warnings: Vec::new(),
    };
    writer.value(value)?;
    writer.fits()?;
    Ok((writer.out, writer.warnings))
}

impl<'js> Writer<'_, 'js> {
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for key in &self.path {
            pointer.push('/');
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            if pointer.len() > 256 {
                pointer.push_str("/…");
                break;
            }
        }
        pointer
    }

    /// Something that is not JSON.
    fn refuse(&mut self, why: impl Into<String>) -> Result<(), NotJson> {
        let why = why.into();
        match self.mode {
            Mode::Shown => {
                self.text(&format!("[{why}]"));
                Ok(())
            }
            Mode::Strict => Err(NotJson { path: self.pointer(), why }),
        }
    }

    /// A bound that holds however it is written.
    fn over(&self, why: &str) -> NotJson {
        NotJson { path: self.pointer(), why: why.to_owned() }
    }

    /// What is around the value on its line must fit as well.
    fn fits(&self) -> Result<(), NotJson> {
        match self.out.len() > SNIPPET_LINE_BYTES - SNIPPET_LINE_REST {
            true => Err(self.over(&format!("it has more than {} MiB", SNIPPET_LINE_BYTES >> 20))),
            false => Ok(()),
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(&serde_json::Value::from(text).to_string());
    }

    fn warn(&mut self, why: &str) {
        if self.warnings.len() < WARNINGS && self.mode == Mode::Strict {
            let at = self.pointer();
            let at = if at.is_empty() { "the value".to_owned() } else { format!("`{at}`") };
            self.warnings.push(format!("{at} {why}"));
        }
    }

    fn value(&mut self, value: Value<'js>) -> Result<(), NotJson> {
        self.values += 1;
        if self.values > JSON_NODES {
            return Err(self.over(&format!("it has more than {JSON_NODES} values")));
        }
        self.fits()?;
        match value.type_of() {
            Type::Undefined | Type::Null | Type::Uninitialized => self.out.push_str("null"),
            Type::Bool => {
                self.out.push_str(if value.as_bool() == Some(true) { "true" } else { "false" });
            }
            Type::Int => self.out.push_str(&value.as_int().unwrap_or_default().to_string()),
            Type::Float => self.number(&value),
            Type::BigInt => match value.get::<Coerced<String>>() {
                Ok(Coerced(digits)) => self.out.push_str(&digits),
                Err(_) => return self.refuse("a BigInt that cannot be written"),
            },
            Type::String => match text_of(&value) {
                Some(text) => self.text(&text),
                None if self.mode == Mode::Shown => self.text(&lossy(&value)),
                None => return self.refuse("a text with one half of a surrogate pair"),
            },
            Type::Symbol => return self.refuse("a symbol"),
            Type::Function | Type::Constructor => return self.refuse("a function"),
            Type::Promise => return self.refuse("a promise, which `await` would wait for"),
            _ => {
                let Some(object) = value.into_object() else {
                    return self.refuse("a value of the engine");
                };
                return self.object(&object);
            }
        }
        Ok(())
    }

    fn number(&mut self, value: &Value<'js>) {
        let number = value.as_float().unwrap_or_default();
        if !number.is_finite() {
            self.out.push_str("null");
            let was = if number.is_nan() { "NaN" } else { "infinite" };
            self.warn(&format!("was {was} and is null"));
        } else if number == 0.0 {
            // As JavaScript writes it: -0 is a zero.
            self.out.push('0');
        } else {
            match value.get::<Coerced<String>>() {
                Ok(Coerced(digits)) => self.out.push_str(&digits),
                Err(_) => self.out.push_str(&number.to_string()),
            }
        }
    }

    fn object(&mut self, object: &Object<'js>) -> Result<(), NotJson> {
        if self.inside.len() >= SNIPPET_DEPTH {
            return self.refuse(format!("a value that nests deeper than {SNIPPET_DEPTH} levels"));
        }
        if self.inside.contains(object) {
            return self.refuse("a value that holds itself");
        }
        self.inside.push(object.clone());
        let done = self.inside_of(object);
        self.inside.pop();
        done
    }

    fn inside_of(&mut self, object: &Object<'js>) -> Result<(), NotJson> {
        let ctx = object.ctx().clone();
        if object.is_function() {
            return self.refuse("a function");
        }
        match object.get::<_, Value<'js>>("toJSON") {
            Ok(own) if own.is_function() => {
                let key = self.path.last().cloned().unwrap_or_default();
                let own = own.into_function().expect("it is a function");
                let called =
                    own.call::<_, Value<'js>>((rquickjs::function::This(object.clone()), key));
                return match called {
                    // What it gives is written as it is, as `JSON.stringify` does.
                    Ok(value) if value.as_object() == Some(object) => self.properties(object),
                    Ok(value) => self.value(value),
                    Err(_) => {
                        let why = thrown(&ctx);
                        self.refuse(format!("an object whose `toJSON` throws {why}"))
                    }
                };
            }
            Ok(_) => {}
            Err(_) => {
                let why = thrown(&ctx);
                return self.refuse(format!("an object whose `toJSON` throws {why}"));
            }
        }
        if object.is_array() {
            return self.array(object);
        }
        if object.is_error() {
            return self.error(object);
        }
        let is_plain = !object.is_proxy()
            && object.get_prototype().is_none_or(|prototype| prototype == self.kinds.plain);
        if is_plain {
            return self.properties(object);
        }
        let kind = self.kinds.kind.call::<_, String>((object.clone(),));
        match kind.unwrap_or_else(|_| {
            ctx.catch();
            String::new()
        }) {
            kind if kind == "list" => self.array(object),
            kind if kind == "boxed" => {
                match self.kinds.unbox.call::<_, Value<'js>>((object.clone(),)) {
                    Ok(value) if !value.is_object() => self.value(value),
                    _ => {
                        ctx.catch();
                        self.properties(object)
                    }
                }
            }
            kind if !kind.is_empty() && object.keys::<Value<'js>>().next().is_none() => {
                let kind: String = kind.chars().take(40).collect();
                self.refuse(format!("an object of the kind {kind}, which has no form in JSON"))
            }
            _ => self.properties(object),
        }
    }

    fn array(&mut self, array: &Object<'js>) -> Result<(), NotJson> {
        let ctx = array.ctx().clone();
        let length = array.get::<_, Coerced<f64>>("length");
        let Ok(Coerced(length)) = length else {
            let why = thrown(&ctx);
            return self.refuse(format!("a list whose length throws {why}"));
        };
        self.out.push('[');
        let mut index = 0_u32;
        while f64::from(index) < length {
            if index > 0 {
                self.out.push(',');
            }
            self.path.push(index.to_string());
            self.property(array, index)?;
            self.path.pop();
            index = index.saturating_add(1);
        }
        self.out.push(']');
        Ok(())
    }

    fn property(&mut self, of: &Object<'js>, key: u32) -> Result<(), NotJson> {
        match of.get::<_, Value<'js>>(key) {
            Ok(value) => self.value(value),
            Err(_) => {
                let why = thrown(of.ctx());
                self.refuse(format!("a getter that throws {why}"))
            }
        }
    }

    /// An error says most in properties that are not listed.
    fn error(&mut self, object: &Object<'js>) -> Result<(), NotJson> {
        self.out.push('{');
        let mut is_first = true;
        for name in ["name", "message"] {
            let value = object.get::<_, Value<'js>>(name);
            let Ok(value) = value else {
                object.ctx().catch();
                continue;
            };
            if let Some(text) = value.is_string().then(|| lossy(&value)) {
                self.key(name, &mut is_first);
                self.text(&text);
            }
        }
        self.listed(object, &["name", "message", "stack"], &mut is_first)?;
        self.out.push('}');
        Ok(())
    }

    fn properties(&mut self, object: &Object<'js>) -> Result<(), NotJson> {
        self.out.push('{');
        self.listed(object, &[], &mut true)?;
        self.out.push('}');
        Ok(())
    }

    fn key(&mut self, key: &str, is_first: &mut bool) {
        if !std::mem::take(is_first) {
            self.out.push(',');
        }
        self.text(key);
        self.out.push(':');
    }

    fn listed(
        &mut self,
        object: &Object<'js>,
        but: &[&str],
        is_first: &mut bool,
    ) -> Result<(), NotJson> {
        let ctx = object.ctx().clone();
        for key in object.own_keys::<Value<'js>>(Filter::new().string().enum_only()) {
            let Ok(key) = key else {
                let why = thrown(&ctx);
                return self.refuse_inside(is_first, format!("an object whose keys throw {why}"));
            };
            let Some(name) = text_of(&key) else {
                let why = "a key with one half of a surrogate pair";
                return self.refuse_inside(is_first, why.to_owned());
            };
            if but.contains(&name.as_str()) {
                continue;
            }
            if name.starts_with(PRIVATE) {
                let why = format!("a key that begins with `{PRIVATE}`");
                return self.refuse_inside(is_first, why);
            }
            self.path.push(name);
            match object.get::<_, Value<'js>>(key) {
                Ok(value) if value.is_undefined() => {}
                Ok(value) => {
                    let name = self.path.last().cloned().unwrap_or_default();
                    self.key(&name, is_first);
                    self.value(value)?;
                }
                Err(_) => {
                    let name = self.path.last().cloned().unwrap_or_default();
                    self.key(&name, is_first);
                    let why = thrown(&ctx);
                    self.refuse(format!("a getter that throws {why}"))?;
                }
            }
            self.path.pop();
        }
        Ok(())
    }

    /// Something that is not JSON, where a key stands.
    fn refuse_inside(&mut self, is_first: &mut bool, why: String) -> Result<(), NotJson> {
        if self.mode == Mode::Shown {
            self.key("", is_first);
        }
        self.refuse(why)
    }
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

/// What was thrown, briefly; it is pending no longer.
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
    /// What the text is not, or what the engine says.
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
