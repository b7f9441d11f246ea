//! Requests to a person: `shown.rs` is what a person sees of one, `decide.rs` carries out the
//! decision, `sign.rs` is about those for a signature. The facade keeps and claims them
//! (`rye/approvals.rs`).

mod decide;
mod shown;
mod sign;

pub(crate) use decide::{CarriedOut, CarryOut, DecidedRequest};
pub(crate) use shown::RequestRows;
pub(crate) use sign::SignRequest;
pub(crate) use sign::for_a_person;
