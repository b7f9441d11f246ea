//! Money as whole millionths of one unit of a currency, so that no sum is ever rounded.

use super::canon::SAFE;

/// Millionths of one unit of a currency.
pub(crate) const MICROS: u64 = 1_000_000;

/// The amount that a decimal such as `5`, `0.25` or `12.000001` says, in millionths.
///
/// `None` for everything else: a sign, an exponent, a part that is smaller than a millionth, and an
/// amount that not every reader of JSON holds exactly.
pub(crate) fn micros(text: &str) -> Option<u64> {
    if !is_amount(text) {
        return None;
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = part.trim_end_matches('0');
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    let amount = whole.parse::<u64>().ok()?.checked_mul(MICROS)?.checked_add(part)?;
    (amount <= SAFE).then_some(amount)
}

/// Returns true if a text is such a decimal, however large.
pub(crate) fn is_amount(text: &str) -> bool {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number(whole) && is_number(part) && part.trim_end_matches('0').len() <= 6
}

/// The cost of so many tokens at a price for a million of them, rounded up to a millionth.
pub(crate) fn cost(tokens: u64, per_million: u64) -> u64 {
    let product = u128::from(tokens) * u128::from(per_million);
    u64::try_from(product.div_ceil(u128::from(MICROS))).unwrap_or(u64::MAX)
}

/// An amount in millionths as a decimal with at least two places.
pub(crate) fn shown(micros: u64) -> String {
    let (whole, part) = (micros / MICROS, format!("{:06}", micros % MICROS));
    let places = part.trim_end_matches('0').len().max(2);
    format!("{whole}.{}", &part[..places])
}

#[cfg(test)]
mod tests {
    use super::{cost, micros, shown};

    #[test]
    fn amounts_are_exact_or_refused() {
        for (text, want) in [
            ("0", Some(0)),
            ("5", Some(5_000_000)),
            ("5.0", Some(5_000_000)),
            ("0.25", Some(250_000)),
            ("0.000001", Some(1)),
            ("1.0000000", Some(1_000_000)),
            ("9007199254.740991", Some(9_007_199_254_740_991)),
            ("9007199254.740992", None),
            ("0.0000001", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("1e999", None),
            ("NaN", None),
            ("", None),
            (".5", None),
            ("5.", None),
            ("1.2.3", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(micros(text), want, "{text:?}");
        }
    }

    #[test]
    fn a_cost_is_rounded_up_and_never_wraps() {
        for (tokens, price, want) in [
            (0, 3_000_000, 0),
            (1, 1, 1),
            (1_000_000, 3_000_000, 3_000_000),
            (1, 3_000_000, 3),
            (3, 500_000, 2),
            (u64::MAX, u64::MAX, u64::MAX),
        ] {
            assert_eq!(cost(tokens, price), want, "{tokens} at {price}");
        }
        assert_eq!([shown(0), shown(5_000_000), shown(1)], ["0.00", "5.00", "0.000001"]);
    }
}
