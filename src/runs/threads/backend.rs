//! The sandbox of one thread, on this machine or on a server, as it is configured.

use super::local::LocalBackend;
use super::opensandbox::OpenSandbox;
use crate::diagnostic::Failure;
use crate::rye::{Loader, Rye, sandbox_server};
use crate::thread::{SandboxBackend, ThreadId};

pub(super) enum ThreadBackend<'a> {
    Local(LocalBackend<'a>),
    OpenSandbox(Box<OpenSandbox<'a>>),
}

impl<'a> ThreadBackend<'a> {
    /// One that is not open yet.
    ///
    /// # Errors
    /// `thread.bad_config`, `thread.backend_not_allowed`, `provider.missing_credential`; whatever
    /// a copy of the configuration is refused with.
    pub(super) fn new(
        rye: &'a Rye,
        loader: &Loader<'_>,
        thread: ThreadId,
    ) -> Result<Self, Failure> {
        Ok(match sandbox_server(loader)? {
            None => Self::Local(LocalBackend::new(rye, thread)),
            Some(server) => Self::OpenSandbox(Box::new(OpenSandbox::new(rye, server, thread))),
        })
    }

    /// Hands the sandbox to the thread that goes on.
    pub(super) fn moved_to(self, thread: ThreadId) -> Self {
        match self {
            Self::Local(local) => Self::Local(local.moved_to(thread)),
            Self::OpenSandbox(remote) => Self::OpenSandbox(Box::new(remote.moved_to(thread))),
        }
    }

    pub(super) fn get(&self) -> &dyn SandboxBackend {
        match self {
            Self::Local(local) => local,
            Self::OpenSandbox(remote) => remote.as_ref(),
        }
    }

    /// The server, where it is on one.
    pub(super) fn server(&self) -> Option<&str> {
        match self {
            Self::Local(_) => None,
            Self::OpenSandbox(remote) => Some(remote.url()),
        }
    }
}
