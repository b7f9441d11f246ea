//! The attack battery, one file an area; tests are named after their rows.

mod a_bytes;
