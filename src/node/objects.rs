//! The store, as callers see it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::asked::{Asked, Segment, beside, json as answer, with_kind};
use super::server::Node;
use crate::base::Digest;
use crate::diagnostic::Failure;
use crate::remote::{Digests, RemoteError};
use crate::store::ObjectStore;

/// Digests that may be asked for at once.
const ASKED: usize = 20_000;

fn may_use(asked: &Asked) -> Result<(), Failure> {
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

fn digest(text: &str) -> Result<Digest, Failure> {
    Ok(text.parse().map_err(|()| RemoteError::bad_request("its path does not end in a digest"))?)
}

/// `POST /objects/has`
pub(super) async fn has(
    State(node): State<Arc<Node>>,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    let told = beside(move || {
        may_use(&asked)?;
        let Digests { digests } = Digests::read(&asked.body)?;
        if digests.len() > ASKED {
            return Err(RemoteError::bad_request("it names too many digests").into());
        }
        Ok(node.store.missing(&digests)?)
    });
    Ok(answer(&json!({"missing": told.await?})))
}

/// `PUT /objects/{digest}`
pub(super) async fn put(
    State(node): State<Arc<Node>>,
    Segment(name): Segment,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    let put = beside(move || {
        may_use(&asked)?;
        Ok(node.store.put(digest(&name)?, &mut &*asked.body)?)
    });
    Ok(answer(&json!({"bytes": put.await?})))
}

/// `GET /objects/{digest}`
pub(super) async fn get(
    State(node): State<Arc<Node>>,
    Segment(name): Segment,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    let got = beside(move || {
        may_use(&asked)?;
        Ok(node.store.get(digest(&name)?)?)
    });
    Ok(with_kind("application/octet-stream", got.await?))
}
