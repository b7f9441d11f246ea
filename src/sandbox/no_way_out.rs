//! In place of `way_out.rs` in a build without HTTP, where nothing is held to hosts.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use crate::host::{EgressOfRun, Policy, Traffic};

/// There is none.
#[derive(Debug)]
pub(super) enum WayOut {}

impl WayOut {
    pub(super) fn new(_: &Policy, _: &EgressOfRun) -> io::Result<(Self, OwnedFd)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn observing(_: &Policy, _: &EgressOfRun) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn is_at(&self, _: &SocketAddr) -> bool {
        match *self {}
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (String, OsString)> {
        match *self {}
        #[expect(unreachable_code, reason = "names the type")]
        std::iter::empty()
    }

    pub(super) fn take_traffic(&self) -> Traffic {
        match *self {}
    }

    pub(super) fn end(self) -> io::Result<Traffic> {
        match self {}
    }
}
