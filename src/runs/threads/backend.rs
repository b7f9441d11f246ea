//! The sandbox of one thread, on this machine or on a server, as it is configured.

use std::sync::{Arc, Mutex};

use super::local::LocalBackend;
use super::opensandbox::OpenSandbox;
use crate::base::sync::unpoisoned;
use crate::diagnostic::Failure;
use crate::host::{RUN_VAR, THREAD_VAR};
use crate::rye::{Loader, Rye, run_id, sandbox_server};
use crate::thread::{
    BackendCapability, BackendFault, BackendFaultKind, Payload, PayloadResult, SandboxBackend,
    ThreadId,
};

pub(super) struct ThreadBackend<'a> {
    backend: Box<dyn SandboxBackend + 'a>,
    /// The server, where it is on one.
    pub(super) server: Option<String>,
    /// The thread whose commands run there; another one may go on for it.
    pub(super) thread: ThreadId,
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
        let configured = sandbox_server(loader)?.map(|server| OpenSandbox::new(rye, server));
        let server = configured.as_ref().map(|sandbox| sandbox.url().to_owned());
        let backend: Box<dyn SandboxBackend> = match configured {
            None => Box::new(LocalBackend::new(rye)),
            Some(sandbox) => Box::new(sandbox),
        };
        Ok(Self { backend, server, thread })
    }
}

impl SandboxBackend for ThreadBackend<'_> {
    fn capabilities(&self) -> &'static [BackendCapability] {
        self.backend.capabilities()
    }

    fn dispatch(&self, payload: Payload) -> Result<PayloadResult, BackendFault> {
        let mut payload = payload.code_as_command()?;
        if let Payload::CommandRun { env, .. } = &mut payload {
            // A rye that it starts is below this thread, whatever else the command is given.
            let below = [(RUN_VAR, run_id()), (THREAD_VAR, self.thread.to_string())];
            env.extend(below.map(|(name, value)| (name.to_owned(), value)));
        }
        self.backend.dispatch(payload)
    }

    fn close(&self) {
        self.backend.close();
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
