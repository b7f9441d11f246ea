//! Sockets of a tool's own network that rye holds outside of it: it accepts from those that listen,
//! and calls by the others.
//!
//! A socket belongs to the network in which it was made, whichever process holds it. So the last
//! step into the sandbox makes them and hands them out over a pair of sockets (`SCM_RIGHTS`), and
//! rye, which is in the machine's network, uses them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socket_with,
    socketpair,
};

use crate::base::limits::EGRESS_SERVICES;
use crate::host::HandsOut;

/// The port of the proxy. Those of the services follow. No other process is in the new network, so
/// they are free; above the ports that a program gets when it asks for any.
pub(super) const PROXY_PORT: u16 = 61_080;

/// Most that are handed out at once, among them the proxy's listener and those of the services.
pub(super) const MOST: usize = HandsOut::MOST;
const _: () = assert!(EGRESS_SERVICES < MOST, "a listener for each");

/// The two ends of the way out: rye's, and the one that is passed inside.
///
/// # Errors
/// An error of the kernel.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    Ok(socketpair(AddressFamily::UNIX, kind, flags, None)?)
}

/// Listens on `count` ports from [`PROXY_PORT`] on, and hands the listeners out.
///
/// # Errors
/// An error of the kernel; a port that is taken.
pub(super) fn hand_out(socket: &OwnedFd, count: usize) -> io::Result<()> {
    let ports = (PROXY_PORT..).take(count.min(MOST));
    let listeners = ports
        .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
        .map(|listener| listener.map(OwnedFd::from));
    send(socket, &listeners.collect::<Result<Vec<_>, _>>()?)
}

/// Hands out that many sockets that call.
///
/// # Errors
/// An error of the kernel.
pub(super) fn hand_out_callers(over: &OwnedFd, count: usize) -> io::Result<()> {
    let (family, kind, flags) = (AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC);
    let make = |_| socket_with(family, kind, flags, None);
    send(over, &(0..count.min(MOST)).map(make).collect::<Result<Vec<_>, _>>()?)
}

fn send(over: &OwnedFd, sockets: &[OwnedFd]) -> io::Result<()> {
    let fds: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(over, &[IoSlice::new(b"l")], &mut message, SendFlags::empty())?;
    Ok(())
}

/// Waits for what is handed out; nothing if the other end was closed without it, because the
/// sandbox was not made.
///
/// # Errors
/// An error of the kernel.
pub(super) fn taken(socket: &OwnedFd) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0; 1];
    let words = &mut [IoSliceMut::new(&mut word)];
    loop {
        match recvmsg(socket, words, &mut message, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other.map(drop)?,
        }
    }
    let fds = message.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    Ok(fds.flatten().collect())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::{PROXY_PORT, hand_out, pair, taken};

    #[test]
    fn listeners_arrive_in_order_and_a_closed_end_hands_out_none() {
        let (outer, inner) = pair().expect("a pair of sockets");
        drop(inner);
        assert!(taken(&outer).expect("the end").is_empty());
        let (outer, inner) = pair().expect("a pair of sockets");
        hand_out(&inner, 2).expect("two free ports");
        let got: Vec<_> = taken(&outer).expect("the listeners");
        let got: Vec<_> = got.into_iter().map(TcpListener::from).collect();
        let ports: Vec<_> = got.iter().map(|one| one.local_addr().expect("bound").port()).collect();
        assert_eq!(ports, [PROXY_PORT, PROXY_PORT + 1]);
        let mut caller = TcpStream::connect(("127.0.0.1", PROXY_PORT + 1)).expect("it listens");
        caller.write_all(b"x").expect("it takes it");
        let mut heard = [0];
        got[1].accept().expect("a caller").0.read_exact(&mut heard).expect("a byte");
        assert_eq!(&heard, b"x");
    }
}
