//! Ending a snippet from outside.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Ends a snippet from outside: a limit of the executor was reached, or the caller cancelled.
/// Copies are the same.
#[derive(Clone, Default)]
pub struct Stop(Arc<State>);

/// The function that is called when the stop is asked for.
type Waker = Box<dyn Fn() + Send>;

#[derive(Default)]
struct State {
    is_asked: AtomicBool,
    next: AtomicU64,
    wakers: Mutex<Vec<(u64, Waker)>>,
}

impl Stop {
    /// One that is not asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the snippet to end. It ends as soon as its engine hears of it, whatever it does.
    pub fn now(&self) {
        self.0.is_asked.store(true, Ordering::SeqCst);
        for (_, wake) in self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            wake();
        }
    }

    /// Returns true if the stop was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    /// Calls `wake` when it is asked, at once if it already was, until the result is dropped. For
    /// an engine that waits for something else; `wake` must not block.
    pub fn on_stop(&self, wake: impl Fn() + Send + 'static) -> OnStop {
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_asked() {
            wake();
        }
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        wakers.push((number, Box::new(wake)));
        OnStop { stop: self.clone(), number }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.is_asked()).finish()
    }
}

/// While it exists, an engine is woken by its [`Stop`].
#[must_use]
#[derive(Debug)]
pub struct OnStop {
    stop: Stop,
    number: u64,
}

impl Drop for OnStop {
    fn drop(&mut self) {
        let mut wakers = self.stop.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Stop;

    #[test]
    fn who_waits_is_woken_by_each_stop_until_it_stops_waiting() {
        let (stop, woken) = (Stop::new(), Arc::new(AtomicUsize::new(0)));
        let wake = || {
            let woken = Arc::clone(&woken);
            move || {
                woken.fetch_add(1, Ordering::Relaxed);
            }
        };
        let (first, second) = (stop.on_stop(wake()), stop.on_stop(wake()));
        drop(second);
        assert_eq!((stop.is_asked(), woken.load(Ordering::Relaxed)), (false, 0));
        stop.clone().now();
        assert_eq!((stop.is_asked(), woken.load(Ordering::Relaxed)), (true, 1));
        let late = stop.on_stop(wake());
        assert_eq!(woken.load(Ordering::Relaxed), 2, "one that comes late is woken at once");
        drop((first, late));
        stop.now();
        assert_eq!(woken.load(Ordering::Relaxed), 2);
    }
}
