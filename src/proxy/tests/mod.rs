//! The proxy with real sockets: servers of these tests are on 127.0.0.1, which counts as public
//! here and nowhere else; their names are those of [`Names`].

mod forward;
mod leaving;
mod service;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::public::is_public;
use super::{Proxy, Resolve, Settings};
use crate::base::HostRule;
use crate::host::{Egress, NetSettings, Refusal, Service, ServiceText, Traffic, Vars};

const TOKEN: &str = "0123456789abcdef";
const SECRET: &str = "s3cret/canary+0123456789";

/// Made-up addresses of names. Each further look-up gives the next list, the last one again.
#[derive(Default)]
struct Names {
    of: BTreeMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<BTreeMap<String, usize>>,
}

impl Names {
    fn new(of: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let lists = |lists: &[&[&str]]| {
            lists.iter().map(|list| list.iter().map(|ip| ip.parse().unwrap()).collect()).collect()
        };
        let of = of.iter().map(|(name, all)| ((*name).to_owned(), lists(all))).collect();
        Arc::new(Self { of, asked: Mutex::default() })
    }

    fn asked(&self, name: &str) -> usize {
        self.asked.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

impl Resolve for Names {
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let mut asked = self.asked.lock().unwrap();
        let count = asked.entry(host.to_owned()).or_default();
        let lists = self.of.get(host).ok_or(io::ErrorKind::NotFound)?;
        let list = &lists[(*count).min(lists.len() - 1)];
        *count += 1;
        Ok(list.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
    }
}

/// This one address of this machine is public in these tests.
fn public_here(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::LOCALHOST) || is_public(address)
}

/// A running proxy with its addresses.
struct World {
    proxy: Proxy,
    at: SocketAddr,
    services: Vec<SocketAddr>,
}

fn vars(pairs: &[(&str, &str)]) -> Vars {
    pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn world(egress: Egress, names: Arc<Names>, operator: &Vars) -> World {
    world_of(egress, names, operator, false)
}

fn world_of(egress: Egress, names: Arc<Names>, operator: &Vars, observes: bool) -> World {
    world_with(SECRET, egress, names, operator, observes)
}

fn world_with(
    secret: &str,
    egress: Egress,
    names: Arc<dyn Resolve>,
    operator: &Vars,
    observes: bool,
) -> World {
    world_that_waits(Duration::from_mins(5), secret, egress, names, operator, observes)
}

fn world_that_waits(
    answer_time: Duration,
    secret: &str,
    egress: Egress,
    names: Arc<dyn Resolve>,
    operator: &Vars,
    observes: bool,
) -> World {
    let listeners: Vec<TcpListener> = (0..=egress.services.len())
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
        .collect();
    let mut all = listeners.iter().map(|listener| listener.local_addr().unwrap());
    let at = all.next().unwrap();
    let services = all.collect();
    let secrets = egress
        .services
        .iter()
        .map(|service| (service.name().to_owned(), Zeroizing::new(secret.to_owned())));
    let settings = Settings {
        secrets: secrets.collect(),
        egress,
        observes,
        token: TOKEN.into(),
        https: NetSettings::of_scheme(operator, true),
        http: NetSettings::of_scheme(operator, false),
    };
    let proxy = Proxy::judging(listeners, settings, names, public_here, answer_time).unwrap();
    World { proxy, at, services }
}

impl World {
    /// Asks again and again until the traffic is as it will be; what it was in all.
    fn traffic_until(&self, is_all: impl Fn(&Traffic) -> bool) -> Traffic {
        let (mut all, began) = (Traffic::default(), Instant::now());
        while !is_all(&all) {
            assert!(began.elapsed() < Duration::from_mins(1), "{all:?}");
            std::thread::sleep(Duration::from_millis(5));
            let more = self.proxy.take_traffic();
            for row in more.hosts {
                all.add(&row.host, row.calls, row.sent_bytes, row.received_bytes);
            }
            for row in more.refused {
                (0..row.count).for_each(|_| all.refuse(&row.what, row.why));
            }
        }
        all
    }
}

fn hosts(rules: &[String]) -> Egress {
    let hosts = rules.iter().map(|rule| HostRule::parse(rule).unwrap()).collect();
    Egress { hosts, ..Egress::default() }
}

fn service_at(upstream: &str, allow: &[&str]) -> Egress {
    let allow: Vec<String> = allow.iter().map(|call| (*call).to_owned()).collect();
    let service = Service::parse(ServiceText {
        name: "api",
        upstream,
        secret: "API_TOKEN",
        header: "Authorization",
        format: "Bearer {}",
        allow: &allow,
        env: "API_URL",
    });
    Egress { services: vec![service.unwrap()], ..Egress::default() }
}

fn credentials() -> String {
    format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(format!("rye:{TOKEN}")))
}

/// Sends this and reads until the other side closes.
fn exchange(at: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = dial(at);
    // The proxy may refuse and close before everything is sent.
    let _ = stream.write_all(bytes);
    rest(&mut stream)
}

fn dial(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
}

fn rest(stream: &mut TcpStream) -> String {
    let mut got = Vec::new();
    // A reset after the answer is as good as an end.
    let _ = stream.read_to_end(&mut got);
    String::from_utf8_lossy(&got).into_owned()
}

/// Reads up to the end of a head, byte by byte.
fn head(stream: &mut impl Read) -> String {
    let mut got = Vec::new();
    let mut byte = [0];
    while !got.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        got.push(byte[0]);
    }
    String::from_utf8_lossy(&got).into_owned()
}

/// Opens a tunnel; the answer's head, and the connection.
fn tunnel(at: SocketAddr, to: &str) -> (String, TcpStream) {
    let mut stream = dial(at);
    let asked = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{}\r\n", credentials());
    stream.write_all(asked.as_bytes()).unwrap();
    let mut head = head(&mut stream);
    if !head.starts_with("HTTP/1.1 200") {
        head += &rest_of(&mut stream, &head);
    }
    (head, stream)
}

/// The body that a head announces by its length.
fn rest_of(stream: &mut impl Read, head: &str) -> String {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

/// A server that answers each connection once, with a function of what it read: the head, and of a
/// body so much as came with a length or in chunks.
struct Server {
    at: SocketAddr,
    met: Arc<AtomicUsize>,
    heard: Arc<Mutex<Vec<String>>>,
    _thread: JoinHandle<()>,
}

impl Server {
    fn new(answer: impl Fn(&str, &mut dyn Write) + Send + Sync + 'static) -> Self {
        Self::at(Ipv4Addr::LOCALHOST, answer)
    }

    fn at(
        address: Ipv4Addr,
        answer: impl Fn(&str, &mut dyn Write) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let met = Arc::new(AtomicUsize::new(0));
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let (count, ears, answer) = (met.clone(), heard.clone(), Arc::new(answer));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                count.fetch_add(1, Ordering::SeqCst);
                let (ears, answer) = (ears.clone(), answer.clone());
                std::thread::spawn(move || {
                    let request = whole_request(&mut stream);
                    ears.lock().unwrap().push(request.clone());
                    answer(&request, &mut stream);
                });
            }
        });
        Self { at, met, heard, _thread: thread }
    }

    /// Answers with this text, always.
    fn saying(answer: &str) -> Self {
        let answer = answer.to_owned();
        Self::new(move |_, stream| stream.write_all(answer.as_bytes()).unwrap())
    }

    fn met(&self) -> usize {
        self.met.load(Ordering::SeqCst)
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn whole_request(stream: &mut impl Read) -> String {
    let mut text = head(stream);
    let is_chunked = text.to_ascii_lowercase().contains("transfer-encoding: chunked");
    if is_chunked {
        let mut byte = [0];
        while !text.ends_with("0\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
            text.push(char::from(byte[0]));
        }
    } else {
        let lower = text.to_ascii_lowercase();
        text += &rest_of(stream, &lower);
    }
    text
}

fn refusals(traffic: &Traffic) -> Vec<(&str, Refusal)> {
    traffic.refused.iter().map(|row| (row.what.as_str(), row.why)).collect()
}

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
