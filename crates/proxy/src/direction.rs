//! One direction of a connection: octets from one socket to the other, then how it ended.
//!
//! Few octets at a time are copied; where they come by the bufferful they are spliced, through a pipe that is borrowed while
//! there is something in it, and copied where no pipe is free. What was taken from one socket leaves for the other before
//! anything else happens to that: a FIN, or a reset, never overtakes what came before it.
//!
//! **Urgent data** (RFC 9293 section 3.8.5) stays urgent: reading stops at the mark, and the octet behind it is sent on with
//! `MSG_OOB`. RFC 6093 advises receivers to read it in line; which a receiver does remains its own choice, as without a proxy.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustix::pipe::{SpliceFlags, splice};

use crate::pipes::{Pipe, Pipes};
use crate::sys;

/// Octets that a direction carries before others have their turn.
const TURN: usize = 4 << 20;

/// Octets that are copied at a time.
pub const COPIED_AT_A_TIME: usize = 64 << 10;

/// Number of octets in a copy above which splicing follows, and in a splice below which copying follows.
const BULK: usize = 16 << 10;

/// One of the two sockets.
#[derive(Debug)]
pub struct Endpoint {
    /// The non-blocking socket.
    pub socket: OwnedFd,
    /// There may be something to read.
    pub is_readable: bool,
    /// There may be room to write.
    pub is_writable: bool,
    /// The peer is gone: reset, or given up.
    pub is_reset: bool,
    /// The kernel gave it up: it did not acknowledge, or could no longer be reached.
    pub is_lost: bool,
}

impl Endpoint {
    /// An endpoint with a socket that is connected, or about to be.
    pub fn new(socket: OwnedFd, is_connected: bool) -> Self {
        Self { socket, is_readable: is_connected, is_writable: is_connected, is_reset: false, is_lost: false }
    }

    /// The peer is gone. What it sent before may still be there to read.
    pub fn on_reset(&mut self) {
        (self.is_reset, self.is_readable, self.is_writable) = (true, true, false);
    }

    /// Takes in an error of the socket: the peer is gone.
    pub fn on_error(&mut self, error: Option<Errno>) {
        self.is_lost |= matches!(error, Some(Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NETUNREACH));
        self.on_reset();
    }
}

/// End of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It has not ended.
    #[default]
    Open,
    /// It ended with a FIN.
    Fin,
    /// It ended with a reset.
    Reset,
}

/// Reason for which a direction stopped for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The socket is not ready; epoll reports when it is.
    Blocked,
    /// Others have their turn; there may be more to do now.
    Turn,
}

/// Resources that the directions of one thread share.
#[derive(Debug)]
pub struct Carrier {
    /// Pipes that directions borrow.
    pub pipes: Pipes,
    /// Buffer through which octets are copied.
    buffer: Box<[u8]>,
    /// Octets that were copied and not yet taken by a socket.
    pub held: usize,
    /// Largest value of `held`.
    held_most: usize,
}

impl Carrier {
    /// A carrier with these pipes, and at most `held_most` octets that sockets do not take at once.
    pub fn new(pipes: Pipes, held_most: usize) -> Self {
        Self { pipes, buffer: vec![0; COPIED_AT_A_TIME].into(), held: 0, held_most }
    }
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct Direction {
    /// Octets taken from the source.
    pub taken: u64,
    /// Octets handed to the destination.
    pub written: u64,
    /// Its end, as far as the source has sent it.
    pub end: End,
    /// The destination has been sent a FIN.
    pub is_fin_sent: bool,
    /// Something urgent is under way.
    pub is_urgent: bool,
    /// Octets that the destination may have unsent; none: as many as its socket takes.
    ///
    /// `TCP_NOTSENT_LOWAT` alone does not bound them: writing goes on until a whole buffer of the kernel's (64 KiB) is full.
    pub unsent_most: Option<usize>,
    /// Nothing more of it can arrive: its destination is gone.
    is_dead: bool,
    is_bulk: bool,
    pipe: Option<Pipe>,
    in_pipe: usize,
    held: Vec<u8>,
    held_from: usize,
    urgent_octet: Option<u8>,
}

impl Direction {
    /// Octets that were taken and not handed on.
    pub fn pending(&self) -> usize {
        self.in_pipe + self.held.len() - self.held_from + usize::from(self.urgent_octet.is_some())
    }

    /// Nothing more of it can arrive: its destination is gone.
    pub fn is_abandoned(&self) -> bool {
        self.is_dead
    }

    /// Everything was handed on, the end included.
    pub fn is_done(&self) -> bool {
        self.pending() == 0 && (self.end == End::Reset || self.end == End::Fin && self.is_fin_sent)
    }

    /// Sends this before anything else.
    pub fn begin_with(&mut self, octets: &[u8], carrier: &mut Carrier) {
        self.taken += octets.len() as u64;
        self.hold(octets, carrier);
    }

    /// Gives up what is pending: its destination is gone.
    pub fn abandon(&mut self, carrier: &mut Carrier) {
        carrier.held -= self.held.len();
        self.held = Vec::new();
        (self.held_from, self.in_pipe, self.urgent_octet, self.is_dead) = (0, 0, None, true);
        if let Some(pipe) = self.pipe.take() {
            carrier.pipes.discard(pipe);
        }
    }

    /// Carries what can be carried now.
    pub fn pump(&mut self, from: &mut Endpoint, to: &mut Endpoint, carrier: &mut Carrier) -> Pause {
        let until = self.taken + TURN as u64;
        loop {
            if self.is_dead {
                return Pause::Blocked;
            }
            if let Err(error) = self.flush(to, from.is_readable, carrier) {
                return self.on_write_error(&error, to, carrier);
            }
            match self.end {
                End::Fin => self.send_fin(to),
                End::Open if from.is_readable && to.is_writable => {}
                _ => return Pause::Blocked,
            }
            if self.end != End::Open {
                return Pause::Blocked;
            }
            if self.taken >= until {
                return Pause::Turn;
            }
            let Some(room) = self.room(to) else { return Pause::Blocked };
            if let Err(error) = self.fill(from, to, room, carrier) {
                return self.on_write_error(&error, to, carrier);
            }
        }
    }

    /// Hands on what was taken; an error unless everything went.
    fn flush(&mut self, to: &mut Endpoint, is_more: bool, carrier: &mut Carrier) -> io::Result<()> {
        while self.held_from < self.held.len() {
            let sent = send(&to.socket, &self.held[self.held_from..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
            self.held_from += sent;
            self.written += sent as u64;
        }
        if !self.held.is_empty() {
            carrier.held -= self.held.len();
            (self.held, self.held_from) = (Vec::new(), 0);
        }
        if let Some(octet) = self.urgent_octet {
            send(&to.socket, &[octet], SendFlags::NOSIGNAL | SendFlags::DONTWAIT | SendFlags::OOB)?;
            (self.urgent_octet, self.written) = (None, self.written + 1);
        }
        let Some(pipe) = &self.pipe else { return Ok(()) };
        // Only of what fills a pipe it is sure that more follows; the end of a burst would wait for its ACKs.
        let fills = self.in_pipe >= carrier.pipes.size();
        let more = if is_more && fills { SpliceFlags::MORE } else { SpliceFlags::empty() };
        while self.in_pipe > 0 {
            let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK | more;
            let sent = splice(&pipe.output, None, &to.socket, None, self.in_pipe, flags)?;
            if sent == 0 {
                return Err(Errno::PIPE.into());
            }
            self.in_pipe -= sent;
            self.written += sent as u64;
        }
        if let Some(pipe) = self.pipe.take() {
            carrier.pipes.give_back(pipe);
        }
        Ok(())
    }

    fn on_write_error(&mut self, error: &io::Error, to: &mut Endpoint, carrier: &mut Carrier) -> Pause {
        match error.kind() {
            ErrorKind::WouldBlock => to.is_writable = false,
            ErrorKind::Interrupted => return Pause::Turn,
            _ => {
                to.on_error(Errno::from_io_error(error));
                self.abandon(carrier);
            }
        }
        Pause::Blocked
    }

    fn send_fin(&mut self, to: &mut Endpoint) {
        if !self.is_fin_sent {
            self.is_fin_sent = true;
            if shutdown(&to.socket, Shutdown::Write).is_err() {
                to.on_reset();
            }
        }
    }

    /// Number of octets that the destination may be handed now; none while half of what it may have unsent, or more,
    /// is: then the kernel, whose `TCP_NOTSENT_LOWAT` is the same number, reports when that is no longer so.
    fn room(&self, to: &mut Endpoint) -> Option<usize> {
        let Some(most) = self.unsent_most else { return Some(usize::MAX) };
        let unsent = sys::not_sent(&to.socket).map_or(0, |octets| octets as usize);
        if 2 * unsent < most {
            return Some(most - unsent);
        }
        // Asking is also what has the kernel tell.
        let mut asked = [PollFd::new(&to.socket, PollFlags::OUT)];
        let is_writable = poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0);
        if is_writable {
            return Some((most / 2).max(1));
        }
        to.is_writable = false;
        None
    }

    /// Takes at most `room` octets from the source, or its end. Nothing is pending when this is called. An error is the destination's.
    fn fill(&mut self, from: &mut Endpoint, to: &Endpoint, room: usize, carrier: &mut Carrier) -> io::Result<()> {
        if self.is_urgent && self.forward_urgent(from) {
            return Ok(());
        }
        if self.is_bulk
            && !self.is_urgent
            && let Some(pipe) = carrier.pipes.borrow()
        {
            let size = room.min(carrier.pipes.size());
            let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
            match splice(&from.socket, None, &pipe.input, None, size, flags) {
                Ok(octets) if octets > 0 => {
                    self.taken += octets as u64;
                    self.is_bulk = octets >= BULK || self.unsent_most.is_some();
                    (self.in_pipe, self.pipe) = (octets, Some(pipe));
                    return Ok(());
                }
                ended => {
                    carrier.pipes.give_back(pipe);
                    // Splicing stops before an urgent octet as it does at the end: copying knows the difference.
                    self.is_bulk = false;
                    match ended {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(Errno::AGAIN) => {
                            from.is_readable = false;
                            return Ok(());
                        }
                        // The kernel reports an error once: copying would take what follows for an end in order.
                        Err(error) => {
                            from.on_error(Some(error));
                            self.end = End::Reset;
                            return Ok(());
                        }
                    }
                }
            }
        }
        let mut buffer = std::mem::take(&mut carrier.buffer);
        let most = room.min(buffer.len());
        let copied = self.copy(from, to, &mut buffer[..most], carrier);
        carrier.buffer = buffer;
        copied
    }

    /// Copies octets. Without memory for octets that the destination does not take, only as many as it takes are read:
    /// a connection that holds none never waits for those that hold many.
    fn copy(&mut self, from: &mut Endpoint, to: &Endpoint, buffer: &mut [u8], carrier: &mut Carrier) -> io::Result<()> {
        let has_memory = carrier.held < carrier.held_most;
        let looking = if has_memory { RecvFlags::empty() } else { RecvFlags::PEEK };
        match recv(&from.socket, &mut *buffer, RecvFlags::DONTWAIT | looking) {
            Ok((0, _)) => self.end = if from.is_reset { End::Reset } else { End::Fin },
            Ok((octets, _)) if has_memory => {
                self.taken += octets as u64;
                self.is_bulk = octets >= BULK;
                self.hold(&buffer[..octets], carrier);
            }
            Ok((octets, _)) => {
                let sent = send(&to.socket, &buffer[..octets], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
                // The octets are there: they were looked at.
                let _ = recv(&from.socket, &mut buffer[..sent], RecvFlags::DONTWAIT);
                (self.taken, self.written) = (self.taken + sent as u64, self.written + sent as u64);
            }
            Err(Errno::AGAIN) => from.is_readable = false,
            Err(Errno::INTR) => {}
            Err(error) => {
                from.on_error(Some(error));
                self.end = End::Reset;
            }
        }
        Ok(())
    }

    fn hold(&mut self, octets: &[u8], carrier: &mut Carrier) {
        self.held.extend_from_slice(octets);
        carrier.held += octets.len();
    }

    /// Sends on an urgent octet if it is the next; true if it was.
    fn forward_urgent(&mut self, from: &mut Endpoint) -> bool {
        if !sys::is_at_mark(from.socket.as_fd()).unwrap_or(false) {
            return false;
        }
        self.is_urgent = false;
        let mut octet = [0];
        match recv(&from.socket, &mut octet, RecvFlags::OOB | RecvFlags::DONTWAIT) {
            Ok((1, _)) => {
                self.taken += 1;
                self.urgent_octet = Some(octet[0]);
                true
            }
            // It has not come, or is read in line.
            _ => false,
        }
    }
}
