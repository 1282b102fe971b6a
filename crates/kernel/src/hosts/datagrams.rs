//! Datagrams: sent when the simulator's sources would send them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ackclock_sim::{DatagramConfig, DatagramFlow, MeasureWindow};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::Socket;

use crate::clock::WallClock;

/// Interval at which a waiting thread checks whether the run is over.
const LOOK: Duration = Duration::from_millis(50);

/// Sends a flow's datagrams until its end, or until `stop` is set; returns how many the kernel would not take. The socket is connected.
pub fn send(
    socket: &Socket,
    config: &DatagramConfig,
    seed: u64,
    clock: WallClock,
    stop: &AtomicBool,
) -> io::Result<u64> {
    super::hurry();
    socket.set_tos_v4(config.ecn as u32)?;
    setsockopt(socket, sockopt::SndBuf, &(4 << 20))?;
    let octets = vec![0; config.payload as usize];
    let mut source = DatagramFlow::new(config, seed, MeasureWindow::default());
    let (mut next, mut refused) = (source.first(), 0);
    while let Some(time) = next
        && !stop.load(Ordering::Relaxed)
    {
        let left = clock.until(time);
        if !left.is_zero() {
            thread::sleep(left.min(LOOK));
            continue;
        }
        refused += u64::from(socket.send(&octets).is_err());
        next = source.send(time).1;
    }
    Ok(refused)
}

/// Reads what comes, so that no buffer fills, until `stop` is set.
pub fn drain(socket: &Socket, stop: &AtomicBool) -> io::Result<()> {
    super::hurry();
    socket.set_read_timeout(Some(LOOK))?;
    let mut buffer = vec![0; 65_536];
    let mut socket = socket;
    while !stop.load(Ordering::Relaxed) {
        let _ = io::Read::read(&mut socket, &mut buffer);
    }
    Ok(())
}
