//! The attack battery, one file an area; tests are named after their rows.

mod a_bytes;
mod a_forgery;
mod a_rollback;
mod b_files;
mod b_ground;
mod b_spaces;
mod c_arguments;
mod c_interpreters;
mod c_node;
mod c_run;
mod c_versions;
mod d_dev_mode;
mod d_dev_watch;
mod d_trust;
mod e_metadata;
mod e_parsers;
mod e_values;
mod f_errors;
mod f_processes;
mod h_receipts;
mod l_bounds;
mod l_dev;
mod l_ground;
mod l_parsers;
mod l_signing;
