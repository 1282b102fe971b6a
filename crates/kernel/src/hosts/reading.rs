//! Thread that reads data, at once or at a rate, and notifies the application when the awaited octets have been read.

use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use ackclock_units::{Bandwidth, SimDuration, SimTime};
use socket2::Socket;

use super::conversation::Happening;
use super::ends::Stream;
use crate::clock::WallClock;

/// Octets read at once.
const CHUNK: usize = 256 << 10;
/// A reader with a rate reads what this time makes of it.
const SPELL: Duration = Duration::from_millis(5);
/// A sleep takes too long by less than this.
const OVERSLEPT: SimDuration = SimDuration::from_millis(1);

/// Pace at which an application reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    /// Largest rate of reading.
    pub rate: Option<Bandwidth>,
    /// Not from this time on.
    pub stops: Option<SimTime>,
}

/// Reads until the connection is over; `index` is the stream's. True if it was lost before its end.
pub(super) fn read(
    mut socket: &Socket,
    stream: &Stream,
    index: usize,
    reader: Reader,
    told: &Sender<Happening>,
    clock: WallClock,
) -> bool {
    super::hurry();
    let mut free_at = clock.now();
    let chunk = reader
        .rate
        .map_or(CHUNK, |rate| (rate.0 / 8 * SPELL.as_millis() as u64 / 1_000).clamp(1, CHUNK as u64) as usize);
    let mut buffer = vec![0; chunk];
    let mut total = 0;
    let is_lost = loop {
        if reader.stops.is_some_and(|time| clock.now() >= time) {
            return false;
        }
        let octets = match socket.read(&mut buffer) {
            Ok(0) => break false,
            Err(_) => break true,
            Ok(octets) => octets as u64,
        };
        let before = total;
        total += octets;
        stream.read.store(total, Ordering::Release);
        let wanted = stream.wanted.load(Ordering::Acquire);
        if before < wanted && wanted <= total {
            let _ = told.send(Happening::Read { stream: index, time: clock.now() });
        }
        if let Some(rate) = reader.rate {
            // Time in which nothing was there to be read is none to catch up on, but for what a sleep takes too long.
            let since = SimTime(clock.now().0.saturating_sub(OVERSLEPT.0));
            free_at = free_at.max(since) + rate.serialization_delay(ackclock_units::Bytes(octets));
            clock.sleep_until(free_at);
        }
    };
    let _ = told.send(Happening::Ended { stream: index });
    is_lost
}
