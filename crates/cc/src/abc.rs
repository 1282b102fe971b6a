//! ABC: the window grows by a packet for every "accelerate" that the network sends back and falls by one for every "brake".
//!
//! Source: Goyal et al., ABC: A Simple Explicit Congestion Controller for Wireless Networks, NSDI 2020, sections 3.1.2
//! (the window), 3.1.3 (the additive increase, equation 3), 4.1 (bottlenecks that are not ABC routers) and 5.1 (the
//! bits), and the authors' modules for Linux, `tcp_abc.c` and `tcp_abccubic.c`. The modules were read; the numbers of
//! sections and equations are from memory, but for 4.1, which the authors' repository names. The router is the queue
//! `abc`.
//!
//! Two windows are kept, of which the smaller holds. That of ABC is `w + 1 + 1/w` after an accelerate and `w - 1 + 1/w`
//! after a brake, in packets; CUBIC's answers losses, for bottlenecks that send no feedback. Neither may exceed twice
//! the flight size and five packets, so that the larger one does not grow without bound. Pacing is at two windows in a
//! round trip; a paced window is hardly ever full, and half of it counts as in use.
//!
//! A brake is a packet marked CE, as in the authors' modules. Departures: it comes back as Accurate ECN counts it (RFC
//! 9768), exactly, where the modules take ECE as DCTCP sends it; the additive increase counts octets and not ACKs; slow
//! start of CUBIC's window ends with a loss and not by HyStart, since the delay of an ABC router does not indicate a
//! full path; a window is five packets at least, as in the modules. After a timeout CUBIC's window is the loss window,
//! where the modules keep it. A spurious episode is undone, where theirs lasts until the next ACK. Where the path has
//! no ABC router, every ACK counts as an accelerate, so that CUBIC alone decides. Other queues mark CE, too, where the
//! paper has bits of its own for accelerate and brake. CUBIC's window answers such marks, which are told apart by
//! equations 1 and 2: a full ABC router brakes at least half of the packets, since f is at most eta / 2 at the link's
//! full rate, and one that is not full has no queue. So a round trip in which fewer than a quarter of the data is
//! marked, but all of it waited, has marks of another queue.

use ackclock_declare::{declare, default};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::algorithm::{Algorithm, Name, Setting, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::cubic::CubicConfig;
use crate::delivery::Demands;
use crate::event::{AckEvent, CongestionCause, CongestionEvent, Growth, RestartCause, RestartEvent, SendEvent};
use crate::linux_cubic::LinuxCubic;
use crate::slow_start::Hystart;

declare! {
    /// The parameters of [`Abc`].
    #[derive(Copy)]
    pub struct AbcConfig {
        /// Additive increase in a round trip beside the feedback, which leads flows to equal shares.
        additive_increase: f64 = default(1.0).at_least(0.0).at_most(1e3).unit("packets").source("equation 3"),
        /// Largest window, as a multiple of the flight size.
        in_flight_cap: f64 = default(2.0).at_least(1.0).at_most(1e3).source("section 4.1"),
    }
}

impl Algorithm for AbcConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "the window follows a router's accelerates and brakes (queue abc), CUBIC elsewhere; sets tcp.ecn and accurate_ecn at both ends",
        source: "Goyal et al., NSDI 2020",
        departures: "brakes are CE and counted by Accurate ECN; few of them over a standing queue are answered as another queue's; CUBIC's slow start ends with a loss",
        stack: Stack {
            sets: &[
                ("ecn", Setting::Word("request")),
                ("accurate_ecn", Setting::Switch(true)),
                ("ect1", Setting::Switch(false)),
                ("dctcp_feedback", Setting::Switch(false)),
            ],
            ..Stack::ANY
        },
        ..Name::called("abc")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Abc(Box::new(Abc::new(self, start)))
    }
}

/// The least window of ABC, and the margin of a window above its bound, packets (`tcp_abc.c`).
const LEAST_WINDOW: f64 = 5.0;

/// The pacing rate, in windows a round trip.
const PACE: f64 = 2.0;

/// ABC: accelerate or brake. Source and departures: [`mod@crate::abc`].
#[derive(Clone, Debug)]
pub struct Abc {
    config: AbcConfig,
    mss: f64,
    /// The window w of ABC, octets.
    window: f64,
    cubic: LinuxCubic,
    srtt: SimDuration,
    marks: RoundMarks,
}

/// The CE marks of one round trip.
#[derive(Clone, Copy, Debug)]
struct RoundMarks {
    round: u64,
    /// Acknowledged data of the round trip, octets.
    acked: u64,
    marked: u64,
    least_rtt: Option<SimDuration>,
}

impl RoundMarks {
    fn of_round(round: u64) -> Self {
        Self { round, acked: 0, marked: 0, least_rtt: None }
    }

    fn add(&mut self, ack: &AckEvent) {
        self.acked += ack.newly_acked.0;
        self.marked += ack.newly_ce_marked.0;
        self.least_rtt = ack.rtt_sample.into_iter().chain(self.least_rtt).min();
    }

    /// True if another queue set the marks: fewer than a quarter of the data is marked, and all of it waited. Data
    /// waited if its RTT exceeds the minimum RTT by an eighth, as for HyStart.
    fn are_foreign(&self, min_rtt: SimDuration) -> bool {
        let waits = self.least_rtt.is_some_and(|rtt| rtt > min_rtt + SimDuration(min_rtt.0 / 8));
        self.marked > 0 && 4 * self.marked < self.acked && waits
    }
}

impl Abc {
    pub(crate) fn new(config: &AbcConfig, start: Start) -> Self {
        let cubic = LinuxCubic::new(&CubicConfig { hystart: Hystart::Off, ..CubicConfig::linux() }, start);
        let window = start.initial_window.0 as f64;
        Self {
            config: *config,
            mss: start.mss.0 as f64,
            window,
            cubic,
            srtt: SimDuration::ZERO,
            marks: RoundMarks::of_round(0),
        }
    }

    /// Applies equation 3 to ABC's window.
    fn follow(&mut self, ack: &AckEvent) {
        let acked = ack.newly_acked.0 as f64;
        let braked = ack.newly_ce_marked.0.min(ack.newly_acked.0) as f64;
        let packets = self.window / self.mss;
        self.window += acked - 2.0 * braked + self.config.additive_increase * acked / packets;
        self.window = self.window.max(LEAST_WINDOW * self.mss);
    }

    /// Bounds both windows by the flight size.
    fn bound(&mut self, ack: &AckEvent) {
        let most = self.config.in_flight_cap * ack.prior_flight_size.0 as f64 + LEAST_WINDOW * self.mss;
        self.window = self.window.min(most);
        if self.cubic.cwnd().0 as f64 > most {
            let window = Bytes(most as u64);
            self.cubic.on_restart(&RestartEvent { now: ack.now, cause: RestartCause::Outer, window, ssthresh: None });
        }
    }

    /// Lets CUBIC's window answer the marks of a queue that is not an ABC router: once in a round trip, and not beside
    /// a loss.
    fn heed_others(&mut self, ack: &AckEvent) {
        if ack.round != self.marks.round {
            let marks = std::mem::replace(&mut self.marks, RoundMarks::of_round(ack.round));
            if marks.are_foreign(ack.rtt.min_rtt) && !ack.in_recovery {
                self.cubic.on_congestion(&CongestionEvent {
                    now: ack.now,
                    cause: CongestionCause::Ecn,
                    flight_size: ack.prior_flight_size,
                    decrease_from: self.cubic.cwnd().min(ack.prior_flight_size),
                    newly_lost: Bytes::ZERO,
                    inflight: ack.prior_flight_size,
                });
            }
        }
        self.marks.add(ack);
    }

    fn is_cubic(&self) -> bool {
        (self.cubic.cwnd().0 as f64) < self.window
    }
}

impl CongestionController for Abc {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.srtt = ack.rtt.srtt;
        self.follow(ack);
        let growth = Growth { is_in_use: ack.uses(self.cwnd().0 as f64), ..ack.growth };
        self.cubic.on_ack(&AckEvent { growth, ..*ack });
        self.bound(ack);
        self.heed_others(ack);
    }

    /// A brake does not begin an episode, and CUBIC's window answers losses.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.cause != CongestionCause::Ecn {
            self.cubic.on_congestion(event);
        }
    }

    fn on_spurious(&mut self, now: SimTime) {
        self.cubic.on_spurious(now);
    }

    fn on_send(&mut self, sent: &SendEvent) {
        self.cubic.on_send(sent);
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.cubic.on_restart(restart);
        if restart.cause == RestartCause::Outer {
            self.window = restart.window.0 as f64;
        }
    }

    fn demands(&self) -> Demands {
        Demands { marks: true, ..Demands::default() }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.window as u64).min(self.cubic.cwnd().0))
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.cubic.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        let rate = PACE * self.cwnd().0 as f64 * 8.0 / self.srtt.as_secs_f64();
        (!self.srtt.is_zero()).then_some(Bandwidth(rate as u64))
    }

    fn is_in_slow_start(&self) -> bool {
        false
    }

    fn state(&self) -> &'static str {
        if self.is_cubic() { "cubic_window" } else { "abc_window" }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("abc_window_bytes", self.window);
        record("cubic_window_bytes", self.cubic.cwnd().0 as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss, unused};

    const MSS: u64 = 1_000;

    fn abc(segments: u64) -> Abc {
        Abc::new(&AbcConfig::default(), Start::of(MSS, segments * MSS, None))
    }

    fn at(acked: u64, braked: u64) -> AckEvent {
        AckEvent { newly_ce_marked: Bytes(braked), prior_flight_size: Bytes(1_000_000), ..ack(acked) }
    }

    #[test]
    fn an_accelerate_adds_a_packet_and_a_brake_takes_one_and_both_add_their_part() {
        let mut abc = abc(20);
        abc.follow(&at(MSS, 0));
        assert!((abc.window - 21_050.0).abs() < 1e-9, "{}", abc.window); // 20 + 1 + 1/20
        abc.window = 20_000.0;
        abc.follow(&at(MSS, MSS));
        assert!((abc.window - 19_050.0).abs() < 1e-9, "{}", abc.window); // 20 - 1 + 1/20
        abc.window = 20_000.0;
        abc.follow(&at(2 * MSS, MSS));
        assert!((abc.window - 20_100.0).abs() < 1e-9, "{}", abc.window); // one of each: 2/20
    }

    #[test]
    fn a_window_of_accelerates_doubles_and_one_of_brakes_ends_at_the_least() {
        let mut abc = abc(100);
        (0..100).for_each(|_| abc.follow(&at(MSS, 0)));
        assert!((200.0..201.0).contains(&(abc.window / 1e3)), "{}", abc.window);
        (0..1_000).for_each(|_| abc.follow(&at(MSS, MSS)));
        assert!((5.0..5.3).contains(&(abc.window / 1e3)), "{}", abc.window);
    }

    #[test]
    fn losses_are_answered_by_cubic_alone_and_the_smaller_window_holds() {
        let mut abc = abc(100);
        abc.on_congestion(&CongestionEvent { cause: CongestionCause::Ecn, ..loss(100 * MSS) });
        assert_eq!((abc.cwnd(), abc.state()), (Bytes(100 * MSS), "abc_window"));
        abc.on_congestion(&loss(100 * MSS));
        // Linux keeps 717/1024 of 100
        assert_eq!((abc.cwnd(), abc.state()), (Bytes(70 * MSS), "cubic_window"));
        assert!((abc.window - 100_000.0).abs() < 1e-9);
    }

    /// A round trip of ten packets, `marked` of them marked; the least round trip of the path is 100 ms.
    fn after_round(marked: u64, rtt_ms: u64, in_recovery: bool) -> Bytes {
        let mut abc = abc(10);
        abc.cubic.on_congestion(&loss(100 * MSS)); // out of slow start
        let rtt_sample = Some(SimDuration::from_millis(rtt_ms));
        for packet in 0..10 {
            abc.on_ack(&AckEvent { round: 1, rtt_sample, ..at(MSS, if packet < marked { MSS } else { 0 }) });
        }
        let before = abc.cubic.cwnd();
        abc.on_ack(&AckEvent { round: 2, rtt_sample, in_recovery, ..at(0, 0) });
        Bytes(before.0.saturating_sub(abc.cubic.cwnd().0))
    }

    /// Goyal et al., equations 1 and 2: where cr is mu, f is at most eta / 2, and no queue stands where cr is less.
    #[test]
    fn few_marks_over_a_standing_queue_are_answered_by_cubic() {
        assert_ne!(after_round(1, 120, false), Bytes::ZERO);
        assert_eq!(after_round(1, 105, false), Bytes::ZERO); // nothing waits: a router that is not full
        assert_eq!(after_round(5, 120, false), Bytes::ZERO); // as many as a full router makes
        assert_eq!(after_round(0, 120, false), Bytes::ZERO);
    }

    /// RFC 3168 section 6.1.2: once for a window of data, and not beside the answer to a loss in it.
    #[test]
    fn marks_of_another_queue_are_not_answered_beside_a_loss() {
        assert_eq!(after_round(1, 120, true), Bytes::ZERO);
    }

    /// A window paced by the round trip from before an outage is never full. Linux counts a window as used if half of
    /// it is in flight (slow start), RFC 9002 section 7.8 if only pacing holds data back.
    #[test]
    fn a_paced_window_grows_when_half_of_it_is_in_flight() {
        for (flight, window) in [(5, 11), (4, 10)] {
            let mut abc = abc(10);
            abc.on_ack(&unused(&AckEvent { prior_flight_size: Bytes(flight * MSS), ..at(MSS, 0) }));
            assert_eq!(abc.cubic.cwnd(), Bytes(window * MSS));
        }
    }

    #[test]
    fn no_window_is_above_twice_what_is_in_flight_and_five_packets() {
        let mut abc = abc(100);
        abc.on_ack(&AckEvent { prior_flight_size: Bytes(20 * MSS), ..at(MSS, 0) });
        assert!((abc.window - 45_000.0).abs() < 1e-9, "{}", abc.window);
        assert_eq!(abc.cubic.cwnd(), Bytes(45 * MSS));
        // 2 * 45 000 octets in the round trip of 100 ms
        assert_eq!(abc.pacing_rate(), Some(Bandwidth(7_200_000)));
    }
}
