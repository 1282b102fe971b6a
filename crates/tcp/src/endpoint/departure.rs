//! What leaves an open connection: data as the sender lets it go, and ACKs.

use ackclock_events::{Event, ProbeKind};
use ackclock_units::SimTime;
use ackclock_wire::{Flags, Segment, Seq, Timestamps};

use super::{ConnectionPhase, Endpoint, Output};
use crate::sender::{DataSegment, RunEnd};

impl Endpoint {
    /// Sends all that may be sent.
    pub(super) fn transmit(&mut self, now: SimTime, out: &mut impl Output) {
        self.only_receives = false;
        if self.phase != ConnectionPhase::Open {
            return;
        }
        let mut segment = Segment::default();
        while self.send_run(now, out) == RunEnd::Open {
            let Some(data) = self.sender.next_segment(now) else { return self.tell(now, out) };
            self.write_data(now, data, &mut segment);
            self.tell(now, out);
            out.send(&segment);
            self.sender.on_handed_over(now, segment.payload, || out.leaves_at());
        }
    }

    /// Hands over what has happened, if somebody watches.
    #[inline]
    fn tell(&mut self, now: SimTime, out: &mut impl Output) {
        if self.sender.log.is_some() {
            self.tell_watcher(now, out);
        }
    }

    #[cold]
    pub(super) fn tell_watcher(&mut self, now: SimTime, out: &mut impl Output) {
        self.sender.report_controller(now);
        if let Some(log) = &mut self.sender.log {
            out.tell(log.events());
        }
    }

    /// Sends full segments of new data for as long as windows alone decide. They leave at one moment, so that what they say
    /// of the receiving half is the same.
    fn send_run(&mut self, now: SimTime, out: &mut impl Output) -> RunEnd {
        if self.ecn.is_on() || self.receiver.has_duplicate() {
            return RunEnd::Open;
        }
        let Some(mut run) = self.sender.begin_run() else { return RunEnd::Open };
        let mut segment = Segment::default();
        let mut has_begun = false;
        while let Some(data) = self.sender.next_of_run(now, &mut run) {
            if has_begun {
                segment.seq = Seq::of_offset(self.initial_sequence, data.start);
                segment.flags = data.flags;
            } else {
                self.write_data(now, data, &mut segment);
                has_begun = true;
            }
            out.send(&segment);
            self.sender.on_handed_over(now, segment.payload, || out.leaves_at());
        }
        self.sender.end_run(now, run)
    }

    /// Writes a segment with data. (In the place that it has: right after it is written, a copy has to wait for it.)
    fn write_data(&mut self, now: SimTime, data: DataSegment, segment: &mut Segment) {
        self.receiver.acks.on_reply(now);
        self.write_header(now, data.start, data.flags, segment);
        segment.payload = data.payload;
        segment.ecn = data.ecn;
        segment.ack_ratio = data.ack_ratio;
        if self.ecn.has_option() {
            self.add_accurate_option(segment);
        }
    }

    /// Where it makes no segment longer than a full one.
    fn add_accurate_option(&self, segment: &mut Segment) {
        if let Some(option) = self.ecn.option() {
            let (mut with, without) = (*segment, segment.options_len());
            with.set_accurate_ecn(option);
            let added = with.options_len() - without;
            if u64::from(segment.payload + added) <= self.sender.mss() {
                *segment = with;
            }
        }
    }

    /// A segment without payload at `offset`, with all that every segment after the SYN carries.
    #[inline]
    pub(super) fn header(&mut self, now: SimTime, offset: u64, flags: Flags) -> Segment {
        let mut segment = Segment::default();
        self.write_header(now, offset, flags, &mut segment);
        segment
    }

    fn write_header(&mut self, now: SimTime, offset: u64, flags: Flags, segment: &mut Segment) {
        let acknowledgement = self.receiver.acknowledgement(now);
        let timestamps = self
            .negotiated
            .timestamps
            .then(|| Timestamps { value: self.sender.clock.tick(now), echo: acknowledgement.ts_recent });
        *segment = Segment {
            seq: Seq::of_offset(self.initial_sequence, offset),
            ack: acknowledgement.ack,
            window: acknowledgement.window,
            flags: flags.with(self.ecn.flags()),
            timestamps,
            ..Segment::default()
        };
        //= rfc2018-4-permitted-only
        if self.negotiated.sack && self.receiver.has_blocks() {
            //= rfc2018-4-as-many-as-fit
            segment.sack = self.receiver.sack_blocks(if timestamps.is_some() { 3 } else { 4 });
        }
    }

    pub(super) fn flush_ack(&mut self, now: SimTime, out: &mut impl Output) {
        //= rfc5681-4.2-one-ack-a-segment
        if self.receiver.needs_ack() {
            //= rfc3168-6.1.4-pure-acks
            let mut segment = self.header(now, self.sender.board.high_data(), Flags::ACK);
            if self.negotiated.ack_control {
                segment.ecn = self.sender.ecn.mark_of_ack();
            }
            if self.ecn.has_option() {
                self.add_accurate_option(&mut segment);
            }
            out.send(&segment);
        }
    }

    pub(super) fn send_probe(&mut self, now: SimTime, out: &mut impl Output) {
        //= rfc3168-6.1.6-probes
        //= rfc9293-3.8.6.1-probe-octet
        let segment = self.header(now, self.sender.board.una() - 1, Flags::ACK);
        self.sender.report(|_| Event::ProbeSent { kind: ProbeKind::ZeroWindow });
        self.tell(now, out);
        out.send(&segment);
    }
}
