//! Scores and thresholds: numbers from 0 to 1, compared to the digit.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use crate::base::limits::SHOWN_BYTES;
use crate::parse::{json, kind};

/// A number from 0 to 1, as it was written.
#[derive(Debug, Clone)]
pub(crate) struct Score(Number);

impl Score {
    /// The score that an answer holds.
    ///
    /// # Errors
    /// A clause that says why it is none.
    pub(crate) fn from_value(value: Option<&Value>) -> Result<Self, String> {
        let number = match value {
            None => return Err("it has no `score`".into()),
            Some(Value::Number(number)) => number,
            Some(other) => return Err(format!("its `score` is {}, not a number", kind(other))),
        };
        let (text, score) = (number.to_string(), Self(number.clone()));
        let shown = &text[..text.len().min(SHOWN_BYTES)];
        if score < Self::from(0) {
            return Err(format!("its `score` is {shown}, less than 0"));
        }
        if score > Self::from(1) {
            return Err(format!("its `score` is {shown}, more than 1"));
        }
        Ok(score)
    }

    /// A threshold, as it was typed.
    ///
    /// # Errors
    /// A clause that says why it is none.
    pub(crate) fn typed(text: &str) -> Result<Self, String> {
        let number = json(text).ok().filter(Value::is_number);
        let score = number.and_then(|number| Self::from_value(Some(&number)).ok());
        score.ok_or_else(|| "not a number from 0 to 1, such as 0.8".into())
    }

    pub(crate) fn to_json(&self) -> Value {
        Value::Number(self.0.clone())
    }
}

impl From<u8> for Score {
    fn from(whole: u8) -> Self {
        Self(whole.into())
    }
}

/// For people: of a number of very many digits the first.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        match text.get(..SHOWN_BYTES) {
            Some(begin) if begin.len() < text.len() => write!(f, "{begin}…"),
            _ => f.write_str(&text),
        }
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, other) = (self.0.to_string(), other.0.to_string());
        Decimal::from_text(&one).cmp(&Decimal::from_text(&other))
    }
}

/// A JSON number taken apart. Zero has no digits and no sign.
#[derive(PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// Without zeros at either end.
    digits: String,
    /// How many digits stand before the point; fewer than none where zeros stand behind it.
    before: i64,
}

impl Decimal {
    fn from_text(text: &str) -> Self {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // An exponent of that size decides alone.
        let far = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let exponent = exponent.parse().unwrap_or(far).clamp(i64::MIN / 2, i64::MAX / 2);
        let all = format!("{whole}{part}");
        let digits = all.trim_start_matches('0');
        let size = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX / 4);
        let before = size(whole) - (size(&all) - size(digits)) + exponent;
        let digits = digits.trim_end_matches('0').to_owned();
        match digits.is_empty() {
            true => Self { is_negative: false, digits, before: 0 },
            false => Self { is_negative, digits, before },
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        // What is larger without its sign: nothing is the least, then the place of the first digit.
        let size = |d: &Self| (!d.digits.is_empty(), d.before, d.digits.clone());
        match (self.is_negative, other.is_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(self).cmp(&size(other)),
            (true, true) => size(other).cmp(&size(self)),
        }
    }
}

/// Between which scores a text passes, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thresholds {
    min: Option<Score>,
    max: Option<Score>,
}

impl Thresholds {
    /// Without either, nothing but 1 passes.
    ///
    /// # Errors
    /// A clause, if no score could pass.
    pub(crate) fn new(min: Option<Score>, max: Option<Score>) -> Result<Self, String> {
        match (min, max) {
            (None, None) => Ok(Self { min: Some(Score::from(1)), max: None }),
            (Some(min), Some(max)) if min > max => {
                Err(format!("no score is at least {min} and at most {max}"))
            }
            (min, max) => Ok(Self { min, max }),
        }
    }

    /// Why a score does not pass, as a clause.
    pub(crate) fn miss(&self, score: &Score) -> Option<String> {
        let below = self.min.as_ref().filter(|min| score < min);
        let above = self.max.as_ref().filter(|max| score > max);
        below
            .map(|min| format!("is less than {min}"))
            .or_else(|| above.map(|max| format!("is more than {max}")))
    }

    /// `min_score` and `max_score`, null where there is none.
    pub(crate) fn to_json(&self) -> [(String, Value); 2] {
        let number = |score: &Option<Score>| score.as_ref().map_or(Value::Null, Score::to_json);
        [("min_score".into(), number(&self.min)), ("max_score".into(), number(&self.max))]
    }
}

impl fmt::Display for Thresholds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.min, &self.max) {
            (Some(min), Some(max)) => write!(f, "from {min} to {max}"),
            (Some(min), None) => write!(f, "at least {min}"),
            (None, Some(max)) => write!(f, "at most {max}"),
            (None, None) => f.write_str("any"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::{Decimal, Score, Thresholds};

    #[test]
    fn numbers_are_compared_to_the_digit() {
        for (one, order, other) in [
            ("1", Ordering::Equal, "1.0"),
            ("1", Ordering::Equal, "10e-1"),
            ("0.5", Ordering::Equal, "5E-1"),
            ("0", Ordering::Equal, "-0.0e9"),
            ("0.8", Ordering::Less, "0.80000000000000000000001"),
            ("1", Ordering::Less, "1.0000000000000000000000001"),
            ("-1e-400", Ordering::Less, "0"),
            ("1e-400", Ordering::Greater, "0"),
            ("1e400", Ordering::Greater, "1"),
            ("1e99999999999999999999", Ordering::Greater, "1"),
            ("1e-99999999999999999999", Ordering::Less, "0.1"),
            ("-0.2", Ordering::Less, "-0.1"),
            ("0.09", Ordering::Less, "0.1"),
        ] {
            assert_eq!(
                Decimal::from_text(one).cmp(&Decimal::from_text(other)),
                order,
                "{one} {other}"
            );
            assert_eq!(
                Decimal::from_text(other).cmp(&Decimal::from_text(one)),
                order.reverse(),
                "{other} {one}"
            );
        }
    }

    proptest! {
        #[test]
        fn floats_are_ordered_as_floats_are(one in -2.0_f64..2.0, other in -2.0_f64..2.0) {
            let text = |float: f64| serde_json::to_string(&float).unwrap();
            let order = Decimal::from_text(&text(one)).cmp(&Decimal::from_text(&text(other)));
            prop_assert_eq!(Some(order), one.partial_cmp(&other));
        }
    }

    #[test]
    fn thresholds_are_part_of_what_passes() {
        let score = |text: &str| Score::typed(text).unwrap();
        let rows = [
            (None, None, "1", true),
            (None, None, "1.000", true),
            (None, None, "0.99999999999999999999999", false),
            (Some("0.8"), None, "0.8", true),
            (Some("0.8"), None, "0.80", true),
            (Some("0.8"), None, "0.7999999999999999999999999", false),
            (None, Some("0.2"), "0.2", true),
            (None, Some("0.2"), "0", true),
            (None, Some("0.2"), "0.2000000000000000000000001", false),
            (Some("0.5"), Some("0.5"), "5e-1", true),
            (Some("0.5"), Some("0.6"), "0.7", false),
            (Some("0.5"), Some("0.6"), "0.4", false),
        ];
        for (min, max, given, passes) in rows {
            let bounds = Thresholds::new(min.map(score), max.map(score)).unwrap();
            assert_eq!(bounds.miss(&score(given)).is_none(), passes, "{min:?} {max:?} {given}");
        }
        assert!(Thresholds::new(Some(score("0.6")), Some(score("0.5"))).is_err());
        for bad in ["", "x", "-0.1", "1.1", "NaN", "inf", "\"1\"", "true", "1e400", "0.5 0.6"] {
            assert!(Score::typed(bad).is_err(), "{bad}");
        }
    }
}
