//! A connection from its SYN to its end: the applications of the simulator, which say what to write when, on real sockets.

use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ackclock_sim::{Action, AfterRead, App, Outlet, VideoSummary};
use ackclock_units::{Bytes, SimTime};

use super::ends::Ends;
use super::reading::{self, Reader};
use super::writing::{self, Order};
use crate::clock::WallClock;

/// An application that always has more is this many octets ahead of its socket: more than a gigabit a second takes until it is asked
/// again.
const AHEAD: u64 = 128 << 10;

/// Interval at which a waiting thread checks whether the run is over.
const LOOK: Duration = Duration::from_millis(50);

/// Message of a thread to the one that runs the applications.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// The receiver of a stream has read what its application wanted.
    Read {
        /// Number of the stream.
        stream: usize,
        /// Time of the read.
        time: SimTime,
    },
    /// Nothing more will be read of a stream.
    Ended {
        /// Number of the stream.
        stream: usize,
    },
}

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// Time of the request.
    pub start: SimTime,
    /// Time at which all of the response had been read.
    pub end: SimTime,
    /// Octets of the request.
    pub request: Bytes,
    /// Octets of the response.
    pub response: Bytes,
}

/// Results of a connection beside counts.
#[derive(Debug, Default)]
pub struct Held {
    /// Requests that were answered.
    pub exchanges: Vec<Exchanged>,
    /// Playback of a video, if there was one.
    pub video: Option<VideoSummary>,
}

/// One connection at work.
struct Conversation<'a> {
    ends: &'a Ends,
    clock: WallClock,
    apps: Vec<App>,
    orders: Vec<Sender<Order>>,
    /// Octets ordered to be written, by stream.
    ordered: Vec<u64>,
    wakes: Vec<Option<SimTime>>,
    exchanges: Vec<Exchanged>,
}

/// Schedule of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// Time at which it is opened.
    pub start: SimTime,
    /// Address to connect to.
    pub to: SocketAddrV4,
    /// Reading by the acceptor's application.
    pub reader: Reader,
    /// Time at which the opener's application resets it.
    pub abort_at: Option<SimTime>,
}

/// Opens a connection at its start and holds it until `stop` is set.
pub fn hold(ends: &Ends, apps: Vec<App>, course: Course, clock: WallClock, stop: &AtomicBool) -> io::Result<Held> {
    let Course { start, to, reader, abort_at } = course;
    if !reaches(start, clock, stop) {
        return Ok(Held::default());
    }
    thread::scope(|scope| {
        let aborting =
            abort_at.map(|time| scope.spawn(move || if reaches(time, clock, stop) { ends.abort() } else { Ok(()) }));
        let (tell, told) = channel();
        let accepting = {
            let tell = tell.clone();
            scope.spawn(move || accept(ends, reader, &tell, clock))
        };
        if ends.opener.connect(&to.into()).is_err() && !stop.load(Ordering::Relaxed) {
            // Refused, or given up after the last SYN; the acceptor waits no longer.
            ends.streams[0].abort();
            let _ = ends.listener.shutdown(Shutdown::Both);
        }
        let mut orders = Vec::new();
        for (index, stream) in ends.streams.iter().enumerate() {
            let (order, ordered) = channel();
            orders.push(order);
            scope.spawn(move || {
                if let Some(socket) = wait_for_sender(ends, index, stop) {
                    writing::write(socket, &ordered, stream, stop);
                }
            });
        }
        if let Some(stream) = ends.streams.get(1) {
            scope.spawn(move || {
                if reading::read(&ends.opener, stream, 1, Reader::default(), &tell, clock) {
                    ends.streams[0].abort();
                }
            });
        }
        let count = apps.len();
        let mut conversation = Conversation {
            ends,
            clock,
            apps,
            orders,
            ordered: vec![0; count],
            wakes: vec![Some(SimTime::ZERO); count],
            exchanges: Vec::new(),
        };
        conversation.run(&told, stop);
        let Conversation { orders, exchanges, apps, .. } = conversation;
        drop(orders);
        accepting.join().expect("accepting does not panic")?;
        aborting.map_or(Ok(()), |thread| thread.join().expect("a reset does not panic"))?;
        Ok(Held { exchanges, video: apps[0].video_summary(clock.now()) })
    })
}

/// The acceptor's socket is there when the handshake is over.
fn wait_for_sender<'a>(ends: &'a Ends, stream: usize, stop: &AtomicBool) -> Option<&'a socket2::Socket> {
    loop {
        match ends.sender(stream) {
            Some(socket) => return Some(socket),
            None if stop.load(Ordering::Relaxed) => return None,
            None => thread::sleep(Duration::from_micros(200)),
        }
    }
}

/// Waits until `start`; false if `stop` is set before. The clock reads zero for a while before the run begins, so that it is
/// asked how long there is left: a SYN that left early would wait for the network, and its round trip be too long.
fn reaches(start: SimTime, clock: WallClock, stop: &AtomicBool) -> bool {
    loop {
        let left = clock.until(start);
        if left.is_zero() || stop.load(Ordering::Relaxed) {
            return left.is_zero();
        }
        thread::sleep(left.min(LOOK));
    }
}

/// Accepts the one connection, and reads what it brings.
fn accept(ends: &Ends, reader: Reader, tell: &Sender<Happening>, clock: WallClock) -> io::Result<()> {
    let Ok((socket, _)) = ends.listener.accept() else { return Ok(()) };
    socket.set_linger(Some(Duration::ZERO))?;
    let socket = ends.acceptor.get_or_init(|| socket);
    if reading::read(socket, &ends.streams[0], 0, reader, tell, clock)
        && let Some(stream) = ends.streams.get(1)
    {
        stream.abort();
    }
    Ok(())
}

impl Conversation<'_> {
    fn run(&mut self, told: &Receiver<Happening>, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let next = self.wakes.iter().flatten().min().copied();
            let wait = next.map_or(LOOK, |time| self.clock.until(time).min(LOOK));
            match told.recv_timeout(wait) {
                Ok(Happening::Read { stream, time }) => self.on_read(stream, time),
                Ok(Happening::Ended { stream }) => self.on_end(stream),
                Err(RecvTimeoutError::Timeout) => self.wake(),
                // Nobody reads any more.
                Err(RecvTimeoutError::Disconnected) => {
                    self.wake();
                    thread::sleep(wait);
                }
            }
        }
    }

    /// Applications whose time has come.
    fn wake(&mut self) {
        let now = self.clock.now();
        for stream in 0..self.apps.len() {
            if let Some(time) = self.wakes[stream].filter(|time| *time <= now) {
                self.wakes[stream] = None;
                let unsent = self.ordered[stream] - self.ends.streams[stream].written.load(Ordering::Relaxed);
                let room = Bytes(AHEAD.saturating_sub(unsent));
                let outlet = Outlet { unsent: Bytes(unsent), room, refill: None };
                // It acts at its own time, however late this thread is; at first, when the connection is open.
                let at = if time == SimTime::ZERO { now } else { time };
                let action = self.apps[stream].act(at, outlet);
                self.perform(stream, action);
            }
        }
    }

    fn perform(&mut self, stream: usize, action: Action) {
        let Action { write, close, wake_at, tell_when_read } = action;
        self.wakes[stream] = wake_at.or(self.wakes[stream]);
        if let Some(octets) = tell_when_read {
            self.ends.streams[stream].wanted.store(octets.0, Ordering::Release);
        }
        if write > Bytes::ZERO {
            self.ordered[stream] += write.0;
            let _ = self.orders[stream].send(Order::Write(write.0));
        }
        if close {
            let _ = self.orders[stream].send(Order::Close);
        }
    }

    /// The receiver has read what the application waited for.
    fn on_read(&mut self, stream: usize, now: SimTime) {
        self.ends.streams[stream].wanted.store(u64::MAX, Ordering::Release);
        match self.apps[stream].on_read(now) {
            AfterRead::WakeAt(time) => self.wakes[stream] = Some(time),
            AfterRead::Complete => self.ends.streams[stream].complete(self.ends.border(stream, now)),
            AfterRead::Respond => {
                let octets = self.apps[stream].wanted_response().expect("a request that was read was made");
                let action = self.apps[1].respond(octets);
                self.perform(1, action);
            }
            AfterRead::Responded => self.on_responded(now),
        }
    }

    /// The opener has read the response: it goes on, or both ends close.
    fn on_responded(&mut self, now: SimTime) {
        let response = self.apps[0].wanted_response().expect("a response was asked for");
        let (start, both, next) = self.apps[0].on_response(now).expect("a response was asked for");
        self.exchanges.push(Exchanged { start, end: now, request: both - response, response });
        if next.is_some() {
            self.wakes[0] = next;
            return;
        }
        for stream in 0..self.apps.len() {
            self.ends.streams[stream].complete(self.ends.border(stream, now));
            self.perform(stream, Action { close: true, ..Action::default() });
        }
    }

    /// The peer has closed: an end that sends nothing itself closes, too.
    fn on_end(&mut self, stream: usize) {
        if stream == 0
            && self.apps.len() == 1
            && let Some(acceptor) = self.ends.acceptor.get()
        {
            let _ = acceptor.shutdown(Shutdown::Write);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_connection_of_the_first_instant_waits_for_the_run_to_begin() {
        let (made, lead) = (Instant::now(), Duration::from_millis(30));
        let clock = WallClock::start_in(lead);
        assert!(reaches(SimTime::ZERO, clock, &AtomicBool::new(false)));
        assert!(made.elapsed() >= lead);
        assert!(!reaches(SimTime(1 << 40), clock, &AtomicBool::new(true)));
    }
}
