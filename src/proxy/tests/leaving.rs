//! A child that leaves before it is answered, and servers and resolvers that never answer.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::{
    HELLO, Names, SECRET, Server, credentials, dial, hosts, refusals, service_at, vars, world,
    world_that_waits, world_with,
};
use crate::base::limits::PROXY_LOOKUPS;
use crate::host::Refusal;
use crate::proxy::Resolve;

fn get(host: &str) -> String {
    format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{}\r\n", credentials())
}

/// Accepts a connection and reads a head, and never says anything; both ends of it.
fn mute() -> (SocketAddr, impl Fn() -> TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let next = move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        assert!(super::head(&mut stream).contains(" HTTP/1.1\r\n"));
        stream
    };
    (at, next)
}

/// Returns true if the other side has closed. Any other error is a time-out of the read.
fn is_closed(stream: &mut TcpStream) -> bool {
    let read = stream.read(&mut [0]);
    match read {
        Ok(length) => length == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_connection_to_a_server_ends_when_the_child_has_left_also_with_requests_unread() {
    let (at, accepted) = mute();
    let upstream = format!("http://{at}");
    let host = format!("plain.example.org:{}", at.port());
    let egress = crate::host::Egress {
        hosts: hosts(std::slice::from_ref(&host)).hosts,
        ..service_at(&upstream, &["GET /x"])
    };
    let names = Names::new(&[("plain.example.org", &[&["127.0.0.1"]])]);
    let world = world(egress, names, &vars(&[]));
    let endpoint = world.services[0];
    let to_service = format!("GET /x HTTP/1.1\r\nHost: {endpoint}\r\n\r\n");
    for (to, request) in [(endpoint, to_service), (world.at, get(&host))] {
        for requests in [1, 3] {
            let mut child = dial(to);
            child.write_all(request.repeat(requests).as_bytes()).unwrap();
            let mut server = accepted();
            drop(child);
            assert!(is_closed(&mut server), "{requests}");
        }
    }
}

#[test]
fn a_connection_to_a_server_ends_when_the_child_has_left_in_the_middle_of_an_answer() {
    let (at, accepted) = mute();
    let world =
        world(service_at(&format!("http://{at}"), &["GET /x"]), Names::new(&[]), &vars(&[]));
    let endpoint = world.services[0];
    let mut child = dial(endpoint);
    let request = format!("GET /x HTTP/1.1\r\nHost: {endpoint}\r\n\r\n").repeat(3);
    child.write_all(request.as_bytes()).unwrap();
    let mut server = accepted();
    server.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf\n").unwrap();
    let mut got = String::new();
    while !got.contains("half\n") {
        let mut byte = [0];
        child.read_exact(&mut byte).unwrap();
        got.push(char::from(byte[0]));
    }
    drop(child);
    assert!(is_closed(&mut server));
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let (at, accepted) = mute();
    let host = format!("plain.example.org:{}", at.port());
    let egress = crate::host::Egress {
        hosts: hosts(std::slice::from_ref(&host)).hosts,
        ..service_at(&format!("http://{at}"), &["GET /x"])
    };
    let names = Names::new(&[("plain.example.org", &[&["127.0.0.1"]])]);
    let short = Duration::from_millis(20);
    let world = world_that_waits(short, SECRET, egress, names, &vars(&[]), false);
    let endpoint = world.services[0];
    let to_service = format!("GET /x HTTP/1.1\r\nHost: {endpoint}\r\n\r\n");
    for (to, request) in [(endpoint, to_service), (world.at, get(&host))] {
        let mut child = dial(to);
        child.write_all(request.as_bytes()).unwrap();
        let mut server = accepted();
        let got = super::head(&mut child);
        assert!(got.starts_with("HTTP/1.1 504 "), "{got}");
        assert!(is_closed(&mut server));
    }
    let traffic = world.proxy.end();
    assert!(refusals(&traffic).iter().all(|(_, why)| *why == Refusal::Unreachable), "{traffic:?}");
}

/// Looks up nothing until it is let go.
#[derive(Default)]
struct Slow {
    is_let_go: Mutex<bool>,
    go: Condvar,
    began: AtomicUsize,
    at_once: AtomicUsize,
    most: AtomicUsize,
}

impl Slow {
    fn let_go(&self) {
        *self.is_let_go.lock().unwrap() = true;
        self.go.notify_all();
    }
}

impl Resolve for Slow {
    fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        self.began.fetch_add(1, Ordering::SeqCst);
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let held = self.is_let_go.lock().unwrap();
        drop(self.go.wait_while(held, |is_let_go| !*is_let_go).unwrap());
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Err(io::ErrorKind::NotFound.into())
    }
}

#[test]
fn names_are_looked_up_few_at_a_time_and_none_unseen_though_the_child_leaves() {
    let names = Arc::new(Slow::default());
    let egress = hosts(&["*.example.org:80".to_owned()]);
    let world = world_with(SECRET, egress, names.clone(), &vars(&[]), false);
    for at in 0..PROXY_LOOKUPS {
        let mut child = dial(world.at);
        child.write_all(get(&format!("left{at}.example.org")).as_bytes()).unwrap();
        while names.began.load(Ordering::SeqCst) <= at {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The child leaves, and its name is still being looked up.
    }
    let traffic = world.traffic_until(|traffic| traffic.refused.len() == PROXY_LOOKUPS);
    assert!(traffic.refused.iter().all(|row| row.why == Refusal::Unresolved), "{traffic:?}");
    let mut waiting: Vec<TcpStream> = (0..2 * PROXY_LOOKUPS).map(|_| dial(world.at)).collect();
    for child in &mut waiting {
        child.write_all(get("stays.example.org").as_bytes()).unwrap();
    }
    names.let_go();
    for child in &mut waiting {
        let got = super::head(child);
        assert!(got.starts_with("HTTP/1.1 502 "), "{got}");
    }
    assert_eq!(names.began.load(Ordering::SeqCst), 3 * PROXY_LOOKUPS);
    assert_eq!(names.most.load(Ordering::SeqCst), PROXY_LOOKUPS);
}

#[test]
fn a_call_that_comes_to_no_connection_is_refused_and_not_counted_as_well() {
    // The port has no listener any longer.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let server = Server::saying(HELLO);
    let host = format!("127.0.0.1:{port}");
    let egress = crate::host::Egress {
        hosts: hosts(&[host.clone(), format!("127.0.0.1:{}", server.at.port())]).hosts,
        ..service_at(&format!("http://{host}"), &["GET /x"])
    };
    let world = world(egress, Names::new(&[]), &vars(&[]));
    let endpoint = world.services[0];
    for (to, request) in [
        (endpoint, format!("GET /x HTTP/1.1\r\nHost: {endpoint}\r\n\r\n")),
        (world.at, get(&host)),
        (world.at, format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{}\r\n", credentials())),
    ] {
        let mut child = dial(to);
        child.write_all(request.as_bytes()).unwrap();
        let got = super::head(&mut child);
        assert!(got.starts_with("HTTP/1.1 502 "), "{got}");
    }
    let traffic = world.proxy.end();
    assert_eq!(traffic.hosts, []);
    let refused = refusals(&traffic);
    let whats: Vec<(&str, u64)> =
        refused.iter().zip(&traffic.refused).map(|((what, _), row)| (*what, row.count)).collect();
    assert_eq!(whats, [("api: GET /x", 1), (host.as_str(), 2)]);
}
