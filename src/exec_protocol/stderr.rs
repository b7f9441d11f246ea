//! The words of a program on standard error: they go to the log line by line, and the last of them
//! into the message of a failure.
//!
//! The text is kept as it was said, and masked when it is shown: a secret that comes in two pieces,
//! or has several lines, is found in the whole. The text that is shown names the files that the
//! author has.

use crate::base::limits::{NOTE_LINES, STDERR_TAIL};
use crate::base::text::escape_line;
use crate::execute::{AuthorsPaths, Mask};
use crate::id::Ref;

/// The log of one program, bounded in lines and in what is kept.
#[derive(Default)]
pub(crate) struct StderrLog {
    /// The last of what was said, secrets and all.
    said: Vec<u8>,
    /// Something was said before that, and is kept no more.
    is_cut: bool,
    /// How much of it was offered to the log.
    told: usize,
    lines: usize,
    paths: AuthorsPaths,
}

/// More than the tail, since a mask may be shorter than its secret.
const KEPT: usize = 4 * STDERR_TAIL;

impl StderrLog {
    /// Of a program that runs private copies of these files.
    pub(crate) fn new(paths: AuthorsPaths) -> Self {
        Self { paths, ..Self::default() }
    }

    /// As [`Self::new`], but for a program whose first words are not known.
    pub(crate) fn amid(paths: AuthorsPaths) -> Self {
        Self { is_cut: true, ..Self::new(paths) }
    }

    /// Takes what was said.
    pub(crate) fn take(&mut self, item: &Ref, bytes: &[u8], mask: &Mask) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            for piece in piece.chunks(STDERR_TAIL) {
                self.said.extend_from_slice(piece);
                if piece.ends_with(b"\n") || self.said.len() - self.told >= STDERR_TAIL {
                    self.end_line(item, mask);
                }
            }
        }
    }

    fn end_line(&mut self, item: &Ref, mask: &Mask) {
        self.lines += 1;
        let start = self.told.max(self.known(mask));
        if self.lines <= NOTE_LINES {
            let context = &self.said[start.saturating_sub(mask.reach())..];
            // What may be the beginning of a secret that has not come yet is masked too.
            let from = context.len() - (self.said.len() - start);
            let line = self.paths.bytes(&mask.after(context, from, true));
            tracing::info!(%item, "stderr: {}", escape_line(String::from_utf8_lossy(&line).trim_end()));
        } else if self.lines == NOTE_LINES + 1 {
            tracing::info!(%item, "stderr: more than {NOTE_LINES} lines; no more of them here");
        }
        let kept = KEPT + mask.reach();
        if self.said.len() > 2 * kept {
            self.said.drain(..self.said.len() - kept);
            self.is_cut = true;
        }
        self.told = self.said.len();
    }

    /// Where what may be shown begins: what is before it may be the end of a secret.
    fn known(&self, mask: &Mask) -> usize {
        if self.is_cut { mask.reach().min(self.said.len()) } else { 0 }
    }

    /// The last of what was said; of a program that `may_go_on` the end may be part of a secret.
    pub(crate) fn tail(&mut self, item: &Ref, mask: &Mask, may_go_on: bool) -> String {
        if self.told < self.said.len() {
            self.end_line(item, mask);
        }
        let shown = self.paths.bytes(&mask.after(&self.said, self.known(mask), may_go_on));
        let from = shown.len().saturating_sub(STDERR_TAIL);
        String::from_utf8_lossy(&shown[from..]).into_owned()
    }

    /// From here on lines reach the log again.
    pub(super) fn begin_call(&mut self) {
        self.lines = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, StderrLog};
    use crate::execute::{AuthorsPaths, Mask};

    #[test]
    fn f08_wherever_a_stream_is_cut_no_part_of_a_secret_is_in_its_tail() {
        let item = "tool:acme/x".parse().unwrap();
        let secret = "12345\n67890\nABCDE";
        let mask = Mask::new([secret].into_iter());
        for before in [0, 1, 4_080, 4_096, 2 * KEPT - 9, 2 * KEPT, 2 * KEPT + 31] {
            for cut in 1..secret.len() {
                let mut stderr_log = StderrLog::default();
                stderr_log.take(&item, "x".repeat(before).as_bytes(), &mask);
                stderr_log.take(&item, &secret.as_bytes()[..cut], &mask);
                let amid = stderr_log.tail(&item, &mask, true);
                stderr_log.take(&item, &secret.as_bytes()[cut..], &mask);
                let tail = stderr_log.tail(&item, &mask, false);
                for told in [amid, tail] {
                    let rest = told.trim_start_matches('x');
                    assert_eq!(rest, "***", "{before} {cut}");
                }
                let mut stderr_log = StderrLog::amid(AuthorsPaths::default());
                stderr_log.take(
                    &item,
                    &[&secret.as_bytes()[cut..], b"y\n", &[b'x'; 60]].concat(),
                    &mask,
                );
                let told = stderr_log.tail(&item, &mask, false);
                assert!(told.chars().all(|told| "xy\n".contains(told)), "{cut}: {told}");
            }
        }
    }

    #[test]
    fn of_a_flood_the_end_is_kept() {
        let item = "tool:acme/x".parse().unwrap();
        let mask = Mask::new(["hush"].into_iter());
        let mut stderr_log = StderrLog::default();
        for at in 0..100_000 {
            stderr_log.take(&item, format!("hush {at}\n").as_bytes(), &mask);
            assert!(stderr_log.said.len() <= 2 * (KEPT + 3) + 16);
        }
        let tail = stderr_log.tail(&item, &mask, false);
        assert!(tail.ends_with("*** 99999\n") && tail.len() == 4 << 10, "{tail}");
    }
}
