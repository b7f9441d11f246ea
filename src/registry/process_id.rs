//! The process that runs something: named so that others can tell whether it still does.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::ProcessStat;

/// A number may be used again, and the time of the start tells the two apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessId {
    pub(super) pid: u32,
    /// In ticks since the machine was started.
    pub(super) start: u64,
    /// `None` where the system does not say it.
    pub(super) place: Option<Place>,
}

/// Where the number of a process means that process: one start of a machine, and one namespace of
/// processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    boot: u128,
    namespace: u64,
    /// The process holds the lock of what was registered; see `alive.rs`.
    has_lock: bool,
    /// The process has other work too.
    is_shared: bool,
}

/// This process runs what one command asked for, and nothing else.
static IS_ALONE: AtomicBool = AtomicBool::new(false);

/// Says that this process runs what one command asked for, and nothing else: then it may be ended
/// with what it registers. Without that, as in a program that uses rye as a library, it may not.
pub(crate) fn process_is_alone(is_alone: bool) {
    IS_ALONE.store(is_alone, Ordering::Relaxed);
}

impl ProcessId {
    /// This process; `None` where processes cannot be looked at.
    pub(super) fn own() -> Option<Self> {
        let pid = std::process::id();
        // Where `/proc` is that of another namespace, its numbers are of other processes.
        let is_here =
            fs::read_link("/proc/self").is_ok_and(|it| it.as_os_str() == &*pid.to_string());
        let start = ProcessStat::read(pid).filter(|_| is_here)?.start;
        Some(Self { pid, start, place: Place::own() })
    }

    /// One that this process started; `None` where it is gone, or cannot be looked at.
    #[cfg(test)]
    pub(super) fn started(pid: u32) -> Option<Self> {
        let start = ProcessStat::read(pid)?.start;
        Self::own().map(|own| Self { pid, start, ..own })
    }

    /// This process, where it holds the lock of what it registers.
    pub(super) fn own_locked(has_lock: bool) -> Option<Self> {
        let own = Self::own()?;
        let is_shared = !IS_ALONE.load(Ordering::Relaxed);
        let place = own.place.map(|place| Place { has_lock, is_shared, ..place });
        Some(Self { place, ..own })
    }

    /// It held the lock of what was registered.
    pub(super) fn has_lock(self) -> bool {
        self.place.is_some_and(|place| place.has_lock)
    }

    /// It has other work than what was registered.
    pub(super) fn is_shared(self) -> bool {
        self.place.is_some_and(|place| place.is_shared)
    }

    /// It runs no more. This is false if processes cannot be looked at, and for one of another
    /// namespace.
    pub(super) fn is_gone(self) -> bool {
        match (Self::own(), self.place) {
            (None, _) => false,
            (Some(Self { place: Some(here), .. }), Some(there)) if !here.is(there) => {
                here.boot != there.boot
            }
            _ => ProcessStat::read(self.pid).map(|stat| stat.start) != Some(self.start),
        }
    }

    /// Its number is of another namespace, so it is no process of this one.
    pub(super) fn is_elsewhere(self) -> bool {
        let own = Place::own();
        self.place.is_some_and(|there| !own.is_some_and(|here| here.is(there)))
    }
}

impl Place {
    fn is(self, other: Self) -> bool {
        (self.boot, self.namespace) == (other.boot, other.namespace)
    }

    /// Of this process; `None` where the system does not say.
    fn own() -> Option<Self> {
        static OWN: OnceLock<Option<Place>> = OnceLock::new();
        *OWN.get_or_init(|| {
            let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            let boot = u128::from_str_radix(&boot.trim().replace('-', ""), 16).ok()?;
            let namespace = fs::metadata("/proc/self/ns/pid").ok()?.ino();
            Some(Self { boot, namespace, has_lock: false, is_shared: false })
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lock = if self.has_lock { LOCKED } else { "" };
        let shared = if self.is_shared { SHARED } else { "" };
        write!(f, "{:032x}:{}{lock}{shared}", self.boot, self.namespace)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let plain = text.strip_suffix(SHARED);
        let (is_shared, text) = (plain.is_some(), plain.unwrap_or(text));
        let plain = text.strip_suffix(LOCKED);
        let (has_lock, text) = (plain.is_some(), plain.unwrap_or(text));
        let (boot, namespace) = text.split_once(':').ok_or(())?;
        let boot = u128::from_str_radix(boot, 16).map_err(drop)?;
        let namespace = namespace.parse().map_err(drop)?;
        Ok(Self { boot, namespace, has_lock, is_shared })
    }
}

/// How the place of a process ends that holds the lock of what was registered.
const LOCKED: &str = ":locked";

/// The mark of one that has other work too.
const SHARED: &str = ":shared";

/// As the registry keeps the place of a process.
pub(super) fn place_of(process: Option<ProcessId>) -> Option<String> {
    Some(process?.place?.to_string())
}

/// As the registry kept it; a text that is not one is of no place that is known.
pub(super) fn place_from(text: Option<String>) -> Option<Place> {
    text?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Place, ProcessId, place_from, place_of};
    use crate::base::ProcessStat;

    #[test]
    fn a_process_is_gone_when_it_ended_or_its_number_is_anothers() {
        let own = ProcessId::own().unwrap();
        assert!(!own.is_gone());
        assert!(ProcessId { start: own.start + 1, ..own }.is_gone());
        assert!(ProcessId { start: own.start + 1, place: None, ..own }.is_gone());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let start = ProcessStat::read(child.id()).map_or(0, |stat| stat.start);
        let child_was = ProcessId { pid: child.id(), start, ..own };
        child.wait().unwrap();
        assert!(child_was.is_gone());
    }

    #[test]
    fn a_process_of_another_namespace_is_not_judged_and_one_of_an_earlier_start_is_gone() {
        let own = ProcessId::own().unwrap();
        let here = own.place.unwrap();
        let elsewhere = Some(Place { namespace: here.namespace + 1, ..here });
        for start in [own.start, own.start + 1] {
            let other = ProcessId { start, place: elsewhere, ..own };
            assert!(!other.is_gone() && other.is_elsewhere());
        }
        let earlier = Some(Place { boot: here.boot ^ 1, ..here });
        assert!(ProcessId { place: earlier, ..own }.is_gone());
        assert!(!own.is_elsewhere());
        for process in [own, ProcessId::own_locked(true).unwrap()] {
            assert_eq!(place_from(place_of(Some(process))), process.place);
            assert!(!process.is_elsewhere() && !process.is_gone());
        }
        assert!(!own.has_lock() && ProcessId::own_locked(true).unwrap().has_lock());
        assert_eq!(place_from(Some("x".into())), None);
    }
}
