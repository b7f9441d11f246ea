//! A rye that something in a thread started: it reaches what the thread reaches, and what it uses
//! counts for the thread (threads 3).

use serde_json::{Value, json};

use super::facade::Rye;
use super::request::{Origin, Request, ThreadParent};
use crate::diagnostic::Failure;
use crate::host::{ProcessesAbove, is_below_a_run};
use crate::id::{Grants, Pattern, Space};
use crate::plan::Thread;
use crate::registry::{Continuations, Registry, ThreadAbove};
use crate::thread::ThreadError;

/// The reach of a thread.
pub(crate) struct ThreadGrants {
    pub(crate) execute: Grants,
    pub(crate) fetch: Grants,
    pub(crate) locked: bool,
}

impl ThreadGrants {
    /// As the registry keeps them.
    pub(crate) fn to_text(&self) -> String {
        let (execute, fetch) = (self.execute.to_texts(), self.fetch.to_texts());
        json!({"execute": execute, "fetch": fetch, "locked": self.locked}).to_string()
    }

    /// As the registry kept them. Whatever cannot be read lets nothing in.
    fn from_text(text: Option<&str>) -> Self {
        let kept: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let grants = |of: &str| {
            let sets = kept[of].as_array().filter(|sets| !sets.is_empty());
            let sets = sets.into_iter().flatten().map(|set| {
                let patterns = set.as_array().into_iter().flatten().filter_map(Value::as_str);
                patterns.filter_map(|text| text.parse().ok()).collect::<Vec<Pattern>>()
            });
            let narrowed = sets.map(Grants::new).reduce(Grants::and);
            narrowed.unwrap_or_else(|| Grants::new(Vec::new()))
        };
        Self { execute: grants("execute"), fetch: grants("fetch"), locked: kept["locked"] != false }
    }

    /// The reach that is in both.
    fn and(self, other: Self) -> Self {
        Self {
            execute: self.execute.and(other.execute),
            fetch: self.fetch.and(other.fetch),
            locked: self.locked || other.locked,
        }
    }
}

/// The runs and threads that started this process.
#[derive(Clone, Copy)]
pub(crate) struct Above<'a> {
    rye: &'a Rye,
}

impl Rye {
    /// The runs and threads that started this process.
    pub(crate) fn above(&self) -> Above<'_> {
        Above { rye: self }
    }
}

impl Above<'_> {
    /// The request as a thread above this process makes it; `None` where there is none.
    ///
    /// # Errors
    /// `thread.outside`
    pub(super) fn narrow(self, request: &Request) -> Result<Option<Request>, Failure> {
        let threads = self.threads()?;
        if threads.is_empty() { Ok(None) } else { within(&threads, request).map(Some) }
    }

    /// Items that may be read for the caller: those that each thread above may fetch. `None` is
    /// every item.
    ///
    /// # Errors
    /// `thread.outside`
    pub(crate) fn may_read(self) -> Result<Option<Grants>, Failure> {
        let threads = self.threads()?;
        let kept = threads.iter().map(|one| ThreadGrants::from_text(one.grants.as_deref()));
        Ok(kept.reduce(ThreadGrants::and).map(|granted| granted.fetch))
    }

    /// Something in a thread started this process, or one above it.
    pub(crate) fn has_thread(self) -> bool {
        !matches!(self.threads(), Ok(threads) if threads.is_empty())
    }

    /// A run started this process, or one above it; a thread also where the environment does not
    /// say so.
    pub(crate) fn has_run(self) -> bool {
        is_below_a_run() || self.has_thread()
    }

    /// The threads that this process was started below.
    ///
    /// Three things name such a thread: a variable, of this process or one above, which only makes
    /// stricter; that the thread runs in a process above; and that a process above goes on with a
    /// snippet of it.
    ///
    /// # Errors
    /// `thread.outside` if a thread is named whose reach is not known.
    fn threads(self) -> Result<Vec<ThreadAbove>, ThreadError> {
        let above = ProcessesAbove::this();
        let mut named = above.threads.clone();
        let registry = self.rye.spaces().get(Space::User).map(|user| Registry::find(user.base()));
        let threads = match registry {
            Some(Ok(Some(mut registry))) => above_in(&mut registry, &above.processes, &mut named),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(None)) | None => Ok(Vec::new()),
        };
        let threads = threads.unwrap_or_else(|failure| {
            tracing::info!(code = failure.code(), "it is not known which threads run above");
            Vec::new()
        });
        let is_found = |id: &String| threads.iter().any(|thread| thread.row.id == *id);
        match named.into_iter().find(|id| !is_found(id)) {
            Some(id) => Err(ThreadError::NotWithin { id }),
            None => Ok(threads),
        }
    }
}

/// The threads that run above, and the names of those that have to.
fn above_in(
    registry: &mut Registry,
    processes: &[(u32, u64)],
    named: &mut Vec<String>,
) -> Result<Vec<ThreadAbove>, Failure> {
    for name in named.iter_mut() {
        // What a thread started is below the thread that goes on for it, which may reach the same.
        *name = Continuations::new(registry).newest_of(name)?;
    }
    named.extend(ThreadAbove::of_snippets(registry, processes)?);
    Ok(ThreadAbove::all(registry, processes, named)?)
}

/// The request within the reach of each of the threads, as a call of the lowest of them.
///
/// # Errors
/// `thread.outside` where it starts a thread and none of these is the lowest.
fn within(threads: &[ThreadAbove], request: &Request) -> Result<Request, Failure> {
    let is_above =
        |one: &ThreadAbove| threads.iter().any(|it| it.row.parent.as_ref() == Some(&one.row.id));
    let mut lowest = threads.iter().filter(|one| !is_above(one));
    let parent = match (lowest.next(), lowest.next()) {
        (Some(one), None) => Some(one.row.id.parse().map_err(|()| {
            let id = one.row.id.clone();
            Failure::from(ThreadError::NotWithin { id })
        })?),
        _ if request.thread == Thread::Fork => return Err(ThreadError::Outside.into()),
        _ => None,
    };
    let kept = threads.iter().map(|one| ThreadGrants::from_text(one.grants.as_deref()));
    let Some(granted) = kept.reduce(ThreadGrants::and) else { return Ok(request.clone()) };
    let execute = match request.origin.grants.clone() {
        Some(own) => granted.execute.and(own),
        None => granted.execute,
    };
    let origin = Origin {
        grants: Some(execute),
        // A program typed it, and no person.
        #[cfg(feature = "code")]
        is_typed: false,
        thread: parent.map(|id| ThreadParent { fetch: granted.fetch, ..ThreadParent::alone(id) }),
        ..request.origin.clone()
    };
    Ok(Request { locked: request.locked || granted.locked, origin, ..request.clone() })
}
