//! Servers that connections go to: by their weights, those that are drained and those that are back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use rustix::process::Signal;

use crate::program::{Proxy, answers, connect, free, teller, until};

/// A server that says who it is.
fn server(who: u8) -> SocketAddr {
    teller(SocketAddr::from(([127, 0, 0, 1], 0)), who)
}

/// The server to which a connection has come.
fn who(client: &mut TcpStream) -> char {
    let mut who = [0];
    client.read_exact(&mut who).unwrap();
    who[0].into()
}

fn asked(at: SocketAddr, what: &str) -> String {
    let mut socket = connect(at);
    write!(socket, "GET {what} HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_drained_server_keeps_its_connections_and_gets_no_more_until_it_is_back() {
    let (listen, at, first, second) = (free(), free(), server(b'a'), server(b'b'));
    let config = |drain: &str| {
        format!(
            "workers = 2\n[[listen]]\nname = \"one\"\naddress = \"{listen}\"\n\
             upstream = [{{ address = \"{first}\"{drain} }}, \"{second}\"]\n[metrics]\naddress = \"{at}\"\n"
        )
    };
    let proxy = Proxy::start(&config(""));
    let mut both = [connect(listen), connect(listen)];
    let mut seen = both.each_mut().map(who);
    seen.sort_unstable();
    assert_eq!(seen, ['a', 'b']);
    let is_drained = |value: u8| {
        let line = format!("ackclock_proxy_upstream_draining{{listener=\"one\",upstream=\"{first}\"}} {value}\n");
        asked(at, "/metrics").contains(&line)
    };
    assert!(is_drained(0));
    proxy.write(&config(", drain = true"));
    proxy.signal(Signal::HUP);
    until("it is known that it is drained", || is_drained(1));
    // Threads take over the new settings a moment later, each for itself.
    let mut in_a_row = 0;
    until("new connections go to the other", || {
        in_a_row = if who(&mut connect(listen)) == 'b' { in_a_row + 1 } else { 0 };
        in_a_row >= 10
    });
    assert!(both.iter_mut().all(answers), "connections that were there go on");
    proxy.write(&config(""));
    proxy.signal(Signal::HUP);
    until("it is back", || is_drained(0) && who(&mut connect(listen)) == 'a');
}

#[test]
fn connections_are_shared_by_weight() {
    let (listen, first, second) = (free(), server(b'a'), server(b'b'));
    let config = format!(
        "workers = 2\n[[listen]]\naddress = \"{listen}\"\nupstream = [{{ address = \"{first}\", weight = 3 }}, \"{second}\"]\n"
    );
    let _proxy = Proxy::start(&config);
    let of_first = (0..40).filter(|_| who(&mut connect(listen)) == 'a').count();
    assert_eq!(of_first, 30, "three of four");
}
