//! Requests to a person: `decide.rs` carries out the decision of one, `sign.rs` is about those for
//! a signature. The facade keeps and claims them (`rye/approvals.rs`).

mod decide;
mod sign;

pub(crate) use decide::{CarriedOut, CarryOut, Decided, RequestRows};
pub(crate) use sign::SignRequest;
pub(crate) use sign::for_a_person;
