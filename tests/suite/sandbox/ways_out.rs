//! Every way that a tool tries to get past the hosts that it lists.
//!
//! `ways_out.py` is the tool; here are the places that it must not come to.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::doer;
use super::hosts::{hosts, printed, world};
use super::network::{METADATA, ONE, OTHER, PRIVATE, PUBLIC_6, in_own_network};
use crate::world::server::{Server, answer, ok};

/// What a canary saw: everything that came to a place where nothing may come.
struct Canary {
    what: &'static str,
    met: Arc<AtomicUsize>,
}

impl Canary {
    fn tcp(what: &'static str, address: &str) -> Self {
        let met = Arc::new(AtomicUsize::new(0));
        let listener = TcpListener::bind(address).expect(address);
        let count = met.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 64]);
            }
        });
        Self { what, met }
    }

    fn udp(what: &'static str, address: &str) -> Self {
        let met = Arc::new(AtomicUsize::new(0));
        let socket = UdpSocket::bind(address).expect(address);
        let count = met.clone();
        std::thread::spawn(move || {
            while socket.recv(&mut [0; 64]).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { what, met }
    }

    fn unix(what: &'static str, listener: UnixListener) -> Self {
        let met = Arc::new(AtomicUsize::new(0));
        let count = met.clone();
        std::thread::spawn(move || {
            for _ in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { what, met }
    }
}

/// Every way out that the tool tries. Each is a function of Python that returns what it got; `REACHED`
/// in it, or a status of 200, means that it got out.
const WAYS_OUT: &str = include_str!("ways_out.py");

/// Every name of the network, and where it leads.
const NAMES: [(&str, &str); 15] = [
    ("api.example.org", ONE),
    ("plain.example.org", ONE),
    ("other.example.net", OTHER),
    ("loop.example.org", "127.0.0.1"),
    ("zero.example.org", "0.0.0.0"),
    ("private.example.org", PRIVATE),
    ("metadata.example.org", METADATA),
    ("six.example.org", "::1"),
    ("mapped.example.org", "::ffff:169.254.169.254"),
    ("unlisted.example.org", OTHER),
    ("example.org", OTHER),
    ("api.example.org.evil.net", OTHER),
    ("nat64.example.org", "64:ff9b::a9fe:a9fe"),
    ("both.example.org", PRIVATE),
    ("public6.example.net", PUBLIC_6),
];

#[test]
fn no_way_out_of_the_listed_hosts_works() {
    in_own_network("sandbox::ways_out::no_way_out_of_the_listed_hosts_works", |names| {
        let (world, authority) = world();
        for (name, address) in NAMES {
            names.is(name, &[address]);
        }
        // A name that is public when it is first looked at, and nowhere public afterwards.
        names.changes("rebinds.example.org", &[&[ONE], &["127.0.0.1"]]);
        let identity = authority.identity("api.example.org", false);
        let listed = Server::at(&format!("{ONE}:443"), Some(&identity), |_, _| ok("\"listed\""));
        let plain = Server::at(&format!("{ONE}:80"), None, |seen, _| match seen.target.as_str() {
            "/away" => answer(302, &format!("Location: http://{METADATA}/latest\r\n"), ""),
            _ => ok("\"plain\""),
        });
        let abstract_name = {
            use std::os::linux::net::SocketAddrExt;
            let name = std::os::unix::net::SocketAddr::from_abstract_name("rye-test-canary");
            UnixListener::bind_addr(&name.expect("a name")).expect("an abstract socket")
        };
        let in_project = UnixListener::bind(world.project().join("canary.sock")).expect("a socket");
        let canaries = [
            Canary::tcp("another port of a listed host", &format!("{ONE}:8443")),
            Canary::tcp("another host", &format!("{OTHER}:443")),
            Canary::tcp("another host's HTTP", &format!("{OTHER}:80")),
            Canary::tcp("a host by IPv6", &format!("[{PUBLIC_6}]:443")),
            Canary::tcp("this machine", "127.0.0.1:443"),
            Canary::tcp("this machine's HTTP", "127.0.0.1:80"),
            Canary::tcp("this machine by IPv6", "[::1]:443"),
            Canary::tcp("a service of this machine", "127.0.0.1:8080"),
            Canary::tcp("the private network", &format!("{PRIVATE}:443")),
            Canary::tcp("the private network's HTTP", &format!("{PRIVATE}:80")),
            Canary::tcp("the metadata", &format!("{METADATA}:80")),
            Canary::tcp("the metadata over TLS", &format!("{METADATA}:443")),
            Canary::tcp("where proxies listen", "127.0.0.1:61080"),
            Canary::udp("UDP to a host", &format!("{ONE}:5353")),
            Canary::udp("a name server elsewhere", &format!("{OTHER}:53")),
            Canary::unix("an abstract socket", abstract_name),
            Canary::unix("a socket in the project", in_project),
        ];
        let list = [
            "api.example.org",
            "plain.example.org",
            "loop.example.org",
            "zero.example.org",
            "private.example.org",
            "metadata.example.org",
            "six.example.org",
            "mapped.example.org",
            "nat64.example.org",
            "rebinds.example.org",
            "both.example.org",
            "*.sub.example.org",
        ];
        doer(&world, "caller", &hosts(&list));
        let ways = world.write("ways.py", WAYS_OUT);
        let code = format!("exec(open({:?}).read())", ways.display().to_string());
        let got = printed(&world, &code);
        let got = got.as_object().expect("the ways");
        assert_eq!(got["listed"], "200", "the fixture reaches what it lists: {:#}", got["listed"]);
        assert_eq!(got["plain"], "200", "also without TLS");
        let ways: Vec<_> =
            got.iter().filter(|(way, _)| !["listed", "plain"].contains(&way.as_str())).collect();
        assert!(ways.len() >= 40, "{} ways", ways.len());
        for (way, got) in &ways {
            let text = got.as_str().unwrap_or_default();
            let most = usize::from(way.starts_with("once: "));
            let reached = text.matches("200").count() > most || text.contains("REACHED");
            assert!(!reached, "{way}: {text}");
        }
        for canary in canaries {
            assert_eq!(canary.met.load(Ordering::SeqCst), 0, "{} was met", canary.what);
        }
        assert_eq!(listed.seen().len(), 1, "the listed host was asked once: {:?}", listed.seen());
        let asked: Vec<_> = plain
            .seen()
            .iter()
            .map(|seen| (seen.header("host").unwrap_or_default().to_owned(), seen.target.clone()))
            .collect();
        let own = ["plain.example.org", "rebinds.example.org"];
        assert!(plain.seen().iter().all(|seen| seen.header("upgrade").is_none()), "{asked:?}");
        assert!(asked.iter().all(|(host, _)| own.contains(&host.as_str())), "{asked:?}");
        assert!(!asked.iter().any(|(_, target)| target.contains("smuggled")), "{asked:?}");
        assert!(
            !names.asked().iter().any(|name| name.starts_with("secret-in-a-name")),
            "no name that is not listed is looked up"
        );
    });
}
