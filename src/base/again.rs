//! When a server is asked again that could not answer.

use std::time::Duration;

use super::durations::BACKOFF_MAX_MS;
use super::random;

/// The time that `Retry-After` gives, as seconds or as a date.
pub(crate) fn retry_after(text: &str) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More than a number holds is longer than anybody waits.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    let left = at.as_second() - jiff::Timestamp::now().as_second();
    Some(Duration::from_secs(u64::try_from(left).unwrap_or(0)))
}

/// Doubles with each try; between half of it and all of it, so that many callers do not come back
/// at once.
pub(crate) fn backoff(first: Duration, tries: u32) -> Duration {
    let most = Duration::from_millis(BACKOFF_MAX_MS);
    let whole = first.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(most);
    let mut part = [0; 2];
    // Without randomness the wait is the whole one.
    let share = match random::fill(&mut part) {
        Ok(()) => f64::from(u16::from_le_bytes(part)) / f64::from(u16::MAX),
        Err(_) => 1.0,
    };
    whole.mul_f64(0.5 + share / 2.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{backoff, retry_after};

    #[test]
    fn what_a_server_asks_for_is_a_number_of_seconds_or_a_date() {
        let seconds = |text: &str| retry_after(text).map(|wait| wait.as_secs());
        assert_eq!((seconds(" 3 "), seconds("0"), seconds("")), (Some(3), Some(0), None));
        assert_eq!(retry_after(&"9".repeat(40)), Some(Duration::from_secs(u64::MAX)));
        assert_eq!((seconds("-1"), seconds("1.5"), seconds("soon")), (None, None, None));
        assert_eq!(seconds("Wed, 21 Oct 2015 07:28:00 GMT"), Some(0), "long ago");
        let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(100);
        let date = later.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        assert!((90..=100).contains(&seconds(&date).unwrap()), "{date}");
    }

    #[test]
    fn a_wait_doubles_with_each_try_and_is_never_longer_than_the_most() {
        let first = Duration::from_millis(100);
        for (tries, most) in [(1, 100), (2, 200), (5, 1_600), (40, 30_000), (u32::MAX, 30_000)] {
            let wait = backoff(first, tries);
            let most = Duration::from_millis(most);
            assert!(wait >= most / 2 && wait <= most, "{tries}: {wait:?}");
        }
    }
}
