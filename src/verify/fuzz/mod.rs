//! Fuzz targets for what is signed and for what says who may sign.

mod documents;
mod line;
mod signed;

pub(crate) use documents::{envelope, key, own_config, trust_document};
pub(crate) use line::signature_line;
pub(crate) use signed::signed_file;
