//! The transport for clients that start rye: each line of JSON is a message.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::service::ServerInitializeError;
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, serve_server};
use tokio::io::{AsyncRead, AsyncWrite, Empty};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};

use super::error::McpError;
use super::messages::{HAS_BEGUN, Messages};
use super::server::{Server, held};
use super::session::{Session, versions};
use crate::diagnostic::Failure;

/// How long calls may go on when the client of an MCP server has closed our input, in milliseconds:
/// requests from just before are answered, and no call runs on without a client.
#[cfg(feature = "mcp")]
const MCP_GONE_MS: u64 = 1_000;

/// Most messages that wait to be read by an MCP client before it is listened to again: what is
/// answered to one that never reads must not fill the memory.
#[cfg(feature = "mcp")]
const MCP_UNREAD: usize = 64;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves until the client closes our input. Requests from just before are still answered; calls
/// that run longer are cancelled.
pub(super) async fn serve(server: &Arc<Server>) -> Result<(), Failure> {
    let is_gone = Arc::new(Notify::new());
    let transport = StdioTransport {
        from: Messages::new(reader().map_err(McpError::from)?),
        to: AsyncRwTransport::new_server(tokio::io::empty(), writer().map_err(McpError::from)?),
        is_gone: Arc::clone(&is_gone),
        has_begun: false,
        unread: watch::Sender::new(0),
        open: Arc::default(),
    };
    let served = async {
        match serve_server(Session::new(server), transport).await {
            Ok(running) => {
                let _ = running.waiting().await;
                Ok(())
            }
            // The client went away before it began a session.
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

/// Standard input. Pipes and sockets are polled; for anything else the runtime uses a thread.
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

/// A standard stream in non-blocking mode. A pipe is opened once more, so that other processes that
/// hold it are not affected.
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
    // A socket of another family cannot be used.
    socket.local_addr().ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(Own::Socket(socket))
}

/// The transport below the library. Before a session has begun it skips what is not a request,
/// which the library would take for an end. It refuses a second request with the id of an open one,
/// which could not be cancelled then, and a second `initialize`. It stops reading from a client
/// that does not read its answers, and it says when the client is gone.
struct StdioTransport {
    from: Messages<Reader>,
    /// Used for writing only.
    to: AsyncRwTransport<RoleServer, Empty, Writer>,
    is_gone: Arc<Notify>,
    has_begun: bool,
    /// How many messages wait to be read by the client.
    unread: watch::Sender<usize>,
    /// The ids of the requests that are neither answered nor cancelled.
    open: Arc<Mutex<HashSet<RequestId>>>,
}

impl StdioTransport {
    /// Answers a refused message. If its id is that of an open request, the error is sent without
    /// an id, because it would answer that request.
    async fn refuse(&mut self, id: Option<RequestId>, why: &'static str) {
        let id = id.filter(|id| !held(&self.open).contains(id));
        let error = ErrorData::invalid_request(why, None);
        let _ = self.to.send(ServerJsonRpcMessage::error(error, id)).await;
    }
}

/// A message that the client has not read yet.
struct Unread(watch::Sender<usize>);

impl Unread {
    fn new(all: &watch::Sender<usize>) -> Self {
        all.send_modify(|many| *many += 1);
        Self(all.clone())
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.0.send_modify(|many| *many -= 1);
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            ServerJsonRpcMessage::Response(answer) => Some(&answer.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = answered {
            held(&self.open).remove(id);
        }
        let (unread, is_gone) = (Unread::new(&self.unread), Arc::clone(&self.is_gone));
        let sent = self.to.send(message);
        async move {
            let sent = sent.await;
            drop(unread);
            if sent.is_err() {
                // No answer will be read any more.
                is_gone.notify_one();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let mut unread = self.unread.subscribe();
            // This cannot fail, because the sender lives in `self`.
            let _ = unread.wait_for(|many| *many < MCP_UNREAD).await;
            let message = match self.from.next().await {
                Some(Ok(message)) => message,
                Some(Err(refused)) => {
                    self.refuse(refused.id, refused.why).await;
                    continue;
                }
                None => {
                    self.is_gone.notify_one();
                    return None;
                }
            };
            match &message {
                ClientJsonRpcMessage::Request(asked) => {
                    let is_greeting = matches!(asked.request, ClientRequest::InitializeRequest(_));
                    if is_greeting && self.has_begun {
                        self.refuse(Some(asked.id.clone()), HAS_BEGUN).await;
                        continue;
                    }
                    if held(&self.open).contains(&asked.id) {
                        self.refuse(None, "the id is that of a request").await;
                        continue;
                    }
                    self.has_begun |= begins(&asked.request);
                    held(&self.open).insert(asked.id.clone());
                }
                _ if !self.has_begun => continue,
                ClientJsonRpcMessage::Notification(told) => {
                    if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        held(&self.open).remove(id);
                    }
                }
                _ => {}
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.to.close().await
    }
}

/// Returns true if a session begins with this message: with `initialize`, or with a request that
/// carries the same data.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) => false,
        other => other.get_meta().protocol_version().is_some_and(|version| {
            let missing = other.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28);
            missing.is_empty() && versions().contains(&version)
        }),
    }
}
