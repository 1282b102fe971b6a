//! Headers of the PROXY protocol, versions 1 and 2: the client's address, sent by the proxy that carried the connection here.
//!
//! Source: `doc/proxy-protocol.txt` of `HAProxy`, whose section numbers are named below.

use std::net::{IpAddr, SocketAddr};

use ppp::v2::{Builder, Command, Header, Protocol};
use ppp::{PartialResult, v1, v2};

/// A longer header is refused: addresses take 52 octets, and nobody fills half a kilobyte with the rest.
pub const LONGEST: usize = 536;

/// Octets of the longest header of version 1, its end included (section 2.1).
const LONGEST_LINE: usize = 107;

/// Beginning of a header of version 1.
const TEXT: &[u8] = b"PROXY ";

/// Result of reading the first octets of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// A header with its length in octets, and its connection; `None` for a connection of the carrier's own (`LOCAL`), or one that
    /// it does not know (`UNKNOWN`).
    Header(usize, Option<Carried>),
    /// The beginning of a header.
    Incomplete,
    /// The octets are not a header.
    Wrong,
}

/// A connection as its header names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Address of the client.
    pub client: SocketAddr,
    /// The address that the client connected to.
    pub destination: SocketAddr,
}

/// Version of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A line of text.
    One,
    /// Binary.
    Two,
}

/// Reads a header of either version at the beginning of `octets`.
pub fn read(octets: &[u8]) -> Read {
    let has_begun = octets.iter().zip(TEXT).all(|(octet, expected)| octet == expected);
    if has_begun && !octets.is_empty() { read_text(octets) } else { read_binary(octets) }
}

/// Reads a line. It is whole before any of it is looked at.
fn read_text(octets: &[u8]) -> Read {
    let line = &octets[..octets.len().min(LONGEST_LINE)];
    let Some(end) = line.windows(2).position(|two| two == b"\r\n") else {
        return if octets.len() < LONGEST_LINE { Read::Incomplete } else { Read::Wrong };
    };
    let length = end + 2;
    let Ok(header) = v1::Header::try_from(&octets[..length]) else { return Read::Wrong };
    let carried = match header.addresses {
        v1::Addresses::Unknown => None,
        v1::Addresses::Tcp4(it) => Some(Carried {
            client: (it.source_address, it.source_port).into(),
            destination: (it.destination_address, it.destination_port).into(),
        }),
        v1::Addresses::Tcp6(it) => Some(Carried {
            client: (it.source_address, it.source_port).into(),
            destination: (it.destination_address, it.destination_port).into(),
        }),
    };
    Read::Header(length, carried)
}

fn read_binary(octets: &[u8]) -> Read {
    let header = Header::try_from(octets);
    if header.is_incomplete() {
        return if octets.len() >= LONGEST { Read::Wrong } else { Read::Incomplete };
    }
    let Ok(header) = header else { return Read::Wrong };
    let carried = match (header.command, header.addresses) {
        (Command::Local, _) => None,
        (Command::Proxy, v2::Addresses::IPv4(it)) => Some(Carried {
            client: (it.source_address, it.source_port).into(),
            destination: (it.destination_address, it.destination_port).into(),
        }),
        (Command::Proxy, v2::Addresses::IPv6(it)) => Some(Carried {
            client: (it.source_address, it.source_port).into(),
            destination: (it.destination_address, it.destination_port).into(),
        }),
        (Command::Proxy, _) => return Read::Wrong,
    };
    Read::Header(header.len(), carried)
}

/// Header that names a connection. A header has one address family (sections 2.1 and 2.2), so an IPv4 address beside an IPv6 one
/// is written as IPv4-mapped (RFC 4291 section 2.5.5.2), as `HAProxy` does.
pub fn header(Carried { client, destination }: Carried, version: Version) -> Vec<u8> {
    let is_mixed = client.is_ipv4() != destination.is_ipv4();
    let [client, destination] = [client, destination].map(|address| if is_mixed { mapped(address) } else { address });
    match version {
        Version::One => v1::Addresses::from((client, destination)).to_string().into_bytes(),
        Version::Two => {
            let command = v2::Version::Two | Command::Proxy;
            let start = Builder::with_addresses(command, Protocol::Stream, (client, destination));
            start.build().expect("two addresses are shorter than the longest header")
        }
    }
}

fn mapped(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) => IpAddr::V6(ip.to_ipv6_mapped()),
        ip @ IpAddr::V6(_) => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the specification's layout (`doc/proxy-protocol.txt` of `HAProxy`, section 2.2), put together by hand: 12 octets of signature,
    /// version 2 with PROXY, TCP over IPv4, 12 octets that follow, 192.0.2.1 and 192.0.2.2, ports 1000 and 443.
    const BY_HAND: [u8; 28] = [
        0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a, 0x21, 0x11, 0, 12, 192, 0, 2, 1, 192,
        0, 2, 2, 0x03, 0xe8, 0x01, 0xbb,
    ];

    #[test]
    fn writes_and_reads_what_the_specification_says() {
        let (client, destination) = ("192.0.2.1:1000".parse().unwrap(), "192.0.2.2:443".parse().unwrap());
        let carried = Carried { client, destination };
        assert_eq!(header(carried, Version::Two), BY_HAND);
        assert_eq!(read(&BY_HAND), Read::Header(28, Some(carried)));
        let followed = [&BY_HAND[..], b"GET"].concat();
        assert_eq!(read(&followed), Read::Header(28, Some(carried)));
    }

    /// From section 2.2: 0x21 for TCP over IPv6, 36 octets of addresses and ports; of the families listed there none holds two.
    #[test]
    fn an_ipv4_client_of_an_ipv6_address_is_told_of_as_ipv4_mapped() {
        let ipv4: SocketAddr = "192.0.2.1:1000".parse().unwrap();
        let ipv6: SocketAddr = "[2001:db8::2]:443".parse().unwrap();
        let as_ipv6: SocketAddr = "[::ffff:192.0.2.1]:1000".parse().unwrap();
        let octets = header(Carried { client: ipv4, destination: ipv6 }, Version::Two);
        assert_eq!((octets[13], &octets[14..16], octets.len()), (0x21, &[0, 36][..], 52));
        assert_eq!(read(&octets), Read::Header(52, Some(Carried { client: as_ipv6, destination: ipv6 })));
        let octets = header(Carried { client: ipv6, destination: ipv4 }, Version::Two);
        assert_eq!(read(&octets), Read::Header(52, Some(Carried { client: ipv6, destination: as_ipv6 })));
    }

    #[test]
    fn a_part_is_waited_for_and_anything_else_refused() {
        for length in 0..28 {
            assert_eq!(read(&BY_HAND[..length]), Read::Incomplete, "{length}");
        }
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Read::Wrong);
    }

    /// Section 2.1: the examples of lines, the longest of them 107 octets; "a receiver may reject" what has no end by then.
    #[test]
    fn lines_are_read_and_written_as_the_specification_has_them() {
        let (client, destination) = ("192.168.0.1:56324".parse().unwrap(), "192.168.0.11:443".parse().unwrap());
        let ipv4 = Carried { client, destination };
        let last = SocketAddr::new([0xffff_u16; 8].into(), 65_535);
        let ipv6 = Carried { client: last, destination: last };
        let all = ["ffff"; 8].join(":");
        let longest = format!("PROXY UNKNOWN {all} {all} 65535 65535\r\n");
        assert_eq!(longest.len(), 107);
        for (line, carried) in [
            ("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n".to_owned(), Some(ipv4)),
            (format!("PROXY TCP6 {all} {all} 65535 65535\r\n"), Some(ipv6)),
            ("PROXY UNKNOWN\r\n".to_owned(), None),
            (longest, None),
        ] {
            let octets = line.as_bytes();
            assert_eq!(read(&[octets, b"GET / HTTP/1.1\r\n"].concat()), Read::Header(octets.len(), carried), "{line}");
            for length in 0..octets.len() {
                assert_eq!(read(&octets[..length]), Read::Incomplete, "{length} of {line}");
            }
            if let Some(carried) = carried {
                assert_eq!(header(carried, Version::One), octets, "{line}");
            }
        }
    }

    #[test]
    fn lines_that_are_wrong_are_refused() {
        for line in [
            "PROXY TCP4 192.168.0.1 192.168.0.11 56324\r\n",
            "PROXY TCP4 192.168.0.1 192.168.0.11 56324 65536\r\n",
            "PROXY TCP4 192.168.0.1 192.168.0.11 056324 443\r\n",
            "PROXY TCP4 ::1 ::1 56324 443\r\n",
            "PROXY TCP5 192.168.0.1 192.168.0.11 56324 443\r\n",
            "PROXY  TCP4 192.168.0.1 192.168.0.11 56324 443\r\n",
            "PROXY\r\n",
            "PROXYTCP4 192.168.0.1 192.168.0.11 56324 443\r\n",
            "proxy TCP4 192.168.0.1 192.168.0.11 56324 443\r\n",
        ] {
            assert_eq!(read(line.as_bytes()), Read::Wrong, "{line}");
        }
        let endless = [b"PROXY UNKNOWN ", &[b'x'; 93][..]].concat();
        assert_eq!((read(&endless[..106]), read(&endless)), (Read::Incomplete, Read::Wrong));
    }

    #[test]
    fn a_line_has_one_family() {
        let (client, destination) = ("192.0.2.1:1000".parse().unwrap(), "[2001:db8::2]:443".parse().unwrap());
        let line = header(Carried { client, destination }, Version::One);
        assert_eq!(line, b"PROXY TCP6 ::ffff:192.0.2.1 2001:db8::2 1000 443\r\n");
        let client = "[::ffff:192.0.2.1]:1000".parse().unwrap();
        assert_eq!(read(&line), Read::Header(line.len(), Some(Carried { client, destination })));
    }
}
