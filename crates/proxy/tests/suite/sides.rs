//! Each side has its own settings on its sockets: as `ss` of iproute2 shows them, and as they act.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use crate::program::{PATIENCE, Proxy, answers, connect, echo, free, run};

/// Output of `ss` for the socket from one address to the other, which is the proxy's.
fn shown(local: SocketAddr, remote: SocketAddr) -> String {
    let filter = format!("src {local} dst {remote}");
    let (code, text) = run("sh", &["-c", &format!("ss -Htinoem --tos '{filter}'")]);
    assert_eq!(code, Some(0), "{text}");
    text
}

#[test]
fn every_setting_is_on_the_socket_of_its_side() {
    if run("sh", &["-c", "command -v ss"]).0 != Some(0) {
        return eprintln!("skipped: it needs ss of iproute2");
    }
    let listen = free();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = server.local_addr().unwrap();
    let config = format!(
        "workers = 1\n[[listen]]\naddress = \"{listen}\"\nupstream = [\"{upstream}\"]\n\
         near = {{ congestion = \"reno\", send_buffer = \"100 kB\", keep_alive = \"70 s\", dscp = 10, mss = 1000 }}\n\
         far = {{ congestion = \"cubic\", receive_buffer = \"200 kB\", pacing_rate = \"40 Mbit/s\", dscp = 46, mss = 700, \
         keep_alive = \"300 s\" }}\n"
    );
    let _proxy = Proxy::start(&config);
    let mut client = connect(listen);
    let (mut accepted, from) = server.accept().unwrap();
    client.write_all(b"a word").unwrap();
    accepted.read_exact(&mut [0; 6]).unwrap();
    let near = shown(listen, client.local_addr().unwrap());
    let far = shown(from, upstream);
    // Code points stand two bits higher in the octet (RFC 2474): 10 is 0x28, 46 is 0xb8. The kernel rounds buffers and lets
    // no segment be larger than asked for; a timestamp takes 12 octets of each.
    for wanted in [" reno ", "tos:0x28", "tb100000", "timer:(keepalive,1min", "mss:988"] {
        assert!(near.contains(wanted), "{wanted} of\n{near}");
    }
    for wanted in [" cubic ", "tos:0xb8", "rb200000", "/40000000bps", "timer:(keepalive,4min", "mss:688"] {
        assert!(far.contains(wanted), "{wanted} of\n{far}");
    }
}

/// A rule's settings are put on the client's socket, whose family is the listener's, whoever a header of the PROXY protocol names:
/// by hand of proxy-protocol.txt section 2.2, TCP over IPv6, from `[2001:db8::1]:1000` to `[2001:db8::2]:443`.
#[test]
fn a_client_of_another_family_gets_its_code_point() {
    if run("sh", &["-c", "command -v ss"]).0 != Some(0) {
        return eprintln!("skipped: it needs ss of iproute2");
    }
    let (listen, server) = (free(), echo());
    let config = format!(
        "[[listen]]\naddress = \"{listen}\"\nupstream = [\"{server}\"]\naccept_proxy_protocol = [\"127.0.0.0/8\"]\n\
         [[rule]]\nfrom = [\"2001:db8::/32\"]\nnear = {{ dscp = 10 }}\n"
    );
    let _proxy = Proxy::start(&config);
    let mut client = connect(listen);
    let address = |last: u8| [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let start = b"\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24";
    let header = [&start[..], &address(1), &address(2), &1000_u16.to_be_bytes(), &443_u16.to_be_bytes()].concat();
    client.write_all(&header).unwrap();
    assert!(answers(&mut client));
    let near = shown(listen, client.local_addr().unwrap());
    assert!(near.contains("tos:0x28"), "{near}");
}

/// A server that reads nothing: what may be unsent in the far socket bounds what is taken from the client.
#[test]
fn notsent_lowat_and_buffers_bound_what_a_slow_reader_lets_in() {
    let taken = |more: &str| {
        let listen = free();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = format!(
            "workers = 1\n[[listen]]\naddress = \"{listen}\"\nupstream = [\"{}\"]\n\
             near = {{ receive_buffer = \"16 kB\" }}\nfar = {{ send_buffer = \"4 MiB\"{more} }}\n",
            server.local_addr().unwrap()
        );
        let _proxy = Proxy::start(&config);
        // Buffers of the ends themselves, which would take as much again.
        SockRef::from(&server).set_recv_buffer_size(16 << 10).unwrap();
        let mut client = connect(listen);
        SockRef::from(&client).set_send_buffer_size(32 << 10).unwrap();
        client.set_nonblocking(true).unwrap();
        let (mut sent, mut refused) = (0, 0);
        // Full is what takes nothing for a second.
        while refused < 200 {
            match client.write(&[1; 8192]) {
                Ok(octets) => (sent, refused) = (sent + octets, 0),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    refused += 1;
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) => panic!("{error}"),
            }
        }
        sent
    };
    let (without, with) = (taken(""), taken(", notsent_lowat = \"16 kB\""));
    assert!(with + 500_000 < without, "{with} octets with it, {without} without");
}

#[test]
fn a_client_is_matched_by_its_round_trip() {
    let (listen, server) = (free(), echo());
    // On the loopback a handshake takes far less than 100 ms, and never nothing.
    for (rule, is_refused) in [("near_rtt_from = \"100 ms\"", false), ("near_rtt_below = \"100 ms\"", true)] {
        let config = format!(
            "workers = 1\n[[listen]]\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n[[rule]]\n{rule}\nrefuse = true\n"
        );
        let _proxy = Proxy::start(&config);
        let mut client = connect(listen);
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(answers(&mut client), !is_refused, "{rule}");
    }
}
