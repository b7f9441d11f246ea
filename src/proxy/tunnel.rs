//! The copy loop of a tunnel: both ways at once until both are done, every byte counted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, copy_bidirectional_with_sizes};

use super::message::Count;
use super::reach::Wire;

#[cfg(feature = "http")]
const PROXY_DOWN_BYTES: usize = 256 << 10;

/// Bytes that a run's proxy reads at once of a tunnel, from the child and to it: a download through
/// buffers of a quarter of this takes a tenth longer.
#[cfg(feature = "http")]
const PROXY_UP_BYTES: usize = 64 << 10;

/// Carries what was read already and everything after it. Each side hears when the other has said
/// all, and may go on itself.
pub(super) async fn carry(
    child: impl Wire,
    mut server: Box<dyn Wire>,
    first: &[u8],
    count: &Arc<Count>,
) {
    count.sent.fetch_add(first.len() as u64, Ordering::Relaxed);
    if server.write_all(first).await.is_err() {
        return;
    }
    let mut child = CountedWire { wire: child, count: count.clone() };
    let (up, down) = (PROXY_UP_BYTES, PROXY_DOWN_BYTES);
    // Which of the two broke it, both know.
    let _ = copy_bidirectional_with_sizes(&mut child, &mut server, up, down).await;
}

/// The child's end of a tunnel, whose bytes are counted as they pass.
struct CountedWire<W> {
    wire: W,
    count: Arc<Count>,
}

impl<W: Wire> AsyncRead for CountedWire<W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.wire).poll_read(context, into);
        let got = into.filled().len() - before;
        self.count.sent.fetch_add(got as u64, Ordering::Relaxed);
        polled
    }
}

impl<W: Wire> AsyncWrite for CountedWire<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.wire).poll_write(context, bytes);
        if let Poll::Ready(Ok(wrote)) = polled {
            self.count.received.fetch_add(wrote as u64, Ordering::Relaxed);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}
