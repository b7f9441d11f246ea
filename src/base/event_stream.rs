//! Server-sent events, read from bytes that come in pieces (WHATWG HTML, 9.2.6).
//!
//! A piece may end anywhere, also within a character or between a return and its line feed. The
//! stream's own fields (`id`, `retry`) are for a client that reconnects, which rye does not.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    /// The value of the field `event`; empty if there was none.
    pub(crate) kind: String,
    pub(crate) data: String,
}

/// More bytes came without an event than are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTooLong;

/// A stream as far as it was read.
pub(crate) struct EventStream {
    /// The line that has no end yet.
    line: Vec<u8>,
    kind: String,
    /// Each line of data with its line feed.
    data: String,
    /// A line feed that comes now belongs to the return before it.
    after_return: bool,
    is_first_line: bool,
    most: usize,
}

impl EventStream {
    /// A stream of which no event is longer than this, in bytes.
    pub(crate) fn new(most: usize) -> Self {
        let (line, kind, data) = (Vec::new(), String::new(), String::new());
        Self { line, kind, data, after_return: false, is_first_line: true, most }
    }

    /// The events that this piece ends, in their order.
    pub(crate) fn next(&mut self, mut piece: &[u8]) -> Result<Vec<ServerEvent>, EventTooLong> {
        let mut events = Vec::new();
        if self.after_return && !piece.is_empty() {
            self.after_return = false;
            piece = piece.strip_prefix(b"\n").unwrap_or(piece);
        }
        while let Some(end) = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.keep(&piece[..end])?;
            events.extend(self.end_line());
            let rest = &piece[end + 1..];
            piece = match (piece[end], rest) {
                (b'\r', []) => {
                    self.after_return = true;
                    rest
                }
                (b'\r', _) => rest.strip_prefix(b"\n").unwrap_or(rest),
                _ => rest,
            };
        }
        self.keep(piece)?;
        Ok(events)
    }

    /// Nothing of another event came behind the last one.
    pub(crate) fn is_between(&self) -> bool {
        self.line.is_empty() && self.data.is_empty()
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        if self.line.len() + self.data.len() + bytes.len() > self.most {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<ServerEvent> {
        let line = std::mem::take(&mut self.line);
        let is_first = std::mem::replace(&mut self.is_first_line, false);
        let line = line.strip_prefix("\u{feff}".as_bytes()).filter(|_| is_first).unwrap_or(&line);
        if line.is_empty() {
            let (kind, mut data) = (std::mem::take(&mut self.kind), std::mem::take(&mut self.data));
            return data.pop().map(|_| ServerEvent { kind, data });
        }
        let text = String::from_utf8_lossy(line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.kind),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            // A comment, a field for a client that reconnects, or an unknown field.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{EventStream, EventTooLong, ServerEvent};

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut stream = EventStream::new(1_000);
        let all = pieces.iter().flat_map(|piece| stream.next(piece).unwrap());
        all.map(|ServerEvent { kind, data }| (kind, data)).collect()
    }

    #[test]
    fn events_table_at_every_cut() {
        let rows: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("\n\n\n", &[]),
            (": keep\n\n", &[]),
            ("data: {}\n\n", &[("", "{}")]),
            ("data:{}\r\r", &[("", "{}")]),
            ("data: {}\r\n\r\n", &[("", "{}")]),
            ("data: a\r\ndata: b\rdata: c\n\r\n", &[("", "a\nb\nc")]),
            ("event: ping\n\ndata: x\n\n", &[("", "x")]),
            ("event: ping\ndata: x\n\ndata: y\n\n", &[("ping", "x"), ("", "y")]),
            ("event: a\nevent: b\ndata\n\n", &[("b", "")]),
            ("data:  two\n\n", &[("", " two")]),
            ("data: a: b\nid: 1\nretry: 9\nnobody: knows\n\n", &[("", "a: b")]),
            ("\u{feff}data: x\n\n\u{feff}data: y\n\n", &[("", "x")]),
            ("data: h\u{e9}\u{1f600}\n\n", &[("", "h\u{e9}\u{1f600}")]),
            ("data: unfinished\n", &[]),
            ("data: unfinished", &[]),
            ("Data: other\n\ndata : other\n\n", &[]),
        ];
        for (text, want) in rows {
            let want: Vec<_> =
                want.iter().map(|(kind, data)| ((*kind).to_owned(), (*data).to_owned())).collect();
            let bytes = text.as_bytes();
            assert_eq!(events(&[bytes]), want, "{text:?}");
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(events(&single), want, "{text:?} byte by byte");
            for cut in 0..=bytes.len() {
                let (first, rest) = bytes.split_at(cut);
                assert_eq!(events(&[first, &[], rest]), want, "{text:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_not_utf8_is_told_apart_and_an_event_too_long_is_refused_in_time() {
        assert_eq!(events(&[b"data: \xff\xc3", b"(\n\n"])[0].1, "\u{fffd}\u{fffd}(");
        let mut stream = EventStream::new(10);
        assert_eq!(stream.next(b"data: 1234\n"), Ok(Vec::new()));
        assert_eq!(stream.next(b"data: 5678"), Err(EventTooLong));
        let mut stream = EventStream::new(10);
        assert_eq!(stream.next(b"data: 12345"), Err(EventTooLong));
        let mut stream = EventStream::new(10);
        for _ in 0..1_000 {
            assert_eq!(stream.next(b"data: 1\n\n").unwrap().len(), 1);
        }
    }
}
