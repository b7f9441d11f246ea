//! The head of the one request that a connection of the child carries, read and judged as bytes
//! before it is parsed: what a parser would forgive, two readers may read in two ways.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;

use super::child::ChildWire;
use crate::base::durations::PROXY_HEAD_MS;
use crate::base::limits::PROXY_HEAD_BYTES;

/// A connection of which a beginning was read, and is read again.
pub(super) struct Begun {
    stream: ChildWire,
    first: Vec<u8>,
    /// So much of it was read again.
    at: usize,
}

/// Why a head is not passed to the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadHead {
    /// It did not come: the child left, or was too slow.
    Missing,
    TooLong,
    /// A line ends in another way than by CR and LF.
    LineEnd,
    /// It says more than once how long the body is.
    Length,
}

impl BadHead {
    /// The answer, if anybody waits for one.
    fn answer(self) -> Option<String> {
        let (status, text) = match self {
            Self::Missing => return None,
            Self::TooLong => {
                ("431 Request Header Fields Too Large", "the head of the request is too long")
            }
            Self::LineEnd => ("400 Bad Request", "a line of the request does not end with CR LF"),
            Self::Length => ("400 Bad Request", "the request says twice how long its body is"),
        };
        let body = format!("rye: {text}\n");
        Some(format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }
}

/// The connection once its first head is there and can be read in one way only. A client that sent
/// another is answered here.
pub(super) async fn begun(mut stream: ChildWire) -> Result<Begun, BadHead> {
    let mut first = Vec::new();
    let reading = timeout(Duration::from_millis(PROXY_HEAD_MS), whole(&mut stream, &mut first));
    let judged = match reading.await {
        Ok(Ok(head)) => judge(&first[..head]),
        Ok(Err(bad)) => Err(bad),
        Err(_) => Err(BadHead::Missing),
    };
    if let Err(bad) = judged {
        if let Some(answer) = bad.answer() {
            // The child may have gone.
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        return Err(bad);
    }
    Ok(Begun { stream, first, at: 0 })
}

/// Reads a whole head, and perhaps some of what is behind it; its length.
async fn whole(stream: &mut ChildWire, first: &mut Vec<u8>) -> Result<usize, BadHead> {
    let mut seen = 0;
    loop {
        if let Some(end) = ended(first, seen)? {
            return Ok(end);
        }
        if first.len() >= PROXY_HEAD_BYTES {
            return Err(BadHead::TooLong);
        }
        seen = first.len().saturating_sub(3);
        let room = (PROXY_HEAD_BYTES - first.len()) as u64;
        if stream.take(room).read_buf(first).await.map_err(|_| BadHead::Missing)? == 0 {
            return Err(BadHead::Missing);
        }
    }
}

/// Where the head ends, if it does. Of what was read, `seen` was looked at; the last three bytes
/// of that are looked at again.
pub(super) fn ended(first: &[u8], seen: usize) -> Result<Option<usize>, BadHead> {
    let new = &first[seen..];
    if let Some(end) = new.windows(4).position(|four| four == b"\r\n\r\n") {
        return Ok(Some(seen + end + 4));
    }
    // A head of other lines would never end.
    match new.windows(2).any(|two| two[1] == b'\n' && two[0] != b'\r') {
        true => Err(BadHead::LineEnd),
        false => Ok(None),
    }
}

/// Checks that a head can be read in one way only.
pub(super) fn judge(head: &[u8]) -> Result<(), BadHead> {
    let is_bare = |two: &[u8]| (two[0] == b'\r') != (two[1] == b'\n');
    if head.first() == Some(&b'\n') || head.windows(2).any(is_bare) {
        return Err(BadHead::LineEnd);
    }
    let says_length = |line: &&[u8]| {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default().trim_ascii();
        [&b"content-length"[..], b"transfer-encoding"]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own))
    };
    match head.split(|byte| *byte == b'\n').filter(says_length).count() {
        0 | 1 => Ok(()),
        _ => Err(BadHead::Length),
    }
}

impl AsyncRead for Begun {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.at == self.first.len() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        let rest = &self.first[self.at..];
        let piece = &rest[..rest.len().min(into.remaining())];
        into.put_slice(piece);
        self.at += piece.len();
        if self.at == self.first.len() {
            (self.first, self.at) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Begun {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::{BadHead, judge};

    #[test]
    fn a_head_that_two_readers_read_in_two_ways_is_not_parsed_table() {
        for (head, want) in [
            ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", Ok(())),
            ("GET / HTTP/1.1\r\n\r\n", Ok(())),
            ("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", Ok(())),
            ("POST / HTTP/1.1\r\nX-Content-Length: 1\r\nContent-Length: 1\r\n\r\n", Ok(())),
            ("POST / HTTP/1.1\r\nX: Content-Length: 1\r\nContent-Length: 1\r\n\r\n", Ok(())),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                Err(BadHead::Length),
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n",
                Err(BadHead::Length),
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length : 1\r\nContent-Length: 1\r\n\r\n",
                Err(BadHead::Length),
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                Err(BadHead::Length),
            ),
            (
                "P / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
                Err(BadHead::Length),
            ),
            ("GET / HTTP/1.1\nHost: h\r\n\r\n", Err(BadHead::LineEnd)),
            ("GET / HTTP/1.1\r\nX: a\rb\r\n\r\n", Err(BadHead::LineEnd)),
            ("GET / HTTP/1.1\r\nX: a\r\r\n\r\n", Err(BadHead::LineEnd)),
            ("\nGET / HTTP/1.1\r\n\r\n", Err(BadHead::LineEnd)),
        ] {
            assert_eq!(judge(head.as_bytes()), want, "{head:?}");
        }
    }
}
