//! Resources that connections share, and must not take from each other: health checks, memory, counts, settings.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use socket2::{Domain, SockRef, Socket, Type};

use crate::program::{Proxy, answers, connect, echo, free, knock, until};

/// A server that answers no connection: its queue is full. It lives as long as what is returned with its address.
pub(crate) fn stuck() -> (SocketAddr, Vec<Socket>) {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let knock = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        let _ = socket.connect(&address.into());
        socket
    };
    let mut held: Vec<Socket> = (0..4).map(|_| knock()).collect();
    held.push(listener);
    (address, held)
}

fn asked(at: SocketAddr, what: &str) -> String {
    let mut socket = connect(at);
    write!(socket, "GET {what} HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

/// Eight checks of two seconds each, one after the other, would be longer than this waits.
#[test]
fn servers_that_do_not_answer_delay_no_check_of_others() {
    let (listen, other, sound, absent) = (free(), free(), echo(), free());
    let servers: Vec<_> = (0..8).map(|_| stuck()).collect();
    let names: Vec<String> = servers.iter().map(|(address, _)| format!("\"{address}\"")).collect();
    let config = format!(
        "[[listen]]\naddress = \"{other}\"\nupstream = [{}]\nhealth_interval = \"50 ms\"\n\
         [[listen]]\naddress = \"{listen}\"\nupstream = [\"{sound}\", \"{absent}\"]\nhealth_interval = \"50 ms\"\n",
        names.join(", ")
    );
    let proxy = Proxy::start(&config);
    until("it is known that a server is absent", || {
        proxy.log().contains(&format!("the server {absent} cannot be reached"))
    });
}

/// Silent clients leave others their turn, with the configuration below: a thread may hold 1 MiB, and has no pipes.
#[test]
fn those_who_take_nothing_leave_the_others_their_turn() {
    let (listen, other, server) = (free(), free(), echo());
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_at = silent.local_addr().unwrap();
    std::thread::spawn(move || {
        let taken: Vec<TcpStream> = silent.incoming().flatten().take(64).collect();
        std::thread::park();
        drop(taken);
    });
    let config = format!(
        "workers = 1\n[limits]\nmemory = \"1 MiB\"\npipes = 0\n\
         [[listen]]\naddress = \"{other}\"\nupstream = [\"{}\"]\nfar = {{ send_buffer = \"4 KiB\" }}\n\
         [[listen]]\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n[metrics]\naddress = \"{}\"\n",
        silent_at,
        free(),
    );
    let at: SocketAddr = config.rsplit('"').nth(1).unwrap().parse().unwrap();
    let _proxy = Proxy::start(&config);
    let mut stalled: Vec<TcpStream> = (0..64).map(|_| connect(other)).collect();
    let held = || {
        let text = asked(at, "/metrics");
        let line = text.lines().find(|line| line.starts_with("ackclock_proxy_held_bytes ")).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    until("all memory is in use", || {
        for socket in &mut stalled {
            socket.set_nonblocking(true).unwrap();
            let _ = socket.write(&vec![7; 65_536]);
        }
        held() >= 1 << 20
    });
    let mut flow = connect(listen);
    assert!((0..100).all(|_| answers(&mut flow)));
}

/// Clients of a server that does not answer wait with four octets each: 1,100 of them, with 4,400.
#[test]
fn what_waits_is_counted_of_every_connection() {
    let limit = getrlimit(Resource::Nofile);
    let many = limit.maximum.map_or(8192, |most| most.min(8192));
    setrlimit(Resource::Nofile, Rlimit { current: Some(many), maximum: limit.maximum }).unwrap();
    let (listen, at, (server, _held)) = (free(), free(), stuck());
    let config = format!(
        "workers = 1\n[[listen]]\nname = \"one\"\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n\
         [timeouts]\nconnect = \"60 s\"\n[metrics]\naddress = \"{at}\"\n"
    );
    let _proxy = Proxy::start(&config);
    let mut clients: Vec<TcpStream> = (0..1100).map(|_| connect(listen)).collect();
    for client in &mut clients {
        client.write_all(b"ping").unwrap();
    }
    until("all are counted", || asked(at, "/metrics").contains("{listener=\"one\",side=\"near\"} 4400\n"));
}

/// `TCP_MAXSEG` of a client is what the listener's SYN-ACK said, less the timestamps' 12 octets (RFC 7323).
#[test]
fn a_reload_takes_back_what_was_set() {
    let (listen, server) = (free(), echo());
    let config =
        |near: &str| format!("[[listen]]\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n{near}backlog = 10\n");
    let proxy = Proxy::start(&config("near = { mss = 500 }\n"));
    let segment = || knock(listen).and_then(|socket| SockRef::from(&socket).tcp_mss()).ok();
    assert!([Some(500), Some(488)].contains(&segment()), "{:?}", segment());
    let mut flow = connect(listen);
    assert!(answers(&mut flow));
    proxy.write(&config(""));
    proxy.signal(Signal::HUP);
    // The old sockets are closed a little later, and who is just knocking there is reset (ip-sysctl.rst, tcp_migrate_req).
    until("new connections come to the new sockets", || {
        (0..20).all(|_| {
            segment().is_some_and(|octets| octets > 1000) && knock(listen).is_ok_and(|mut socket| answers(&mut socket))
        })
    });
    assert!(answers(&mut flow));
}

/// The header by hand, of proxy-protocol.txt section 2.2: TCP over IPv4, from 192.0.2.1:1000 to 192.0.2.2:443.
#[test]
fn a_client_of_another_address_family_is_told_of_as_it_was() {
    const HEADER: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x03\xe8\x01\xbb";
    let listen = SocketAddr::new("::1".parse().unwrap(), free().port());
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "[[listen]]\naddress = \"{listen}\"\nupstream = [\"{}\"]\naccept_proxy_protocol = [\"::1\"]\n\
         send_proxy_protocol = true\n\
         [timeouts]\nheader = \"60 s\"\n",
        server.local_addr().unwrap()
    );
    let _proxy = Proxy::start(&config);
    let mut client = connect(listen);
    client.write_all(&[HEADER, b"hello"].concat()).unwrap();
    let mut got = [0; HEADER.len() + 5];
    server.accept().unwrap().0.read_exact(&mut got).unwrap();
    assert_eq!(got, [HEADER, b"hello"].concat()[..]);

    // A part of a header, and nothing more to come: there is nothing to wait for, in place of a minute.
    let mut client = connect(listen);
    client.write_all(&HEADER[..10]).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(!client.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
}
