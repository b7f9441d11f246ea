//! Signals that ask this process to end, for a server that waits for much else too.

use std::os::fd::AsFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::signals::Signals;

/// The next signal that asks this process to end.
#[expect(
    deprecated,
    reason = "what replaces it is `unsafe`; the descriptor is held for the whole time"
)]
pub(crate) async fn heard(signals: &Signals) -> std::io::Result<i32> {
    let fd = AsyncFd::with_interest(signals.fd().as_fd(), Interest::READABLE)?;
    loop {
        let mut ready = fd.readable().await?;
        match signals.take() {
            Some(signal) => return Ok(signal),
            None => ready.clear_ready(),
        }
    }
}
