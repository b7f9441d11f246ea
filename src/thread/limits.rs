//! How much a thread may use (threads 2).

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::error::{ThreadError, see_how_far};
use super::thread_id::ThreadId;
use crate::base::canon::SAFE;
use crate::base::limits::THREAD_DEPTH;
use crate::base::money::{self, is_amount, micros};
use crate::base::text::{counted, near};
use crate::base::time::{TIME_FORMS, time_from_text};
use crate::registry::{Amounts, Breach};

/// How much a thread and all threads below it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadLimits {
    /// Answers of a model.
    pub(crate) turns: u64,
    pub(crate) tokens: u64,
    /// In millionths of a US dollar.
    pub(crate) spend: u64,
    /// Threads below this one.
    pub(crate) spawns: u64,
    pub(crate) duration_seconds: u64,
    /// How many threads may stand one below the other under this one.
    pub(crate) depth: u64,
}

/// The limits that can be said, each with an example.
const NAMES: [(&str, &str); 8] = [
    ("turns", "turns=5"),
    ("tokens", "tokens=200000"),
    ("spend", "spend=2.50"),
    ("spend_currency", "spend_currency=USD"),
    ("spawns", "spawns=3"),
    ("duration", "duration=10m"),
    ("duration_seconds", "duration_seconds=600"),
    ("depth", "depth=2"),
];

/// How a limit is said; of a name that is none, how another one is.
pub(super) fn limit_example(name: &str) -> &'static str {
    NAMES.into_iter().find(|(known, _)| *known == name).unwrap_or(NAMES[0]).1
}

/// How a limit stopped a thread, which "1 of 0" would not tell where it allows nothing.
pub(super) fn stopped_at(breach: &Breach) -> String {
    let Breach { limit, current, max, is_ahead } = breach;
    match (*limit, *max) {
        ("depth", 0) => {
            "does not start: the thread that asks for it is as deep as its limit `depth` lets \
             threads stand below each other"
                .into()
        }
        ("spawns", 0) => {
            "does not start: the limit `spawns` of a thread above it is 0, which lets \
                          it start no other"
                .into()
        }
        // Limits that were given anew may allow less than was used before.
        ("turns", _) if current > max => {
            let be = |count: u64| if count == 1 { "is" } else { "are" };
            let used = format!("{current} {} used", be(*current));
            format!("stopped at its limit `turns`: {used}, and {max} {} allowed", be(*max))
        }
        (_, 0) => format!("cannot ask its model for anything: its limit `{limit}` is 0"),
        ("turns", 1) => "stopped at its limit `turns`: the only one is used".into(),
        ("turns", _) => format!("stopped at its limit `turns`: all {max} are used"),
        ("context_window", _) => format!("stopped at its limit `{limit}`: {current} of {max}"),
        ("duration_seconds", _) => {
            let most = counted(*max, "second");
            format!("stopped at its limit `{limit}`: it ran for {current} of {most}")
        }
        _ => {
            let (unit, amount): (_, fn(u64) -> String) = match *limit {
                "spend" => (" US dollars", money::shown),
                _ => ("", |amount| amount.to_string()),
            };
            let (current, max) = (amount(*current), amount(*max));
            let are = if max == "1" { "is" } else { "are" };
            match is_ahead {
                true => format!(
                    "stopped before its limit `{limit}`: with its next call it may come to \
                     {current}{unit}, and {max} {are} allowed"
                ),
                false => {
                    format!("stopped at its limit `{limit}`: it came to {current} of {max}{unit}")
                }
            }
        }
    }
}

/// The help for a thread that a limit stopped.
pub(super) fn allow_more(id: &ThreadId, breach: &Breach, is_below: bool) -> String {
    match breach.limit {
        // A thread that may not start below another is not there to go on.
        "depth" | "spawns" => {
            "allow more with `--limit`, or in `<limits>`, of the thread at the top".into()
        }
        "context_window" => "its model gave no summary for the thread that was to go on; name a \
                             model with a larger context window, or give it less to do"
            .into(),
        _ if is_below => format!(
            "{}; it ran below another thread, so it does not go on alone: allow more in `<limits>` \
             of its directive, and of the thread at the top in `<limits>` or with `--limit`, and \
             start that again",
            see_how_far(id.as_str())
        ),
        limit => format!(
            "{}; to let it go on with more, up to the `most` of `config:agent/limits`: `rye thread \
             resume {id} --limit {limit}=…`",
            see_how_far(id.as_str())
        ),
    }
}

fn too_large(text: &str, most: &str) -> String {
    format!("`{text}` is too large; {most} is the most")
}

impl Default for ThreadLimits {
    /// The limits of a thread for which no other ones are given.
    fn default() -> Self {
        Self {
            turns: 25,
            tokens: 1_000_000,
            spend: 5_000_000,
            spawns: 50,
            duration_seconds: 1_800,
            depth: 10,
        }
    }
}

impl ThreadLimits {
    /// As much as can be said.
    pub(crate) const MOST: Self = Self {
        turns: SAFE,
        tokens: SAFE,
        spend: SAFE,
        spawns: SAFE,
        duration_seconds: 366 * 24 * 3_600,
        depth: THREAD_DEPTH,
    };

    /// These, with what is said in their place.
    ///
    /// # Errors
    /// `thread.bad_limit`
    pub(crate) fn with(mut self, said: &Map<String, Value>) -> Result<Self, ThreadError> {
        for (name, value) in said {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.set(name, &text)?;
        }
        Ok(self)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), ThreadError> {
        let bad = |why: String| ThreadError::BadLimit { name: name.to_owned(), why, within: None };
        let place = match name {
            "turns" => &mut self.turns,
            "tokens" => &mut self.tokens,
            "spawns" => &mut self.spawns,
            "duration_seconds" => &mut self.duration_seconds,
            "depth" => &mut self.depth,
            "spend" => {
                let why = || match is_amount(text) {
                    true => too_large(text, &money::shown(Self::MOST.spend)),
                    false => {
                        format!("`{text}` is not an amount such as `0.25`, with at most six places")
                    }
                };
                self.spend = micros(text).ok_or_else(|| bad(why()))?;
                return Ok(());
            }
            "duration" => {
                let time = time_from_text(text);
                let time =
                    time.ok_or_else(|| bad(format!("`{text}` is not a time: {TIME_FORMS}")))?;
                self.duration_seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
                return Ok(());
            }
            "spend_currency" if text == "USD" => return Ok(()),
            "spend_currency" => {
                return Err(bad(format!("`{text}` is not `USD`, the one that is known")));
            }
            _ => {
                let names = NAMES.map(|(name, _)| name);
                let near = near(name, names.into_iter(), 1).pop();
                let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                return Err(bad(format!("{near}it is not one of `{}`", names.join("`, `"))));
            }
        };
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad(format!("`{text}` is not a whole number from 0")));
        }
        let number = text.parse().ok().filter(|number| *number <= SAFE);
        let most = || Self::MOST.rows().into_iter().find(|(known, _)| *known == name);
        let most = || most().map_or(SAFE, |(_, most)| most).to_string();
        *place = number.ok_or_else(|| bad(too_large(text, &most())))?;
        Ok(())
    }

    /// Lowers the duration to the time that the caller waits for the thread, in whole seconds.
    pub(crate) fn within(self, timeout: Option<Duration>) -> Self {
        let most = timeout.map(|time| time.as_secs() + u64::from(time.subsec_nanos() > 0));
        let duration_seconds =
            most.map_or(self.duration_seconds, |most| self.duration_seconds.min(most.max(1)));
        Self { duration_seconds, ..self }
    }

    /// No more than these amounts, with at most so many threads below each other under it.
    pub(crate) fn at_most(self, amounts: Amounts, depth: u64) -> Self {
        let Amounts { turns, tokens, spend, spawns } = amounts;
        self.min(Self { turns, tokens, spend, spawns, depth, ..self })
    }

    /// The lower ones of both.
    pub(crate) fn min(self, other: Self) -> Self {
        Self {
            turns: self.turns.min(other.turns),
            tokens: self.tokens.min(other.tokens),
            spend: self.spend.min(other.spend),
            spawns: self.spawns.min(other.spawns),
            duration_seconds: self.duration_seconds.min(other.duration_seconds),
            depth: self.depth.min(other.depth),
        }
    }

    /// Each by its name.
    pub(crate) fn rows(self) -> [(&'static str, u64); 6] {
        [
            ("turns", self.turns),
            ("tokens", self.tokens),
            ("spend", self.spend),
            ("spawns", self.spawns),
            ("duration_seconds", self.duration_seconds),
            ("depth", self.depth),
        ]
    }

    pub(crate) fn to_json(self) -> Value {
        json!({
            "turns": self.turns, "tokens": self.tokens, "spend_micros": self.spend,
            "spawns": self.spawns, "duration_seconds": self.duration_seconds, "depth": self.depth,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadLimits;
    use crate::diagnostic::Diagnose;
    use serde_json::{Value, json};

    fn with(said: &Value) -> Result<ThreadLimits, &'static str> {
        let said = said.as_object().unwrap().clone();
        ThreadLimits::default().with(&said).map_err(|error| error.code().name())
    }

    #[test]
    fn what_is_said_takes_the_place_of_a_default_and_raises_it_too() {
        let said = json!({
            "turns": 3, "tokens": "2000000", "spend": 0.5, "duration": "2m", "depth": 0,
            "spend_currency": "USD",
        });
        let want = ThreadLimits {
            turns: 3,
            tokens: 2_000_000,
            spend: 500_000,
            duration_seconds: 120,
            depth: 0,
            ..ThreadLimits::default()
        };
        assert_eq!(with(&said), Ok(want));
        assert_eq!(with(&json!({})), Ok(ThreadLimits::default()));
        assert_eq!(
            want.min(ThreadLimits { turns: 1, spend: 600_000, ..want }),
            ThreadLimits { turns: 1, ..want }
        );
    }

    #[test]
    fn an_unknown_name_and_a_value_that_is_none_are_refused() {
        for (name, value) in [
            ("turn", json!(1)),
            ("turns", json!(-1)),
            ("turns", json!(1.5)),
            ("turns", json!("+1")),
            ("turns", json!("")),
            ("turns", json!([1])),
            ("turns", json!(u64::MAX)),
            ("tokens", json!("NaN")),
            ("spend", json!(-0.1)),
            ("spend", json!("1e999")),
            ("spend", json!("NaN")),
            ("spend", json!("0.0000001")),
            ("spend_currency", json!("EUR")),
            ("duration", json!("soon")),
        ] {
            assert_eq!(with(&json!({name: value})), Err("thread.bad_limit"), "{name} {value}");
        }
    }
}
