//! Lets libFuzzer call one target of `src/fuzz.rs`, named by the variable `FUZZ_TARGET`.
//!
//! An input that takes too much processor time is a finding as well: a reader whose work grows with
//! the square of its text shows here first.

#![no_main]

use std::sync::OnceLock;
use std::time::Duration;

type FuzzTarget = fn(&[u8]);

/// Time for any input, in milliseconds, and for each KiB of it beside that.
const ANY_MS: u32 = 25;
const KIB_MS: u32 = 10;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let target = target();
    let before = processor_time();
    target(data);
    let spent = processor_time().saturating_sub(before);
    let kib = u32::try_from(data.len() >> 10).unwrap_or(u32::MAX);
    let most = Duration::from_millis((ANY_MS + KIB_MS * kib).into());
    assert!(spent <= most, "too slow: {spent:?} for {} bytes", data.len());
});

fn target() -> FuzzTarget {
    static TARGET: OnceLock<FuzzTarget> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let known = rye::fuzz::TARGETS.iter().find(|(target, _)| *target == name);
        let (_, target) = known.unwrap_or_else(|| panic!("FUZZ_TARGET names no target: `{name}`"));
        // What is made once is made before the clock runs.
        target(b"");
        *target
    })
}

/// What this thread has spent so far; waiting for the processor does not count.
fn processor_time() -> Duration {
    let mut spent = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut spent) };
    let seconds = u64::try_from(spent.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or(0))
}
