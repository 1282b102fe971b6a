//! An end that follows its script, and what it saw.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ackclock_proxy::sys;
use socket2::SockRef;

use crate::case::Step;
use crate::stream;

/// Nothing in a case takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

/// End of the stream that an end read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// It closed before it had read to the end.
    #[default]
    Unread,
    /// The stream ended with a FIN.
    Fin,
    /// The stream ended with a reset, or there was no connection.
    Reset,
    /// Not at all within the time that everything has.
    Never,
}

/// Observations of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    /// Octets in their order.
    pub(crate) received: u64,
    /// Some of them were not those that were sent.
    pub(crate) is_wrong: bool,
    /// End of the octets.
    pub(crate) end: End,
}

/// Meeting point of the two ends of a case.
#[derive(Default)]
pub(crate) struct Meeting {
    there: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    fn meet(&self, times: usize) {
        let mut there = self.there.lock().expect("nobody panics with it");
        *there += 1;
        self.changed.notify_all();
        let until = Instant::now() + Duration::from_secs(1);
        while *there < 2 * times && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            there = self.changed.wait_timeout(there, left).expect("nobody panics with it").0;
        }
    }
}

/// An end at work.
pub(crate) struct Endpoint<'a> {
    socket: Option<TcpStream>,
    /// The number of the stream that it sends; it reads the other.
    sends: u64,
    reads: u64,
    sent: u64,
    is_broken: bool,
    met: usize,
    meeting: &'a Meeting,
    seen: Seen,
    until: Instant,
}

impl<'a> Endpoint<'a> {
    /// An end with a connection, or without one if that failed.
    pub(crate) fn new(socket: io::Result<TcpStream>, is_client: bool, meeting: &'a Meeting) -> Self {
        let (sends, reads) = if is_client { (1, 2) } else { (2, 1) };
        let end = if socket.is_err() { End::Reset } else { End::Unread };
        let seen = Seen { end, ..Seen::default() };
        Self {
            socket: socket.ok(),
            sends,
            reads,
            sent: 0,
            is_broken: false,
            met: 0,
            meeting,
            seen,
            until: Instant::now() + PATIENCE,
        }
    }

    /// Follows the script, then reads what is left.
    pub(crate) fn follow(mut self, steps: &[Step]) -> Seen {
        for step in steps {
            self.take(*step);
        }
        self.read(u64::MAX, 65_536);
        self.seen
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Send(octets) => self.send(octets, 65_536),
            Step::SendBy(octets, at_a_time) => self.send(octets, at_a_time),
            Step::SendUrgent => {
                if let Some(socket) = &self.socket {
                    let _ = SockRef::from(socket).send_out_of_band(b"!");
                }
            }
            Step::Read(octets) => self.read(octets, 65_536),
            Step::ReadToEnd(at_a_time) => self.read(u64::MAX, at_a_time),
            Step::Fin => {
                if let Some(socket) = &self.socket {
                    let _ = socket.shutdown(std::net::Shutdown::Write);
                }
            }
            Step::Close => self.socket = None,
            Step::Reset => {
                self.drain();
                self.reset();
            }
            Step::ResetAtOnce => self.reset(),
            Step::Meet => {
                self.met += 1;
                self.meeting.meet(self.met);
            }
            Step::Wait(millis) => thread::sleep(Duration::from_millis(millis)),
        }
    }

    fn send(&mut self, octets: u64, at_a_time: u64) {
        let Some(mut socket) = self.socket.as_ref() else { return };
        let _ = socket.set_nodelay(true);
        let until = self.sent + octets;
        let mut buffer = vec![0; at_a_time.min(octets) as usize];
        while self.sent < until {
            let length = at_a_time.min(until - self.sent) as usize;
            stream::fill(self.sends, self.sent, &mut buffer[..length]);
            let _ = socket.set_write_timeout(Some(self.left()));
            match socket.write(&buffer[..length]) {
                Ok(written) => self.sent += written as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.is_broken = true;
                    return;
                }
            }
        }
    }

    fn read(&mut self, octets: u64, at_a_time: u64) {
        let until = self.seen.received.saturating_add(octets);
        let mut buffer = vec![0; at_a_time.min(octets).max(1) as usize];
        while self.seen.end == End::Unread && self.seen.received < until {
            let Some(mut socket) = self.socket.as_ref() else { return };
            let _ = socket.set_read_timeout(Some(self.left()));
            let length = at_a_time.min(until - self.seen.received) as usize;
            match socket.read(&mut buffer[..length]) {
                // The kernel reports a reset once, and writing received it.
                Ok(0) => self.seen.end = if self.is_broken { End::Reset } else { End::Fin },
                Ok(read) => {
                    self.seen.is_wrong |= !stream::is_right(self.reads, self.seen.received, &buffer[..read]);
                    self.seen.received += read as u64;
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => self.seen.end = End::Never,
                    ErrorKind::Interrupted => {}
                    _ => self.seen.end = End::Reset,
                },
            }
        }
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    /// Waits until everything that was sent has been acknowledged.
    fn drain(&self) {
        while let Some(socket) = &self.socket
            && sys::not_acknowledged(socket).unwrap_or(0) > 0
            && Instant::now() < self.until
        {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn reset(&mut self) {
        if let Some(socket) = self.socket.take() {
            let _ = sys::set_reset_on_close(&socket, true);
        }
    }
}
