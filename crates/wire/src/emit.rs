//! A segment as the bytes of an IPv4 packet: RFC 791, RFC 9293 section 3.1, and the options in the order and with the
//! padding of Linux, so that captures look like those of a real host. And a UDP datagram: RFC 768.
//!
//! The payload is all zeros and is not written. It adds nothing to the checksum but its length in the pseudo header.
//!
//! Departures: TTL is always 64, Don't Fragment is always set, and there is no urgent data.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

use crate::option;
use crate::segment::{Ecn, IPV4_HEADER, Segment, TCP_HEADER};

/// The two ends of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Source of the packet.
    pub source: SocketAddrV4,
    /// Destination of the packet.
    pub destination: SocketAddrV4,
}

/// The segment is longer than the 16-bit length field of IPv4 can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Length of the IPv4 packet.
    pub ip_len: u64,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a packet of {} bytes does not fit the 16-bit length of IPv4; use an mss of at most {} bytes",
            self.ip_len,
            u32::from(u16::MAX) - IPV4_HEADER - TCP_HEADER - option::SPACE
        )
    }
}

impl std::error::Error for TooLong {}

const DONT_FRAGMENT: u16 = 0x4000;
const TTL: u8 = 64;
pub(crate) const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const UDP_HEADER: u32 = 8;

/// Appends the IPv4 and TCP headers of `segment` to `out`; nothing is appended on an error.
pub fn emit(segment: &Segment, addresses: Addresses, identification: u16, out: &mut Vec<u8>) -> Result<(), TooLong> {
    let tcp_header_len = TCP_HEADER + segment.options_len();
    let ip_len = u64::from(IPV4_HEADER + tcp_header_len) + u64::from(segment.payload);
    let total_len = u16::try_from(ip_len).map_err(|_| TooLong { ip_len })?;
    emit_ipv4((PROTOCOL_TCP, segment.ecn), addresses, identification, total_len, out);
    emit_tcp(segment, addresses, tcp_header_len as u16, total_len - IPV4_HEADER as u16, out);
    Ok(())
}

/// Appends the IPv4 and UDP headers of a datagram to `out`; nothing is appended on an error.
pub fn emit_datagram(
    (payload, ecn): (u32, Ecn),
    addresses: Addresses,
    identification: u16,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let ip_len = u64::from(IPV4_HEADER + UDP_HEADER) + u64::from(payload);
    let total_len = u16::try_from(ip_len).map_err(|_| TooLong { ip_len })?;
    emit_ipv4((PROTOCOL_UDP, ecn), addresses, identification, total_len, out);
    let start = out.len();
    let udp_len = total_len - IPV4_HEADER as u16;
    for field in [addresses.source.port(), addresses.destination.port(), udp_len, 0] {
        out.extend(field.to_be_bytes());
    }
    let ends = (*addresses.source.ip(), *addresses.destination.ip());
    let checksum = checksum(PROTOCOL_UDP, ends, udp_len, &out[start..]);
    // Zero would mean that there is none.
    let checksum = if checksum == 0 { u16::MAX } else { checksum };
    out[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

fn emit_ipv4((protocol, ecn): (u8, Ecn), addresses: Addresses, identification: u16, total_len: u16, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([0x45, ecn as u8]);
    out.extend(total_len.to_be_bytes());
    out.extend(identification.to_be_bytes());
    out.extend(DONT_FRAGMENT.to_be_bytes());
    out.extend([TTL, protocol, 0, 0]);
    out.extend(addresses.source.ip().octets());
    out.extend(addresses.destination.ip().octets());
    let checksum = finish(add_words(0, &out[start..]));
    out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
}

fn emit_tcp(segment: &Segment, addresses: Addresses, header_len: u16, tcp_len: u16, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(addresses.source.port().to_be_bytes());
    out.extend(addresses.destination.port().to_be_bytes());
    out.extend(segment.seq.0.to_be_bytes());
    out.extend(segment.ack.0.to_be_bytes());
    // The data offset counts words of four octets, in the upper half of its octet.
    let [reserved, flags] = segment.flags.0.to_be_bytes();
    out.extend([((header_len / 4) << 4) as u8 | (reserved & 1), flags]);
    out.extend(segment.window.to_be_bytes());
    //= rfc9293-3.8.5-urgent
    out.extend([0; 4]);
    option::emit_all(segment, out);
    debug_assert_eq!(out.len() - start, usize::from(header_len), "options_len disagrees with what was written");
    let ends = (*addresses.source.ip(), *addresses.destination.ip());
    let checksum = checksum(PROTOCOL_TCP, ends, tcp_len, &out[start..]);
    out[start + 16..start + 18].copy_from_slice(&checksum.to_be_bytes());
}

/// The checksum of TCP and UDP (RFC 9293 section 3.1, RFC 768): over the pseudo header and `header`, whose own checksum
/// field is zero, and over the zeros that make it `len` octets long.
fn checksum(protocol: u8, (source, destination): (Ipv4Addr, Ipv4Addr), len: u16, header: &[u8]) -> u16 {
    //= rfc9293-3.1-checksum-sent
    let pseudo_header = u32::from(protocol) + u32::from(len);
    let addresses = add_words(add_words(pseudo_header, &source.octets()), &destination.octets());
    finish(add_words(addresses, header))
}

/// Adds 16-bit words to a sum that has not been folded yet. Headers have an even length.
fn add_words(sum: u32, octets: &[u8]) -> u32 {
    octets.chunks_exact(2).fold(sum, |sum, word| sum + u32::from(u16::from_be_bytes([word[0], word[1]])))
}

/// Folds the carries in and complements: the Internet checksum (RFC 1071).
fn finish(sum: u32) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests;
