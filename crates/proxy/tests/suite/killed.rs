//! A proxy that is killed while it carries: both ends see a reset, and never a clean end of a stream that was cut off.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::program::{PATIENCE, Proxy, connect, free};

/// Reads until the stream ends somehow: how much came, and how it ended. Says when something has come.
fn read_to_end(mut socket: TcpStream, pause: Duration, begun: Sender<()>) -> JoinHandle<(usize, Option<ErrorKind>)> {
    thread::spawn(move || {
        let (mut buffer, mut got) = (vec![0; 1 << 16], 0);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        loop {
            match socket.read(&mut buffer) {
                Ok(0) => return (got, None),
                Ok(octets) => {
                    got += octets;
                    let _ = begun.send(());
                }
                Err(error) => return (got, Some(error.kind())),
            }
            thread::sleep(pause);
        }
    })
}

/// Sends without end, or this many octets and then a FIN.
fn send(mut socket: TcpStream, octets: Option<usize>) {
    thread::spawn(move || {
        let mut left = octets.unwrap_or(usize::MAX);
        while left > 0 && socket.write_all(&vec![1; left.min(1 << 16)]).is_ok() {
            left -= left.min(1 << 16);
        }
        if left == 0 {
            let _ = socket.shutdown(Shutdown::Write);
        }
        // What the other end says is for the reader alone: this one only holds the connection.
        thread::sleep(PATIENCE);
    });
}

#[test]
fn bulk_both_ways_ends_in_resets() {
    let (listen, server) = (free(), TcpListener::bind("127.0.0.1:0").unwrap());
    let more = format!("upstream = [\"{}\"]", server.local_addr().unwrap());
    let mut proxy = Proxy::start(&format!("workers = 2\n[[listen]]\naddress = \"{listen}\"\n{more}\n"));
    // Ends that read at once and ends that are slow; streams without end, and such as the sender has ended already, of which
    // the rest waits in the proxy.
    let (mut readers, mut begun) = (Vec::new(), Vec::new());
    let kinds = [(0, None), (50, None), (200, Some(6_000_000))];
    for (pause, octets) in kinds.iter().flat_map(|kind| [*kind, *kind]) {
        let client = connect(listen);
        let (accepted, _) = server.accept().unwrap();
        // The kernel reports a reset once, to the first that asks: so no end both reads and writes.
        let is_up = readers.len() % 2 == 0;
        let (one, other) = if is_up { (client, accepted) } else { (accepted, client) };
        send(one, octets);
        let (tell, told) = channel();
        readers.push((octets, read_to_end(other, Duration::from_millis(pause), tell)));
        begun.push(told);
    }
    // Until all are at it, and a while: slow ends are behind by then, and what their senders have ended waits in the proxy.
    for told in &begun {
        told.recv_timeout(PATIENCE).unwrap();
    }
    thread::sleep(Duration::from_millis(300));
    proxy.child.kill().unwrap();
    proxy.child.wait().unwrap();
    for (octets, reader) in readers {
        let (got, ended) = reader.join().unwrap();
        if octets == Some(got) {
            continue; // it was whole before the proxy was killed
        }
        assert_eq!(ended, Some(ErrorKind::ConnectionReset), "after {got} octets of {octets:?}");
    }
}
