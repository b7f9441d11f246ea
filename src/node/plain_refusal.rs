//! Answers to bytes that are not HTTP: the library gives a status alone, and a
//! client of a node expects a reason as for every other refusal.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::diagnostic::Diagnostic;
use crate::remote::RemoteError;
use crate::report::error_json;

/// How the library begins an answer of its own to a request that it cannot read; no answer of the
/// node itself is empty with these statuses.
const OWN: [&[u8]; 3] = [b"HTTP/1.1 400 ", b"HTTP/1.1 414 ", b"HTTP/1.1 431 "];

/// A connection on which empty refusals of the library get a body.
pub(super) struct WithReason<S> {
    stream: S,
    /// The rest of an answer that is sent instead of the library's.
    left: Vec<u8>,
}

impl<S> WithReason<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, left: Vec::new() }
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

impl<S: AsyncRead + Unpin> AsyncRead for WithReason<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> WithReason<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for WithReason<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match this.poll_left(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        }
        let Some(whole) = with_reason(bytes) else {
            return Pin::new(&mut this.stream).poll_write(cx, bytes);
        };
        this.left = whole;
        match this.poll_left(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.poll_left(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut this.stream).poll_flush(cx),
            other => other,
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.poll_left(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut this.stream).poll_shutdown(cx),
            other => other,
        }
    }
}
