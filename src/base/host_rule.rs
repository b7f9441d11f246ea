//! One line of the hosts that a tool may reach: a name, names below one, or an address, and a port.

use std::cmp::Ordering;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use serde::{Serialize, Serializer};

/// Longest name of a host in bytes, and longest label of it (RFC 1035, 2.3.4), without the dot at
/// the end.
const NAME_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;
/// The ports of a rule without one: HTTPS and HTTP.
const USUAL_PORTS: [u16; 2] = [443, 80];

/// Hosts and ports that may be reached.
///
/// Its text is `api.example.org`, `*.example.org`, `192.0.2.7` or `[2001:db8::1]`, each with
/// `:port` or without. Without a port it means 443 and 80. `Display` gives the canonical text,
/// which parses to the same rule.
///
/// Invariant: names are ASCII in lower case; what `*.` stands before is a registrable name or lies
/// below one, by the public suffix list; an address is one that a single host can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostRule {
    host: Hosts,
    /// `None`: the usual ones.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    Name(String),
    /// One or more labels below this name.
    Below(String),
    Address(IpAddr),
}

/// Why a text is not a [`HostRule`].
///
/// Shown as what is the matter, to stand behind the name of the place, and what to write instead
/// where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadHostRule {
    pub(crate) problem: &'static str,
    pub(crate) instead: Option<String>,
}

impl fmt::Display for BadHostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem)?;
        match &self.instead {
            Some(instead) => write!(f, "; write `{instead}`"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for BadHostRule {}

impl From<&'static str> for BadHostRule {
    fn from(problem: &'static str) -> Self {
        Self { problem, instead: None }
    }
}

impl HostRule {
    /// # Errors
    /// The fault, and what to write instead.
    pub(crate) fn parse(text: &str) -> Result<Self, BadHostRule> {
        let text = text.to_ascii_lowercase();
        whole(&text)?;
        let (host, port) = split_port(&text)?;
        let host = match host.strip_prefix("*.") {
            Some(base) => wildcard_base(base).map(Hosts::Below),
            None => one_host(host),
        };
        let with_port = |host: String| port.map_or(host.clone(), |port| format!("{host}:{port}"));
        let host =
            host.map_err(|bad| BadHostRule { instead: bad.instead.map(with_port), ..bad })?;
        Ok(Self { host, port })
    }

    /// Returns true if a host may be reached at a port by this rule. The host is in lower case and
    /// without a dot at its end; an IPv6 address may stand in brackets.
    ///
    /// `*.example.org` covers names that share its registrable name: below `*.amazonaws.com` lies
    /// no bucket that anybody may register, such as `x.s3.amazonaws.com`.
    pub(crate) fn covers(&self, host: &str, port: u16) -> bool {
        let has_port = match self.port {
            Some(own) => own == port,
            None => USUAL_PORTS.contains(&port),
        };
        has_port
            && match &self.host {
                Hosts::Name(name) => name == host,
                Hosts::Below(base) => is_name(host).is_ok() && lies_below(host, base),
                Hosts::Address(own) => address_of(host) == Some(*own),
            }
    }

    /// Returns true if this rule allows nothing that the other does not.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let ports: &[u16] = match &self.port {
            Some(port) => std::slice::from_ref(port),
            None => &USUAL_PORTS,
        };
        match (&self.host, &other.host) {
            (Hosts::Below(own), Hosts::Below(others)) => {
                let has_ports = match other.port {
                    Some(port) => ports == [port],
                    None => ports.iter().all(|port| USUAL_PORTS.contains(port)),
                };
                has_ports && (own == others || lies_below(own, others))
            }
            (Hosts::Below(_), _) => false,
            (Hosts::Name(name), _) => ports.iter().all(|port| other.covers(name, *port)),
            (Hosts::Address(own), Hosts::Address(others)) => {
                let text = own.to_string();
                own == others && ports.iter().all(|port| other.covers(&text, *port))
            }
            (Hosts::Address(_), _) => false,
        }
    }

    /// The hosts that both rules allow, in at most two rules.
    pub(crate) fn common(&self, other: &Self) -> Vec<Self> {
        let both = |one: &Self, other: &Self| match (one.is_within(other), other.is_within(one)) {
            (true, _) => Some(one.clone()),
            (false, true) => Some(other.clone()),
            // Names and those below one lie in each other or apart.
            (false, false) => None,
        };
        if let Some(one) = both(self, other) {
            return vec![one];
        }
        let at_ports = |rule: &Self| match rule.port {
            Some(_) => vec![rule.clone()],
            None => USUAL_PORTS.map(|port| Self { port: Some(port), ..rule.clone() }).to_vec(),
        };
        let others = at_ports(other);
        let pairs = at_ports(self);
        let pairs = pairs.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
        pairs.filter_map(|(one, other)| both(one, other)).collect()
    }

    /// The address, if the rule lists one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self.host {
            Hosts::Address(address) => Some(address),
            Hosts::Name(_) | Hosts::Below(_) => None,
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Hosts::Name(name) => f.write_str(name)?,
            Hosts::Below(base) => write!(f, "*.{base}")?,
            Hosts::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            Hosts::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl Ord for HostRule {
    /// By the text.
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for HostRule {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for HostRule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The address that a host is, in brackets or without. `localhost` is one, for a list names no
/// other.
pub(crate) fn address_of(host: &str) -> Option<IpAddr> {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse().ok().map(IpAddr::V6),
        None if host == "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        None => host.parse().ok(),
    }
}

/// Refuses what is no host and port as a whole: a URL, an account, nothing.
fn whole(text: &str) -> Result<(), BadHostRule> {
    let instead = |text: &str| Some(text.to_owned()).filter(|text| HostRule::parse(text).is_ok());
    if text.is_empty() {
        return Err("is empty; name a host, such as `api.example.org`".into());
    }
    if let Some((_, rest)) = text.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        return Err(BadHostRule {
            problem: "is a URL, and a host is wanted",
            instead: instead(host),
        });
    }
    if let Some(at) = text.find(['/', '?', '#']) {
        return Err(BadHostRule {
            problem: "has a path, and hosts are listed whole",
            instead: instead(&text[..at]),
        });
    }
    if let Some((_, host)) = text.rsplit_once('@') {
        return Err(BadHostRule { problem: "has a user name in it", instead: instead(host) });
    }
    if !text.is_ascii() {
        return Err("has letters outside ASCII; write an international name as `xn--…`".into());
    }
    Ok(())
}

/// The host, and the port behind it.
fn split_port(text: &str) -> Result<(&str, Option<u16>), BadHostRule> {
    let (host, port) = match text.find(']') {
        Some(end) => text.split_at(end + 1),
        None if text.matches(':').count() > 1 => {
            let instead = text.parse::<IpAddr>().ok().map(|address| format!("[{address}]"));
            let problem = match instead {
                Some(_) => "is an IPv6 address without brackets",
                None => "has more than one `:`",
            };
            return Err(BadHostRule { problem, instead });
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    if port.is_empty() {
        return Ok((host, None));
    }
    let digits = port.strip_prefix(':').unwrap_or_default();
    let is_canonical = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    match digits.parse::<u16>() {
        Ok(port) if is_canonical => Ok((host, Some(port))),
        _ => Err("has no such port; ports are 1 to 65535".into()),
    }
}

/// A name or an address without a wildcard.
fn one_host(host: &str) -> Result<Hosts, BadHostRule> {
    if host.starts_with('[') {
        return match address_of(host) {
            Some(address) => single(address),
            None => Err("is not an IPv6 address in brackets".into()),
        };
    }
    if host.contains('*') {
        return Err(match host {
            "*" => "allows every host, and hosts are named; `net: any` needs no list".into(),
            _ => "has a `*` that is not the whole first label; write `*.` before a name".into(),
        });
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return single(address);
    }
    is_name(host)?;
    if host == "localhost" || host.ends_with(".localhost") {
        return Err(BadHostRule {
            problem: "is this machine, which is reached by an address that is listed",
            instead: Some("127.0.0.1".into()),
        });
    }
    Ok(Hosts::Name(host.into()))
}

/// An address that a single host can have.
fn single(address: IpAddr) -> Result<Hosts, BadHostRule> {
    if let IpAddr::V6(v6) = address
        && let Some(v4) = v6.to_ipv4_mapped()
    {
        return Err(BadHostRule {
            problem: "is an IPv4 address in the form of an IPv6 one",
            instead: Some(v4.to_string()),
        });
    }
    let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    if address.is_unspecified() || address.is_multicast() || is_broadcast {
        return Err("is not the address of one host".into());
    }
    Ok(Hosts::Address(address))
}

/// The name behind `*.`.
fn wildcard_base(base: &str) -> Result<String, BadHostRule> {
    if base.contains('*') {
        return Err("has more than one `*`; `*.` stands for any number of labels".into());
    }
    if base.starts_with('[') || base.parse::<IpAddr>().is_ok() {
        let instead = Some(base.to_owned()).filter(|base| one_host(base).is_ok());
        return Err(BadHostRule { problem: "has a `*` before an address", instead });
    }
    is_name(base)?;
    if psl::domain(base.as_bytes()).is_none() {
        return Err(BadHostRule {
            problem: "covers names of many owners; a `*.` stands below a name that one owner \
                      registered",
            instead: Some(format!("*.example.{base}")),
        });
    }
    Ok(base.to_owned())
}

/// Returns true if a name has labels before this one, and the same owner by the public suffix list.
fn lies_below(name: &str, base: &str) -> bool {
    let is_below = name.strip_suffix(base).is_some_and(|rest| rest.ends_with('.'));
    let owner = |name| psl::domain(name).map(|domain| domain.as_bytes());
    is_below && owner(name.as_bytes()) == owner(base.as_bytes())
}

/// Refuses what is not the name of a host in lower case.
fn is_name(name: &str) -> Result<(), BadHostRule> {
    if let Some(short) = name.strip_suffix('.').filter(|short| !short.is_empty()) {
        let instead = Some(short.to_owned()).filter(|short| is_name(short).is_ok());
        return Err(BadHostRule { problem: "has a dot at its end", instead });
    }
    if name.len() > NAME_BYTES {
        return Err("is longer than the 253 bytes of a name".into());
    }
    for label in name.split('.') {
        let is_plain =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        if label.is_empty() {
            return Err("has an empty part".into());
        }
        if label.len() > LABEL_BYTES {
            return Err("has a part that is longer than 63 bytes".into());
        }
        if !label.bytes().all(is_plain) || label.starts_with('-') || label.ends_with('-') {
            return Err("is not the name of a host: its parts are letters, digits and `-`".into());
        }
    }
    // What the resolver of a machine may read as a number is an address in disguise, and no
    // top-level name is one (RFC 1123, 2.1; the URL standard's "ends in a number").
    let last = name.rsplit('.').next().unwrap_or_default();
    let hex =
        last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    if hex || last.bytes().all(|b| b.is_ascii_digit()) {
        return Err("is an address in an unusual form; write its four numbers, such as \
                    `192.0.2.7`"
            .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::HostRule;

    fn rule(text: &str) -> HostRule {
        HostRule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_rule_has_one_text_that_parses_to_it_again_table() {
        for (text, want) in [
            ("api.github.com", "api.github.com"),
            ("API.GitHub.com:8443", "api.github.com:8443"),
            ("*.Example.org", "*.example.org"),
            ("*.example.org:8443", "*.example.org:8443"),
            ("*.a.b.example.co.uk", "*.a.b.example.co.uk"),
            ("*.someone.github.io", "*.someone.github.io"),
            ("*.corp.internal", "*.corp.internal"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("under_score.example.org", "under_score.example.org"),
            ("intranet", "intranet"),
            ("github.io", "github.io"),
            ("3com.com", "3com.com"),
            ("1.2.3.4.example.org", "1.2.3.4.example.org"),
            ("192.0.2.7", "192.0.2.7"),
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[2001:DB8::1]:8443", "[2001:db8::1]:8443"),
            ("[2001:db8:0:0::1]", "[2001:db8::1]"),
            ("h:65535", "h:65535"),
            ("h:1", "h:1"),
            ("h:443", "h:443"),
        ] {
            let got = rule(text);
            assert_eq!(got.to_string(), want, "{text}");
            assert_eq!(rule(want), got, "{text}");
            assert_eq!(serde_json::to_value(&got).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_rule_is_refused_with_what_to_write_table() {
        let long = format!("{}.example.org", "x".repeat(64));
        let longer = format!("{}example.org", "x23456789.".repeat(25));
        for (text, want) in [
            ("", "is empty"),
            (" ", "is not the name"),
            ("https://api.github.com", "is a URL, and a host is wanted; write `api.github.com`"),
            ("https://u:p@API.github.com:8443/x", "wanted; write `api.github.com:8443`"),
            ("http://", "is a URL"),
            ("example.org/x", "has a path, and hosts are listed whole; write `example.org`"),
            ("example.org?x", "has a path"),
            ("a@example.org", "has a user name in it; write `example.org`"),
            ("b\u{fc}cher.example", "`xn--…`"),
            ("*", "allows every host"),
            ("*.", "has an empty part"),
            ("*.com", "covers names of many owners"),
            ("*.com", "write `*.example.com`"),
            ("*.co.uk", "covers names of many owners"),
            ("*.github.io", "covers names of many owners"),
            ("*.s3.amazonaws.com", "covers names of many owners"),
            ("*.internal", "covers names of many owners"),
            ("a.*.example.org", "not the whole first label"),
            ("a*.example.org", "not the whole first label"),
            ("*a.example.org", "not the whole first label"),
            ("*example.org", "not the whole first label"),
            ("*.*.example.org", "more than one `*`"),
            ("*.192.0.2.7", "has a `*` before an address; write `192.0.2.7`"),
            ("*.[::1]", "before an address"),
            ("2130706433", "an address in an unusual form"),
            ("0177.0.0.1", "an address in an unusual form"),
            ("0x7f000001", "an address in an unusual form"),
            ("0x7f.1", "an address in an unusual form"),
            ("127.0.0.0x1", "an address in an unusual form"),
            ("127.1", "an address in an unusual form"),
            ("1.2.3.4.5", "an address in an unusual form"),
            ("300.0.0.1", "an address in an unusual form"),
            ("127.0.0.1.", "has a dot at its end"),
            ("*.127.1", "an address in an unusual form"),
            ("example.org.", "has a dot at its end; write `example.org`"),
            (".", "has an empty part"),
            (".example.org", "has an empty part"),
            ("a..b", "has an empty part"),
            ("-a.example.org", "is not the name"),
            ("a-.example.org", "is not the name"),
            ("a b.example.org", "is not the name"),
            ("a%2eb", "is not the name"),
            ("a\nb", "is not the name"),
            ("a\0b", "is not the name"),
            (long.as_str(), "longer than 63"),
            (longer.as_str(), "longer than the 253"),
            ("h:0", "no such port"),
            ("h:65536", "no such port"),
            ("h:", "no such port"),
            ("h:+80", "no such port"),
            ("h:080", "no such port"),
            ("h:8x", "no such port"),
            ("h:80:80", "more than one `:`"),
            (":80", "has an empty part"),
            ("::1", "is an IPv6 address without brackets; write `[::1]`"),
            ("[::1", "more than one `:`"),
            ("[::1]80", "no such port"),
            ("[1.2.3.4]", "not an IPv6 address in brackets"),
            ("[fe80::1%eth0]", "not an IPv6 address in brackets"),
            ("[::ffff:127.0.0.1]", "in the form of an IPv6 one; write `127.0.0.1`"),
            ("0.0.0.0", "not the address of one host"),
            ("[::]", "not the address of one host"),
            ("224.0.0.1", "not the address of one host"),
            ("255.255.255.255", "not the address of one host"),
            ("[ff02::1]", "not the address of one host"),
            ("localhost:3000", "is reached by an address that is listed; write `127.0.0.1:3000`"),
            ("a.localhost", "listed; write `127.0.0.1`"),
            ("*.192.0.2.7:8443", "write `192.0.2.7:8443`"),
        ] {
            let error = HostRule::parse(text).expect_err(text);
            assert!(error.to_string().contains(want), "{text}: {error}");
            if let Some(instead) = &error.instead {
                assert!(HostRule::parse(instead).is_ok(), "{text}: {instead}");
            }
        }
    }

    #[test]
    fn what_a_rule_covers_table() {
        for (text, host, port, want) in [
            ("a.example.org", "a.example.org", 443, true),
            ("a.example.org", "a.example.org", 80, true),
            ("a.example.org", "a.example.org", 8443, false),
            ("a.example.org:8443", "a.example.org", 8443, true),
            ("a.example.org:8443", "a.example.org", 443, false),
            ("a.example.org", "b.a.example.org", 443, false),
            ("a.example.org", "example.org", 443, false),
            ("a.example.org", "a.example.orgs", 443, false),
            ("*.example.org", "a.example.org", 443, true),
            ("*.example.org", "a.b.c.example.org", 80, true),
            ("*.example.org", "example.org", 443, false),
            ("*.example.org", "aexample.org", 443, false),
            ("*.example.org", ".example.org", 443, false),
            ("*.example.org", "a..example.org", 443, false),
            ("*.example.org", "a\0.example.org", 443, false),
            ("*.example.org", "a.example.org.evil.com", 443, false),
            ("*.example.org:8443", "a.example.org", 443, false),
            // What anybody may register below is not below one owner's name.
            ("*.amazonaws.com", "sts.amazonaws.com", 443, true),
            ("*.amazonaws.com", "anybody.s3.amazonaws.com", 443, false),
            ("*.amazonaws.com", "s3.amazonaws.com", 443, false),
            ("192.0.2.7", "192.0.2.7", 443, true),
            ("192.0.2.7", "192.0.2.8", 443, false),
            ("127.0.0.1:8080", "127.0.0.1", 8080, true),
            ("127.0.0.1:8080", "localhost", 8080, true),
            ("127.0.0.1:8080", "a.localhost", 8080, false),
            ("127.0.0.1:8080", "127.1", 8080, false),
            ("127.0.0.1:8080", "[::ffff:127.0.0.1]", 8080, false),
            ("[2001:db8::1]:8443", "[2001:db8::1]", 8443, true),
            ("[2001:db8::1]:8443", "2001:db8:0::1", 8443, true),
            ("[2001:db8::1]:8443", "[2001:db8::2]", 8443, false),
        ] {
            assert_eq!(rule(text).covers(host, port), want, "{text} {host} {port}");
        }
    }

    #[test]
    fn a_rule_within_another_allows_nothing_more_table() {
        for (one, other, want) in [
            ("a.example.org", "a.example.org", true),
            ("a.example.org:443", "a.example.org", true),
            ("a.example.org:80", "a.example.org", true),
            ("a.example.org", "a.example.org:443", false),
            ("a.example.org:8443", "a.example.org", false),
            ("a.example.org", "*.example.org", true),
            ("a.example.org", "b.example.org", false),
            ("example.org", "*.example.org", false),
            ("*.example.org", "*.example.org", true),
            ("*.example.org:443", "*.example.org", true),
            ("*.example.org", "*.example.org:443", false),
            ("*.example.org:8443", "*.example.org:8443", true),
            ("*.a.example.org", "*.example.org", true),
            ("*.example.org", "*.a.example.org", false),
            ("*.example.org", "a.example.org", false),
            ("*.x.s3.amazonaws.com", "*.amazonaws.com", false),
            ("192.0.2.7:443", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.7:443", false),
            ("192.0.2.7", "*.example.org", false),
            ("[2001:db8::1]", "[2001:db8::1]", true),
        ] {
            assert_eq!(rule(one).is_within(&rule(other)), want, "{one} {other}");
        }
    }
}
