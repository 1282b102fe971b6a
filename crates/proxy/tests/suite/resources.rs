//! Scarce resources of a proxy: room for its log, descriptors, time for clients that wait; and clients that use up what
//! others need.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit};

use crate::program::{PATIENCE, PROXY, Proxy, answers, connect, echo, free, until};

fn config(listen: SocketAddr, server: SocketAddr, more: &str) -> String {
    format!("[[listen]]\nname = \"one\"\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n{more}\n")
}

/// Killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// full(4): every write fails with ENOSPC, as on a full disk; pipe(7): a pipe without a reader fails with EPIPE.
#[test]
fn a_log_that_cannot_be_written_costs_no_connection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for log in [Stdio::from(full), Stdio::from(writer)] {
        let (listen, server) = (free(), echo());
        fs::write(&path, config(listen, server, "[log]\nlevel = \"debug\"")).unwrap();
        let _proxy = Killed(Command::new(PROXY).arg(&path).stderr(log).spawn().unwrap());
        until("it listens", || TcpStream::connect(listen).is_ok());
        // Each is logged as it ends, by the thread that carried it; both threads have some.
        assert!((0..20).all(|_| answers(&mut connect(listen))));
    }
}

/// pipe(7): a write to a full pipe waits for its reader. Nobody reads this one, and connections are carried all the same.
#[test]
fn a_log_that_nobody_reads_costs_no_connection_and_what_is_lost_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let (reader, writer) = std::io::pipe().unwrap();
    let (listen, at, server) = (free(), free(), echo());
    let more = format!("[log]\nconnections = true\n[metrics]\naddress = \"{at}\"");
    fs::write(&path, config(listen, server, &more)).unwrap();
    let _proxy = Killed(Command::new(PROXY).arg(&path).stderr(writer).spawn().unwrap());
    until("it listens", || TcpStream::connect(listen).is_ok());
    let lost = || {
        let mut socket = connect(at);
        socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("ackclock_proxy_log_messages_lost_total "));
        line.expect("it is counted").parse::<u64>().unwrap()
    };
    // A pipe holds 64 KiB, and a line has some 300 octets.
    until("the pipe is full", || {
        assert!((0..20).all(|_| answers(&mut connect(listen))));
        lost() >= 20
    });
    drop(reader);
}

/// capabilities(7): `SO_MARK` takes `CAP_NET_ADMIN`. A right that every connection would lack is reported at the start.
#[test]
fn a_right_that_each_connection_needs_is_missed_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("proxy.toml");
    // Of another user: a port that is kept for the tests is not to be had.
    let listen = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fs::write(&path, config(listen, echo(), "mark = 7")).unwrap();
    let mut command = Command::new(PROXY);
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let Ok(done) = command.arg(&path).output() else { return eprintln!("skipped: nobody may run the program") };
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(told.contains("far of one: the settings cannot be applied: Operation not permitted"), "{told}");
}

/// docs/reference/proxy.md: `per_source` bounds those of one client's address, and clients that begin with a header are believed.
#[test]
fn a_limit_of_each_client_is_that_of_those_whom_headers_name() {
    let (listen, server) = (free(), echo());
    let more = "accept_proxy_protocol = [\"127.0.0.0/8\"]\n[limits]\nper_source = 1";
    let _proxy = Proxy::start(&config(listen, server, more));
    let client = |last: u8| {
        let mut client = connect(listen);
        let start = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02";
        client.write_all(&[&start[..], &[last], b"\xc0\0\x02\xfe\x03\xe8\x01\xbb"].concat()).unwrap();
        client
    };
    let mut each: Vec<TcpStream> = (1..=3).map(client).collect();
    assert!(each.iter_mut().all(answers), "one connection of each of three clients");
    assert!(!answers(&mut client(2)), "a second of one of them");
}

/// Every connection that was taken comes to one outcome, so that those without one are there.
#[test]
fn outcomes_add_up_to_what_was_accepted() {
    let (listen, other, at, server) = (free(), free(), free(), echo());
    let text = format!(
        "{}\n[[listen]]\nname = \"two\"\naddress = \"{other}\"\nupstream = [\"{}\"]\n[[rule]]\nports = [\"{}\"]\nrefuse = true\n\
         [metrics]\naddress = \"{at}\"\n",
        config(listen, server, "accept_proxy_protocol = [\"127.0.0.0/8\"]"),
        free(),
        free().port(),
    );
    let _proxy = Proxy::start(&text);
    for _ in 0..3 {
        connect(listen).write_all(b"no header at all").unwrap();
        // Reset at once, maybe before it is known to be connected.
        let _ = TcpStream::connect(other);
    }
    let counts = || {
        let mut socket = connect(at);
        socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        let sum = |wanted: &str| -> u64 {
            let lines = text.lines().filter(|line| line.contains(wanted) && !line.starts_with('#'));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        let outcomes = ["refused", "unreachable", "ended", "reset"].map(|event| sum(&format!("event=\"{event}\"")));
        (sum("event=\"accepted\""), sum("ackclock_proxy_active_connections"), outcomes)
    };
    // One that is just being reset is counted a moment later.
    until("six have come to nothing, and all add up", || {
        let (accepted, active, outcomes) = counts();
        outcomes[..2].iter().sum::<u64>() >= 6 && accepted == active + outcomes.iter().sum::<u64>()
    });
}

/// getrlimit(2): an odd number of descriptors is left, and a connection takes two. docs/explanation/proxy.md: without descriptors
/// "new connections wait in the kernel's queue, existing ones go on".
#[test]
fn clients_for_whom_no_descriptor_is_left_wait() {
    let (listen, server) = (free(), echo());
    let proxy = Proxy::start(&config(listen, server, ""));
    assert!(answers(&mut connect(listen)));
    let descriptors = || {
        let each = fs::read_dir(format!("/proc/{}/fd", proxy.child.id())).unwrap();
        let each = each.map(|each| each.unwrap());
        let each = each.map(|each| (each.file_name().to_string_lossy().parse().unwrap(), fs::read_link(each.path())));
        each.map(|(number, link)| (number, link.unwrap_or_default())).collect::<BTreeMap<u64, PathBuf>>()
    };
    // proc(5): the tenth field is the socket's inode; `tcp_states.h`: 1 is established, up to 11 (closing) but for 10, which listens.
    let carries = || {
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let fields = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let carried: Vec<_> =
            fields.filter(|each| each[3] != "0A").map(|each| format!("socket:[{}]", each[9])).collect();
        descriptors().values().any(|each| carried.iter().any(|one| each.as_os_str() == one.as_str()))
    };
    until("that connection is gone", || !carries());
    let idle = descriptors();
    let limit = |count: u64| {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let limit = Rlimit { current: Some(count), maximum };
        rustix::process::prlimit(Some(Pid::from_child(&proxy.child)), Resource::Nofile, limit).unwrap()
    };
    for odd in [0, 1] {
        // The limit is one more than the highest number; those that it inherited lie anywhere.
        let left = (0..).filter(|number| !idle.contains_key(number)).nth(4 + odd);
        let before = limit(left.unwrap());
        let mut clients: Vec<TcpStream> = (0..12).map(|_| connect(listen)).collect();
        for client in &mut clients {
            client.write_all(b"ping").unwrap();
            client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        }
        let waits = |client: &mut TcpStream| match client.peek(&mut [0; 4]) {
            Ok(4) => false,
            Err(error) if error.kind() == ErrorKind::WouldBlock => true,
            other => panic!("neither answered nor waiting: {other:?}"),
        };
        assert!(clients.iter_mut().filter_map(|client| waits(client).then_some(())).count() >= 9);
        // As one goes, another has its place; then all have.
        drop(clients.remove(0));
        limit(before.current.unwrap());
        for client in &mut clients {
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut octets = [0; 4];
            client.read_exact(&mut octets).unwrap();
            assert_eq!(octets, *b"ping");
        }
        drop(clients);
        until("all are gone", || !carries() && descriptors().len() <= idle.len());
    }
}

/// More than are taken at a time (64) are refused at once, and those behind them are carried to their end all the same.
#[test]
fn who_waits_when_a_proxy_is_told_to_end_is_carried() {
    const HEADER: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x03\xe8\x01\xbb";
    let (listen, server) = (free(), echo());
    let more = "accept_proxy_protocol = [\"127.0.0.0/8\"]";
    let proxy = Proxy::start(&format!("workers = 1\n{}", config(listen, server, more)));
    proxy.signal(Signal::STOP);
    let mut wrong: Vec<TcpStream> = (0..150).map(|_| connect(listen)).collect();
    for client in &mut wrong {
        client.write_all(b"no header at all").unwrap();
    }
    let mut right: Vec<TcpStream> = (0..20).map(|_| connect(listen)).collect();
    for client in &mut right {
        client.write_all(HEADER).unwrap();
    }
    proxy.signal(Signal::TERM);
    proxy.signal(Signal::CONT);
    assert!(right.iter_mut().all(answers));
}

/// RFC 9112 section 2.2 sets no limit for a request's length, and section 9.6 has a server close only once the client can have read
/// the answer. Browsers send a host's cookies with each.
#[test]
fn measurements_wait_for_nobody_and_take_long_questions() {
    let (listen, server, at) = (free(), echo(), free());
    let _proxy = Proxy::start(&config(listen, server, &format!("[metrics]\naddress = \"{at}\"")));
    let idle: Vec<TcpStream> = (0..100).map(|_| connect(at)).collect();
    let asked = Instant::now();
    let ask = |question: &str| {
        let mut socket = connect(at);
        socket.write_all(question.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    };
    for cookies in [0, 2_000, 10_000, 40_000] {
        let answer = ask(&format!("GET /metrics?a=b HTTP/1.0\r\nCookie: {}\r\n\r\n", "c".repeat(cookies)));
        assert!(answer.ends_with("# EOF\n"), "{cookies}: {answer}");
    }
    // 100 who ask nothing, two seconds for each and four at a time, would be 50 s for each question.
    assert!(asked.elapsed() < Duration::from_secs(40), "{:?}", asked.elapsed());
    drop(idle);
    let late = format!("GET /metrics HTTP/1.1\r\nCookie: {}\r\nHost: evil.example\r\n\r\n", "c".repeat(5_000));
    assert!(ask(&late).starts_with("HTTP/1.1 403"), "a name of somebody else's, however late it comes");
    let head = ask("HEAD /metrics HTTP/1.0\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}"); // RFC 9110 section 9.3.2
}

/// A proxy of one thread with as many descriptors left as given; what sets them again.
fn limited(proxy: &Proxy, left: usize) -> impl Fn(u64) {
    let id = proxy.child.id();
    let numbers = fs::read_dir(format!("/proc/{id}/fd")).unwrap();
    let numbers: Vec<u64> =
        numbers.filter_map(|each| each.unwrap().file_name().to_string_lossy().parse().ok()).collect();
    let first_beyond = (0..).filter(|number| !numbers.contains(number)).nth(left).unwrap();
    let pid = Pid::from_child(&proxy.child);
    let limit = move |count: u64| {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let limit = Rlimit { current: Some(count), maximum };
        rustix::process::prlimit(Some(pid), Resource::Nofile, limit).unwrap();
    };
    limit(first_beyond);
    limit
}

/// proxy-protocol.txt section 2.2: TCP over IPv4 from 192.0.2.1 to 192.0.2.2.
const HEADER: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x03\xe8\x01\xbb";

const RESET: Option<Duration> = Some(Duration::ZERO);

fn reset(client: &TcpStream) {
    socket2::SockRef::from(client).set_linger(RESET).unwrap();
}

/// getrlimit(2): clients that say something first are waited for, and each keeps a descriptor for its server meanwhile: more clients
/// than descriptors do not keep each other from being carried.
#[test]
fn who_says_something_first_has_a_descriptor_for_its_server() {
    for more in ["accept_proxy_protocol = [\"127.0.0.0/8\"]", "[[rule]]\nsni = [\"a.test\"]\nrefuse = true"] {
        let (listen, server) = (free(), echo());
        let times = "[timeouts]\nheader = \"1000 s\"\nhello = \"1000 s\"\n";
        let proxy = Proxy::start(&format!("workers = 1\n{times}{}", config(listen, server, more)));
        let _limit = limited(&proxy, 30);
        let start = if more.starts_with("accept") { HEADER } else { b"" };
        let mut clients: Vec<TcpStream> = (0..60).map(|_| connect(listen)).collect();
        until("no more are taken", || proxy.log().contains("no descriptors or no memory"));
        for client in &mut clients {
            client.write_all(&[start, b"ping"].concat()).unwrap();
        }
        for mut client in clients {
            let mut octets = [0; 4];
            client.read_exact(&mut octets).unwrap();
            assert_eq!(octets, *b"ping");
        }
        // Silent ones take all there are, and leave them when they go.
        let silent: Vec<TcpStream> = (0..60).map(|_| connect(listen)).collect();
        silent.iter().for_each(reset);
        drop(silent);
        let mut client = connect(listen);
        client.write_all(start).unwrap();
        assert!(answers(&mut client), "{more}");
    }
}

/// docs/reference/proxy.md: `timeouts.connect` bounds the wait for a descriptor, too, and a client that has gone is not waited for.
#[test]
fn who_waits_for_a_descriptor_is_given_up_in_time_or_with_its_client() {
    for (connect_time, leaves, end) in
        [("300 ms", false, "connect out of resources"), ("1000 s", true, "reset by client")]
    {
        let (listen, server) = (free(), echo());
        let more = format!(
            "accept_proxy_protocol = [\"127.0.0.0/8\"]\n[timeouts]\nconnect = \"{connect_time}\"\nheader = \"1000 s\"\n\
             [log]\nconnections = true"
        );
        let proxy = Proxy::start(&format!("workers = 1\n{}", config(listen, server, &more)));
        let before = getrlimit(Resource::Nofile).current.unwrap();
        let open = || fs::read_dir(format!("/proc/{}/fd", proxy.child.id())).unwrap().count();
        let idle = open();
        let mut clients: Vec<TcpStream> = (0..3).map(|_| connect(listen)).collect();
        until("they are taken", || open() >= idle + 3);
        let limit = limited(&proxy, 0);
        limit(3);
        for client in &mut clients {
            client.write_all(HEADER).unwrap();
        }
        until("they wait", || proxy.log().contains("one: connections to servers cannot be opened"));
        if leaves {
            clients.iter().for_each(reset);
            clients.clear();
        }
        until("all are given up", || proxy.log().matches(&format!("end=\"{end}\"")).count() == 3);
        limit(before);
        let mut client = connect(listen);
        client.write_all(HEADER).unwrap();
        assert!(answers(&mut client));
    }
}

/// pipe(7): POLLOUT promises room for `PIPE_BUF`, 4096 octets, and a longer write waits for a reader. A name of any length is a
/// listener's, and stands in each of its lines.
#[test]
fn lines_longer_than_a_pipe_takes_at_once_cost_no_connection_and_are_whole_where_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let (mut reader, writer) = std::io::pipe().unwrap();
    let (listen, server) = (free(), echo());
    let name = "x".repeat(12_000);
    let text = format!(
        "workers = 1\n[[listen]]\nname = \"{name}\"\naddress = \"{listen}\"\nupstream = [\"{server}\"]\n\
         [log]\nconnections = true\nformat = \"json\"\n"
    );
    fs::write(&path, text).unwrap();
    let mut proxy = Killed(Command::new(PROXY).arg(&path).stderr(writer).spawn().unwrap());
    until("it listens", || TcpStream::connect(listen).is_ok());
    // A pipe holds 64 KiB.
    assert!((0..20).all(|_| answers(&mut connect(listen))));
    let read = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&read);
    thread::spawn(move || {
        let mut octets = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut octets) {
            sink.lock().unwrap().extend_from_slice(&octets[..length]);
        }
    });
    let text = || String::from_utf8(read.lock().unwrap().clone()).unwrap();
    let whole = || {
        let text = text();
        let lines = text.lines().map(serde_json::from_str::<serde_json::Value>);
        lines.filter(|line| line.as_ref().is_ok_and(|line| line["listener"] == name.as_str())).count()
    };
    until("lines are read again", || {
        let before = whole();
        assert!(answers(&mut connect(listen)));
        before >= 20
    });
    assert!(text().lines().all(|line| line.matches("{\"timestamp\"").count() <= 1), "each message begins a line");
    rustix::process::kill_process(Pid::from_child(&proxy.0), Signal::TERM).unwrap();
    until("it ends", || proxy.0.try_wait().unwrap().is_some());
}
