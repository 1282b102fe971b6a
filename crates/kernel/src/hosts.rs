//! Senders and receivers: real sockets in the namespaces, with the applications of the simulator on them.
//!
//! A connection has a thread that asks its applications what to do (`conversation`), one that writes for each direction with data
//! (`writing`), and one that reads at each end (`reading`). Sockets reset their connection when they are closed, so that the kernel keeps
//! nothing of a run that is over, or was killed; before that an application closes its direction as in the simulator.

mod conversation;
mod datagrams;
mod ends;
mod reading;
mod sampling;
mod writing;

pub use conversation::{Exchanged, hold};
pub use datagrams::{drain, send};
pub use ends::{Border, Ends, Stream, listen, set_controller, socket};
pub use reading::Reader;
pub use sampling::{Episode, FlowSampler, Sampled};
