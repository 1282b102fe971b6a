//! Servers that connections go to: those that are drained and those that are back, and those that a server name of TLS selects.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::program::{PATIENCE, Proxy, answers, connect, free, teller, until};

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

/// Two servers in turn, and every second client refused: the others come to both.
#[test]
fn a_client_that_is_refused_takes_no_turn() {
    let (listen, first, second) = (free(), server(b'a'), server(b'b'));
    let config = format!(
        "workers = 1\n[[listen]]\naddress = \"{listen}\"\nupstream = [\"{first}\", \"{second}\"]\n\
         [[rule]]\nfrom = [\"127.0.0.2/32\"]\nrefuse = true\n"
    );
    let _proxy = Proxy::start(&config);
    let refused = || {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into()).unwrap();
        socket.connect(&listen.into()).unwrap();
        let mut socket = TcpStream::from(socket);
        assert_eq!(socket.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    };
    let turns: String = (0..10)
        .map(|_| {
            refused();
            who(&mut connect(listen))
        })
        .collect();
    assert_eq!(turns.matches('a').count(), 5, "{turns}");
}

/// RFC 8448 section 3: the record with a `ClientHello`, whose name has six letters. Another name takes their place.
fn hello(name: &str) -> Vec<u8> {
    const RECORD: &str = "160301 00c4 010000c0 0303cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece7 00 0006130113031302 \
        0100 0091 0000000b00090000 06736572766572 ff01000100 000a00140012001d00170018001901000101010201030104 00230000 \
        003300260024001d002099381de560e4bd43d23d8e435a7dbafeb3c06e51c13cae4d5413691e529aaf2c 002b0003020304 \
        000d0020001e040305030603020308040805080604010501060102010402050206020202 002d00020101 001c00024001";
    let digits: String = RECORD.split_whitespace().collect();
    let octets = (0..digits.len()).step_by(2).map(|place| u8::from_str_radix(&digits[place..place + 2], 16).unwrap());
    let mut record: Vec<u8> = octets.collect();
    let place = record.windows(6).position(|six| six == b"server").unwrap();
    record[place..place + 6].copy_from_slice(name.as_bytes());
    record
}

/// A proxy for three sites: a.test, b.test, and what is left; and for a server that speaks first.
fn sites(hello: &str) -> (Proxy, [SocketAddr; 3]) {
    let [web, mail, at] = [free(), free(), free()];
    let mut config = format!(
        "[timeouts]\nhello = \"{hello}\"\n[metrics]\naddress = \"{at}\"\n[[rule]]\nsni = [\"no.org\"]\nlisteners = [\"web\"]\n\
         refuse = true\n"
    );
    for (name, who) in [("a.test", b'a'), ("*.test", b'b')] {
        let server = server(who);
        write!(config, "[[rule]]\nlisteners = [\"web\"]\nsni = [\"{name}\"]\nupstream = [\"{server}\"]\n").unwrap();
    }
    for (name, address) in [("web", web), ("mail", mail)] {
        let server = server(b'd');
        write!(config, "[[listen]]\nname = \"{name}\"\naddress = \"{address}\"\nupstream = [\"{server}\"]\n").unwrap();
    }
    (Proxy::start(&config), [web, mail, at])
}

/// Sends these octets, and sees to whom they come and that all of them do.
fn sent(to: SocketAddr, octets: &[u8], size: usize) -> char {
    let mut client = connect(to);
    client.set_nodelay(true).unwrap();
    for part in octets.chunks(size) {
        client.write_all(part).unwrap();
        if size < octets.len() {
            thread::sleep(Duration::from_millis(2));
        }
    }
    let server = who(&mut client);
    let mut echoed = vec![0; octets.len()];
    client.read_exact(&mut echoed).unwrap();
    assert_eq!(echoed, octets);
    server
}

/// The wait for a `ClientHello` is longer than anything here: nothing of this may wait to its end.
#[test]
fn connections_go_where_the_server_name_says_and_whatever_has_none_goes_on_at_once() {
    let (_proxy, [web, mail, at]) = sites("1000 s");
    assert_eq!(sent(web, &hello("a.test"), usize::MAX), 'a');
    assert_eq!(sent(web, &[&hello("B.Test")[..], &vec![23; 100_000]].concat(), usize::MAX), 'b');
    assert_eq!(sent(web, &hello("b.test"), 1), 'b', "octet by octet");
    assert_eq!(sent(web, &hello("server"), 100), 'd', "another name");
    assert_eq!(sent(web, b"GET / HTTP/1.1\r\n\r\n", usize::MAX), 'd', "no TLS");
    let mut malformed = hello("a.test");
    malformed[43] = 33; // a longer session identifier than the 32 octets of RFC 8446 section 4.1.2
    assert_eq!(sent(web, &malformed, usize::MAX), 'd');
    let mut nameless = hello("a.test");
    nameless[57] = 99; // another extension in place of server_name
    assert_eq!(sent(web, &nameless, usize::MAX), 'd');
    assert_eq!(who(&mut connect(mail)), 'd', "a server that speaks first, where no rule asks for a name");
    let mut refused = connect(web);
    refused.write_all(&hello("no.org")).unwrap();
    assert_eq!(refused.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let mut open = connect(web);
    open.write_all(&hello("a.test")).unwrap();
    assert_eq!(who(&mut open), 'a');
    assert!(asked(at, "/connections").contains("\"sni\":\"a.test\""));
    // A part of a hello, and nothing more to come: there is nothing to wait for, and the server gets both.
    let mut ended = connect(web);
    ended.write_all(&hello("a.test")[..100]).unwrap();
    ended.shutdown(Shutdown::Write).unwrap();
    let mut all = Vec::new();
    ended.read_to_end(&mut all).unwrap();
    assert_eq!(all, [b"d", &hello("a.test")[..100]].concat());
    // tcp(7): reading stops at an urgent octet. What comes after it is no part of what is looked at.
    let mut urgent = connect(web);
    urgent.write_all(&hello("a.test")[..100]).unwrap();
    socket2::SockRef::from(&urgent).send_out_of_band(&hello("a.test")[100..=100]).unwrap();
    urgent.write_all(&hello("a.test")[101..]).unwrap();
    assert_eq!(who(&mut urgent), 'd');
    drop(urgent);
    // Who resets while it is waited for costs nothing and is gone.
    let gone = connect(web);
    socket2::SockRef::from(&gone).set_linger(Some(Duration::ZERO)).unwrap();
    drop(gone);
    drop(open);
    until("none is left", || asked(at, "/metrics").contains("ackclock_proxy_active_connections{listener=\"web\"} 0\n"));
}

#[test]
fn who_says_nothing_goes_on_without_a_name_after_a_while() {
    let (_proxy, [web, ..]) = sites("200 ms");
    assert_eq!(who(&mut connect(web)), 'd');
    let mut client = connect(web);
    client.write_all(&hello("a.test")[..150]).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(who(&mut client), 'd');
}

/// Section 2.2 of proxy-protocol.txt: what follows a header is the connection's own. Both may come in one segment.
#[test]
fn a_name_is_found_behind_a_header_of_the_proxy_protocol() {
    let (listen, named, other) = (free(), server(b'a'), server(b'd'));
    let config = format!(
        "[timeouts]\nhello = \"1000 s\"\n[[listen]]\naddress = \"{listen}\"\nupstream = [\"{other}\"]\n\
         accept_proxy_protocol = [\"127.0.0.0/8\"]\n\
         [[rule]]\nfrom = [\"192.0.2.0/24\"]\nsni = [\"a.test\"]\nupstream = [\"{named}\"]\n"
    );
    let _proxy = Proxy::start(&config);
    for (address, expected) in [([192, 0, 2, 7], b'a'), ([198, 51, 100, 7], b'd')] {
        let mut client = connect(listen);
        let start = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c";
        let rest = b"\xc0\0\x02\xfe\x03\xe8\x01\xbb";
        client.write_all(&[start, &address[..], rest, &hello("a.test")].concat()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        client.read_to_end(&mut all).unwrap();
        assert_eq!(all, [&[expected], &hello("a.test")[..]].concat());
    }
}

#[test]
fn who_has_no_rule_is_reset_where_rules_have_all_servers() {
    let (listen, named) = (free(), server(b'a'));
    let config = format!(
        "[timeouts]\nhello = \"1000 s\"\n[[listen]]\naddress = \"{listen}\"\n\
         [[rule]]\nsni = [\"a.test\"]\nupstream = [\"{named}\"]\n"
    );
    let _proxy = Proxy::start(&config);
    assert_eq!(sent(listen, &hello("a.test"), usize::MAX), 'a');
    let mut other = connect(listen);
    other.write_all(&hello("b.test")).unwrap();
    assert_eq!(other.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}
