//! Thread that writes ordered octets into a connection, and waits wherever the kernel makes it wait.

use std::io::Write;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use socket2::Socket;

use super::ends::Stream;

/// Octets written at once.
const CHUNK: usize = 128 << 10;

/// Order for the writing thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Write this number of octets.
    Write(u64),
    /// No more will come.
    Close,
}

/// Carries out orders until no sender of orders is left, or the connection is over: too early, unless `is_over` says so
/// of the run.
pub(super) fn write(mut socket: &Socket, orders: &Receiver<Order>, stream: &Stream, is_over: &AtomicBool) {
    super::hurry();
    let zeros = vec![0; CHUNK];
    while let Ok(order) = orders.recv() {
        let Order::Write(mut left) = order else {
            let _ = socket.shutdown(Shutdown::Write);
            continue;
        };
        while left > 0 {
            let most = left.min(CHUNK as u64) as usize;
            match socket.write(&zeros[..most]) {
                Ok(0) | Err(_) => {
                    if !is_over.load(Ordering::Relaxed) {
                        stream.abort();
                    }
                    return;
                }
                Ok(octets) => {
                    left -= octets as u64;
                    stream.written.fetch_add(octets as u64, Ordering::Relaxed);
                }
            }
        }
    }
}
