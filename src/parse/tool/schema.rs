//! A tool's parameters as one JSON Schema, however they were declared.

use serde_json::{Map, Value, json};
use strsim::damerau_levenshtein;

use super::fields::{Fields, string, wrong};
use super::schema_bound::bound_schema;
use crate::base::limits::NEAR_NAMES;
use crate::base::text::{escape_line, near};
use crate::parse::error::{PARSE_DUPLICATE_METADATA, PARSE_LIMIT, PARSE_METADATA, ParseFault};

/// The keys that may hold the declaration; a header uses one of them.
const KEYS: [&str; 3] = ["input_schema", "config_schema", "parameters"];

/// The types that a parameter may name, and their names in JSON Schema.
const TYPES: &[(&str, &str)] = &[
    ("string", "string"),
    ("integer", "integer"),
    ("number", "number"),
    ("boolean", "boolean"),
    ("array", "array"),
    ("object", "object"),
    ("null", "null"),
    ("str", "string"),
    ("int", "integer"),
    ("float", "number"),
    ("bool", "boolean"),
    ("list", "array"),
    ("dict", "object"),
];

/// The schema of a header; `None` if nothing is declared, so every parameter is allowed.
///
/// A schema is taken as it is. `parameters` may also be a list of `{name, type, required, …}` or a
/// mapping from name to the same: all other keys of a parameter are keywords of its schema, and
/// names that are not declared are refused.
///
/// # Errors
/// `parse.metadata` for another shape, `parse.duplicate_metadata` for two declarations,
/// `parse.limit` for a schema that asks for too much work.
pub(super) fn schema(fields: &Fields<'_>) -> Result<Option<Value>, ParseFault> {
    let schema = declared(fields)?;
    if let Some(Err(why)) = schema.as_ref().map(|schema| bound_schema(schema).map(drop)) {
        return Err(ParseFault::new(PARSE_LIMIT, format!("the schema {why}")));
    }
    Ok(schema)
}

/// The schema of what the tool gives.
///
/// # Errors
/// `parse.metadata` for what is no mapping, `parse.limit` for a schema that asks for too much work.
pub(super) fn output_schema(fields: &Fields<'_>) -> Result<Option<Value>, ParseFault> {
    let Some(schema) = fields.get("output_schema") else { return Ok(None) };
    if !schema.is_object() {
        return Err(wrong(&fields.pointer("output_schema"), "a JSON Schema", schema));
    }
    match bound_schema(schema) {
        Ok(_) => Ok(Some(schema.clone())),
        Err(why) => Err(ParseFault::new(PARSE_LIMIT, format!("the `output_schema` {why}"))),
    }
}

fn declared(fields: &Fields<'_>) -> Result<Option<Value>, ParseFault> {
    let declared: Vec<&str> = KEYS.into_iter().filter(|key| fields.get(key).is_some()).collect();
    let key = match declared.as_slice() {
        [] => return Ok(None),
        [key] => *key,
        [one, other, ..] => {
            let why = format!("`/{one}` and `/{other}` both declare the parameters");
            return Err(ParseFault::new(PARSE_DUPLICATE_METADATA, why));
        }
    };
    let pointer = fields.pointer(key);
    match fields.get(key) {
        Some(Value::Array(list)) => {
            let named = list.iter().enumerate().map(|(at, item)| {
                let pointer = format!("{pointer}/{at}");
                let parameter = Fields::from_value(item, pointer.clone())?;
                match parameter.string("name")? {
                    Some(name) => Ok((name, parameter)),
                    None => {
                        Err(ParseFault::new(PARSE_METADATA, format!("`{pointer}` has no `name`")))
                    }
                }
            });
            object(named).map(Some)
        }
        Some(Value::Object(map)) if key == "parameters" && !is_schema(map) => {
            let named = map.iter().map(|(name, item)| {
                Ok((name.clone(), Fields::from_value(item, format!("{pointer}/{name}"))?))
            });
            object(named).map(Some)
        }
        Some(Value::Object(map)) => Ok(Some(Value::Object(map.clone()))),
        Some(other) => Err(wrong(&pointer, "a JSON Schema or a list of parameters", other)),
        None => Ok(None),
    }
}

/// Returns true if a mapping under `parameters` is itself a schema, and not a mapping of names.
fn is_schema(map: &Map<String, Value>) -> bool {
    map.get("type").is_some_and(Value::is_string)
        || map.get("properties").is_some_and(Value::is_object)
        || map.keys().any(|key| key.starts_with('$'))
}

fn object<'m>(
    named: impl Iterator<Item = Result<(String, Fields<'m>), ParseFault>>,
) -> Result<Value, ParseFault> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in named {
        let (name, fields) = parameter?;
        if properties.contains_key(&name) {
            let why = format!("the parameter `{}` is declared twice", escape_line(&name));
            return Err(ParseFault::new(PARSE_DUPLICATE_METADATA, why));
        }
        if fields.truth("required")?.unwrap_or(false) {
            required.push(Value::from(name.clone()));
        }
        properties.insert(name, property(&fields)?);
    }
    Ok(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}

/// The keys of a parameter: its name, whether it is required, and the keywords of JSON Schema
/// 2020-12 and of the drafts before it.
const PARAMETER: [&str; 62] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "name",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
    "example",
    "nullable",
];

/// A word that is not a keyword, so that nothing reads it, and the keyword that it is a slip of.
pub(crate) struct MisspeltKeyword {
    /// Where it stands in the schema.
    pub(crate) pointer: String,
    pub(crate) word: String,
    pub(crate) meant: &'static str,
}

/// The slips among the keywords of a schema. Names of properties are not keywords; `x-…` is free,
/// and so is a word that is near no keyword: other programs may read it.
pub(crate) fn misspelt_keywords(schema: &Value) -> Vec<MisspeltKeyword> {
    let Ok(parts) = bound_schema(schema) else { return Vec::new() };
    let slips = parts.maps().flat_map(|map| {
        let slips = map.keys().filter_map(|word| Some((word, slip_of_keyword(word)?)));
        slips.map(move |(word, meant)| {
            let at = pointer_to(schema, map).unwrap_or_default();
            MisspeltKeyword { pointer: format!("{at}/{word}"), word: word.clone(), meant }
        })
    });
    // The place of each is looked for in the whole schema.
    slips.take(MOST_SLIPS).collect()
}

/// How many slips are told of one schema.
const MOST_SLIPS: usize = 20;

/// The keyword that a word is a slip of.
fn slip_of_keyword(word: &str) -> Option<&'static str> {
    if PARAMETER.contains(&word) || word.starts_with("x-") || word.len() > 2 * LONGEST_KEYWORD {
        return None;
    }
    let slips = if word.chars().count() < LONG_WORD { 1 } else { 2 };
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    let word = word.to_lowercase();
    let near =
        PARAMETER.into_iter().filter(|keyword| !NOT_MEANT.contains(keyword)).map(|keyword| {
            let same = plain(&word) == plain(keyword);
            (if same { 0 } else { damerau_levenshtein(&word, &keyword.to_lowercase()) }, keyword)
        });
    near.filter(|(distance, _)| *distance <= slips).min().map(|(_, keyword)| keyword)
}

/// A word of so many letters may hold two slips.
const LONG_WORD: usize = 7;
const LONGEST_KEYWORD: usize = "unevaluatedProperties".len();

/// Keywords that another word lies beside, such as `note`, `id` and `comment`.
const NOT_MEANT: [&str; 9] =
    ["$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$schema", "if", "name", "not"];

/// The pointer to a mapping in a value, by its address.
fn pointer_to(value: &Value, map: &Map<String, Value>) -> Option<String> {
    match value {
        Value::Object(here) if std::ptr::eq(here, map) => Some(String::new()),
        Value::Object(here) => here.iter().find_map(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            Some(format!("/{key}{}", pointer_to(value, map)?))
        }),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(at, value)| Some(format!("/{at}{}", pointer_to(value, map)?))),
        _ => None,
    }
}

fn property(fields: &Fields<'_>) -> Result<Value, ParseFault> {
    // Behind a list of parameters a field of the tool would be one of the last of them.
    fields.only_or_x(&PARAMETER)?;
    let mut property = Map::new();
    for (key, value) in fields.map() {
        match key.as_str() {
            "name" | "required" => {}
            "type" => {
                let kind = of_types(value, &fields.pointer("type"))?;
                property.extend(kind.map(|kind| ("type".to_owned(), kind)));
            }
            "description" if value.is_null() => {}
            // A `default: null` is a default only where null may be given.
            "default" if value.is_null() => {}
            _ => {
                property.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(Value::Object(property))
}

/// A type or a list of types in the words of JSON Schema; `None` for `any`.
fn of_types(value: &Value, pointer: &str) -> Result<Option<Value>, ParseFault> {
    if let Value::Array(list) = value {
        let types = list.iter().map(|item| of_types(item, pointer));
        let types: Option<Vec<Value>> = types.collect::<Result<_, _>>()?;
        return Ok(types.map(Value::Array));
    }
    let word = string(value, pointer)?;
    if word == "any" {
        return Ok(None);
    }
    if let Some((_, name)) = TYPES.iter().find(|(known, _)| *known == word) {
        return Ok(Some(Value::from(*name)));
    }
    let near = near(&word, TYPES.iter().map(|(known, _)| *known), NEAR_NAMES);
    let near = near.first().map(|near| format!("; did you mean `{near}`?"));
    let why = format!("`{}`: `{}` is not a known type", escape_line(pointer), escape_line(&word));
    Err(ParseFault::new(PARSE_METADATA, why + &near.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::misspelt_keywords;
    use serde_json::{Map, Value, json};

    /// Each slip as its pointer and the keyword that is meant.
    fn slips(schema: &Value) -> Vec<(String, &'static str)> {
        let slips = misspelt_keywords(schema).into_iter();
        slips.map(|slip| (slip.pointer, slip.meant)).collect()
    }

    #[test]
    fn a_slip_of_a_keyword_is_found_where_a_keyword_may_stand() {
        for (schema, pointer, meant) in [
            (json!({"requierd": ["a"]}), "/requierd", "required"),
            (json!({"propertys": {"requierd": {}}}), "/propertys", "properties"),
            (json!({"tpye": "object"}), "/tpye", "type"),
            (json!({"defs": {}}), "/defs", "$defs"),
            (
                json!({"additional_properties": false}),
                "/additional_properties",
                "additionalProperties",
            ),
            (json!({"properties": {"a": {"enumm": [1]}}}), "/properties/a/enumm", "enum"),
            (json!({"properties": {"a/b": {"defualt": 1}}}), "/properties/a~1b/defualt", "default"),
            (json!({"items": {"minlength": 1}}), "/items/minlength", "minLength"),
            (json!({"anyOf": [true, {"patern": "x"}]}), "/anyOf/1/patern", "pattern"),
            (json!({"$defs": {"a": {"maximun": 1}}}), "/$defs/a/maximun", "maximum"),
            (json!({"not": {"oneof": []}}), "/not/oneof", "oneOf"),
            (
                json!({"additionalProperties": {"discription": ""}}),
                "/additionalProperties/discription",
                "description",
            ),
        ] {
            assert_eq!(slips(&schema), [(pointer.to_owned(), meant)], "{schema}");
        }
    }

    #[test]
    fn of_many_slips_the_first_are_told() {
        let many = (0..20_000).map(|at| (format!("p{at}"), json!({"tpye": "string"})));
        let schema = json!({"properties": many.collect::<Map<_, _>>()});
        assert_eq!(slips(&schema).len(), super::MOST_SLIPS);
    }

    #[test]
    fn names_of_properties_values_and_words_of_others_are_no_slips() {
        for schema in [
            json!({"properties": {"requierd": {"type": "string"}, "tpye": {}, "enumm": {}}}),
            json!({"$defs": {"defualt": {}}, "patternProperties": {"titel": {}}}),
            json!({"default": {"requierd": 1}, "const": {"tpye": 1}, "enum": [{"enumm": 1}]}),
            json!({"examples": [{"defualt": 1}], "dependentRequired": {"requierd": ["a"]}}),
            json!({"x-requird": 1, "unit": "m", "note": "x", "id": "a", "comment": "x", "label": "x"}),
            json!({"order": 1, "min": 1, "max": 2, "optional": true, "group": "a", "schema": {}}),
            json!({"type": "object", "nullable": true, "example": 1, "name": "x", "ui:widget": 1}),
            json!(true),
        ] {
            assert_eq!(slips(&schema), [], "{schema}");
        }
    }
}
