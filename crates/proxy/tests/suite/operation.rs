//! Reload, upgrade, the end; limits, timeouts and the PROXY protocol; what is wrong with a configuration; measurements.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::program::{PATIENCE, PROXY, Proxy, answers, connect, echo, free, run, until};

fn config(listen: SocketAddr, upstream: SocketAddr, more: &str) -> String {
    format!("workers = 2\n[[listen]]\nname = \"one\"\naddress = \"{listen}\"\nupstream = [\"{upstream}\"]\n{more}\n")
}

#[test]
fn a_reload_drops_no_flow_opens_and_closes_listeners_and_refuses_mistakes() {
    let (first, second, server) = (free(), free(), echo());
    let proxy = Proxy::start(&config(first, server, ""));
    let mut flow = connect(first);
    assert!(answers(&mut flow));
    proxy.write(&config(second, server, ""));
    proxy.signal(Signal::HUP);
    until("the new listener is there", || std::net::TcpStream::connect(second).is_ok());
    until("the old one is gone", || std::net::TcpStream::connect(first).is_err());
    assert!(answers(&mut flow), "the flow of the old listener goes on");
    proxy.write("workers = \"many\"\n");
    proxy.signal(Signal::HUP);
    until("the mistake is told", || proxy.log().contains("workers is a string"));
    assert!(answers(&mut flow) && answers(&mut connect(second)));
}

#[test]
fn an_upgrade_refuses_no_connection_and_the_old_process_ends_with_its_last_flow() {
    let (listen, server) = (free(), echo());
    let mut proxy = Proxy::start(&config(listen, server, ""));
    let mut flow = connect(listen);
    assert!(answers(&mut flow));
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let knocks = scope.spawn(|| {
            let mut count = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                assert!(answers(&mut connect(listen)), "connection {count}");
                count += 1;
            }
            count
        });
        proxy.signal(Signal::USR2);
        until("it was handed over", || proxy.log().contains("handed over"));
        thread::sleep(Duration::from_millis(100));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(knocks.join().unwrap() > 0);
    });
    assert!(answers(&mut flow), "the old process carries on what it had");
    drop(flow);
    assert_eq!(proxy.wait(), Some(0));
    assert!(answers(&mut connect(listen)), "the new one is there");
    let log = proxy.log();
    let successor = log.split("successor=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let successor = rustix::process::Pid::from_raw(successor.parse().unwrap()).unwrap();
    rustix::process::kill_process(successor, Signal::TERM).unwrap();
    until("the new one is gone", || std::net::TcpStream::connect(listen).is_err());
}

#[test]
fn on_sigterm_flows_end_by_themselves_and_on_sigint_at_once() {
    let (listen, server) = (free(), echo());
    let mut proxy = Proxy::start(&config(listen, server, ""));
    let mut flow = connect(listen);
    assert!(answers(&mut flow));
    proxy.signal(Signal::TERM);
    until("nobody listens", || std::net::TcpStream::connect(listen).is_err());
    assert!(answers(&mut flow), "it is carried to its end");
    flow.shutdown(Shutdown::Write).unwrap();
    assert_eq!(flow.read(&mut [0; 10]).unwrap(), 0);
    assert_eq!(proxy.wait(), Some(0));

    let mut proxy = Proxy::start(&config(listen, server, ""));
    let mut flow = connect(listen);
    assert!(answers(&mut flow));
    proxy.signal(Signal::INT);
    assert_eq!(proxy.wait(), Some(130));
    assert_eq!(flow.read(&mut [0; 10]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

/// `sd_notify(3)`: a service manager kills a service that has not ended after its own timeout, unless the service
/// extends it.
#[test]
fn a_service_manager_is_told_how_long_connections_may_take_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let told = || {
        let mut octets = [0; 200];
        let length = manager.recv(&mut octets).unwrap();
        String::from_utf8_lossy(&octets[..length]).into_owned()
    };
    let text = config(free(), echo(), "[timeouts]\ndrain = \"100 s\"");
    let mut proxy = Proxy::start_with(&text, &[], &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    assert!(told().ends_with("READY=1\n"));
    proxy.signal(Signal::TERM);
    // 100 s and 5
    assert_eq!(told(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=105000000\n");
    assert_eq!(proxy.wait(), Some(0));
}

/// Two connections that are carried.
fn both(listen: SocketAddr) -> [std::net::TcpStream; 2] {
    let mut two = [connect(listen), connect(listen)];
    assert!(two.iter_mut().all(answers));
    two
}

#[test]
fn too_many_of_one_source_are_reset_and_more_than_there_is_room_for_wait() {
    let (listen, server) = (free(), echo());
    let proxy = Proxy::start(&config(listen, server, "[limits]\nper_source = 2"));
    let two = both(listen);
    assert!(connect(listen).read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    drop(two);
    drop(proxy);

    let proxy = Proxy::start(&config(listen, server, "[limits]\nconnections = 2"));
    let two = both(listen);
    let mut third = connect(listen);
    third.write_all(b"ping").unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut octets = [0; 4];
    assert!(third.read(&mut octets).is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "it waits");
    drop(two);
    third.set_read_timeout(Some(PATIENCE)).unwrap();
    third.read_exact(&mut octets).unwrap();
    assert_eq!(octets, *b"ping");
    drop(proxy);
}

/// The last of 12 connections is taken (12 - 2) / 5 = 2 s after the first, or later, with 5 a second and 2 at once.
#[test]
fn more_connections_a_second_than_allowed_wait_for_their_turn() {
    let (listen, server, at) = (free(), echo(), free());
    let more = format!("connection_rate = 5\nconnection_burst = 2\n[metrics]\naddress = \"{at}\"");
    let proxy = Proxy::start(&config(listen, server, &more));
    let begun = Instant::now();
    let mut many: Vec<_> = (0..12).map(|_| connect(listen)).collect();
    assert!(many.iter_mut().all(answers), "none is refused");
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    let mut asked = connect(at);
    asked.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    asked.read_to_string(&mut text).unwrap();
    let counted = text.split("ackclock_proxy_rate_limited_total{listener=\"one\"} ").nth(1).unwrap();
    assert!(counted.lines().next().unwrap().parse::<u64>().unwrap() > 0, "{text}");
    // Whoever waits when the proxy is told to end is carried all the same.
    let mut late: Vec<_> = (0..20).map(|_| connect(listen)).collect();
    proxy.signal(Signal::TERM);
    assert!(late.iter_mut().all(answers));
}

#[test]
fn who_says_nothing_for_too_long_is_reset() {
    let (listen, server) = (free(), echo());
    let idle = Duration::from_millis(600);
    let _proxy = Proxy::start(&config(listen, server, "[timeouts]\nidle = \"600 ms\""));
    // Where the machine lets this thread rest for as long, it was silent indeed, and tries again.
    until("what talks for longer than that is not idle", || {
        let (mut flow, began) = (connect(listen), Instant::now());
        while began.elapsed() < 2 * idle {
            let asked = Instant::now();
            let is_answered = answers(&mut flow);
            thread::sleep(Duration::from_millis(100));
            let is_late = asked.elapsed() > idle / 2;
            assert!(is_answered || is_late, "reset after {:?}", began.elapsed());
            if is_late {
                return false;
            }
        }
        true
    });
    let mut flow = connect(listen);
    assert!(answers(&mut flow));
    assert_eq!(flow.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn the_second_server_is_taken_where_the_first_does_not_answer() {
    let (listen, server, absent) = (free(), echo(), free());
    let text = format!(
        "[[listen]]\naddress = \"{listen}\"\nupstream = [\"{absent}\", \"{server}\"]\nhealth_interval = \"50 ms\"\n"
    );
    let proxy = Proxy::start(&text);
    assert!((0..4).all(|_| answers(&mut connect(listen))));
    until("it is known that the first cannot be reached", || proxy.log().contains("cannot be reached"));
}

/// Octets that the server gets through two proxies: the first names the client to the second, which names it to the
/// server.
#[test]
fn the_proxy_protocol_tells_of_the_client_through_two_proxies() {
    let (first, second) = (free(), free());
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = server.local_addr().unwrap();
    let more = "accept_proxy_protocol = [\"127.0.0.0/8\"]\nsend_proxy_protocol = true";
    let _outer = Proxy::start(&config(first, second, "send_proxy_protocol = true"));
    let _inner = Proxy::start(&config(second, upstream, more));
    let mut client = connect(first);
    client.write_all(b"hello").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut got = Vec::new();
    server.accept().unwrap().0.read_to_end(&mut got).unwrap();
    let client = client.local_addr().unwrap();
    // 12 octets of signature, version and command, family and protocol, length; source and destination, then their ports
    assert_eq!(got.len(), 28 + 5);
    assert_eq!(got[..16], *b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c");
    assert_eq!((&got[16..20], &got[24..26]), (&[127, 0, 0, 1][..], &client.port().to_be_bytes()[..]));
}

/// Octets that the server gets through two proxies, of which the first sends version 1: section 2.1 of proxy-protocol.txt.
#[test]
fn the_first_version_of_the_proxy_protocol_is_sent_and_accepted() {
    let (first, second) = (free(), free());
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = server.local_addr().unwrap();
    let sends = "send_proxy_protocol = true\nproxy_protocol_version = 1";
    let _outer = Proxy::start(&config(first, second, sends));
    let more = format!("accept_proxy_protocol = [\"127.0.0.0/8\"]\n{sends}");
    let _inner = Proxy::start(&config(second, upstream, &more));
    let mut client = connect(first);
    client.write_all(b"hello").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut got = String::new();
    server.accept().unwrap().0.read_to_string(&mut got).unwrap();
    let (from, to) = (client.local_addr().unwrap().port(), first.port());
    assert_eq!(got, format!("PROXY TCP4 127.0.0.1 127.0.0.1 {from} {to}\r\nhello"));
    // Whoever sends a line octet by octet is waited for, and whoever sends another line is not.
    let mut slow = connect(second);
    for octet in b"PROXY TCP4 192.0.2.7 192.0.2.8 1000 443\r\n" {
        slow.write_all(&[*octet]).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    slow.shutdown(Shutdown::Write).unwrap();
    let mut got = String::new();
    server.accept().unwrap().0.read_to_string(&mut got).unwrap();
    assert_eq!(got, "PROXY TCP4 192.0.2.7 192.0.2.8 1000 443\r\n");
    let mut wrong = connect(second);
    wrong.write_all(b"PROXY TCP4 192.0.2.7 192.0.2.8 1000\r\n").unwrap();
    assert_eq!(wrong.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

/// A client that sends its request an octet at a time has two seconds for all of it.
#[test]
fn slow_questions_keep_nobody_from_the_measurements() {
    let (listen, server, at) = (free(), echo(), free());
    let _proxy = Proxy::start(&config(listen, server, &format!("[metrics]\naddress = \"{at}\"")));
    let mut slow: Vec<_> = (0..4).map(|_| connect(at)).collect();
    until("they were given up", || {
        for socket in &mut slow {
            let _ = socket.write_all(b"G");
        }
        thread::sleep(Duration::from_millis(300));
        // A peer that has closed answers what is written to it with a reset.
        slow.iter().all(|it| it.take_error().is_ok_and(|error| error.is_some()) || gone(it))
    });
    let mut asked = connect(at);
    asked.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    asked.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("# EOF\n"), "{answer}");
}

/// Ticks of a hundredth of a second that a process has had (`proc_pid_stat(5)`: fields 14 and 15).
fn ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

#[test]
fn a_question_that_cannot_be_taken_waits_and_costs_nothing() {
    let (listen, server, at) = (free(), echo(), free());
    let proxy = Proxy::start(&config(listen, server, &format!("[metrics]\naddress = \"{at}\"")));
    let id = Pid::from_child(&proxy.child);
    let open = std::fs::read_dir(format!("/proc/{}/fd", proxy.child.id())).unwrap().count() as u64;
    let none_left = Rlimit { current: Some(open), maximum: getrlimit(Resource::Nofile).maximum };
    let before = prlimit(Some(id), Resource::Nofile, none_left).unwrap();
    // Those before take what numbers are free below the limit.
    let _others = [connect(at), connect(at), connect(at)];
    let mut asked = connect(at);
    let had = ticks(proxy.child.id());
    thread::sleep(Duration::from_millis(1_500));
    let cost = ticks(proxy.child.id()) - had;
    prlimit(Some(id), Resource::Nofile, before).unwrap();
    asked.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    asked.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("# EOF\n"), "{answer}");
    assert!(cost < 10, "{cost} hundredths of a second in 1.5 s");
}

/// A server of one connection, which does this with it once something has come.
fn server(act: impl FnOnce(std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut [0]).unwrap();
        act(socket);
    });
    at
}

/// An answer a little longer than what is copied at once: its end is spliced, and no more follows.
#[test]
fn the_end_of_an_answer_is_not_held_back() {
    const ANSWER: usize = 65_536 + 500;
    let upstream = server(|mut socket| {
        let answer = vec![7; ANSWER];
        while socket.write_all(&answer).is_ok() && socket.read(&mut [0]).is_ok_and(|octets| octets > 0) {}
    });
    let listen = free();
    let _proxy = Proxy::start(&config(listen, upstream, ""));
    let (mut client, mut answer) = (connect(listen), vec![0; ANSWER]);
    let mut took: Vec<Duration> = (0..9)
        .map(|_| {
            let asked = Instant::now();
            client.write_all(b"?").unwrap();
            client.read_exact(&mut answer).unwrap();
            asked.elapsed()
        })
        .collect();
    took.sort_unstable();
    // All but the first would be 200 ms and more, where it waits for a timer; a busy machine is late with most.
    assert!(took[1] < Duration::from_millis(190), "{took:?}");
}

#[test]
fn a_server_that_is_gone_while_the_client_takes_nothing_costs_nothing() {
    let upstream = server(|mut socket| {
        socket.set_nonblocking(true).unwrap();
        let full = Instant::now() + Duration::from_millis(300);
        while Instant::now() < full {
            if socket.write(&[7; 4_096]).is_err() {
                thread::sleep(Duration::from_millis(5));
            }
        }
    });
    let listen = free();
    let proxy = Proxy::start(&config(listen, upstream, ""));
    let mut client = connect(listen);
    client.write_all(b"?").unwrap();
    thread::sleep(Duration::from_millis(600));
    for _ in 0..3 {
        client.write_all(b"!").unwrap(); // to whoever has closed: it is answered by a reset
        thread::sleep(Duration::from_millis(100));
    }
    let had = ticks(proxy.child.id());
    thread::sleep(Duration::from_secs(1));
    let cost = ticks(proxy.child.id()) - had;
    assert!(cost < 10, "{cost} hundredths of a second in 1 s");
}

/// True if the other end has closed or reset.
fn gone(mut socket: &std::net::TcpStream) -> bool {
    socket.set_nonblocking(true).unwrap();
    let read = socket.read(&mut [0]);
    socket.set_nonblocking(false).unwrap();
    !read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn measurements_say_what_was_carried() {
    let (listen, server, at) = (free(), echo(), free());
    let _proxy = Proxy::start(&config(listen, server, &format!("[metrics]\naddress = \"{at}\"\nlatency = true")));
    let mut flow = connect(listen);
    assert!(answers(&mut flow));
    let ask = |what: &str| {
        let mut socket = connect(at);
        write!(socket, "GET {what} HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text
    };
    // four octets each way; they are counted just after they were sent on
    let wanted = ["near", "far"]
        .map(|side| format!("ackclock_proxy_received_bytes_total{{listener=\"one\",side=\"{side}\"}} 4\n"));
    until("what was carried is counted", || wanted.iter().all(|line| ask("/metrics").contains(line)));
    let text = ask("/metrics");
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("ackclock_proxy_active_connections{listener=\"one\"} 1\n"), "{text}");
    let connections = ask("/connections");
    assert!(connections.contains(&format!("\"client\":\"{}\"", flow.local_addr().unwrap())), "{connections}");
    let (code, table) = run(PROXY, &["top", "--once", &at.to_string()]);
    assert_eq!(code, Some(0));
    assert!(table.contains(&flow.local_addr().unwrap().to_string()), "{table}");
    assert!(ask("/etc/passwd").starts_with("HTTP/1.1 404"));
}

#[test]
fn who_asks_slowly_keeps_others_from_their_answer_for_a_moment_only() {
    let (listen, server, at) = (free(), echo(), free());
    let _proxy = Proxy::start(&config(listen, server, &format!("[metrics]\naddress = \"{at}\"")));
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut slow = connect(at);
    slow.write_all(b"G").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) && slow.write_all(b"E").is_ok() {
                thread::sleep(Duration::from_millis(300));
            }
        });
        let mut other = connect(at);
        other.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        let answered = other.read_to_string(&mut text);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(answered.is_ok() && text.starts_with("HTTP/1.1 200 OK"), "{answered:?}: {text}");
    });
}

#[test]
fn programs_say_what_is_wrong_by_their_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let path = path.to_str().unwrap();
    std::fs::write(path, "[[listen]]\naddress = \"127.0.0.1:1\"\nupstream = [\"127.0.0.1:2\"]\n").unwrap();
    assert_eq!(run(PROXY, &["--check", path]).0, Some(0));
    std::fs::write(path, "[[listen]]\naddress = 7\n").unwrap();
    let (code, text) = run(PROXY, &["--check", path]);
    assert_eq!(code, Some(2));
    assert!(text.contains("proxy.toml:2:11: listen[0].address must be an address with a port"), "{text}");
    assert_eq!(run(PROXY, &["--check", "/nonexistent"]).0, Some(2));
    let fifo = folder.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    for odd in ["/dev/zero", fifo.to_str().unwrap(), folder.path().to_str().unwrap()] {
        let (code, text) = run(PROXY, &["--check", odd]);
        assert_eq!((code, text.contains("is not a regular file")), (Some(2), true), "{odd}: {text}");
    }
    assert_eq!(run(PROXY, &["--nonsense"]).0, Some(2));
    let (code, text) = run(PROXY, &["--undo", path]);
    assert_eq!((code, text.contains("--undo is allowed only with rules")), (Some(2), true), "{text}");
    assert_eq!(run(PROXY, &["rules", "--once", path]).0, Some(2));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(path, config(taken.local_addr().unwrap(), free(), "")).unwrap();
    let (code, text) = run(PROXY, &[path]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot listen at"), "{text}");
}

#[test]
fn a_thousand_connections_leave_no_descriptor_behind() {
    let (listen, server) = (free(), echo());
    let proxy = Proxy::start(&config(listen, server, ""));
    let open = || std::fs::read_dir(format!("/proc/{}/fd", proxy.child.id())).unwrap().count();
    // Each thread may keep a pipe.
    assert!(answers(&mut connect(listen)));
    until("that connection is gone", || open() < 30);
    let before = open();
    for _ in 0..10 {
        let mut many: Vec<_> = (0..100).map(|_| connect(listen)).collect();
        assert!(many.iter_mut().all(answers));
    }
    until("as many as before", || open() <= before + 4);
}
