//! One session: hints, keys and signals in; looks, signatures and runs out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::DevError;
use super::event::{Audience, Event, Teller};
use super::git_state::Runs;
use super::poll::{Ears, Heard};
use super::repositories::{Repositories, States, Touches};
use super::rules::Why;
use super::terminal::Key;
use super::watch::{Depth, Watch};
use crate::base::limits::{DEV_AGAIN_MS, DEV_PATIENCE_MS, DEV_QUIET_MS};
use crate::diagnostic::{Diagnostic, Failure};
use crate::id::{Fingerprint, Ref, Space};
use crate::rye::{Author, Request, Rye, WorkingItem};
use crate::space::Entry;
use crate::trace::Quiet;
use crate::verify::{DevKey, PublicKey};

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The person had enough.
    Quit,
    Signal(i32),
}

/// What a session is asked to do.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// What to run after each save.
    pub(crate) request: Option<Request>,
    /// What nothing speaks against is signed also where nobody is at a terminal.
    pub(crate) unattended: bool,
}

/// What waits for a person.
pub(super) struct Held {
    pub(super) why: BTreeSet<Why>,
    /// It can be signed, and nobody said no to what it is now.
    pub(super) is_open: bool,
    /// What would be signed, as it was shown.
    pub(super) now: Arc<WorkingItem>,
}

/// A project, watched.
pub(crate) struct Session<'a> {
    pub(super) make: &'a dyn Fn() -> Result<Rye, Failure>,
    pub(super) audience: Teller<'a>,
    asked: Asked,
    pub(super) dev: DevKey,
    pub(super) watch: Watch,
    pub(super) ears: Ears,
    pub(super) runs: Runs,
    /// Commit and index of each repository at the last look.
    pub(super) git: States,
    /// When git last took each one's lock.
    pub(super) git_touched: Touches,
    /// git did something, and nothing that changed was judged since.
    pub(super) git_moved: bool,
    /// The own key and the dev keys of this session.
    pub(super) ours: BTreeSet<Fingerprint>,
    /// What was not admitted when the session began.
    pub(super) strange: BTreeSet<Entry>,
    /// What is signed without a question, as long as nothing else speaks against it.
    pub(super) eligible: BTreeSet<Entry>,
    /// Everything at the last look.
    pub(super) last: BTreeMap<Entry, Arc<WorkingItem>>,
    /// Everything as it was when it was last admitted.
    pub(super) base: BTreeMap<Entry, Arc<WorkingItem>>,
    pub(super) held: BTreeMap<Entry, Held>,
    /// What went away, and when that was first seen.
    pub(super) missing: BTreeMap<Entry, Instant>,
    /// Files that were empty at the last look.
    pub(super) emptied: BTreeSet<Entry>,
    pub(super) git_was_busy: bool,
    /// What went on beside the edits since the last look that came to an end.
    pub(super) around: BTreeSet<Why>,
    question: Option<Entry>,
    /// When to look.
    pub(super) due: Option<Instant>,
    /// The first hint since the last look that came to an end.
    pub(super) hinted: Option<Instant>,
    /// When to look once more without a hint.
    pub(super) again: Option<Instant>,
    ended: Option<Ended>,
}

impl<'a> Session<'a> {
    /// Takes a first look and begins to watch. `make` gives the project as it is at that moment.
    ///
    /// # Errors
    /// `dev.no_project`, `dev.watch`, `key.*`, `verify.trust_unreadable`.
    pub(crate) fn begin(
        make: &'a dyn Fn() -> Result<Rye, Failure>,
        asked: Asked,
        audience: &'a mut dyn Audience,
    ) -> Result<Self, Failure> {
        let rye = make()?;
        let dev = rye.working_items().dev_key()?.ok_or(DevError::NoProject)?;
        // Before the watcher's thread starts, so that signals come here.
        let ears = Ears::open().map_err(DevError::from)?;
        let user = rye.spaces().get(Space::User).ok_or(DevError::NoProject)?;
        let runs = Runs::find(user.base()).map_err(DevError::from)?;
        let mut session = Self {
            make,
            audience: Teller::new(audience),
            asked,
            dev,
            watch: Watch::new()?,
            ears,
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

    /// Watches first, so that nothing is missed between the look and the watching.
    fn first_look(&mut self, rye: &Rye) -> Result<(), Failure> {
        self.cover(rye)?;
        self.last = rye.working_items().all(&BTreeMap::new())?;
        let git = self.repositories(rye);
        (self.git, self.git_touched) = (git.states(rye.host()), git.touches());
        // What a checkout wrote before that is where the session begins.
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

    /// Watches all that decides about the project, as it lies now.
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

    /// The repositories that may write what was there at the last look.
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
    /// What waits for nothing but a terminal is not in doubt.
    pub(super) fn hold(&mut self, rye: &Rye, entry: &Entry, held: Held) {
        let in_doubt = held.why.iter().any(|why| *why != Why::NoTerminal);
        let kept = rye.signing().held_back(Space::Project).filter(|_| in_doubt);
        if let Some(Err(error)) = kept.map(|kept| kept.add(&entry.item, &entry.ext)) {
            let diagnostic = Diagnostic::from(&DevError::from(error));
            self.audience.tell(&Event::Trouble { diagnostic: &diagnostic });
        }
        self.held.insert(entry.clone(), held);
    }

    /// A person looked, somebody signed it, or it is gone.
    pub(super) fn let_go(&mut self, rye: &Rye, entry: &Entry) {
        if let Some(kept) = rye.signing().held_back(Space::Project) {
            kept.remove(&entry.item, &entry.ext);
        }
        self.held.remove(entry);
    }

    /// Whether anything is signed without a key press.
    pub(super) fn signs_alone(&self) -> bool {
        self.asked.unattended || self.ears.terminal().is_some()
    }

    /// Watches until somebody ends it.
    ///
    /// # Errors
    /// `dev.watch`
    pub(crate) fn run(mut self) -> Result<Ended, Failure> {
        self.start()?;
        loop {
            if let Some(ended) = self.ended {
                return Ok(ended);
            }
            // While hints come, what is written is not done.
            let clock = self.clock_due();
            let until = self.due.or(self.again).map_or(clock, |due| due.min(clock));
            let heard = self.ears.wait(&self.watch, Some(until)).map_err(DevError::from)?;
            self.keep_fresh()?;
            match heard {
                Heard::Hint => self.hint(),
                Heard::Key(key) => self.key(key)?,
                Heard::Signal(signal) => return Ok(Ended::Signal(signal)),
                Heard::Nothing => {}
            }
            let at = Instant::now();
            let hinted = self.due.is_some_and(|due| due <= at);
            let again = self.due.is_none() && self.again.is_some_and(|again| again <= at);
            if hinted || again {
                self.due = None;
                self.again = hinted.then(|| at + Duration::from_millis(DEV_AGAIN_MS));
                self.look()?;
            }
        }
    }

    fn start(&mut self) -> Result<(), Failure> {
        let rye = (self.make)()?;
        let unsigned = self.last.len() - self.base.len();
        self.audience.tell(&Event::Started {
            project: rye.spaces().project_path(),
            items: self.last.len(),
            unsigned,
            runs: self.asked.request.as_ref().map(Request::item),
            key: self.dev.fingerprint(),
            until: self.dev.not_after(),
            asks: self.ears.terminal().is_some(),
            signs: self.signs_alone(),
        });
        let items = self.sign_again(&rye);
        if items > 0 {
            let (key, until) = (self.dev.fingerprint(), self.dev.not_after());
            self.audience.tell(&Event::Renewed { key, until, items });
        }
        self.hold_what_is_unsigned(&rye);
        self.run_now()?;
        self.ask();
        Ok(())
    }

    /// Something may have changed: it is looked at when nothing more comes, or patience ends.
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
            Key::End | Key::Char(b'q') => self.ended = Some(Ended::Quit),
            Key::Char(b'r') => {
                if self.asked.request.is_none() {
                    self.audience.tell(&Event::NothingToRun);
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

    /// The person has read what was shown, and wants just that.
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
            self.audience.tell(&Event::Skipped { item: &entry.item });
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
        let why: Vec<Why> = held.why.iter().cloned().collect();
        let now = &held.now;
        let changes = rye.working_items().changes(self.base.get(entry).map(Arc::as_ref), now);
        let item = &now.item;
        self.audience.tell(&Event::Changed { item, place: &now.place, changes: &changes });
        self.audience.tell(&Event::Waits { item, why: &why, asks: true });
        true
    }

    /// Asks about the first item that waits, on a terminal, right below its diff.
    pub(super) fn ask(&mut self) {
        if self.ears.terminal().is_none() {
            return;
        }
        let open = || self.held.iter().filter(|(_, held)| held.is_open).map(|(entry, _)| entry);
        // The one that is asked about already comes first.
        let same = open().find(|entry| self.question.as_ref() == Some(*entry));
        let left = open().count().saturating_sub(1);
        let Some(entry) = same.or_else(|| open().next()).cloned() else {
            self.question = None;
            return;
        };
        // Nobody is asked about what they cannot see; the next look tries again.
        let is_shown = self.audience.shows(&entry.item) || self.show(&entry);
        self.question = is_shown.then_some(entry);
        if let (Some(entry), Some(terminal)) = (&self.question, self.ears.terminal()) {
            terminal.forget();
            self.audience.tell(&Event::Question { item: &entry.item, left });
        }
    }

    /// Whether somebody is to be asked, and is not asked yet.
    pub(super) fn owes_a_question(&self) -> bool {
        let is_open = || self.held.values().any(|held| held.is_open);
        self.question.is_none() && self.ears.terminal().is_some() && is_open()
    }

    /// Runs what there is to run, and looks what that changed; an item that waits is not run. Asks
    /// nothing: keys that were typed until now are forgotten first.
    pub(super) fn run_now(&mut self) -> Result<(), Failure> {
        let Some(request) = self.asked.request.clone() else { return Ok(()) };
        let names = |item: &Ref| {
            let asked = request.item();
            item.to_string() == asked || item.id.as_str() == asked
        };
        if self.held.keys().any(|entry| names(&entry.item)) {
            self.audience.tell(&Event::NotRun { item: request.item() });
            return Ok(());
        }
        let rye = (self.make)()?;
        self.audience.tell(&Event::Runs { item: request.item() });
        let start = Instant::now();
        let result = rye.runs().run(&request, start, &Quiet);
        let elapsed = start.elapsed();
        let started_nothing =
            request.dry_run || result.as_ref().is_ok_and(|report| !report.is_tool());
        // Seen before anybody is told, so that whoever edits then edits after the run.
        let seen = match started_nothing {
            true => None,
            false => self.observe(Some(request.item()))?,
        };
        self.audience.tell(&Event::Ran { item: request.item(), result: &result, elapsed });
        if let Err(failed) = &result
            && let Some(signal) = failed.failure.interrupted()
        {
            self.ended = Some(Ended::Signal(signal));
            return Ok(());
        }
        if let Some(seen) = seen {
            self.act(seen)?;
        }
        // Whatever the tool typed, or the person while it ran, answers nothing.
        if let Some(terminal) = self.ears.terminal() {
            terminal.forget();
        }
        Ok(())
    }
}
