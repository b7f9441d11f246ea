//! Fuzz targets for the signature line, keys, envelopes and HTTP messages.

mod http_message;
mod keys;
mod line;

pub(crate) use http_message::http_message;
pub(crate) use keys::{envelope, key};
pub(crate) use line::signature_line;
