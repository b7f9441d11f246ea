//! The attack battery, one file an area; tests are named after their rows.

mod a_bytes;
mod d_dev_mode;
mod d_trust;
mod e_metadata;
mod e_parsers;
mod e_values;
