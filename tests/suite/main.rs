//! The one integration binary: rye from outside, through its door.

mod attacks;
mod world;
