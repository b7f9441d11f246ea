//! The network that the links of a chain declare: none, hosts, services or all of it.

use super::listed_hosts::ListedHosts;
use crate::base::limits::EGRESS_SERVICES;
use crate::chain::{Chain, Link};
use crate::host::{CannotConfine, DeclaredNet, Egress, Net, Service};
use crate::id::Space;

/// The network that the first link to name one gives, with its hosts, or those that the person
/// lists for it. Services are those of all
/// links; with them and no word about the network, there is nothing but them.
///
/// # Errors
/// `sandbox.bad_grant`
pub(super) fn network(
    chain: &Chain,
    links: &[Link],
    listed: &ListedHosts,
) -> Result<(Net, Egress), CannotConfine> {
    let services = services(links)?;
    let mut declared = links.iter().filter_map(|link| link.tool.sandbox.as_ref());
    let of_links = declared.find_map(|sandbox| sandbox.net.clone());
    let asked = of_links.unwrap_or_else(|| default_net(chain.tool().source.space()).into());
    // Services answer in a network of the tool's own, so another link opens no other.
    let net = if services.is_empty() { asked.net } else { Net::Hosts };
    let DeclaredNet { hosts, hosts_from, listen, .. } = asked;
    let hosts = if hosts_from.is_some() { listed.hosts.clone() } else { hosts };
    Ok((net, Egress { hosts, hosts_from, services, listen }))
}

/// The services of all links. What is of one is of no other: two of one name, or at one variable,
/// would be one endpoint with the secret of either.
///
/// # Errors
/// `sandbox.bad_grant`
pub(super) fn services(links: &[Link]) -> Result<Vec<Service>, CannotConfine> {
    let mut services: Vec<Service> = Vec::new();
    for (link, service) in
        links.iter().flat_map(|link| link.tool.services().iter().map(move |s| (link, s)))
    {
        let (item, name) = (link.item(), service.name());
        let bad = |why: String| {
            CannotConfine::BadGrant(format!("the service `{name}` of `{item}` {why}"))
        };
        let other = |known: &&Service| known.name() == name || known.env() == service.env();
        if let Some(other) = services.iter().find(other) {
            return Err(bad(format!(
                "has the name or the variable of the service `{}` of another item of the chain",
                other.name()
            )));
        }
        let secret = service.secret();
        let holds = |link: &&Link| {
            link.tool.secrets.iter().chain(&link.tool.env_names).any(|asked| asked == secret)
        };
        if let Some(holder) = links.iter().find(holds) {
            return Err(bad(format!(
                "keeps `{secret}` from the tool, and `{}` asks for it under `secrets` or `env`",
                holder.item()
            )));
        }
        services.push(service.clone());
    }
    if services.len() > EGRESS_SERVICES {
        let why = format!("the items of the chain have more than {EGRESS_SERVICES} services");
        return Err(CannotConfine::BadGrant(why));
    }
    Ok(services)
}

/// The network of a tool of that space whose links say nothing of it.
pub(crate) fn default_net(space: Space) -> Net {
    match space {
        Space::Project => Net::None,
        Space::User | Space::System => Net::Any,
    }
}
