//! The differences between two texts, as a unified diff with three lines of context.

use std::time::Duration;

/// How long the smallest difference of two texts is looked for, in milliseconds: a person waits for
/// it.
const DIFF_MS: u64 = 2_000;

/// The diff of two texts of one file, each with what it is; empty if they are the same.
///
/// Lines end at a line feed alone, so that a carriage return is a character of its line. The best
/// diff of texts that share nothing takes a minute: after [`DIFF_MS`] a coarser one has to do,
/// which is as true.
pub(crate) fn unified(path: &str, (was, old): (&str, &str), (is, new): (&str, &str)) -> String {
    if old == new {
        return String::new();
    }
    let (old, new): (Vec<_>, Vec<_>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let diff = similar::TextDiff::configure()
        .timeout(Duration::from_millis(DIFF_MS))
        .newline_terminated(true)
        .diff_slices(&old, &new);
    let (was, is) = (format!("{path} ({was})"), format!("{path} ({is})"));
    diff.unified_diff().context_radius(3).header(&was, &is).to_string()
}

#[cfg(test)]
mod tests {
    use super::unified;
    use std::time::{Duration, Instant};

    /// The new text, made of the old one by a unified diff.
    fn patched(old: &str, diff: &str) -> String {
        let (mut rest, mut at, mut out) = (old.split_inclusive('\n'), 1, String::new());
        for line in diff.lines().skip(2) {
            if let Some(hunk) = line.strip_prefix("@@ -") {
                let from: usize = hunk.split([',', ' ']).next().unwrap().parse().unwrap();
                out.extend(rest.by_ref().take(from - at));
                at = from;
                continue;
            }
            let (sign, text) = line.split_at(1);
            if sign != "+" {
                assert_eq!(rest.next().map(str::trim_end), Some(text), "a line of the old text");
                at += 1;
            }
            if sign != "-" {
                out.push_str(text);
                out.push('\n');
            }
        }
        out.extend(rest);
        out
    }

    #[test]
    fn two_large_texts_that_share_little_are_compared_in_time_and_truly() {
        let mut dice: u32 = 7;
        let mut text = |lines: usize| -> String {
            let mut letter = || {
                dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ["a\n", "b\n", "c\n", "d\n"][(dice >> 16) as usize % 4]
            };
            (0..lines).map(|_| letter()).collect()
        };
        let (old, new) = (text(40), text(50));
        assert_eq!(patched(&old, &unified("x", ("was", &old), ("is", &new))), new, "a small one");
        let (old, new) = (text(1 << 20), text(1 << 20));
        let began = Instant::now();
        let diff = unified("x", ("was", &old), ("is", &new));
        // Without an end this takes many times as long.
        assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
        assert!(patched(&old, &diff) == new, "another text came out");
    }
}
