//! The state that all connections of a run share.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use hyper::header::HeaderValue;
use rustls::ClientConfig;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::message::Count;
use super::secret_spellings::spellings;
use super::{Resolve, Settings};
use crate::base::limits::PROXY_LOOKUPS;
use crate::base::{HostRule, Mask, address_of};
use crate::host::{Egress, NetSettings, Refusal, Traffic, fits_header};

pub(super) struct ProxyState {
    pub(super) egress: Egress,
    pub(super) observes: bool,
    /// The beginning of each path at the endpoint of a service: empty in a network of the run's
    /// own, and the token in a run that is watched, which shares the machine's.
    pub(super) prefix: String,
    /// Of `rye:TOKEN`. Digests are compared: how long that takes says nothing of the text.
    credentials: [u8; 32],
    /// The value of each service's header.
    pub(super) headers: Vec<HeaderValue>,
    /// The secrets of all services.
    pub(super) mask: Arc<Mask>,
    pub(super) https: NetSettings,
    pub(super) http: NetSettings,
    pub(super) resolve: Arc<dyn Resolve>,
    /// A permit for each name that is looked up, also for a client that left meanwhile.
    pub(super) lookups: Arc<Semaphore>,
    /// How long the head of an answer is waited for.
    pub(super) answer_time: Duration,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
    is_public: fn(IpAddr) -> bool,
    traffic: Mutex<Traffic>,
    /// Those who count still.
    counting: Mutex<Vec<Weak<Count>>>,
}

impl ProxyState {
    /// # Errors
    /// The name of a service whose secret is missing or too long, or cannot stand in its header.
    pub(super) fn new(
        settings: Settings,
        resolve: Arc<dyn Resolve>,
        is_public: fn(IpAddr) -> bool,
        answer_time: Duration,
    ) -> Result<Self, String> {
        let headers = settings.egress.services.iter().map(|service| {
            let name = || service.name().to_owned();
            let is_usable = |secret: &&Zeroizing<String>| fits_header(secret).is_ok();
            let secret = settings.secrets.get(service.name()).filter(is_usable);
            let mut value = HeaderValue::try_from(service.header_value(secret.ok_or_else(name)?))
                .map_err(|_| name())?;
            value.set_sensitive(true);
            Ok(value)
        });
        let headers = headers.collect::<Result<_, String>>()?;
        let all: Vec<Zeroizing<String>> =
            settings.secrets.values().flat_map(|secret| spellings(secret)).collect();
        Ok(Self {
            credentials: Sha256::digest(format!("rye:{}", settings.token)).into(),
            prefix: match settings.observes {
                true => format!("/{}", settings.token),
                false => String::new(),
            },
            headers,
            mask: Arc::new(Mask::new(all.iter().map(|spelling| spelling.as_str()))),
            egress: settings.egress,
            observes: settings.observes,
            https: settings.https,
            http: settings.http,
            resolve,
            lookups: Arc::new(Semaphore::new(PROXY_LOOKUPS)),
            answer_time,
            tls: OnceLock::new(),
            is_public,
            traffic: Mutex::default(),
            counting: Mutex::default(),
        })
    }

    /// Returns true if these are `rye:TOKEN`.
    pub(super) fn knows(&self, credentials: &[u8]) -> bool {
        Sha256::digest(credentials).as_slice() == self.credentials
    }

    /// Returns true if a connection to a host may be asked for. In a run that is watched every name
    /// may, and every public address.
    pub(super) fn is_listed(&self, host: &str, port: u16) -> bool {
        let is_observed = || match address_of(host) {
            Some(address) => (self.is_public)(address),
            None => HostRule::parse(host).is_ok(),
        };
        let listed = self.egress.hosts.iter().any(|rule| rule.covers(host, port));
        listed || (self.observes && is_observed())
    }

    /// Returns true if a connection may go to an address that a name led to.
    pub(super) fn may_reach(&self, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        let is_listed = || {
            let mut listed = self.egress.hosts.iter().filter(|rule| rule.address().is_some());
            listed.any(|rule| rule.covers(&address.to_string(), port))
        };
        (self.is_public)(address) || is_listed()
    }

    /// How servers prove who they are: the certificates that the operator believes.
    pub(super) fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        self.tls.get_or_init(|| self.https.client_tls().map(Arc::new)).clone()
    }

    pub(super) fn add(&self, host: &str, calls: u64, sent: u64, received: u64) {
        if (calls, sent, received) != (0, 0, 0) {
            self.traffic().add(host, calls, sent, received);
        }
    }

    pub(super) fn refuse(&self, what: &str, why: Refusal) {
        self.traffic().refuse(what, why);
    }

    /// Adds a count that is still open, so that [`Self::take_traffic`] reads it too.
    pub(super) fn watch(&self, count: &Arc<Count>) {
        let mut counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        counting.retain(|count| count.strong_count() > 0);
        counting.push(Arc::downgrade(count));
    }

    /// The traffic since this was last asked, that of open connections included.
    pub(super) fn take_traffic(&self) -> Traffic {
        let counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for count in counting.iter().filter_map(Weak::upgrade) {
            let (host, sent, received) = count.take();
            self.add(host, 0, sent, received);
        }
        std::mem::take(&mut self.traffic())
    }

    fn traffic(&self) -> std::sync::MutexGuard<'_, Traffic> {
        // Counting cannot fail in the middle.
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
