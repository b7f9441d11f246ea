//! Checking a value against a JSON Schema, in bounded work.
//!
//! A schema comes from the author of the item, often from the server of another person. So each of
//! its parts carries a keyword of rye's own that counts: past so many steps, past the call's time,
//! or when the call is to end, the check is left at once.

use std::cell::RefCell;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, Keyword, PatternOptions, ReferencingError, ValidationError, Validator};
use serde_json::{Map, Number, Value};

use super::error::Violation;
use crate::base::text::escape_line;
use crate::host::Signals;
use crate::parse::{Subschemas, bound_schema};

/// How long a value is checked at most where the caller sets no time, in milliseconds.
const CHECK_MS: u64 = 10_000;

/// Most steps back of one search by a pattern that needs them.
const SCHEMA_PATTERN_STEPS: usize = 100_000;

/// Most bytes of a compiled pattern of a schema, and of the table that runs it.
const SCHEMA_PATTERN_BYTES: usize = 1 << 18;

/// Most violations of a schema that an answer lists, and bytes of their places and messages.
const VIOLATIONS: usize = 100;
const VIOLATIONS_BYTES: usize = 64 << 10;

/// Most steps of listing all that is wrong with one value; beyond it the first fault is told. Each
/// fault counts by its size, so that the list stays below 16 MiB.
const LIST_STEPS: u64 = 2_000_000;

/// Most steps of checking one value: about a second.
const CHECK_STEPS: u64 = 20_000_000;

/// The keyword that counts. A schema's own of that name is replaced.
const STEP: &str = "x-rye-step";

/// Between two looks at the clock.
const STEPS_A_LOOK: u64 = 64;

/// Bytes of a text that a pattern goes through in one step.
const BYTES_A_STEP: usize = 64;

/// Most of a message about a fault.
const MESSAGE_CHARS: usize = 300;

/// Bytes that a listing may keep for one step.
const KEPT_A_STEP: usize = 8;

/// Steps of a listing for one fault, beside its place: some hundred bytes.
const FAULT_STEPS: u64 = 80;

/// A JSON Schema that can be checked against.
pub(super) struct Schema {
    validator: Validator,
    /// Some part of it asks that items differ.
    compares_items: bool,
}

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoSchema {
    /// One sentence without a subject.
    Malformed(String),
    /// A part of it lies at this address.
    Elsewhere(String),
    /// It asks for too much work.
    TooMuch(String),
}

impl std::fmt::Display for NoSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "it is not a JSON Schema: {why}"),
            Self::Elsewhere(uri) => write!(
                f,
                "its `$ref` names `{}`, which rye does not fetch: put that part below `$defs`",
                escape_line(uri)
            ),
            Self::TooMuch(why) => write!(f, "it {why}"),
        }
    }
}

/// Why a check was left before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaStop {
    Steps,
    Time,
    /// The call was cancelled, or rye was asked to end.
    Asked,
}

impl std::fmt::Display for SchemaStop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Steps => "takes too many steps",
            Self::Time => "takes longer than the call may",
            Self::Asked => "was cancelled",
        })
    }
}

impl Schema {
    /// # Errors
    /// [`NoSchema`]
    pub(super) fn compile(schema: &Value) -> Result<Self, NoSchema> {
        let parts = bound_schema(schema).map_err(NoSchema::TooMuch)?;
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(SCHEMA_PATTERN_STEPS)
            .size_limit(SCHEMA_PATTERN_BYTES)
            .dfa_size_limit(SCHEMA_PATTERN_BYTES);
        // No retriever for files or the network is built in, so a foreign `$ref` is an error here.
        let draft = match Draft::default().detect(schema) {
            Draft::Unknown => Draft::default(),
            known => known,
        };
        let options = jsonschema::options()
            .with_draft(draft)
            .with_pattern_options(patterns)
            .with_keyword(STEP, |parent, _, _| Ok(Box::new(Step::new(parent))));
        let validator = options.build(&counted(schema, &parts));
        let compares_items = mentions(schema, "uniqueItems");
        let made = validator.map(|validator| Self { validator, compares_items });
        made.map_err(|error| match error.kind() {
            ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => {
                NoSchema::Elsewhere(uri.chars().take(MESSAGE_CHARS).collect())
            }
            _ => NoSchema::Malformed(brief(&error)),
        })
    }

    /// The violations in a value: the first [`VIOLATIONS`], of [`VIOLATIONS_BYTES`] in all, and a
    /// line that says so where there are more. Only one where listing them takes too many steps.
    ///
    /// # Errors
    /// [`SchemaStop`]
    pub(super) fn violations(
        &self,
        value: &Value,
        time: Option<Duration>,
    ) -> Result<Vec<Violation>, SchemaStop> {
        // The validator holds items against each other before the keyword that counts is asked.
        if self.compares_items && pairs_of_wide_numbers(value) > CHECK_STEPS {
            return Err(SchemaStop::Steps);
        }
        let until = Instant::now() + time.unwrap_or(Duration::from_millis(CHECK_MS));
        if metered(CHECK_STEPS, 0, until, || self.validator.is_valid(value))? {
            return Ok(Vec::new());
        }
        // Each fault that is listed is kept, with its place, until all are.
        let fault = FAULT_STEPS + steps_to_keep(longest_place(value));
        let all = || listed(self.validator.iter_errors(value).map(|error| violation(&error)));
        match metered(LIST_STEPS, fault, until, all) {
            Err(SchemaStop::Steps) => {}
            other => return other,
        }
        let first = || self.validator.validate(value).err().map(|error| violation(&error));
        match metered(LIST_STEPS, fault, until, first) {
            Err(SchemaStop::Steps) | Ok(None) => {
                let message = "does not fit, and listing what is wrong takes too many steps";
                Ok(vec![Violation { pointer: String::new(), message: message.into() }])
            }
            Ok(Some(first)) => Ok(vec![first]),
            Err(stop) => Err(stop),
        }
    }
}

fn violation(error: &ValidationError<'_>) -> Violation {
    Violation { pointer: error.instance_path().to_string(), message: brief(error) }
}

/// As many as an answer lists.
fn listed(all: impl Iterator<Item = Violation>) -> Vec<Violation> {
    let (mut listed, mut bytes) = (Vec::new(), 0);
    for violation in all {
        bytes += violation.pointer.len() + violation.message.len();
        if listed.len() == VIOLATIONS || bytes > VIOLATIONS_BYTES {
            let message = "more does not fit than is listed here".into();
            listed.push(Violation { pointer: String::new(), message });
            break;
        }
        listed.push(violation);
    }
    listed
}

/// The beginning of a message, which else repeats all of a value.
fn brief(error: &ValidationError<'_>) -> String {
    struct Brief(String);
    impl Write for Brief {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let left = 2 * MESSAGE_CHARS - self.0.chars().count();
            self.0.extend(text.chars().take(left));
            if self.0.chars().count() < 2 * MESSAGE_CHARS { Ok(()) } else { Err(std::fmt::Error) }
        }
    }
    let mut brief = Brief(String::new());
    let _ = write!(brief, "{error}");
    // The keyword that counts steps does not belong to the schema.
    let own = brief.0.replace(&format!("\"{STEP}\":true,"), "");
    own.replace(&format!("\"{STEP}\":true"), "").chars().take(MESSAGE_CHARS).collect()
}

/// The schema, with the keyword that counts in each of its parts.
fn counted(schema: &Value, parts: &Subschemas<'_>) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(|item| counted(item, parts)).collect(),
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| (key.clone(), counted(value, parts)));
            let step = parts.contains(map).then(|| (STEP.to_owned(), Value::Bool(true)));
            Value::Object(step.into_iter().chain(members.filter(|(key, _)| key != STEP)).collect())
        }
        other => other.clone(),
    }
}

/// The cost of one part of a schema, each time it is applied to a value.
struct Step {
    /// Names and listed values that a value is held against.
    own: u64,
    /// Patterns that a text, or each name of a mapping, is held against.
    patterns: u64,
    /// All that the value holds is gone through.
    whole: bool,
    /// Faults that it can find in one value.
    faults: u64,
    /// Steps for what those repeat of the part itself.
    repeated: u64,
}

impl Step {
    fn new(parent: &Map<String, Value>) -> Self {
        let held = ["enum", "const", "required", "dependentRequired"];
        // A part that fails is left before it counts, so the part that tries it counts for it.
        let tried = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains"];
        let names = parent.get("properties").and_then(Value::as_object).map_or(0, Map::len);
        let all = held.iter().chain(&tried).filter_map(|key| parent.get(*key));
        let repeated = held.iter().chain(&["pattern", "format"]).filter_map(|key| parent.get(*key));
        let named = parent.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
        let is_foreign = |name: &Value| name.as_str().is_some_and(|name| !name.starts_with('#'));
        Self {
            own: 1 + names as u64 + all.map(values_in).sum::<u64>(),
            patterns: named as u64 + u64::from(parent.contains_key("pattern")),
            whole: parent.contains_key("uniqueItems") || parent.get("$ref").is_some_and(is_foreign),
            faults: parent.len() as u64,
            repeated: steps_to_keep(repeated.map(bytes_in).sum()),
        }
    }

    /// Steps of listing the faults of a value, beside those of finding them.
    fn listed(&self, value: &Value, fault: u64) -> u64 {
        // Names that may not be there are told.
        let names = value.as_object().map_or(0, |map| map.keys().map(String::len).sum());
        self.faults * fault + self.repeated + steps_to_keep(names)
    }

    fn cost(&self, value: &Value) -> u64 {
        let steps = |bytes: usize| (bytes / BYTES_A_STEP) as u64 + 1;
        let texts = match value {
            Value::String(text) => self.patterns * steps(text.len()),
            Value::Object(map) if self.patterns > 0 => {
                self.patterns * map.keys().map(|name| steps(name.len())).sum::<u64>()
            }
            _ => 0,
        };
        let whole = if self.whole { values_in(value) + pairs_of_wide_numbers(value) } else { 0 };
        self.own + texts + whole
    }
}

/// Steps of a listing for so many bytes that it keeps.
fn steps_to_keep(bytes: usize) -> u64 {
    (bytes / KEPT_A_STEP) as u64
}

/// About how many bytes a value takes.
fn bytes_in(value: &Value) -> usize {
    let own = size_of::<Value>();
    match value {
        Value::String(text) => own + text.len(),
        Value::Array(items) => own + items.iter().map(bytes_in).sum::<usize>(),
        Value::Object(map) => {
            own + map.iter().map(|(name, value)| name.len() + bytes_in(value)).sum::<usize>()
        }
        _ => own,
    }
}

/// Bytes of the longest way to a part of the value.
fn longest_place(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| 8 + longest_place(item)).max(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| 1 + name.len() + longest_place(value)).max()
        }
        _ => None,
    }
    .unwrap_or(0)
}

/// How many values a value holds, itself among them.
fn values_in(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(values_in).sum::<u64>(),
        Value::Object(map) => 1 + map.values().map(values_in).sum::<u64>(),
        _ => 1,
    }
}

/// Steps of comparing each pair of the numbers that no machine word holds: the validator does so
/// for `uniqueItems`, digit by digit, and looks at no clock meanwhile.
fn pairs_of_wide_numbers(value: &Value) -> u64 {
    let (count, digits) = wide_numbers(value);
    count.saturating_mul(digits)
}

/// Returns true if an object somewhere in a schema has the key.
fn mentions(schema: &Value, key: &str) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(|item| mentions(item, key)),
        Value::Object(map) => {
            map.contains_key(key) || map.values().any(|value| mentions(value, key))
        }
        _ => false,
    }
}

/// How many of these numbers a value holds, and how many digits they have in all.
fn wide_numbers(value: &Value) -> (u64, u64) {
    let sum = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1.saturating_add(b.1));
    match value {
        Value::Number(number) => digits_of_wide(number).map_or((0, 0), |digits| (1, digits)),
        Value::Array(items) => items.iter().map(wide_numbers).fold((0, 0), sum),
        Value::Object(map) => map.values().map(wide_numbers).fold((0, 0), sum),
        _ => (0, 0),
    }
}

/// The digits of a number that is neither an integer of 64 bits nor in the range of a float.
fn digits_of_wide(number: &Number) -> Option<u64> {
    if number.is_i64() || number.is_u64() {
        return None;
    }
    let text = number.to_string();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, ""));
    let is_integer = exponent.is_empty() && !mantissa.contains('.');
    if !is_integer && number.as_f64().is_some_and(f64::is_normal) {
        return None;
    }
    let exponent = exponent.trim_start_matches(['+', '-']);
    let exponent = if exponent.is_empty() { 0 } else { exponent.parse().unwrap_or(u64::MAX) };
    Some(exponent.saturating_add(mantissa.len() as u64))
}

impl<'i> Keyword<'i> for Step {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        let fault = METER.with_borrow(|meter| meter.as_ref().map_or(0, |meter| meter.fault));
        spend(self.cost(instance) + self.listed(instance, fault));
        Ok(())
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        spend(self.cost(instance));
        true
    }
}

/// The steps and the time that are left of one check.
struct Meter {
    left: u64,
    looked: u64,
    /// Steps of keeping a fault.
    fault: u64,
    until: Instant,
    /// Held while the check goes on; signals that wait there are left to the next listener.
    signals: Option<Signals>,
}

thread_local! {
    /// The meter of the check on this thread.
    static METER: RefCell<Option<Meter>> = const { RefCell::new(None) };
}

/// Runs a check that ends after so many steps, or at a time.
fn metered<R>(
    steps: u64,
    fault: u64,
    until: Instant,
    check: impl FnOnce() -> R,
) -> Result<R, SchemaStop> {
    let signals = Signals::listen().ok();
    let meter = Meter { left: steps, looked: steps, fault, until, signals };
    METER.with_borrow_mut(|held| *held = Some(meter));
    let result = catch_unwind(AssertUnwindSafe(check));
    METER.with_borrow_mut(|held| *held = None);
    result.map_err(|left| match left.downcast::<SchemaStop>() {
        Ok(stop) => *stop,
        Err(other) => resume_unwind(other),
    })
}

/// Takes steps of the meter; past its end the check is left, which only unwinding can do from
/// inside of the validator.
fn spend(steps: u64) {
    let stop = METER.with_borrow_mut(|meter| {
        let meter = meter.as_mut()?;
        let Some(left) = meter.left.checked_sub(steps) else { return Some(SchemaStop::Steps) };
        meter.left = left;
        if meter.looked - left < STEPS_A_LOOK {
            return None;
        }
        meter.looked = left;
        if meter.signals.as_ref().is_some_and(Signals::is_waiting) {
            return Some(SchemaStop::Asked);
        }
        (Instant::now() >= meter.until).then_some(SchemaStop::Time)
    });
    if let Some(stop) = stop {
        resume_unwind(Box::new(stop));
    }
}

#[cfg(test)]
mod tests {
    use super::{NoSchema, Schema, SchemaStop};
    use serde_json::{Value, json};
    use std::time::Duration;

    fn check(schema: &Value, value: &Value) -> Result<usize, SchemaStop> {
        let schema = Schema::compile(schema).expect("a schema");
        schema.violations(value, None).map(|found| found.len())
    }

    /// Each value is held against 1,000 patterns, and fits the last.
    fn wide() -> (Value, Value) {
        let others: Vec<Value> =
            (0..1_000).map(|at| json!({"type": "string", "pattern": format!("^x{at}y")})).collect();
        (json!({"items": {"anyOf": others}}), vec!["x999y"; 20_000].into())
    }

    #[test]
    fn what_takes_too_many_steps_is_left() {
        let one = json!({"items": {"type": "integer"}});
        let many: Value = (0..20_000).collect();
        assert_eq!(check(&one, &many), Ok(0));
        let (schema, many) = wide();
        assert_eq!(check(&schema, &json!(["x1y", "x999y"])), Ok(0));
        assert_eq!(check(&schema, &json!(["x1000y", "y"])), Ok(2));
        assert_eq!(check(&schema, &many), Err(SchemaStop::Steps));
    }

    #[test]
    fn a_schema_is_read_by_the_draft_that_it_names() {
        let drafts =
            ["http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema"];
        for draft in drafts {
            let pair = json!([{"type": "integer"}, {"type": "string"}]);
            let schema = json!({"$schema": draft, "properties": {"a": {"items": pair}}});
            assert_eq!(check(&schema, &json!({"a": [1, "x"]})), Ok(0), "{draft}");
            assert_eq!(check(&schema, &json!({"a": ["x", 1]})), Ok(2), "{draft}");
        }
        let other =
            json!({"$schema": "https://example.org/own", "prefixItems": [{"type": "integer"}]});
        assert_eq!(check(&other, &json!(["x"])), Ok(1), "one that is not known is the newest");
        let Err(NoSchema::Malformed(why)) =
            Schema::compile(&json!({"items": [{"type": "int"}, 7]}))
        else {
            panic!("no schema of the newest draft")
        };
        assert!(!why.contains("x-rye"), "{why}");
        // References to an `id` of an older draft are followed as well.
        let draft = "http://json-schema.org/draft-04/schema#";
        for (id, to) in [("http://x.example/a", "http://x.example/a"), ("#a", "#a")] {
            let own = json!({"id": id, "allOf": [{"$ref": to}]});
            let schema = json!({"$schema": draft, "properties": {"x": own}});
            assert!(matches!(Schema::compile(&schema), Err(NoSchema::TooMuch(_))), "{id}");
        }
    }

    #[test]
    fn numbers_that_no_machine_word_holds_are_counted_by_the_pairs_of_their_digits() {
        let schema = json!({"uniqueItems": true});
        let list = |number: &dyn Fn(usize) -> String, count: usize| -> Value {
            let all: Vec<String> = (0..count).map(number).collect();
            serde_json::from_str(&format!("[{}]", all.join(","))).expect("JSON")
        };
        assert_eq!(check(&schema, &list(&|n| n.to_string(), 20_000)), Ok(0));
        assert_eq!(check(&schema, &list(&|n| format!("{n}.5"), 3_000)), Ok(0));
        // As many large numbers as a person may mean.
        assert_eq!(check(&schema, &list(&|n| format!("{}{n}", "7".repeat(78)), 50)), Ok(0));
        for exponent in ["1e", "1e-"] {
            let far = |n: usize| format!("{exponent}{}", 400 + n);
            assert_eq!(check(&schema, &list(&far, 10)), Ok(0), "{exponent}");
            assert_eq!(check(&schema, &list(&far, 3_000)), Err(SchemaStop::Steps), "{exponent}");
        }
        let wide = |n: usize| format!("{}{n}", "7".repeat(30));
        assert_eq!(check(&schema, &list(&wide, 12_000)), Err(SchemaStop::Steps));
    }

    #[test]
    fn what_doubles_with_each_step_into_the_value_ends() {
        let next = |at: u64| json!({"items": {"$ref": "#"}, "maxItems": 100 + at});
        let tree = json!({"allOf": [next(0), next(1)]});
        let (mut good, mut bad) = (json!(1), json!(vec![1; 150]));
        for _ in 0..60 {
            (good, bad) = (json!([good]), json!([bad]));
        }
        assert!(matches!(check(&tree, &good), Ok(0) | Err(SchemaStop::Steps)));
        assert!(matches!(check(&tree, &bad), Ok(1..) | Err(SchemaStop::Steps)));
    }

    #[test]
    fn a_check_ends_at_the_callers_time() {
        let (schema, many) = wide();
        let schema = Schema::compile(&schema).expect("a schema");
        assert_eq!(schema.violations(&many, Some(Duration::ZERO)), Err(SchemaStop::Time));
    }

    #[test]
    fn a_pattern_that_goes_back_and_forth_is_left_and_a_large_one_refused() {
        let schema = json!({"pattern": "^(?=a)(a|aa)+$"});
        assert_eq!(check(&schema, &json!("aaa")), Ok(0));
        assert_eq!(check(&schema, &json!(format!("{}b", "a".repeat(60)))), Ok(1));
        let large = Schema::compile(&json!({"pattern": "((a{1000}){1000}){1000}"}));
        assert!(matches!(large.err(), Some(NoSchema::Malformed(_))));
    }

    #[test]
    fn what_counts_changes_no_verdict() {
        let schema = json!({
            "properties": {"a": {"type": "integer"}}, "additionalProperties": false,
            "required": ["a"], "x": {"const": {"type": "x"}}, "enum": [{"a": 1}, {"a": "1"}],
        });
        assert_eq!(check(&schema, &json!({"a": 1})), Ok(0));
        assert_eq!(check(&schema, &json!({"a": "1"})), Ok(1));
        assert_eq!(check(&schema, &json!({"x-rye-step": true})), Ok(3));
    }

    #[test]
    fn a_schema_as_deep_as_one_may_be_fits_on_the_stack() {
        let mut schema = json!({"type": "integer"});
        for _ in 0..crate::base::limits::SCHEMA_DEPTH - 1 {
            schema = json!({"allOf": [schema]});
        }
        assert_eq!(check(&schema, &json!(1)), Ok(0));
        assert!(Schema::compile(&json!({"allOf": [schema]})).is_err());
    }
}
