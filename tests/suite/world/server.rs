//! A small real HTTP/1.1 server on this machine, plain or with TLS, that answers as a test says and
//! keeps what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// One request as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub method: String,
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

/// A port of this machine at which nothing listens.
pub fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

/// Writes an answer as it comes about.
pub type Writes = Box<dyn FnOnce(&mut dyn Write) + Send>;

/// The answer to a request.
pub enum Reply {
    /// These bytes, then the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, then nothing until the client leaves; that is told.
    Hold(Vec<u8>),
    /// These bytes again and again, a moment apart, until the client leaves.
    Drip(Vec<u8>),
    /// The connection goes on to this address, as a proxy does it.
    Tunnel(String),
    /// What this writes, while it writes it; then the connection is closed.
    Written(Writes),
}

/// A whole answer with its length.
pub fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let mut bytes = format!(
        "HTTP/1.1 {status} Word\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Reply::Bytes(bytes)
}

/// `200` with JSON.
pub fn ok(body: &str) -> Reply {
    answer(200, "Content-Type: application/json\r\n", body)
}

type Answers = dyn Fn(&Seen, usize) -> Reply + Send + Sync;

/// A running server; dropping it ends it.
pub struct Server {
    port: u16,
    bound: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    asked: Receiver<()>,
    left: Receiver<()>,
    ended: Arc<std::sync::atomic::AtomicBool>,
}

#[derive(Clone)]
struct Shared {
    answers: Arc<Answers>,
    seen: Arc<Mutex<Vec<Seen>>>,
    asked: Sender<()>,
    left: Sender<()>,
}

impl Server {
    /// Answers the nth request, from 0, with what `answers` gives.
    pub fn new(answers: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::start("127.0.0.1:0", None, Arc::new(answers))
    }

    /// Listens at this address, over TLS if there is a certificate.
    pub fn at(
        address: &str,
        identity: Option<&Identity>,
        answers: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start(address, identity.map(|known| known.config.clone()), Arc::new(answers))
    }

    /// Answers over TLS with this certificate.
    pub fn tls(
        identity: &Identity,
        answers: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start("127.0.0.1:0", Some(identity.config.clone()), Arc::new(answers))
    }

    fn start(address: &str, tls: Option<Arc<ServerConfig>>, answers: Arc<Answers>) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let bound = listener.local_addr().expect("an address");
        let port = bound.port();
        let (asked, was_asked) = channel();
        let (left, has_left) = channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Shared { answers, seen: seen.clone(), asked, left };
        let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let over = ended.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                if over.load(std::sync::atomic::Ordering::SeqCst) {
                    return;
                }
                let (shared, tls) = (shared.clone(), tls.clone());
                std::thread::spawn(move || match tls {
                    None => shared.serve(stream),
                    Some(config) => {
                        let connection = ServerConnection::new(config).expect("a TLS session");
                        shared.serve(StreamOwned::new(connection, stream));
                    }
                });
            }
        });
        Self { port, bound, seen, asked: was_asked, left: has_left, ended }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http://127.0.0.1:<port>` and the path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn tls_url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("the list").clone()
    }

    /// Waits until it was asked once more.
    pub fn wait_until_asked(&self) {
        self.asked.recv_timeout(Duration::from_mins(1)).expect("a request");
    }

    /// Waits until a client that was held left.
    pub fn wait_until_left(&self) {
        self.left.recv_timeout(Duration::from_mins(1)).expect("a client that leaves");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, std::sync::atomic::Ordering::SeqCst);
        drop(TcpStream::connect(self.bound));
    }
}

impl Shared {
    fn serve<S: Read + Write>(&self, stream: S) {
        let mut stream = BufReader::new(stream);
        // Whoever leaves before a whole request was sent asked nothing.
        let Some(request) = read(&mut stream) else { return };
        let number = {
            let mut seen = self.seen.lock().expect("the list");
            seen.push(request.clone());
            seen.len() - 1
        };
        let _ = self.asked.send(());
        let mut out = stream.into_inner();
        let mut send = |bytes: &[u8]| out.write_all(bytes).and_then(|()| out.flush());
        match (self.answers)(&request, number) {
            Reply::Bytes(bytes) => drop(send(&bytes)),
            Reply::Hold(bytes) => {
                let _ = send(&bytes);
                let mut rest = [0; 64];
                while out.read(&mut rest).is_ok_and(|read| read > 0) {}
                let _ = self.left.send(());
            }
            Reply::Drip(bytes) => {
                while send(&bytes).is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                }
                let _ = self.left.send(());
            }
            Reply::Written(write) => write(&mut out),
            Reply::Tunnel(to) => {
                let mut there = TcpStream::connect(to).expect("the origin");
                let _ = send(b"HTTP/1.1 200 Connected\r\n\r\n");
                // Enough for one request in one piece, and its answer.
                let mut piece = vec![0; 64 << 10];
                let read = out.read(&mut piece).unwrap_or(0);
                let _ = there.write_all(&piece[..read]);
                let mut back = Vec::new();
                let _ = there.read_to_end(&mut back);
                let _ = out.write_all(&back).and_then(|()| out.flush());
            }
        }
    }
}

fn read(stream: &mut impl BufRead) -> Option<Seen> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Seen { method, target, headers, body })
}

/// An issuer of certificates that nobody knows until a test says so.
pub struct Authority {
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
    pem: String,
}

/// A server's certificate and key.
pub struct Identity {
    config: Arc<ServerConfig>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: rcgen::Issuer::new(params, key), pem }
    }

    /// The issuer's certificate, to be trusted.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for one name or address; `expired` ended long ago.
    pub fn identity(&self, name: &str, expired: bool) -> Identity {
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("a name");
        if expired {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        }
        let key = rcgen::KeyPair::generate().expect("a key");
        let leaf = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .expect("an identity");
        Identity { config: Arc::new(config) }
    }
}
