mod base;
mod diag;
mod id;
