//! The threads on which calls run.
//!
//! Everything below the facade waits for two things at once: for what it does, and for the signals
//! that ask this process to end. A call is cancelled by such a signal to its own thread, which
//! therefore ends its process group as if the whole process had been asked to; a thread that was
//! cancelled takes no other call, so that no signal reaches one it was not meant for.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::error::McpError;
use crate::base::limits::{MCP_CALLS, MCP_WAITING};
use crate::base::sync::unpoisoned;
use crate::host::{ThisThread, hold_signals};

/// A job gets a flag that says whether its call was cancelled, and checks it between two steps.
type Job = Box<dyn FnOnce(&AtomicBool) + Send>;

/// The threads. Dropping this cancels running calls and does not wait for them.
pub(super) struct Workers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(u64, Job)>,
    running: HashMap<u64, Running>,
    threads: usize,
    idle: usize,
    last: u64,
    is_closed: bool,
}

/// A call that runs.
struct Running {
    /// Until it is cancelled.
    thread: Option<ThisThread>,
    is_cancelled: Arc<AtomicBool>,
}

/// A call that was handed in. Dropping it cancels the call.
pub(super) struct Ticket {
    id: u64,
    /// `None` after the call was answered.
    shared: Option<Arc<Shared>>,
}

impl Ticket {
    /// Marks the call as answered. Its thread may still wait for hooks that are told of it.
    pub(super) fn answered(mut self) {
        self.shared = None;
    }
}

impl Workers {
    /// Starts one thread, so that a machine without free threads is known before a call comes.
    ///
    /// # Errors
    /// `mcp.io`
    pub(super) fn new() -> Result<Self, McpError> {
        let shared: Arc<Shared> = Arc::default();
        let started = shared.start(&mut shared.lock());
        started.map_err(|source| McpError::Io { source })?;
        Ok(Self(shared))
    }

    /// Runs `job` on a thread, now or when one is free.
    ///
    /// # Errors
    /// `mcp.busy`, `mcp.io`
    pub(super) fn submit(&self, job: Job) -> Result<Ticket, McpError> {
        let mut state = self.0.lock();
        if state.is_closed || state.waiting.len() >= MCP_WAITING {
            return Err(McpError::Busy { waiting: state.waiting.len() });
        }
        state.last += 1;
        let id = state.last;
        state.waiting.push_back((id, job));
        if state.idle >= state.waiting.len() {
            self.0.changed.notify_one();
        } else if state.threads < MCP_CALLS
            && let Err(source) = self.0.start(&mut state)
        {
            state.waiting.pop_back();
            return Err(McpError::Io { source });
        }
        Ok(Ticket { id, shared: Some(Arc::clone(&self.0)) })
    }

    /// Cancels every call and takes no new ones.
    pub(super) fn stop(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.waiting.clear();
        let running: Vec<u64> = state.running.keys().copied().collect();
        for id in running {
            state.cancel(id);
        }
        self.0.changed.notify_all();
    }

    /// Whether the workers were stopped.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }

    /// Cancels every call, takes no new ones, and waits until all are done, at most `most`.
    pub(super) fn end(&self, most: Duration) {
        let until = Instant::now() + most;
        self.stop();
        let mut state = self.0.lock();
        while !state.running.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = unpoisoned(waited).0;
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else { return };
        let mut state = shared.lock();
        state.waiting.retain(|(id, _)| *id != self.id);
        state.cancel(self.id);
    }
}

impl State {
    fn cancel(&mut self, id: u64) {
        // A thread leaves `running` under this lock, so it still exists and receives the signal.
        if let Some(running) = self.running.get_mut(&id)
            && let Some(thread) = running.thread.take()
        {
            running.is_cancelled.store(true, Ordering::Relaxed);
            thread.interrupt();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        unpoisoned(self.state.lock())
    }

    /// Starts another thread. If that fails, calls wait for the threads that exist.
    ///
    /// # Errors
    /// There is no thread, and none can be started.
    fn start(self: &Arc<Self>, state: &mut State) -> std::io::Result<()> {
        // The guard is held while the thread starts, because a thread inherits the signal mask.
        let _held = hold_signals();
        let shared = Arc::clone(self);
        let thread = std::thread::Builder::new().name("call".into());
        match thread.spawn(move || shared.work()) {
            Ok(_) => state.threads += 1,
            Err(error) if state.threads == 0 => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }

    fn work(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            let Some((id, job)) = state.waiting.pop_front() else {
                if state.is_closed {
                    break;
                }
                state.idle += 1;
                state = unpoisoned(self.changed.wait(state));
                state.idle -= 1;
                continue;
            };
            let is_cancelled = Arc::new(AtomicBool::new(false));
            let thread = Some(ThisThread::new());
            state.running.insert(id, Running { thread, is_cancelled: is_cancelled.clone() });
            drop(state);
            // The waiting side finds that nobody will answer.
            let _ = catch_unwind(AssertUnwindSafe(|| job(&is_cancelled)));
            state = self.lock();
            state.running.remove(&id);
            self.changed.notify_all();
            if is_cancelled.load(Ordering::Relaxed) {
                break;
            }
        }
        state.threads -= 1;
        // If no thread can be started, the next call reports it.
        if !state.waiting.is_empty() && state.threads < MCP_CALLS && self.start(&mut state).is_err()
        {
            // The waiting sides find that nobody will answer.
            state.waiting.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::Workers;
    use crate::host::{Host, Os};

    const PATIENCE: Duration = Duration::from_mins(1);

    #[test]
    fn a_cancelled_call_ends_alone_and_its_thread_takes_no_other() {
        let workers = Workers::new().unwrap();
        let (say, said) = channel();
        let mut tickets = Vec::new();
        for name in ["first", "second"] {
            let say = say.clone();
            let job = Box::new(move |_: &AtomicBool| {
                let rested = Os::new(false).sleep(Duration::from_millis(400));
                let _ = say.send((name, rested.unwrap().is_some()));
            });
            tickets.push(workers.submit(job).unwrap());
        }
        std::thread::sleep(Duration::from_millis(50));
        drop(tickets.remove(0));
        assert_eq!(said.recv_timeout(PATIENCE), Ok(("first", true)));
        assert_eq!(said.recv_timeout(PATIENCE), Ok(("second", false)));
        // The next call does not receive this signal.
        let job = Box::new(move |_: &AtomicBool| {
            let rested = Os::new(false).sleep(Duration::from_millis(1));
            let _ = say.send(("third", rested.unwrap().is_some()));
        });
        let _third = workers.submit(job).unwrap();
        assert_eq!(said.recv_timeout(PATIENCE), Ok(("third", false)));
    }

    #[test]
    fn a_call_that_does_not_wait_for_anything_sees_that_it_is_cancelled() {
        let workers = Workers::new().unwrap();
        let (say, said) = channel();
        let job = Box::new(move |is_cancelled: &AtomicBool| {
            let _ = say.send(());
            let until = Instant::now() + PATIENCE;
            while !is_cancelled.load(Ordering::Relaxed) && Instant::now() < until {
                std::hint::spin_loop();
            }
            let _ = say.send(());
            assert!(Instant::now() < until);
        });
        let ticket = workers.submit(job).unwrap();
        said.recv_timeout(PATIENCE).unwrap();
        assert!(said.recv_timeout(Duration::from_millis(100)).is_err(), "nobody has cancelled it");
        drop(ticket);
        said.recv_timeout(PATIENCE / 2).unwrap();
    }

    #[test]
    fn what_goes_on_when_a_call_is_answered_goes_on() {
        let workers = Workers::new().unwrap();
        let (say, said) = channel();
        let job = Box::new(move |_: &AtomicBool| {
            let _ = say.send(false);
            let rested = Os::new(false).sleep(Duration::from_millis(200));
            let _ = say.send(rested.unwrap().is_some());
        });
        let ticket = workers.submit(job).unwrap();
        assert_eq!(said.recv_timeout(PATIENCE), Ok(false));
        ticket.answered();
        assert_eq!(said.recv_timeout(PATIENCE), Ok(false), "it was interrupted");
    }

    #[test]
    fn a_panic_is_no_end_and_the_end_waits_for_what_runs() {
        let workers = Workers::new().unwrap();
        let (say, said) = channel();
        let _panics = workers
            .submit(Box::new(|_: &AtomicBool| std::panic::resume_unwind(Box::new(()))))
            .unwrap();
        let _goes_on = workers
            .submit(Box::new(move |_: &AtomicBool| {
                let _ = Os::new(false).sleep(PATIENCE);
                let _ = say.send(());
            }))
            .unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let begin = Instant::now();
        workers.end(PATIENCE);
        assert!(begin.elapsed() < PATIENCE && said.try_recv().is_ok());
        assert!(workers.submit(Box::new(|_: &AtomicBool| ())).is_err(), "nothing more is taken");
    }
}
