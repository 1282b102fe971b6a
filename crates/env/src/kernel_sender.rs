//! A controller on a real connection: the kernel's reports become the events of a sender.
//!
//! Source: the observations of crates/bpf (`struct observation` of src/programs/led.h), and `struct report` of
//! `python/ackclock/running/ackclock_agent.c`, which are the kernel's own counts. Departures from a simulated flow: time is the kernel's,
//! and a decision counts from the report on that it answers, before the segments that its ACK permits; marks and losses are told apart by
//! the kernel's state; an episode takes the controller's window at once, where the kernel would reduce it in proportion; an episode that
//! the kernel undoes is not reported; the octets of a window are whole segments. Segments that leave are those in flight beyond the
//! earlier ones, reported with the next ACK. All segments that an ACK delivers have the departure of the one that was sent last, and the
//! offsets before it; lost ones have the offsets after SND.UNA.

use ackclock_cc::{
    AckEvent, CongestionCause, CongestionController, CongestionEvent, DeliveryReport, Growth, RateSample, Repair,
    RestartCause, RestartEvent, RttStats, SegmentReport, SendEvent,
};
use ackclock_units::{Bytes, SimDuration, SimTime};

/// An ACK in the kernel's report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelAck {
    /// Time by the machine's monotonic clock, ns.
    pub time_ns: u64,
    /// The kernel's window at that time, segments.
    pub cwnd: u32,
    /// The smoothed round trip, us.
    pub srtt_us: u32,
    /// The least round trip, us.
    pub min_rtt_us: u32,
    /// Round-trip sample of the ACK, us; 0 if none.
    pub rtt_us: u32,
    /// Segments in flight after it.
    pub inflight: u32,
    /// Segments newly delivered.
    pub acked: u32,
    /// Segments newly marked lost.
    pub lost: u32,
    /// The kernel's congestion state: 0 open, 1 disorder, 2 reduced, 3 recovery, 4 loss.
    pub state: u32,
    /// Size of a segment, octets.
    pub mss: u32,
    /// Counts of the connection, where the kernel reports them.
    pub counts: Option<KernelCounts>,
}

/// Counts of a connection with a report, and its sample of the delivery rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Octets acknowledged cumulatively since the connection began.
    pub bytes_acked: u64,
    /// Octets sent beyond them.
    pub outstanding: u32,
    /// Segments delivered since the connection began.
    pub delivered: u32,
    /// Segments marked lost since the connection began.
    pub lost: u32,
    /// Segments delivered over the sample's interval; 0 without a sample.
    pub sample_delivered: u32,
    /// The sample's interval, us; 0 if it is too short.
    pub interval_us: u32,
    /// [`Self::delivered`] at the beginning of the interval.
    pub prior_delivered: u32,
    /// Segments in flight before the ACK.
    pub prior_inflight: u32,
    /// End of the segment whose sending the sample is of, octets beyond [`Self::bytes_acked`].
    pub sample_end: i32,
    /// True if the sample's segment left while the application did not fill the window.
    pub is_app_limited: bool,
    /// True if the sample's segment had been sent before.
    pub is_retransmission: bool,
    /// True if the window held data back when the kernel stopped last.
    pub is_cwnd_limited: bool,
}

const REDUCED: u32 = 2;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;
const MICROSECOND: u64 = 1_000;

/// A controller on a real connection, from its first report on.
#[derive(Clone, Debug)]
pub(crate) struct KernelSender<C> {
    pub(crate) controller: C,
    mss: u64,
    began_ns: u64,
    now: SimTime,
    rtt: RttStats,
    state: u32,
    inflight: u64,
    round: u64,
    round_ends: SimTime,
    /// Count of delivered segments at which the round ends, where the kernel reports it.
    round_delivered: u32,
    before: KernelCounts,
}

impl<C: CongestionController> KernelSender<C> {
    pub(crate) fn new(controller: C, mss: Bytes) -> Self {
        Self {
            controller,
            mss: mss.0,
            began_ns: 0,
            now: SimTime::ZERO,
            rtt: RttStats::default(),
            state: 0,
            inflight: 0,
            round: 0,
            round_ends: SimTime::ZERO,
            round_delivered: 0,
            before: KernelCounts::default(),
        }
    }

    /// The time since the first report.
    pub(crate) fn now(&self) -> SimTime {
        self.now
    }

    /// The controller's window, whole segments.
    pub(crate) fn window(&self) -> u32 {
        let segments = (self.controller.cwnd().0 / self.mss).max(1);
        u32::try_from(segments).unwrap_or(u32::MAX)
    }

    /// The kernel's time at which the controller's timer is due; 0 without one.
    pub(crate) fn wake_ns(&self) -> u64 {
        let deadline = self.controller.deadline();
        let is_on = self.controller.demands().has_timer() && deadline != SimTime::NEVER;
        if is_on { self.began_ns.saturating_add(deadline.0) } else { 0 }
    }

    /// Processes an ACK. In congestion avoidance the whole window counts as in use, in slow start half of it, as the kernel judges it.
    pub(crate) fn on_ack(&mut self, ack: &KernelAck, in_slow_start: bool) {
        self.on_report(ack);
        let sample = (ack.rtt_us > 0).then(|| us(ack.rtt_us));
        self.rtt.latest = sample.unwrap_or(self.rtt.latest);
        self.count_rounds(ack);
        self.send(ack);
        if self.controller.demands().samples {
            self.report_segments(ack);
        }
        self.settle(ack);
        let event = self.event(ack, sample, in_slow_start);
        if let Some(counts) = ack.counts {
            self.before = counts;
        }
        if event.newly_acked > Bytes::ZERO || event.newly_lost > Bytes::ZERO {
            self.controller.on_ack(&event);
        }
    }

    /// Processes the connection's first report, which is before its data.
    pub(crate) fn on_start(&mut self, report: &KernelAck) {
        self.on_report(report);
        self.before = report.counts.unwrap_or_default();
    }

    /// Processes a report without an ACK: the timer expired.
    pub(crate) fn on_timer(&mut self, report: &KernelAck) {
        self.on_report(report);
        self.send(report);
        self.settle(report);
    }

    /// Moves the time, and runs the timer if it is due.
    fn on_report(&mut self, report: &KernelAck) {
        if self.began_ns == 0 {
            self.began_ns = report.time_ns.saturating_sub(1);
        }
        self.now = SimTime(report.time_ns.saturating_sub(self.began_ns));
        if self.controller.deadline() <= self.now {
            self.controller.on_timer(self.now);
        }
        let (srtt, min_rtt) = (us(report.srtt_us), us(report.min_rtt_us));
        self.rtt = RttStats { srtt, rttvar: SimDuration::ZERO, min_rtt, ..self.rtt };
    }

    /// Counts rounds by what is delivered, or else by the smoothed round trip.
    fn count_rounds(&mut self, ack: &KernelAck) {
        let is_over = match ack.counts {
            Some(counts) => counts.sample_delivered > 0 && counts.prior_delivered >= self.round_delivered,
            None => self.now >= self.round_ends,
        };
        if is_over {
            (self.round, self.round_ends) = (self.round + 1, SimTime(self.now.0 + self.rtt.srtt.0));
            self.round_delivered = ack.counts.map_or(0, |counts| counts.delivered);
        }
    }

    fn segments(&self, count: impl Into<u64>) -> Bytes {
        Bytes(count.into() * self.mss)
    }

    /// Segments marked lost since the last ACK, by this one or by a timer before it.
    fn newly_lost(&self, ack: &KernelAck) -> u32 {
        ack.counts.map_or(ack.lost, |counts| counts.lost.saturating_sub(self.before.lost))
    }

    /// Reports the segments that left since the last report: those in flight beyond the earlier ones.
    fn send(&mut self, ack: &KernelAck) {
        let after = in_flight_before(ack);
        let sent = after.saturating_sub(self.inflight);
        self.inflight = u64::from(ack.inflight);
        if sent > 0 {
            let flight_size = Bytes(after * self.mss);
            let acknowledged = ack.counts.map_or(0, |counts| counts.bytes_acked);
            self.controller.on_send(&SendEvent {
                now: self.now,
                size: Bytes(sent * self.mss),
                flight_size,
                snd_nxt: acknowledged + flight_size.0,
                idle_for: SimDuration::ZERO,
                is_app_limited: false,
            });
        }
    }

    /// Reports each segment that is delivered or found lost.
    fn report_segments(&mut self, ack: &KernelAck) {
        let Some(counts) = ack.counts else { return };
        let end = counts.bytes_acked.saturating_add_signed(i64::from(counts.sample_end));
        let delivered = SegmentReport {
            now: self.now,
            sent_at: SimTime(self.now.0.saturating_sub(us(ack.rtt_us).0)),
            start: end,
            size: Bytes(self.mss),
            delivered: self.segments(counts.delivered),
            prior_delivered: self.segments(counts.prior_delivered),
            tx_in_flight: self.segments(counts.prior_inflight),
            lost: Bytes::ZERO,
            is_app_limited: counts.is_app_limited,
            is_retransmission: counts.is_retransmission || ack.rtt_us == 0,
        };
        for later in (0..ack.acked).rev() {
            let start = end.saturating_sub(self.segments(later + 1).0);
            let count = Bytes(delivered.delivered.0.saturating_sub(self.segments(later).0));
            self.controller.on_delivered(&SegmentReport { start, delivered: count, ..delivered });
        }
        for earlier in 0..self.newly_lost(ack) {
            let start = counts.bytes_acked + self.segments(earlier).0;
            self.controller.on_lost(&SegmentReport { start, lost: Bytes(self.mss), ..delivered });
        }
    }

    /// Begins a congestion episode if the kernel enters a worse state.
    fn settle(&mut self, ack: &KernelAck) {
        let before = std::mem::replace(&mut self.state, ack.state);
        if ack.state < REDUCED || ack.state <= before {
            return;
        }
        let cause = match ack.state {
            REDUCED => CongestionCause::Ecn,
            LOSS => CongestionCause::Timeout { repeated: false },
            _ => CongestionCause::Loss,
        };
        let inflight = self.segments(ack.inflight);
        let flight_size = self.segments(in_flight_before(ack));
        let event = CongestionEvent {
            now: self.now,
            cause,
            flight_size,
            decrease_from: self.controller.cwnd().min(flight_size),
            newly_lost: self.segments(self.newly_lost(ack)),
            inflight,
        };
        self.controller.on_congestion(&event);
        if event.is_timeout() {
            let window = Bytes(inflight.0 + self.mss);
            self.controller.on_restart(&RestartEvent {
                now: self.now,
                cause: RestartCause::Timeout,
                window,
                ssthresh: None,
            });
        }
    }

    fn event(&self, ack: &KernelAck, rtt_sample: Option<SimDuration>, in_slow_start: bool) -> AckEvent {
        let prior = self.segments(in_flight_before(ack));
        let cwnd = self.controller.cwnd().0;
        let is_cwnd_limited = match ack.counts {
            _ if in_slow_start => 2 * prior.0 >= cwnd,
            Some(counts) => counts.is_cwnd_limited,
            None => prior.0 + self.mss >= cwnd,
        };
        let in_recovery = matches!(ack.state, REDUCED | RECOVERY);
        let is_cumulative = ack.counts.map_or(ack.acked > 0, |counts| counts.bytes_acked > self.before.bytes_acked);
        let snd_una = ack.counts.map_or(0, |counts| counts.bytes_acked);
        let outstanding = ack.counts.map_or_else(
            || self.segments(u64::from(ack.inflight) + u64::from(ack.lost)).0,
            |counts| u64::from(counts.outstanding),
        );
        let newly_lost = self.segments(self.newly_lost(ack));
        AckEvent {
            now: self.now,
            newly_acked: self.segments(ack.acked),
            is_cumulative,
            newly_lost,
            lost_before: Bytes(newly_lost.0.saturating_sub(self.segments(ack.lost).0)),
            newly_ce_marked: Bytes::ZERO,
            prior_flight_size: prior,
            snd_una,
            snd_nxt: snd_una + outstanding,
            rtt_sample,
            rtt: self.rtt,
            timestamps: None,
            is_cwnd_limited,
            in_recovery,
            growth: Growth::of_facts(is_cumulative, is_cwnd_limited, in_recovery),
            reduced_window: None,
            round: self.round,
            is_paced: true,
            delivery: ack.counts.map(|counts| self.delivery(ack, &counts)),
        }
    }

    fn delivery(&self, ack: &KernelAck, counts: &KernelCounts) -> DeliveryReport {
        let sample = (counts.sample_delivered > 0).then(|| RateSample {
            delivered: self.segments(counts.sample_delivered),
            interval: us(counts.interval_us),
            prior_delivered: self.segments(counts.prior_delivered),
            is_app_limited: counts.is_app_limited,
            tx_in_flight: self.segments(counts.prior_inflight),
            lost: Bytes::ZERO,
        });
        DeliveryReport {
            delivered: self.segments(counts.delivered),
            lost: self.segments(counts.lost),
            inflight: self.segments(ack.inflight),
            prior_inflight: self.segments(counts.prior_inflight),
            repair: match ack.state {
                RECOVERY => Repair::Fast,
                LOSS => Repair::Timeout,
                _ => Repair::None,
            },
            has_sack: true,
            next_departure: SimTime::ZERO,
            sample,
        }
    }
}

fn us(us: u32) -> SimDuration {
    SimDuration(u64::from(us) * MICROSECOND)
}

/// The segments in flight before the ACK came, without those that have left since.
fn in_flight_before(ack: &KernelAck) -> u64 {
    u64::from(ack.inflight) + u64::from(ack.acked) + u64::from(ack.lost)
}
