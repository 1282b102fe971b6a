//! Thread that writes ordered octets into a connection, and waits wherever the kernel makes it wait.

use std::io::{self, IoSlice, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use socket2::Socket;

use super::ends::Stream;

/// Octets of the buffer that is written, and how often one call has it at most (`UIO_MAXIOV`).
const CHUNK: usize = 128 << 10;
const CHUNKS: usize = 1_024;

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
pub(super) fn write(socket: &Socket, orders: &Receiver<Order>, stream: &Stream, is_over: &AtomicBool) {
    super::hurry();
    let zeros = vec![0; CHUNK];
    while let Ok(order) = orders.recv() {
        let Order::Write(mut left) = order else {
            let _ = socket.shutdown(Shutdown::Write);
            continue;
        };
        while left > 0 {
            match write_at_once(socket, &zeros, left) {
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

/// Writes up to so many octets in one call, as the simulated application does: the kernel pushes the end of each.
fn write_at_once(mut socket: &Socket, zeros: &[u8], octets: u64) -> io::Result<usize> {
    let (whole, rest) = (octets / CHUNK as u64, octets % CHUNK as u64);
    let mut slices = vec![IoSlice::new(zeros); whole.min(CHUNKS as u64) as usize];
    if slices.len() < CHUNKS {
        slices.push(IoSlice::new(&zeros[..rest as usize]));
    }
    socket.write_vectored(&slices)
}
