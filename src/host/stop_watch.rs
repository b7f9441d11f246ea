//! A thread whose work another process can stop.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle};

use super::signals::{Signals, ThisThread, block_all_signals};
use crate::base::durations::{STOP_AGAIN_MS, wait_of};
use crate::base::sync::unpoisoned;

/// How often it is looked whether a thread is to stop, in milliseconds: it stops within a second.
const STOP_LOOK_MS: u64 = 150;

/// How often a thread is interrupted at the most: each wait below it takes one signal.
const TIMES: usize = 16;

/// Looks again and again, as long as it exists, whether the thread that made it is to stop. Once it
/// is, whatever that thread waits for ends as if the whole process had been asked to end.
pub(crate) struct StopWatch {
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
    /// Keeps the signals of this thread pending for the code that listens.
    signals: Signals,
}

#[derive(Default)]
struct Shared {
    is_stopped: Arc<AtomicBool>,
    /// The work is over.
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl StopWatch {
    /// Watches this thread; `asked` says whether it is to stop.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub(crate) fn start(asked: impl FnMut() -> bool + Send + 'static) -> io::Result<Self> {
        let signals = Signals::listen()?;
        let (shared, thread) = (Arc::<Shared>::default(), ThisThread::new());
        let theirs = Arc::clone(&shared);
        let watcher = Builder::new().name("stop-watch".into());
        let watcher = watcher.spawn(move || theirs.watch(thread, asked))?;
        Ok(Self { shared, watcher: Some(watcher), signals })
    }

    /// A flag that says whether it is to stop.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.is_stopped)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.is_stopped.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn watch(&self, thread: ThisThread, mut asked: impl FnMut() -> bool) {
        block_all_signals();
        let mut times = 0;
        loop {
            let is_to_stop = times > 0 || asked();
            let mut is_over = unpoisoned(self.is_over.lock());
            // Under this lock the thread still runs: it waits for us before it goes on.
            if is_to_stop && !*is_over && times < TIMES {
                self.is_stopped.store(true, Ordering::Relaxed);
                thread.interrupt();
                times += 1;
            }
            let pause = if is_to_stop { STOP_AGAIN_MS } else { STOP_LOOK_MS };
            if !*is_over {
                let waited = self.changed.wait_timeout(is_over, wait_of(pause));
                is_over = unpoisoned(waited).0;
            }
            if *is_over {
                return;
            }
        }
    }
}

impl Drop for StopWatch {
    fn drop(&mut self) {
        *unpoisoned(self.shared.is_over.lock()) = true;
        self.shared.changed.notify_all();
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        // A signal that no code waited for must not end the process.
        while self.is_stopped() && self.signals.take().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::StopWatch;
    use crate::host::{Host, Os};

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn whatever_the_thread_waits_for_ends_once_it_is_to_stop_and_no_signal_is_left() {
        for _ in 0..3 {
            let asked = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&asked);
            let watch = StopWatch::start(move || theirs.load(Ordering::Relaxed)).unwrap();
            assert_eq!(Os::new(false).sleep(Duration::from_millis(300)).unwrap(), None);
            assert!(!watch.is_stopped());
            asked.store(true, Ordering::Relaxed);
            let begin = Instant::now();
            for _ in 0..3 {
                assert!(Os::new(false).sleep(LONG).unwrap().is_some(), "again and again");
            }
            assert!(watch.is_stopped() && begin.elapsed() < LONG);
            std::thread::sleep(Duration::from_millis(900));
            drop(watch);
            assert_eq!(Os::new(false).sleep(Duration::from_millis(50)).unwrap(), None);
        }
    }
}
