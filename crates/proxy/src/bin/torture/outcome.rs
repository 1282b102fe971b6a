//! Outcome of a case, directly and through a proxy, and the comparison of both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use socket2::{Domain, Socket, Type};

use crate::case::{self, Case, Server, Step};
use crate::endpoint::{End, Endpoint, Meeting, PATIENCE, Seen};
use crate::proxy::{Proxy, listen};

/// Number of times that a case is played directly, to see all its outcomes.
const DIRECTLY: usize = 2;

/// A server that is late or busy is so for this.
const LATE: Duration = Duration::from_millis(400);

/// Observations of both ends.
pub(crate) type Outcome = [Seen; 2];

/// Verdict on a proxy in a case.
pub(crate) struct Verdict {
    /// Name of the case.
    pub(crate) name: String,
    /// Difference, if there is one.
    pub(crate) difference: Option<String>,
}

impl Verdict {
    /// The verdict as JSON, for a file.
    pub(crate) fn to_json(&self, proxy: &str) -> Json {
        json!({ "proxy": proxy, "case": self.name, "difference": self.difference })
    }
}

/// Plays a case directly and through the proxy.
pub(crate) fn judge(case: &Case, proxy: &mut Proxy, command: &str) -> Verdict {
    let verdict = |difference| Verdict { name: case.name.clone(), difference };
    let direct: io::Result<Vec<Outcome>> = (0..DIRECTLY).map(|_| play(case, proxy.upstream, proxy.upstream)).collect();
    let direct = match direct {
        Ok(direct) => direct,
        Err(error) => return verdict(Some(format!("cannot be run directly: {error}"))),
    };
    let through = match play(case, proxy.listen, proxy.upstream) {
        Ok(through) => through,
        Err(error) => return verdict(Some(format!("cannot be run through the proxy: {error}"))),
    };
    if !proxy.is_alive() {
        if let Ok(next) = Proxy::start(command, None) {
            *proxy = next;
        }
        return verdict(Some("the proxy has died".to_owned()));
    }
    verdict(difference(case, &direct, &through))
}

fn difference(case: &Case, direct: &[Outcome], through: &Outcome) -> Option<String> {
    for (index, who) in ["client", "server"].iter().enumerate() {
        let seen = through[index];
        let peer = if index == 0 { &case.server } else { &case.client };
        if seen.is_wrong {
            return Some(format!("the {who} got wrong octets"));
        }
        let of_direct: BTreeSet<Seen> = direct.iter().map(|outcome| outcome[index]).collect();
        let is_fixed = !case.is_race && of_direct.len() == 1;
        let fits = of_direct.contains(&seen) || !is_fixed && is_possible(&of_direct, seen, peer, case);
        if !fits {
            let directly = of_direct.iter().map(|seen| told(*seen)).collect::<Vec<_>>().join(" or ");
            return Some(format!("the {who} saw {}, and directly {directly}", told(seen)));
        }
    }
    None
}

/// True if an outcome is possible in a race: how much was read before a reset is open, and a reset may come before or
/// after the last read; but a stream that ends with a FIN is whole, and was ended so, and nothing waits for ever.
fn is_possible(direct: &BTreeSet<Seen>, seen: Seen, peer: &[Step], case: &Case) -> bool {
    let is_whole = case::ends_in_order(peer) && seen.received == case::octets(peer);
    let most = direct.iter().map(|seen| seen.received).max().unwrap_or(0);
    match seen.end {
        End::Never => direct.iter().any(|direct| direct.end == End::Never),
        End::Fin if case.is_race => is_whole,
        End::Fin => direct.iter().any(|direct| direct.end == End::Fin && direct.received == seen.received),
        End::Unread => case.is_race || direct.iter().any(|direct| direct.end == End::Unread),
        End::Reset => case.is_race || direct.iter().any(|direct| direct.end == End::Reset && seen.received <= most),
    }
}

fn told(seen: Seen) -> String {
    let end = match seen.end {
        End::Unread => "nothing of the end",
        End::Fin => "a FIN",
        End::Reset => "a reset",
        End::Never => "no end",
    };
    format!("{} octets and {end}", seen.received)
}

/// Plays a case: the client connects to `to`, the server is at `at`.
fn play(case: &Case, to: SocketAddr, at: SocketAddr) -> io::Result<Outcome> {
    if !case.same_port {
        return play_once(case, to, at, None);
    }
    let port = Some(own_port());
    play_once(case, to, at, port)?;
    play_once(case, to, at, port)
}

/// A port that the kernel gives to nobody by itself: one that it had given could be in use again at once, by the proxy's way to
/// the server or by a case beside this one.
fn own_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const PORTS: Range<u32> = 20_000..30_000; // Linux gives ports from 32,768 on
    let turn = std::process::id().wrapping_mul(97).wrapping_add(u32::from(NEXT.fetch_add(1, Ordering::Relaxed)));
    (PORTS.start + turn % (PORTS.end - PORTS.start)) as u16
}

fn play_once(case: &Case, to: SocketAddr, at: SocketAddr, port: Option<u16>) -> io::Result<Outcome> {
    let backlog = if case.at_first == Server::Late { 0 } else { 16 };
    let listener = if case.at_first == Server::Absent { None } else { Some(listen(at, backlog, case.receive_buffer)?) };
    let meeting = Meeting::default();
    let filler = (case.at_first == Server::Late).then(|| TcpStream::connect(at)).transpose()?;
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let taken =
                listener.map_or_else(|| Err(ErrorKind::NotConnected.into()), |it| take(&it, case, filler.as_ref()));
            Endpoint::new(taken, false, &meeting).follow(&case.server)
        });
        let socket = connect(to, case.receive_buffer, port);
        let client = Endpoint::new(socket, true, &meeting).follow(&case.client);
        let server = server.join().map_err(|_| io::Error::other("the server panicked"))?;
        Ok([client, server])
    })
}

/// Connects, from a port if one is given: as soon as this host's own kernel lets it be used again.
fn connect(to: SocketAddr, receive_buffer: Option<usize>, port: Option<u16>) -> io::Result<TcpStream> {
    let until = Instant::now() + PATIENCE;
    loop {
        match connect_once(to, receive_buffer, port) {
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable && Instant::now() < until => {
                thread::sleep(Duration::from_millis(50));
            }
            done => return done,
        }
    }
}

fn connect_once(to: SocketAddr, receive_buffer: Option<usize>, port: Option<u16>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if let Some(octets) = receive_buffer {
        socket.set_recv_buffer_size(octets)?;
    }
    socket.set_reuse_address(true)?;
    if let Some(port) = port {
        socket.bind(&SocketAddr::new(to.ip(), port).into())?;
    }
    // With a timeout, an error that comes after the connection would be taken for one of connecting.
    socket.connect(&to.into())?;
    Ok(socket.into())
}

/// Takes the client's connection, when the server is there to do so.
fn take(listener: &TcpListener, case: &Case, filler: Option<&TcpStream>) -> io::Result<TcpStream> {
    if case.at_first != Server::Listens {
        thread::sleep(LATE);
    }
    if filler.is_some() {
        listener.accept()?;
    }
    listener.set_nonblocking(true)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                return Ok(socket);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
}

/// All verdicts in few words: the cases by the beginnings of their names.
pub(crate) fn report(proxy: &str, verdicts: &[Verdict]) -> String {
    let mut groups = BTreeMap::<&str, [usize; 2]>::new();
    let mut text = String::new();
    for verdict in verdicts {
        let group = groups.entry(verdict.name.split('-').next().unwrap_or_default()).or_default();
        group[1] += 1;
        match &verdict.difference {
            None => group[0] += 1,
            // Writing to a text cannot fail, here and below.
            Some(difference) => drop(writeln!(text, "{}: {difference}", verdict.name)),
        }
    }
    for (group, [right, all]) in &groups {
        let _ = writeln!(text, "{group}: {right} of {all}");
    }
    let right = verdicts.iter().filter(|verdict| verdict.difference.is_none()).count();
    text + &format!("{proxy}: {right} of {} as without it\n", verdicts.len())
}
