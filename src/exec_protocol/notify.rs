//! Hooks that are only told: they run beside the call and change nothing (exec-protocol 6).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::stderr::StderrLog;
use super::wire::{one_line, request};
use crate::base::durations::OBSERVER_LOOK_MS;
use crate::base::limits::OBSERVERS;
use crate::base::sync::unpoisoned;
use crate::execute::{Mask, RunFolders};
use crate::host::{PersistentChild, Signals, hold_signals};
use crate::id::Ref;

/// Programs that were told and still run. Dropping it waits for them, each to its own deadline; a
/// signal that asks this process to end ends them.
#[derive(Default)]
pub(crate) struct Observers {
    threads: Mutex<Vec<JoinHandle<()>>>,
    is_over: Arc<AtomicBool>,
    /// Those that run hold one each.
    places: Arc<()>,
}

/// Leave for one program to be told something: there are [`OBSERVERS`].
pub(crate) struct NotificationSlot(#[expect(dead_code, reason = "it is counted")] Arc<()>);

/// A program that is told something.
pub(crate) struct Notification {
    pub(crate) item: Ref,
    pub(crate) child: PersistentChild,
    pub(crate) folders: RunFolders,
    /// What it is told, a JSON object as text.
    pub(crate) payload: Vec<u8>,
    pub(crate) deadline: Instant,
    pub(crate) mask: Mask,
}

impl Observers {
    /// A place for one more, which is taken before it is started; `None` while too many run.
    pub(crate) fn place(&self) -> Option<NotificationSlot> {
        let place = NotificationSlot(Arc::clone(&self.places));
        // One is ours. Of two who take the last place at once neither may get it, and none gets one
        // more.
        (Arc::strong_count(&self.places) <= OBSERVERS + 1).then_some(place)
    }

    /// Tells a program that has been started, on a thread of its own.
    pub(crate) fn tell(&self, place: NotificationSlot, told: Notification) {
        let is_over = Arc::clone(&self.is_over);
        let thread = std::thread::Builder::new().name("observer".into());
        let item = told.item.clone();
        // What asks this process to end is heard by whoever waits for the call.
        let _held = hold_signals();
        let watch = move || {
            watch(told, &is_over);
            drop(place);
        };
        match thread.spawn(watch) {
            Ok(thread) => {
                let mut threads = unpoisoned(self.threads.lock());
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            Err(error) => tracing::warn!(%item, %error, "the hook could not be watched"),
        }
    }

    /// Lets those that still run end now.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn watch(told: Notification, is_over: &AtomicBool) {
    let Notification { item, child, folders, payload, deadline, mask } = told;
    let mut words = one_line(request(&payload, false, None));
    let mut stderr_log = StderrLog::new(folders.authors_paths());
    loop {
        if words.is_empty() {
            child.close_input();
        }
        let now = Instant::now();
        if now >= deadline || is_over.load(Ordering::Relaxed) {
            tracing::warn!(%item, "the hook did not end in time and was stopped");
            break;
        }
        // What it answers changes nothing.
        match child.turn(
            &mut words,
            deadline.min(now + Duration::from_millis(OBSERVER_LOOK_MS)),
            None,
        ) {
            Ok(turn) => {
                stderr_log.take(&item, &turn.stderr, &mask);
                // It may close its output and go on without an answer.
                if turn.has_ended {
                    break;
                }
            }
            Err(error) => {
                tracing::warn!(%item, %error, "the hook cannot be heard");
                break;
            }
        }
    }
    let ended = child.kill();
    if ended.exit_code != Some(0) {
        tracing::warn!(%item, how = crate::execute::status_text(&ended), "the hook failed");
    }
    drop(folders);
}

impl Drop for Observers {
    fn drop(&mut self) {
        let threads = std::mem::take(&mut *unpoisoned(self.threads.lock()));
        if threads.is_empty() {
            return;
        }
        let signals = Signals::listen().ok();
        for thread in threads {
            while !thread.is_finished() {
                // It stays for whoever is to end by it.
                if signals.as_ref().is_some_and(Signals::is_waiting) {
                    self.end();
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Observers;
    use crate::base::limits::OBSERVERS;

    #[test]
    fn there_are_so_many_places_and_no_more_until_one_is_left() {
        let observers = Observers::default();
        let mut taken: Vec<_> = (0..OBSERVERS).map(|_| observers.place()).collect();
        assert!(taken.iter().all(Option::is_some));
        assert!(observers.place().is_none() && observers.place().is_none());
        taken.pop();
        assert!(observers.place().is_some());
    }
}
