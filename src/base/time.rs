//! Points in time, to the second, in UTC, in one spelling; and times that pass, with their units.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Seconds since 1970 in UTC; printed and read as `YYYY-MM-DDTHH:MM:SSZ` and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Timestamp(i64);

impl Timestamp {
    pub(crate) fn from_second(second: i64) -> Self {
        Self(second)
    }

    pub(crate) fn as_second(self) -> i64 {
        self.0
    }

    /// The day alone, as people are shown it.
    pub(crate) fn day(self) -> String {
        self.to_string().chars().take(10).collect()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(at) => {
                let at = TimeZone::UTC.to_datetime(at);
                let (year, month, day) = (at.year(), at.month(), at.day());
                let (hour, minute, second) = (at.hour(), at.minute(), at.second());
                write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
            }
            Err(_) => f.write_str("9999-12-31T23:59:59Z"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let shape = b"0000-00-00T00:00:00Z";
        let fits = text.len() == shape.len()
            && text.bytes().zip(shape).all(|(got, want)| match want {
                b'0' => got.is_ascii_digit(),
                sign => got == *sign,
            });
        if !fits {
            return Err(());
        }
        let two = |at: usize| text[at..at + 2].parse::<i8>().map_err(|_| ());
        let year = text[..4].parse().map_err(|_| ())?;
        // Knows neither a leap second nor an hour 24, which are other moments than they say.
        let at = DateTime::new(year, two(5)?, two(8)?, two(11)?, two(14)?, two(17)?, 0);
        let at = at.and_then(|at| TimeZone::UTC.to_timestamp(at)).map_err(|_| ())?;
        Ok(Self(at.as_second()))
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse()
            .map_err(|()| serde::de::Error::custom("not a time such as 2026-01-31T12:00:00Z"))
    }
}

/// A time that passes, for people: `250 ms`, `1.5 s`, `30 s`, `10 min`, `2 h`; a measured one that
/// is longer without its fraction, `2 min 5 s`.
pub(crate) fn time_text(time: Duration) -> String {
    let seconds = time.as_secs();
    match time.subsec_nanos() {
        0 if seconds >= 7200 && seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        0 if seconds >= 120 && seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        0 => format!("{seconds} s"),
        _ if seconds == 0 => format!("{} ms", time.as_millis()),
        _ if seconds >= 120 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// How a time is written, for messages.
pub(crate) const TIME_FORMS: &str = "a number of seconds, or such as `500ms`, `10s`, `2m`, `1h`";

/// A time as it is written: a number with its unit, such as `500ms`, `10s`, `2m` or `1h30m`. `None`
/// for what is not a time, or not one that can pass.
pub(crate) fn time_with_unit(text: &str) -> Option<Duration> {
    // The library reads more, such as `5 seconds` and `PT5S`, which rye does not document.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".hms".contains(&byte));
    if !is_plain || !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let time: jiff::SignedDuration = text.parse().ok()?;
    Duration::try_from(time).ok().filter(|time| !time.is_zero())
}

/// A time where all is text: a number of seconds, or one with its unit.
pub(crate) fn time_from_text(text: &str) -> Option<Duration> {
    let Ok(seconds) = text.parse::<f64>() else { return time_with_unit(text) };
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}

/// A time of a signed file: a number of seconds, or a text with a unit. `None` for what is not a
/// time from a millisecond up to `most`.
pub(crate) fn time_from_value(value: &Value, most: Duration) -> Option<Duration> {
    let time = match value {
        Value::String(text) => time_with_unit(text)?,
        number => Duration::try_from_secs_f64(number.as_f64()?).ok()?,
    };
    (Duration::from_millis(1)..=most).contains(&time).then_some(time)
}

/// A time that a signed file may give in two ways: `timeout: 90s`, or `timeout_ms: 90000`.
pub(crate) struct TimeKey {
    /// The pointer to the first; its last part is the key.
    pub(crate) pointer: &'static str,
    /// The pointer to the second, a whole number of `unit`.
    pub(crate) bare: &'static str,
    pub(crate) unit: Duration,
    pub(crate) most: Duration,
}

impl TimeKey {
    /// In milliseconds up to `most_ms`.
    pub(crate) const fn of_ms(pointer: &'static str, bare: &'static str, most_ms: u64) -> Self {
        let (unit, most) = (Duration::from_millis(1), Duration::from_millis(most_ms));
        Self { pointer, bare, unit, most }
    }

    /// The time that a mapping gives, looked up by `get`; `None` if it gives none.
    ///
    /// # Errors
    /// The pointer to the wrong value, and a sentence without its subject.
    pub(crate) fn read<'v>(
        &self,
        get: impl Fn(&str) -> Option<&'v Value>,
    ) -> Result<Option<Duration>, (&'static str, String)> {
        let at = |pointer: &'static str| {
            get(pointer.rsplit('/').next().unwrap_or(pointer)).filter(|value| !value.is_null())
        };
        match (at(self.pointer), at(self.bare)) {
            (None, None) => Ok(None),
            (Some(value), None) => time_from_value(value, self.most).map(Some).ok_or_else(|| {
                let why = format!("is not a time up to {}: {TIME_FORMS}", time_text(self.most));
                (self.pointer, why)
            }),
            (None, Some(value)) => {
                let most = self.most.as_millis() / self.unit.as_millis();
                let whole = value.as_u64().filter(|it| (1..=most).contains(&u128::from(*it)));
                let time = whole.and_then(|it| self.unit.checked_mul(u32::try_from(it).ok()?));
                let why = || (self.bare, format!("is not a whole number from 1 to {most}"));
                time.map(Some).ok_or_else(why)
            }
            (Some(_), Some(_)) => {
                let bare = self.bare.rsplit('/').next().unwrap_or(self.bare);
                Err((self.pointer, format!("stands beside `{bare}`")))
            }
        }
    }
}

/// Milliseconds, the fraction of one left out.
pub(crate) fn as_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Timestamp, time_text, time_with_unit};

    #[test]
    fn a_time_is_read_with_its_unit_and_shown_with_one() {
        let rows = [
            ("500ms", 500, "500 ms"),
            ("10s", 10_000, "10 s"),
            ("1.5s", 1_500, "1.5 s"),
            ("125.25s", 125_250, "2 min 5 s"),
            ("90s", 90_000, "90 s"),
            ("2m", 120_000, "2 min"),
            ("1h30m", 5_400_000, "90 min"),
            ("24h", 86_400_000, "24 h"),
        ];
        for (text, ms, shown) in rows {
            let time = Duration::from_millis(ms);
            assert_eq!((time_with_unit(text), time_text(time)), (Some(time), shown.to_owned()));
        }
        for bad in [
            "",
            "10",
            "s",
            "-5s",
            "0s",
            "5 bananas",
            "10s ago",
            "1y",
            "5 seconds",
            "5seconds",
            "5S",
            "PT5S",
            "1:30:00",
            "5µs",
            "1.2.3s",
            "5 s",
            " 5s",
            "1e9s",
            "٥s",
            "m",
            ".",
            "1h1h",
        ] {
            assert_eq!(time_with_unit(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_the_one_spelling_is_read() {
        let rows = [
            ("2026-11-20T08:09:10Z", 1_795_162_150),
            ("2024-02-29T23:59:59Z", 1_709_251_199),
            ("1970-01-01T00:00:00Z", 0),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
        ];
        for (good, second) in rows {
            let read = good.parse::<Timestamp>().unwrap();
            assert_eq!((read.as_second(), read.to_string().as_str()), (second, good));
        }
        for bad in [
            "2026-11-20T08:09:10",
            "2026-11-20 08:09:10Z",
            "2026-11-20T08:09:10.0Z",
            "2026-13-20T08:09:10Z",
            "2026-02-29T08:09:10Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T08:09:60Z",
            "2026-11-20T08:09:10+00:00",
            "",
            "+026-11-20T08:09:10Z",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad:?}");
        }
    }
}
