//! Hooks that are only told: they run beside the call and change nothing (exec-protocol 6).

use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::stderr::StderrLog;
use super::wire::{one_line, request};
use crate::base::durations::STOP_AGAIN_MS;
use crate::base::limits::OBSERVERS;
use crate::base::sync::unpoisoned;
use crate::execute::{Mask, RunFolders};
use crate::host::{PersistentChild, Signals, hold_signals};
use crate::id::Ref;

/// How often an observer looks whether it is to end, in milliseconds.
const OBSERVER_LOOK_MS: u64 = 50;

/// Programs that were told and still run. Dropping it waits for them, each to its own deadline; a
/// signal that asks this process to end ends them. Those that were told in a thread of a model end
/// with it where it is cut off, and one hook is told there what happened in its order: each time
/// when it has done with what it was told before.
#[derive(Default)]
pub(crate) struct Observers {
    running: Mutex<Vec<Observer>>,
    /// Those that run hold one each.
    places: Arc<()>,
}

/// A program that was told something.
struct Observer {
    watcher: JoinHandle<()>,
    item: Ref,
    /// The thread of a model that counts for it.
    thread: Option<String>,
    /// When it is ended at the latest, where that was said since.
    latest: Arc<Mutex<Option<Instant>>>,
    /// It is held by the program while it runs.
    runs: Weak<()>,
}

impl Observer {
    fn end_by(&self, latest: Instant) {
        let mut said = unpoisoned(self.latest.lock());
        *said = Some(said.map_or(latest, |said| said.min(latest)));
    }
}

/// Leave for one program to be told something: there are [`OBSERVERS`].
pub(crate) struct NotificationSlot(#[expect(dead_code, reason = "it is counted")] Arc<()>);

/// A program that is told something.
pub(crate) struct Notification {
    pub(crate) item: Ref,
    /// The thread in which it is told, where it is in one.
    pub(crate) thread: Option<String>,
    pub(crate) child: PersistentChild,
    pub(crate) folders: RunFolders,
    /// The message to it, a JSON object as text.
    pub(crate) payload: Vec<u8>,
    /// How long it has from then on.
    pub(crate) timeout: Duration,
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
        let (latest, running) = (Arc::new(Mutex::new(None)), Arc::new(()));
        let (until, runs) = (Arc::clone(&latest), Arc::downgrade(&running));
        let builder = std::thread::Builder::new().name("observer".into());
        let (item, thread) = (told.item.clone(), told.thread.clone());
        // A signal that asks this process to end is handled by the code that waits for the call.
        let _held = hold_signals();
        let mut all = unpoisoned(self.running.lock());
        all.retain(|observer| !observer.watcher.is_finished());
        let is_before = |other: &&Observer| {
            thread.is_some() && (&other.item, &other.thread) == (&item, &thread)
        };
        let before = all.iter().rfind(is_before).map(|other| other.runs.clone());
        let watch = move || {
            watch(told, before.as_ref(), &until);
            drop((place, running));
        };
        match builder.spawn(watch) {
            Ok(watcher) => all.push(Observer { watcher, item, thread, latest, runs }),
            Err(error) => tracing::warn!(%item, %error, "the hook could not be watched"),
        }
    }

    /// Gives those that were told in a thread, or in none, no more time than a call has to end
    /// whose thread is to stop.
    pub(crate) fn end_soon(&self, thread: Option<&str>) {
        let latest = Instant::now() + Duration::from_millis(STOP_AGAIN_MS);
        let running = unpoisoned(self.running.lock());
        for observer in running.iter().filter(|observer| observer.thread.as_deref() == thread) {
            observer.end_by(latest);
        }
    }

    /// Those that were told in a thread, which is over, count as told in another one from here on.
    pub(crate) fn pass_on(&self, thread: &str, to: &str) {
        for observer in &mut *unpoisoned(self.running.lock()) {
            if observer.thread.as_deref() == Some(thread) {
                observer.thread = Some(to.to_owned());
            }
        }
    }
}

fn watch(told: Notification, before: Option<&Weak<()>>, latest: &Mutex<Option<Instant>>) {
    let Notification { item, child, folders, payload, mask, timeout, .. } = told;
    let is_late = || unpoisoned(latest.lock()).is_some_and(|latest| latest <= Instant::now());
    while before.is_some_and(|before| before.strong_count() > 0) && !is_late() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let deadline = Instant::now() + timeout;
    let mut words = one_line(request(&payload, false, None));
    let mut stderr_log = StderrLog::new(folders.authors_paths());
    loop {
        if words.is_empty() {
            child.close_input();
        }
        // It may have become sooner.
        let latest = *unpoisoned(latest.lock());
        let until = latest.map_or(deadline, |latest| latest.min(deadline));
        let now = Instant::now();
        if now >= until {
            tracing::warn!(%item, "the hook did not end in time and was stopped");
            break;
        }
        // What it answers changes nothing.
        match child.turn(&mut words, until.min(now + Duration::from_millis(OBSERVER_LOOK_MS)), None)
        {
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
        let running = std::mem::take(&mut *unpoisoned(self.running.lock()));
        if running.is_empty() {
            return;
        }
        let signals = Signals::listen().ok();
        while running.iter().any(|observer| !observer.watcher.is_finished()) {
            // The signal stays pending for the code that ends the process by it.
            if signals.as_ref().is_some_and(Signals::is_waiting) {
                for observer in &running {
                    observer.end_by(Instant::now());
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        for observer in running {
            let _ = observer.watcher.join();
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
