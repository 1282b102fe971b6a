//! Prague: DCTCP for the Internet's low-latency service (L4S): it counts marks as DCTCP does, grows on unmarked data,
//! and shares a bottleneck as if no round trip were shorter than 25 ms.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-04 sections 2.3 and 2.4; RFC 9331 section 4 for its
//! requirements. Marks are fed back by RFC 9768 and data is sent as ECT(1): the endpoint's `accurate_ecn` and `ect1`.
//!
//! Rules of the authors' module (`tcp_prague.c`, version 0.7): alpha is 0 until the first mark, which halves the window; a
//! burst lasts a 4096th of a second at most; pacing is a 32nd faster in the first half of each virtual round trip and
//! as much slower in the second, so that a step marks part of each round trip, and not all of some; the rate goes down
//! to 100 kbit/s, below two segments in a round trip, with two segments as the window that bounds what is in flight. If
//! the feedback does not count marks, because the peer only has RFC 3168 or no ECN, Reno replaces it and data is not
//! ECN-capable (`prague_reno`, with `TCP_CONG_NO_FALLBACK_RFC3168`): ECT(1) would say that both ends count (RFC 9331
//! section 4.2).
//!
//! Departures: segments do not become smaller at low rates; the module paces up and down at windows of up to four segments only. A
//! bottleneck that marks as RFC 3168 says is not detected, and so not answered as Reno would; the reference round trip counts from
//! the beginning and not only after some hundred round trips; losses are answered as Reno does; the feedback of DCTCP (RFC 8257),
//! which counts too, is good enough.

use ackclock_declare::{declare, default};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::algorithm::{Algorithm, Name, Setting, Stack};
use crate::bursts::BurstRule;
use crate::controller::{CongestionController, Controller, Start};
use crate::dctcp::{Answered, MarkedFraction};
use crate::delivery::Demands;
use crate::event::{AckEvent, CongestionCause, CongestionEvent, RestartEvent};
use crate::reno::RenoConfig;

declare! {
    /// The parameters of [`Prague`].
    #[derive(Copy)]
    pub struct PragueConfig {
        /// Weight of the latest window in the moving average of the marked fraction, alpha: 1/16.
        gain: f64 = default(1.0 / 16.0).above(0.0).below(1.0),
        /// Value of alpha at the beginning. With 0 it stays there until the first mark, which halves the window, as in
        /// the authors' module (`prague_alpha_mode` = 0).
        initial_alpha: f64 = default(0.0).at_least(0.0).at_most(1.0),
        /// Share by which pacing is faster in the first half of a round trip and slower in the second: 4/128.
        wobble: f64 = default(0.03125).at_least(0.0).at_most(0.5),
        /// Reference RTT: shorter round trips share a bottleneck as if they were this long.
        reference_rtt: SimDuration = default(SimDuration::from_millis(25)).above(SimDuration::ZERO),
        /// Fraction of the window kept on a loss.
        beta: f64 = default(0.5).above(0.0).below(1.0),
    }
}

impl Algorithm for PragueConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "DCTCP for the Internet's low-latency service (L4S); sets tcp.ecn, accurate_ecn and ect1 at both ends",
        source: "draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331; Reno without ECN where the feedback does not count marks, as in the authors' module",
        departures: "a bottleneck that marks by RFC 3168 is not detected; segments do not become smaller at low rates; independence of the round trip begins immediately",
        stack: Stack {
            sets: &[
                ("ecn", Setting::Word("request")),
                ("accurate_ecn", Setting::Switch(true)),
                ("ect1", Setting::Switch(true)),
                ("dctcp_feedback", Setting::Switch(false)),
            ],
            ..Stack::ANY
        },
        ..Name::called("prague")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Prague(Box::new(Prague::new(self, start)))
    }
}

/// The longest burst at a queue's own rate: a 4096th of a second, 1 / 2^12 (`prague_burst_shift`).
const BURST: SimDuration = SimDuration(1_000_000_000 >> 12);

/// The least rate, bit/s, and the segments that may be in flight at any rate (`MINIMUM_RATE`, `MIN_CWND_RTT`).
const LEAST_RATE: f64 = 100e3;
const LEAST_IN_FLIGHT: f64 = 2.0;

/// A virtual round trip: as long as a round trip, measured in packets, and at least as long as the reference RTT.
#[derive(Clone, Copy, Debug, Default)]
struct VirtualRound {
    began: SimTime,
    round: u64,
}

impl VirtualRound {
    fn restart(&mut self, ack: &AckEvent) {
        (self.began, self.round) = (ack.now, ack.round);
    }

    fn is_over(&self, ack: &AckEvent, rtt: SimDuration) -> bool {
        ack.round > self.round && ack.now >= self.began + rtt
    }
}

/// Prague: DCTCP made fit for the Internet (L4S). Source and departures: [`mod@crate::prague`].
#[derive(Clone, Debug)]
pub struct Prague {
    config: PragueConfig,
    mss: f64,
    /// The congestion window, octets and fractions of them.
    cwnd: f64,
    ssthresh: Option<f64>,
    marks: MarkedFraction,
    observed: VirtualRound,
    answered: Answered,
    answered_at: SimTime,
    srtt: SimDuration,
    /// True once the network has marked a packet.
    has_seen_mark: bool,
    /// True in the second half of a virtual round trip, which is paced slower.
    is_slower: bool,
    before_loss: Option<(f64, Option<f64>)>,
}

impl Prague {
    pub(crate) fn new(config: &PragueConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0 as f64,
            cwnd: start.initial_window.0 as f64,
            ssthresh: start.ssthresh().map(|octets| octets as f64),
            marks: MarkedFraction::new(config.gain, config.initial_alpha),
            observed: VirtualRound::default(),
            answered: Answered::default(),
            answered_at: SimTime::ZERO,
            srtt: SimDuration::ZERO,
            has_seen_mark: config.initial_alpha > 0.0,
            is_slower: false,
            before_loss: None,
        }
    }

    fn virtual_rtt(&self) -> SimDuration {
        //= rfc9331-4.3-rtt-independence
        self.srtt.max(self.config.reference_rtt)
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    fn update_marks(&mut self, ack: &AckEvent) {
        self.marks.count(ack);
        self.is_slower = ack.now.saturating_since(self.observed.began).0 >= self.virtual_rtt().0 / 2;
        if self.observed.is_over(ack, self.virtual_rtt()) {
            if self.has_seen_mark {
                self.marks.update();
            }
            self.observed.restart(ack);
            self.is_slower = false;
        }
    }

    /// Grows the window for data acknowledged without a mark, by a segment in a reference round trip.
    fn grow(&mut self, ack: &AckEvent) {
        let unmarked = ack.newly_acked.0.saturating_sub(ack.newly_ce_marked.0) as f64;
        if self.in_slow_start() {
            self.cwnd += unmarked;
            return;
        }
        let share = self.srtt.as_secs_f64() / self.virtual_rtt().as_secs_f64();
        self.cwnd += unmarked * self.mss / self.cwnd * share * share;
    }

    /// Answers marks: `cwnd = cwnd * (1 - alpha / 2)`, once in a virtual round trip.
    fn answer_marks(&mut self, ack: &AckEvent) {
        self.answered.count(ack);
        let is_due = self.answered.is_over() && ack.now >= self.answered_at + self.virtual_rtt();
        if ack.newly_ce_marked.0 > 0 && is_due && !ack.in_recovery {
            self.answered.restart(ack);
            self.answered_at = ack.now;
            let taken = if self.has_seen_mark { self.marks.alpha() / 2.0 } else { 0.5 };
            self.has_seen_mark = true;
            self.keep(1.0 - taken);
        }
    }

    /// The least window: 100 kbit/s for a round trip, at most two segments.
    fn least_window(&self) -> f64 {
        (LEAST_RATE / 8.0 * self.srtt.as_secs_f64()).min(LEAST_IN_FLIGHT * self.mss)
    }

    fn keep(&mut self, fraction: f64) {
        self.cwnd = (self.cwnd * fraction).max(self.least_window());
        self.ssthresh = Some(self.cwnd);
    }
}

//= rfc9331-4.3-classic-bottleneck
impl CongestionController for Prague {
    /// Reno runs where marks are not counted (the authors' `prague_reno`).
    //= rfc9331-4.2-counted-marks
    fn in_its_place(&self, counted: bool) -> Option<Controller> {
        let start = Start::of(self.mss as u64, self.cwnd as u64, self.ssthresh.map(|octets| octets as u64));
        (!counted).then(|| RenoConfig::default().start(start))
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        //= rfc9331-4.3-scalable
        self.srtt = ack.rtt.srtt;
        self.update_marks(ack);
        if ack.growth.is_due && ack.uses(self.cwnd) {
            self.grow(ack);
        }
        self.answer_marks(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        //= rfc9331-4.3-loss
        if event.cause == CongestionCause::Ecn || event.is_repeated() {
            return;
        }
        self.before_loss = Some((self.cwnd, self.ssthresh));
        self.keep(self.config.beta);
        if event.is_timeout() {
            self.cwnd = self.cwnd.min(self.mss);
        }
    }

    fn on_spurious(&mut self, _now: SimTime) {
        if let Some((cwnd, ssthresh)) = self.before_loss.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
        }
    }

    fn demands(&self) -> Demands {
        // Two segments, also after a timeout: `MIN_CWND_RTT` of the authors' module.
        Demands { marks: true, own_loss_window: true, ..Demands::default() }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    /// The window is in whole segments, rounded up; pacing keeps to the fraction.
    fn cwnd(&self) -> Bytes {
        Bytes(((self.cwnd / self.mss).ceil().max(LEAST_IN_FLIGHT) * self.mss) as u64)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0 as f64).or(self.ssthresh);
        if self.cwnd >= self.mss || !restart.cause.is_reduction() {
            self.cwnd = restart.window.0 as f64; // a fraction of a segment is less
        }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(|octets| Bytes(octets as u64))
    }

    /// The rate is the window in a round trip, a little faster or slower; twice that in slow start, which doubles the
    /// window.
    fn pacing_rate(&self) -> Option<Bandwidth> {
        let wobble = if self.is_slower { -self.config.wobble } else { self.config.wobble };
        let ratio = if self.in_slow_start() { 2.0 } else { 1.0 + wobble };
        (!self.srtt.is_zero()).then(|| Bandwidth((ratio * self.cwnd * 8.0 / self.srtt.as_secs_f64()) as u64))
    }

    fn burst_rule(&self) -> BurstRule {
        BurstRule::Lasting(BURST)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.marks.alpha());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RttStats;
    use crate::testing::{ack, loss};

    const MSS: u64 = 1_000;

    fn prague(initial_alpha: f64) -> Prague {
        let start = Start::of(MSS, 100 * MSS, Some(50 * MSS));
        Prague::new(&PragueConfig { initial_alpha, ..PragueConfig::default() }, start)
    }

    fn at(ms: u64, round: u64, rtt_ms: u64) -> AckEvent {
        let rtt = SimDuration::from_millis(rtt_ms);
        let now = SimTime::ZERO + SimDuration::from_millis(ms);
        AckEvent { now, round, rtt: RttStats { srtt: rtt, ..RttStats::default() }, ..ack(MSS) }
    }

    //= rfc9331-4.3-rtt-independence
    #[test]
    fn below_the_reference_round_trip_growth_is_that_of_it() {
        let growth = |rtt_ms| {
            let mut prague = prague(0.0);
            prague.on_ack(&at(0, 0, rtt_ms));
            prague.cwnd - 100_000.0
        };
        assert!((growth(25) - 10.0).abs() < 1e-9); // 1000 * 1000 / 100 000
        assert!((growth(50) - 10.0).abs() < 1e-9); // longer ones grow as Reno does
        assert!((growth(5) - 0.4).abs() < 1e-9); // (5/25)^2 of it
    }

    //= rfc9331-4.3-scalable
    #[test]
    fn marks_take_half_of_alpha_once_in_a_virtual_round_trip() {
        let mut prague = prague(0.2);
        let marked = |ms: u64, round| AckEvent {
            newly_ce_marked: Bytes(MSS),
            prior_flight_size: Bytes(MSS),
            ..at(100 + ms, round, 10)
        };
        prague.observed.began = SimTime::ZERO + SimDuration::from_millis(100);
        prague.on_ack(&marked(0, 0));
        assert_eq!(prague.cwnd(), Bytes(90_000)); // 100 000 * (1 - 0.2 / 2); what is marked does not grow the window
        prague.on_ack(&marked(11, 1));
        prague.on_ack(&marked(24, 2));
        assert_eq!(prague.cwnd(), Bytes(90_000));
        prague.on_ack(&marked(25, 3));
        // alpha is of the 25 ms: 15/16 * 0.2 + 1/16 * 1 = 0.25
        assert_eq!(prague.cwnd(), Bytes(79_000)); // 90 000 * (1 - 0.125), and up to whole segments
    }

    #[test]
    fn a_timeout_raises_no_fraction_of_a_segment() {
        let mut prague = prague(1.0);
        prague.cwnd = 200.0;
        prague.on_congestion(&crate::testing::timeout(MSS, false));
        let left = prague.cwnd;
        let cause = crate::event::RestartCause::Timeout;
        prague.on_restart(&RestartEvent { now: SimTime::ZERO, cause, window: Bytes(MSS), ssthresh: None });
        assert!(prague.cwnd <= 200.0 && (prague.cwnd - left).abs() < 1e-9, "{left} {}", prague.cwnd);
    }

    #[test]
    fn the_first_mark_halves_the_window_and_only_then_alpha_moves() {
        let mut prague = prague(0.0);
        for round in 0..100 {
            prague.on_ack(&AckEvent { newly_acked: Bytes(0), ..at(30 * round, round, 10) });
        }
        let marked =
            |ms, round| AckEvent { newly_ce_marked: Bytes(MSS), prior_flight_size: Bytes(MSS), ..at(ms, round, 10) };
        prague.on_ack(&marked(3_000, 100));
        assert_eq!(prague.cwnd(), Bytes(50_000));
    }

    #[test]
    fn the_rate_goes_down_to_100_kbit_s_with_two_segments_in_flight_at_most() {
        let mut prague = prague(1.0);
        prague.on_ack(&at(0, 0, 20));
        for _ in 0..20 {
            prague.keep(0.5);
        }
        assert_eq!(prague.cwnd(), Bytes(2 * MSS));
        // 100 kbit/s and 1/32 more
        assert_eq!(prague.pacing_rate(), Some(Bandwidth(103_125)));
    }

    //= rfc9331-4.3-loss
    #[test]
    fn a_loss_halves_and_the_window_leaves_paced() {
        let mut prague = prague(0.2);
        prague.on_ack(&at(0, 0, 100));
        assert_eq!(prague.pacing_rate(), Some(Bandwidth(8_250_825))); // 100 010 octets in 100 ms, and 1/32 more
        prague.on_ack(&AckEvent { newly_acked: Bytes(0), ..at(50, 0, 100) });
        assert_eq!(prague.pacing_rate(), Some(Bandwidth(7_750_775))); // the second half: 1/32 less
        prague.on_congestion(&loss(100 * MSS));
        assert_eq!(prague.cwnd(), Bytes(51_000)); // 50 005, up to whole segments
    }

    //= rfc9331-4.2-counted-marks
    #[test]
    fn without_counted_marks_it_declines_ecn_and_is_reno() {
        let start = Start::of(MSS, 100 * MSS, Some(50 * MSS));
        let mut controller = PragueConfig::default().start(start);
        assert!(controller.on_feedback(true));
        assert!(controller.demands().marks);
        assert!(!controller.on_feedback(false));
        assert!(!controller.demands().marks);
        // RFC 5681: a segment in a round trip of any length (equation 3), half of the flight size after a loss (equation 4)
        controller.on_ack(&at(5, 0, 5));
        assert_eq!(controller.cwnd(), Bytes(100_010)); // 1000 * 1000 / 100 000
        controller.on_congestion(&loss(80 * MSS));
        assert_eq!(controller.ssthresh(), Some(Bytes(40_000)));
        assert_eq!(controller.pacing_rate(), None);
    }

    /// The mean rate, segments/s, over a path that marks each segment with probability `p`.
    fn mean_rate(p: f64, rtt_ms: u64) -> f64 {
        let mut random = ackclock_units::RandomStream::new(1, "marks");
        let mut prague = prague(p);
        prague.cwnd = 20.0 * MSS as f64;
        let (mut time, mut sent) = (0, 0.0);
        for round in 0..100_000 {
            let window = prague.cwnd().0 / MSS;
            for place in 0..window {
                let now = SimTime(1_000_000 * (time + place * rtt_ms / window));
                let marked = if random.chance(p) { MSS } else { 0 };
                let prior_flight_size = Bytes(window * MSS);
                prague.on_ack(&AckEvent {
                    newly_ce_marked: Bytes(marked),
                    prior_flight_size,
                    now,
                    ..at(time, round, rtt_ms)
                });
            }
            time += rtt_ms;
            sent += window as f64;
        }
        sent / time as f64 * 1e3
    }

    //= rfc9331-4.3-scalable
    #[test]
    fn under_random_marks_the_rate_depends_on_the_virtual_round_trip_alone() {
        // A window W of a virtual round trip loses W p / 2 once in that and the wait for the next mark, 1 / p segments,
        // and gains a segment in each: W p / 2 = 1 + 1 / (p W), so W = (1 + sqrt 3) / p.
        let p = 0.05;
        let law = 2.732 / p;
        for (rtt_ms, virtual_s) in [(5, 0.025), (10, 0.025), (25, 0.025), (50, 0.05)] {
            let window = mean_rate(p, rtt_ms) * virtual_s;
            assert!((window / law - 1.0).abs() < 0.15, "{rtt_ms} ms: {window} segments against {law}");
        }
    }
}
