//! The child's environment (core 7.5): a small fixed list, and what signed links add.

use std::collections::BTreeMap;

use super::template::{Names, Scope};
use crate::chain::{Chain, Role};
use crate::host::Vars;
use crate::trace::{Event, Sink};

/// The names that a child gets from the host, beside `LC_*`.
const FIXED: &[&str] = &["PATH", "HOME", "USER", "LANG", "TERM", "TZ", "TMPDIR"];

/// What decides about trust is never handed down, whoever asks for it.
const KEPT_BACK: &[&str] = &["USER_SPACE", "RYE_SYSTEM_SPACE", "RYE_DEV_MODE", "RYE_SIGNING_KEY"];

/// Where a child's environment comes from, in rising precedence; templates are not expanded yet.
///
/// Has no `Debug`: values are shown to nobody but the child.
pub(super) struct Env {
    host: BTreeMap<String, String>,
    /// The primitive's, the runtime's, the tool's.
    links: Vec<BTreeMap<String, String>>,
    /// rye's own names, which nobody can replace.
    own: Vec<(&'static str, String)>,
}

impl Env {
    pub(super) fn of(
        chain: &Chain,
        vars: &Vars,
        own: Vec<(&'static str, String)>,
        sink: &dyn Sink,
    ) -> Self {
        let record = |by: String, keys: Vec<String>| {
            sink.record(Event::ResolveEnv { contributed_by: by, keys });
        };
        let wanted = |name: &&str| FIXED.contains(name) || name.starts_with("LC_");
        let host: BTreeMap<String, String> = vars
            .names()
            .filter(wanted)
            .filter_map(|name| Some((name.to_owned(), vars.text(name)?.to_owned())))
            .collect();
        record("host".into(), host.keys().cloned().collect());
        let mut links = Vec::new();
        for link in chain.links().iter().rev().filter(|link| !link.tool.env.is_empty()) {
            let by = match link.role {
                Role::Primitive => "primitive",
                Role::Runtime => "runtime",
                Role::Tool => "tool",
            };
            let keys = link.tool.env.keys().cloned().collect();
            record(format!("{by} {}", link.item().id), keys);
            links.push(link.tool.env.clone());
        }
        record("rye".into(), own.iter().map(|(name, _)| (*name).to_owned()).collect());
        Self { host, links, own }
    }

    /// Names and values, templates expanded in order.
    pub(super) fn resolve(&self, names: &Names) -> BTreeMap<String, String> {
        let mut env = self.host.clone();
        for (name, template) in self.links.iter().flatten() {
            let variable = |name: &str| env.get(name).cloned();
            let value = Scope { names, variable: &variable }.text(template);
            env.insert(name.clone(), value);
        }
        env.retain(|name, _| !KEPT_BACK.contains(&name.as_str()));
        env.extend(self.own.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        env
    }
}
