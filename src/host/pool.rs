//! Threads on which calls run at once.
//!
//! Everything below the facade waits for two things at once: for what it does, and for the signals
//! that ask this process to end. A call is cancelled by a signal to its own thread, which therefore
//! ends its process group as if the whole process had been asked to; a thread that was cancelled
//! takes no other call, so that no signal reaches one it was not meant for. These threads do not
//! hear a signal to the whole process; the thread that waits for them does, and ends all calls at
//! once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::Builder;
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::net::listen;
use super::signals::{Signals, ThisThread, hear_interrupts_alone, hold_signals};
use crate::base::sync::unpoisoned;

/// A job gets a flag that says whether its call was cancelled, and checks it between two steps.
pub(crate) type Job<'a> = Box<dyn FnOnce(&AtomicBool) + Send + 'a>;

/// The life of a thread.
type Work<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Starts a thread.
type Start<'a> = Box<dyn Fn(Builder, Work<'a>) -> io::Result<()> + Send + Sync + 'a>;

/// Why a job was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PoolError {
    /// As many jobs as may wait already do, or the pool was stopped.
    #[error("too many calls wait already: {waiting}")]
    Busy { waiting: usize },
    /// The machine gives no thread.
    #[error("no thread can be started: {source}")]
    Thread { source: io::Error },
}

/// How much a pool takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolSize {
    /// So many jobs run at once.
    pub(crate) threads: usize,
    /// So many more wait for one of these.
    pub(crate) waiting: usize,
}

/// The threads. Dropping this cancels running calls and does not wait for them.
pub(crate) struct Pool<'a>(Arc<Shared<'a>>);

struct Shared<'a> {
    size: PoolSize,
    start: Start<'a>,
    state: Mutex<State<'a>>,
    changed: Condvar,
}

#[derive(Default)]
struct State<'a> {
    waiting: VecDeque<(u64, Job<'a>)>,
    running: HashMap<u64, Running>,
    threads: usize,
    idle: usize,
    last: u64,
    is_closed: bool,
    is_interrupted: bool,
}

/// A call that runs.
struct Running {
    thread: ThisThread,
    is_cancelled: Arc<AtomicBool>,
}

/// A call that was handed in. Dropping it cancels the call.
pub(crate) struct Ticket<'a> {
    id: u64,
    /// `None` after the call was answered.
    shared: Option<Arc<Shared<'a>>>,
}

impl Ticket<'_> {
    /// The number of the call in its pool.
    #[cfg(feature = "code")]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Marks the call as answered. Its thread may still wait for hooks that are told of it.
    pub(crate) fn answered(mut self) {
        self.shared = None;
    }
}

impl Pool<'static> {
    /// Starts one thread, so that a machine without free threads is known before a call comes.
    ///
    /// # Errors
    /// [`PoolError::Thread`]
    #[cfg(any(feature = "mcp", feature = "node", test))]
    pub(crate) fn new(size: PoolSize) -> Result<Self, PoolError> {
        Self::with(size, Box::new(|builder, work| builder.spawn(work).map(drop)))
    }
}

impl<'a> Pool<'a> {
    /// Starts a pool whose threads may borrow, and have ended when the scope ends.
    ///
    /// # Errors
    /// [`PoolError::Thread`]
    pub(crate) fn scoped<'env: 'a>(
        size: PoolSize,
        scope: &'a Scope<'a, 'env>,
    ) -> Result<Self, PoolError> {
        Self::with(size, Box::new(|builder, work| builder.spawn_scoped(scope, work).map(drop)))
    }

    fn with(size: PoolSize, start: Start<'a>) -> Result<Self, PoolError> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { size, start, state, changed });
        let started = shared.start(&mut shared.lock());
        started.map_err(|source| PoolError::Thread { source })?;
        Ok(Self(shared))
    }

    /// Runs `job` on a thread, now or when one is free.
    ///
    /// # Errors
    /// [`PoolError`]
    pub(crate) fn submit(&self, job: Job<'a>) -> Result<Ticket<'a>, PoolError> {
        let mut state = self.0.lock();
        if state.is_closed || state.waiting.len() >= self.0.size.waiting {
            return Err(PoolError::Busy { waiting: state.waiting.len() });
        }
        state.last += 1;
        let id = state.last;
        state.waiting.push_back((id, job));
        if state.idle >= state.waiting.len() {
            self.0.changed.notify_one();
        } else if state.threads < self.0.size.threads
            && let Err(source) = self.0.start(&mut state)
        {
            state.waiting.pop_back();
            return Err(PoolError::Thread { source });
        }
        Ok(Ticket { id, shared: Some(Arc::clone(&self.0)) })
    }

    /// Cancels every call and takes no new ones.
    pub(crate) fn stop(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.cancel_but(&HashSet::new());
        self.0.changed.notify_all();
    }

    /// Cancels every call but these.
    #[cfg(feature = "code")]
    pub(crate) fn cancel_but(&self, kept: &HashSet<u64>) {
        self.0.lock().cancel_but(kept);
    }

    /// For a waiting thread that was asked to end: cancels every call and takes no new ones. When
    /// called again, it gives the calls that still run no more time.
    pub(crate) fn interrupt(&self) {
        if !std::mem::replace(&mut self.0.lock().is_interrupted, true) {
            return self.stop();
        }
        // What runs still was cancelled. It leaves `running` under this lock, so its thread exists.
        for running in self.0.lock().running.values() {
            running.thread.interrupt();
        }
    }

    /// Waits until nothing runs and nothing waits, at most until `until`.
    #[cfg(feature = "code")]
    pub(crate) fn rest(&self, until: Instant) {
        let mut state = self.0.lock();
        while !(state.running.is_empty() && state.waiting.is_empty()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = unpoisoned(waited).0;
        }
    }

    /// Returns true if the pool was stopped.
    #[cfg(any(feature = "mcp", feature = "node", test))]
    pub(crate) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }

    /// Cancels every call, takes no new ones, and waits until all are done, at most `most`.
    pub(crate) fn end(&self, most: Duration) {
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

/// Does `work` on another thread and gives what it gave. Each signal that asks this thread or this
/// process to end meanwhile is told to `heard`, and `work` is waited for all the same.
///
/// # Errors
/// The machine gives no thread, or no signals to listen to.
pub(crate) fn attended<T: Send>(
    work: impl FnOnce() -> T + Send,
    mut heard: impl FnMut(i32),
) -> io::Result<T> {
    let signals = Signals::listen()?;
    let (ended, at_end) = UnixStream::pair()?;
    std::thread::scope(|scope| {
        let worker = Builder::new().name("attended".into()).spawn_scoped(scope, move || {
            // Closing it wakes the listener, also after a panic.
            let _at_end = at_end;
            work()
        })?;
        while !worker.is_finished() {
            let until = Instant::now() + Duration::from_hours(1);
            match listen(&signals, Some(&ended), until)? {
                Some(signal) => heard(signal),
                // It has ended, or is about to.
                None => break,
            }
        }
        worker.join().map_err(|_| io::Error::other("a bug in rye ended the work"))
    })
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else { return };
        let mut state = shared.lock();
        state.waiting.retain(|(id, _)| *id != self.id);
        state.cancel(self.id);
    }
}

impl State<'_> {
    fn cancel_but(&mut self, kept: &HashSet<u64>) {
        self.waiting.retain(|(id, _)| kept.contains(id));
        let running: Vec<u64> = self.running.keys().copied().collect();
        for id in running.into_iter().filter(|id| !kept.contains(id)) {
            self.cancel(id);
        }
    }

    fn cancel(&mut self, id: u64) {
        // A thread leaves `running` under this lock, so it still exists and receives the signal.
        if let Some(running) = self.running.get_mut(&id)
            && !running.is_cancelled.swap(true, Ordering::Relaxed)
        {
            running.thread.interrupt();
        }
    }
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        unpoisoned(self.state.lock())
    }

    /// Starts another thread. If that fails, calls wait for the threads that exist.
    ///
    /// # Errors
    /// There is no thread, and none can be started.
    fn start(self: &Arc<Self>, state: &mut State<'a>) -> io::Result<()> {
        // The guard is held while the thread starts, because a thread inherits the signal mask.
        let _held = hold_signals();
        let shared = Arc::clone(self);
        let thread = Builder::new().name("call".into());
        match (self.start)(thread, Box::new(move || shared.work())) {
            Ok(()) => state.threads += 1,
            Err(error) if state.threads == 0 => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }

    fn work(self: &Arc<Self>) {
        hear_interrupts_alone();
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
            let thread = ThisThread::new();
            state.running.insert(id, Running { thread, is_cancelled: is_cancelled.clone() });
            drop(state);
            // The waiting side finds that no answer will come.
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
        if !state.waiting.is_empty()
            && state.threads < self.size.threads
            && self.start(&mut state).is_err()
        {
            // The waiting sides find that no answer will come.
            state.waiting.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::{Pool, PoolError, PoolSize};
    use crate::host::{Host, Os};

    const PATIENCE: Duration = Duration::from_mins(1);
    const SIZE: PoolSize = PoolSize { threads: 4, waiting: 8 };

    #[test]
    fn a_cancelled_call_ends_alone_and_its_thread_takes_no_other() {
        let workers = Pool::new(SIZE).unwrap();
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
        let workers = Pool::new(SIZE).unwrap();
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
    fn whoever_asks_all_calls_to_end_once_more_leaves_them_no_more_time() {
        let workers = Pool::new(SIZE).unwrap();
        let (say, said) = channel();
        for _ in 0..3 {
            let say = say.clone();
            let job = Box::new(move |_: &AtomicBool| {
                let _ = say.send(true);
                // As a process that does not end when it is asked to.
                for _ in 0..2 {
                    let rested = Os::new(false).sleep(PATIENCE).unwrap();
                    let _ = say.send(rested.is_some());
                }
            });
            workers.submit(job).unwrap().answered();
        }
        for _ in 0..3 {
            assert_eq!(said.recv_timeout(PATIENCE), Ok(true));
        }
        // They are cancelled already at the first request to end.
        workers.stop();
        for ask in 0..2 {
            workers.interrupt();
            for _ in 0..3 {
                assert_eq!(said.recv_timeout(PATIENCE / 2), Ok(true));
            }
            let early = said.recv_timeout(Duration::from_millis(50));
            assert!(early.is_err(), "{ask}: the time was cut by one who asked once: {early:?}");
        }
    }

    #[test]
    fn what_goes_on_when_a_call_is_answered_goes_on() {
        let workers = Pool::new(SIZE).unwrap();
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
        let workers = Pool::new(SIZE).unwrap();
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

    #[test]
    fn no_more_run_or_wait_than_the_size_says_and_the_next_is_told_how_many_wait() {
        let workers = Pool::new(PoolSize { threads: 2, waiting: 3 }).unwrap();
        let (say, said) = channel();
        let (open, gate) = channel::<()>();
        let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
        let job = || {
            let (say, gate) = (say.clone(), std::sync::Arc::clone(&gate));
            Box::new(move |_: &AtomicBool| {
                let _ = say.send(());
                let _ = gate.lock().unwrap().recv_timeout(PATIENCE);
            })
        };
        let mut tickets: Vec<_> = (0..2).map(|_| workers.submit(job()).unwrap()).collect();
        for _ in 0..2 {
            said.recv_timeout(PATIENCE).unwrap();
        }
        tickets.extend((0..3).map(|_| workers.submit(job()).unwrap()));
        let more = workers.submit(job()).err();
        assert!(matches!(more, Some(PoolError::Busy { waiting: 3 })), "{more:?}");
        assert!(said.recv_timeout(Duration::from_millis(50)).is_err(), "a third one runs");
        for _ in 0..5 {
            open.send(()).unwrap();
        }
        for _ in 0..3 {
            said.recv_timeout(PATIENCE).unwrap();
        }
    }

    #[test]
    fn jobs_may_borrow_in_a_scope_and_none_outlives_it() {
        let (say, said) = channel();
        let text = String::from("borrowed");
        let begin = Instant::now();
        std::thread::scope(|scope| {
            let pool = Pool::scoped(SIZE, scope).unwrap();
            for _ in 0..6 {
                let (say, text) = (say.clone(), &text);
                let job = Box::new(move |_: &AtomicBool| {
                    let rested = Os::new(false).sleep(PATIENCE);
                    let _ = say.send((text.len(), rested.unwrap().is_some()));
                });
                // Answered, so that the end of the pool and not of the ticket ends it.
                pool.submit(job).unwrap().answered();
            }
            std::thread::sleep(Duration::from_millis(50));
        });
        assert!(begin.elapsed() < PATIENCE, "the scope waited for a job");
        // Those that ran were interrupted; those that waited never ran.
        assert_eq!(said.try_iter().collect::<Vec<_>>(), [(8, true); 4]);
    }
}
