//! The beginning of a tunnel: a TLS greeting, and the name in it.
//!
//! The name that is checked is the one that stands in the open. The proxy cannot see the name in an
//! encrypted greeting, nor how a server uses names inside TLS.

use std::time::Duration;

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use crate::base::durations::PROXY_HEAD_MS;
use crate::host::Refusal;

/// Longest greeting of TLS that a run's proxy reads, in bytes: the largest have four thousand.
#[cfg(feature = "http")]
const PROXY_GREETING_BYTES: usize = 32 << 10;

/// The first byte of a TLS record that holds a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

/// The answer to a client whose greeting is refused: a fatal alert, `unrecognized_name` (RFC 8446,
/// 6.2).
pub(super) const UNRECOGNIZED_NAME: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];

/// A greeting as it came, and whatever came with it.
pub(super) struct Greeting {
    pub(super) bytes: Vec<u8>,
    /// The name of the server that is wanted, in lower case.
    pub(super) name: Option<String>,
}

/// Reads until the greeting is whole. `read` came before.
///
/// # Errors
/// The bytes are not a TLS greeting, are more than one may have, or did not come in time.
pub(super) async fn greeting(
    from: &mut (impl AsyncRead + Unpin),
    read: Vec<u8>,
) -> Result<Greeting, Refusal> {
    let time = Duration::from_millis(PROXY_HEAD_MS);
    timeout(time, whole(from, read)).await.unwrap_or(Err(Refusal::NotTls))
}

async fn whole(
    from: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
) -> Result<Greeting, Refusal> {
    let mut acceptor = Acceptor::default();
    let mut seen = 0;
    loop {
        if bytes.first().is_some_and(|first| *first != HANDSHAKE) {
            return Err(Refusal::NotTls);
        }
        while seen < bytes.len() {
            let took = acceptor.read_tls(&mut &bytes[seen..]).map_err(|_| Refusal::NotTls)?;
            if took == 0 {
                return Err(Refusal::NotTls);
            }
            seen += took;
            if let Some(accepted) = acceptor.accept().map_err(|_| Refusal::NotTls)? {
                let name = accepted.client_hello().server_name().map(str::to_ascii_lowercase);
                return Ok(Greeting { bytes, name });
            }
        }
        if bytes.len() >= PROXY_GREETING_BYTES {
            return Err(Refusal::NotTls);
        }
        let room = PROXY_GREETING_BYTES - bytes.len();
        let got = from.take(room as u64).read_buf(&mut bytes).await;
        if got.map_err(|_| Refusal::NotTls)? == 0 {
            return Err(Refusal::NotTls);
        }
    }
}
