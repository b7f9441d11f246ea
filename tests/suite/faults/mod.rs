//! Every call that changes the file system is met by a fault, one after the other (attack rows c06,
//! c07).
//!
//! For each row of `cases.rs` the real binary is run again and again: its first such call is its
//! last, then its second, until a run comes to its end without meeting the fault. After each, the
//! disk holds the old state or the new one, never anything between, and the next call works. Each
//! fault meets one call here, or one in ten, and others each day; the whole is each call.
//!
//! - `cases.rs`, `bundles.rs`, `imports.rs`: what is tried, and how its state is told
//! - `snippets.rs`: the same for snippets that wait for a person
//! - `tracer.rs`: the faults · `calls.rs`: which calls count · `tree.rs`: a folder's content
//! - `full.rs`: a disk that is really full, or read-only · `names.rs`: temporary names

mod bundles;
mod calls;
mod cases;
mod full;
mod imports;
mod names;
#[cfg(all(feature = "code", feature = "mcp"))]
mod snippets;
pub mod tracer;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use calls::Call;
use tracer::{Fault, Traced, trace};
use tree::Tree;

use crate::world::{World, sha256};

/// What the disk says of one thing that a call changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Old,
    New,
}

/// One call of rye, and how to tell what became of it.
struct Case {
    args: Vec<String>,
    world: World,
    /// One state for each thing that is changed as a whole; fails the test for what is neither.
    states: fn(&World) -> Vec<State>,
    /// What is called after a fault; it may find everything done (its code is here then).
    next: Vec<String>,
    next_may_say: &'static [&'static str],
    /// Fewer calls than these would say that the tracer looks at the wrong ones.
    least: usize,
}

const FAULTS: &[Fault] = &[
    Fault::KilledBefore,
    Fault::KilledAfter,
    Fault::Fails(libc::EIO),
    Fault::Full,
    Fault::ReadOnly,
];

/// A count of the days: of much, something else is tried each day.
pub fn day() -> usize {
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("the clock stands after 1970");
    usize::try_from(now.as_secs() / 86_400).expect("a count of days")
}

/// The steps at which a program is killed, one after the other without an end: one of so many,
/// others each day; all if the tests run whole.
pub fn kill_steps(one_of: usize) -> impl Iterator<Item = usize> {
    let every = if crate::world::whole() { 1 } else { one_of };
    (day() % every..).step_by(every)
}

/// Tries each fault at every step; by default at one step, or each tenth, so that as many days as
/// there are steps try all of them.
fn try_all(case: &Case) {
    let is_whole = crate::world::whole();
    let before = Tree::of(case.world.outside());
    let clean = run(case, None);
    assert_eq!(clean.status, Some(0), "the untouched call works: {clean:?}");
    let all_new = (case.states)(&case.world).iter().all(|state| *state == State::New);
    assert!(all_new, "the untouched call does all of it");
    let after = Tree::of(case.world.outside());
    let touched = before.differences(&after);
    assert!(!touched.iter().any(|path| is_leftover(path)), "{touched:?}");
    assert!(clean.calls.len() >= case.least, "only these were seen: {:#?}", clean.calls);
    let every = if is_whole { 1 } else { clean.calls.len().max(10) };
    for (place, fault) in FAULTS.iter().enumerate() {
        let first = (day() + place * every / FAULTS.len()) % every;
        let mut step = first;
        while is_whole || step < clean.calls.len() {
            before.restore();
            let traced = run(case, Some((step, *fault)));
            let Some(hit) = traced.hit.clone() else { break };
            check(case, &before, &touched, *fault, &traced, &hit);
            step += every;
            assert!(step < 1000, "{fault:?}: the calls have no end");
        }
        eprintln!("{:?} {fault:?}: steps from {first}, each {every}th, to {step}", case.args);
        // A full disk hinders a few of the calls alone.
        let least = if *fault == Fault::Full { usize::from(is_whole) } else { case.least };
        assert!(step >= least, "{fault:?} met {step} calls only");
    }
    before.restore();
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn run(case: &Case, fault: Option<(usize, Fault)>) -> Traced {
    trace(&mut case.world.command(&strs(&case.args)), case.world.outside(), fault)
}

/// What must hold after one fault.
fn check(
    case: &Case,
    before: &Tree,
    touched: &[PathBuf],
    fault: Fault,
    traced: &Traced,
    hit: &Call,
) {
    let what = format!("{:?} {fault:?} at {hit:?}: {traced:?}", case.args);
    let killed = matches!(fault, Fault::KilledBefore | Fault::KilledAfter);
    assert_eq!(traced.status.is_none(), killed, "{what}");
    let said = [&traced.stdout, &traced.stderr];
    assert!(!said.iter().any(|text| text.contains("panicked")), "{what}");
    assert_ne!(traced.status, Some(70), "{what}");

    let now = Tree::of(case.world.outside());
    let mut leftovers = Vec::new();
    for path in before.differences(&now) {
        // A remembered version carries its time in its name.
        let is_version = path.to_string_lossy().contains("/.ai/state/items");
        // And so does what was put aside of a bundle.
        let is_aside = path.to_string_lossy().contains("/.ai/bundles/.kept-");
        if touched.contains(&path) || is_aside || (is_version && !is_leftover(&path)) {
            let is_whole = now
                .bytes(&path)
                .is_none_or(|bytes| before.bytes(&path) == Some(bytes) || whole(&path, bytes));
            assert!(is_whole, "{} is neither: {what}", path.display());
        } else {
            assert!(is_leftover(&path), "{} changed: {what}", path.display());
            leftovers.push(path);
        }
    }
    // Only a process that is gone, or may not remove files any more, leaves some behind; and the
    // documents of a rotation that is decided wait for the next call, as what is left of a bundle
    // does in whose place there is another.
    let waits = |path: &PathBuf| {
        path.ancestors().any(|p| {
            let is_work =
                p.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b".at-work-"));
            p.ends_with("rotation") || is_work && now.bytes(&p.join("receipt.json")).is_some()
        })
    };
    let waits = leftovers.iter().all(waits);
    let may_leave = killed || fault == Fault::ReadOnly || hit.removes() || waits;
    assert!(may_leave || leftovers.is_empty(), "{leftovers:?} is left: {what}");

    let states = (case.states)(&case.world);
    match traced.status {
        Some(0) => {
            assert!(states.iter().all(|state| *state == State::New), "{states:?}: {what}");
        }
        Some(_) => assert!(!code(traced).is_empty(), "{what}"),
        None => {}
    }

    for path in &leftovers {
        age(path);
    }
    let written = |path: &PathBuf| fs::metadata(path.parent()?).ok()?.modified().ok();
    let places: Vec<_> = leftovers.iter().map(written).collect();
    let next = case.world.rye(&strs(&case.next));
    let fine = next.status == 0 || case.next_may_say.contains(&next.code().as_str());
    assert!(fine, "the next call: {next:?} after {what}");
    let states = (case.states)(&case.world);
    assert!(states.iter().all(|state| *state == State::New), "{states:?} after {what}");
    // Whoever writes into a folder sweeps it.
    for (path, place) in leftovers.iter().zip(places) {
        let swept = !path.exists() || written(path) == place;
        assert!(swept, "{} is not swept after {what}", path.display());
    }
}

fn code(traced: &Traced) -> String {
    let text = traced.stderr.split("error[").nth(1).unwrap_or_default();
    text.split(']').next().unwrap_or_default().to_owned()
}

/// A name that rye gives to what is not done yet: a temporary file, a run's private folder, or what
/// lies in one.
fn is_leftover(path: &Path) -> bool {
    let is_pin = |name: &str, above: &Path| above.ends_with("state/pin") && name.contains('-');
    path.ancestors().any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let above = path.parent().unwrap_or(path);
        let temporary = name.strip_prefix(".rye-").and_then(|rest| rest.strip_suffix(".tmp"));
        temporary.is_some_and(|random| random.len() == 16)
            || is_pin(&name, above)
            || above.ends_with("state/rotation")
            || (above.ends_with(".ai/bundles") && name.starts_with(".at-work-"))
    })
}

/// What is left of a process that is long gone looks like this.
fn age(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_hours(24);
    if let Ok(file) = fs::File::open(path) {
        file.set_modified(long_ago).expect("an older time");
    }
}

/// Whether a file is all there, by its own testimony: the digest of its signature line, the end of
/// its PEM. A file without either says nothing, and is none that rye writes.
fn whole(path: &Path, bytes: &[u8]) -> bool {
    // The tool's own, which the fixture makes empty.
    if path.ends_with("project/marker") {
        return bytes.is_empty();
    }
    let text = String::from_utf8_lossy(bytes);
    if path.extension().is_some_and(|ext| ext == "pem") {
        return text.starts_with("-----BEGIN ") && text.trim_end().ends_with(" KEY-----");
    }
    // What these say is told by the case.
    if path.to_string_lossy().contains("/skills/") {
        return text.ends_with('\n');
    }
    if path.to_string_lossy().contains("/.ai/bundles/") {
        return true;
    }
    let told = [".ai/rye.lock", "plan.json", "receipt.json"];
    if told.iter().any(|told| path.ends_with(told)) {
        return text.ends_with('\n');
    }
    let mut signed = text.split_inclusive('\n').filter(|line| line.contains("rye:signed:v2 "));
    let Some(line) = signed.next() else { return false };
    let rest = text.replacen(line, "", 1);
    line.contains(&format!(" sha256={} ", sha256(rest.as_bytes())))
}
