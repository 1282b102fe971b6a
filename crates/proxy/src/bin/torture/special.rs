//! Cases that a proxy plays by itself: killed, or without descriptors.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::outcome::Verdict;
use crate::proxy::{Proxy, listen};

/// Each by its name.
#[allow(clippy::type_complexity, reason = "a list of functions")]
pub(crate) const ALL: [(&str, fn(&str, &str) -> Verdict); 2] = [
    ("proxy-killed", |name, command| verdict(name, killed(command))),
    ("proxy-out-of-descriptors", |name, command| verdict(name, exhausted(command))),
];

fn verdict(name: &str, played: io::Result<Option<String>>) -> Verdict {
    let difference = played.unwrap_or_else(|error| Some(format!("cannot be run: {error}")));
    Verdict { name: name.to_owned(), difference }
}

/// A proxy that is killed while it carries: nobody may take that for the end of a stream.
fn killed(command: &str) -> io::Result<Option<String>> {
    let mut proxy = Proxy::start(command, None)?;
    let listener = listen(proxy.upstream, 16, None)?;
    let mut client = TcpStream::connect(proxy.listen)?;
    let (server, _) = listener.accept()?;
    client.write_all(b"half of what there is to say")?;
    let mut server = server;
    let mut read = [0; 100];
    let got = server.read(&mut read)?;
    proxy.kill();
    for (who, socket) in [("client", &mut client), ("server", &mut server)] {
        socket.set_read_timeout(Some(Duration::from_secs(2)))?;
        match socket.read(&mut read) {
            Ok(0) => {
                return Ok(Some(format!("the {who} saw a clean end of a stream that was cut off after {got} octets")));
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            other => return Ok(Some(format!("the {who} saw {other:?}"))),
        }
    }
    Ok(None)
}

/// Open connections go on with few descriptors, and when there are descriptors again others have their turn.
fn exhausted(command: &str) -> io::Result<Option<String>> {
    let mut proxy = Proxy::start(command, Some(64))?;
    let listener = listen(proxy.upstream, 256, None)?;
    let echo = thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut socket = socket;
                let mut octets = [0; 64];
                while let Ok(length @ 1..) = socket.read(&mut octets) {
                    let _ = socket.write_all(&octets[..length]);
                }
            });
        }
    });
    let mut first = TcpStream::connect(proxy.listen)?;
    let answers = |socket: &mut TcpStream| -> bool {
        let _ = socket.set_read_timeout(Some(Duration::from_secs(2)));
        let mut octets = [0; 4];
        socket.write_all(b"ping").is_ok() && socket.read_exact(&mut octets).is_ok() && octets == *b"ping"
    };
    if !answers(&mut first) {
        return Ok(Some("not even the first connection was carried".to_owned()));
    }
    let many: Vec<_> =
        (0..150).filter_map(|_| TcpStream::connect_timeout(&proxy.listen, Duration::from_secs(1)).ok()).collect();
    thread::sleep(Duration::from_millis(300));
    if !proxy.is_alive() {
        return Ok(Some("it died for want of descriptors".to_owned()));
    }
    if !answers(&mut first) {
        return Ok(Some("a connection that was there was carried no more".to_owned()));
    }
    drop(many);
    thread::sleep(Duration::from_millis(500));
    let after =
        TcpStream::connect_timeout(&proxy.listen, Duration::from_secs(1)).is_ok_and(|mut socket| answers(&mut socket));
    drop(echo);
    Ok((!after).then(|| "no connection was carried once there were descriptors again".to_owned()))
}
