//! The paths of a node.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post, put};
use serde_json::{Value, json};

use super::asked::{json as answer, let_in};
use super::server::Node;
use super::{answers, events, execute, metrics, objects};
use crate::diagnostic::Failure;
use crate::parse::kept_json;
use crate::remote::RemoteError;

/// The description of all this, for programs.
const OPENAPI: &str = include_str!("openapi.json");

/// The paths of a node, behind the one check of who asks.
pub(super) fn routes(node: &Arc<Node>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/identity", get(identity))
        .route("/openapi.json", get(openapi))
        .route("/metrics", get(metrics::metrics))
        .route("/objects/has", post(objects::has))
        .route("/objects/{digest}", put(objects::put).get(objects::get))
        .route("/execute", post(execute::execute))
        .route("/threads", get(answers::list))
        .route("/threads/{id}", get(answers::show))
        .route("/threads/{id}/events", get(events::events))
        .route("/threads/{id}/record", get(answers::record))
        .route("/threads/{id}/cancel", post(answers::cancel))
        .fallback(nothing)
        .method_not_allowed_fallback(no_such_method)
        .layer(from_fn_with_state(Arc::clone(node), let_in))
        .with_state(Arc::clone(node))
}

async fn health(State(node): State<Arc<Node>>) -> (StatusCode, Response) {
    let (status, word) = match node.is_ending() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "ending"),
        false => (StatusCode::OK, "ok"),
    };
    (status, answer(&json!({"status": word})))
}

async fn identity(State(node): State<Arc<Node>>) -> Response {
    answer(&json!({
        "node": node.fingerprint, "public_key": node.pair.public().to_pem(),
        "version": env!("RYE_VERSION"), "now": jiff::Timestamp::now().as_second(),
    }))
}

async fn openapi() -> Response {
    let mut document: Value = kept_json(OPENAPI.as_bytes()).unwrap_or_default();
    document["info"]["version"] = env!("RYE_VERSION").into();
    answer(&document)
}

async fn nothing(request: Request) -> Failure {
    RemoteError::NotFound { what: format!("`{}`", request.uri().path()) }.into()
}

async fn no_such_method(request: Request) -> (StatusCode, Failure) {
    let refusal = RemoteError::NoSuchMethod { path: request.uri().path().to_owned() };
    (StatusCode::METHOD_NOT_ALLOWED, refusal.into())
}
