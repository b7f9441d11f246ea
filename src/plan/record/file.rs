//! A plan in a file (core 9.1): written to be read and approved, read to be compared.
//!
//! The file is canonical JSON: the plan as data, `sha256` over the canonical text of that, and the
//! parameters as text if they were asked for. The file is not trusted: a process that can write it
//! can write another plan into it, so nothing of it is run. It is compared with the plan that is
//! made anew from verified items, and that plan is the one that runs.

use std::time::Duration;

use serde_json::{Map, Value};

use super::document::FORMAT;
use super::drift::differences;
use crate::base::{Digest, canon};
use crate::id::Ref;
use crate::parse::json;
use crate::plan::error::PlanError;
use crate::plan::plan::Plan;

/// A plan that was written down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanFile {
    item: Ref,
    document: Value,
    digest: Digest,
    timeout: Duration,
    /// The parameters, where the file holds them.
    params: Option<Map<String, Value>>,
}

impl PlanFile {
    /// The text of the file for a plan; ends with a line feed.
    ///
    /// # Errors
    /// `plan.bad_config`, as for the plan itself.
    pub(crate) fn write(plan: &Plan, with_params: bool) -> Result<Vec<u8>, PlanError> {
        let mut document = plan.to_json();
        document["sha256"] = plan.digest()?.to_string().into();
        if with_params {
            document["params"] = plan.params.text().into();
        }
        let unfit = |inexact: canon::Inexact| malformed(inexact.to_string());
        let mut text = canon::write(&document).map_err(unfit)?;
        text.push(b'\n');
        Ok(text)
    }

    /// # Errors
    /// `plan.malformed`: it is not canonical JSON of this form, or not what its own digests say.
    pub(crate) fn read(text: &[u8]) -> Result<Self, PlanError> {
        let mut document = match canon::read(text) {
            Ok(Value::Object(document)) => document,
            Ok(_) => return Err(malformed("it is another JSON value than an object")),
            Err(why) => return Err(malformed(why.to_string())),
        };
        match document.get("format").and_then(Value::as_str) {
            Some(FORMAT) => {}
            Some(other) => {
                return Err(malformed(format!("its format is `{other}`, not `{FORMAT}`")));
            }
            None => return Err(malformed("it does not say its `format`")),
        }
        let sha256 =
            taken(&mut document, "sha256")?.ok_or_else(|| malformed("it has no `sha256`"))?;
        let params = taken(&mut document, "params")?;
        let document = Value::Object(document);
        let digest = Digest::of(&canon::write(&document).map_err(|e| malformed(e.to_string()))?);
        if sha256.parse() != Ok(digest) {
            return Err(malformed("its `sha256` is not the digest of the rest: it was changed"));
        }
        let params = params.map(|text| read_params(&text, &document)).transpose()?;
        let item = document.get("item").and_then(Value::as_str).and_then(|item| item.parse().ok());
        let timeout = document.get("timeout_ms").and_then(Value::as_u64);
        let (Some(item), Some(timeout)) = (item, timeout) else {
            return Err(malformed("it does not say its `item` or its `timeout_ms`"));
        };
        let timeout = Duration::from_millis(timeout);
        Ok(Self { item, document, digest, timeout, params })
    }

    /// The item that was planned.
    pub(crate) fn item(&self) -> &Ref {
        &self.item
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The time limit that was planned; a shorter one than the item's is asked for again.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn params(&self) -> Option<&Map<String, Value>> {
        self.params.as_ref()
    }

    /// Checks that `plan`, made anew, is the plan that was written down. If it was not written
    /// `for_record`, it says less of the programs, and only that much is compared.
    ///
    /// # Errors
    /// `plan.drifted` with everything that differs; `plan.bad_config`, as for the plan itself.
    pub(crate) fn compare(&self, plan: &Plan, for_record: bool) -> Result<(), PlanError> {
        let is = if for_record { plan.to_json() } else { plan.to_json_without_content() };
        if plan.digest_of(&is)? == self.digest {
            return Ok(());
        }
        let differences = differences(&self.document, &is);
        Err(PlanError::Drifted { item: plan.item().clone(), differences })
    }
}

fn malformed(why: impl Into<String>) -> PlanError {
    PlanError::Malformed { why: why.into() }
}

/// Takes a text out of the document.
fn taken(document: &mut Map<String, Value>, key: &str) -> Result<Option<String>, PlanError> {
    match document.shift_remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(malformed(format!("its `{key}` is not text"))),
    }
}

/// The stored parameters, if they are those that were planned with.
fn read_params(text: &str, document: &Value) -> Result<Map<String, Value>, PlanError> {
    let planned = document.get("params_sha256").and_then(Value::as_str);
    if planned != Some(Digest::of(text.as_bytes()).to_string().as_str()) {
        return Err(malformed("its `params` are not those of its `params_sha256`"));
    }
    match json(text) {
        Ok(Value::Object(params)) => Ok(params),
        _ => Err(malformed("its `params` are not a JSON object")),
    }
}

#[cfg(test)]
mod tests {
    use super::PlanFile;
    use crate::base::{Digest, canon};
    use serde_json::{Value, json};

    /// A file as `write` makes it, by hand.
    fn file(document: &Value, more: &[(&str, Value)]) -> Vec<u8> {
        let mut whole = document.clone();
        whole["sha256"] = Digest::of(&canon::write(document).unwrap()).to_string().into();
        for (key, value) in more {
            whole[*key] = value.clone();
        }
        canon::write(&whole).unwrap()
    }

    #[test]
    fn a_plan_file_that_was_touched_is_refused() {
        let params = "{\"a\":0.10}";
        let good = json!({"format": "rye/plan/v1", "item": "tool:a/b", "timeout_ms": 5,
            "params_sha256": Digest::of(params.as_bytes()).to_string()});
        let text = file(&good, &[("params", params.into())]);
        let read = PlanFile::read(&text).unwrap();
        assert_eq!(read.item().to_string(), "tool:a/b");
        assert_eq!(Value::from(read.params().unwrap().clone()).to_string(), params);
        // Every other byte in every place, but for those that another text has.
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut other = text.clone();
                other[at] ^= 1 << bit;
                assert!(PlanFile::read(&other).is_err(), "byte {at}, bit {bit}");
            }
        }
        for end in 0..text.len() {
            assert!(PlanFile::read(&text[..end]).is_err(), "cut at {end}");
        }
        let other_format = json!({"format": "rye/plan/v2", "item": "tool:a/b", "timeout_ms": 5});
        let nested = json!({"format": "rye/plan/v1", "plan": good});
        let refused = [
            (file(&other_format, &[]), "its format is `rye/plan/v2`"),
            (file(&nested, &[]), "`item` or its `timeout_ms`"),
            (file(&good, &[("params", "{\"a\":0.1}".into())]), "not those of its `params_sha256`"),
            (file(&good, &[("params", json!({"a": 1}))]), "its `params` is not text"),
            (file(&good, &[("more", json!(1))]), "it was changed"),
            (file(&good, &[("sha256", "00".into())]), "it was changed"),
            (canon::write(&good).unwrap(), "it has no `sha256`"),
            (b"[]".to_vec(), "another JSON value"),
            (b"plan".to_vec(), "it is not JSON"),
            (serde_json::to_vec_pretty(&good).unwrap(), "not written canonically"),
        ];
        for (text, want) in refused {
            let error = PlanFile::read(&text).unwrap_err().to_string();
            assert!(error.contains(want), "{want}: {error}");
        }
    }
}
