//! Fuzz targets for the signature line, keys and envelopes.

mod keys;
mod line;

pub(crate) use keys::{envelope, key};
pub(crate) use line::signature_line;
