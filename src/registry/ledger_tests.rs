//! The ledger under many interleavings, and under processes that are killed (threads 2).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::fixtures::new;
use super::threads::Amounts;
use super::{Registry, RegistryError};
use crate::base::limits::LEDGER_MOST;

/// Numbers that are always the same.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }

    fn index(&mut self, of: usize) -> usize {
        usize::try_from(self.below(of as u64)).unwrap()
    }
}

/// A thread as the test believes it to be.
#[derive(Clone, Default)]
struct Believed {
    parent: Option<String>,
    is_running: bool,
    /// What it holds for turns of its own that are not booked.
    holds: Vec<(u64, u64)>,
    /// What its own turns took.
    took: (u64, u64, u64),
}

fn home() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// A registry whose writes are not forced to the disk: nothing here loses its power.
fn open(home: &Path) -> Registry {
    let registry = Registry::open(home).unwrap();
    registry.db.pragma_update(None, "synchronous", "off").unwrap();
    registry
}

/// The sums of a root as they stand in the registry at this moment.
fn root(registry: &Registry, id: &str) -> (u64, u64, u64) {
    let sql = "SELECT turns + held_turns, tokens + held_tokens, spend + held_spend FROM thread
               WHERE id = ?1";
    registry.db.query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
}

const MOST: Amounts = Amounts { turns: 12, tokens: 1_000, spend: 500, spawns: 6 };

struct Interleaving<'a> {
    registries: &'a mut [Registry],
    chance: &'a mut Chance,
    threads: BTreeMap<String, Believed>,
    root: String,
    /// How often something was refused, and how often something died.
    refused: usize,
    died: usize,
}

impl Interleaving<'_> {
    fn step(&mut self) {
        let names: Vec<String> = self.threads.keys().cloned().collect();
        let at = self.chance.index(names.len());
        let name = names[at].clone();
        let which = self.chance.index(self.registries.len());
        let what = self.chance.below(12);
        let registry = &mut self.registries[which];
        match what {
            0 | 1 => self.spawn(which, &name),
            2..=5 => {
                let asked = (self.chance.below(400), self.chance.below(200));
                if !self.threads[&name].is_running {
                    // Once that is noticed, it holds nothing more.
                    registry.threads().unwrap();
                }
                match registry.hold(&name, asked.0, asked.1) {
                    Ok(None) => {
                        let thread = self.threads.get_mut(&name).unwrap();
                        assert!(thread.is_running);
                        thread.holds.push(asked);
                    }
                    Ok(Some(_)) => self.refused += 1,
                    Err(RegistryError::NotRunning { .. }) => {
                        assert!(!self.threads[&name].is_running);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            6..=8 => {
                let thread = self.threads.get_mut(&name).unwrap();
                // Whoever is dead books nothing.
                let Some(held) = thread.holds.pop().filter(|_| thread.is_running) else { return };
                let took = (what < 8).then(|| {
                    (held.0 - self.chance.below(held.0 + 1), held.1 - self.chance.below(held.1 + 1))
                });
                assert_eq!(registry.book(&name, held, took).unwrap(), None);
                if let Some(took) = took {
                    thread.took.0 += 1;
                    thread.took.1 += took.0;
                    thread.took.2 += took.1;
                }
            }
            9 if name != self.root || self.chance.below(8) == 0 => self.crash(which, &name),
            10 => drop(registry.threads().unwrap()),
            // What it still holds then is given back.
            11 if self.threads[&name].is_running && self.is_a_leaf(&name) => {
                let registry = &mut self.registries[which];
                registry.end_thread(&name, "completed", None, None).unwrap();
                let thread = self.threads.get_mut(&name).unwrap();
                (thread.is_running, thread.holds) = (false, Vec::new());
            }
            _ => {}
        }
    }

    fn is_a_leaf(&self, name: &str) -> bool {
        let mut all = self.threads.values();
        name != self.root && !all.any(|one| one.is_running && one.parent.as_deref() == Some(name))
    }

    fn spawn(&mut self, which: usize, parent: &str) {
        // Who is dead starts nothing.
        if !self.threads[parent].is_running {
            return;
        }
        let name = format!("{}/{}", self.root, self.threads.len());
        let most = Amounts {
            turns: self.chance.below(20),
            tokens: self.chance.below(2_000),
            spend: self.chance.below(1_000),
            spawns: self.chance.below(4),
        };
        let registry = &mut self.registries[which];
        let depth = registry.thread(parent).unwrap().unwrap().depth();
        let begun = depth
            .checked_sub(1)
            .map(|depth| registry.begin_thread(&new(&name, Some(parent), most, depth)).unwrap());
        if begun == Some(None) {
            let parent = Some(parent.to_owned());
            let child = Believed { parent, is_running: true, ..Believed::default() };
            self.threads.insert(name, child);
        } else {
            self.refused += 1;
        }
    }

    /// Its process is gone, so it and all below it say nothing any more.
    fn crash(&mut self, which: usize, name: &str) {
        let sql = "UPDATE thread SET start = start + 1 WHERE id = ?1";
        self.registries[which].db.execute(sql, [name]).unwrap();
        self.died += 1;
        let mut dead = vec![name.to_owned()];
        while let Some(name) = dead.pop() {
            let below = self.threads.iter().filter(|(_, one)| one.parent.as_ref() == Some(&name));
            dead.extend(below.map(|(name, _)| name.clone()));
            let thread = self.threads.get_mut(&name).unwrap();
            thread.is_running = false;
            // Nobody knows what came of the calls that were under way, so they count as asked for.
            for held in std::mem::take(&mut thread.holds) {
                thread.took.0 += 1;
                thread.took.1 += held.0;
                thread.took.2 += held.1;
            }
        }
    }

    fn holds_never_too_much(&self) {
        let (turns, tokens, spend) = root(&self.registries[0], &self.root);
        assert!(turns <= MOST.turns && tokens <= MOST.tokens && spend <= MOST.spend);
    }

    /// All of them end, some by a crash, and nothing is held any more.
    fn end(&mut self) {
        let names: Vec<String> = self.threads.keys().cloned().collect();
        let root = self.root.clone();
        for name in names.iter().rev().filter(|name| **name != root) {
            if self.threads[name].is_running {
                match self.chance.below(2) {
                    0 => self.crash(0, name),
                    _ => {
                        let thread = self.threads.get_mut(name).unwrap();
                        for held in std::mem::take(&mut thread.holds) {
                            self.registries[0].book(name, held, None).unwrap();
                        }
                        self.registries[0].end_thread(name, "failed", None, None).unwrap();
                        thread.is_running = false;
                    }
                }
            }
        }
        if self.threads[&root].is_running {
            self.crash(0, &root);
        }
        let rows = self.registries[1].threads().unwrap();
        let rows = rows.iter().filter(|row| row.id.starts_with(&self.root));
        for row in rows {
            assert_eq!(row.held, Amounts::default(), "{} still holds", row.id);
            assert_ne!(row.status, "running", "{}", row.id);
        }
        // What was used is what was booked, and what died was under way with; no more and no less.
        let mut sum = (0, 0, 0);
        for thread in self.threads.values() {
            sum = (sum.0 + thread.took.0, sum.1 + thread.took.1, sum.2 + thread.took.2);
        }
        assert_eq!(super::ledger_tests::root(&self.registries[0], &root), sum);
    }
}

#[test]
fn in_ten_thousand_interleavings_no_root_goes_beyond_its_limit_and_all_is_given_back() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut died, mut steps) = (0, 0, 0);
    for round in 0..100 {
        let home = home();
        let mut registries = [open(home.path()), open(home.path()), open(home.path())];
        for n in 0..100 {
            let root = format!("root{round}-{n}");
            registries[0].begin_thread(&new(&root, None, MOST, 3)).unwrap();
            let first = Believed { is_running: true, ..Believed::default() };
            let threads = [(root.clone(), first)].into_iter().collect();
            let (registries, chance) = (&mut registries[..], &mut chance);
            let mut one = Interleaving { registries, chance, threads, root, refused: 0, died: 0 };
            for _ in 0..24 {
                one.step();
                one.holds_never_too_much();
                steps += 1;
            }
            one.end();
            refused += one.refused;
            died += one.died;
            one.registries[0]
                .db
                .execute_batch("DELETE FROM thread_grants; DELETE FROM thread")
                .unwrap();
        }
    }
    assert!(refused > 10_000 && died > 10_000, "{steps} steps, {refused} refused, {died} died");
}

/// Which registry a helper writes into, and as which thread.
const HELPER: &str = "RYE_TEST_LEDGER_HELPER";

/// What a helper does: a thread below the root that holds and books until it is killed. In a run of
/// the tests it does so once.
#[test]
fn a_thread_in_another_process_holds_and_books_below_its_parent() {
    let asked = std::env::var(HELPER).ok();
    let own = home();
    let (place, id) = match asked.as_deref().and_then(|asked| asked.split_once('|')) {
        Some((place, id)) => (place.to_owned(), id.to_owned()),
        None => (own.path().display().to_string(), "root/1".to_owned()),
    };
    let mut registry = open(Path::new(&place));
    if asked.is_none() {
        registry.begin_thread(&new("root", None, LARGE, 3)).unwrap();
    }
    registry.begin_thread(&new(&id, Some("root"), LARGE, 2)).unwrap();
    let mut chance = Chance(1 + u64::from(std::process::id()));
    let mut booked = 0;
    loop {
        let asked_for = 1 + chance.below(300);
        if registry.hold(&id, asked_for, 1).unwrap().is_some() {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        std::thread::sleep(Duration::from_micros(chance.below(2_000)));
        registry.book(&id, (asked_for, 1), Some((asked_for / 2, 1))).unwrap();
        booked += asked_for / 2;
        if asked.is_none() {
            break;
        }
    }
    let row = registry.thread("root").unwrap().unwrap();
    assert_eq!((row.used.tokens, row.held), (booked, Amounts::default()));
}

const LARGE: Amounts = Amounts { turns: 1 << 40, tokens: 1 << 40, spend: 1 << 40, spawns: 1 << 40 };

fn helper(home: &Path, id: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "registry::ledger_tests::a_thread_in_another_process_holds_and_books_below_its_parent",
        ])
        .env(HELPER, format!("{}|{id}", home.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn two_hundred_processes_that_are_killed_leave_nothing_held_and_nothing_beyond_the_limit() {
    let home = home();
    let mut registry = open(home.path());
    // Of these three hundred tokens at once, two helpers cannot hold all that they ask for.
    let most = Amounts { tokens: 300_000, ..LARGE };
    registry.begin_thread(&new("root", None, most, 3)).unwrap();
    let mut chance = Chance(7);
    let mut helpers: Vec<(String, Child)> = Vec::new();
    let (mut seen_held, mut started, mut killed) = (0, 0, 0);
    while killed < 200 {
        while helpers.len() < 4 {
            started += 1;
            let id = format!("root/{started}");
            helpers.push((id.clone(), helper(home.path(), &id)));
        }
        let at = chance.index(helpers.len());
        let (id, mut child) = helpers.swap_remove(at);
        // It is killed wherever it is then, once it began.
        let until = Instant::now() + Duration::from_mins(1);
        while registry.thread(&id).unwrap().is_err() {
            assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "{id} begins");
            std::thread::sleep(Duration::from_micros(500));
        }
        std::thread::sleep(Duration::from_micros(chance.below(3_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let (_, tokens, _) = root(&registry, "root");
        assert!(tokens <= most.tokens, "{tokens}");
        let left =
            registry.db.query_row("SELECT held_tokens FROM thread WHERE id = ?1", [&id], |row| {
                row.get::<_, u64>(0)
            });
        seen_held += usize::from(left.unwrap() > 0);
        assert_eq!(registry.thread(&id).unwrap().unwrap().status, "killed");
        killed += 1;
    }
    for (_, mut child) in helpers {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let rows = registry.threads().unwrap();
    assert!(rows.iter().all(|row| row.held == Amounts::default()), "all is given back");
    assert!(seen_held > 20, "{seen_held} were killed while they held something");
    assert_eq!(rows[0].status, "running");
    let below: u64 = rows[1..].iter().map(|row| row.used.tokens).sum();
    assert_eq!(rows[0].used.tokens, below, "the root has used what those below it used");
}

#[test]
fn a_turn_that_took_any_number_is_counted_and_goes_beyond_the_limit() {
    let home = home();
    let mut registry = open(home.path());
    let most = Amounts { turns: 9, tokens: 100, spend: 100, spawns: 0 };
    assert_eq!(registry.begin_thread(&new("root", None, most, 0)).unwrap(), None);
    assert_eq!(registry.hold("root", 1, 1).unwrap(), None);
    let breach = registry.book("root", (1, 1), Some((u64::MAX, u64::MAX))).unwrap();
    assert_eq!(breach.map(|breach| breach.limit), Some("tokens"));
    assert_eq!(root(&registry, "root"), (1, LEDGER_MOST, LEDGER_MOST));
}
