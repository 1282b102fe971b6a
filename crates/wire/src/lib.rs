//! TCP segments as values and as bytes.

mod emit;
mod option;
mod parse;
pub mod pcapng;
mod segment;
mod seq;

pub use emit::{Addresses, TooLong, emit, emit_datagram};
pub use parse::{ParseError, parse};
pub use segment::{Ecn, Flags, IPV4_HEADER, SackBlock, SackBlocks, Segment, SynOptions, TCP_HEADER, Timestamps};
pub use seq::Seq;
