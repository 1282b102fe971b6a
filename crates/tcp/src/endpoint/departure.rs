//! Segments that leave an open connection: data as the sender releases it, and ACKs.

use ackclock_units::SimTime;
use ackclock_wire::{Flags, Segment, Seq, Timestamps};

use super::{ConnectionPhase, Endpoint, Output};
use crate::sender::{DataSegment, FullSegment, RunEnd};

impl Endpoint {
    /// Sends all that may be sent, and what takes its place in the host's buffers.
    pub(super) fn transmit(&mut self, now: SimTime, out: &mut impl Output) {
        self.only_receives = false;
        if self.phase != ConnectionPhase::Open {
            return;
        }
        self.sender.refills();
        self.transmit_buffered(now, out);
        while self.sender.refills() {
            self.transmit_buffered(now, out);
        }
    }

    fn transmit_buffered(&mut self, now: SimTime, out: &mut impl Output) {
        if self.sender.transmitter.fq.is_some() {
            return self.transmit_through_fq(now, out);
        }
        while self.send_run(now, out) == RunEnd::Open {
            let Some(data) = self.sender.next_segment(now) else { return self.tell(now, out) };
            let mut segment = Segment::default();
            self.write_data(now, data, &mut segment);
            self.tell(now, out);
            out.send(&segment);
            self.sender.on_handed_over(now, segment.payload, || out.leaves_at());
        }
        self.tell(now, out);
    }

    /// Sends like [`Self::transmit`], through the host's queue, which holds each segment until its time.
    #[cold]
    fn transmit_through_fq(&mut self, now: SimTime, out: &mut impl Output) {
        let mut segment = Segment::default();
        loop {
            self.release(now, out);
            let Some(data) = self.sender.next_segment(now) else { return self.tell(now, out) };
            self.write_data(now, data, &mut segment);
            self.wait_in_fq(now, data.start, segment);
        }
    }

    /// A segment waits for its departure, from which its timestamp is.
    fn wait_in_fq(&mut self, now: SimTime, start: u64, mut segment: Segment) {
        let at = self.sender.transmitter.pacer.departure(now);
        if let Some(timestamps) = &mut segment.timestamps {
            timestamps.value = self.sender.clock_mut().tick(at);
        }
        if let Some(fq) = &mut self.sender.transmitter.fq {
            fq.push(now, at, start, &segment);
        }
    }

    /// Sends the segments that have waited for their time in the host's queue.
    fn release(&mut self, now: SimTime, out: &mut impl Output) {
        self.tell(now, out);
        while let Some(segment) = self.sender.transmitter.fq.as_mut().and_then(|fq| fq.pop(now)) {
            out.send(&segment);
            if segment.payload > 0 {
                self.sender.on_handed_over(now, segment.payload, || out.leaves_at());
            }
        }
    }

    /// A segment without data leaves.
    fn send_dataless(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        if self.sender.transmitter.fq.is_some() { self.send_behind(now, segment, out) } else { out.send(segment) }
    }

    /// Sends a segment behind those that wait for their time.
    #[cold]
    fn send_behind(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        self.sender.transmitter.pacer.begin_burst(now);
        self.wait_in_fq(now, 0, *segment);
        self.release(now, out);
    }

    /// Hands over what has happened, if somebody watches.
    #[inline]
    fn tell(&mut self, now: SimTime, out: &mut impl Output) {
        if self.sender.flight().congestion.log.is_some() {
            self.tell_watcher(now, out);
        }
    }

    #[cold]
    pub(super) fn tell_watcher(&mut self, now: SimTime, out: &mut impl Output) {
        self.sender.report_controller(now);
        self.hand_over(out);
    }

    /// Hands over the events that are known already.
    #[inline]
    pub(super) fn hand_over(&mut self, out: &mut impl Output) {
        if let Some(events) = self.sender.events() {
            out.tell(events);
        }
    }

    /// Sends full segments of new data for as long as windows alone decide. They leave at one moment, so that what they say
    /// of the receiving half is the same; none has room for the option of accurate ECN.
    fn send_run(&mut self, now: SimTime, out: &mut impl Output) -> RunEnd {
        if self.receiver.has_duplicate() {
            return RunEnd::Open;
        }
        let Some(mut run) = self.sender.begin_run() else { return RunEnd::Open };
        let mut segment = Segment::default();
        let mut has_begun = false;
        let end = loop {
            let FullSegment { start, is_pushed } = match self.sender.next_of_run(now, &mut run) {
                Ok(full) => full,
                Err(end) => break end,
            };
            let flags = if is_pushed { Flags::ACK.with(Flags::PSH) } else { Flags::ACK };
            if has_begun {
                segment.seq = Seq::of_offset(self.initial_sequence, start);
                segment.flags = if self.ecn.is_on() { flags.with(self.ecn.flags()) } else { flags };
            } else {
                let payload = self.sender.flight().board.mss() as u32;
                self.begin_data(now, (start, payload), flags, &mut segment);
                if self.sender.flight().ecn.is_on() {
                    segment.ecn = self.sender.flight().ecn.mark_of_data();
                }
                has_begun = true;
            }
            self.hand_over(out);
            out.send(&segment);
            self.sender.on_handed_over(now, segment.payload, || out.leaves_at());
        };
        if has_begun {
            self.sender.end_run(now, &run);
        }
        end
    }

    /// Writes what every segment with data has. (In the place that it has: right after it is written, a copy has to wait for it.)
    #[inline]
    fn begin_data(&mut self, now: SimTime, (start, payload): (u64, u32), flags: Flags, segment: &mut Segment) {
        self.receiver.acks.on_reply(now);
        self.write_header(now, start, flags, segment);
        segment.payload = payload;
    }

    /// Writes a data segment, with the options that only some have.
    fn write_data(&mut self, now: SimTime, data: DataSegment, segment: &mut Segment) {
        self.begin_data(now, (data.start, data.payload), data.flags, segment);
        segment.ecn = data.ecn;
        segment.ack_ratio = data.ack_ratio;
        if self.ecn.has_option() {
            self.add_accurate_option(segment);
        }
    }

    /// Adds the option where the segment stays no longer than a full one.
    fn add_accurate_option(&self, segment: &mut Segment) {
        if let Some(option) = self.ecn.option() {
            let (mut with, without) = (*segment, segment.options_len());
            with.set_accurate_ecn(option);
            let added = with.options_len() - without;
            if u64::from(segment.payload + added) <= self.sender.flight().board.mss() {
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
            .then(|| Timestamps { value: self.sender.clock_mut().tick(now), echo: acknowledgement.ts_recent });
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

    #[inline]
    pub(super) fn flush_ack(&mut self, now: SimTime, out: &mut impl Output) {
        //= rfc5681-4.2-one-ack-a-segment
        if self.receiver.needs_ack() {
            self.send_ack(now, out);
        }
    }

    #[inline(never)] // most segments that arrive ask for none
    pub(super) fn send_ack(&mut self, now: SimTime, out: &mut impl Output) {
        //= rfc3168-6.1.4-pure-acks
        let mut segment = self.header(now, self.sender.flight().board.high_data(), Flags::ACK);
        if self.negotiated.ack_control {
            segment.ecn = self.sender.flight().ecn.mark_of_ack();
        }
        if self.ecn.has_option() {
            self.add_accurate_option(&mut segment);
        }
        self.send_dataless(now, &segment, out);
    }

    pub(super) fn send_probe(&mut self, now: SimTime, out: &mut impl Output) {
        //= rfc3168-6.1.6-probes
        //= rfc9293-3.8.6.1-probe-octet
        let segment = self.header(now, self.sender.flight().board.una() - 1, Flags::ACK);
        self.tell(now, out);
        self.send_dataless(now, &segment, out);
    }
}
