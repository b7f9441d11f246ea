//! A connection of the run's child, and the moment when the child closes it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The connection itself.
pub(super) struct ChildWire {
    read: Arc<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

/// The connection, and what ends when the child has closed it or will say nothing more, also where
/// it said more than was read yet: who does not read would not hear of it.
pub(super) fn watched(stream: TcpStream) -> (ChildWire, impl Future<Output = ()> + Send) {
    let (read, write) = stream.into_split();
    let read = Arc::new(read);
    (ChildWire { read: read.clone(), write }, left(read))
}

#[cfg(target_os = "linux")]
async fn left(connection: Arc<OwnedReadHalf>) {
    // No code asks the kernel for priority data: the only event that comes with it is the end.
    while connection
        .ready(tokio::io::Interest::PRIORITY)
        .await
        .is_ok_and(|now| !now.is_read_closed())
    {
        tokio::task::yield_now().await;
    }
}

/// Here it is heard by who reads alone.
#[cfg(not(target_os = "linux"))]
async fn left(_: Arc<OwnedReadHalf>) {
    std::future::pending().await
}

impl AsyncRead for ChildWire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream: &TcpStream = (*self.read).as_ref();
        loop {
            ready!(stream.poll_read_ready(context))?;
            match stream.try_read(into.initialize_unfilled()) {
                Ok(length) => {
                    into.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for ChildWire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        all: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write_vectored(context, all)
    }

    fn is_write_vectored(&self) -> bool {
        self.write.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_shutdown(context)
    }
}
