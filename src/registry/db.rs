//! The file `<user>/.ai/state/registry.db` and its versions.

use std::cell::Cell;
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::error::RegistryError;
use crate::base::bytes::{sweep, temporary};
use crate::base::durations::REGISTRY_WAIT_MS;
use crate::base::{file_lock, random};

/// Longest pause between two tries, in milliseconds: a write takes about as long.
const REGISTRY_PAUSE_MS: u64 = 20;

/// The present moment in SQL, to the millisecond, as everything else here says it.
pub(super) const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/// The version of the tables, higher by one with each change of them.
const VERSION: usize = 16;

/// Amounts of money are millionths of a US dollar. A `place` says where a process runs, as `Place`.
const TABLES: &str = "
    -- A question to a person.
    CREATE TABLE request (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('tool', 'snippet', 'saved_snippet', 'signature')),
        asked_at TEXT NOT NULL,
        item TEXT NOT NULL,
        project TEXT NOT NULL,
        -- The plan file of a tool, or what is to be signed.
        payload BLOB NOT NULL,
        -- The snippet that waits, and if anything new may have run of it since it was approved.
        snippet TEXT,
        began INTEGER NOT NULL DEFAULT 1,
        for_record INTEGER NOT NULL,
        reason TEXT NOT NULL,
        message TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'done', 'rejected', 'lost')),
        decided_by TEXT,
        decided_at TEXT,
        approver_pid INTEGER,
        approver_start INTEGER,
        approver_place TEXT,
        result TEXT,
        -- What the `.env` of the project gave, as `EnvDigests`.
        env TEXT,
        -- The snippet with which it is decided.
        held_by TEXT,
        -- The thread that waits for it.
        thread TEXT,
        private TEXT,
        -- A snippet that waits may ask several questions at once. It is the request of the first
        -- one, of which `said` is the answer while others are open; of the others the state is.
        part_of TEXT,
        part INTEGER NOT NULL DEFAULT 0,
        said TEXT
    ) STRICT;
    CREATE INDEX request_state ON request (state);
    -- A run that others can see: a thread, or a run in a process of its own.
    CREATE TABLE run (
        id TEXT PRIMARY KEY,
        -- The thread below which it runs.
        parent TEXT REFERENCES run (id),
        kind TEXT NOT NULL CHECK (kind IN ('tool', 'directive')),
        item TEXT NOT NULL,
        -- The folder that holds the `.ai` of its record.
        base TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('created', 'running', 'waiting', 'completed',
            'failed', 'cancelled', 'continued', 'killed')),
        code TEXT,
        asked_at TEXT NOT NULL,
        started_at TEXT,
        ended_at TEXT,
        stop_asked_at TEXT,
        -- The process that runs it, waits to run it, or has yet to write its report.
        pid INTEGER,
        start INTEGER,
        place TEXT,
        -- The number of runs at once, for a run in a process of its own.
        places INTEGER,
        -- The request to a person for which the run of a tool waits.
        request TEXT,
        report TEXT,
        -- Receipts that are signed and not written yet, as `DueReceipts`.
        receipts TEXT,
        -- The thread that goes on for one that is continued.
        continued_by TEXT,
        -- The node that runs it, as JSON.
        remote TEXT
    ) STRICT;
    -- The caller that asked this node for a run.
    CREATE TABLE served (
        run TEXT PRIMARY KEY,
        caller TEXT NOT NULL,
        -- What it asked for beside the item, and what came of that, as JSON.
        asked TEXT NOT NULL,
        made TEXT
    ) STRICT;
    CREATE INDEX served_caller ON served (caller);
    CREATE INDEX run_state ON run (state);
    CREATE INDEX run_parent ON run (parent);
    CREATE INDEX run_process ON run (state) WHERE pid IS NOT NULL;
    -- The part of a run that only a thread has.
    CREATE TABLE thread (
        run TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        most_turns INTEGER NOT NULL,
        most_tokens INTEGER NOT NULL,
        most_spend INTEGER NOT NULL,
        most_spawns INTEGER NOT NULL,
        depth INTEGER NOT NULL,
        turns INTEGER NOT NULL DEFAULT 0,
        tokens INTEGER NOT NULL DEFAULT 0,
        spend INTEGER NOT NULL DEFAULT 0,
        spawns INTEGER NOT NULL DEFAULT 0,
        held_turns INTEGER NOT NULL DEFAULT 0,
        held_tokens INTEGER NOT NULL DEFAULT 0,
        held_spend INTEGER NOT NULL DEFAULT 0,
        -- The digest of the newest checkpoint of its record.
        checkpoint TEXT,
        -- The start of its record, until that is signed.
        began TEXT,
        -- The items that it may reach, for a rye that it starts.
        grants TEXT NOT NULL
    ) STRICT;
";

/// The file to which this process moved a registry of an earlier version.
static MOVED: OnceLock<PathBuf> = OnceLock::new();

/// The file to which this process moved a registry of an earlier version, which it cannot read.
pub(crate) fn moved_aside() -> Option<&'static Path> {
    MOVED.get().map(PathBuf::as_path)
}

/// The registry of one person.
pub(crate) struct Registry {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
}

impl Registry {
    /// Opens the registry of a user space, and makes it if it is not there: for its owner alone.
    ///
    /// # Errors
    /// `registry.io`, `registry.newer`
    pub(crate) fn open(user_base: &Path) -> Result<Self, RegistryError> {
        let path = path_of(user_base);
        let io = |source| RegistryError::Open { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
            if fs::metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                make(&end_of_links(&path))?;
            }
        }
        Self::at(path, true)
    }

    /// The registry of a user space, if it has one.
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub(crate) fn find(user_base: &Path) -> Result<Option<Self>, RegistryError> {
        let path = path_of(user_base);
        if path.exists() { Self::at(path, true).map(Some) } else { Ok(None) }
    }

    /// `moves` a registry of an earlier version aside.
    fn at(path: PathBuf, moves: bool) -> Result<Self, RegistryError> {
        let fail = |source| RegistryError::Sql { path: path.clone(), source };
        let mut db = Connection::open(&path).map_err(fail)?;
        db.busy_handler(Some(wait)).map_err(fail)?;
        // A write is on the disk when it is done.
        db.pragma_update(None, "synchronous", "full").map_err(fail)?;
        match version_of(&db).map_err(fail)? {
            VERSION => Ok(Self { db, path }),
            0 => {
                create_tables(&mut db, &path)?;
                Ok(Self { db, path })
            }
            version if version < VERSION && moves => {
                drop(db);
                move_aside(&path, version)?;
                Self::at(path, false)
            }
            version => Err(RegistryError::Newer { path, version }),
        }
    }

    pub(super) fn fail(&self, source: rusqlite::Error) -> RegistryError {
        RegistryError::Sql { path: self.path.clone(), source }
    }
}

/// Puts a complete registry into place, unless another process was first. Processes that ask for
/// the first time at once never wait for each other here, and none meets half a file.
fn make(path: &Path) -> Result<(), RegistryError> {
    let io = |source| RegistryError::Open { path: path.to_owned(), source };
    let fail = |source| RegistryError::Sql { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let own = temporary(folder).map_err(io)?;
    let mut db = Connection::open(own.path()).map_err(fail)?;
    // It is synced as a whole below.
    db.pragma_update(None, "synchronous", "off").map_err(fail)?;
    create_tables(&mut db, path)?;
    // SQLite takes its files beside this one away when it closes it.
    db.close().map_err(|(_, source)| fail(source))?;
    own.as_file().sync_all().map_err(io)?;
    match own.persist_noclobber(path) {
        Ok(_) => {
            sweep(folder);
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)
        }
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(io(error.error)),
    }
}

/// Where a file is made that its person linked elsewhere, as to another disk: `SQLite` would make
/// it there too, and let everybody read it. What is at the end is not there, so there is an end.
fn end_of_links(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    while let Ok(next) = fs::read_link(&end) {
        end = end.parent().unwrap_or(Path::new("/")).join(next);
    }
    end
}

fn path_of(user_base: &Path) -> PathBuf {
    user_base.join(".ai/state/registry.db")
}

fn version_of(db: &Connection) -> rusqlite::Result<usize> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Makes the tables of a file that has none.
fn create_tables(db: &mut Connection, path: &Path) -> Result<(), RegistryError> {
    let fail = |source| RegistryError::Sql { path: path.to_owned(), source };
    // A reader and a writer do not wait for each other.
    db.pragma_update(None, "journal_mode", "wal").map_err(fail)?;
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    // Another process may have been first.
    if version_of(&step).map_err(fail)? == 0 {
        step.execute_batch(TABLES).map_err(fail)?;
        step.pragma_update(None, "user_version", VERSION).map_err(fail)?;
    }
    step.commit().map_err(fail)
}

/// How often a registry of an earlier version is tried that another process has open, and the time
/// between.
const MOVE_TRIES: usize = 100;
const MOVE_PAUSE: Duration = Duration::from_millis(10);

/// Gives a registry of an earlier version another name, and makes a new one.
///
/// # Errors
/// `registry.io`, also while another process has it open: a thread of the earlier rye may run, of
/// which the new registry would know nothing.
fn move_aside(path: &Path, version: usize) -> Result<(), RegistryError> {
    let fail = |source| RegistryError::Sql { path: path.to_owned(), source };
    let io = |source| RegistryError::Open { path: path.to_owned(), source };
    // Another process may move it at the same time.
    let folder = path.parent().unwrap_or(Path::new("/"));
    let lock = File::open(folder).map_err(io)?;
    file_lock::lock(&lock, folder).map_err(io)?;
    let real = fs::canonicalize(path).map_err(io)?;
    let db = Connection::open(&real).map_err(fail)?;
    // Another process may have been first.
    if version_of(&db).map_err(fail)? != version {
        return Ok(());
    }
    // All of it lies in the one file then; this takes the registry for this process alone.
    let mut tries = 0;
    while let Err(error) = db.pragma_update(None, "journal_mode", "delete") {
        tries += 1;
        if tries == MOVE_TRIES {
            return Err(fail(error));
        }
        std::thread::sleep(MOVE_PAUSE);
    }
    drop(db);
    let name = |number: usize| match number {
        0 => real.with_extension(format!("db.v{version}")),
        number => real.with_extension(format!("db.v{version}.{number}")),
    };
    let free = (0..1000).map(name).find(|name| !name.exists());
    let free = free.ok_or_else(|| io(ErrorKind::AlreadyExists.into()))?;
    renameat_with(CWD, &real, CWD, &free, RenameFlags::NOREPLACE)
        .map_err(|error| io(error.into()))?;
    tracing::warn!(aside = %free.display(), "a registry of an earlier rye was moved");
    let _ = MOVED.set(free);
    make(&real)?;
    // A program that is just being started has a copy of it.
    lock.unlock().map_err(io)
}

/// Begins a step that writes. One that began as a reader could not wait for another writer.
pub(super) fn write_step(registry: &Registry) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(&registry.db, TransactionBehavior::Immediate)
}

/// Waits a moment for the holder of a lock of the registry; false once that took too long. How long
/// a moment is, is left to chance, so that of many who wait none is always behind.
fn wait(tries: i32) -> bool {
    thread_local! {
        static SINCE: Cell<Instant> = Cell::new(Instant::now());
    }
    if tries == 0 {
        SINCE.set(Instant::now());
    }
    let mut chance = [0; 1];
    // Without chance it is the longest wait.
    let chance = random::fill(&mut chance).map_or(u8::MAX, |()| chance[0]);
    std::thread::sleep(Duration::from_millis(1 + u64::from(chance) * REGISTRY_PAUSE_MS / 256));
    SINCE.get().elapsed() < Duration::from_millis(REGISTRY_WAIT_MS)
}

#[cfg(test)]
mod tests {
    use super::{Registry, VERSION};
    use crate::diagnostic::Diagnose;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn the_file_is_for_its_owner_alone_and_opening_it_again_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        assert!(Registry::find(home.path()).unwrap().is_none());
        let registry = Registry::open(home.path()).unwrap();
        let folder = registry.path.parent().unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        drop(registry);
        let again = Registry::find(home.path()).unwrap().unwrap();
        assert_eq!(super::version_of(&again.db).unwrap(), VERSION);
    }

    #[test]
    fn where_it_is_linked_to_a_file_that_is_not_there_yet_that_is_made_for_its_owner_alone() {
        let (home, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = super::path_of(home.path());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(disk.path().join("one"), &path).unwrap();
        symlink("two", disk.path().join("one")).unwrap();
        assert!(Registry::find(home.path()).unwrap().is_none());
        let registry = Registry::open(home.path()).unwrap();
        assert!(path.is_symlink() && disk.path().join("two").is_file());
        for entry in std::fs::read_dir(disk.path()).unwrap() {
            let mode = std::fs::metadata(entry.unwrap().path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        drop(registry);
        assert!(Registry::find(home.path()).unwrap().is_some());
        // Links that lead nowhere end with a failure.
        std::fs::remove_file(disk.path().join("two")).unwrap();
        symlink("one", disk.path().join("two")).unwrap();
        let error = Registry::open(home.path()).err().unwrap();
        assert_eq!(error.code().name(), "registry.io");
    }

    #[test]
    fn a_registry_of_an_earlier_rye_is_moved_aside_with_what_it_holds() {
        let home = tempfile::tempdir().unwrap();
        let path = super::path_of(home.path());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let older = rusqlite::Connection::open(&path).unwrap();
        older.pragma_update(None, "journal_mode", "wal").unwrap();
        older.execute_batch("CREATE TABLE request (id TEXT); PRAGMA user_version = 13").unwrap();
        older.execute("INSERT INTO request VALUES ('p-1')", []).unwrap();
        // A process of the earlier rye has it open.
        let error = Registry::open(home.path()).err().unwrap();
        assert_eq!(error.code().name(), "registry.io");
        drop(older);
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = || Registry::open(home.path()).unwrap().requests().unwrap();
            [(); 4].map(|()| scope.spawn(open)).map(|one| one.join().unwrap()).into()
        });
        assert!(opened.iter().all(Vec::is_empty), "{opened:?}");
        let aside = super::moved_aside().unwrap();
        assert_eq!(aside, path.with_file_name("registry.db.v13"));
        let count = "SELECT count(*) FROM request";
        let kept = rusqlite::Connection::open(aside).unwrap();
        assert_eq!(kept.query_row(count, [], |row| row.get::<_, u64>(0)).unwrap(), 1);
    }

    #[test]
    fn a_registry_of_a_later_rye_is_refused_and_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let registry = Registry::open(home.path()).unwrap();
        registry.db.pragma_update(None, "user_version", VERSION + 1).unwrap();
        drop(registry);
        let error = Registry::open(home.path()).err().unwrap();
        assert_eq!(error.code().name(), "registry.newer");
    }
}
