//! The connection of a caller. Bytes that are not HTTP get a reason, as every other refusal has
//! one: the library answers them with a status alone. One who reads nothing for a while loses it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::diagnostic::Diagnostic;
use crate::remote::RemoteError;
use crate::report::error_json;

/// How the library begins an answer of its own to a request that it cannot read; no answer of the
/// node itself is empty with these statuses.
const OWN: [&[u8]; 3] = [b"HTTP/1.1 400 ", b"HTTP/1.1 414 ", b"HTTP/1.1 431 "];

/// How long a caller may take no byte of its answer.
const STALLED: Duration = Duration::from_secs(30);

/// See the module.
pub(super) struct CallerStream<S> {
    stream: S,
    /// The rest of an answer that is sent instead of the library's.
    left: Vec<u8>,
    /// Ends when the caller has taken nothing for too long.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> CallerStream<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, left: Vec::new(), stalled: None }
    }

    /// The outcome of a write; an error if the caller took nothing for too long.
    fn unless_stalled<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALLED)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// The whole answer for an empty one of the library.
fn with_reason(bytes: &[u8]) -> Option<Vec<u8>> {
    OWN.iter().find(|own| bytes.starts_with(own))?;
    let (status, fields) = std::str::from_utf8(bytes).ok()?.split_once("\r\n")?;
    let is_empty = fields.to_ascii_lowercase().contains("content-length: 0\r\n");
    if !is_empty || !fields.ends_with("\r\n\r\n") {
        return None;
    }
    let refusal = RemoteError::bad_request("it is not HTTP/1.1, or its head is too long");
    let told = error_json(&Diagnostic::from(&refusal), None, &[], std::time::Duration::ZERO, None);
    let body = told.to_string();
    let answer = format!(
        "{status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    Some(answer.into_bytes())
}

impl<S: AsyncRead + Unpin> AsyncRead for CallerStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> CallerStream<S> {
    /// Writes what is left.
    fn poll_left(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.left.is_empty() {
            match Pin::new(&mut self.stream).poll_write(cx, &self.left) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => drop(self.left.drain(..count)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CallerStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = match this.poll_left(cx) {
            Poll::Ready(Ok(())) => match with_reason(bytes) {
                None => Pin::new(&mut this.stream).poll_write(cx, bytes),
                Some(whole) => {
                    this.left = whole;
                    Poll::Ready(Ok(bytes.len()))
                }
            },
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        };
        this.unless_stalled(cx, written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = match this.poll_left(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut this.stream).poll_flush(cx),
            other => other,
        };
        this.unless_stalled(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let ended = match this.poll_left(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut this.stream).poll_shutdown(cx),
            other => other,
        };
        this.unless_stalled(cx, ended)
    }
}
