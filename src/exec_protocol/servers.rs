//! All servers of this process: one for each binding and what of it was verified.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::oneshot;
use super::server::{Asked, Server};
use super::server_key::ServerKey;
use super::session::fits;
use super::wire::{outcome, request};
use crate::base::Digest;
use crate::base::limits::EXEC_KEPT;
use crate::base::sync::unpoisoned;
use crate::execute::{
    Aftermath, ExecuteError, Mask, Outcome, ProtocolFault, RunContext, RunFolders, start,
};
use crate::host::{PersistentChild, RUN_VAR, Signals};
use crate::parse::ExecMode;
use crate::plan::{ExecOptions, Plan, Process};

/// Speaks with programs over the exec protocol. Dropping it ends every server it started.
#[derive(Default)]
pub(crate) struct Servers {
    shared: Arc<Shared>,
    /// Ends servers that were not used for long; started with the first server.
    keeper: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    servers: Mutex<Table>,
    changed: Condvar,
}

#[derive(Default)]
struct Table {
    by_binding: HashMap<Digest, Arc<Server>>,
    is_closed: bool,
}

impl Servers {
    /// Calls the program of a plan, whose standard input holds the parameters as JSON and nothing
    /// around them.
    ///
    /// # Errors
    /// `protocol.*`, `execute.*`
    pub(crate) fn call(
        &self,
        plan: &Plan,
        process: &Process,
        options: &ExecOptions,
        running: &RunContext<'_>,
    ) -> Result<Outcome, ExecuteError> {
        let outcome = match options.mode {
            ExecMode::OneShot => oneshot::call(plan, process, options, running),
            ExecMode::Server => self.serve(plan, process, options, running),
        }?;
        if running.approval.is_some() && outcome.pending.is_some() {
            let (item, fault) = (plan.item().clone(), ProtocolFault::PendingAgain);
            let (traffic, new_repositories) = (outcome.traffic, outcome.new_repositories);
            let after = Box::new(Aftermath { traffic, new_repositories });
            let stderr_tail = String::new();
            return Err(ExecuteError::Protocol { item, fault, stderr_tail, after });
        }
        Ok(if options.below_args { outcome } else { outcome.without_waiting() })
    }

    fn serve(
        &self,
        plan: &Plan,
        process: &Process,
        options: &ExecOptions,
        running: &RunContext<'_>,
    ) -> Result<Outcome, ExecuteError> {
        let begin = Instant::now();
        let item = || plan.item().clone();
        let spawn = plan.spawn(process, None, None);
        let request = request(&spawn.stdin, options.below_args, running.approval);
        fits(&request).map_err(|fault| ExecuteError::Protocol {
            item: item(),
            fault,
            stderr_tail: String::new(),
            after: Box::default(),
        })?;
        let spawn_error = |source| {
            let program = spawn.program.clone();
            ExecuteError::Spawn { item: item(), program, source }
        };
        let server = self.server(binding(plan, process), || Server::new(item(), options.clone()));
        // Signals are listened for before a thread starts, so that they come here.
        let signals = Signals::listen().map_err(spawn_error)?;
        let has_started = Cell::new(false);
        let start = || {
            has_started.set(true);
            start(plan, process, running, &[])
        };
        self.keep();
        let mask = Mask::new(plan.private_values());
        let traffic = Cell::new(None);
        let asked = Asked {
            request: &request,
            deadline: begin + plan.timeout(),
            limit: plan.limit(),
            mask: &mask,
            sink: running.sink,
            signals: Some(&signals),
            traffic: &traffic,
            start: &start,
        };
        let answer = server.call(&asked);
        // The thread that ends idle servers knows the others, and looks at those that were used
        // later.
        if has_started.get() {
            let servers = self.shared.lock();
            self.shared.changed.notify_all();
            drop(servers);
        }
        let traffic = traffic.take();
        running.carried(traffic.as_ref());
        let answer = answer.map_err(|error| match error {
            ExecuteError::Protocol { item, fault, stderr_tail, .. } => {
                let after = Aftermath { traffic: traffic.clone(), ..Aftermath::default() };
                ExecuteError::Protocol { item, fault, stderr_tail, after: Box::new(after) }
            }
            other => other,
        });
        let outcome = outcome(answer?, &mask, String::new(), begin.elapsed());
        Ok(Outcome { traffic, ..outcome })
    }

    /// The server of a binding. When there are too many one goes: one that does not run, else the
    /// one that was unused for longest, else any.
    fn server(&self, key: Digest, make: impl FnOnce() -> Server) -> Arc<Server> {
        let mut servers = self.shared.lock();
        let mut gone = None;
        if servers.by_binding.len() >= EXEC_KEPT && !servers.by_binding.contains_key(&key) {
            let stopped = servers.by_binding.iter().find(|(_, server)| !server.is_running());
            let unused = servers.by_binding.iter();
            let unused = unused.filter_map(|(key, server)| Some((server.unused_since()?, *key)));
            let key = stopped.map(|(key, _)| *key).or_else(|| unused.min().map(|(_, key)| key));
            let key = key.or_else(|| servers.by_binding.keys().next().copied());
            gone = key.and_then(|key| servers.by_binding.remove(&key));
        }
        let server = Arc::clone(servers.by_binding.entry(key).or_insert_with(|| Arc::new(make())));
        drop(servers);
        // One that is at work ends with its last call.
        end(gone.and_then(|server| server.let_go_unused(Duration::ZERO)).into_iter().collect());
        server
    }

    fn keep(&self) {
        let mut keeper = unpoisoned(self.keeper.lock());
        if keeper.is_none() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("servers".into());
            // Without it idle servers stay until the process ends, and nothing else changes.
            *keeper = thread.spawn(move || shared.keep()).ok();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        unpoisoned(self.servers.lock())
    }

    /// Ends what was idle for long enough, until this is dropped.
    fn keep(&self) {
        let mut servers = self.lock();
        while !servers.is_closed {
            let next = servers.by_binding.values().filter_map(|server| server.idle_at()).min();
            if next.is_some_and(|next| next <= Instant::now()) {
                let gone: Vec<_> =
                    servers.by_binding.values().filter_map(|server| server.let_go_idle()).collect();
                drop(servers);
                end(gone);
                servers = self.lock();
                continue;
            }
            servers = match next {
                Some(next) => {
                    let left = next.saturating_duration_since(Instant::now());
                    let waited = self.changed.wait_timeout(servers, left);
                    unpoisoned(waited).0
                }
                None => unpoisoned(self.changed.wait(servers)),
            };
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let mut servers = self.shared.lock();
        servers.is_closed = true;
        let all: Vec<_> = servers.by_binding.drain().collect();
        drop(servers);
        self.shared.changed.notify_all();
        end(all.iter().filter_map(|(_, server)| server.let_go()).collect());
        let keeper = unpoisoned(self.keeper.lock()).take();
        if let Some(keeper) = keeper {
            let _ = keeper.join();
        }
    }
}

/// Ends all at once; their private folders go when they are gone.
fn end(gone: Vec<(PersistentChild, RunFolders)>) {
    if gone.is_empty() {
        return;
    }
    let (children, folders): (Vec<_>, Vec<_>) = gone.into_iter().unzip();
    let signals = Signals::listen().ok();
    PersistentChild::end_all(children, signals.as_ref());
    drop(folders);
}

/// The digest of what a process was started from, but for the name of the run: two calls share a
/// process if it is equal.
fn binding(plan: &Plan, process: &Process) -> Digest {
    let mut binding = ServerKey::default();
    for link in plan.links() {
        binding.add(link.item.to_string());
        binding.add(link.sha256.to_string());
    }
    binding.add_start(plan, process, &[RUN_VAR]);
    binding.digest()
}
