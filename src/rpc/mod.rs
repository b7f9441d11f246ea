//! JSON-RPC 2.0, without a stream: lines out of bytes, and what a line says.
//!
//! Sees `base`.

mod framer;

pub(crate) use framer::{Framer, Line};
