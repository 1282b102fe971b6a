//! Learning environments: a scenario, agents on some of its flows, and the loop of decisions, for one simulation or for
//! many side by side on threads.

mod environment;
mod error;
mod shard;
mod vector;
mod worker;

pub use environment::{Environment, Step};
pub use error::EnvironmentError;
pub use vector::{Autoreset, Buffers, VectorEnvironment};
