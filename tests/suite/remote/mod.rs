//! Nodes, and runs on them: a caller and an operator with a user space each, and the real program
//! that serves between them.

mod broken;
mod door;
mod life;
mod line;
mod matrix;
mod node;
mod outputs;
mod pushed;
mod request;
mod runs;
mod secrets;
