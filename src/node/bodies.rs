//! The bodies of requests, of a bounded size, in a bounded time, and not too many at once.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::server::Node;
use crate::remote::{REQUEST_BYTES, RemoteError};
use crate::store::OBJECT_BYTES;

/// MiB of bodies that are read at once; further ones wait. Two of the largest objects fit.
pub(super) const BODIES_MIB: usize = 160;

/// How long a body may take: the largest object over a line of 4 Mbit/s.
const BODY_TIME: Duration = Duration::from_secs(150);

/// Reads the body of a request whose head is signed, and the room that it takes until it is
/// dropped.
///
/// # Errors
/// `remote.too_large`, `remote.bad_request`, `remote.busy`
pub(super) async fn read_body(
    node: &Node,
    parts: &Parts,
    body: Body,
) -> Result<(Arc<[u8]>, OwnedSemaphorePermit), RemoteError> {
    let is_object = parts.uri.path().starts_with("/objects/") && parts.method == "PUT";
    let most =
        if is_object { usize::try_from(OBJECT_BYTES).unwrap_or(usize::MAX) } else { REQUEST_BYTES };
    let too_large =
        || RemoteError::TooLarge { what: "the body".into(), most: format!("{} MiB", most >> 20) };
    let told = parts.headers.get(CONTENT_LENGTH).and_then(|told| told.to_str().ok()?.parse().ok());
    let length: usize = told.unwrap_or(if parts.method == "GET" { 0 } else { most });
    if length > most {
        return Err(too_large());
    }
    let places = u32::try_from(length.div_ceil(1 << 20)).unwrap_or(u32::MAX);
    let busy = RemoteError::Busy { why: "reads as much as it may already" };
    let reading = async {
        let place = Arc::clone(&node.bodies).acquire_many_owned(places).await;
        let place = place.map_err(|_| busy)?;
        match Limited::new(body, most).collect().await {
            Ok(body) => Ok((Arc::from(&*body.to_bytes()), place)),
            Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
            Err(_) => Err(RemoteError::bad_request("its body was cut short")),
        }
    };
    match timeout(BODY_TIME, reading).await {
        Ok(read) => read,
        Err(_) => Err(RemoteError::bad_request("its body took too long")),
    }
}
