//! A QUIC endpoint without I/O: packets, calls and the time go in, packets come out.
//!
//! [`QuicEndpoint`] is one end of a connection with one stream of bytes each way. Its parts are those of RFC 9002:
//! growing packet numbers and the log of sent packets ([`sent_log`]), the RTT ([`rtt`]), loss detection, probe timeouts
//! and congestion ([`sender`]); of RFC 9000: streams, flow control, ACK frames and their times ([`acks`]), lengths of
//! frames ([`frames`]); and a controller of `ackclock_cc`, which receives the same events as from TCP.
//!
//! Two endpoints and a perfect wire:
//!
//! ```
//! use ackclock_cc::{ControllerConfig, RenoConfig};
//! use ackclock_quic::{QuicConfig, QuicEndpoint};
//! use ackclock_units::{Bytes, SimTime};
//!
//! let reno = ControllerConfig::Reno(RenoConfig::default());
//! let config = QuicConfig::default();
//! let (mut client, mut server) = (QuicEndpoint::new(config, &reno), QuicEndpoint::new(config, &reno));
//! let (now, mut there, mut back) = (SimTime::ZERO, Vec::new(), Vec::new());
//!
//! server.listen();
//! client.connect(now, &mut there); // an Initial of 1200 octets
//! let (initial, _) = there.remove(0);
//! server.on_packet(now, &initial, &[], &mut back);
//! let (answer, _) = back.remove(0);
//! client.on_packet(now, &answer, &[], &mut there);
//! assert!(client.is_open() && server.is_open());
//!
//! there.clear();
//! client.write(now, Bytes(1_000_000), &mut there);
//! assert_eq!(there.len(), 10); // the initial window of RFC 9002 section 7.2: ten datagrams
//! ```

pub mod acks;
mod config;
mod endpoint;
pub mod frames;
mod receive_stream;
pub mod rtt;
mod send_stream;
pub mod sender;
pub mod sent_log;

pub use config::{AckFrequency, QuicConfig};
pub use endpoint::{QuicEndpoint, QuicOutput};
