//! One HTTP exchange with the real network.
//!
//! It runs on a thread of its own, so that the caller hears signals and the clock meanwhile; when
//! either ends it, the connection is closed and nothing of it is left.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body};
use zeroize::Zeroizing;

use super::exchange_fault::fault;
use super::net::{HttpAnswer, HttpCall, NetFault, NetSettings, listen};
use super::signals::Signals;
use crate::base::durations::NET_GRACE_MS;
use crate::base::limits::HEADERS_BYTES;

/// A proxy that the operator has set.
pub(crate) struct OuterProxy {
    pub(crate) is_https: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `name:password`.
    pub(crate) credentials: Option<Zeroizing<String>>,
}

/// Carries one request out and gives the answer, whatever its status.
pub(super) fn exchange(call: &HttpCall) -> Result<HttpAnswer, NetFault> {
    let broken = |error: io::Error| NetFault::Broken(error.to_string());
    let signals = Signals::listen().map_err(broken)?;
    let agent = agent(call)?;
    let (ended, at_end) = UnixStream::pair().map_err(broken)?;
    let (tell, told) = sync_channel(1);
    let (talker, theirs) = (agent.clone(), call.clone());
    let talk = move || {
        let _ = tell.send(talk(&talker, &theirs));
        // Closing it wakes the listener.
        drop(at_end);
    };
    std::thread::Builder::new().spawn(talk).map_err(broken)?;
    // The library keeps the time itself; the grace lets its own answer come first.
    let grace = Duration::from_millis(NET_GRACE_MS);
    let signal = listen(&signals, Some(&ended), call.until + grace).map_err(broken)?;
    if let Ok(answer) = told.try_recv() {
        return answer;
    }
    agent.shutdown();
    // A name being looked up cannot be stopped, only left; everything else ends at once.
    let _ = told.recv_timeout(grace);
    Err(signal.map_or(NetFault::TimedOut, NetFault::Interrupted))
}

pub(super) fn agent(call: &HttpCall) -> Result<Agent, NetFault> {
    let mut tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    if call.url.starts_with("https:") {
        tls = tls.root_certs(call.way.roots()?);
    }
    let left = call.until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(NetFault::TimedOut);
    }
    let config = Agent::config_builder()
        .tls_config(tls.build())
        .proxy(call.way.proxy()?)
        .http_status_as_error(false)
        // Whether a redirect is followed is the plan's to say, not the library's.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .max_response_header_size(HEADERS_BYTES)
        .user_agent(concat!("rye/", env!("CARGO_PKG_VERSION")))
        .timeout_global(Some(left))
        .timeout_resolve(Some(call.connect_timeout))
        .timeout_connect(Some(call.connect_timeout));
    Ok(config.build().new_agent())
}

/// Sends the request of a call, and gives the head of its answer with the body to be read.
pub(super) fn send(agent: &Agent, call: &HttpCall) -> Result<Response<Body>, NetFault> {
    let mut request = ureq::http::Request::builder().method(call.method).uri(&call.url);
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    let broken = |error: ureq::http::Error| NetFault::Broken(error.to_string());
    let sent = match &call.body {
        None => agent.run(request.body(()).map_err(broken)?),
        Some(body) => agent.run(request.body(&body[..]).map_err(broken)?),
    };
    sent.map_err(|error| fault(error, call))
}

fn talk(agent: &Agent, call: &HttpCall) -> Result<HttpAnswer, NetFault> {
    let failed = |error| fault(error, call);
    let (head, body) = send(agent, call)?.into_parts();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let mut read = Vec::new();
    let most = u64::try_from(call.body_cap).unwrap_or(u64::MAX).saturating_add(1);
    let reading = body.into_reader().take(most).read_to_end(&mut read);
    reading.map_err(|error| failed(error.into()))?;
    let truncated = read.len() > call.body_cap;
    read.truncate(call.body_cap);
    Ok(HttpAnswer {
        status: head.status.as_u16(),
        headers: headers.collect(),
        body: read,
        truncated,
    })
}

impl NetSettings {
    fn proxy(&self) -> Result<Option<ureq::Proxy>, NetFault> {
        let Some(url) = &self.proxy else { return Ok(None) };
        let refuse =
            || NetFault::Proxy("the proxy that is set is not a valid `http` or `https` URL".into());
        let plain = ureq::Proxy::new(url).map_err(|_| refuse())?;
        if !matches!(plain.protocol(), ureq::ProxyProtocol::Http | ureq::ProxyProtocol::Https) {
            return Err(refuse());
        }
        let mut made = ureq::Proxy::builder(plain.protocol()).host(plain.host()).port(plain.port());
        if let Some(name) = plain.username() {
            made = made.username(name);
        }
        if let Some(password) = plain.password() {
            made = made.password(password);
        }
        for host in self.no_proxy.iter().flat_map(|list| list.split(',')) {
            made = made.no_proxy(host.trim());
        }
        made.build().map(Some).map_err(|_| refuse())
    }

    /// The proxy that a request to `url` takes, by scheme, host and port: never with what names its
    /// user.
    pub(super) fn proxy_for(&self, url: &str) -> Option<String> {
        let proxy = self.proxy().ok()??;
        let url = url.parse().ok().filter(|url| !proxy.is_no_proxy(url));
        let scheme = match proxy.protocol() {
            ureq::ProxyProtocol::Https => "https",
            _ => "http",
        };
        url.map(|_| format!("{scheme}://{}:{}", proxy.host(), proxy.port()))
    }

    /// The proxy that a connection to a host takes, if any.
    ///
    /// # Errors
    /// The configured proxy is not the URL of one.
    pub(crate) fn outer_proxy(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Option<OuterProxy>, NetFault> {
        let Some(proxy) = self.proxy()? else { return Ok(None) };
        let url = format!("https://{host}:{port}/").parse();
        if url.is_ok_and(|url| proxy.is_no_proxy(&url)) {
            return Ok(None);
        }
        let credentials = proxy.username().map(|name| {
            let password = proxy.password().unwrap_or_default();
            Zeroizing::new(format!("{name}:{password}"))
        });
        Ok(Some(OuterProxy {
            is_https: proxy.protocol() == ureq::ProxyProtocol::Https,
            host: proxy.host().to_owned(),
            port: proxy.port(),
            credentials,
        }))
    }

    /// How a server proves who it is.
    ///
    /// # Errors
    /// There is nothing to check its certificate against, told in a clause.
    pub(crate) fn client_tls(&self) -> Result<rustls::ClientConfig, String> {
        let mut roots = rustls::RootCertStore::empty();
        let certificates = self.certificates().map_err(|fault| match fault {
            NetFault::Certificates(why) => why,
            _ => "there are no root certificates".into(),
        })?;
        // A store may hold what is not a certificate of today; the others are not less believed.
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err("no root certificate is valid".into());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(config.with_root_certificates(roots).with_no_client_auth())
    }

    /// The certificates that a server's must lead to, for the library.
    fn roots(&self) -> Result<RootCerts, NetFault> {
        let certificates = self.certificates()?;
        let roots = certificates.iter().map(|der| Certificate::from_der(der).to_owned());
        Ok(RootCerts::Specific(Arc::new(roots.collect())))
    }

    /// The certificates that a server's must lead to.
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, NetFault> {
        let (file, folder) = &self.certificates;
        let found = match (file, folder) {
            (None, None) => rustls_native_certs::load_native_certs(),
            _ => rustls_native_certs::load_certs_from_paths(file.as_deref(), folder.as_deref()),
        };
        if found.certs.is_empty() {
            let from = match (file, folder) {
                (None, None) => "this machine has no root certificates",
                _ => "SSL_CERT_FILE and SSL_CERT_DIR lead to no certificate",
            };
            return Err(NetFault::Certificates(from.into()));
        }
        Ok(found.certs)
    }
}
