//! TCP segments as values and as bytes.

mod segment;
mod seq;

pub use segment::{Ecn, Flags, IPV4_HEADER, SackBlock, SackBlocks, Segment, SynOptions, TCP_HEADER, Timestamps};
pub use seq::Seq;
