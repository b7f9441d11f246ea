//! `sandbox.net` and `sandbox.services`: what a tool may reach (sandbox.md).

use serde_json::Value;

use super::fields::{Fields, string, unknown_word, wrong};
use super::own_variables::is_taken;
use super::sandbox::Sandbox;
use crate::base::HostRule;
use crate::base::limits::{EGRESS_HOSTS, EGRESS_SERVICES};
use crate::base::text::escape_line;
use crate::host::{DeclaredNet, Net, Service, ServiceText};
use crate::id::{Kind, Ref};
use crate::parse::error::{PARSE_METADATA, ParseFault};

const SERVICE: [&str; 6] = ["upstream", "secret", "header", "format", "allow", "env"];

/// Reads both keys of the block.
///
/// # Errors
/// `parse.metadata`
pub(super) fn read(block: &Fields<'_>, sandbox: &mut Sandbox) -> Result<(), ParseFault> {
    sandbox.net = net(block)?;
    sandbox.services = services(block)?;
    if sandbox.services.is_empty() {
        return Ok(());
    }
    if sandbox.net.as_ref().is_some_and(|net| net.net == Net::Any) {
        let pointer = block.pointer("services");
        return Err(fault(
            &pointer,
            "has no meaning beside `net: any`, by which the tool reaches everything itself; write \
             `net: {hosts: […]}` with the hosts that it calls besides, or leave `net` out",
        ));
    }
    // Its own loopback is there in any case: the services answer on it.
    let asked = sandbox.net.take().unwrap_or_else(|| Net::Hosts.into());
    sandbox.net = Some(DeclaredNet { net: Net::Hosts, ..asked });
    Ok(())
}

fn fault(pointer: &str, why: &str) -> ParseFault {
    ParseFault::new(PARSE_METADATA, format!("`{}` {}", escape_line(pointer), escape_line(why)))
}

fn net(block: &Fields<'_>) -> Result<Option<DeclaredNet>, ParseFault> {
    let word = match block.get("net") {
        None => return Ok(None),
        Some(Value::Object(_)) => {
            return listed(block).map(Some);
        }
        Some(Value::String(word)) => word.as_str(),
        Some(other) => {
            let wanted =
                "`none`, `loopback`, `any` or a mapping with `hosts`, `hosts_from` or `listen`";
            return Err(wrong(&block.pointer("net"), wanted, other));
        }
    };
    let net = match word {
        "none" => Net::None,
        "loopback" => Net::Loopback,
        "any" => Net::Any,
        "hosts" => {
            let pointer = block.pointer("net");
            return Err(fault(
                &pointer,
                "lists hosts: write `net: {hosts: [\"api.example.org\"]}`",
            ));
        }
        other => {
            return Err(unknown_word(&block.pointer("net"), other, &["none", "loopback", "any"]));
        }
    };
    Ok(Some(net.into()))
}

/// Hosts that the item lists itself, or that the person lists in a config item, and ports.
fn listed(block: &Fields<'_>) -> Result<DeclaredNet, ParseFault> {
    let mut asked = DeclaredNet::from(Net::Hosts);
    let Some(net) = block.fields("net")? else { return Ok(asked) };
    net.only(&["hosts", "hosts_from", "listen"])?;
    if let Some(listed) = net.list("listen")? {
        asked.listen = ports(listed, &net.pointer("listen"))?;
        if net.get("hosts").or(net.get("hosts_from")).is_none() {
            return Ok(DeclaredNet { net: Net::Loopback, ..asked });
        }
    }
    let Some(list) = net.string("hosts_from")? else {
        let hosts = host_rules(net.list("hosts")?, &net.pointer("hosts"))?;
        return Ok(DeclaredNet { hosts, ..asked });
    };
    let pointer = net.pointer("hosts_from");
    if net.get("hosts").is_some() {
        let why = "stands beside `hosts`; either the item lists the hosts, or who runs it does";
        return Err(fault(&pointer, why));
    }
    match list.parse::<Ref>() {
        Ok(item) if item.kind == Kind::Config && !item.id.is_reserved() => {
            Ok(DeclaredNet { hosts_from: Some(item.to_string()), ..asked })
        }
        _ => {
            let why = format!("is `{list}`, and not a config item such as `config:acme/hosts`");
            Err(fault(&pointer, &why))
        }
    }
}

/// Most ports of one tool.
const PORTS: usize = 8;

fn ports(listed: &[Value], pointer: &str) -> Result<Vec<u16>, ParseFault> {
    if listed.is_empty() || listed.len() > PORTS {
        let why = format!("must list 1 to {PORTS} ports; for none write `net: loopback`");
        return Err(fault(pointer, &why));
    }
    let mut ports = Vec::new();
    for (at, listed) in listed.iter().enumerate() {
        let port = listed.as_u64().and_then(|port| u16::try_from(port).ok());
        match port.filter(|port| *port >= 1024 && !ports.contains(port)) {
            Some(port) => ports.push(port),
            None => {
                let why = format!("is `{listed}`, and not another port from 1024 to 65535");
                return Err(fault(&format!("{pointer}/{at}"), &why));
            }
        }
    }
    Ok(ports)
}

/// The hosts of a list.
///
/// # Errors
/// `parse.metadata`, with the place by `pointer`.
pub(crate) fn host_rules(
    listed: Option<&Vec<Value>>,
    pointer: &str,
) -> Result<Vec<HostRule>, ParseFault> {
    let Some(listed) = listed.filter(|list| !list.is_empty()) else {
        let why = "must list the hosts that the tool may reach; for none of them write `net: none`";
        return Err(fault(pointer, why));
    };
    if listed.len() > EGRESS_HOSTS {
        return Err(fault(pointer, &format!("lists more than {EGRESS_HOSTS} hosts")));
    }
    let mut hosts = Vec::new();
    for (at, listed) in listed.iter().enumerate() {
        let pointer = format!("{pointer}/{at}");
        let text = string(listed, &pointer)?;
        let host = HostRule::parse(&text)
            .map_err(|bad| fault(&pointer, &format!("is `{text}`, which {bad}")))?;
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    Ok(hosts)
}

fn services(block: &Fields<'_>) -> Result<Vec<Service>, ParseFault> {
    let Some(fields) = block.fields("services")? else { return Ok(Vec::new()) };
    if fields.map().len() > EGRESS_SERVICES {
        let why = format!("has more than {EGRESS_SERVICES} services");
        return Err(fault(&block.pointer("services"), &why));
    }
    let mut services: Vec<Service> = Vec::new();
    for name in fields.map().keys() {
        let Some(service) = fields.fields(name)? else {
            return Err(fault(&fields.pointer(name), "must be a mapping, and is empty"));
        };
        service.only(&SERVICE)?;
        let text = |key: &str| {
            let missing = || fault(&service.pointer(key), "is missing: each service needs it");
            service.string(key)?.ok_or_else(missing)
        };
        let (upstream, secret, env) = (text("upstream")?, text("secret")?, text("env")?);
        let header = service.string("header")?.unwrap_or_else(|| "Authorization".into());
        let format = service.string("format")?.unwrap_or_else(|| "Bearer {}".into());
        let allow = service.strings("allow")?.unwrap_or_default();
        for (key, name) in [("secret", &secret), ("env", &env)] {
            if is_taken(name) {
                let why = format!("is `{name}`, which means something else to every program");
                return Err(fault(&service.pointer(key), &why));
            }
        }
        let read = Service::parse(ServiceText {
            name,
            upstream: &upstream,
            secret: &secret,
            header: &header,
            format: &format,
            allow: &allow,
            env: &env,
        })
        .map_err(|bad| {
            let pointer = match bad.field.as_str() {
                "name" => fields.pointer(name),
                field => format!("{}/{field}", fields.pointer(name)),
            };
            fault(&pointer, &bad.problem)
        })?;
        if services.iter().any(|other| other.env() == read.env()) {
            let why = format!("is `{}`, which is the variable of another service", read.env());
            return Err(fault(&service.pointer("env"), &why));
        }
        services.push(read);
    }
    Ok(services)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::fields::Fields;
    use super::super::sandbox::sandbox;
    use crate::host::{DeclaredNet, Net};

    fn read(block: &Value) -> Result<super::Sandbox, String> {
        let header = json!({ "sandbox": block });
        let fields = Fields::new(header.as_object().unwrap());
        sandbox(&fields).map(Option::unwrap_or_default).map_err(|fault| fault.why)
    }

    fn service() -> Value {
        json!({"upstream": "https://api.github.com", "secret": "GITHUB_TOKEN",
               "allow": ["GET /repos/**"], "env": "GITHUB_API_URL"})
    }

    fn with(key: &str, value: &Value) -> Value {
        let mut service = service();
        service[key] = value.clone();
        json!({"services": {"github": service}})
    }

    #[test]
    fn hosts_and_services_are_read_and_services_leave_nothing_else_open() {
        let block = read(&json!({"net": {"hosts": ["API.github.com", "*.example.org:8443"]}}));
        let net = block.expect("two hosts").net.expect("a network");
        let text = "api.github.com, *.example.org:8443";
        assert_eq!((net.net, net.to_string().as_str()), (Net::Hosts, text));
        let block = read(&json!({"services": {"github": service()}})).expect("one service");
        let services_alone = DeclaredNet::from(Net::Hosts);
        assert_eq!((block.net, block.services.len()), (Some(services_alone.clone()), 1));
        assert_eq!(block.services[0].header_value("x"), "Bearer x", "the usual form");
        let block = read(&json!({"net": {"hosts_from": "config:web/hosts"}})).expect("a list");
        let net = block.net.expect("a network");
        assert_eq!((net.net, net.hosts.len()), (Net::Hosts, 0));
        assert_eq!(serde_json::to_value(&net).unwrap(), json!({"hosts_from": "config:web/hosts"}));
        assert_eq!(net.to_string(), "the hosts that your config:web/hosts lists");
        let beside = json!({"net": {"hosts_from": "config:a/b"}, "services": {"hub": service()}});
        let block = read(&beside).expect("both");
        assert_eq!(block.net.expect("a network").hosts_from.as_deref(), Some("config:a/b"));
        for word in ["none", "loopback"] {
            let block = read(&json!({"net": word, "services": {"github": service()}}));
            assert_eq!(block.expect("a service").net, Some(services_alone.clone()), "{word}");
        }
    }

    #[test]
    fn a_wrong_host_or_service_is_refused_with_its_place_and_what_to_write_table() {
        for (block, pointer, says) in [
            (json!({"net": {"hosts": []}}), "/sandbox/net/hosts", "net: none"),
            (json!({"net": {}}), "/sandbox/net/hosts", "net: none"),
            (json!({"net": {"host": ["x.org"]}}), "/sandbox/net/host", "did you mean `hosts`"),
            (json!({"net": "hosts"}), "/sandbox/net", "net: {hosts:"),
            (json!({"net": {"listen": []}}), "/sandbox/net/listen", "net: loopback"),
            (json!({"net": {"listen": vec![8055; 9]}}), "/sandbox/net/listen", "1 to 8"),
            (json!({"net": {"listen": [8055, 80]}}), "/sandbox/net/listen/1", "from 1024"),
            (json!({"net": {"listen": [8055, 8055]}}), "/sandbox/net/listen/1", "another"),
            (json!({"net": {"listen": ["8055"]}}), "/sandbox/net/listen/0", "from 1024"),
            (json!({"net": {"listen": [65536]}}), "/sandbox/net/listen/0", "65535"),
            (json!({"net": {"listen": 8055}}), "/sandbox/net/listen", "a list"),
            (json!({"net": ["x.org"]}), "/sandbox/net", "a mapping with `hosts`"),
            (
                json!({"net": {"hosts_from": "config:a/b", "hosts": ["x.org"]}}),
                "/sandbox/net/hosts_from",
                "beside `hosts`",
            ),
            (json!({"net": {"hosts_from": "a/b"}}), "/sandbox/net/hosts_from", "config:acme"),
            (json!({"net": {"hosts_from": "tool:a/b"}}), "/sandbox/net/hosts_from", "config:acme"),
            (
                json!({"net": {"hosts_from": "config:rye/policy"}}),
                "/sandbox/net/hosts_from",
                "config:acme",
            ),
            (json!({"net": {"hosts_from": ["config:a/b"]}}), "/sandbox/net/hosts_from", "a string"),
            (json!({"net": {"hosts": ["https://x.org"]}}), "/sandbox/net/hosts/0", "x.org"),
            (json!({"net": {"hosts": ["x.org", "*.com"]}}), "/sandbox/net/hosts/1", "*.com"),
            (json!({"net": {"hosts": ["2130706433"]}}), "/sandbox/net/hosts/0", "2130706433"),
            (json!({"net": {"hosts": [7]}}), "/sandbox/net/hosts/0", "a string"),
            (
                json!({"net": "any", "services": {"github": service()}}),
                "/sandbox/services",
                "net: any",
            ),
            (json!({"services": {"github": null}}), "/sandbox/services/github", "a mapping"),
            (json!({"services": {"Git Hub": service()}}), "/sandbox/services/Git Hub", "name"),
            (with("secret", &Value::Null), "/sandbox/services/github/secret", "is missing"),
            (with("upstream", &Value::Null), "/sandbox/services/github/upstream", "is missing"),
            (with("env", &Value::Null), "/sandbox/services/github/env", "is missing"),
            (with("allow", &Value::Null), "/sandbox/services/github/allow", "GET /repos/**"),
            (with("allow", &json!(["/x"])), "/sandbox/services/github/allow/0", "method"),
            (
                with("upstream", &json!("http://api.github.com")),
                "/sandbox/services/github/upstream",
                "https",
            ),
            (with("format", &json!("Bearer")), "/sandbox/services/github/format", "{}"),
            (with("env", &json!("GITHUB_TOKEN")), "/sandbox/services/github/env", "secret"),
            (
                with("env", &json!("LD_LIBRARY_PATH")),
                "/sandbox/services/github/env",
                "something else",
            ),
            (with("env", &json!("https_proxy")), "/sandbox/services/github/env", "something else"),
            (with("env", &json!("RYE_PIN")), "/sandbox/services/github/env", "something else"),
            (with("secret", &json!("HOME")), "/sandbox/services/github/secret", "something else"),
            (with("token", &json!("x")), "/sandbox/services/github/token", "not known"),
            (
                json!({"services": {"a": service(), "b": service()}}),
                "/sandbox/services/b/env",
                "another service",
            ),
        ] {
            let why = read(&block).expect_err(&block.to_string());
            assert!(why.contains(&format!("`{pointer}`")) && why.contains(says), "{block}: {why}");
        }
    }
}
