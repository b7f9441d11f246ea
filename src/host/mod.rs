//! Host: the one seam to the machine, and its real implementation.
//!
//! Layer 3. Sees `base`. Decides no policy: a plan says what to run, the host runs just that.
//!
//! - `host.rs` the trait and what it promises · `os.rs` the real one · `unix.rs` the few calls that
//!   need `unsafe` · `vars.rs` the environment, read once · `pin.rs` the private folder of a
//!   run · `contract.rs` what every host promises, held against each

#[cfg(test)]
mod contract;
#[expect(clippy::module_inception, reason = "the trait's own file, named as the design names it")]
mod host;
mod os;
mod pin;
mod unix;
mod vars;

pub(crate) use host::{Ended, Host, Spawn};
pub(crate) use os::Os;
pub(crate) use pin::{Pin, PinError};
pub(crate) use unix::raise;
pub(crate) use vars::Vars;
