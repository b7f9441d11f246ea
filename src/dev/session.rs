//! One session: hints, keys and signals in; looks, signatures and runs out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::DevError;
use super::event::{Audience, DevEvent, Teller};
use super::git_state::Runs;
use super::hints::{Depth, Watch};
use super::poll::{Poll, PollEvent};
use super::repositories::{Repositories, States, Touches};
use super::rules::HoldReason;
use super::terminal::Key;
use crate::base::durations::{DEV_AGAIN_MS, DEV_PATIENCE_MS};
use crate::diagnostic::{Diagnostic, Failure};
use crate::id::{Fingerprint, Ref, Space};
use crate::rye::{Author, Request, Rye, WorkingItem};
use crate::space::Entry;
use crate::trace::Quiet;
use crate::verify::{DevKey, PublicKey};

/// After the last sign of a change `rye dev` waits so long before it looks, in milliseconds: an
/// editor takes several steps to save.
const DEV_QUIET_MS: u64 = 80;

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DevEnd {
    /// The person quit.
    Quit,
    Signal(i32),
}

/// The options of a session.
#[derive(Debug, Default)]
pub(crate) struct DevRequest {
    /// The request to run after each save.
    pub(crate) request: Option<Request>,
    /// Changes without a reason to ask are signed even if no person is at a terminal.
    pub(crate) unattended: bool,
}

/// An item that waits for a person.
pub(super) struct Held {
    pub(super) why: BTreeSet<HoldReason>,
    /// The item can be signed, and the person did not refuse its present content.
    pub(super) is_open: bool,
    /// The content that would be signed, as it was shown.
    pub(super) now: Arc<WorkingItem>,
}

/// A project that is watched.
pub(crate) struct Session<'a> {
    pub(super) make: &'a dyn Fn() -> Result<Rye, Failure>,
    pub(super) audience: Teller<'a>,
    asked: DevRequest,
    pub(super) dev: DevKey,
    pub(super) watch: Watch,
    pub(super) poll: Poll,
    pub(super) runs: Runs,
    /// Commit and index of each repository at the last scan.
    pub(super) git: States,
    /// When git last took the lock of each repository.
    pub(super) git_touched: Touches,
    /// Git did something, and no change was judged since.
    pub(super) git_moved: bool,
    /// The own key and the dev keys of this session.
    pub(super) ours: BTreeSet<Fingerprint>,
    /// Items that were not admitted when the session began.
    pub(super) strange: BTreeSet<Entry>,
    /// Items that are signed without a question, unless there is another reason to ask.
    pub(super) eligible: BTreeSet<Entry>,
    /// All items at the last scan.
    pub(super) last: BTreeMap<Entry, Arc<WorkingItem>>,
    /// Each item as it was when it was last admitted.
    pub(super) base: BTreeMap<Entry, Arc<WorkingItem>>,
    pub(super) held: BTreeMap<Entry, Held>,
    /// Items that are gone, and when that was first seen.
    pub(super) missing: BTreeMap<Entry, Instant>,
    /// Files that were empty at the last scan.
    pub(super) emptied: BTreeSet<Entry>,
    pub(super) git_was_busy: bool,
    /// The acts of git and of other runs since the last finished scan.
    pub(super) around: BTreeSet<HoldReason>,
    question: Option<Entry>,
    /// When to scan next.
    pub(super) due: Option<Instant>,
    /// The first hint since the last finished scan.
    pub(super) hinted: Option<Instant>,
    /// When to scan once more without a hint.
    pub(super) again: Option<Instant>,
    ended: Option<DevEnd>,
}

impl<'a> Session<'a> {
    /// Scans once and begins to watch. `make` builds the project as it is at that moment.
    ///
    /// # Errors
    /// `space.no_project`, `dev.watch`, `key.*`, `verify.project_not_accepted`,
    /// `verify.trust_unreadable`.
    pub(crate) fn begin(
        make: &'a dyn Fn() -> Result<Rye, Failure>,
        asked: DevRequest,
        audience: &'a mut dyn Audience,
    ) -> Result<Self, Failure> {
        let rye = make()?;
        let dev = rye.working_items().dev_key()?;
        // This comes before the watcher's thread starts, so that signals come here.
        let poll = Poll::open().map_err(DevError::from)?;
        let user = rye.spaces().user()?;
        let runs = Runs::find(user.base()).map_err(DevError::from)?;
        let mut session = Self {
            make,
            audience: Teller::new(audience),
            asked,
            dev,
            watch: Watch::new()?,
            poll,
            runs,
            git: States::new(),
            git_touched: Touches::new(),
            git_moved: false,
            ours: BTreeSet::new(),
            strange: BTreeSet::new(),
            eligible: BTreeSet::new(),
            last: BTreeMap::new(),
            base: BTreeMap::new(),
            held: BTreeMap::new(),
            missing: BTreeMap::new(),
            emptied: BTreeSet::new(),
            git_was_busy: false,
            around: BTreeSet::new(),
            question: None,
            due: None,
            hinted: None,
            again: None,
            ended: None,
        };
        session.first_look(&rye)?;
        Ok(session)
    }

    /// Watches first and then scans, so that no change between the two is missed.
    fn first_look(&mut self, rye: &Rye) -> Result<(), Failure> {
        self.cover(rye)?;
        self.last = rye.working_items().all(&BTreeMap::new())?;
        let git = self.repositories(rye);
        (self.git, self.git_touched) = (git.states(rye.host()), git.touches());
        // Files that a checkout wrote before this belong to the state in which the session begins.
        self.last = rye.working_items().all(&self.last)?;
        for (entry, now) in &self.last {
            if let Some(author) = now.author() {
                self.base.insert(entry.clone(), Arc::clone(now));
                if matches!(author, Author::Own | Author::Dev) {
                    self.eligible.insert(entry.clone());
                }
            }
        }
        let open = self.last.keys().filter(|entry| !self.base.contains_key(*entry));
        self.strange = open.cloned().collect();
        self.ours.insert(self.dev.fingerprint());
        self.ours.extend(rye.trust().own().ok().flatten().map(PublicKey::fingerprint));
        // Files beside tools may lie elsewhere.
        self.cover(rye)
    }

    /// Watches every folder that decides about the project now.
    pub(super) fn cover(&mut self, rye: &Rye) -> Result<(), Failure> {
        let project = rye.spaces().project_path();
        let mut wanted = BTreeMap::from([
            (project.to_owned(), Depth::Alone),
            (project.join(".ai"), Depth::Whole),
        ]);
        let git = self.repositories(rye);
        wanted.extend(git.folders().map(|folder| (folder.to_owned(), Depth::Alone)));
        wanted.insert(self.runs.folder().to_owned(), Depth::Alone);
        for now in self.last.values() {
            for name in now.file_names() {
                // Those below `.ai` are watched already; the others begin at the project.
                let folder = project.join(name).parent().map(PathBuf::from);
                let folder = folder.filter(|f| !f.starts_with(project.join(".ai")));
                if let Some(folder) = folder {
                    wanted.entry(folder).or_insert(Depth::Alone);
                }
            }
        }
        Ok(self.watch.cover(&wanted)?)
    }

    /// The repositories that may write the files of the last scan.
    pub(super) fn repositories(&self, rye: &Rye) -> Repositories {
        let project = rye.spaces().project_path();
        let named = rye.located().vars.path("GIT_DIR");
        let mut folders = BTreeSet::from([project.to_owned(), project.join(".ai")]);
        for (entry, now) in &self.last {
            let own = project.join(".ai").join(entry.relative());
            let folder = own.parent().unwrap_or(project);
            folders.insert(folder.to_owned());
            // Listed paths begin at the tool's folder, at the one above it, or at the project.
            for name in now.file_names() {
                let begins = [Some(folder), folder.parent(), Some(project)].into_iter().flatten();
                folders.extend(begins.filter_map(|at| Some(at.join(name).parent()?.to_owned())));
            }
        }
        let real = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        Repositories::find(project, &real, named, rye.host())
    }

    /// Holds an item back until a person has looked, also for `rye sign --all` and a later session.
    /// An item that waits only for a terminal is not held back.
    pub(super) fn hold(&mut self, rye: &Rye, entry: &Entry, held: Held) {
        let in_doubt = held.why.iter().any(|why| *why != HoldReason::NoTerminal);
        let kept = rye.signing().held_back(Space::Project).filter(|_| in_doubt);
        if let Some(Err(error)) = kept.map(|kept| kept.add(&entry.item, &entry.ext)) {
            let diagnostic = Diagnostic::from(&DevError::from(error));
            self.audience.tell(&DevEvent::Trouble { diagnostic: &diagnostic });
        }
        self.held.insert(entry.clone(), held);
    }

    /// Releases an item: a person looked at it or signed it, or it is gone.
    pub(super) fn let_go(&mut self, rye: &Rye, entry: &Entry) {
        if let Some(kept) = rye.signing().held_back(Space::Project) {
            kept.remove(&entry.item, &entry.ext);
        }
        self.held.remove(entry);
    }

    /// Returns true if anything is signed without a key press.
    pub(super) fn signs_alone(&self) -> bool {
        self.asked.unattended || self.poll.terminal().is_some()
    }

    /// Watches until the session is ended.
    ///
    /// # Errors
    /// `dev.watch`
    pub(crate) fn run(mut self) -> Result<DevEnd, Failure> {
        self.start()?;
        loop {
            if let Some(ended) = self.ended {
                return Ok(ended);
            }
            // While hints come, files are still being written.
            let clock = self.clock_due();
            let until = self.due.or(self.again).map_or(clock, |due| due.min(clock));
            let heard = self.poll.wait(&self.watch, Some(until)).map_err(DevError::from)?;
            self.keep_fresh()?;
            match heard {
                PollEvent::Hint => self.hint(),
                PollEvent::Key(key) => self.key(key)?,
                PollEvent::Signal(signal) => return Ok(DevEnd::Signal(signal)),
                PollEvent::Nothing => {}
            }
            let at = Instant::now();
            let hinted = self.due.is_some_and(|due| due <= at);
            let again = self.due.is_none() && self.again.is_some_and(|again| again <= at);
            if hinted || again {
                self.due = None;
                self.again = hinted.then(|| at + Duration::from_millis(DEV_AGAIN_MS));
                self.scan()?;
            }
        }
    }

    fn start(&mut self) -> Result<(), Failure> {
        let rye = (self.make)()?;
        let unsigned = self.last.len() - self.base.len();
        self.audience.tell(&DevEvent::Started {
            project: rye.spaces().project_path(),
            items: self.last.len(),
            unsigned,
            runs: self.asked.request.as_ref().map(|request| request.item.as_str()),
            key: self.dev.fingerprint(),
            until: self.dev.not_after(),
            asks: self.poll.terminal().is_some(),
            signs: self.signs_alone(),
        });
        let items = self.sign_again(&rye);
        if items > 0 {
            let (key, until) = (self.dev.fingerprint(), self.dev.not_after());
            self.audience.tell(&DevEvent::Renewed { key, until, items });
        }
        self.hold_what_is_unsigned(&rye);
        self.run_now()?;
        self.ask();
        Ok(())
    }

    /// Takes a hint: the project is scanned when no more hints come, or after a longest wait.
    pub(super) fn hint(&mut self) {
        let now = Instant::now();
        let first = *self.hinted.get_or_insert(now);
        let quiet = now + Duration::from_millis(DEV_QUIET_MS);
        self.due = Some(quiet.min(first + Duration::from_millis(DEV_PATIENCE_MS)));
    }

    fn key(&mut self, key: Key) -> Result<(), Failure> {
        let key = match key {
            Key::Char(byte) => Key::Char(byte.to_ascii_lowercase()),
            Key::End => Key::End,
        };
        match key {
            Key::End | Key::Char(b'q') => self.ended = Some(DevEnd::Quit),
            Key::Char(b'r') => {
                if self.asked.request.is_none() {
                    self.audience.tell(&DevEvent::NothingToRun);
                }
                self.run_now()?;
                self.ask();
            }
            Key::Char(b'y') => self.yes()?,
            Key::Char(b'n') => self.no(),
            Key::Char(b'd') => self.show_again(),
            Key::Char(_) => {}
        }
        Ok(())
    }

    /// Signs exactly what was shown, after the person said yes.
    fn yes(&mut self) -> Result<(), Failure> {
        let Some(entry) = self.question.take() else { return Ok(()) };
        let Some(held) = self.held.get(&entry) else { return Ok(()) };
        let shown = Arc::clone(&held.now);
        let rye = (self.make)()?;
        if self.sign(&rye, &entry, &shown, true) {
            self.run_now()?;
        }
        self.ask();
        Ok(())
    }

    fn no(&mut self) {
        let Some(entry) = self.question.take() else { return };
        if let Some(held) = self.held.get_mut(&entry) {
            held.is_open = false;
            self.audience.tell(&DevEvent::Skipped { item: &entry.item });
        }
        self.ask();
    }

    fn show_again(&mut self) {
        if let Some(entry) = self.question.clone() {
            self.show(&entry);
        }
        self.ask();
    }

    /// Shows what would be signed, and why it waits; false if that cannot be shown.
    fn show(&mut self, entry: &Entry) -> bool {
        let Some(held) = self.held.get(entry) else { return false };
        let rye = match (self.make)() {
            Ok(rye) => rye,
            Err(failure) => {
                self.trouble(&failure);
                return false;
            }
        };
        let why: Vec<HoldReason> = held.why.iter().cloned().collect();
        let now = &held.now;
        let changes = rye.working_items().changes(self.base.get(entry).map(Arc::as_ref), now);
        let item = &now.item;
        self.audience.tell(&DevEvent::Changed { item, place: &now.place, changes: &changes });
        self.audience.tell(&DevEvent::Waits { item, why: &why, asks: true });
        true
    }

    /// Asks about the first item that waits, on a terminal, right below its diff.
    pub(super) fn ask(&mut self) {
        if self.poll.terminal().is_none() {
            return;
        }
        let open = || self.held.iter().filter(|(_, held)| held.is_open).map(|(entry, _)| entry);
        // The item that is asked about already comes first.
        let same = open().find(|entry| self.question.as_ref() == Some(*entry));
        let left = open().count().saturating_sub(1);
        let Some(entry) = same.or_else(|| open().next()).cloned() else {
            self.question = None;
            return;
        };
        // If the change cannot be shown, there is no question; the next scan tries again.
        let is_shown = self.audience.shows(&entry.item) || self.show(&entry);
        self.question = is_shown.then_some(entry);
        if let (Some(entry), Some(terminal)) = (&self.question, self.poll.terminal()) {
            terminal.forget();
            self.audience.tell(&DevEvent::Question { item: &entry.item, left });
        }
    }

    /// Returns true if a question is due and not open yet.
    pub(super) fn owes_a_question(&self) -> bool {
        let is_open = || self.held.values().any(|held| held.is_open);
        self.question.is_none() && self.poll.terminal().is_some() && is_open()
    }

    /// Runs the requested item and scans what it changed; an item that waits is not run. It asks
    /// nothing, and forgets keys that were typed until now.
    pub(super) fn run_now(&mut self) -> Result<(), Failure> {
        let Some(request) = self.asked.request.clone() else { return Ok(()) };
        let names = |item: &Ref| {
            let asked = request.item.as_str();
            item.to_string() == asked || item.id.as_str() == asked
        };
        if self.held.keys().any(|entry| names(&entry.item)) {
            self.audience.tell(&DevEvent::NotRun { item: &request.item });
            return Ok(());
        }
        let rye = (self.make)()?;
        self.audience.tell(&DevEvent::Runs { item: &request.item });
        let start = Instant::now();
        let result = rye.runs().run(&request, start, &Quiet);
        let elapsed = start.elapsed();
        let started_nothing =
            request.dry_run || result.as_ref().is_ok_and(|report| !report.is_tool());
        // The state is taken before anybody is told, so that later edits count as made after the
        // run.
        let seen = match started_nothing {
            true => None,
            false => self.observe(Some(&request.item))?,
        };
        self.audience.tell(&DevEvent::Ran { item: &request.item, result: &result, elapsed });
        if let Err(failed) = &result
            && let Some(signal) = failed.failure.interrupted()
        {
            self.ended = Some(DevEnd::Signal(signal));
            return Ok(());
        }
        if let Some(seen) = seen {
            self.act(seen)?;
        }
        // Keys that were typed during the run, by the tool or the person, answer no question.
        if let Some(terminal) = self.poll.terminal() {
            terminal.forget();
        }
        Ok(())
    }
}
