//! The way in to one run: ports of this machine that lead to the same ports of the tool's network.
//!
//! rye listens on the machine's loopback, and joins each connection to one that it makes inside. A
//! socket calls in the network in which it was made, so the last step into the sandbox makes some
//! and hands them out (`listeners.rs`). Linux lets one call again when a call is over, so a few are
//! enough for any number of connections, and only as many as there are can be open at once.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::net::{connect, connect_unspec, shutdown};

use super::listeners;
use crate::base::sync::unpoisoned;

/// See the module. Dropping it closes the ports and every connection.
#[derive(Debug)]
pub(super) struct WayIn {
    socket: Arc<OwnedFd>,
    ports: Vec<Arc<TcpListener>>,
    lines: Arc<Lines>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Lines {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Unconnected sockets of the tool's network.
    free: Vec<Arc<TcpStream>>,
    /// Connected ones, each with the connection from outside.
    busy: Vec<[Arc<TcpStream>; 2]>,
    has_ended: bool,
}

impl WayIn {
    /// The way in, and the socket by which the last step into the sandbox hands out callers.
    ///
    /// # Errors
    /// A port that is taken; what the kernel says.
    pub(super) fn new(ports: &[u16]) -> io::Result<(Self, OwnedFd)> {
        let listen = |port: &u16| {
            TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).map(Arc::new).map_err(|error| {
                let why = format!(
                    "the tool listens on port {port} of this machine (`net: {{listen: […]}}`), and \
                     rye cannot: {error}; end what listens there, or have the item name another"
                );
                io::Error::new(error.kind(), why)
            })
        };
        let listening = ports.iter().map(listen).collect::<io::Result<Vec<_>>>()?;
        let (socket, inner) = listeners::pair()?;
        let lines = Arc::<Lines>::default();
        let threads = Vec::new();
        let mut made = Self { socket: Arc::new(socket), ports: listening, lines, threads };
        let (taken, lines) = (Arc::clone(&made.socket), Arc::clone(&made.lines));
        made.spawn(move || {
            let callers = listeners::taken(&taken).unwrap_or_default();
            let callers = callers.into_iter().map(|fd| Arc::new(TcpStream::from(fd)));
            unpoisoned(lines.state.lock()).free.extend(callers);
            lines.changed.notify_all();
        })?;
        for (at, port) in ports.iter().enumerate() {
            let (listener, lines, port) =
                (Arc::clone(&made.ports[at]), Arc::clone(&made.lines), *port);
            made.spawn(move || accept(&listener, port, &lines))?;
        }
        Ok((made, inner))
    }

    fn spawn(&mut self, does: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(Builder::new().name("way-in".into()).spawn(does)?);
        Ok(())
    }
}

impl Drop for WayIn {
    fn drop(&mut self) {
        // Ends each wait for sockets or for a connection.
        let mut state = unpoisoned(self.lines.state.lock());
        state.has_ended = true;
        self.lines.changed.notify_all();
        let _ = shutdown(&self.socket, rustix::net::Shutdown::Both);
        for listener in &self.ports {
            let _ = shutdown(listener, rustix::net::Shutdown::Both);
        }
        // The tool's last bytes still go out.
        for [outer, _] in &state.busy {
            let _ = outer.shutdown(Shutdown::Read);
        }
        let is_busy = |state: &mut State| !state.busy.is_empty();
        let state = unpoisoned(self.lines.changed.wait_timeout_while(state, LAST_WORDS, is_busy)).0;
        for stream in state.busy.iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// How long connections may go on when the tool has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long a port rests where no connection could be taken.
const REST: Duration = Duration::from_millis(50);

/// Joins each connection to the port to one inside, until the way in ends.
fn accept(listener: &TcpListener, port: u16, lines: &Arc<Lines>) {
    loop {
        let outer = listener.accept();
        let state = unpoisoned(lines.state.lock());
        let Ok((outer, _)) = outer else {
            // No descriptor is free, the caller has left, or it has ended.
            let goes_on = |state: &mut State| !state.has_ended;
            let state = unpoisoned(lines.changed.wait_timeout_while(state, REST, goes_on)).0;
            if state.has_ended {
                return;
            }
            continue;
        };
        let waits = |state: &mut State| state.free.is_empty() && !state.has_ended;
        let mut state = unpoisoned(lines.changed.wait_while(state, waits));
        let Some(inner) = state.free.pop().filter(|_| !state.has_ended) else { return };
        let pair = [Arc::new(outer), inner];
        state.busy.push(pair.clone());
        drop(state);
        let of_thread = Arc::clone(lines);
        let joined = pair.clone();
        let started = Builder::new().name("way-in".into()).spawn(move || {
            join(&joined, port);
            of_thread.give_back(&joined);
        });
        if started.is_err() {
            lines.give_back(&pair);
        }
    }
}

impl Lines {
    /// Makes a socket free that called.
    fn give_back(&self, pair: &[Arc<TcpStream>; 2]) {
        let _ = pair[0].shutdown(Shutdown::Both);
        let is_free = connect_unspec(&pair[1]).is_ok();
        let mut state = unpoisoned(self.state.lock());
        state.busy.retain(|other| !Arc::ptr_eq(&other[1], &pair[1]));
        state.free.extend(is_free.then(|| Arc::clone(&pair[1])));
        drop(state);
        self.changed.notify_all();
    }
}

/// Calls the port inside, and carries the bytes of both ways until both have ended.
fn join([outer, inner]: &[Arc<TcpStream>; 2], port: u16) {
    if connect(inner, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).is_err() {
        return;
    }
    std::thread::scope(|scope| {
        let sends = Builder::new().spawn_scoped(scope, || carry(outer, inner));
        if sends.is_ok() {
            carry(inner, outer);
        }
    });
}

/// Carries the bytes of one way. Where that fails, the other way ends too.
fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    let mut bytes = vec![0; 16 << 10];
    loop {
        let read = match from.read(&mut bytes) {
            Ok(0) => break drop(to.shutdown(Shutdown::Write)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other,
        };
        if read.and_then(|length| to.write_all(&bytes[..length])).is_err() {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            break;
        }
    }
}
