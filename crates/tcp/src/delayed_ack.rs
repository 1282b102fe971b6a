//! Delayed acknowledgement of in-order data.
//!
//! Sources: RFC 5681 section 4.2, RFC 9293 section 3.8.6.3; RFC 5690 sections 4.3 and 4.6, where the sender says for how
//! many segments; Linux's quickack mode and adaptive delay by their behaviour. On 6.18 an ACK is one quick ACK less if it
//! acknowledges data that none did before, and a full segment that is pushed does not wait: captured on that kernel, and
//! asked of it by a packet script with reads. That both are so since 6.6 is from memory.
//!
//! Departures: an application that reads at a rate does not ask for ACKs. From the RFCs only where `sack_compression` puts ACKs above a hole off. With `count_octets`, more than one
//! full segment is acknowledged at once, as Linux counts octets and not segments. Under RFC 5690 its count of segments alone
//! decides, receive offload does not wait (the first way of section 5.8), and quickack mode is over once the sender asks for fewer
//! ACKs than one for two segments.

use ackclock_units::{SimDuration, SimTime};

use crate::config::DelayedAck;
use crate::rto::RtoTimer;
use crate::ticks::Ticks;

/// The longest adaptive delay.
const LONGEST: SimDuration = SimDuration::from_millis(200);

/// Octets that receive offload gathers at most.
const LARGEST_GATHERED: u64 = 65_536;

/// RFC 5681 acknowledges at least every second full-sized segment.
const ORDINARY_RATIO: u32 = 2;

/// Enough for a fast retransmit.
//= rfc5690-4.6-above-a-hole
const AT_ONCE_ABOVE_A_HOLE: u32 = 3;

/// Data that has arrived in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub(crate) octets: u64,
    /// Largest payload of a segment.
    pub(crate) mss: u64,
    /// This end's timeout, which bounds the adaptive delay, and its smoothed round trip, zero before it is measured.
    pub(crate) rto: &'a RtoTimer,
    /// The window advertised last.
    pub(crate) window: u64,
    /// The window opens further by it.
    pub(crate) opens: bool,
}

/// Decides when to send an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DelayedAcks {
    config: DelayedAck,
    ticks: Ticks,
    /// Delay of an ACK that is due, to cover further segments (stretch ACKs); zero disables it.
    gro: SimDuration,
    /// Number of segments to an ACK.
    ratio: u32,
    /// More than a full segment is acknowledged at once.
    counts_octets: bool,
    /// Segments that have arrived above a hole since there is one.
    disordered: u32,
    /// Number of in-order segments, and octets, since the last ACK.
    segments: u32,
    octets: u64,
    deadline: SimTime,
    /// Time for which the timer was last set. It fires whether an ACK has left meanwhile or not.
    timer: SimTime,
    due: bool,
    /// ACKs of data left that are not delayed.
    quick: u32,
    /// Data has arrived since the last ACK.
    is_owed: bool,
    /// Since then, segments that were not full, of two at most; pushed ones count as one together.
    pushes: u8,
    /// The adaptive delay; zero before the first data.
    delay: SimDuration,
    last_arrival: SimTime,
    /// Data goes the other way within the delay: ACKs ride on it.
    is_interactive: bool,
    /// The pending ACK is for segments above a hole, and waits for the deadline.
    gathers: bool,
    /// An ACK is due, once receive offload hands over what it gathers.
    is_with_offload: bool,
}

impl DelayedAcks {
    /// `gro` is the delay of a pending ACK for further segments.
    pub(crate) fn new(config: DelayedAck, ticks: Ticks, gro: SimDuration) -> Self {
        Self {
            config,
            ticks,
            gro,
            ratio: config.segments,
            counts_octets: config.count_octets,
            disordered: 0,
            segments: 0,
            octets: 0,
            deadline: SimTime::NEVER,
            timer: SimTime::ZERO,
            due: false,
            quick: if config.adaptive { 0 } else { config.quickacks },
            is_owed: false,
            pushes: 0,
            delay: SimDuration::ZERO,
            last_arrival: SimTime::ZERO,
            is_interactive: false,
            gathers: false,
            is_with_offload: false,
        }
    }

    /// The peer's FIN arrived in order. Where its ACK may wait, none is quick any more: only data of this end still carries ACKs (Linux).
    /// A FIN alone waits for the delay, of which there is none before the first data; [`Self::on_data`] sees to one that `follows_data`.
    pub(crate) fn on_fin(&mut self, now: SimTime, rto: &RtoTimer, follows_data: bool) {
        let wait = self.wait(rto);
        if !self.config.delay_fin {
            self.due = true;
            return;
        }
        self.is_interactive = true;
        if !follows_data {
            self.due |= wait.is_zero();
            self.deadline = self.deadline.min(self.ticks.expiry(now, wait));
        }
    }

    /// The sender says for how many segments it wants an ACK (RFC 5690 section 4.3).
    pub(crate) fn set_ratio(&mut self, ratio: u32) {
        //= rfc5690-4.3-receiver
        self.ratio = ratio.max(1);
        self.counts_octets = false;
        self.gro = SimDuration::ZERO;
        if self.spares_acks() {
            (self.config.quickacks, self.quick) = (0, 0);
        }
    }

    /// Fewer ACKs are wanted than RFC 5681 has.
    fn spares_acks(&self) -> bool {
        self.ratio > ORDINARY_RATIO
    }

    /// A segment arrived above a hole. RFC 5681 section 4.2 acknowledges it at once; at a large ratio RFC 5690 section 4.6
    /// does so for the first three only.
    pub(crate) fn on_out_of_order(&mut self, now: SimTime) {
        self.disordered += 1;
        self.is_owed = true;
        //= rfc5681-4.2-out-of-order
        if !self.spares_acks() || self.disordered <= AT_ONCE_ABOVE_A_HOLE {
            self.due = true;
            return;
        }
        self.segments += 1;
        if self.segments >= self.ratio {
            self.due = true;
        } else {
            self.deadline = self.deadline.min(self.ticks.expiry(now, self.config.timeout));
        }
    }

    /// A segment arrived above a hole, and its ACK waits for others until then, or until the timer of an earlier delayed ACK fires.
    pub(crate) fn gather_until(&mut self, now: SimTime, deadline: SimTime) {
        self.disordered += 1;
        (self.is_owed, self.gathers) = (true, true);
        let first = if self.timer > now { self.timer.min(deadline) } else { deadline };
        self.deadline = self.deadline.min(first);
    }

    /// An ACK for segments above a hole waits for others.
    pub(crate) fn gathers(&self) -> bool {
        self.gathers
    }

    /// ACKs of segments above a hole may wait for others: none is due, or is not to be delayed.
    pub(crate) fn may_gather(&self) -> bool {
        !self.due && !self.spares_acks() && (self.quick == 0 || self.is_interactive)
    }

    /// Takes in a segment that had arrived before, or lies beyond the window: it is acknowledged at once. In quickack
    /// mode's terms the sender has begun anew; `window` is what it may send. Its ACK is a quick one if it does not end below
    /// what the last ACK acknowledged (Linux).
    pub(crate) fn on_useless(&mut self, window: u64, mss: u64, ends_below: bool) {
        self.due = true;
        self.is_owed |= !ends_below;
        if self.config.quickacks > 0 && self.config.adaptive && !self.spares_acks() {
            self.begin_quick(window, mss);
            self.is_interactive = false;
            self.delay = self.config.timeout;
        }
    }

    /// The next ACKs are not delayed: one for every second segment of a `window` that was advertised (Linux).
    fn begin_quick(&mut self, window: u64, mss: u64) {
        let quick = match u32::try_from(window / (2 * mss)).unwrap_or(u32::MAX) {
            0 => 2,
            quick => quick,
        };
        self.quick = self.quick.max(quick.min(self.config.quickacks));
    }

    /// The sender may have a very small window: two ACKs are not delayed (Linux).
    pub(crate) fn on_congestion(&mut self) {
        if self.config.quickacks > 0 && self.config.adaptive && !self.spares_acks() {
            self.quick = self.quick.max(self.config.quickacks.min(2));
            self.is_interactive = false;
            if !self.delay.is_zero() {
                self.delay = self.config.timeout; // before the first data nothing has been measured
            }
        }
    }

    /// The buffer fills: ACKs are delayed from now on.
    pub(crate) fn end_quick(&mut self) {
        self.quick = 0;
    }

    /// Nothing lies above a hole any more.
    pub(crate) fn on_order_restored(&mut self) {
        self.disordered = 0;
    }

    /// An ACK is due at once.
    pub(crate) fn request(&mut self) {
        self.due = true;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    pub(crate) fn deadline(&self) -> SimTime {
        self.deadline
    }

    /// An ACK of data in order waits for its time.
    pub(crate) fn is_delayed(&self) -> bool {
        self.deadline != SimTime::NEVER && !self.gathers
    }

    /// The next ACKs are not delayed, as many as at the start, or from now on they are again (`TCP_QUICKACK`).
    pub(crate) fn set_quick(&mut self, quick: bool) {
        self.quick = if quick { self.config.quickacks.max(1) } else { 0 };
        self.is_interactive = !quick;
        if quick && self.deadline != SimTime::NEVER {
            self.due = true;
        }
    }

    pub(crate) fn on_timer(&mut self, now: SimTime) {
        if now >= self.deadline {
            self.due = true;
            if self.gathers || self.is_with_offload {
                return;
            }
            self.is_interactive = false;
            if self.config.adaptive {
                self.delay = (self.delay * 2).min(LONGEST);
            }
        }
    }

    /// Data arrived in order.
    pub(crate) fn on_data(&mut self, now: SimTime, data: &Data<'_>) {
        let Data { octets, mss, .. } = *data;
        self.segments += if octets <= mss { 1 } else { octets.div_ceil(mss) as u32 }; // a division is dear
        self.octets += octets;
        self.is_owed = true;
        self.adapt(now, data);
        if data.opens {
            self.on_window_opened();
        }
        let enough = if self.counts_octets { self.octets > mss } else { false };
        //= rfc5681-4.2-every-second
        if enough || self.segments >= self.ratio || (self.quick > 0 && !self.is_interactive) {
            self.due_after_offload(now);
        //= rfc9293-3.8.6.3-delayed-ack
        } else if self.deadline == SimTime::NEVER {
            self.deadline = self.ticks.expiry(now, self.wait(data.rto));
            self.timer = self.deadline;
        }
    }

    /// The segment that has just arrived may be the last for a while: its sender pushed it, or it is not full.
    #[inline]
    pub(crate) fn on_push(&mut self, is_full: bool) {
        self.pushes = if is_full { self.pushes.max(1) } else { (self.pushes + 1).min(2) };
    }

    /// The application has read all that has arrived: what was pushed is acknowledged. Where ACKs are to ride on data, it
    /// takes two segments that are not full.
    #[inline]
    pub(crate) fn on_all_read(&mut self, now: SimTime) {
        let wanted = if self.is_interactive { 2 } else { 1 };
        if self.config.once_read && self.pushes >= wanted && self.is_owed && !self.spares_acks() {
            self.due_after_offload(now);
        }
    }

    /// The segment that arrives lets the window open further. Linux makes the number of quick ACKs odd: this segment has one.
    #[inline]
    pub(crate) fn on_window_opened(&mut self) {
        if !self.spares_acks() {
            self.quick |= 1;
        }
    }

    /// An ACK is due; receive offload may still be gathering segments, up to its largest packet.
    fn due_after_offload(&mut self, now: SimTime) {
        if self.gro.is_zero() || self.octets >= LARGEST_GATHERED {
            self.due = true;
        } else {
            (self.deadline, self.is_with_offload) = (now + self.gro, true);
        }
    }

    fn adapt(&mut self, now: SimTime, data: &Data<'_>) {
        if !self.config.adaptive && !self.config.interactive {
            return;
        }
        let before = std::mem::replace(&mut self.last_arrival, now);
        let gap = now.saturating_since(before);
        if !self.config.adaptive {
            return;
        }
        let (least, rto) = (self.config.timeout, data.rto.rto());
        if self.delay.is_zero() {
            self.delay = least;
            self.begin_quick(data.window, data.mss);
        } else if gap.0 <= least.0 / 2 {
            self.delay = SimDuration(self.delay.0 / 2 + least.0 / 2);
        } else if gap < self.delay {
            self.delay = SimDuration((self.delay.0 / 2 + gap.0).min(rto.0));
        } else if gap > rto && self.ticks.exceed(before, now, rto) {
            self.begin_quick(data.window, data.mss); // the sender has begun anew: let its window grow
        }
        self.delay = self.delay.clamp(least, LONGEST.max(least));
    }

    /// The time for which an ACK waits: where the delay adapts, a round trip at most, or the timeout if that is more (Linux).
    fn wait(&self, rto: &RtoTimer) -> SimDuration {
        if !self.config.adaptive {
            return self.delay();
        }
        let srtt = rto.stats().srtt;
        if srtt.is_zero() { self.delay } else { self.delay.min(srtt.max(self.config.timeout)) }
    }

    /// The delay in force; zero before the first data where it adapts.
    pub(crate) fn delay(&self) -> SimDuration {
        if self.config.adaptive { self.delay } else { self.config.timeout }
    }

    /// Data left for the peer.
    pub(crate) fn on_reply(&mut self, now: SimTime) {
        let delay = self.delay();
        let has_data = self.last_arrival > SimTime::ZERO;
        if self.config.interactive && has_data && now.saturating_since(self.last_arrival) < delay {
            self.is_interactive = true;
        }
    }

    /// An ACK left, alone or with data.
    pub(crate) fn on_ack_sent(&mut self) {
        (self.due, self.gathers, self.is_with_offload) = (false, false, false);
        self.deadline = SimTime::NEVER;
        (self.segments, self.octets, self.pushes) = (0, 0, 0);
        if std::mem::take(&mut self.is_owed) && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 && self.config.adaptive {
                self.delay = self.config.timeout; // Linux
            }
        }
    }
}

#[cfg(test)]
mod tests;
