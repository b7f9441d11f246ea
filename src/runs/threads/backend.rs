//! The sandbox of one thread, on this machine or on a server, as it is configured.

use std::sync::{Arc, Mutex};

use super::local::LocalBackend;
use super::opensandbox::OpenSandbox;
use crate::base::sync::unpoisoned;
use crate::diagnostic::Failure;
use crate::rye::{Loader, Rye, sandbox_server};
use crate::thread::{BackendFault, BackendFaultKind, SandboxBackend, ThreadId};

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

/// Something that the first payload opens and the end of the thread closes, once.
pub(super) struct OpenedOnce<T>(Mutex<State<T>>);

enum State<T> {
    Unopened,
    Open(Arc<T>),
    Closed,
}

impl<T> Default for OpenedOnce<T> {
    fn default() -> Self {
        Self(Mutex::new(State::Unopened))
    }
}

impl<T> OpenedOnce<T> {
    /// The open one, which is opened now if it was not.
    pub(super) fn get(
        &self,
        open: impl FnOnce() -> Result<T, BackendFault>,
    ) -> Result<Arc<T>, BackendFault> {
        let mut state = unpoisoned(self.0.lock());
        match &*state {
            State::Open(opened) => Ok(opened.clone()),
            State::Closed => {
                let why = "the thread is over, and its sandbox closed";
                Err(BackendFault::new(BackendFaultKind::SandboxClosed, why))
            }
            State::Unopened => {
                let opened = Arc::new(open()?);
                *state = State::Open(opened.clone());
                Ok(opened)
            }
        }
    }

    /// Lets the next payload open another one; true for the first that asks for it.
    pub(super) fn forget(&self, gone: &Arc<T>) -> bool {
        let mut state = unpoisoned(self.0.lock());
        let is_it = matches!(&*state, State::Open(open) if Arc::ptr_eq(open, gone));
        if is_it {
            *state = State::Unopened;
        }
        is_it
    }

    /// Closes it for good; gives what was open.
    pub(super) fn close(&self) -> Option<Arc<T>> {
        match std::mem::replace(&mut *unpoisoned(self.0.lock()), State::Closed) {
            State::Open(opened) => Some(opened),
            State::Unopened | State::Closed => None,
        }
    }
}
