//! Headers of the PROXY protocol, version 2: who the client is, told by whoever carried the connection here.

use std::net::SocketAddr;

use ppp::PartialResult;
use ppp::v2::{Addresses, Builder, Command, Header, Protocol, Version};

/// A longer header is refused: addresses take 52 octets, and nobody fills half a kilobyte with the rest.
pub const LONGEST: usize = 536;

/// What the first octets of a connection come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// A header of so many octets, of a client; none if the connection is the carrier's own (`LOCAL`).
    Header(usize, Option<SocketAddr>),
    /// The beginning of a header.
    Incomplete,
    /// No header.
    Wrong,
}

/// Reads a header at the beginning of `octets`.
pub fn read(octets: &[u8]) -> Read {
    let header = Header::try_from(octets);
    if header.is_incomplete() {
        return if octets.len() >= LONGEST { Read::Wrong } else { Read::Incomplete };
    }
    let Ok(header) = header else { return Read::Wrong };
    let client = match (header.command, header.addresses) {
        (Command::Local, _) => None,
        (Command::Proxy, Addresses::IPv4(it)) => Some(SocketAddr::from((it.source_address, it.source_port))),
        (Command::Proxy, Addresses::IPv6(it)) => Some(SocketAddr::from((it.source_address, it.source_port))),
        (Command::Proxy, _) => return Read::Wrong,
    };
    Read::Header(header.len(), client)
}

/// The header that tells of a client and of where it connected to.
pub fn header(client: SocketAddr, local: SocketAddr) -> Vec<u8> {
    let start = Builder::with_addresses(Version::Two | Command::Proxy, Protocol::Stream, (client, local));
    start.build().unwrap_or_default()
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
        let (client, server) = ("192.0.2.1:1000".parse().unwrap(), "192.0.2.2:443".parse().unwrap());
        assert_eq!(header(client, server), BY_HAND);
        assert_eq!(read(&BY_HAND), Read::Header(28, Some(client)));
        let followed = [&BY_HAND[..], b"GET"].concat();
        assert_eq!(read(&followed), Read::Header(28, Some(client)));
    }

    #[test]
    fn a_part_is_waited_for_and_anything_else_refused() {
        for length in 0..28 {
            assert_eq!(read(&BY_HAND[..length]), Read::Incomplete, "{length}");
        }
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Read::Wrong);
    }
}
