//! Numbers as they were written.

use std::fmt::Write as _;

use serde_json::Number;

/// Most digits of a number that is not decimal: changing its base takes quadratic time.
const RADIX_DIGITS: usize = 1024;

/// The JSON number that a decimal text means, with the digits of the text (an exponent
/// is given its sign).
///
/// More than JSON is understood: a leading `+`, leading zeros, and a point with digits on one side
/// only. Nothing else is: no underscores, no `inf`, no `nan`.
pub(crate) fn decimal(text: &str) -> Option<Number> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction.unwrap_or("")) {
        return None;
    }
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    let mut json = format!("{sign}{whole}");
    if let Some(fraction) = fraction {
        let _ = write!(json, ".{}", if fraction.is_empty() { "0" } else { fraction });
    }
    json.push_str(exponent);
    json.parse().ok()
}

/// The number that `digits` write in base 2, 8 or 16, however large.
pub(crate) fn radix(digits: &str, radix: u32, negative: bool) -> Option<Number> {
    const BASE: u64 = 1_000_000_000;
    if digits.is_empty() || digits.len() > RADIX_DIGITS {
        return None;
    }
    // Limbs of nine decimal digits, the lowest first.
    let mut limbs: Vec<u64> = vec![0];
    for digit in digits.chars() {
        let mut carry = u64::from(digit.to_digit(radix)?);
        for limb in &mut limbs {
            let sum = *limb * u64::from(radix) + carry;
            (*limb, carry) = (sum % BASE, sum / BASE);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut text = String::from(if negative { "-" } else { "" });
    let mut limbs = limbs.iter().rev();
    let _ = write!(text, "{}", limbs.next()?);
    for limb in limbs {
        let _ = write!(text, "{limb:09}");
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{decimal, radix};

    #[test]
    fn decimals_keep_their_digits() {
        let rows = [
            ("0", "0"),
            ("-7", "-7"),
            ("+7", "7"),
            ("1.50", "1.50"),
            (".5", "0.5"),
            ("-.5e3", "-0.5e+3"),
            ("5.", "5.0"),
            ("007.5", "7.5"),
            ("1e999", "1e+999"),
            ("1E-5", "1e-5"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        ];
        for (text, want) in rows {
            assert_eq!(decimal(text).map(|n| n.to_string()).as_deref(), Some(want), "{text:?}");
        }
        for bad in [
            "", ".", "+", "-", "--1", "+-1", "1_0", "1e", "e5", "inf", "nan", "0x1", "1.2.3", "1 ",
            "١",
        ] {
            assert_eq!(decimal(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn other_bases_table() {
        let rows = [
            ("ff", 16, "255"),
            ("0", 2, "0"),
            ("777", 8, "511"),
            ("1000000000", 16, "68719476736"),
        ];
        for (digits, base, want) in rows {
            assert_eq!(radix(digits, base, false).map(|n| n.to_string()).as_deref(), Some(want));
        }
        let big = radix("ffffffffffffffffffffffffffffffffff", 16, true).map(|n| n.to_string());
        assert_eq!(big.as_deref(), Some("-87112285931760246646623899502532662132735"));
        assert_eq!(radix("9", 8, false), None);
        assert_eq!(radix("", 16, false), None);
        assert_eq!(radix(&"f".repeat(2000), 16, false), None);
    }
}
