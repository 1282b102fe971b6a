//! The receiving half: reassembly, the advertised window, and when to acknowledge.
//!
//! Sources: RFC 9293 section 3.8.6 (windows, silly-window avoidance, delayed ACKs), RFC 5681 section 4.2 (when to
//! acknowledge), RFC 2018 section 4 (SACK blocks), RFC 7323 (scaling, timestamp echo).
//!
//! Departures: none.

use ackclock_units::{Bandwidth, Bytes, SimTime};
use ackclock_wire::{SackBlock, SackBlocks, Seq};

use crate::config::{DelayedAck, MAX_UNSCALED_WINDOW, TcpConfig};
use crate::ranges::{Range, RangeSet};

/// What arrived, in offsets of the peer's stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) has_fin: bool,
    /// TSval, if the segment carried timestamps.
    pub(crate) tsval: Option<u32>,
}

/// The receiving half of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    rcv_nxt: u64,
    out_of_order: RangeSet,
    /// Ranges of `out_of_order`, the most recently changed first: the SACK blocks to report.
    recent: RecentRanges,
    fin_at: Option<u64>,
    buffer: u64,
    reader: Reader,
    /// The right edge of the window that the peer knows of; it never moves left.
    advertised_edge: u64,
    /// Shift of the windows that we advertise, after negotiation.
    scale: u8,
    mss: u64,
    delayed_ack: DelayedAck,
    /// In-order segments since the last ACK.
    unacknowledged: u32,
    ack_deadline: SimTime,
    ack_now: bool,
    last_ack_sent: u64,
    ts_recent: u32,
    peer_initial: u32,
}

/// The application that takes data out of the receive buffer.
#[derive(Clone, Copy, Debug)]
struct Reader {
    rate: Option<Bandwidth>,
    /// In order and not yet read, at `at`.
    unread: u64,
    at: SimTime,
}

impl Reader {
    fn catch_up(&mut self, now: SimTime) {
        let Some(rate) = self.rate else {
            self.unread = 0;
            return;
        };
        let read = rate.bytes_in(now.saturating_since(self.at)).0;
        if read >= self.unread {
            (self.unread, self.at) = (0, now);
        } else if read > 0 {
            self.unread -= read;
            // Keep the fraction of an octet that integer division leaves.
            self.at += rate.serialization_delay(Bytes(read)).min(now.saturating_since(self.at));
        }
    }

    /// When it will have read `octets` more.
    fn time_to_read(&self, octets: u64) -> SimTime {
        match self.rate {
            Some(rate) => self.at + rate.serialization_delay(Bytes(octets)),
            None => SimTime::NEVER,
        }
    }
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig, read_rate: Option<Bandwidth>) -> Self {
        Self {
            rcv_nxt: 0,
            out_of_order: RangeSet::default(),
            recent: RecentRanges::default(),
            fin_at: None,
            buffer: config.receive_buffer.0,
            reader: Reader { rate: read_rate, unread: 0, at: SimTime::ZERO },
            advertised_edge: 0,
            scale: 0,
            mss: u64::from(config.mss),
            delayed_ack: config.delayed_ack,
            unacknowledged: 0,
            ack_deadline: SimTime::NEVER,
            ack_now: false,
            last_ack_sent: 0,
            ts_recent: 0,
            peer_initial: 0,
        }
    }

    /// The smallest scale with which the window field can express the buffer (RFC 7323 section 2.3).
    pub(crate) fn scale_for(buffer: u64) -> u8 {
        (0..14).find(|shift| buffer >> shift <= MAX_UNSCALED_WINDOW.0).unwrap_or(14)
    }

    /// The peer's SYN arrived: its sequence numbers begin at `initial`.
    pub(crate) fn on_syn(&mut self, initial: u32, tsval: Option<u32>) {
        self.peer_initial = initial;
        self.rcv_nxt = 1;
        self.ts_recent = tsval.unwrap_or(0);
        self.ack_now = true;
    }

    /// Options are settled: windows from now on are shifted by `scale`.
    pub(crate) fn set_scale(&mut self, scale: u8) {
        self.scale = scale;
        self.buffer = self.buffer.min(MAX_UNSCALED_WINDOW.0 << scale);
    }

    pub(crate) fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// The offset that a sequence number of the peer means.
    pub(crate) fn offset_of(&self, seq: Seq) -> Option<u64> {
        seq.offset_near(self.peer_initial, self.rcv_nxt)
    }

    /// Octets of payload that the application has read at `now`.
    pub(crate) fn read_octets(&self, now: SimTime) -> u64 {
        let mut reader = self.reader;
        reader.catch_up(now);
        self.payload_octets() - reader.unread
    }

    /// Octets of payload received in order.
    pub(crate) fn payload_octets(&self) -> u64 {
        self.rcv_nxt.saturating_sub(1) - u64::from(self.is_finished())
    }

    /// When the application will have read `octets` in all, if they have arrived; `now` if it already has.
    pub(crate) fn time_of_read(&mut self, octets: u64, now: SimTime) -> Option<SimTime> {
        self.reader.catch_up(now);
        let received = self.payload_octets();
        if received < octets {
            return None;
        }
        let to_read = (octets + self.reader.unread).saturating_sub(received);
        Some(if to_read == 0 { now } else { self.reader.time_to_read(to_read) })
    }

    /// True once the peer's FIN has arrived in order.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.rcv_nxt > fin)
    }

    /// True if an ACK is due at once.
    pub(crate) fn needs_ack(&self) -> bool {
        self.ack_now
    }

    /// Asks for an ACK at once: an unacceptable segment, a probe (RFC 9293 section 3.10.7.4).
    pub(crate) fn request_ack(&mut self) {
        self.ack_now = true;
    }

    /// The next instant at which [`Self::on_timer`] has something to do.
    pub(crate) fn deadline(&self) -> SimTime {
        self.ack_deadline.min(self.window_update_deadline())
    }

    /// When the application will have read so much that the window is worth announcing; only while it holds the peer
    /// back, that is when less than a segment of it is left.
    fn window_update_deadline(&self) -> SimTime {
        if self.reader.rate.is_none() || self.advertised_edge - self.rcv_nxt >= self.worthwhile() {
            return SimTime::NEVER;
        }
        let free_wanted = self.advertised_edge - self.rcv_nxt + self.worthwhile();
        let unread_then = self.buffer.saturating_sub(free_wanted);
        self.reader.time_to_read(self.reader.unread.saturating_sub(unread_then))
    }

    /// RFC 9293 section 3.8.6.2.2: the right edge moves by at least min(buffer / 2, MSS), or not at all.
    fn worthwhile(&self) -> u64 {
        self.mss.min(self.buffer / 2).max(1)
    }

    pub(crate) fn on_timer(&mut self, now: SimTime) {
        if now >= self.ack_deadline {
            self.ack_now = true;
        }
        if now >= self.window_update_deadline() {
            self.reader.catch_up(now);
            self.ack_now = true;
        }
    }

    /// Takes a segment that holds data or FIN.
    pub(crate) fn on_arrival(&mut self, now: SimTime, arrival: &Arrival) {
        self.echo(arrival);
        // Cut off what lies outside the window.
        let window_end = self.advertised_edge.max(self.rcv_nxt);
        let start = arrival.start.max(self.rcv_nxt);
        let end = (arrival.start + arrival.len).min(window_end);
        let fin_at = arrival.start + arrival.len;
        if arrival.has_fin && fin_at <= window_end {
            self.fin_at = Some(fin_at);
        }
        let before = self.rcv_nxt;
        if start < end {
            self.place(start, end);
        }
        if self.fin_at == Some(self.rcv_nxt) {
            self.rcv_nxt += 1;
            self.ack_now = true;
        }
        self.reader.catch_up(now);
        if self.reader.rate.is_some() {
            self.reader.unread += self.payload_octets() - payload_before(before);
        }
        if self.rcv_nxt == before {
            self.ack_now = true; // out of order, a duplicate, or beyond the window (RFC 5681 section 4.2)
        } else {
            self.count_for_delayed_ack(now);
        }
    }

    fn place(&mut self, start: u64, end: u64) {
        if start == self.rcv_nxt {
            self.rcv_nxt = end;
            if !self.out_of_order.is_empty() {
                // Filling a hole, all or part of it, is acknowledged at once (RFC 5681 section 4.2).
                self.ack_now = true;
                while let Some(range) = self.out_of_order.take_front_reaching(self.rcv_nxt) {
                    self.rcv_nxt = self.rcv_nxt.max(range.end);
                }
            }
        } else if let Some(last) = self.out_of_order.extend_last(start, end) {
            self.recent.on_lengthened(Range { start: last.start, end });
        } else {
            let merged = self.out_of_order.insert(start, end, |_| {});
            self.recent.on_changed(merged);
        }
    }

    /// RFC 5681 section 4.2: at least every n-th segment, and within the timeout.
    fn count_for_delayed_ack(&mut self, now: SimTime) {
        self.unacknowledged += 1;
        if self.unacknowledged >= self.delayed_ack.segments {
            self.ack_now = true;
        } else if self.ack_deadline == SimTime::NEVER {
            self.ack_deadline = now + self.delayed_ack.timeout;
        }
    }

    /// RFC 7323 section 4.3: TS.Recent is taken from the segment that the last ACK awaited.
    fn echo(&mut self, arrival: &Arrival) {
        if let Some(tsval) = arrival.tsval
            && arrival.start <= self.last_ack_sent
        {
            self.ts_recent = tsval;
        }
    }

    /// What an outgoing segment says of the receiving half. Settles every ACK that was due.
    pub(crate) fn acknowledgement(&mut self, now: SimTime) -> Acknowledgement {
        self.ack_now = false;
        self.ack_deadline = SimTime::NEVER;
        self.unacknowledged = 0;
        self.last_ack_sent = self.rcv_nxt;
        self.reader.catch_up(now);
        let edge = self.rcv_nxt + (self.buffer - self.reader.unread.min(self.buffer));
        if edge >= self.advertised_edge + self.worthwhile() || self.advertised_edge == 0 {
            self.advertised_edge = edge;
        }
        // What the field cannot express is not advertised (the shift rounds down).
        let field = ((self.advertised_edge.saturating_sub(self.rcv_nxt)) >> self.scale).min(MAX_UNSCALED_WINDOW.0);
        Acknowledgement {
            ack: Seq::of_offset(self.peer_initial, self.rcv_nxt),
            window: field as u16,
            ts_recent: self.ts_recent,
        }
    }

    /// The window of a SYN is never scaled (RFC 7323 section 2.2).
    pub(crate) fn syn_window(&mut self) -> u16 {
        let window = self.buffer.min(MAX_UNSCALED_WINDOW.0);
        self.advertised_edge = self.rcv_nxt.max(1) + window;
        window as u16
    }

    /// The SACK blocks to send, at most `limit` (RFC 2018 section 4).
    pub(crate) fn sack_blocks(&mut self, limit: usize) -> SackBlocks {
        if self.out_of_order.is_empty() {
            self.recent = RecentRanges::default();
            return SackBlocks::default();
        }
        self.recent.forget_below(self.rcv_nxt);
        let seq = |offset| Seq::of_offset(self.peer_initial, offset);
        let blocks = self.recent.ranges.map(|range| SackBlock { start: seq(range.start), end: seq(range.end) });
        SackBlocks::new(blocks, self.recent.len.min(limit))
    }
}

/// The four ranges changed last. A range changes only by growing into the newest one, so those kept are exact.
#[derive(Clone, Copy, Debug, Default)]
struct RecentRanges {
    ranges: [Range; 4],
    len: usize,
    forgotten_below: u64,
}

impl RecentRanges {
    fn retain(&mut self, keep: impl Fn(Range) -> bool) {
        let mut kept = 0;
        for index in 0..self.len {
            if keep(self.ranges[index]) {
                self.ranges[kept] = self.ranges[index];
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// `range` has just been made or has grown; it has swallowed whatever it overlaps.
    fn on_changed(&mut self, range: Range) {
        self.retain(|known| known.end < range.start || range.end < known.start);
        self.len = (self.len + 1).min(self.ranges.len());
        self.ranges[..self.len].rotate_right(1);
        self.ranges[0] = range;
    }

    /// `range` has grown at its end and swallowed nothing.
    fn on_lengthened(&mut self, range: Range) {
        if self.len > 0 && self.ranges[0].start == range.start {
            self.ranges[0] = range;
        } else {
            self.on_changed(range);
        }
    }

    /// Nothing below `offset` is out of order any more.
    fn forget_below(&mut self, offset: u64) {
        if self.forgotten_below != offset {
            self.forgotten_below = offset;
            self.retain(|known| known.end > offset);
        }
    }
}

/// Payload octets before `rcv_nxt`: all but the SYN.
fn payload_before(rcv_nxt: u64) -> u64 {
    rcv_nxt.saturating_sub(1)
}

/// What every segment after the SYN carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    pub(crate) ack: Seq,
    pub(crate) window: u16,
    pub(crate) ts_recent: u32,
}
