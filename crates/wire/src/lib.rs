//! TCP segments as values and as bytes: [`emit()`] writes an IPv4 packet with its checksums, [`parse()`] reads one, and
//! [`pcapng`] puts packets into a file that Wireshark opens. The simulator carries [`Segment`]s, which have a length of
//! payload and no content, and [`QuicPacket`]s likewise.
//!
//! ```
//! use ackclock_wire::{Addresses, Flags, SackBlock, Segment, Seq, emit, parse};
//!
//! let mut ack = Segment { seq: Seq(1), ack: Seq(1_461), window: 500, flags: Flags::ACK, ..Segment::default() };
//! ack.sack.push(SackBlock { start: Seq(2_921), end: Seq(4_381) });
//! let ends = Addresses { source: "10.0.0.1:40000".parse()?, destination: "10.0.0.2:5001".parse()? };
//! let mut packet = Vec::new();
//! emit(&ack, ends, 0, &mut packet).expect("a pure ACK is short enough for IPv4");
//! assert_eq!(packet.len(), 20 + 20 + 12); // IPv4, TCP, two NOPs and a SACK option of one block
//! assert_eq!(parse(&packet), Ok((ends, ack)));
//! # Ok::<(), std::net::AddrParseError>(())
//! ```

pub mod accurate;
pub mod emit;
mod option;
pub mod parse;
pub mod pcapng;
pub mod quic;
mod segment;
mod seq;

pub use accurate::AccurateEcn;
#[doc(inline)]
pub use emit::{Addresses, TooLong, emit, emit_datagram};
#[doc(inline)]
pub use parse::{ParseError, parse};
pub use quic::{AckRange, QuicFrames, QuicPacket};
pub use segment::{Ecn, Flags, IPV4_HEADER, SackBlock, SackBlocks, Segment, SynOptions, TCP_HEADER, Timestamps};
pub use seq::Seq;
