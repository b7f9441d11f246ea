mod base;
mod diag;
mod grant;
mod host;
mod id;
mod space;
mod trace;
