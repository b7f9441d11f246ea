//! The machine and the caller that a plan is made for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::arguments::plain_path;
use super::machine::file_identity;
use super::plan_source::PlanSource;
use crate::host::{Host, Ladder, ResolvedPath, Vars};
use crate::space::{ForeignGround, NotSearched, Searched};
use crate::verify::{Permit, TrustStore};

/// The sandbox that the caller asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SandboxChoice {
    /// None for what the operator lists, else the strongest level that works.
    #[default]
    Auto,
    Off,
    On(Ladder),
    /// As wide as `bwrap` can hold it and watched, whatever the item declares: to learn what it
    /// needs.
    Learn,
}

/// The machine and the caller, as far as a plan depends on them.
pub(crate) struct PlanContext<'a> {
    pub(crate) vars: &'a Vars,
    pub(crate) host: &'a dyn Host,
    pub(crate) plan_source: &'a dyn PlanSource,
    /// Which programs and folders inside the project the person let in.
    pub(crate) trust: &'a TrustStore<'a>,
    pub(crate) project_path: &'a Path,
    /// The folder that the child works in and knows as its project; the project itself but for
    /// tests.
    pub(crate) workplace: &'a Path,
    pub(crate) user_space: Option<&'a Path>,
    pub(crate) system_space: Option<&'a Path>,
    /// Folders of other people's work: no program is taken from them.
    pub(crate) ground: &'a ForeignGround,
    /// Folders whose files others may write: the ground, and the spaces on disk.
    pub(crate) guarded: Vec<PathBuf>,
    pub(crate) run_id: &'a str,
    /// The thread whose model asks for the run.
    pub(crate) thread: Option<&'a str>,
    /// The project's config shortens the time; not that of hooks, which judge the project.
    pub(crate) project_shortens: bool,
    /// The sandbox that the caller asks for.
    pub(crate) sandbox: SandboxChoice,
    /// A caller may shorten the time, never lengthen it.
    pub(crate) timeout: Option<Duration>,
    /// The plan is written down or a receipt of its run is: files are digested too that are not
    /// otherwise, which an ordinary run does not pay for.
    pub(crate) for_record: bool,
}

impl PlanContext<'_> {
    /// Returns true for a file that others may have put there: by its name, by the file at its end,
    /// or by a link on the way.
    pub(super) fn guards(&self, path: &Path) -> bool {
        self.host.look(path).is_some_and(|look| self.guards_seen(path, &look))
    }

    /// As [`Self::guards`], for a file that was looked at.
    pub(super) fn guards_seen(&self, path: &Path, look: &ResolvedPath) -> bool {
        look.places().chain([path]).any(|place| self.is_guarded(place))
    }

    /// Returns true for a path that is, or may become, a file that others put there: it lies below
    /// a guarded folder by its text, or by the folder that it is in, with a file there or without;
    /// or a link leads there now. A guarded folder itself, and a folder that holds one, is no file.
    pub(super) fn leads_to_foreign_file(&self, path: &Path) -> bool {
        let real = path.parent().and_then(|folder| self.host.real_folder(folder));
        let real = real.zip(path.file_name()).map(|(folder, name)| folder.join(name));
        let places: Vec<PathBuf> = real.into_iter().chain([plain_path(path)]).collect();
        let holds = |place: &PathBuf| self.guarded.iter().any(|root| root.starts_with(place));
        !places.iter().any(holds)
            && (places.iter().any(|place| self.is_guarded(place)) || self.guards(path))
    }

    pub(super) fn is_guarded(&self, place: &Path) -> bool {
        self.guarded.iter().any(|root| place.starts_with(root))
    }

    /// The host's `PATH` as a child gets it: without relative folders, and without guarded ones but
    /// those that hold a program which the person let in.
    pub(super) fn child_path(&self) -> Option<String> {
        let is_kept = |it: &Searched| {
            let is_free = || !it.real.as_ref().is_some_and(|real| self.is_guarded(real));
            match it.why_not {
                None if is_free() => true,
                None | Some(NotSearched::InGround) => {
                    it.real.as_ref().is_some_and(|real| self.lets_in(real))
                }
                Some(NotSearched::Relative | NotSearched::OfAProcess) => false,
            }
        };
        let folders = self.ground.search_path(self.vars).into_iter().filter(is_kept);
        let folders = folders.filter_map(|it| it.folder.into_os_string().into_string().ok());
        let folders: Vec<_> = folders.collect();
        (!folders.is_empty()).then(|| folders.join(":"))
    }

    /// The person let a program of this real folder in, and it is what it was then.
    fn lets_in(&self, folder: &Path) -> bool {
        let records = self.trust.allowed_files();
        let mut paths = records.iter().map(|record| &record.path);
        paths.any(|path| {
            let now = || file_identity(self.host, path);
            path.parent() == Some(folder)
                && now().is_some_and(|now| self.trust.permits_file(&now) == Permit::Given)
        })
    }
}
