//! The process that starts runs that wait for a place, in the environment of their caller.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use super::error::DetachError;
use super::process::{say_ready, start, told};
use super::request::DetachedRequest;
use super::retry::retry;
use crate::base::durations::{LAUNCHER_IDLE_MS, LAUNCHER_LOOK_MS, wait_of};
use crate::diagnostic::Diagnostic;
use crate::host::{DETACHED_RUN, Vars, lead_own_session};
use crate::registry::{DetachedEnd, Registry, RegistryError, RunState};
use crate::report::error_json;
use crate::rye::moment;

/// After so many looks the holders of places are looked at, too.
const LAUNCHER_LOOKS: usize = 10;

/// The start of a launcher.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Launch {
    /// Its name in the registry.
    pub(super) id: String,
    /// The folder of the user space, which holds the registry.
    pub(super) user: PathBuf,
}

impl Launch {
    pub(super) fn to_text(&self) -> String {
        serde_json::json!({"id": self.id, "user": self.user}).to_string()
    }
}

/// Starts the runs that wait, until there are none.
pub(super) fn main() -> ExitCode {
    let told = lead_own_session().and_then(|()| told());
    let launch = told.ok().and_then(|told| serde_json::from_str::<Launch>(&told).ok());
    let done = launch.and_then(|launch| {
        let registry = Registry::open(&launch.user).ok()?;
        let (vars, children) = (Vars::from_process(), Vec::new());
        Launcher { id: launch.id, registry, vars, children }.run().ok()
    });
    if done.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Launcher {
    id: String,
    registry: Registry,
    vars: Vars,
    /// The runs that it started and that still run, by their names.
    children: Vec<(String, Child)>,
}

impl Launcher {
    fn run(mut self) -> Result<(), RegistryError> {
        if !self.registry.detached().claim_launcher(&self.id)? {
            return Ok(());
        }
        // The caller may be gone, which changes nothing.
        let _ = say_ready();
        let id = self.id.clone();
        let mut idle_since = Instant::now();
        loop {
            // Before it is read, so that nothing written in between is missed.
            let version = retry(|| self.registry.version())?;
            while let Some((run, request)) = retry(|| self.registry.detached().next(&id))? {
                self.start(run, &request)?;
                idle_since = Instant::now();
            }
            let is_idle = idle_since.elapsed() >= Duration::from_millis(LAUNCHER_IDLE_MS);
            if is_idle && retry(|| self.registry.detached().end_launcher(&id))? {
                return Ok(());
            }
            // A place is free once a child ended, or another process wrote; one that was killed
            // says nothing.
            let mut looks = if is_idle { LAUNCHER_LOOKS } else { 1 };
            while looks > 0
                && !self.a_child_ended()?
                && retry(|| self.registry.version())? == version
            {
                looks -= 1;
            }
        }
    }

    /// Starts one run in the folder that it was asked for in.
    fn start(&mut self, id: String, request: &str) -> Result<(), RegistryError> {
        let asked = DetachedRequest::from_text(request);
        let cwd = asked.as_ref().map_or(Path::new("/"), |asked| &asked.cwd);
        match start(DETACHED_RUN, &self.vars, cwd, request) {
            Ok(child) => self.children.push((id, child)),
            Err(error) => self.never_began(&id, &error)?,
        }
        Ok(())
    }

    fn never_began(&mut self, id: &str, error: &DetachError) -> Result<(), RegistryError> {
        let diagnostic = Diagnostic::from(error);
        let report = error_json(&diagnostic, None, &[], Duration::ZERO, None).to_string();
        let (at, code) = (moment(), Some(diagnostic.code.name()));
        let (state, at, report) = (RunState::Failed, &*at, &*report);
        let end = DetachedEnd { state, code, at, report, receipts: None, pending: None };
        retry(|| self.registry.detached().end(id, end)).map(drop)
    }

    /// Waits a moment; whether a child ended meanwhile. Its output ends with it.
    fn a_child_ended(&mut self) -> Result<bool, RegistryError> {
        let outputs = self.children.iter().filter_map(|(_, child)| child.stdout.as_ref());
        let mut ends: Vec<PollFd<'_>> =
            outputs.map(|output| PollFd::new(output, PollFlags::HUP)).collect();
        let look = Timespec::try_from(wait_of(LAUNCHER_LOOK_MS)).ok();
        let _ = poll(&mut ends, look.as_ref());
        drop(ends);
        let before = self.children.len();
        let mut left = Vec::new();
        for (id, mut child) in std::mem::take(&mut self.children) {
            match child.try_wait() {
                Ok(None) => left.push((id, child)),
                _ => {
                    retry(|| self.registry.detached().note_never_begun(&id))?;
                    self.registry.detached().note_started(&id);
                }
            }
        }
        self.children = left;
        Ok(self.children.len() < before)
    }
}
