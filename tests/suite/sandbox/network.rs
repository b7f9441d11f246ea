//! A network of a test's own, in which servers have public addresses and names.
//!
//! The test starts itself again in namespaces of its own (`unshare`, user namespaces), gives the
//! loopback there addresses of every kind, and answers for names. So a run of rye goes through the
//! machine's own resolver and reaches servers at public addresses, and nothing leaves the machine.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use super::not_run;

/// Public addresses, as good as any.
pub const ONE: &str = "93.184.216.34";
pub const OTHER: &str = "93.184.216.35";
pub const PUBLIC_6: &str = "2606:2800:220:1::1";
/// What nobody outside may have: a private network's, and a cloud's for its metadata.
pub const PRIVATE: &str = "192.168.7.7";
pub const METADATA: &str = "169.254.169.254";

const INSIDE: &str = "RYE_TEST_OWN_NETWORK";

/// Gives the loopback its addresses: `SIOCSIFADDR`, as `ip addr add` does it.
const ADDRESSES: &str = "
import fcntl, socket, struct, sys
four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def up(name):
    fcntl.ioctl(four, 0x8914, struct.pack('16sH14s', name.encode(), 0x41, bytes(14)))
up('lo')
for at, address in enumerate(a for a in sys.argv[1:] if ':' not in a):
    name = f'lo:{at}'.encode()
    packed = socket.inet_aton(address)
    fcntl.ioctl(four, 0x8916, struct.pack('16sH2s4s8s', name, socket.AF_INET, bytes(2), packed, bytes(8)))
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
index = socket.if_nametoindex('lo')
for address in (a for a in sys.argv[1:] if ':' in a):
    packed = socket.inet_pton(socket.AF_INET6, address)
    fcntl.ioctl(six, 0x8916, struct.pack('16sIi', packed, 128, index))
";

/// Runs the rest of a test in a network of its own. `test` is its path, such as
/// `sandbox::hosts::some_test`.
pub fn in_own_network(test: &str, body: impl FnOnce(&Names)) {
    if std::env::var_os(INSIDE).is_some() {
        return body(&Names::answer());
    }
    if !super::works(test, super::BWRAP) {
        return;
    }
    if !Command::new("unshare").args(["-Urnm", "true"]).status().is_ok_and(|s| s.success()) {
        return not_run(test, super::BWRAP, "`unshare -Urnm` does not work here");
    }
    let own = std::env::current_exe().expect("this program");
    let files = tempfile::tempdir().expect("a folder");
    let ended = Command::new("unshare")
        .args(["-Urnm", "--"])
        .arg(own)
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(INSIDE, "1")
        .env("TMPDIR", files.path())
        .output()
        .expect("unshare starts");
    let told = String::from_utf8_lossy(&ended.stdout);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && told.contains("1 passed"), "{told}\n{said}");
}

type Answers = BTreeMap<String, Vec<Vec<IpAddr>>>;

/// The names of this network. It knows no others.
pub struct Names {
    /// Of each name the addresses of each answer; the last one stays.
    known: Arc<Mutex<Answers>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    fn answer() -> Self {
        let all = [ONE, OTHER, PRIVATE, METADATA, PUBLIC_6];
        let made = Command::new("python3").args(["-c", ADDRESSES]).args(all).output();
        let made = made.expect("python3 starts");
        assert!(made.status.success(), "{made:?}");
        for (place, text) in [
            ("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:2\n"),
            ("/etc/nsswitch.conf", "hosts: files dns\n"),
            ("/etc/hosts", "127.0.0.1 localhost\n"),
        ] {
            if Path::new(place).exists() {
                let ours = tempfile::NamedTempFile::new().expect("a file");
                std::fs::write(ours.path(), text).expect("a line");
                let bound =
                    Command::new("mount").arg("--bind").arg(ours.path()).arg(place).status();
                assert!(bound.expect("mount starts").success(), "{place}");
                // The mount needs it; it goes with the folder of this test.
                let _ = ours.keep();
            }
        }
        let known = Arc::new(Mutex::new(Answers::new()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 53)).expect("port 53 of our own");
        let own = Self { known, asked };
        let (known, asked) = (own.known.clone(), own.asked.clone());
        std::thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                if let Some(answer) = reply(&question[..length], &known, &asked) {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        own
    }

    /// Whoever asks for the name is told these addresses.
    pub fn is(&self, name: &str, addresses: &[&str]) {
        self.changes(name, &[addresses]);
    }

    /// The first who asks is told the first list, and so on; the last list stays.
    pub fn changes(&self, name: &str, answers: &[&[&str]]) {
        let of = |list: &&[&str]| list.iter().map(|a| a.parse().expect("an address")).collect();
        let answers = answers.iter().map(of).collect();
        self.known.lock().expect("the names").insert(name.to_owned(), answers);
    }

    /// The names that were asked for.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("the list").clone()
    }
}

/// An answer of a name server (RFC 1035, 4.1) to one question for `A` or `AAAA`.
fn reply(question: &[u8], known: &Mutex<Answers>, asked: &Mutex<Vec<String>>) -> Option<Vec<u8>> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*question.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(question.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
    let name = labels.join(".");
    let kind = *question.get(at + 1)?;
    let end = at + 4;
    let mut known = known.lock().expect("the names");
    let list = known.get_mut(&name);
    let is_known = list.is_some();
    let wants_four = kind == 1;
    let addresses = list.map_or(Vec::new(), |answers| match answers.len() {
        // An `AAAA` question goes with the `A` question of the same look-up.
        more if more > 1 && wants_four => answers.remove(0),
        _ => answers[0].clone(),
    });
    asked.lock().expect("the list").push(name);
    let bytes = addresses.iter().filter_map(|address| match address {
        IpAddr::V4(four) if wants_four => Some(four.octets().to_vec()),
        IpAddr::V6(six) if kind == 28 => Some(six.octets().to_vec()),
        _ => None,
    });
    let bytes: Vec<Vec<u8>> = bytes.collect();
    let mut out = question[..2].to_vec();
    out.extend([
        0x81,
        if is_known { 0x80 } else { 0x83 },
        0,
        1,
        0,
        u8::try_from(bytes.len()).ok()?,
    ]);
    out.extend([0, 0, 0, 0]);
    out.extend(&question[12..end]);
    for address in bytes {
        // The name of the question, its kind, the class, a life of no time, the length.
        out.extend([0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 0, 0, u8::try_from(address.len()).ok()?]);
        out.extend(address);
    }
    Some(out)
}
