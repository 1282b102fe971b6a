//! Headers of the PROXY protocol, version 2: the client's address, sent by the proxy that carried the connection here.

use std::net::{IpAddr, SocketAddr};

use ppp::PartialResult;
use ppp::v2::{Addresses, Builder, Command, Header, Protocol, Version};

/// A longer header is refused: addresses take 52 octets, and nobody fills half a kilobyte with the rest.
pub const LONGEST: usize = 536;

/// Result of reading the first octets of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// A header with its length in octets, and its connection; `None` for a connection of the carrier's own (`LOCAL`).
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

/// Reads a header at the beginning of `octets`.
pub fn read(octets: &[u8]) -> Read {
    let header = Header::try_from(octets);
    if header.is_incomplete() {
        return if octets.len() >= LONGEST { Read::Wrong } else { Read::Incomplete };
    }
    let Ok(header) = header else { return Read::Wrong };
    let carried = match (header.command, header.addresses) {
        (Command::Local, _) => None,
        (Command::Proxy, Addresses::IPv4(it)) => Some(Carried {
            client: (it.source_address, it.source_port).into(),
            destination: (it.destination_address, it.destination_port).into(),
        }),
        (Command::Proxy, Addresses::IPv6(it)) => Some(Carried {
            client: (it.source_address, it.source_port).into(),
            destination: (it.destination_address, it.destination_port).into(),
        }),
        (Command::Proxy, _) => return Read::Wrong,
    };
    Read::Header(header.len(), carried)
}

/// Header that names a connection. A header has one address family (section 2.2), so an IPv4 address beside an IPv6 one
/// is written as IPv4-mapped (RFC 4291 section 2.5.5.2), as `HAProxy` does.
pub fn header(Carried { client, destination }: Carried) -> Vec<u8> {
    let is_mixed = client.is_ipv4() != destination.is_ipv4();
    let [client, destination] = [client, destination].map(|address| if is_mixed { mapped(address) } else { address });
    let start = Builder::with_addresses(Version::Two | Command::Proxy, Protocol::Stream, (client, destination));
    start.build().expect("two addresses are shorter than the longest header")
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
        assert_eq!(header(carried), BY_HAND);
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
        let octets = header(Carried { client: ipv4, destination: ipv6 });
        assert_eq!((octets[13], &octets[14..16], octets.len()), (0x21, &[0, 36][..], 52));
        assert_eq!(read(&octets), Read::Header(52, Some(Carried { client: as_ipv6, destination: ipv6 })));
        let octets = header(Carried { client: ipv6, destination: ipv4 });
        assert_eq!(read(&octets), Read::Header(52, Some(Carried { client: ipv6, destination: as_ipv6 })));
    }

    #[test]
    fn a_part_is_waited_for_and_anything_else_refused() {
        for length in 0..28 {
            assert_eq!(read(&BY_HAND[..length]), Read::Incomplete, "{length}");
        }
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Read::Wrong);
    }
}
