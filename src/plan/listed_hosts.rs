//! The hosts that a person lists for tools in a config item of their own: `net: {hosts_from: …}`.
//!
//! Which hosts that are is the person's word alone. So the list is taken from their user space, and
//! signed by themselves, or else from the system space; a bundle's copy counts for nothing, and a
//! project's only takes hosts away.

use std::path::PathBuf;

use super::context::PlanContext;
use super::error::PlanError;
use super::plan_source::{ConfigCopy, PlanSource};
use crate::base::HostRule;
use crate::base::limits::EGRESS_HOSTS;
use crate::chain::{Chain, Link};
use crate::diagnostic::Failure;
use crate::id::{Kind, Ref, Space};
use crate::parse::host_rules;
use crate::trace::{Event, Sink};
use crate::verify::Source;

/// The hosts that a run may reach by a list of the person.
#[derive(Debug, Clone, Default)]
pub(super) struct ListedHosts {
    pub(super) hosts: Vec<HostRule>,
    /// The copies of the list that count.
    pub(super) sources: Vec<Source>,
}

/// The list that the chain asks for, by the link whose word about the network counts.
fn asked(links: &[Link]) -> Option<Ref> {
    let mut declared = links.iter().filter_map(|link| link.tool.sandbox.as_ref());
    declared.find_map(|sandbox| sandbox.net.clone())?.hosts_from?.parse().ok()
}

/// The list and its copies, the lowest space first; none where the chain asks for no list.
fn copies(
    chain: &Chain,
    plan_source: &dyn PlanSource,
    sink: &dyn Sink,
) -> Result<Option<(Ref, Vec<ConfigCopy>)>, Failure> {
    let Some(list) = asked(chain.links()) else { return Ok(None) };
    let copies = plan_source.configs(&list)?;
    // The author of a bundle is not the person who runs the tool.
    let copies: Vec<_> = copies.into_iter().filter(|copy| copy.source.bundle().is_none()).collect();
    let spaces = copies.iter().map(|copy| copy.space).collect();
    sink.record(Event::ResolveConfig { item_id: list.clone(), spaces });
    Ok(Some((list, copies)))
}

/// The copies of the list that a run of this chain would read; none where there is no list yet.
///
/// # Errors
/// Whatever a copy is refused with.
pub(super) fn sources(
    chain: &Chain,
    plan_source: &dyn PlanSource,
    sink: &dyn Sink,
) -> Result<Vec<Source>, Failure> {
    let copies = copies(chain, plan_source, sink)?.map(|(_, copies)| copies).unwrap_or_default();
    Ok(copies.into_iter().map(|copy| copy.source).collect())
}

/// The hosts that the person lists, and of those the ones that the project lists too where it does.
/// No hosts where the chain asks for no list.
///
/// # Errors
/// `plan.no_hosts`, `plan.bad_hosts`, and whatever a copy is refused with.
pub(super) fn resolve(
    chain: &Chain,
    machine: &PlanContext<'_>,
    sink: &dyn Sink,
) -> Result<ListedHosts, Failure> {
    let Some((list, copies)) = copies(chain, machine.plan_source, sink)? else {
        return Ok(ListedHosts::default());
    };
    let mut of_person = None;
    let mut of_project = None;
    for copy in &copies {
        if copy.space == Space::User && !copy.is_signed_by_you(machine.trust) {
            let why = "is not signed by your own key, and nobody else lists hosts for you";
            return Err(bad(&list, copy, why.into()).into());
        }
        let hosts = read(copy).map_err(|why| bad(&list, copy, why))?;
        match copy.space {
            // The person's own list takes the place of the machine's.
            Space::System | Space::User => of_person = Some(hosts),
            Space::Project => of_project = Some(hosts),
        }
    }
    let item = chain.tool().item().clone();
    let Some(hosts) = of_person else {
        let file = list_file(&list, machine);
        return Err(PlanError::NoHosts { item, list, file }.into());
    };
    let hosts = match of_project {
        None => hosts,
        Some(narrower) => {
            let common = common(&hosts, &narrower);
            if common.is_empty() {
                return Err(PlanError::NoCommonHosts { item, list }.into());
            }
            common
        }
    };
    Ok(ListedHosts { hosts, sources: copies.into_iter().map(|copy| copy.source).collect() })
}

/// The hosts that one copy lists, or a clause for what is wrong with it.
fn read(copy: &ConfigCopy) -> Result<Vec<HostRule>, String> {
    if let Some(other) = copy.value.keys().find(|key| *key != "hosts") {
        return Err(format!("has the key `{other}`, and a list of hosts has `hosts` alone"));
    }
    let hosts = copy.value.get("hosts");
    let Some(listed) = hosts.and_then(|hosts| hosts.as_array()) else {
        return Err("has no list `hosts`, such as `hosts: [\"docs.example.org\"]`".into());
    };
    if listed.is_empty() {
        return Ok(Vec::new());
    }
    host_rules(Some(listed), "/hosts").map_err(|fault| fault.why)
}

/// The hosts that both lists have.
fn common(ones: &[HostRule], others: &[HostRule]) -> Vec<HostRule> {
    let mut common: Vec<HostRule> = Vec::new();
    for rule in ones.iter().flat_map(|one| others.iter().flat_map(|other| one.common(other))) {
        if common.len() < EGRESS_HOSTS && !common.iter().any(|known| rule.is_within(known)) {
            common.push(rule);
        }
    }
    common
}

/// Where the person would put the list.
fn list_file(list: &Ref, machine: &PlanContext<'_>) -> Option<PathBuf> {
    let folder = machine.user_space?.join(".ai").join(Kind::Config.folder());
    Some(folder.join(format!("{}.yaml", list.id)))
}

fn bad(list: &Ref, copy: &ConfigCopy, why: String) -> PlanError {
    PlanError::BadHosts { list: list.clone(), space: copy.space, why }
}

#[cfg(test)]
mod tests {
    use super::common;
    use crate::base::HostRule;

    #[test]
    fn what_two_lists_have_in_common_is_in_both_table() {
        let rules = |text: &str| -> Vec<HostRule> {
            let words = text.split(' ').filter(|word| !word.is_empty());
            words.map(|word| HostRule::parse(word).expect(word)).collect()
        };
        for (one, other, want) in [
            ("a.example.org", "a.example.org", "a.example.org"),
            ("a.example.org", "evil.example.net", ""),
            ("a.example.org", "", ""),
            ("", "a.example.org", ""),
            ("*.example.org", "a.example.org b.example.net", "a.example.org"),
            ("a.example.org", "*.example.org", "a.example.org"),
            ("*.a.example.org", "*.example.org", "*.a.example.org"),
            ("a.example.org:443", "a.example.org", "a.example.org:443"),
            ("a.example.org", "a.example.org:8443", ""),
            ("a.example.org a.example.org:8443", "a.example.org:8443", "a.example.org:8443"),
            ("*.example.org:443", "a.example.org", "a.example.org:443"),
            ("a.example.org", "*.example.org:80", "a.example.org:80"),
            ("*.example.org:8443", "a.example.org", ""),
            ("*.example.org", "example.org", ""),
            ("*.amazonaws.com", "*.x.s3.amazonaws.com x.s3.amazonaws.com", ""),
            ("192.0.2.7", "192.0.2.7:8080 192.0.2.8", ""),
            ("192.0.2.7:8080", "192.0.2.7:8080", "192.0.2.7:8080"),
            ("a.example.org b.example.org", "*.example.org", "a.example.org b.example.org"),
            ("*.example.org", "*.example.org a.example.org", "*.example.org"),
        ] {
            assert_eq!(common(&rules(one), &rules(other)), rules(want), "{one} and {other}");
        }
    }
}
