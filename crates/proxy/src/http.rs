//! `/metrics`, `/connections` and `/pairs` over HTTP, on an address of their own; and how other commands of this program ask for them.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
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
pub fn serve(address: SocketAddr, shared: &Arc<Shared>, handles: &[Handle]) -> io::Result<()> {
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
                    Ok(stream) => drop(answer(stream, &shared, &handles)),
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

fn answer(mut stream: TcpStream, shared: &Shared, handles: &[Handle]) -> io::Result<()> {
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
    let line = String::from_utf8_lossy(&request[..length]);
    let (status, kind, body) = match line.split_whitespace().nth(1) {
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
    for one in App::describe(handles) {
        let of = waiting.entry(one.listener.clone()).or_default();
        let [up, down] = one.backlog();
        *of = [of[0] + up, of[1] + down];
    }
    shared.metrics.set_backlogs(&waiting);
    shared.metrics.text()
}
