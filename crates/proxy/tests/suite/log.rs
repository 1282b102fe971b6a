//! The log: a line for each connection, and what a reload changes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::thread;

use rustix::process::Signal;
use serde_json::Value as Json;
use socket2::SockRef;

use crate::program::{Proxy, answers, connect, echo, free, until};
use crate::shared::stuck;

const LOGGED: &str = "[log]\nformat = \"json\"\nconnections = true\n";

fn listener(name: &str, listen: SocketAddr, server: SocketAddr, more: &str) -> String {
    format!("[[listen]]\nname = \"{name}\"\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n{more}\n")
}

/// The lines of connections, once there are as many.
fn lines(proxy: &Proxy, count: usize) -> Vec<Json> {
    let read = || -> Vec<Json> {
        let log = proxy.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.filter(|line: &Json| line["message"] == "connection").collect()
    };
    until(&format!("{count} connections are in the log"), || read().len() >= count);
    read()
}

fn ends(proxy: &Proxy, count: usize) -> Vec<String> {
    lines(proxy, count).iter().map(|line| line["end"].as_str().unwrap().to_owned()).collect()
}

/// A server that does this with each of its connections.
fn server(act: fn(std::net::TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().flatten().for_each(act));
    at
}

/// Ends without waiting for what may be under way.
fn reset(socket: std::net::TcpStream) {
    SockRef::from(&socket).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    drop(socket);
}

/// Reads to the end, however that comes.
fn rest(mut socket: std::net::TcpStream) {
    let _ = socket.read_to_end(&mut Vec::new());
}

#[test]
fn a_connection_has_one_line_with_its_ends_octets_and_controllers() {
    let (listen, upstream) = (free(), echo());
    let sides = "near = { congestion = \"reno\" }\nfar = { congestion = \"cubic\" }";
    let proxy = Proxy::start(&(listener("one", listen, upstream, sides) + LOGGED));
    let mut client = connect(listen);
    let address = client.local_addr().unwrap().to_string();
    client.write_all(b"seven..").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    rest(client);
    let lines = lines(&proxy, 1);
    let line = &lines[0];
    assert_eq!(lines.len(), 1);
    for (field, expected) in [
        ("listener", "one"),
        ("client", &address),
        ("server", &upstream.to_string()),
        ("near_congestion", "reno"),
        ("far_congestion", "cubic"),
        ("end", "closed by client"),
        ("level", "INFO"),
    ] {
        assert_eq!(line[field], expected, "{field} of {line}");
    }
    assert_eq!((line["up_bytes"].as_u64(), line["down_bytes"].as_u64()), (Some(7), Some(7)));
    let (connect, duration) = (line["connect_s"].as_f64().unwrap(), line["duration_s"].as_f64().unwrap());
    assert!(0.0 < connect && connect <= duration && duration < 60.0, "{line}");
}

#[test]
fn the_end_says_who_ended_it_and_how() {
    let [closed, gone, refused, ruled, strange, alone, headed] = [(); 7].map(|()| free());
    let to_close = server(|socket| {
        let _ = socket.shutdown(Shutdown::Write);
        rest(socket);
    });
    let to_reset = server(|mut socket| {
        let _ = socket.read(&mut [0]);
        reset(socket);
    });
    let ruled_to = echo();
    let config = [
        listener("closed", closed, to_close, ""),
        listener("gone", gone, to_reset, ""),
        listener("refused", refused, free(), ""),
        listener("ruled", ruled, ruled_to, ""),
        listener("strange", strange, echo(), "clients = [\"192.0.2.0/24\"]"),
        listener("alone", alone, echo(), ""),
        listener("headed", headed, echo(), "accept_proxy_protocol = [\"127.0.0.0/8\"]"),
        format!("[[rule]]\nports = [\"{}\"]\nrefuse = true\n", ruled_to.port()),
        LOGGED.to_owned(),
    ];
    let proxy = Proxy::start(&config.concat());
    let mut expected = Vec::new();
    let mut then = |end: &'static str| {
        expected.push(end);
        assert_eq!(ends(&proxy, expected.len()), expected);
    };
    rest(connect(closed));
    then("closed by server");
    let mut client = connect(gone);
    client.write_all(b"?").unwrap();
    rest(client);
    then("reset by server");
    let mut client = connect(alone);
    assert!(answers(&mut client));
    reset(client);
    then("reset by client");
    rest(connect(refused));
    then("connect refused");
    rest(connect(ruled));
    then("refused by rule");
    rest(connect(strange));
    then("refused client");
    let mut client = connect(headed);
    client.write_all(b"no header at all").unwrap();
    rest(client);
    then("refused without PROXY header");
    // A connection of which nothing came about has neither a server's controller nor a time to connect.
    let line = &lines(&proxy, 4)[3];
    assert!(line["server"].is_string() && line["far_congestion"].is_null() && line["connect_s"].is_null(), "{line}");
}

#[test]
fn a_connection_that_is_given_up_says_for_which_time() {
    let times = "[timeouts]\nconnect = \"50 ms\"\nidle = \"50 ms\"\nhalf_closed = \"50 ms\"\nheader = \"50 ms\"\n";
    let [idle, half, headed, unanswered] = [(); 4].map(|()| free());
    let (silent, _held) = stuck();
    let config = [
        listener("idle", idle, echo(), ""),
        listener("half", half, server(std::mem::forget), ""),
        listener("headed", headed, echo(), "accept_proxy_protocol = [\"127.0.0.0/8\"]"),
        listener("unanswered", unanswered, silent, ""),
        times.to_owned(),
        LOGGED.to_owned(),
    ];
    let proxy = Proxy::start(&config.concat());
    let half_closed = connect(half);
    half_closed.shutdown(Shutdown::Write).unwrap();
    rest(half_closed);
    for at in [idle, headed, unanswered] {
        rest(connect(at));
    }
    assert_eq!(ends(&proxy, 4), ["half closed", "idle", "PROXY header timed out", "connect timed out"]);
}

/// The wait for the server is longer than anything here: whoever waits for it holds two sockets.
#[test]
fn a_client_that_leaves_while_its_server_is_awaited_is_not_held() {
    let (listen, (silent, _held)) = (free(), stuck());
    let times = "[timeouts]\nconnect = \"1000 s\"\n";
    let proxy = Proxy::start(&[&listener("one", listen, silent, ""), times, LOGGED].concat());
    let client = connect(listen);
    std::thread::sleep(std::time::Duration::from_millis(50));
    reset(client);
    assert_eq!(ends(&proxy, 1), ["reset by client"]);
}

/// No server of a client that is refused anyway is asked, named or found missing.
#[test]
fn who_is_refused_has_no_server() {
    let [one, bare, at] = [(); 3].map(|()| free());
    let config = [
        listener("one", one, echo(), ""),
        format!("[[listen]]\nname = \"bare\"\naddress = \"{bare}\"\n[metrics]\naddress = \"{at}\"\n"),
        format!("[[rule]]\nrefuse = true\n[[rule]]\nlisteners = [\"bare\"]\nupstream = [\"{}\"]\n", echo()),
        LOGGED.to_owned(),
    ];
    let proxy = Proxy::start(&config.concat());
    rest(connect(one));
    assert_eq!(ends(&proxy, 1), ["refused by rule"]);
    rest(connect(bare));
    assert_eq!(ends(&proxy, 2), ["refused by rule"; 2]);
    assert!(lines(&proxy, 2).iter().all(|line| line["server"].is_null()), "{}", proxy.log());
    let mut socket = connect(at);
    socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    for (listener, event, count) in [("one", "refused", 1), ("bare", "refused", 1), ("bare", "unreachable", 0)] {
        let line = format!("ackclock_proxy_connections_total{{listener=\"{listener}\",event=\"{event}\"}} {count}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
}

#[test]
fn what_a_proxy_ends_itself_is_drained_or_stopped() {
    for (signal, end) in [(Signal::TERM, "drained"), (Signal::INT, "stopped")] {
        let (listen, upstream) = (free(), echo());
        let drain = "[timeouts]\ndrain = \"100 ms\"\n";
        let mut proxy = Proxy::start(&[&listener("one", listen, upstream, ""), drain, LOGGED].concat());
        let mut client = connect(listen);
        assert!(answers(&mut client));
        proxy.signal(signal);
        proxy.wait();
        assert_eq!(ends(&proxy, 1), [end]);
    }
}

/// docs/how-to/run-the-proxy.md: a reload changes the level, the format and whether connections are logged.
#[test]
fn a_reload_changes_the_log() {
    let (listen, upstream) = (free(), echo());
    let config = |log: &str| listener("one", listen, upstream, "") + log;
    let proxy = Proxy::start(&config(""));
    let reload = |log: &str| {
        let before = proxy.log().matches("was reloaded").count();
        proxy.write(&config(log));
        proxy.signal(Signal::HUP);
        until("it was reloaded", || proxy.log().matches("was reloaded").count() > before);
    };
    let carry = || assert!(answers(&mut connect(listen)));
    carry();
    reload(LOGGED);
    carry();
    assert_eq!(lines(&proxy, 1).len(), 1, "of the second connection alone: {}", proxy.log());
    // Text again, and on the level debug every connection has its line.
    reload("[log]\nlevel = \"debug\"\n");
    carry();
    until("a line in text", || proxy.log().contains("connection listener=\"one\""));
    // With errors alone there is a line all the same, where it is asked for.
    proxy.write(&config("[log]\nlevel = \"error\"\nconnections = true\n"));
    proxy.signal(Signal::HUP);
    let texts = || proxy.log().matches("connection listener=\"one\"").count();
    let before = texts();
    until("another line", || {
        carry();
        texts() > before
    });
}

/// docs/reference/proxy.md: with `format = "json"` each message is a line of JSON.
#[test]
fn mistakes_of_a_reload_are_messages_like_others() {
    let (listen, upstream) = (free(), echo());
    let config = listener("one", listen, upstream, "") + "[log]\nformat = \"json\"\n";
    let proxy = Proxy::start(&config);
    proxy.write(&format!("workers = 0\nconfine = 7\n{config}"));
    proxy.signal(Signal::HUP);
    until("the mistakes are told", || proxy.log().matches("remedy").count() == 2);
    let log = proxy.log();
    let lines: Vec<Json> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let told: Vec<_> = lines.iter().filter(|line| line["remedy"].is_string()).collect();
    for (line, (field, place)) in told.iter().zip([("workers ", ":1:11"), ("confine ", ":2:11")]) {
        assert!(line["message"].as_str().unwrap().starts_with(field), "{line}");
        assert!(line["place"].as_str().unwrap().ends_with(place), "{line}");
    }
}

#[test]
fn a_reload_that_is_done_in_part_says_so() {
    let (listen, upstream) = (free(), echo());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = listener("one", listen, upstream, "");
    let proxy = Proxy::start(&config);
    proxy.write(&(config + &listener("two", taken.local_addr().unwrap(), upstream, "")));
    proxy.signal(Signal::HUP);
    until("it is told", || proxy.log().contains("reloaded"));
    let log = proxy.log();
    let part = "the configuration was reloaded in part; mend these listeners and reload again listeners=\"two\"";
    assert!(log.contains(part) && log.matches("was reloaded").count() == 1, "{log}");
    assert!(log.contains("has it, or choose another address") || log.contains("has it; end it"), "{log}");
    assert!(answers(&mut connect(listen)));
}

#[test]
fn a_reload_names_what_takes_a_restart_until_it_is_as_it_was() {
    let (listen, upstream) = (free(), echo());
    let config = |more: &str| listener("one", listen, upstream, "") + more;
    let proxy = Proxy::start(&config(""));
    let warnings = || proxy.log().matches("fields=\"confine, limits.pipes\"").count();
    proxy.write(&format!("confine = false\n{}", config("[limits]\npipes = 3\nper_source = 9\n")));
    for count in 1..3 {
        proxy.signal(Signal::HUP);
        until("the fields are named at each reload", || warnings() == count);
    }
    proxy.write(&config(""));
    let before = proxy.log().matches("was reloaded").count();
    proxy.signal(Signal::HUP);
    until("it was reloaded", || proxy.log().matches("was reloaded").count() > before);
    assert_eq!(warnings(), 2, "{}", proxy.log());
}

/// Lines with this text, and those that say that it is over.
fn told(proxy: &Proxy, text: &str) -> [usize; 2] {
    let log = proxy.log();
    let (over, begun) =
        log.lines().filter(|line| line.contains(text)).partition::<Vec<&str>, _>(|it| it.contains("over: "));
    [begun.len(), over.len()]
}

#[test]
fn a_limit_that_is_reached_is_told_once_and_once_it_is_over() {
    let (listen, upstream) = (free(), echo());
    // One thread takes them in their order.
    let config = format!("workers = 1\n{}[limits]\nconnections = 1\n", listener("one", listen, upstream, ""));
    let proxy = Proxy::start(&config);
    let mut clients: Vec<_> = (0..4).map(|_| connect(listen)).collect();
    until("it is told", || told(&proxy, "limits.connections is reached")[0] > 0);
    // Ten more tries, and as many as connections that end.
    thread::sleep(std::time::Duration::from_secs(1));
    assert!(clients.iter_mut().all(|client| {
        let answered = answers(client);
        let _ = client.shutdown(Shutdown::Both);
        answered
    }));
    until("it is over", || told(&proxy, "limits.connections is reached")[1] > 0);
    assert_eq!(told(&proxy, "limits.connections is reached"), [1, 1], "{}", proxy.log());
}

/// getrlimit(2): with as many descriptors as are open, none is left.
#[test]
fn descriptors_that_run_out_are_told_once_and_once_it_is_over() {
    let (listen, upstream) = (free(), echo());
    let proxy = Proxy::start(&listener("one", listen, upstream, ""));
    let id = rustix::process::Pid::from_child(&proxy.child);
    let numbers = std::fs::read_dir(format!("/proc/{}/fd", proxy.child.id())).unwrap();
    let highest = numbers.filter_map(|it| it.unwrap().file_name().to_str()?.parse::<u64>().ok()).max().unwrap();
    let maximum = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let limit = |current| {
        let limit = rustix::process::Rlimit { current, maximum };
        rustix::process::prlimit(Some(id), rustix::process::Resource::Nofile, limit).unwrap()
    };
    let before = limit(Some(highest + 1));
    // Numbers below the limit may be free: these take them.
    let mut clients: Vec<_> = (0..highest + 4).map(|_| connect(listen)).collect();
    until("it is told", || told(&proxy, "no descriptors or no memory")[0] > 0);
    thread::sleep(std::time::Duration::from_secs(1));
    limit(before.current);
    assert!(clients.iter_mut().all(answers));
    until("it is over", || told(&proxy, "no descriptors or no memory")[1] > 0);
    assert_eq!(told(&proxy, "no descriptors or no memory"), [1, 1], "{}", proxy.log());
}

/// docs/reference/proxy.md: at the default level, a server that cannot be reached is named once, and once it answers again.
#[test]
fn a_server_that_does_not_answer_is_told_once_and_once_it_answers_again() {
    let (listen, upstream) = (free(), free());
    let proxy = Proxy::start(&listener("one", listen, upstream, ""));
    (0..5).for_each(|_| rest(connect(listen)));
    let text = format!("one: the server {upstream} cannot be reached");
    until("it is told", || told(&proxy, &text)[0] > 0);
    assert!(proxy.log().contains("why=refused"), "{}", proxy.log());
    let server = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    server.set_reuse_port(true).unwrap();
    server.bind(&upstream.into()).unwrap();
    server.listen(8).unwrap();
    let _client = connect(listen);
    until("it is over", || told(&proxy, &text)[1] > 0);
    assert_eq!(told(&proxy, &text), [1, 1], "{}", proxy.log());
}

/// Nobody asks a server that is no longer in the file, so that it cannot answer either.
#[test]
fn a_server_that_is_taken_out_is_no_longer_told_of() {
    let (listen, absent) = (free(), free());
    let proxy = Proxy::start(&listener("one", listen, absent, ""));
    rest(connect(listen));
    let text = format!("one: the server {absent} ");
    until("it is told", || told(&proxy, &text)[0] > 0);
    proxy.write(&listener("one", listen, echo(), ""));
    proxy.signal(Signal::HUP);
    until("it is over", || told(&proxy, &text)[1] > 0);
    assert!(answers(&mut connect(listen)));
}
