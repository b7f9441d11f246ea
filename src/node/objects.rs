//! The store, as callers see it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::asked::{Asked, Refused, Segment, respond, respond_json, with_kind};
use super::server::Node;
use crate::base::Digest;
use crate::remote::{Digests, RemoteError};
use crate::store::ObjectStore;

/// Digests that may be asked for at once.
const ASKED: usize = 20_000;

fn may_use(asked: &Asked) -> Result<(), Refused> {
    match asked.caller.may_use_objects() {
        true => Ok(()),
        false => Err(RemoteError::OutOfScope {
            owner: asked.caller.owner.clone(),
            key: asked.caller.key.fingerprint(),
            what: "objects".into(),
        }
        .into()),
    }
}

fn digest(text: &str) -> Result<Digest, Refused> {
    Ok(text.parse().map_err(|()| RemoteError::bad_request("its path does not end in a digest"))?)
}

/// `POST /objects/has`
pub(super) async fn has(
    State(node): State<Arc<Node>>,
    Extension(asked): Extension<Asked>,
) -> Response {
    let here = Arc::clone(&node);
    let told = spawn_blocking(move || -> Result<Vec<Digest>, Refused> {
        may_use(&asked)?;
        let Digests { digests } = Digests::read(&asked.body)?;
        if digests.len() > ASKED {
            return Err(RemoteError::bad_request("it names too many digests").into());
        }
        Ok(here.store.missing(&digests)?)
    });
    respond_json(&node, told.await.map(|told| told.map(|missing| json!({"missing": missing}))))
}

/// `PUT /objects/{digest}`
pub(super) async fn put(
    State(node): State<Arc<Node>>,
    Segment(name): Segment,
    Extension(asked): Extension<Asked>,
) -> Response {
    let here = Arc::clone(&node);
    let put = spawn_blocking(move || -> Result<u64, Refused> {
        may_use(&asked)?;
        Ok(here.store.put(digest(&name)?, &mut &*asked.body)?)
    });
    respond_json(&node, put.await.map(|put| put.map(|bytes| json!({"bytes": bytes}))))
}

/// `GET /objects/{digest}`
pub(super) async fn get(
    State(node): State<Arc<Node>>,
    Segment(name): Segment,
    Extension(asked): Extension<Asked>,
) -> Response {
    let here = Arc::clone(&node);
    let got = spawn_blocking(move || -> Result<Vec<u8>, Refused> {
        may_use(&asked)?;
        Ok(here.store.get(digest(&name)?)?)
    });
    respond(&node, got.await.map(|got| got.map(|it| with_kind("application/octet-stream", it))))
}
