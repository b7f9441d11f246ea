//! The way out of one run: rye's proxy, as soon as the sandbox has listeners for it.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::net::{Shutdown, shutdown};

use super::listeners::{self, PROXY_PORT};
use crate::base::HostRule;
use crate::base::random;
use crate::base::sync::unpoisoned;
use crate::host::{EgressOfRun, Policy, Service, Traffic};
use crate::proxy::{Machine, Proxy, Settings};

/// The name before the run's token in `Proxy-Authorization`.
const USER: &str = "rye";

/// Programs read a proxy's address from either spelling.
const PROXY_NAMES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Addresses at which the tool itself answers, and the services of rye.
const OWN_ADDRESSES: &str = "localhost,127.0.0.1,::1";

/// The proxy as soon as there are listeners for it, or why it could not be started.
type Started = Arc<Mutex<Option<io::Result<Proxy>>>>;

/// See the module. Dropping it ends the proxy.
pub(super) struct WayOut {
    /// There as soon as the listeners are.
    proxy: Started,
    /// Waits at the socket for the listeners.
    waits: Option<(Arc<OwnedFd>, JoinHandle<()>)>,
    token: String,
    /// Where the proxy listens, in the tool's network.
    port: u16,
    /// The variable of each service, and the address of its endpoint.
    services: Vec<(String, String)>,
    /// The addresses that the tool calls past the proxy.
    no_proxy: &'static str,
}

impl std::fmt::Debug for WayOut {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WayOut").field("port", &self.port).finish_non_exhaustive()
    }
}

impl WayOut {
    /// The way out, and the socket by which the last step into the sandbox hands out listeners.
    ///
    /// # Errors
    /// An error of the kernel.
    pub(super) fn new(policy: &Policy, of_run: &EgressOfRun) -> io::Result<(Self, OwnedFd)> {
        let settings = settings(policy, of_run, false)?;
        let token = settings.token.clone();
        let (socket, inner) = listeners::pair()?;
        let socket = Arc::new(socket);
        let proxy = Arc::new(Mutex::new(None));
        let (taken, given) = (Arc::clone(&socket), Arc::clone(&proxy));
        let waits = std::thread::Builder::new().name("way-out".into()).spawn(move || {
            let started = listeners::taken(&taken).and_then(|listeners| match listeners.len() {
                0 => Ok(None),
                _ => {
                    let listeners = listeners.into_iter().map(TcpListener::from).collect();
                    Proxy::start(listeners, settings, Arc::new(Machine)).map(Some)
                }
            });
            *unpoisoned(given.lock()) = started.transpose();
        })?;
        let services = endpoints(policy, PROXY_PORT + 1.., "");
        let waits = Some((socket, waits));
        let no_proxy = no_proxy(policy);
        Ok((Self { proxy, waits, token, port: PROXY_PORT, services, no_proxy }, inner))
    }

    /// For a watched run, which is in the machine's own network: it may reach every public host,
    /// and those that it asks for by name are counted. A process without the token is kept out.
    ///
    /// # Errors
    /// An error of the kernel.
    pub(super) fn observing(policy: &Policy, of_run: &EgressOfRun) -> io::Result<Self> {
        let settings = settings(policy, of_run, true)?;
        let token = settings.token.clone();
        let listeners = (0..=policy.egress.services.len())
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .collect::<io::Result<Vec<_>>>()?;
        let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
        let ports = ports.collect::<io::Result<Vec<_>>>()?;
        let services = endpoints(policy, ports[1..].iter().copied(), &format!("/{token}"));
        let proxy = Proxy::start(listeners, settings, Arc::new(Machine))?;
        let proxy = Arc::new(Mutex::new(Some(Ok(proxy))));
        let no_proxy = no_proxy(policy);
        Ok(Self { proxy, waits: None, token, port: ports[0], services, no_proxy })
    }

    /// Returns true if the address is the proxy's own, or that of an endpoint.
    pub(super) fn is_at(&self, address: &SocketAddr) -> bool {
        let proxy = format!("http://{address}");
        let is_endpoint = |(_, at): &(String, String)| {
            at.strip_prefix(&proxy).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        *address == SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
            || self.services.iter().any(is_endpoint)
    }

    /// The variables of the tool: where the proxy is, and the endpoint of each service.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, OsString)> {
        let proxy = format!("http://{USER}:{}@127.0.0.1:{}", self.token, self.port);
        let proxies = PROXY_NAMES.iter().map(move |name| ((*name).to_owned(), proxy.clone()));
        let own = ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), self.no_proxy.to_owned()));
        // Node.js reads the others only where this says so.
        let node = [("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())];
        let services = self.services.iter().cloned();
        let all = proxies.chain(own).chain(node).chain(services);
        all.map(|(name, value)| (name, value.into())).collect::<Vec<_>>().into_iter()
    }

    /// The traffic since the last call of this.
    pub(super) fn take_traffic(&self) -> Traffic {
        let proxy = unpoisoned(self.proxy.lock());
        proxy.as_ref().and_then(|it| it.as_ref().ok()).map(Proxy::take_traffic).unwrap_or_default()
    }

    /// Closes every connection, and says what went through; nothing runs on.
    ///
    /// # Errors
    /// The proxy could not be started.
    pub(super) fn end(mut self) -> io::Result<Traffic> {
        match self.close() {
            Some(Ok(proxy)) => Ok(proxy.end()),
            Some(Err(error)) => {
                let text = format!("rye's proxy could not be started: {error}");
                Err(io::Error::new(error.kind(), text))
            }
            None => Ok(Traffic::default()),
        }
    }

    /// The proxy, or why there is none, once no thread starts it any more.
    fn close(&mut self) -> Option<io::Result<Proxy>> {
        if let Some((socket, waits)) = self.waits.take() {
            // A thread that still waits for the listeners waits no longer.
            let _ = shutdown(&socket, Shutdown::Both);
            let _ = waits.join();
        }
        unpoisoned(self.proxy.lock()).take()
    }
}

/// The addresses that a tool calls past the proxy: its own, unless its list names one of this
/// machine. Services are called at one.
fn no_proxy(policy: &Policy) -> &'static str {
    let mut addresses = policy.egress.hosts.iter().filter_map(HostRule::address);
    let lists_own = addresses.any(|address| address.is_loopback());
    if lists_own && policy.egress.services.is_empty() { "" } else { OWN_ADDRESSES }
}

/// The variable of each service, and the address of its endpoint.
fn endpoints(
    policy: &Policy,
    ports: impl Iterator<Item = u16>,
    prefix: &str,
) -> Vec<(String, String)> {
    let services = policy.egress.services.iter().zip(ports);
    let endpoint = |(service, port): (&Service, u16)| {
        (service.env().to_owned(), format!("http://127.0.0.1:{port}{prefix}"))
    };
    services.map(endpoint).collect()
}

fn settings(policy: &Policy, of_run: &EgressOfRun, observes: bool) -> io::Result<Settings> {
    let mut token = [0; 16];
    random::fill(&mut token)?;
    Ok(Settings {
        egress: policy.egress.clone(),
        observes,
        secrets: of_run.secrets.clone(),
        token: hex::encode(token),
        https: of_run.https.clone(),
        http: of_run.http.clone(),
    })
}

impl Drop for WayOut {
    fn drop(&mut self) {
        drop(self.close());
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use rustix::net::{RecvFlags, recv};

    use super::{PROXY_PORT, WayOut, listeners, unpoisoned};

    #[test]
    fn a_failure_that_comes_when_the_tool_has_ended_is_not_lost() {
        let (socket, _inner) = listeners::pair().unwrap();
        let socket = Arc::new(socket);
        let (waited, proxy) = (Arc::clone(&socket), Arc::new(Mutex::new(None)));
        let started = Arc::clone(&proxy);
        let thread = std::thread::spawn(move || {
            // It goes on as soon as the way out is closed, and no sooner.
            recv(&waited, &mut [0][..], RecvFlags::empty()).unwrap();
            *unpoisoned(started.lock()) = Some(Err(io::Error::other("no thread")));
        });
        let (waits, token) = (Some((socket, thread)), String::new());
        let (port, services) = (PROXY_PORT, Vec::new());
        let way_out = WayOut { proxy, waits, token, port, services, no_proxy: "" };
        let error = way_out.end().unwrap_err().to_string();
        assert!(error.contains("no thread"), "{error}");
    }
}
