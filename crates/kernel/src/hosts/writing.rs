//! A thread that writes into a connection what it is told to, and waits wherever the kernel makes it wait.

use std::io::Write;
use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use socket2::Socket;

/// Octets written at once.
const CHUNK: usize = 128 << 10;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Write so many octets.
    Write(u64),
    /// No more will come.
    Close,
}

/// Does what it is told until nobody is left to tell it, or the connection is over.
pub(super) fn write(mut socket: &Socket, orders: &Receiver<Order>, written: &AtomicU64) {
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
                Ok(0) | Err(_) => return,
                Ok(octets) => {
                    left -= octets as u64;
                    written.fetch_add(octets as u64, Ordering::Relaxed);
                }
            }
        }
    }
}
