//! The ledger under many interleavings, and under processes that are killed (threads 2).

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fixtures::new;
use super::ledger::Amounts;
use super::run_state::RunState;
use super::{Registry, RegistryError};
use crate::base::limits::LEDGER_MOST;
use crate::base::whole_tests;

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
#[derive(Clone)]
struct Believed {
    parent: Option<String>,
    most: Amounts,
    depth: u64,
    is_running: bool,
    /// The amounts that it holds for turns of its own that are not booked.
    holds: Vec<(u64, u64)>,
    /// The amounts of its own turns: turns, tokens and spend.
    took: (u64, u64, u64),
}

impl Believed {
    fn new(parent: Option<&str>, most: Amounts, depth: u64) -> Self {
        let parent = parent.map(str::to_owned);
        Self { parent, most, depth, is_running: true, holds: Vec::new(), took: (0, 0, 0) }
    }
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

/// The amounts that a thread has used and holds, as the registry says at this moment.
fn sums(registry: &Registry, id: &str) -> Amounts {
    let sql = "SELECT turns + held_turns, tokens + held_tokens, spend + held_spend, spawns
               FROM thread WHERE run = ?1";
    let amounts = |row: &rusqlite::Row<'_>| {
        let (turns, tokens) = (row.get(0)?, row.get(1)?);
        Ok(Amounts { turns, tokens, spend: row.get(2)?, spawns: row.get(3)? })
    };
    registry.db.query_row(sql, [id], amounts).unwrap()
}

/// Those that have used and hold more than they may at this moment.
fn beyond(registry: &Registry) -> Vec<String> {
    let sql = "SELECT run FROM thread WHERE turns + held_turns > most_turns
               OR tokens + held_tokens > most_tokens OR spend + held_spend > most_spend
               OR spawns > most_spawns";
    let mut query = registry.db.prepare(sql).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

const MOST: Amounts = Amounts { turns: 12, tokens: 1_000, spend: 500, spawns: 6 };

struct Interleaving<'a> {
    registries: &'a mut [Registry],
    chance: &'a mut Chance,
    threads: BTreeMap<String, Believed>,
    root: String,
    /// How often each limit refused something, and how often something died.
    refused: BTreeMap<&'static str, usize>,
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
                let held = registry.hold(&name, asked.0, asked.1);
                let more = Amounts { turns: 1, tokens: asked.0, spend: asked.1, spawns: 0 };
                match held {
                    Ok(None) => {
                        assert!(self.have_room(&name, more), "{name} was let beyond a limit");
                        let thread = self.threads.get_mut(&name).unwrap();
                        assert!(thread.is_running);
                        thread.holds.push(asked);
                    }
                    Ok(Some(breach)) => {
                        assert!(!self.have_room(&name, more), "{name} has room: {breach:?}");
                        *self.refused.entry(breach.limit).or_default() += 1;
                    }
                    Err(RegistryError::NotRunning { .. }) => {
                        assert!(!self.threads[&name].is_running);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            6..=8 => {
                let thread = self.threads.get_mut(&name).unwrap();
                // A dead process books nothing.
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
                registry.end_thread(&name, RunState::Completed, None, None).unwrap();
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
        let above = self.threads[parent].depth;
        let child = new(&name, Some(parent), most, above.saturating_sub(1));
        let begun = self.registries[which].begin_thread(&child).unwrap();
        let may = above > 0 && self.have_room(parent, Amounts { spawns: 1, ..Amounts::default() });
        assert_eq!(begun.is_none(), may, "{name}: {begun:?}");
        match begun {
            None => {
                let child = Believed::new(Some(parent), most, above - 1);
                self.threads.insert(name, child);
            }
            Some(breach) => *self.refused.entry(breach.limit).or_default() += 1,
        }
    }

    /// A thread and those above it, itself first.
    fn with_those_above(&self, name: &str) -> Vec<String> {
        let mut chain = vec![name.to_owned()];
        while let Some(above) = &self.threads[chain.last().unwrap()].parent {
            chain.push(above.clone());
        }
        chain
    }

    /// The amounts that a thread and those below it took and hold, and the number of these.
    fn believed(&self, name: &str) -> Amounts {
        let mut sum = Amounts::default();
        for (other, thread) in &self.threads {
            if !self.with_those_above(other).iter().any(|above| above == name) {
                continue;
            }
            sum.turns += thread.took.0 + thread.holds.len() as u64;
            sum.tokens += thread.took.1 + thread.holds.iter().map(|held| held.0).sum::<u64>();
            sum.spend += thread.took.2 + thread.holds.iter().map(|held| held.1).sum::<u64>();
            sum.spawns += u64::from(other != name);
        }
        sum
    }

    /// A thread and all above it may use so much more.
    fn have_room(&self, name: &str, more: Amounts) -> bool {
        self.with_those_above(name).iter().all(|name| {
            let (has, most) = (self.believed(name), self.threads[name].most);
            has.turns + more.turns <= most.turns
                && has.tokens + more.tokens <= most.tokens
                && has.spend + more.spend <= most.spend
                && has.spawns + more.spawns <= most.spawns
        })
    }

    /// Its process is gone, so it and all below it say nothing any more.
    fn crash(&mut self, which: usize, name: &str) {
        let sql = "UPDATE run SET start = start + 1 WHERE id = ?1";
        self.registries[which].db.execute(sql, [name]).unwrap();
        self.died += 1;
        let mut dead = vec![name.to_owned()];
        while let Some(name) = dead.pop() {
            let below = self.threads.iter().filter(|(_, one)| one.parent.as_ref() == Some(&name));
            dead.extend(below.map(|(name, _)| name.clone()));
            let thread = self.threads.get_mut(&name).unwrap();
            thread.is_running = false;
            // The calls that were under way count as asked for, since their end is not known.
            for held in std::mem::take(&mut thread.holds) {
                thread.took.0 += 1;
                thread.took.1 += held.0;
                thread.took.2 += held.1;
            }
        }
    }

    fn holds_never_too_much(&self) {
        assert_eq!(beyond(&self.registries[0]), [""; 0]);
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
                        self.registries[0].end_thread(name, RunState::Failed, None, None).unwrap();
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
            assert_ne!(row.state, RunState::Running, "{}", row.id);
        }
        // What was used is what was booked and begun, and what died was under way with; no more and
        // no less.
        for name in self.threads.keys() {
            assert_eq!(sums(&self.registries[0], name), self.believed(name), "{name}");
        }
    }
}

/// 200 interleavings here; the whole is 10,000.
#[test]
fn h01_in_no_interleaving_does_a_root_go_beyond_its_limit_and_all_is_given_back() {
    let rounds = if whole_tests() { 100 } else { 2 };
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut died, mut steps) = (BTreeMap::<_, usize>::new(), 0, 0);
    for round in 0..rounds {
        let home = home();
        let mut registries = [open(home.path()), open(home.path()), open(home.path())];
        for n in 0..100 {
            let root = format!("root{round}-{n}");
            registries[0].begin_thread(&new(&root, None, MOST, 3)).unwrap();
            let threads = [(root.clone(), Believed::new(None, MOST, 3))].into_iter().collect();
            let (registries, chance, none) = (&mut registries[..], &mut chance, BTreeMap::new());
            let mut one =
                Interleaving { registries, chance, threads, root, refused: none, died: 0 };
            for _ in 0..24 {
                one.step();
                one.holds_never_too_much();
                steps += 1;
            }
            one.end();
            for (limit, times) in &one.refused {
                *refused.entry(*limit).or_default() += times;
            }
            died += one.died;
            one.registries[0].db.execute_batch("DELETE FROM thread; DELETE FROM run").unwrap();
        }
    }
    assert!(died > 100 * rounds, "{steps} steps, {died} died");
    assert!(refused.values().sum::<usize>() > 100 * rounds, "{steps} steps, {refused:?}");
    for limit in ["turns", "tokens", "spend", "spawns", "depth"] {
        assert!(refused.get(limit).is_some_and(|times| *times >= rounds), "{limit}: {refused:?}");
    }
}

/// Which registry a helper writes into, below which thread, and as which.
const HELPER: &str = "RYE_TEST_LEDGER_HELPER";

/// Below this one any process may begin a thread, until there are so many.
const WIDE: &str = "wide";
const PLACES: u64 = 100;

/// The work of a helper: a thread below a root that holds and books until it is killed, and begins
/// others below another root. In a run of the tests it does so once.
#[test]
fn a_thread_in_another_process_holds_and_books_below_its_parent() {
    let asked = std::env::var(HELPER).ok();
    let own = home();
    let told: Vec<String> = match &asked {
        Some(asked) => asked.split('|').map(str::to_owned).collect(),
        None => vec![own.path().display().to_string(), "root".to_owned(), "root/1".to_owned()],
    };
    let [place, root, id] = &told[..] else { panic!("{told:?}") };
    let mut registry = open(Path::new(place));
    if asked.is_none() {
        registry.begin_thread(&new("root", None, LARGE, 3)).unwrap();
        registry.begin_thread(&new(WIDE, None, LARGE, 3)).unwrap();
    }
    registry.begin_thread(&new(id, Some(root), LARGE, 2)).unwrap();
    let note = |limit: &str| {
        let path = Path::new(place).join("refused");
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(format!("{limit}\n").as_bytes()).unwrap();
    };
    let mut chance = Chance(1 + u64::from(std::process::id()));
    let (mut booked, parent) = (0, parent_id());
    // Where the test that is to kill it is gone, it ends by itself.
    for turn in (0..).take_while(|_| parent_id() == parent) {
        if turn % 4 == 0 {
            let begun = format!("{WIDE}/{}-{turn}", std::process::id());
            let begun = registry.begin_thread(&new(&begun, Some(WIDE), LARGE, 2)).unwrap();
            if let Some(breach) = begun {
                note(breach.limit);
            }
        }
        let asked_for = 1 + chance.below(600);
        if let Some(breach) = registry.hold(id, asked_for, 1).unwrap() {
            note(breach.limit);
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        std::thread::sleep(Duration::from_micros(chance.below(2_000)));
        let took = chance.below(2);
        registry.book(id, (asked_for, 1), Some((took, 1))).unwrap();
        booked += took;
        if asked.is_none() {
            break;
        }
    }
    let row = registry.thread(root).unwrap().unwrap();
    assert_eq!((row.used.tokens, row.held), (booked, Amounts::default()));
}

const LARGE: Amounts = Amounts { turns: 1 << 40, tokens: 1 << 40, spend: 1 << 40, spawns: 1 << 40 };

fn helper(home: &Path, root: &str, id: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "registry::ledger_tests::a_thread_in_another_process_holds_and_books_below_its_parent",
        ])
        .env(HELPER, format!("{}|{root}|{id}", home.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Says that it is enough, also where the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Looks at all sums until it is told to stop; gives the number of looks.
fn look_all_the_time(home: &Path, is_over: &AtomicBool) -> usize {
    let registry = open(home);
    let mut looks = 0;
    while !is_over.load(Ordering::Relaxed) {
        assert_eq!(beyond(&registry), [""; 0], "while processes run");
        looks += 1;
        std::thread::sleep(Duration::from_micros(200));
    }
    looks
}

/// Ten processes one after the other below a root, of which four run at once, are killed; how many
/// of them held something then.
fn ten_are_killed(home: &Path, registry: &mut Registry, root: &str, chance: &mut Chance) -> usize {
    // Four that ask at once may ask for 2,400.
    let most = Amounts { tokens: 2_000, ..LARGE };
    registry.begin_thread(&new(root, None, most, 3)).unwrap();
    let mut names = (1..=10).map(|n| format!("{root}/{n}"));
    let mut helpers: Vec<(String, Child)> = Vec::new();
    let mut held = 0;
    loop {
        let missing = 4 - helpers.len();
        helpers
            .extend(names.by_ref().take(missing).map(|id| (id.clone(), helper(home, root, &id))));
        if helpers.is_empty() {
            break;
        }
        let (id, mut child) = helpers.swap_remove(chance.index(helpers.len()));
        // It is killed wherever it is then, once it began.
        let until = Instant::now() + Duration::from_mins(1);
        while registry.thread(&id).unwrap().is_err() {
            assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "{id} begins");
            std::thread::sleep(Duration::from_micros(500));
        }
        std::thread::sleep(Duration::from_micros(chance.below(6_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let sql = "SELECT held_tokens > 0 FROM thread WHERE run = ?1";
        held += usize::from(registry.db.query_row(sql, [&id], |row| row.get(0)).unwrap_or(false));
        assert_eq!(registry.thread(&id).unwrap().unwrap().state, RunState::Killed);
    }
    held
}

/// 40 processes here; the whole is 200.
#[test]
fn h03_processes_that_are_killed_leave_nothing_held_and_nothing_beyond_the_limit() {
    let home = home();
    let mut registry = open(home.path());
    let wide = Amounts { spawns: PLACES, ..LARGE };
    registry.begin_thread(&new(WIDE, None, wide, 3)).unwrap();
    let (mut chance, is_over) = (Chance(7), AtomicBool::new(false));
    let many = if whole_tests() { 20 } else { 4 };
    let roots: Vec<String> = (1..=many).map(|n| format!("root{n}")).collect();
    let (held, looks) = std::thread::scope(|scope| {
        let looker = scope.spawn(|| look_all_the_time(home.path(), &is_over));
        let over = Over(&is_over);
        let held = roots.iter().map(|root| {
            assert!(!looker.is_finished(), "it saw a sum beyond its limit");
            ten_are_killed(home.path(), &mut registry, root, &mut chance)
        });
        let held: usize = held.sum();
        drop(over);
        (held, looker.join().unwrap())
    });
    let rows = registry.threads().unwrap();
    assert_eq!(rows.iter().filter(|row| row.id.starts_with("root")).count(), 11 * many);
    assert!(rows.iter().all(|row| row.held == Amounts::default()), "all is given back");
    for above in roots.iter().map(String::as_str).chain([WIDE]) {
        let row = rows.iter().find(|row| row.id == above).unwrap();
        let below = rows.iter().filter(|row| row.parent.as_deref() == Some(above));
        let (mut tokens, mut spawns) = (0, 0);
        below.for_each(|row| (tokens, spawns) = (tokens + row.used.tokens, spawns + 1));
        assert_eq!(row.state, RunState::Running);
        assert_eq!((row.used.tokens, row.used.spawns), (tokens, spawns), "{above}");
    }
    // The limits were reached, again and again.
    let refused = fs::read_to_string(home.path().join("refused")).unwrap();
    let refused = |limit: &str| refused.lines().filter(|line| *line == limit).count();
    let seen = [refused("tokens"), refused("spawns"), held, looks];
    assert!(seen.iter().all(|times| *times > 2 * many), "{seen:?}");
    assert_eq!(sums(&registry, WIDE).spawns, PLACES);
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
    let (turns, tokens, spend) = (1, LEDGER_MOST, LEDGER_MOST);
    assert_eq!(sums(&registry, "root"), Amounts { turns, tokens, spend, spawns: 0 });
}
