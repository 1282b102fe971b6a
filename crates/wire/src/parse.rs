//! The bytes of an IPv4 packet as a segment: RFC 791, RFC 9293 section 3.1. Any input gives a segment or an error.
//!
//! The length of the payload comes from the IPv4 header, so that captures which kept the headers only can be read.
//!
//! Departures: checksums are not verified, since a snapped packet has no payload to sum and a host that leaves the sum to
//! its network card captures unfinished ones. The urgent pointer and the reserved bits are ignored.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

use crate::emit::{Addresses, PROTOCOL_TCP};
use crate::option;
use crate::segment::{Ecn, Flags, Segment};
use crate::seq::Seq;

/// Reason for which some bytes are not a TCP segment in an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The bytes end before the headers do.
    Truncated {
        /// Octets that the headers take.
        needed: usize,
        /// Octets that are there.
        available: usize,
    },
    /// The version field is not 4.
    NotIpv4 {
        /// Value of the version field.
        version: u8,
    },
    /// The protocol field is not 6.
    NotTcp {
        /// Value of the protocol field.
        protocol: u8,
    },
    /// A fragment of a packet, which does not say how long the segment is.
    Fragment,
    /// A header length below its minimum of five words.
    HeaderLength {
        /// Name of the header: "IPv4" or "TCP".
        header: &'static str,
        /// Value of the field, in words of four octets.
        words: u8,
    },
    /// The packet's total length is less than its headers take.
    TotalLength {
        /// Value of the field.
        total_len: u16,
        /// Octets that the headers take.
        headers: usize,
    },
    /// The last octet of the options is the kind of an option that should go on.
    OptionWithoutLength {
        /// The kind of the option.
        kind: u8,
    },
    /// An option whose length is illegal (RFC 9293 section 3.1, MUST-7), or not that of its kind.
    OptionLength {
        /// The kind of the option.
        kind: u8,
        /// Value of its length field.
        len: u8,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { needed, available } => {
                write!(
                    f,
                    "the headers take {needed} bytes, but there are only {available}; capture more of each packet"
                )
            }
            Self::NotIpv4 { version } => write!(f, "the IP version must be 4, not {version}"),
            Self::NotTcp { protocol } => write!(f, "the IP protocol must be 6 (TCP), not {protocol}"),
            Self::Fragment => write!(f, "a fragment of a packet; reassemble it first"),
            Self::HeaderLength { header, words } => write!(f, "{header} header of {words} words, fewer than 5"),
            Self::TotalLength { total_len, headers } => {
                write!(f, "IPv4 total length of {total_len} bytes, less than the {headers} bytes of headers")
            }
            Self::OptionWithoutLength { kind } => write!(f, "TCP option {kind} ends before its length"),
            Self::OptionLength { kind, len } => write!(f, "TCP option {kind} with an illegal length of {len}"),
        }
    }
}

impl std::error::Error for ParseError {}

/// Reads the headers of an IPv4 packet that carries TCP.
pub fn parse(packet: &[u8]) -> Result<(Addresses, Segment), ParseError> {
    let (ip, ip_header_len) = parse_ipv4(packet)?;
    let tcp = fixed::<20>(packet, ip_header_len)?;
    let header_len = header_len("TCP", tcp[12] >> 4)?;
    let headers = ip_header_len + header_len;
    let total_len = u16_at(ip, 2);
    let payload = usize::from(total_len).checked_sub(headers).ok_or(ParseError::TotalLength { total_len, headers })?;
    let options = packet
        .get(ip_header_len + tcp.len()..headers)
        .ok_or(ParseError::Truncated { needed: headers, available: packet.len() })?;
    let mut segment = Segment {
        seq: Seq(u32_at(tcp, 4)),
        ack: Seq(u32_at(tcp, 8)),
        payload: payload as u32,
        window: u16_at(tcp, 14),
        flags: Flags(u16::from_be_bytes([tcp[12] & 1, tcp[13]])),
        ecn: Ecn::of_bits(ip[1]),
        ..Segment::default()
    };
    option::parse_all(options, &mut segment)?;
    let end = |address, port| SocketAddrV4::new(Ipv4Addr::from_bits(u32_at(ip, address)), u16_at(tcp, port));
    Ok((Addresses { source: end(12, 0), destination: end(16, 2) }, segment))
}

/// The fixed part of the IPv4 header, and the length of the whole.
fn parse_ipv4(packet: &[u8]) -> Result<(&[u8; 20], usize), ParseError> {
    let ip = fixed::<20>(packet, 0)?;
    let version = ip[0] >> 4;
    if version != 4 {
        return Err(ParseError::NotIpv4 { version });
    }
    let header_len = header_len("IPv4", ip[0] & 0x0f)?;
    // More Fragments, or an offset.
    if u16_at(ip, 6) & 0x3fff != 0 {
        return Err(ParseError::Fragment);
    }
    if ip[9] != PROTOCOL_TCP {
        return Err(ParseError::NotTcp { protocol: ip[9] });
    }
    Ok((ip, header_len))
}

fn header_len(header: &'static str, words: u8) -> Result<usize, ParseError> {
    if words < 5 { Err(ParseError::HeaderLength { header, words }) } else { Ok(4 * usize::from(words)) }
}

fn fixed<const N: usize>(packet: &[u8], start: usize) -> Result<&[u8; N], ParseError> {
    let truncated = ParseError::Truncated { needed: start + N, available: packet.len() };
    packet.get(start..).and_then(|rest| rest.first_chunk()).ok_or(truncated)
}

fn u16_at(header: &[u8; 20], offset: usize) -> u16 {
    u16::from_be_bytes([header[offset], header[offset + 1]])
}

fn u32_at(header: &[u8; 20], offset: usize) -> u32 {
    u32::from(u16_at(header, offset)) << 16 | u32::from(u16_at(header, offset + 2))
}

#[cfg(test)]
mod tests;
