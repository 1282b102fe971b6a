//! The receiving half: reassembly, the advertised window, and when to acknowledge.
//!
//! Sources: RFC 9293 section 3.8.6 (windows, silly-window avoidance), RFC 5681 section 4.2 (when to acknowledge), RFC 2018
//! section 4 (SACK blocks), RFC 2883 (reports of duplicates), RFC 7323 (scaling, timestamp echo, PAWS).
//!
//! Departures: a timestamp is never outdated (RFC 7323 section 5.5), and a segment without one is taken.

mod invariants;
mod reader;
mod reports;
mod window;

use ackclock_units::{SimDuration, SimTime};
use ackclock_wire::{Seq, Timestamps};

use crate::autotuning::ReceiveAutotuning;
use crate::clock::is_before;
use crate::config::{MAX_UNSCALED_WINDOW, TcpConfig};
use crate::delayed_ack::{Data, DelayedAcks};
use crate::ranges::{Range, RangeSet};
use crate::rto::RtoTimer;
use crate::sack_compression::SackCompression;
use crate::ticks::Ticks;
pub(crate) use reader::Reader;
pub use reader::Reading;
use reports::RecentRanges;

/// A segment that arrived, in offsets of the peer's stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) has_fin: bool,
    pub(crate) is_pushed: bool,
    /// The sender's timeout, which bounds the delay of an ACK, and its smoothed round trip, zero before it is measured.
    pub(crate) rto: &'a RtoTimer,
}

/// The receiving half of an endpoint.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    rcv_nxt: u64,
    /// The right edge of the window that the peer knows of; it never moves left.
    advertised_edge: u64,
    /// No right edge beyond this is advertised, whatever the buffer has room for.
    granted_edge: u64,
    last_ack_sent: u64,
    buffer: u64,
    mss: u64,
    ts_recent: u32,
    peer_initial: u32,
    /// Shift of the windows that we advertise, after negotiation.
    scale: u8,
    /// Duplicates are reported in a DSACK.
    dsack: bool,
    has_timestamps: bool,
    /// SACK is used: an ACK whose window has changed is no less of a duplicate.
    reports_ranges: bool,
    fin_at: Option<u64>,
    reader: Reader,
    pub(crate) acks: DelayedAcks,
    /// Octets that came into order as a hole was filled, which the application has not read yet when that is acknowledged.
    being_read: u64,
    tuning: Option<Box<ReceiveAutotuning>>,
    compression: Option<Box<SackCompression>>,
    /// An ACK has left for the segment that has just come, without covering it.
    has_reported: bool,
    /// The duplicate to report next.
    duplicate: Option<Range>,
    out_of_order: RangeSet,
    /// Ranges of `out_of_order`, the most recently changed first: the SACK blocks to report.
    recent: RecentRanges,
    /// Segments that arrived above a hole.
    out_of_order_segments: u64,
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig, reading: Reading) -> Self {
        let tuning = config.receive_autotuning.map(|tuning| Box::new(ReceiveAutotuning::new(tuning)));
        Self {
            rcv_nxt: 0,
            out_of_order: RangeSet::default(),
            recent: RecentRanges::default(),
            out_of_order_segments: 0,
            being_read: 0,
            fin_at: None,
            buffer: tuning.as_ref().map_or(config.receive_buffer.0, |tuning| tuning.window()),
            granted_edge: u64::MAX,
            reader: Reader::new(reading),
            advertised_edge: 0,
            scale: 0,
            mss: u64::from(config.mss),
            acks: DelayedAcks::new(config.delayed_ack, Ticks::of(&config.rto), config.gro),
            tuning,
            has_reported: false,
            compression: config.sack_compression.map(|config| Box::new(SackCompression::new(config))),
            dsack: config.dsack,
            duplicate: None,
            last_ack_sent: 0,
            ts_recent: 0,
            has_timestamps: false,
            reports_ranges: false,
            peer_initial: 0,
        }
    }

    /// The smallest scale with which the window field can express the buffer (RFC 7323 section 2.3).
    fn scale_for(buffer: u64) -> u8 {
        (0..14).find(|shift| buffer >> shift <= MAX_UNSCALED_WINDOW.0).unwrap_or(14)
    }

    /// The peer's SYN arrived: its sequence numbers begin at `initial`.
    pub(crate) fn on_syn(&mut self, initial: u32, tsval: Option<u32>) {
        self.peer_initial = initial;
        self.rcv_nxt = 1;
        self.ts_recent = tsval.unwrap_or(0);
        self.has_timestamps = tsval.is_some();
        self.acks.request();
    }

    /// The scale to ask for: for the largest that the buffer may become.
    pub(crate) fn own_scale(&self) -> u8 {
        Self::scale_for(self.tuning.as_ref().map_or(self.buffer, |tuning| tuning.largest()))
    }

    /// Options are settled: windows from now on are shifted by `scale`.
    pub(crate) fn set_scale(&mut self, scale: u8, mss: u64) {
        self.scale = scale;
        if self.tuning.is_some() {
            self.buffer = (self.buffer / mss).max(1) * mss; // whole segments to begin with, as Linux does
        }
        self.buffer = self.buffer.min(MAX_UNSCALED_WINDOW.0 << scale);
    }

    /// The application sets its size; before the connection opens.
    pub(crate) fn set_buffer(&mut self, size: u64) {
        self.buffer = size;
        self.tuning = None;
    }

    /// The connection is open.
    pub(crate) fn on_open(&mut self, now: SimTime, sack: bool) {
        self.reports_ranges = sack;
        if let Some(tuning) = &mut self.tuning {
            let mss = self.mss;
            tuning.begin(now, self.buffer, mss);
            if tuning.opens() {
                self.buffer = tuning.window();
            }
        }
    }

    /// Offset after the last octet that the peer may send, as advertised.
    pub(crate) fn window_end(&self) -> u64 {
        self.advertised_edge.max(self.rcv_nxt) + self.excess()
    }

    pub(crate) fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// The offset that a sequence number of the peer means.
    pub(crate) fn offset_of(&self, seq: Seq) -> Option<u64> {
        seq.offset_near(self.peer_initial, self.rcv_nxt)
    }

    /// True if a SYN with this number begins beyond all that has arrived, or was sent later by its timestamp.
    pub(crate) fn is_beyond(&self, seq: Seq, timestamps: Option<Timestamps>) -> bool {
        let is_later = |value| self.has_timestamps && is_before(self.ts_recent, value);
        seq.is_after(self.peer_initial, self.rcv_nxt) || timestamps.is_some_and(|timestamps| is_later(timestamps.value))
    }

    /// Offset that the last ACK acknowledged.
    pub(crate) fn last_ack_sent(&self) -> u64 {
        self.last_ack_sent
    }

    /// Octets of payload that the application has read at `now`.
    pub(crate) fn read_octets(&self, now: SimTime) -> u64 {
        let mut reader = self.reader;
        reader.catch_up(now);
        self.payload_octets() - reader.unread()
    }

    /// Octets of payload received in order.
    pub(crate) fn payload_octets(&self) -> u64 {
        self.rcv_nxt.saturating_sub(1) - u64::from(self.is_finished()) // no SYN has arrived before the handshake
    }

    /// Time at which the application will have read `octets` in all, if they have arrived; `now` if it already has.
    pub(crate) fn time_of_read(&mut self, octets: u64, now: SimTime) -> Option<SimTime> {
        self.reader.catch_up(now);
        let received = self.payload_octets();
        if received < octets {
            return None;
        }
        let to_read = (octets + self.reader.unread()).saturating_sub(received); // they may have been read already
        Some(if to_read == 0 { now } else { self.reader.time_to_read(to_read) })
    }

    pub(crate) fn has_out_of_order_data(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Segments that arrived above a hole.
    pub(crate) fn out_of_order_segments(&self) -> u64 {
        self.out_of_order_segments
    }

    /// The round trip that tuning has measured, zero without.
    pub(crate) fn rtt(&self) -> SimDuration {
        self.tuning.as_ref().map_or(SimDuration::ZERO, |tuning| tuning.rtt())
    }

    /// Octets read in the round trip by which the buffer was tuned; zero without tuning.
    pub(crate) fn read_space(&self) -> u64 {
        self.tuning.as_ref().map_or(0, |tuning| tuning.space(self.mss))
    }

    /// True once the peer's FIN has arrived in order.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.rcv_nxt > fin)
    }

    /// True if an ACK is due at once.
    pub(crate) fn needs_ack(&self) -> bool {
        self.acks.is_due()
    }

    /// Asks for an ACK at once: an unacceptable segment, a probe (RFC 9293 section 3.10.7.4).
    pub(crate) fn request_ack(&mut self) {
        self.acks.request();
    }

    /// The application reads on call. Returns how many octets it got, and true if the window has opened so far that the
    /// peer should know.
    pub(crate) fn read(&mut self, now: SimTime, octets: u64) -> (u64, bool) {
        let taken = self.reader.take(octets);
        self.tune(now, 0);
        if taken > 0 && self.reader.unread() == 0 {
            self.acks.on_all_read(now);
        }
        (taken, taken > 0 && self.has_opened())
    }

    /// Limits the advertised window to `octets` beyond those that have arrived by now. Returns true if the window has
    /// opened so far that the peer should know.
    pub(crate) fn grant(&mut self, octets: u64) -> bool {
        self.granted_edge = self.rcv_nxt.max(1).saturating_add(octets); // the SYN has the first number
        self.has_opened()
    }

    /// The application reads no more, unless on call.
    pub(crate) fn stop_reading(&mut self, now: SimTime) {
        self.reader.stop(now);
    }

    /// Octets in order that the application has not read.
    pub(crate) fn unread(&self) -> u64 {
        self.reader.unread()
    }

    /// The next instant at which [`Self::on_timer`] has something to do.
    #[inline]
    pub(crate) fn deadline(&self) -> SimTime {
        let acks = self.acks.deadline();
        if self.reader.reads_at_a_rate() { acks.min(self.window_update_deadline()) } else { acks }
    }

    pub(crate) fn on_timer(&mut self, now: SimTime) {
        self.acks.on_timer(now);
        if now >= self.window_update_deadline() {
            self.reader.catch_up(now);
            self.acks.request();
        }
    }

    /// True if this arrival would push a gathered range out of the reports: the ACK must leave before. What has arrived
    /// draws none then, as on Linux 6.18.
    #[inline]
    pub(crate) fn is_to_report_before(&mut self, start: u64, len: u64) -> bool {
        if self.acks.gathers() && start > self.rcv_nxt {
            self.has_reported = self.recent.pushes_out(Range { start, end: start + len });
        }
        self.has_reported
    }

    /// Takes a segment that holds data or FIN.
    pub(crate) fn on_arrival(&mut self, now: SimTime, arrival: &Arrival<'_>) {
        if self.is_next(arrival) {
            self.rcv_nxt += arrival.len;
            self.acknowledge(now, arrival.len, arrival, 0);
            self.measure(now);
            self.tune(now, 0);
        } else if self.is_next_above_hole(arrival) {
            self.on_arrival_above_hole(now, arrival);
        } else {
            self.on_any_arrival(now, arrival);
        }
    }

    /// Data that was awaited next, as most is, and that is read as it comes.
    #[inline]
    fn is_next(&self, arrival: &Arrival<'_>) -> bool {
        arrival.start == self.rcv_nxt
            && arrival.start + arrival.len <= self.window_end()
            && !arrival.has_fin
            && self.fin_at.is_none()
            && self.out_of_order.is_empty()
            && self.reader.is_immediate()
    }

    /// True if the segment is the next one above a hole: its data follows on the last that has arrived.
    fn is_next_above_hole(&self, arrival: &Arrival<'_>) -> bool {
        self.out_of_order.last().is_some_and(|last| last.end == arrival.start)
            && arrival.len > 0
            && arrival.start + arrival.len <= self.window_end()
            && !arrival.has_fin
            && self.fin_at.is_none()
            && self.reader.is_immediate()
    }

    #[inline(never)] // as with ACKs
    fn on_arrival_above_hole(&mut self, now: SimTime, arrival: &Arrival<'_>) {
        if self.acks.gathers() {
            self.duplicate = None;
        }
        let has_reported = std::mem::take(&mut self.has_reported);
        self.place_above_hole(arrival.start, arrival.start + arrival.len);
        self.acknowledge_above_hole(now, arrival.len, arrival, has_reported);
    }

    #[inline(never)] // as with ACKs
    fn on_any_arrival(&mut self, now: SimTime, arrival: &Arrival<'_>) {
        //= rfc9293-3.10.7.4-text-after-fin
        if self.is_finished() && arrival.start >= self.rcv_nxt {
            if arrival.start >= self.window_end() {
                self.acks.request();
            }
            return;
        }
        // Cut off what lies outside the window.
        let window_end = self.window_end();
        let start = arrival.start.max(self.rcv_nxt);
        let behind = arrival.start + arrival.len;
        let data_end = behind.min(window_end).min(self.fin_at.unwrap_or(u64::MAX));
        // A FIN before data that has come is a mistake of the peer's, and no end.
        let last = self.out_of_order.last().map_or(self.rcv_nxt, |range| range.end);
        if arrival.has_fin && self.fin_at.is_none() && (last..=window_end).contains(&behind) {
            self.fin_at = Some(behind);
        }
        let end = data_end + u64::from(arrival.has_fin && self.fin_at == Some(data_end)); // it takes a number of its own
        let (before, had, was_finished) = (self.rcv_nxt, self.payload_octets(), self.is_finished());
        self.being_read = 0;
        self.reader.catch_up(now);
        let held = self.held();
        let has_reported = std::mem::take(&mut self.has_reported);
        self.note_duplicate(arrival);
        if start < end {
            self.place(start, end);
        }
        let finishes = self.is_finished() && !was_finished;
        let brings_data = self.rcv_nxt - u64::from(finishes) > before;
        if finishes {
            self.acks.on_fin(now, arrival.rto, brings_data);
        }
        if !self.reader.is_immediate() {
            self.reader.add(self.payload_octets() - had);
        }
        if self.rcv_nxt == before {
            if start < end {
                self.acknowledge_above_hole(now, data_end.saturating_sub(start), arrival, has_reported);
            } else if arrival.len > 0 || arrival.has_fin {
                // A duplicate, or beyond the window (RFC 5681 section 4.2).
                let ends_below = behind + u64::from(arrival.has_fin) < self.last_ack_sent;
                self.acks.on_useless(self.advertised(), self.mss, ends_below);
            } else {
                self.acks.request();
            }
        } else if brings_data {
            let octets = self.rcv_nxt - before;
            self.acknowledge(now, octets, arrival, held);
            let mut after = 0;
            if self.reader.is_immediate() {
                (self.being_read, after) = (octets, octets.saturating_sub(arrival.len));
            }
            self.measure(now);
            self.tune(now, after);
        }
    }

    /// Data arrived above a hole: when that is acknowledged.
    fn acknowledge_above_hole(&mut self, now: SimTime, octets: u64, arrival: &Arrival<'_>, has_reported: bool) {
        self.out_of_order_segments += 1;
        if self.opens_above_hole(octets) {
            self.acks.on_window_opened();
        }
        if !has_reported {
            match self.gathers_until(now, arrival) {
                Some(deadline) => self.acks.gather_until(now, deadline),
                None => self.acks.on_out_of_order(now),
            }
        }
    }

    /// Until when the ACK waits that is for a segment that has just arrived while there is a hole, where it may wait for others.
    fn gathers_until(&mut self, now: SimTime, arrival: &Arrival<'_>) -> Option<SimTime> {
        let compression = self.compression.as_mut().filter(|_| self.reports_ranges && self.acks.may_gather())?;
        let own = self.tuning.as_ref().map(|tuning| tuning.rtt());
        let srtt = Some(arrival.rto.stats().srtt).filter(|srtt| !srtt.is_zero());
        let rtt = own.into_iter().chain(srtt).min().unwrap_or_default();
        compression.on_segment(now, self.rcv_nxt, self.acks.gathers(), rtt)
    }

    /// Takes in octets below the awaited ones that were refused for their timestamp: they are reported as a duplicate
    /// (RFC 2883 section 4, as Linux does).
    pub(crate) fn on_refused(&mut self, start: u64, len: u64) {
        if self.dsack && self.reports_ranges {
            self.duplicate = Some(Range { start, end: (start + len).min(self.rcv_nxt) });
        }
        self.acks.on_useless(self.advertised(), self.mss, true);
    }

    /// RFC 2883 section 4: what has arrived before is reported once; where ACKs are gathered, it is forgotten when something else arrives (Linux).
    fn note_duplicate(&mut self, arrival: &Arrival<'_>) {
        let end = arrival.start + arrival.len + u64::from(arrival.has_fin);
        if self.acks.gathers() {
            self.duplicate = None;
        }
        if !self.dsack || !self.reports_ranges {
            return;
        }
        if arrival.start < self.rcv_nxt {
            self.duplicate = Some(Range { start: arrival.start, end: end.min(self.rcv_nxt) });
        } else if let Some(known) = self.out_of_order.first_overlap(arrival.start, end) {
            self.duplicate = Some(known);
        }
    }

    /// A segment arrived with which `octets` more are in order, while `held` lay in the buffer: when that is acknowledged.
    #[inline]
    fn acknowledge(&mut self, now: SimTime, octets: u64, arrival: &Arrival<'_>, held: u64) {
        let opens = arrival.len >= self.mss && self.opens_window(held);
        let data = Data { octets, mss: self.mss, rto: arrival.rto, window: self.advertised(), opens };
        self.acks.on_data(now, &data);
        if arrival.is_pushed || octets < self.mss {
            self.note_push(now, octets >= self.mss);
        }
    }

    /// The segment that has just arrived may be the last for a while.
    #[inline(never)] // few are, and what most come to is to be short
    fn note_push(&mut self, now: SimTime, is_full: bool) {
        self.acks.on_push(is_full);
        if self.reader.is_immediate() {
            self.acks.on_all_read(now);
        }
    }

    /// The window follows a full-sized segment in order, beside which the buffer holds `held` octets.
    #[inline]
    fn opens_window(&mut self, held: u64) -> bool {
        if !self.tuning.as_ref().is_some_and(|tuning| tuning.may_open()) {
            return false;
        }
        self.tuning.as_mut().is_some_and(|tuning| tuning.on_full_segment(self.mss, held))
    }

    /// The window follows `octets` that arrived above a hole: true if they open it further.
    fn opens_above_hole(&mut self, octets: u64) -> bool {
        if self.tuning.is_none() || !self.reports_ranges {
            return false;
        }
        let held = self.held();
        let above_hole = self.out_of_order.last().map_or(0, |range| range.end - self.rcv_nxt);
        let Some(tuning) = &mut self.tuning else { return false };
        let opens = tuning.on_segment_above_hole(octets, above_hole, held, self.mss);
        self.buffer = self.buffer.max(tuning.window().min(MAX_UNSCALED_WINDOW.0 << self.scale));
        opens
    }

    /// Octets in the buffer: what the application has not read, and what lies above a hole.
    pub(super) fn held(&self) -> u64 {
        let above_hole: u64 = self.out_of_order.iter().map(Range::len).sum();
        self.reader.unread() + above_hole
    }

    /// Data arrived in order: once the window offered now is full, a round trip has passed.
    #[inline]
    fn measure(&mut self, now: SimTime) {
        let edge = self.rcv_nxt + self.advertised();
        if let Some(tuning) = &mut self.tuning {
            tuning.on_data(now, self.rcv_nxt, edge);
        }
    }

    /// The buffer follows what is read, as soon as the segment that has filled a hole is, and not yet the `after` octets that lay
    /// above it (Linux looks at it with each).
    #[inline]
    fn tune(&mut self, now: SimTime, after: u64) {
        if self.tuning.is_some() {
            self.tune_to(now, self.reader.unread() + after);
        }
    }

    fn tune_to(&mut self, now: SimTime, unread: u64) {
        let read = self.payload_octets() - unread;
        if let Some(tuning) = &mut self.tuning {
            if tuning.is_due(now) {
                let above_hole = self.out_of_order.last().map_or(0, |range| range.end - self.rcv_nxt);
                tuning.on_round_trip(now, read, unread, above_hole, self.mss);
            }
            self.buffer = self.buffer.max(tuning.window().min(MAX_UNSCALED_WINDOW.0 << self.scale));
        }
    }

    /// The buffer follows the connection.
    pub(crate) fn is_tuned(&self) -> bool {
        self.tuning.is_some()
    }

    /// Takes in a round trip as the receiver measures it: `echo` came back with data after `rtt`. It counts if the
    /// segment was full and no other had this echo.
    pub(crate) fn on_rtt(&mut self, rtt: SimDuration, echo: u32, payload: u32) {
        if let Some(tuning) = self.tuning.as_mut().filter(|_| u64::from(payload) >= self.mss)
            && tuning.is_new_echo(echo)
        {
            tuning.on_rtt(rtt, self.reader.unread());
        }
    }

    fn place(&mut self, start: u64, end: u64) {
        if start == self.rcv_nxt {
            self.rcv_nxt = end;
            if !self.out_of_order.is_empty() {
                while let Some(range) = self.out_of_order.take_front_reaching(self.rcv_nxt) {
                    self.rcv_nxt = self.rcv_nxt.max(range.end);
                }
                if self.out_of_order.is_empty() {
                    self.recent.len = 0;
                    self.acks.on_order_restored();
                } else if self.acks.may_gather()
                    && !self.is_due_anyway(self.rcv_nxt - start)
                    && let Some(compression) = &mut self.compression
                {
                    compression.on_partial_fill(self.rcv_nxt);
                }
                //= rfc5681-4.2-filled-hole
                // Filling a hole, all or part of it, is acknowledged at once (RFC 5681 section 4.2). (Last, as an ACK that is due gathers none.)
                self.acks.request();
            }
        } else {
            self.place_above_hole(start, end);
        }
    }

    #[inline]
    fn place_above_hole(&mut self, start: u64, end: u64) {
        if let Some(last) = self.out_of_order.extend_last(start, end) {
            self.recent.on_lengthened(Range { start: last.start, end });
        } else {
            //= rfc2018-8-receiver-keeps
            let merged = self.out_of_order.insert(start, end, |_| {});
            self.recent.on_changed(merged);
        }
    }

    /// RFC 7323 section 5.3, R1 and R3: false if `tsval` lies before what has been seen; otherwise TS.Recent is taken
    /// from the segment if the last ACK awaited it.
    pub(crate) fn accepts_timestamp(&mut self, start: u64, tsval: u32, paws: bool) -> bool {
        //= rfc7323-5.3-paws
        if is_before(tsval, self.ts_recent) {
            //= rfc7323-5.5-outdated
            return !paws;
        }
        //= rfc7323-4.3-echo-earliest
        if start <= self.last_ack_sent {
            self.ts_recent = tsval;
        }
        true
    }
}
