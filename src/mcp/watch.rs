//! Hints that files changed, for clients that keep lists and for the search index.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use super::exposed::ExposedTools;
use super::listeners::{Changed, Pages};
use super::server::{Server, held};
use crate::base::limits::MCP_SUBSCRIPTIONS;
use crate::id::Space;
use crate::space::Root;

/// How long an MCP server waits after the last hint that a file changed before it looks, in
/// milliseconds.
#[cfg(feature = "mcp")]
const MCP_QUIET_MS: u64 = 150;

/// Which lists a path may change.
const TOOLS: u8 = 1;
const PROMPTS: u8 = 2;
const RESOURCES: u8 = 4;
/// A folder that is watched came or went.
const PLACES: u8 = 8;

/// Where the items and the trust of a user lie.
const ITEMS: [&str; 5] =
    [".ai/tools", ".ai/directives", ".ai/knowledge", ".ai/config", ".ai/bundles"];

/// Watches as long as it lives.
pub(super) struct Watch(JoinHandle<()>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The folders to watch, also those that do not exist yet.
struct Places {
    watcher: RecommendedWatcher,
    places: Arc<[(PathBuf, RecursiveMode)]>,
}

impl Places {
    /// Watches the folders that exist now; a folder that was removed and made again is a new one.
    /// False if an existing folder cannot be watched.
    fn renew(&mut self) -> bool {
        let mut all = true;
        for (place, mode) in &*self.places {
            let _ = self.watcher.unwatch(place);
            all &= !place.is_dir() || self.watcher.watch(place, *mode).is_ok();
        }
        all
    }
}

/// Watches the items that are listed to clients and searched. `None` if that is impossible: then
/// clients are not told of changed lists, and no search index is kept.
pub(super) fn watch(server: &Arc<Server>) -> Option<Watch> {
    let rye = (server.setup.project)(&server.setup.roots[0]).ok()?;
    let base = |space| rye.spaces().get(space).map(Root::base);
    let mut places = Vec::new();
    if let Some(project) = base(Space::Project) {
        places.push((project.to_owned(), RecursiveMode::NonRecursive));
        places.push((project.join(".ai"), RecursiveMode::Recursive));
    }
    if let Some(user) = base(Space::User) {
        places.push((user.to_owned(), RecursiveMode::NonRecursive));
        // Each run writes into the state that lies beside the items.
        places.push((user.join(".ai"), RecursiveMode::NonRecursive));
        places.extend(ITEMS.map(|kind| (user.join(kind), RecursiveMode::Recursive)));
    }
    let searched = rye.spaces().nearest_first().filter(|root| {
        root.is_embedded() || root.bundle().is_some() || root.space() != Space::System
    });
    let searched = searched.map(|root| root.base().to_owned()).collect();
    let search_index = Arc::clone(&server.setup.search_index);
    let places: Arc<[_]> = places.into();
    let known = Arc::clone(&places);
    let hint = Arc::new(Hint::default());
    let heard = Arc::clone(&hint);
    let told = move |event: notify::Result<notify::Event>| {
        let about = |path: &PathBuf| match known.iter().any(|(place, _)| place == path) {
            true => PLACES | TOOLS | PROMPTS | RESOURCES,
            false => about(&path.to_string_lossy()),
        };
        let about = match &event {
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) if !event.need_rescan() => {
                event.paths.iter().map(about).fold(0, |a, b| a | b)
            }
            Ok(_) => TOOLS | PROMPTS | RESOURCES,
            // A new folder cannot be watched.
            Err(_) => {
                search_index.watch(Vec::new());
                TOOLS | PROMPTS | RESOURCES
            }
        };
        if about != 0 {
            search_index.changed();
            heard.see(event.ok().filter(|event| !event.need_rescan()));
            heard.about.fetch_or(about, Ordering::Relaxed);
            heard.is_new.notify_one();
        }
    };
    let watcher = notify::recommended_watcher(told).ok()?;
    let mut places = Places { watcher, places };
    if places.renew() {
        server.setup.search_index.watch(searched);
    }
    Some(Watch(tokio::spawn(tell(Arc::clone(server), hint, places))))
}

/// The changes since clients were told.
#[derive(Default)]
struct Hint {
    is_new: Notify,
    about: AtomicU8,
    pages: Mutex<Pages>,
}

impl Hint {
    /// Notes the pages that an event is about; without an event any may have changed.
    fn see(&self, event: Option<notify::Event>) {
        let mut pages = held(&self.pages);
        let Some(event) = event else {
            pages.all = true;
            return;
        };
        for path in &event.paths {
            let path = path.to_string_lossy();
            let below = path.rsplit_once("/.ai/").map_or("", |(_, below)| below);
            match below.strip_prefix("knowledge/").map(|name| name.rsplit_once('.')) {
                Some(Some((id, _))) if pages.ids.len() < MCP_SUBSCRIPTIONS => {
                    pages.ids.insert(id.to_owned());
                }
                // One of the tools or directives is no page.
                None if about(&path) & RESOURCES == 0 && !below.is_empty() => {}
                // A folder of pages, trust, or too many to remember.
                _ => pages.all = true,
            }
        }
    }
}

/// Which lists a file decides about; trust and policy decide about every one.
fn about(path: &str) -> u8 {
    let below = path.rsplit_once("/.ai/").map_or("", |(_, below)| below);
    match below.split('/').next() {
        Some("tools") => TOOLS,
        Some("directives") => PROMPTS,
        Some("knowledge") => RESOURCES,
        Some("config" | "bundles") => TOOLS | PROMPTS | RESOURCES,
        _ => 0,
    }
}

async fn tell(server: Arc<Server>, hint: Arc<Hint>, mut places: Places) {
    loop {
        hint.is_new.notified().await;
        // An editor saves in several steps.
        tokio::time::sleep(Duration::from_millis(MCP_QUIET_MS)).await;
        let about = hint.about.swap(0, Ordering::Relaxed);
        let pages = std::mem::take(&mut *held(&hint.pages));
        if about & PLACES != 0 && !places.renew() {
            server.setup.search_index.watch(Vec::new());
        }
        // Files that were written into a new folder before it was watched caused no event.
        server.setup.search_index.changed();
        let tools = about & TOOLS != 0 && renewed(&server).await;
        let (prompts, resources) = (about & PROMPTS != 0, about & RESOURCES != 0);
        server.listeners.tell(&Changed { tools, prompts, resources, pages }).await;
    }
}

/// Reads the exposed tools again, on a thread of its own; true if they changed. If they cannot be
/// read, the known ones stay, because each call verifies its item anyway.
async fn renewed(server: &Arc<Server>) -> bool {
    if server.setup.expose.is_empty() {
        return false;
    }
    let (say, said) = oneshot::channel();
    let reads = Arc::clone(server);
    let job = Box::new(move |_: &AtomicBool| {
        let _ = say.send(ExposedTools::read(&reads.setup));
    });
    let Ok(ticket) = server.workers.submit(job) else { return false };
    let read = said.await;
    ticket.answered();
    match read {
        Ok(Ok(exposed)) => server.replace_exposed(exposed),
        Ok(Err(failure)) => {
            let code = failure.code();
            (server.setup.note)(&format!("the tools stay as they were: {failure} ({code})"));
            false
        }
        Err(_) => false,
    }
}
