//! Lines out of bytes as they come, each of them bounded.

/// Gathers bytes and gives whole lines, without their line feed.
#[derive(Debug)]
pub(crate) struct Framer {
    bytes: Vec<u8>,
    /// Where the part of `bytes` begins that was not given yet.
    from: usize,
    /// Up to here there is no line feed.
    seen: usize,
    cap: usize,
}

/// The result of [`Framer::next_line`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FramedLine<'b> {
    Whole(&'b [u8]),
    /// A line is longer than is allowed; nothing behind its begin can be told apart.
    TooLong,
}

impl Framer {
    /// Lines of at most `cap` bytes.
    pub(crate) fn new(cap: usize) -> Self {
        Self { bytes: Vec::new(), from: 0, seen: 0, cap }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.from > 0 {
            self.bytes.drain(..self.from);
            self.seen -= self.from;
            self.from = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next line; `None` if more bytes are needed first.
    pub(crate) fn next_line(&mut self) -> Option<FramedLine<'_>> {
        let end = self.bytes[self.seen..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end.map(|end| self.seen + end) else {
            self.seen = self.bytes.len();
            return (self.bytes.len() - self.from > self.cap).then_some(FramedLine::TooLong);
        };
        let start = self.from;
        self.from = end + 1;
        self.seen = self.from;
        let whole = &self.bytes[start..end];
        Some(if whole.len() > self.cap { FramedLine::TooLong } else { FramedLine::Whole(whole) })
    }
}

#[cfg(test)]
mod tests {
    use super::{FramedLine, Framer};

    fn lines(pieces: &[&[u8]], cap: usize) -> Vec<Option<Vec<u8>>> {
        let mut framer = Framer::new(cap);
        let mut out = Vec::new();
        for piece in pieces {
            framer.push(piece);
            while let Some(line) = framer.next_line() {
                out.push(match line {
                    FramedLine::Whole(line) => Some(line.to_vec()),
                    FramedLine::TooLong => None,
                });
                if out.last() == Some(&None) {
                    return out;
                }
            }
        }
        out
    }

    #[test]
    fn lines_are_the_same_however_the_bytes_are_cut() {
        let text = b"one\n\ntwo two\nrest";
        let want = vec![Some(b"one".to_vec()), Some(Vec::new()), Some(b"two two".to_vec())];
        for size in 1..=text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(lines(&pieces, 8), want, "{size}");
        }
    }

    #[test]
    fn a_line_over_the_cap_is_told_before_it_ends() {
        assert_eq!(lines(&[b"12345678\n", b"123456789"], 8), [Some(b"12345678".to_vec()), None]);
        assert_eq!(lines(&[b"123456789\n"], 8), [None]);
    }
}
