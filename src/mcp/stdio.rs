//! The door that a client opens by starting rye: a line of JSON is a message.

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
use super::handler::{Session, versions};
use super::messages::{HAS_BEGUN, Messages};
use super::server::{Server, held};
use crate::base::limits::{MCP_GONE_MS, MCP_UNREAD};
use crate::diagnostic::Failure;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves until the client closes our input. What it asked just before is still answered; what runs
/// on after a moment is cancelled.
pub(super) async fn serve(server: &Arc<Server>) -> Result<(), Failure> {
    let is_gone = Arc::new(Notify::new());
    let transport = Patient {
        from: Messages::new(reader().map_err(McpError::from)?),
        to: AsyncRwTransport::new_server(tokio::io::empty(), writer().map_err(McpError::from)?),
        is_gone: Arc::clone(&is_gone),
        has_begun: false,
        has_greeted: false,
        unread: watch::Sender::new(0),
        open: Arc::default(),
    };
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

/// The same stream, not to be waited for by whoever reads or writes. A pipe is opened once more, so
/// that others who hold it notice nothing.
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

/// Passes over what is not a request before a session has begun, which the library would take for
/// an end; refuses a second request with the id of one that is not answered, which could not be
/// cancelled then, and a second beginning of a session; listens no further to a client that does
/// not read; and says when the client is gone.
struct Patient {
    from: Messages<Reader>,
    /// Only written to.
    to: AsyncRwTransport<RoleServer, Empty, Writer>,
    is_gone: Arc<Notify>,
    has_begun: bool,
    /// The one greeting of a session came.
    has_greeted: bool,
    /// How many messages wait to be read by the client.
    unread: watch::Sender<usize>,
    /// The ids of the requests that are neither answered nor cancelled.
    open: Arc<Mutex<HashSet<RequestId>>>,
}

impl Patient {
    /// Answers a message that is passed on to nobody. With the id of an open request it would
    /// answer that one, and is told without.
    async fn refuse(&mut self, id: Option<RequestId>, why: &'static str) {
        let id = id.filter(|id| !held(&self.open).contains(id));
        let error = ErrorData::invalid_request(why, None);
        let _ = self.to.send(ServerJsonRpcMessage::error(error, id)).await;
    }
}

/// A message that waits to be read.
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

impl Transport<RoleServer> for Patient {
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
                // Nobody will ever read an answer.
                is_gone.notify_one();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let mut unread = self.unread.subscribe();
            // It cannot fail: the other half is ours.
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
                    if is_greeting && self.has_greeted {
                        self.refuse(Some(asked.id.clone()), HAS_BEGUN).await;
                        continue;
                    }
                    if held(&self.open).contains(&asked.id) {
                        self.refuse(None, "the id is that of a request").await;
                        continue;
                    }
                    self.has_greeted |= is_greeting;
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

/// Whether a session begins with this: with a greeting, or with a request that carries all of one.
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
