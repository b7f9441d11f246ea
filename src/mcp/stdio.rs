//! The door that a client opens by starting rye: a line of JSON is a message.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::serve_server;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;
use tokio::sync::Notify;

use super::error::McpError;
use super::handler::Session;
use super::server::{NotServed, Server};
use crate::base::limits::{MCP_GONE_MS, MCP_MESSAGE_BYTES};

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves until the client closes our input. What it asked just before is still answered; what runs on
/// after a moment is cancelled.
pub(super) async fn serve(server: &Arc<Server>) -> Result<(), NotServed> {
    let is_gone = Arc::new(Notify::new());
    let input = Watched { inner: reader()?, is_gone: Arc::clone(&is_gone) };
    let transport =
        AsyncRwTransport::new_server(input, writer()?).with_max_line_length(MCP_MESSAGE_BYTES);
    let served = async {
        match serve_server(Session::new(server), transport).await {
            Ok(running) => {
                let _ = running.waiting().await;
                Ok(())
            }
            // It went away before it said a word that means anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => {
                let source = std::io::Error::other(error.to_string());
                Err(McpError::Io { source }.into())
            }
        }
    };
    let left = async {
        is_gone.notified().await;
        tokio::time::sleep(Duration::from_millis(MCP_GONE_MS)).await;
        server.workers.stop();
        std::future::pending().await
    };
    tokio::select! {
        served = served => served,
        never = left => never,
    }
}

/// Standard input. A pipe and a socket are waited for like any other; whatever else there is has a
/// thread of the runtime.
fn reader() -> std::io::Result<Reader> {
    let stdin = std::io::stdin();
    Ok(match own(stdin.as_fd(), "/proc/self/fd/0", true) {
        Some(Own::Pipe(file)) => Box::new(pipe::Receiver::from_file(file)?),
        Some(Own::Socket(socket)) => Box::new(tokio::net::UnixStream::from_std(socket)?),
        None => Box::new(tokio::io::stdin()),
    })
}

fn writer() -> std::io::Result<Writer> {
    let stdout = std::io::stdout();
    Ok(match own(stdout.as_fd(), "/proc/self/fd/1", false) {
        Some(Own::Pipe(file)) => Box::new(pipe::Sender::from_file(file)?),
        Some(Own::Socket(socket)) => Box::new(tokio::net::UnixStream::from_std(socket)?),
        None => Box::new(tokio::io::stdout()),
    })
}

enum Own {
    Pipe(std::fs::File),
    Socket(UnixStream),
}

/// The same stream, not to be waited for by whoever reads or writes. A pipe is opened once more, so that
/// others who hold it notice nothing.
fn own(fd: BorrowedFd<'_>, path: &str, reads: bool) -> Option<Own> {
    use std::os::unix::fs::OpenOptionsExt;
    let copy = std::fs::File::from(fd.try_clone_to_owned().ok()?);
    let kind = copy.metadata().ok()?.file_type();
    if kind.is_fifo() {
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut options = std::fs::OpenOptions::new();
        options.read(reads).write(!reads).custom_flags(flags);
        return options.open(path).ok().map(Own::Pipe);
    }
    if !kind.is_socket() {
        return None;
    }
    let socket = UnixStream::from(fd.try_clone_to_owned().ok()?);
    // One of another family is no stream of ours.
    socket.local_addr().ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(Own::Socket(socket))
}

/// Says when the end was read.
struct Watched {
    inner: Reader,
    is_gone: Arc<Notify>,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        let is_end = buffer.filled().len() == before && buffer.remaining() > 0;
        if matches!(&read, Poll::Ready(Err(_))) || (read.is_ready() && is_end) {
            self.is_gone.notify_one();
        }
        read
    }
}
