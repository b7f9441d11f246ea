//! Points in time, to the second, in UTC, in one spelling.

use std::fmt;
use std::str::FromStr;

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
            Ok(at) => write!(f, "{}", at.strftime("%Y-%m-%dT%H:%M:%SZ")),
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
        let at = fits.then(|| text.parse::<jiff::Timestamp>().ok()).flatten().ok_or(())?;
        let parsed = Self(at.as_second());
        // A leap second or an hour 24 would be read as another moment than it says.
        (parsed.to_string() == text).then_some(parsed).ok_or(())
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn only_the_one_spelling_is_read() {
        let good = "2026-11-20T08:09:10Z";
        assert_eq!(good.parse::<Timestamp>().unwrap().to_string(), good);
        for bad in [
            "2026-11-20T08:09:10",
            "2026-11-20 08:09:10Z",
            "2026-11-20T08:09:10.0Z",
            "2026-13-20T08:09:10Z",
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
