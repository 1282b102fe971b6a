//! Events of a flow since the last decision.

use ackclock_cc::{AckEvent, CongestionEvent, SendEvent};
use ackclock_units::{Bytes, SimDuration, SimTime};

/// Sums and extremes between two decisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Beginning of the interval.
    pub from: SimTime,
    /// Number of ACKs that delivered data or reported loss.
    pub acks: u32,
    /// Payload octets delivered, cumulatively or selectively.
    pub acked: Bytes,
    /// Payload octets sent, retransmissions included.
    pub sent: Bytes,
    /// Payload octets marked lost.
    pub lost: Bytes,
    /// Payload octets delivered with a congestion mark.
    pub marked: Bytes,
    /// Congestion episodes that began because of losses, timeouts included.
    pub loss_episodes: u32,
    /// Congestion episodes that began because of marks.
    pub mark_episodes: u32,
    /// Number of expiries of the retransmission timer, among the episodes of losses.
    pub timeouts: u32,
    rtt_sum: SimDuration,
    rtt_count: u32,
    least_rtt: Option<SimDuration>,
    first_rtt: Option<(SimTime, SimDuration)>,
    last_rtt: Option<(SimTime, SimDuration)>,
}

impl Interval {
    /// An interval that begins at `from`.
    pub fn new(from: SimTime) -> Self {
        Self { from, ..Self::default() }
    }

    pub(crate) fn on_ack(&mut self, ack: &AckEvent) {
        self.acks += 1;
        self.acked += ack.newly_acked;
        self.lost += ack.newly_lost;
        self.marked += ack.newly_ce_marked;
        if let Some(rtt) = ack.rtt_sample {
            self.rtt_sum += rtt;
            self.rtt_count += 1;
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
            self.first_rtt.get_or_insert((ack.now, rtt));
            self.last_rtt = Some((ack.now, rtt));
        }
    }

    pub(crate) fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.cause == ackclock_cc::CongestionCause::Ecn {
            self.mark_episodes += 1;
            return;
        }
        self.loss_episodes += 1;
        if event.is_timeout() {
            self.timeouts += 1;
            // No ACK tells of these.
            self.lost += event.newly_lost;
        }
    }

    pub(crate) fn on_send(&mut self, sent: &SendEvent) {
        self.sent += sent.size;
    }

    /// The length of the interval, if it ends at `now`.
    pub fn length(&self, now: SimTime) -> SimDuration {
        now.saturating_since(self.from)
    }

    /// The rate of `bytes` over its length in bit/s; zero for an interval without length.
    pub fn rate_of(&self, bytes: Bytes, now: SimTime) -> f64 {
        let seconds = self.length(now).as_secs_f64();
        if seconds > 0.0 { bytes.0 as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// The mean RTT sample; `None` without one.
    pub fn mean_rtt(&self) -> Option<SimDuration> {
        self.rtt_sum.0.checked_div(u64::from(self.rtt_count)).map(SimDuration)
    }

    /// The least RTT sample; `None` without one.
    pub fn least_rtt(&self) -> Option<SimDuration> {
        self.least_rtt
    }

    /// The change of the RTT over time between its first and last sample, in seconds per second; zero with fewer than
    /// two.
    pub fn rtt_gradient(&self) -> f64 {
        let (Some((begin, first)), Some((end, last))) = (self.first_rtt, self.last_rtt) else { return 0.0 };
        let seconds = end.saturating_since(begin).as_secs_f64();
        if seconds > 0.0 { (last.as_secs_f64() - first.as_secs_f64()) / seconds } else { 0.0 }
    }

    /// The lost fraction of the lost and delivered data; zero without any.
    pub fn loss_fraction(&self) -> f64 {
        fraction(self.lost, self.lost + self.acked)
    }

    /// The marked fraction of the delivered data; zero without any.
    pub fn marked_fraction(&self) -> f64 {
        fraction(self.marked, self.acked)
    }
}

fn fraction(part: Bytes, whole: Bytes) -> f64 {
    if whole.0 == 0 { 0.0 } else { part.0 as f64 / whole.0 as f64 }
}
