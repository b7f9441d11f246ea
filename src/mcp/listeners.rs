//! Clients that are told what changed: lists, and pages that they subscribed to.
//!
//! A session of the older revisions is told of every list, and of the pages that it named one by
//! one. From 2026-07-28 on a client says in one request what it wants to hear, and hears it as long
//! as that request is open.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};

use super::resources::KNOWLEDGE;
use super::server::held;

/// The pages that one session subscribed to, by their addresses.
pub(super) type Subscribed = Arc<Mutex<BTreeSet<String>>>;

/// The lists and pages that changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Changed {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) pages: Pages,
}

/// The pages of knowledge that changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Pages {
    /// Any may have changed.
    pub(super) all: bool,
    /// By their ids.
    pub(super) ids: BTreeSet<String>,
}

impl Pages {
    fn has(&self, uri: &str) -> bool {
        self.all || uri.strip_prefix(KNOWLEDGE).is_some_and(|id| self.ids.contains(id))
    }
}

/// All clients that are told.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<Listener>>);

#[derive(Clone)]
enum Listener {
    Session(Peer<RoleServer>, Subscribed),
    Request(SubscriptionSink),
}

impl Listeners {
    /// Adds a session.
    pub(super) fn session(&self, peer: Peer<RoleServer>, subscribed: Subscribed) {
        self.add(Listener::Session(peer, subscribed));
    }

    /// Adds what one request wants to hear, as long as the guard lives.
    pub(super) fn request(&self, sink: SubscriptionSink) -> Listening<'_> {
        self.add(Listener::Request(sink.clone()));
        Listening(self, sink)
    }

    fn add(&self, listener: Listener) {
        let mut all = held(&self.0);
        all.retain(|listener| match listener {
            Listener::Session(peer, _) => !peer.is_transport_closed(),
            Listener::Request(_) => true,
        });
        all.push(listener);
    }

    /// Tells everybody what they want to hear of it.
    pub(super) async fn tell(&self, changed: &Changed) {
        let all = held(&self.0).clone();
        for listener in &all {
            match listener {
                Listener::Session(peer, subscribed) => session(peer, subscribed, changed).await,
                Listener::Request(sink) => request(sink, changed).await,
            }
        }
    }
}

/// A request that is told of changes.
pub(super) struct Listening<'a>(&'a Listeners, SubscriptionSink);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        held(&self.0.0).retain(|listener| match listener {
            Listener::Session(..) => true,
            // Each request has a filter of its own.
            Listener::Request(sink) => !std::ptr::eq(sink.accepted(), self.1.accepted()),
        });
    }
}

async fn session(peer: &Peer<RoleServer>, subscribed: &Subscribed, changed: &Changed) {
    if changed.tools {
        let _ = peer.notify_tool_list_changed().await;
    }
    if changed.prompts {
        let _ = peer.notify_prompt_list_changed().await;
    }
    if changed.resources {
        let _ = peer.notify_resource_list_changed().await;
    }
    let uris: Vec<String> =
        held(subscribed).iter().filter(|uri| changed.pages.has(uri)).cloned().collect();
    for uri in uris {
        let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
    }
}

/// The sink itself drops what was not asked for.
async fn request(sink: &SubscriptionSink, changed: &Changed) {
    if changed.tools {
        let _ = sink.notify_tool_list_changed().await;
    }
    if changed.prompts {
        let _ = sink.notify_prompt_list_changed().await;
    }
    if changed.resources {
        let _ = sink.notify_resource_list_changed().await;
    }
    let uris = sink.accepted().resource_subscriptions.iter().flatten();
    for uri in uris.filter(|uri| changed.pages.has(uri)) {
        let _ = sink.notify_resource_updated(uri.clone()).await;
    }
}
