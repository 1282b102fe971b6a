//! `/metrics`, `/connections` and `/pairs` over HTTP, on an address of their own; and how other commands of this program ask for them.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use socket2::{Domain, Protocol, Socket, Type};

use crate::app::App;
use crate::service::Shared;
use crate::worker::{ConnectionInfo, Handle, Pair};

/// Who asks has to have asked within this, and to have taken the answer within as long again.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long is waited where a question cannot be taken.
const PAUSE: Duration = Duration::from_millis(50);

/// Questions that are answered at a time.
const AT_A_TIME: usize = 4;

/// Serves measurements from now on, a few questions at a time: whoever is slow keeps nobody for long.
///
/// Unless `is_public`, a question must name this host by an address or as `localhost`: a page of the web that has its own name
/// lead here (DNS rebinding) is refused.
pub fn serve(address: SocketAddr, is_public: bool, shared: &Arc<Shared>, handles: &[Handle]) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.cloexec(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    // A successor serves beside its predecessor until that has ended.
    socket.set_reuse_port(true)?;
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot serve metrics at {address}: {error}"));
    socket.bind(&address.into()).map_err(named)?;
    socket.listen(16)?;
    let listener: TcpListener = socket.into();
    for _ in 0..AT_A_TIME {
        let (listener, shared) = (listener.try_clone()?, Arc::clone(shared));
        let handles = handles.iter().map(Handle::again).collect::<io::Result<Vec<_>>>()?;
        thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // Who does not get an answer has gone.
                    Ok(stream) => drop(answer(stream, is_public, &shared, &handles)),
                    // No descriptor is left: who knocks waits, and knocks again at once.
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        })?;
    }
    Ok(())
}

/// How long there is until then; an error if that has passed.
fn left(until: Instant) -> io::Result<Option<Duration>> {
    match until.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(Some(left)),
        _ => Err(io::ErrorKind::TimedOut.into()),
    }
}

fn answer(mut stream: TcpStream, is_public: bool, shared: &Shared, handles: &[Handle]) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut request = [0; 2048];
    let mut length = 0;
    while length < request.len() && !request[..length].windows(4).any(|end| end == b"\r\n\r\n") {
        stream.set_read_timeout(left(until)?)?;
        match stream.read(&mut request[length..])? {
            0 => break,
            octets => length += octets,
        }
    }
    let question = String::from_utf8_lossy(&request[..length]);
    let (status, kind, body) = match question.split_whitespace().nth(1) {
        _ if !is_public && !names_this_host(&question) => {
            ("403 Forbidden", "text/plain", "ask by an address or as localhost\n".to_owned())
        }
        Some("/metrics") => {
            ("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics(shared, handles))
        }
        Some("/connections") => ("200 OK", "application/json", connections(handles)),
        Some("/pairs") => ("200 OK", "application/json", pairs(handles)),
        _ => ("404 Not Found", "text/plain", "there are /metrics, /connections and /pairs\n".to_owned()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    write_until(&mut stream, (head + &body).as_bytes(), Instant::now() + PATIENCE)
}

/// True of a question whose `Host`, if it has one, is an address or `localhost`.
fn names_this_host(question: &str) -> bool {
    let hosts = question.lines().skip(1).filter_map(|line| line.split_once(':'));
    let mut hosts = hosts.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.trim());
    hosts.all(|host| {
        let is_address = host.parse::<SocketAddr>().is_ok() || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_address || host.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case("localhost"))
    })
}

/// Writes all of it, to whoever takes it by then.
fn write_until(stream: &mut TcpStream, mut octets: &[u8], until: Instant) -> io::Result<()> {
    while !octets.is_empty() {
        stream.set_write_timeout(left(until)?)?;
        match stream.write(octets) {
            Ok(written) => octets = &octets[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn connections(handles: &[Handle]) -> String {
    let all: Json = App::describe(handles).iter().map(ConnectionInfo::to_json).collect();
    all.to_string()
}

fn pairs(handles: &[Handle]) -> String {
    let pairs: Json = App::pairs(handles).iter().map(Pair::to_json).collect();
    json!({"process": std::process::id(), "pairs": pairs}).to_string()
}

/// What a proxy with metrics at `address` answers, as JSON.
pub fn get(address: SocketAddr, path: &str) -> io::Result<Json> {
    let absent =
        |error: io::Error| io::Error::new(error.kind(), format!("no proxy has its metrics at {address}: {error}"));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(absent)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).map_err(|_| io::Error::other(format!("what answers at {address} is no ackclock-proxy")))
}

fn metrics(shared: &Shared, handles: &[Handle]) -> String {
    let mut waiting = std::collections::BTreeMap::<String, [u64; 2]>::new();
    for (listener, [up, down]) in App::backlogs(handles) {
        let of = waiting.entry(listener).or_default();
        *of = [of[0] + up, of[1] + down];
    }
    shared.metrics.set_backlogs(&waiting);
    shared.metrics.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A browser sends the name by which a page was asked for (RFC 9110 section 7.2), and a page cannot change it.
    #[test]
    fn a_name_of_somebody_elses_is_refused() {
        let asked =
            |host: &str| names_this_host(&format!("GET /metrics HTTP/1.1\r\nAccept: a:b\r\nhost: {host}\r\n\r\n"));
        for host in ["localhost", "localhost:9901", "127.0.0.1:9901", "[::1]:9901", "[::1]", "10.0.0.1"] {
            assert!(asked(host), "{host}");
        }
        for host in ["evil.example:9901", "localhost.evil.example", "127.0.0.1.evil.example:9901", ""] {
            assert!(!asked(host), "{host}");
        }
        assert!(names_this_host("GET /metrics HTTP/1.0\r\n\r\n"), "HTTP/1.0 has no Host");
    }
}
