//! The folder of installed bundles: each in a folder of its name, with its files, its signed
//! manifest and the receipt.
//!
//! Files that are not in their place yet, or no longer, lie in a folder whose name no bundle can
//! have, so a process that is killed leaves the old or the new; the next one that changes anything
//! tidies up.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use walkdir::WalkDir;

use super::archive::{MANIFEST, io_error, put};
use super::check::{Bundle, Seeing, check_archive, judged, no_clash, opened};
use super::error::BundleError;
use super::manifest::Manifest;
use super::receipt::{Now, RECEIPT, Receipt, read_file};
use crate::base::file_lock;
use crate::base::limits::BUNDLE_MANIFEST_BYTES;
use crate::diagnostic::Failure;
use crate::id::{BundleName, Fingerprint};
use crate::rye::Rye;
use crate::space::BUNDLES;

/// The name of a folder for files on their way in or out begins with this.
const AT_WORK: &str = ".at-work-";
/// The name of a folder for files that were changed since they were installed, whose bundle is
/// gone, begins with this.
const KEPT: &str = ".kept-";

/// The folder of installed bundles.
pub(crate) struct InstalledBundles<'a> {
    rye: &'a Rye,
    folder: PathBuf,
}

/// The files that are left of a bundle that was taken out.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Files that are not what was installed; they were put aside.
    pub(crate) kept: Vec<PathBuf>,
}

/// A bundle that lies there.
#[derive(Debug)]
pub(crate) struct InstalledBundle {
    pub(crate) name: BundleName,
    pub(crate) state: BundleState,
}

#[derive(Debug)]
pub(crate) enum BundleState {
    /// Its publisher is trusted; `changed` are files that are not what was installed.
    Readable {
        manifest: Box<Manifest>,
        key: Fingerprint,
        owner: String,
        changed: Vec<String>,
        /// In UTC, to the second.
        installed_at: String,
        /// The archive that it came from; an earlier rye did not record it.
        installed_from: Option<String>,
    },
    /// Why it cannot be read.
    Unreadable(String),
}

impl<'a> InstalledBundles<'a> {
    /// # Errors
    /// `space.no_user_space`
    pub(crate) fn new(rye: &'a Rye) -> Result<Self, Failure> {
        let folder = rye.spaces().user()?.path(BUNDLES);
        Ok(Self { rye, folder })
    }

    fn place(&self, name: &BundleName) -> PathBuf {
        self.folder.join(name.as_str())
    }

    fn is_there(&self, name: &BundleName) -> bool {
        self.place(name).symlink_metadata().is_ok()
    }

    /// The names of what lies there, sorted.
    fn names(&self) -> Vec<BundleName> {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<BundleName> =
            folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok()).collect();
        names.sort();
        names
    }

    /// Every bundle that lies there, without judging its items.
    pub(crate) fn list(&self) -> Vec<InstalledBundle> {
        let listed = |name: BundleName| InstalledBundle { state: self.state(&name), name };
        self.names().into_iter().map(listed).collect()
    }

    fn state(&self, name: &BundleName) -> BundleState {
        let place = self.place(name);
        let receipt = match Receipt::read(&place) {
            Ok(receipt) => receipt,
            Err(why) => return BundleState::Unreadable(format!("it has no receipt: {why}")),
        };
        match self.opened(name) {
            Ok((manifest, key, owner)) => {
                let manifest = Box::new(manifest);
                BundleState::Readable {
                    manifest,
                    key,
                    owner,
                    changed: differences(&place, &receipt),
                    installed_at: receipt.installed_at,
                    installed_from: receipt.installed_from,
                }
            }
            Err(failure) => BundleState::Unreadable(failure.to_string()),
        }
    }

    /// The manifest of an installed bundle.
    fn opened(&self, name: &BundleName) -> Result<(Manifest, Fingerprint, String), Failure> {
        let path = self.place(name).join(MANIFEST);
        let envelope = read_file(&path, BUNDLE_MANIFEST_BYTES)
            .map_err(|why| BundleError::Malformed { path: path.display().to_string(), why })?;
        let (manifest, key, owner) = opened(self.rye, &envelope)?;
        if manifest.about().name != *name {
            let why = format!("it is the manifest of `{}`", manifest.about().name);
            return Err(BundleError::Malformed { path: path.display().to_string(), why }.into());
        }
        Ok((manifest, key, owner))
    }

    /// Checks an installed bundle as if it were to be installed, and that it still is what it was.
    ///
    /// # Errors
    /// `bundle.*`
    pub(crate) fn verify(&self, name: &BundleName) -> Result<Bundle, Failure> {
        self.must_be_there(name)?;
        let (manifest, key, owner) = self.opened(name)?;
        let place = self.place(name);
        let changed = |findings: Vec<String>| BundleError::Changed { name: name.clone(), findings };
        let receipt = Receipt::read(&place).map_err(|why| changed(vec![why]))?;
        let findings = differences(&place, &receipt);
        if !findings.is_empty() {
            return Err(changed(findings).into());
        }
        let items = judged(self.rye, name, key)?;
        Ok(Bundle { manifest, envelope: Vec::new(), key, owner, items })
    }

    /// Installs a bundle, replacing an older one of the same publisher. While it is checked, and
    /// while a person is asked, no other process waits for the folder.
    ///
    /// # Errors
    /// `bundle.*`; then nothing was changed.
    pub(crate) fn install(
        &self,
        archive: &Path,
        seeing: Seeing<'_>,
        agreed: &mut dyn FnMut(&Bundle) -> bool,
    ) -> Result<Option<(Bundle, Left)>, Failure> {
        let (staging, _at_work) = {
            let _held = self.hold()?;
            self.work_folder()?
        };
        let wanted = check_archive(self.rye, archive, &staging, seeing).and_then(|bundle| {
            self.may_replace(&bundle)?;
            Ok(agreed(&bundle).then_some(bundle))
        });
        let installed = match wanted {
            Ok(Some(bundle)) => self.hold().map_err(Failure::from).and_then(|_held| {
                let left = self.put(&bundle, archive, &staging, seeing)?;
                Ok(Some((bundle, left)))
            }),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        // What is installed has its name, and is there no more.
        let _ = self.tidy(&staging);
        installed
    }

    /// Puts a bundle that was checked into its place; the folder is held.
    fn put(
        &self,
        bundle: &Bundle,
        archive: &Path,
        staging: &Path,
        seeing: Seeing<'_>,
    ) -> Result<Left, Failure> {
        // Another one may have been installed while the person read.
        self.may_replace(bundle)?;
        let name = bundle.manifest.about().name.clone();
        no_clash(&seeing(name.clone(), staging.to_owned())?, &name, &bundle.items)?;
        let io = |source| io_error(staging, source);
        put(&staging.join(MANIFEST), &bundle.envelope, false).map_err(io)?;
        let receipt = Receipt::new(bundle, archive).to_text();
        let receipt = receipt.map_err(|why| io(io::Error::other(why)))?;
        put(&staging.join(RECEIPT), &receipt, false).map_err(io)?;
        let place = self.place(&name);
        let step = || -> io::Result<bool> {
            let folder = File::open(&self.folder)?;
            // All that was written, at once: a folder has thousands of files.
            rustix::fs::syncfs(&folder)?;
            let replaces = self.is_there(&name);
            let flags = if replaces { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
            renameat_with(CWD, staging, CWD, &place, flags)?;
            folder.sync_all()?;
            Ok(replaces)
        };
        match step() {
            // The old folder lies where the new one was prepared.
            Ok(true) => {
                Ok(self.clear(name.as_str(), staging).map_err(|error| io_error(staging, error))?)
            }
            Ok(false) => Ok(Left::default()),
            // What is left is tidied up by the receipt that lies there: it may be the old one by
            // now.
            Err(error) => Err(io_error(&place, error).into()),
        }
    }

    /// Takes out a bundle; what was changed since is put aside.
    ///
    /// # Errors
    /// `bundle.not_found`, `bundle.io`; `bundle.changed` without a receipt that can be read.
    pub(crate) fn remove(&self, name: &BundleName) -> Result<Left, Failure> {
        self.must_be_there(name)?;
        let _held = self.hold()?;
        self.must_be_there(name)?;
        let place = self.place(name);
        if let Err(why) = Receipt::read(&place) {
            let findings = vec![why, format!("remove `{}` by hand", place.display())];
            return Err(BundleError::Changed { name: name.clone(), findings }.into());
        }
        let (aside, _) = self.work_folder()?;
        let step = || -> io::Result<Left> {
            // An empty folder gives way.
            fs::rename(&place, &aside).inspect_err(|_| drop(fs::remove_dir(&aside)))?;
            File::open(&self.folder)?.sync_all()?;
            self.clear(name.as_str(), &aside)
        };
        Ok(step().map_err(|error| io_error(&place, error))?)
    }

    fn must_be_there(&self, name: &BundleName) -> Result<(), Failure> {
        match self.is_there(name) {
            true => Ok(()),
            false => Err(BundleError::NotFound { name: name.clone(), known: self.names() }.into()),
        }
    }

    /// An older version, one of the same version that was packed earlier, and one of another
    /// publisher do not take a bundle's place unasked.
    fn may_replace(&self, bundle: &Bundle) -> Result<(), Failure> {
        let name = &bundle.manifest.about().name;
        if !self.is_there(name) {
            return Ok(());
        }
        let no = |why: String| Err(BundleError::Installed { name: name.clone(), why }.into());
        let Ok((there, key, _)) = self.opened(name) else {
            return no("nobody can say whose it is".into());
        };
        if let Err(why) = Receipt::read(&self.place(name)) {
            return no(format!("nobody can say what was put there: {why}"));
        }
        let (old, new) = (&there.about().version, &bundle.manifest.about().version);
        let (before, at) = (&there.about().packed_at, &bundle.manifest.about().packed_at);
        match () {
            () if key != bundle.key => {
                no(format!("it is signed by `{key}`, this by `{}`", bundle.key))
            }
            () if new < old => no(format!("in version {old}, and this is {new}")),
            () if new == old && at < before => {
                no(format!("it was packed at {before}, and this earlier, at {at}"))
            }
            () => Ok(()),
        }
    }

    /// Holds the folder against other processes and tidies up behind those that were killed.
    fn hold(&self) -> Result<File, BundleError> {
        let open = || -> io::Result<File> {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let path = self.folder.join(".lock");
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file_lock::lock(&file, &path)?;
            for left in fs::read_dir(&self.folder)?.flatten() {
                let name = left.file_name().to_string_lossy().into_owned();
                // A folder whose lock is held belongs to a process that lives.
                if name.starts_with(AT_WORK) && lock_now(&left.path()).is_some() {
                    self.tidy(&left.path())?;
                }
            }
            Ok(file)
        };
        open().map_err(|error| io_error(&self.folder, error))
    }

    /// Ends the work of a process that was killed.
    fn tidy(&self, folder: &Path) -> io::Result<()> {
        match Receipt::read(folder).is_ok() {
            // It may have been installed once.
            true => self.clear("bundle", folder).map(drop),
            false => fs::remove_dir_all(folder),
        }
    }

    /// An empty folder of one's own, and what tells others that it is in use until this process
    /// ends.
    fn work_folder(&self) -> Result<(PathBuf, Option<File>), BundleError> {
        let io = |error: io::Error| io_error(&self.folder, error);
        let own = fs::Permissions::from_mode(0o700);
        let made =
            tempfile::Builder::new().prefix(AT_WORK).permissions(own).tempdir_in(&self.folder);
        let made = made.map_err(io)?.keep();
        let lock = lock_now(&made);
        Ok((made, lock))
    }

    /// Removes what the receipt lists and is unchanged; the rest is put aside.
    fn clear(&self, name: &str, folder: &Path) -> io::Result<Left> {
        let receipt = Receipt::read(folder).map_err(io::Error::other)?;
        for (path, now) in receipt.look(folder) {
            if now == Now::Same {
                fs::remove_file(folder.join(path))?;
            }
        }
        for inner in receipt.folders(folder) {
            // One that holds more stays.
            let _ = fs::remove_dir(inner);
        }
        let is_left = |path: &Path| path != folder.join(RECEIPT);
        let left = WalkDir::new(folder).min_depth(1).into_iter().flatten();
        let left = left.filter(|entry| !entry.file_type().is_dir() && is_left(entry.path()));
        let left: Vec<PathBuf> = left.map(walkdir::DirEntry::into_path).collect();
        if left.is_empty() {
            fs::remove_file(folder.join(RECEIPT))?;
            fs::remove_dir_all(folder)?;
            return Ok(Left::default());
        }
        let aside =
            tempfile::Builder::new().prefix(&format!("{KEPT}{name}-")).tempdir_in(&self.folder)?;
        let aside = aside.keep();
        fs::rename(folder, &aside)?;
        fs::remove_file(aside.join(RECEIPT))?;
        let moved =
            |path: PathBuf| path.strip_prefix(folder).map(|p| aside.join(p)).unwrap_or(path);
        Ok(Left { kept: left.into_iter().map(moved).collect() })
    }
}

/// Locks a folder if no other process has it; the kernel frees it when the process ends.
fn lock_now(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// How the files of a bundle differ from what was installed, one sentence each.
fn differences(folder: &Path, receipt: &Receipt) -> Vec<String> {
    let mut listed = std::collections::HashSet::from([RECEIPT]);
    let mut found = Vec::new();
    for (path, now) in receipt.look(folder) {
        listed.insert(path);
        match now {
            Now::Same => {}
            Now::Changed => found.push(format!("`{path}` was changed")),
            Now::Gone => found.push(format!("`{path}` is missing")),
        }
    }
    for entry in WalkDir::new(folder).min_depth(1).into_iter().flatten() {
        let path = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy();
        if !entry.file_type().is_dir() && !listed.contains(path.as_ref()) {
            found.push(format!("`{path}` was added"));
        }
    }
    found
}
