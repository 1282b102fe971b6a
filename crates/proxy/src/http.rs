//! `/metrics`, `/connections` and `/pairs` over HTTP, on an address of their own; and how other commands of this program ask for them.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value as Json, json};
use socket2::{Domain, Protocol, Socket, Type};

use crate::app::{Active, App};
use crate::metrics::UpstreamState;
use crate::service::{Service, Shared};
use crate::trouble::Trouble;
use crate::upstream::Upstream;
use crate::worker::{ConnectionInfo, Handle, Pair};

/// Time for a client to send its request, and again to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pause after a failure to take a request.
const PAUSE: Duration = Duration::from_millis(50);

/// Largest number of clients at a time. One more replaces the first that has not sent its request yet.
pub const MOST_ASKERS: usize = 64;

/// Octets of a question: the cookies that a browser sends to a host fit.
const LONGEST: usize = 64 << 10;

/// Header fields of a question; browsers send some twenty.
const MOST_FIELDS: usize = 100;

/// Octets that are read at a time, and how often before others have their turn.
const READ: (usize, usize) = (4096, 16);

/// Serves measurements from now on, by one thread that waits for nobody in particular: whoever is slow keeps nobody. Shutting down
/// what is returned ends that.
///
/// Unless `is_public`, a question must name this host by an address or as `localhost`: a page of the web that has its own name
/// lead here (DNS rebinding) is refused.
pub fn serve(
    address: SocketAddr,
    is_public: bool,
    shared: &Arc<Shared>,
    active: &Arc<Mutex<Vec<Active>>>,
    handles: Vec<Handle>,
) -> io::Result<TcpListener> {
    let socket = bind(address, true)?;
    socket.listen(128).map_err(|error| named(address, &error))?;
    let listener: TcpListener = socket.into();
    let (kept, shared, active) = (listener.try_clone()?, Arc::clone(shared), Arc::clone(active));
    let mut server =
        Server { listener: Some(listener), is_public, shared, active, handles, askers: Vec::new(), pause: None };
    thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        while server.listener.is_some() || !server.askers.is_empty() {
            server.turn();
        }
    })?;
    Ok(kept)
}

/// A socket at this address, at which nothing is taken yet. Unless it `is_shared`, no other process of this user has one there.
pub fn bind(address: SocketAddr, is_shared: bool) -> io::Result<Socket> {
    let open = || {
        let kind = Type::STREAM.cloexec().nonblocking();
        let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        // A successor serves before its predecessor ceases to.
        socket.set_reuse_port(is_shared)?;
        socket.bind(&address.into())?;
        Ok(socket)
    };
    open().map_err(|error| named(address, &error))
}

fn named(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot serve metrics at {address}: {error}"))
}

/// Server that answers requests for measurements.
struct Server {
    /// None once it is shut down.
    listener: Option<TcpListener>,
    is_public: bool,
    shared: Arc<Shared>,
    active: Arc<Mutex<Vec<Active>>>,
    handles: Vec<Handle>,
    /// Clients in the order in which they came.
    askers: Vec<Asker>,
    /// Until then nobody is taken: no descriptor was left.
    pause: Option<Instant>,
}

impl Server {
    /// Waits for something, and does it.
    fn turn(&mut self) {
        self.wait();
        let now = Instant::now();
        self.pause = self.pause.filter(|until| *until > now);
        if self.pause.is_none() {
            self.take();
        }
        let mut askers = std::mem::take(&mut self.askers);
        askers.retain_mut(|asker| asker.until > now && self.go_on(asker).unwrap_or(false));
        self.askers = askers;
    }

    fn wait(&self) {
        let listener = self.listener.iter().filter(|_| self.pause.is_none());
        let mut watched: Vec<PollFd<'_>> = listener.map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
        watched.extend(self.askers.iter().map(|asker| PollFd::new(&asker.stream, asker.waits_for())));
        let first = self.askers.iter().map(|asker| asker.until).chain(self.pause).min();
        let left = first.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        // A signal, or too little memory: what there is to do is still there at the next turn.
        let _ = poll(&mut watched, timeout.as_ref());
    }

    /// Takes those who have come.
    fn take(&mut self) {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    io::ErrorKind::WouldBlock => return,
                    // It is shut down.
                    io::ErrorKind::InvalidInput => self.listener = None,
                    // No descriptor is left: who knocks waits.
                    _ => {
                        let now = Instant::now();
                        self.shared.troubles.show(Trouble::NoRoomForQuestions, &error, now);
                        return self.pause = Some(now + PAUSE);
                    }
                },
            }
        }
    }

    fn admit(&mut self, stream: TcpStream) {
        if self.askers.len() >= MOST_ASKERS {
            let idle = self.askers.iter().position(|asker| asker.answer.is_empty());
            self.askers.remove(idle.unwrap_or(0));
        }
        if stream.set_nonblocking(true).is_ok() {
            self.askers.push(Asker::new(stream));
        }
    }

    /// Goes on with who asks; false, or an error, once that is over.
    fn go_on(&self, asker: &mut Asker) -> io::Result<bool> {
        asker.read()?;
        if asker.answer.is_empty()
            && let Some(question) = read(&asker.question, asker.has_closed, self.is_public)
        {
            asker.answer = self.answer(&question);
            asker.until = Instant::now() + PATIENCE;
        }
        asker.write()?;
        // Until the peer has closed: closing with octets unread would take back what was sent.
        Ok(!(asker.is_answered() && asker.has_closed))
    }

    fn answer(&self, question: &Question) -> Vec<u8> {
        let (status, kind, body) = match question.path.as_deref() {
            Err((status, body)) => (*status, "text/plain", (*body).to_owned()),
            Ok("/metrics") => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                ("200 OK", kind, metrics(&self.shared, &self.active, &self.handles))
            }
            Ok("/connections") => ("200 OK", "application/json", connections(&self.handles)),
            Ok("/pairs") => ("200 OK", "application/json", pairs(&self.handles)),
            Ok(_) => ("404 Not Found", "text/plain", "ask for /metrics, /connections or /pairs\n".to_owned()),
        };
        let (length, date) = (body.len(), httpdate::fmt_http_date(SystemTime::now()));
        let head = format!(
            "HTTP/1.1 {status}\r\nDate: {date}\r\nAllow: GET, HEAD\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        (if question.is_head { head } else { head + &body }).into_bytes()
    }
}

/// A question that is whole.
struct Question {
    /// Its path, or the status and the text by which it is refused.
    path: Result<String, (&'static str, &'static str)>,
    /// No body is wanted.
    is_head: bool,
}

/// The question that these octets are; `None` while more of it is to come.
///
/// Source: RFC 9112 sections 2.2 (reading), 3.2 (`Host`, and targets with an authority, which goes before it); RFC 9110 section
/// 15.5.6 (methods).
fn read(octets: &[u8], has_closed: bool, is_public: bool) -> Option<Question> {
    const TOO_LONG: (&str, &str) = ("431 Request Header Fields Too Large", "ask in fewer words\n");
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let path = match request.parse(octets) {
        Ok(httparse::Status::Complete(_)) => path_of(&request, is_public),
        Ok(httparse::Status::Partial) if octets.len() < LONGEST && !has_closed => return None,
        Ok(httparse::Status::Partial) if octets.len() >= LONGEST => Err(TOO_LONG),
        Err(httparse::Error::TooManyHeaders) => Err(TOO_LONG),
        _ => Err(("400 Bad Request", "ask in HTTP/1.1 or HTTP/1.0\n")),
    };
    Some(Question { path, is_head: request.method == Some("HEAD") })
}

/// The path of a request, or why it is refused.
fn path_of(request: &httparse::Request<'_, '_>, is_public: bool) -> Result<String, (&'static str, &'static str)> {
    let fields = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    let hosts: Vec<_> = fields.map(|field| String::from_utf8_lossy(field.value)).collect();
    if hosts.len() > 1 || hosts.is_empty() && request.version == Some(1) {
        return Err(("400 Bad Request", "ask with one Host\n"));
    }
    let target = request.path.unwrap_or_default();
    let (host, path) = match target.strip_prefix("http://") {
        Some(whole) => whole.find('/').map_or((Some(whole), "/"), |end| (Some(&whole[..end]), &whole[end..])),
        None => (hosts.first().map(|host| host.trim()), target),
    };
    if !is_public && !host.is_none_or(is_this_host) {
        return Err(("403 Forbidden", "ask by an address or as localhost\n"));
    }
    if !matches!(request.method, Some("GET" | "HEAD")) {
        return Err(("405 Method Not Allowed", "ask with GET or HEAD\n"));
    }
    Ok(path.split('?').next().unwrap_or(path).to_owned())
}

/// Client of the server.
struct Asker {
    stream: TcpStream,
    until: Instant,
    question: Vec<u8>,
    /// The client has closed its side.
    has_closed: bool,
    /// Empty until there is one.
    answer: Vec<u8>,
    sent: usize,
}

impl Asker {
    fn new(stream: TcpStream) -> Self {
        let until = Instant::now() + PATIENCE;
        Self { stream, until, question: Vec::new(), has_closed: false, answer: Vec::new(), sent: 0 }
    }

    fn waits_for(&self) -> PollFlags {
        if self.sent < self.answer.len() { PollFlags::OUT } else { PollFlags::IN }
    }

    fn is_answered(&self) -> bool {
        !self.answer.is_empty() && self.sent == self.answer.len()
    }

    /// Takes what has come; behind a question it is thrown away.
    fn read(&mut self) -> io::Result<()> {
        let mut octets = [0; READ.0];
        for _ in 0..READ.1 {
            match self.stream.read(&mut octets) {
                Ok(0) => self.has_closed = true,
                Ok(count) if self.answer.is_empty() => {
                    self.question.extend(&octets[..count]);
                    continue;
                }
                Ok(_) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            break;
        }
        Ok(())
    }

    /// Sends what is taken of the answer, and its end.
    fn write(&mut self) -> io::Result<()> {
        while self.sent < self.answer.len() {
            match self.stream.write(&self.answer[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            if self.is_answered() {
                self.stream.shutdown(Shutdown::Write)?;
            }
        }
        Ok(())
    }
}

/// True of an address or `localhost`, with a port or without.
fn is_this_host(host: &str) -> bool {
    let is_address = host.parse::<SocketAddr>().is_ok() || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    is_address || host.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case("localhost"))
}

fn connections(handles: &[Handle]) -> String {
    let all: Json = App::describe(handles).iter().map(ConnectionInfo::to_json).collect();
    all.to_string()
}

fn pairs(handles: &[Handle]) -> String {
    let pairs: Json = App::pairs(handles).iter().map(Pair::to_json).collect();
    json!({"process": std::process::id(), "pairs": pairs}).to_string()
}

/// Answer of a proxy with metrics at `address`, as JSON.
pub fn get(address: SocketAddr, path: &str) -> io::Result<Json> {
    let absent =
        |error: io::Error| io::Error::new(error.kind(), format!("no proxy serves metrics at {address}: {error}"));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(absent)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body)
        .map_err(|_| io::Error::other(format!("the server at {address} is not an ackclock-proxy")))
}

fn metrics(shared: &Shared, active: &Mutex<Vec<Active>>, handles: &[Handle]) -> String {
    let mut waiting = BTreeMap::<String, [u64; 2]>::new();
    for (listener, [up, down]) in App::backlogs(handles) {
        let of = waiting.entry(listener).or_default();
        *of = [of[0] + up, of[1] + down];
    }
    shared.metrics.set_backlogs(&waiting);
    shared.metrics.set_upstreams(&upstreams(active));
    shared.metrics.set_pools(&pools(active));
    shared.metrics.text()
}

/// The number of servers for new connections of each pool, by listener and hosts: the smallest where hosts are those of several.
fn pools(active: &Mutex<Vec<Active>>) -> BTreeMap<(String, String), usize> {
    let active = active.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pools = BTreeMap::new();
    for service in active.iter().map(|active| &active.service) {
        for (hosts, open) in service.upstreams.open() {
            let least = pools.entry((service.listener.name.clone(), hosts)).or_insert(open);
            *least = open.min(*least);
        }
    }
    pools
}

/// State of the servers of all listeners.
fn upstreams(active: &Mutex<Vec<Active>>) -> Vec<UpstreamState> {
    let active = active.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |service: &Service| -> Vec<UpstreamState> {
        let drained = service.upstreams.drained();
        let state = |upstream: &Arc<Upstream>| UpstreamState {
            listener: service.listener.name.clone(),
            upstream: upstream.address.to_string(),
            is_up: upstream.is_healthy.load(Ordering::Relaxed),
            connections: upstream.connections.load(Ordering::Relaxed),
            is_draining: drained.contains(&(upstream.address, true)),
        };
        service.upstreams.all().iter().map(state).collect()
    };
    active.iter().flat_map(|active| of(&active.service)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status by which a question is refused; `None` if it is answered.
    fn refused(question: &str) -> Option<u16> {
        let read = read(question.as_bytes(), false, false).expect("it is whole");
        read.path.err().map(|(status, _)| status[..3].parse().expect("a status"))
    }

    /// A browser sends the name with which a page was requested (RFC 9110 section 7.2), and a page cannot change it.
    #[test]
    fn a_name_of_somebody_elses_is_refused() {
        let asked = |host: &str| refused(&format!("GET /metrics HTTP/1.1\r\nAccept: a:b\r\nhost: {host}\r\n\r\n"));
        for host in ["localhost", "localhost:9901", "127.0.0.1:9901", "[::1]:9901", "[::1]", "10.0.0.1"] {
            assert_eq!(asked(host), None, "{host}");
        }
        for host in ["evil.example:9901", "localhost.evil.example", "127.0.0.1.evil.example:9901", ""] {
            assert_eq!(asked(host), Some(403), "{host}");
        }
        assert_eq!(refused("GET /metrics HTTP/1.0\r\n\r\n"), None, "HTTP/1.0 has no Host");
    }

    /// RFC 9112: section 3.2 has a server answer 400 where there is no `Host`, or more than one; section 3.2.2 has it accept a target
    /// with an authority, which goes before `Host`; section 5.1 has it refuse a blank before a colon. RFC 9110 section 15.5.6: methods.
    #[test]
    fn questions_are_read_as_http_is() {
        for (question, expected) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", Some(400)),
            ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", Some(400)),
            ("GET /metrics HTTP/1.1\r\nHost : localhost\r\n\r\n", Some(400)),
            ("what /metrics\r\n\r\n", Some(400)),
            ("GET http://localhost:1/metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", None),
            ("GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", Some(403)),
            ("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", Some(405)),
            ("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", None),
        ] {
            assert_eq!(refused(question), expected, "{question}");
        }
        let whole =
            read(b"GET http://[::1]:1/pairs?a=b HTTP/1.1\r\nHost: x\r\n\r\n", false, false).expect("it is whole");
        assert_eq!(whole.path, Ok("/pairs".to_owned()));
        assert!(read(b"GET /metrics HTTP/1.1\r\nHost: local", false, false).is_none(), "more is to come");
    }
}
