//! One function for many values, on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::sync::unpoisoned;

/// Maps on all cores, or on as many threads as the machine gives; the results keep the order of the
/// input.
pub(crate) fn parallel<T: Send, R: Send>(input: Vec<T>, map: impl Fn(T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(input.len());
    if cores <= 1 {
        return input.into_iter().map(map).collect();
    }
    let slots: Vec<Mutex<(Option<T>, Option<R>)>> =
        input.into_iter().map(|item| Mutex::new((Some(item), None))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
            let item = unpoisoned(slot.lock()).0.take();
            let result = item.map(&map);
            unpoisoned(slot.lock()).1 = result;
        }
    };
    std::thread::scope(|scope| {
        // This thread works too, so that all is done where there is no other.
        for _ in 1..cores {
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let slots = slots.into_iter().map(|slot| unpoisoned(slot.into_inner()));
    slots.filter_map(|(_, result)| result).collect()
}
