//! Listeners in a tool's own network whose connections rye accepts outside of it.
//!
//! A socket belongs to the network in which it was made, whoever holds it. So the last step into
//! the sandbox makes the listeners and hands them out over a pair of sockets (`SCM_RIGHTS`), and
//! the tool's connections to them arrive at rye, which is in the machine's network.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::base::limits::EGRESS_SERVICES;

/// The port of the proxy. Those of the services follow. The network is new and has nobody else in
/// it, so they are free; above the ports that a program gets when it asks for any.
pub(super) const PROXY_PORT: u16 = 61_080;

/// The proxy's listener and those of the services.
const MOST: usize = EGRESS_SERVICES + 1;

/// The two ends of the way out: rye's, and the one that is passed inside.
///
/// # Errors
/// What the kernel says.
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the proxy needs it"))]
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    Ok(socketpair(AddressFamily::UNIX, kind, flags, None)?)
}

/// Listens on `count` ports from [`PROXY_PORT`] on, and hands the listeners out.
///
/// # Errors
/// What the kernel says; a port that is taken.
pub(super) fn hand_out(socket: &OwnedFd, count: usize) -> io::Result<()> {
    let ports = (PROXY_PORT..).take(count.min(MOST));
    let listeners = ports
        .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
        .collect::<Result<Vec<_>, _>>()?;
    let fds: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(socket, &[IoSlice::new(b"l")], &mut message, SendFlags::empty())?;
    Ok(())
}

/// Waits for the listeners; none if the other end was closed without them, because the sandbox was
/// not made.
///
/// # Errors
/// What the kernel says.
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the proxy needs it"))]
pub(super) fn taken(socket: &OwnedFd) -> io::Result<Vec<TcpListener>> {
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
    Ok(fds.flatten().map(TcpListener::from).collect())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::{PROXY_PORT, hand_out, pair, taken};

    #[test]
    fn listeners_arrive_in_order_and_a_closed_end_hands_out_none() {
        let (outer, inner) = pair().expect("a pair of sockets");
        drop(inner);
        assert!(taken(&outer).expect("the end").is_empty());
        let (outer, inner) = pair().expect("a pair of sockets");
        hand_out(&inner, 2).expect("two free ports");
        let got = taken(&outer).expect("the listeners");
        let ports: Vec<_> = got.iter().map(|one| one.local_addr().expect("bound").port()).collect();
        assert_eq!(ports, [PROXY_PORT, PROXY_PORT + 1]);
        let mut caller = TcpStream::connect(("127.0.0.1", PROXY_PORT + 1)).expect("it listens");
        caller.write_all(b"x").expect("it takes it");
        let mut heard = [0];
        got[1].accept().expect("a caller").0.read_exact(&mut heard).expect("a byte");
        assert_eq!(&heard, b"x");
    }
}
