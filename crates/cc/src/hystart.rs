//! `HyStart` as Linux runs it: slow start ends when the ACKs of one round trip come in a train as long as the path, or
//! when their delay rises.
//!
//! Source: Ha and Rhee, Taming the elephants: new TCP slow start, Computer Networks 55(9), 2011; constants and order of
//! the steps after Linux 6.18. Linux departs from the paper: the train is measured against half of the minimum RTT plus
//! an allowance for bursts. The least of more than eight samples in a round counts, and the threshold of the delay is
//! an eighth of the minimum RTT, between 4 and 16 ms.
//!
//! Departures from Linux: after a timeout a round ends with what had been sent when the last ACK came; the pacing rate is that of
//! the window and SRTT at this ACK, not at the one before; times are nanoseconds.
//!
//! [`Rules::Ns3`] has the thresholds of ns-3's `TcpCubic` (3.37): the train is measured against the whole minimum RTT.
//! The delay may rise by the minimum RTT itself, between 4 ms and 1 s, and only the first eight samples of a round
//! decide.

use ackclock_units::{SimDuration, SimTime};

use crate::event::AckEvent;
use crate::slow_start::{ExitSign, Window};

/// The window below which HyStart is off, segments.
const LOW_WINDOW: u64 = 16;
/// The largest distance between ACKs of one train.
const ACK_SPACING: SimDuration = SimDuration::from_millis(2);
/// The delay samples of a round before the next one decides.
const SAMPLES: u32 = 8;
const LEAST_RISE: SimDuration = SimDuration::from_millis(4);
const LARGEST_RISE: SimDuration = SimDuration::from_millis(16);
const LARGEST_RISE_NS3: SimDuration = SimDuration::from_secs(1);
/// The time for which a new epoch's samples do not count, because the queue that the loss left is still draining.
const SETTLING: SimDuration = SimDuration::from_secs(1);
/// The allowance for bursts, octets: four of the largest bursts that an interface takes in one piece.
const BURSTS: u64 = 4 * 65_536;
const LARGEST_ALLOWANCE: SimDuration = SimDuration::from_millis(1);

/// True if delays may be measured: no epoch has begun within a second.
pub(crate) fn is_settled(now: SimTime, epoch: Option<SimTime>) -> bool {
    epoch.is_none_or(|epoch| now.saturating_since(epoch) >= SETTLING)
}

/// The source of the thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    Linux,
    Ns3,
}

/// The state of HyStart.
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    rules: Rules,
    delay_min: Option<SimDuration>,
    round: Round,
    /// The value of SND.NXT at the last ACK.
    sent: u64,
    found: bool,
}

/// The offset of the first octet of data: until it is acknowledged, no round begins.
const FIRST_OCTET: u64 = 1;

/// The ACKs of a round since `start`.
#[derive(Clone, Debug)]
struct Round {
    start: SimTime,
    /// The last ACK of the train, while the train lasts.
    last_ack: SimTime,
    /// The data sent when the round began; the first ACK beyond it begins the next round.
    end: u64,
    least_rtt: Option<SimDuration>,
    samples: u32,
}

impl Default for Round {
    fn default() -> Self {
        Self { start: SimTime::ZERO, last_ack: SimTime::ZERO, end: FIRST_OCTET, least_rtt: None, samples: 0 }
    }
}

impl HyStart {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, delay_min: None, round: Round::default(), sent: 0, found: false }
    }

    /// Returns the sign by which slow start ends with this ACK, if it ends.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, window: &Window, epoch: Option<SimTime>) -> Option<ExitSign> {
        self.sent = ack.snd_nxt;
        let sample = ack.rtt_sample.filter(|_| is_settled(ack.now, epoch))?;
        let delay_min = self.delay_min.map_or(sample, |least| least.min(sample));
        self.delay_min = Some(delay_min);
        if self.found || !window.in_slow_start() {
            return None;
        }
        if ack.snd_una > self.round.end {
            self.round = Round { start: ack.now, last_ack: ack.now, end: ack.snd_nxt, least_rtt: None, samples: 0 };
        }
        if window.cwnd < LOW_WINDOW * window.mss {
            return None;
        }
        let sign = if self.round.is_train_long(self.rules, ack, window, delay_min) {
            Some(ExitSign::AckTrain)
        } else {
            self.round.is_delay_up(self.rules, sample, delay_min).then_some(ExitSign::Delay)
        };
        self.found = sign.is_some();
        sign
    }

    /// Forgets the round after a timeout.
    pub(crate) fn reset(&mut self) {
        let sent = self.sent;
        *self = Self { sent, round: Round { end: sent, ..Round::default() }, ..Self::new(self.rules) };
    }
}

impl Round {
    /// True if the train has lasted for half the minimum RTT: with the other half on its way out, the path is full.
    fn is_train_long(&mut self, rules: Rules, ack: &AckEvent, window: &Window, delay_min: SimDuration) -> bool {
        if ack.now.saturating_since(self.last_ack) > ACK_SPACING {
            return false;
        }
        self.last_ack = ack.now;
        let lasted = ack.now.saturating_since(self.start);
        if rules == Rules::Ns3 {
            return lasted > delay_min;
        }
        let whole = delay_min + burst_allowance(window, ack.rtt.srtt);
        // Pacing by itself spreads a window over half of the round trip.
        lasted > if ack.is_paced { whole } else { whole / 2 }
    }

    /// True if the least delay of more than [`SAMPLES`] is well above the minimum RTT of the connection.
    fn is_delay_up(&mut self, rules: Rules, sample: SimDuration, delay_min: SimDuration) -> bool {
        let is_gathering = self.samples < SAMPLES;
        let least = match self.least_rtt {
            Some(least) if is_gathering || rules == Rules::Linux => least.min(sample),
            Some(least) => least,
            None => sample,
        };
        self.least_rtt = Some(least);
        if is_gathering {
            self.samples += 1;
            return false;
        }
        let rise = match rules {
            Rules::Linux => (delay_min / 8).clamp(LEAST_RISE, LARGEST_RISE),
            Rules::Ns3 => delay_min.clamp(LEAST_RISE, LARGEST_RISE_NS3),
        };
        least > delay_min + rise
    }
}

/// The extra length of a train whose packets left in bursts. It is four bursts at the pacing rate: twice cwnd/SRTT, or
/// 1.2 times in the upper half of the way to ssthresh.
fn burst_allowance(window: &Window, srtt: SimDuration) -> SimDuration {
    let is_far = window.ssthresh.is_none_or(|ssthresh| window.cwnd < ssthresh / 2);
    let tenths = if is_far { 20 } else { 12 };
    // 4 * 64 KiB / (tenths/10 * cwnd / SRTT)
    let allowance = u128::from(BURSTS * 10) * u128::from(srtt.0) / u128::from(tenths * window.cwnd);
    SimDuration(allowance.min(u128::from(LARGEST_ALLOWANCE.0)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{AckClock, ack};
    use ackclock_units::Bytes;

    const MSS: u64 = 1_448;

    /// The window in segments at which slow start ends, over a link that takes `per_segment` for a segment.
    fn exit_window(per_segment: SimDuration, rtt: SimDuration, is_paced: bool) -> u64 {
        exit_window_by(Rules::Linux, per_segment, rtt, is_paced)
    }

    fn exit_window_by(rules: Rules, per_segment: SimDuration, rtt: SimDuration, is_paced: bool) -> u64 {
        let mut clock = AckClock::new(per_segment, rtt, MSS);
        let mut hystart = HyStart::new(rules);
        let mut cwnd = 10;
        loop {
            let ack = AckEvent { is_paced, ..clock.next_ack(cwnd) };
            let window = Window { cwnd: cwnd * MSS, ssthresh: None, mss: MSS };
            if hystart.on_ack(&ack, &window, None).is_some() {
                return cwnd;
            }
            cwnd += ack.newly_acked.0 / MSS;
        }
    }

    #[test]
    fn a_train_of_half_the_round_trip_ends_slow_start() {
        // 1500 B at 100 Mbit/s take 0.12 ms, the least RTT is 60.12 ms; an allowance of 1 ms: 30.56 ms, the 255th
        // segment of a round. The windows at rounds' beginnings are 10, 20, ..., 320; a train of 160 lasts 19 ms, one
        // of 320 reaches 30.56 ms: 320 + 255 = 575. Linux 6.18 on such a path: 574 to 577 in four runs.
        let found = exit_window(SimDuration::from_micros(120), SimDuration::from_millis(60), false);
        assert!((574..=577).contains(&found), "{found}");
    }

    #[test]
    fn the_train_scales_with_the_path() {
        // 44.736 Mbit/s: 0.268 ms a segment, (50.27 + 1) / 2 = 25.6 ms are 96 of them: 160 + 96 = 256. Linux 6.18: 257.
        let found = exit_window(SimDuration(268_240), SimDuration::from_millis(50), false);
        assert!((255..=258).contains(&found), "{found}");
    }

    #[test]
    fn a_paced_sender_needs_the_whole_round_trip() {
        // 60.12 + 1 ms are 510 segments of 0.12 ms, more than that round's 320; the next round's train of 640 reaches
        // them: 640 + 510 = 1150. Its first segments meet no queue, so that its least delay has not risen.
        let found = exit_window(SimDuration::from_micros(120), SimDuration::from_millis(60), true);
        assert!((1_148..=1_152).contains(&found), "{found}");
    }

    #[test]
    fn by_ns3s_rules_a_train_of_the_whole_round_trip_ends_slow_start() {
        // 60.12 ms are 501 segments of 0.12 ms: 640 + 501 = 1141.
        let found = exit_window_by(Rules::Ns3, SimDuration::from_micros(120), SimDuration::from_millis(60), false);
        assert!((1_140..=1_143).contains(&found), "{found}");
    }

    #[test]
    fn rounds_are_a_segment_short_of_twice_as_long_behind_a_receiver_that_acknowledges_the_first_segment_alone() {
        // Then every second: ACKs come to odd segments, and what has been sent ends with an even one. Rounds begin with 10, 19, 37, 73, 145,
        // 289 and 577 segments, and the train of the last is 501 long: 1078. ns-3 3.37, whose receiver does so, leaves between 1059 and 1085.
        let mut clock = AckClock::new(SimDuration::from_micros(120), SimDuration::from_millis(60), MSS);
        let mut hystart = HyStart::new(Rules::Ns3);
        let (mut cwnd, mut begins, mut acknowledged) = (10, Vec::new(), 1);
        loop {
            let ack = clock.next_ack_of(acknowledged, cwnd);
            let window = Window { cwnd: cwnd * MSS, ssthresh: None, mss: MSS };
            let sign = hystart.on_ack(&ack, &window, None);
            if hystart.round.start == ack.now {
                begins.push(cwnd);
            }
            if sign.is_some() {
                break;
            }
            cwnd += acknowledged;
            acknowledged = 2;
        }
        assert_eq!(begins, [10, 19, 37, 73, 145, 289, 577]);
        assert!((1_076..=1_080).contains(&cwnd), "{cwnd}");
    }

    fn sample(now_ms: u64, rtt_ms: u64) -> AckEvent {
        let rtt = SimDuration::from_millis(rtt_ms);
        AckEvent {
            now: SimTime::ZERO + SimDuration::from_millis(now_ms),
            rtt_sample: Some(rtt),
            prior_flight_size: Bytes(100 * MSS),
            ..ack(MSS)
        }
    }

    const WIDE: Window = Window { cwnd: 20 * MSS, ssthresh: None, mss: MSS };

    /// Feeds samples 3 ms apart (no train); returns the position of the one that ends slow start.
    fn exit_position(rtts_ms: &[u64], window: &Window) -> Option<usize> {
        exit_position_by(Rules::Linux, rtts_ms, window)
    }

    fn exit_position_by(rules: Rules, rtts_ms: &[u64], window: &Window) -> Option<usize> {
        let mut hystart = HyStart::new(rules);
        (0..).zip(rtts_ms).position(|(n, &rtt)| {
            let ack = AckEvent { snd_una: (n + 1) * MSS, snd_nxt: (n + 100) * MSS, ..sample(1_000 + 3 * n, rtt) };
            hystart.on_ack(&ack, window, None).is_some()
        })
    }

    #[test]
    fn the_ninth_sample_of_a_round_that_rose_by_an_eighth_ends_slow_start() {
        // Least RTT 80 ms: the threshold is 10 ms. A hundred segments are in flight, the next ACK begins a round.
        let round_of = |rtt: u64| [vec![80; 100], vec![rtt; 20]].concat();
        assert_eq!(exit_position(&round_of(90), &WIDE), None); // not more than 10 ms
        assert_eq!(exit_position(&round_of(91), &WIDE), Some(108)); // eight gathered, the ninth decides
    }

    #[test]
    fn by_ns3s_rules_the_delay_may_rise_by_the_least_round_trip() {
        let round_of = |rtt: u64| [vec![80; 100], vec![rtt; 20]].concat();
        assert_eq!(exit_position_by(Rules::Ns3, &round_of(160), &WIDE), None);
        assert_eq!(exit_position_by(Rules::Ns3, &round_of(161), &WIDE), Some(108));
        // The first eight samples of a round decide: a ninth that is lower comes too late.
        let falls = [vec![80; 100], vec![161; 8], vec![80; 12]].concat();
        assert_eq!(exit_position_by(Rules::Ns3, &falls, &WIDE), Some(108));
        assert_eq!(exit_position(&falls, &WIDE), None);
    }

    /// Linux 6.18 does not count the round that a report of later data would begin. The next ends where the window then
    /// reaches, so that it needs another hundred segments' samples.
    #[test]
    fn a_report_without_an_acknowledgement_begins_no_round() {
        let mut hystart = HyStart::new(Rules::Linux);
        let sacked = AckEvent { snd_una: 1, snd_nxt: 1 + 10 * MSS, ..sample(0, 80) };
        hystart.on_ack(&sacked, &WIDE, None);
        assert_eq!(hystart.round.end, 1);
        let acked = AckEvent { snd_una: 1 + MSS, snd_nxt: 1 + 11 * MSS, ..sample(3, 80) };
        hystart.on_ack(&acked, &WIDE, None);
        assert_eq!(hystart.round.end, 1 + 11 * MSS);
    }

    #[test]
    fn the_rise_has_bounds() {
        let rise = |least: u64, rtt: u64| {
            let rtts = [vec![least; 100], vec![rtt; 20]].concat();
            exit_position(&rtts, &WIDE).is_some()
        };
        assert!(!rise(8, 12) && rise(8, 13)); // an eighth is 1 ms: 4 ms count
        assert!(!rise(400, 416) && rise(400, 417)); // an eighth is 50 ms: 16 ms count
    }

    #[test]
    fn a_small_window_is_left_alone() {
        let rtts = [vec![80; 100], vec![160; 20]].concat();
        let narrow = Window { cwnd: 16 * MSS - 1, ..WIDE };
        assert_eq!(exit_position(&rtts, &narrow), None);
    }

    #[test]
    fn samples_in_the_second_after_an_epochs_beginning_do_not_count() {
        let mut hystart = HyStart::new(Rules::Linux);
        let epoch = Some(SimTime::ZERO);
        hystart.on_ack(&sample(999, 10), &WIDE, epoch);
        assert_eq!(hystart.delay_min, None);
        hystart.on_ack(&sample(1_000, 20), &WIDE, epoch);
        assert_eq!(hystart.delay_min, Some(SimDuration::from_millis(20)));
    }

    #[test]
    fn the_allowance_is_four_bursts_at_twice_the_window_and_a_millisecond_at_most() {
        let srtt = SimDuration::from_millis(10);
        let window = |cwnd, ssthresh| Window { cwnd, ssthresh, mss: MSS };
        // 262 144 B / (2 * 10 MB / 10 ms) = 131.072 us; / 1.2 instead: 218.453 us
        assert_eq!(burst_allowance(&window(10_000_000, None), srtt), SimDuration(131_072));
        assert_eq!(burst_allowance(&window(10_000_000, Some(19_000_000)), srtt), SimDuration(218_453));
        assert_eq!(burst_allowance(&window(14_480, None), srtt), SimDuration::from_millis(1));
    }
}
