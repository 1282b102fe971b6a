//! `YeAH`: Scalable TCP while the queue is short, Reno while it is long, and it empties the queue before that overflows.
//!
//! Source: Baiocchi, Castellani, Vacirca, `YeAH-TCP`: Yet Another Highspeed TCP, `PFLDnet` 2007: the queue is
//! `Q = (RTT - RTT_base) W / RTT` with the least RTT of a round trip; fast while `Q < Q_max` = 80 segments and
//! `(RTT - RTT_base) / RTT_base < 1/phi` = 1/8; else, once a round trip, `W -= Q` (precautionary decongestion) unless
//! Reno's flows would have pushed the window lower; a loss takes `min(max(W/8, Q), W/2)` away, or half where Reno flows are
//! there.
//!
//! Departures: none from the authors' Linux module, whose constants and choices these are: Reno flows are taken to be there
//! after 16 slow round trips in a row; the Reno window that bounds decongestion begins at half of the window and grows by a
//! segment for each slow round trip; 50 fast ones since the last loss forget it. The round trip after a decongestion still
//! measures the queue from before, so that Q is taken twice, and the path is not quite full for some round trips. The queue is
//! measured where the window may grow, and not in a recovery, over round trips with more than two samples. `variant = "linux"` is the module
//! itself, in whole segments ([`mod@crate::linux_module`]).
//!
//! Checked: constants and rules against the authors' Linux module; the runs held to it are in
//! docs/reference/laws.md.

use super::{Classic, ClassicVariant, Delays, Grown, RoundDelays, Rule};
use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{Controller, Start};
use crate::event::{AckEvent, CongestionEvent};
use crate::linux_module::{self, LinuxModule};
use ackclock_declare::{declare, default};

declare! {
    /// The parameters of [`Yeah`].
    #[derive(Copy)]
    pub struct YeahConfig {
        /// Source of the rules: the paper, or Linux's module.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Largest number of queued segments, `Q_max`.
        max_queue: f64 = default(80.0).at_least(1e-6).at_most(1e9).unit("segments"),
        /// Queueing delay that counts as long: more than 1/phi of the minimum RTT.
        phi: f64 = default(8.0).at_least(1.0).at_most(1e6),
        /// Segments added for each acknowledged one in fast mode.
        increase: f64 = default(0.01).at_least(1e-6).at_most(0.999_999).unit("segments"),
    }
}

impl Algorithm for YeahConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "Scalable TCP while the queue is short, Reno while it is long, and empties the queue in time",
        source: "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
        departures: "Reno flows are assumed after 16 slow round trips in a row; slow start is RFC 5681's, acknowledged segments are counted by octets",
        stack: Stack { profile: "yeah", ..Stack::ANY },
        ..Name::called("yeah")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Classic::start(Yeah::new(*self), start),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Yeah::new(self), start),
        }
    }
}

/// The slow round trips in a row that indicate Reno flows.
const GREEDY_ROUNDS: u32 = 16;
/// The fast round trips after which Reno's window is forgotten.
const FORGETTING_ROUNDS: u32 = 50;
/// The samples in a round trip that are too few for an estimate.
const LEAST_SAMPLES: f64 = 2.0;
/// The least window, segments.
const LEAST_WINDOW: f64 = 2.0;

/// `YeAH`: Scalable TCP while the queue is short, Reno while it is long. Source and departures:
/// [`mod@crate::classic::yeah`].
#[derive(Clone, Debug)]
pub struct Yeah {
    config: YeahConfig,
    delays: Delays,
    /// The estimated queue Q, segments.
    queued: f64,
    is_fast: bool,
    slow_rounds: u32,
    fast_rounds: u32,
    /// The window that Reno would have, segments.
    reno_window: f64,
    /// The segments that decongestion still has to take away.
    to_shed: f64,
}

impl Yeah {
    pub(super) fn new(config: YeahConfig) -> Self {
        Self {
            config,
            delays: Delays::default(),
            queued: 0.0,
            is_fast: true,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_window: LEAST_WINDOW,
            to_shed: 0.0,
        }
    }

    fn judge(&mut self, round: RoundDelays, cwnd: f64) {
        let base = self.delays.least;
        if round.samples <= LEAST_SAMPLES {
            return;
        }
        let delay = round.least - base;
        self.queued = delay * cwnd / round.least;
        self.is_fast = self.queued < self.config.max_queue && delay / base < 1.0 / self.config.phi;
        if self.is_fast {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > FORGETTING_ROUNDS {
                (self.fast_rounds, self.reno_window) = (0, LEAST_WINDOW);
            }
            return;
        }
        if self.queued > self.config.max_queue && cwnd > self.reno_window {
            self.to_shed = self.queued.min(cwnd - self.reno_window).min(cwnd / 2.0);
        }
        // Where a Reno flow would be: half of the window when the queue began to stand, and a segment each round trip.
        let begins = self.reno_window <= LEAST_WINDOW;
        self.reno_window =
            if begins { ((cwnd - self.to_shed) / 2.0).max(LEAST_WINDOW) } else { self.reno_window + 1.0 };
        self.slow_rounds += 1;
    }
}

impl Rule for Yeah {
    fn on_ack(&mut self, ack: &AckEvent, cwnd: f64, _mss: u64) {
        // Linux's module judges where a window may grow, which recovery does not let it, nor an application that leaves it unused.
        if let Some(round) = self.delays.on_ack_that(ack.may_grow(), ack) {
            self.judge(round, cwnd);
        }
    }

    /// Measures `RTT_base` anew after idle time, as the module does (`tcp_vegas_cwnd_event`).
    fn on_idle(&mut self) {
        self.delays.restart();
    }

    fn shed(&mut self) -> f64 {
        std::mem::take(&mut self.to_shed)
    }

    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        // Fast, it is never slower than Reno.
        let reno = grown.acked / grown.cwnd;
        if self.is_fast { reno.max(self.config.increase * grown.acked) } else { reno }
    }

    fn decrease(&mut self, _event: &CongestionEvent, _cwnd: f64, flight: f64) -> f64 {
        (self.to_shed, self.fast_rounds) = (0.0, 0);
        let competes = self.slow_rounds >= GREEDY_ROUNDS;
        let taken = if competes { flight / 2.0 } else { (flight / 8.0).max(self.queued).min(flight / 2.0) };
        self.reno_window = (self.reno_window / 2.0).max(LEAST_WINDOW);
        flight - taken
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queued_segments", self.queued);
        record("is_fast", f64::from(u8::from(self.is_fast)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss, recovering};
    use ackclock_units::SimDuration;

    fn judged(least_s: f64, cwnd: f64) -> Yeah {
        let mut yeah = Yeah::new(YeahConfig::default());
        yeah.delays.least = 0.1;
        yeah.judge(RoundDelays { mean: least_s, least: least_s, samples: 3.0 }, cwnd);
        yeah
    }

    #[test]
    fn it_is_fast_while_the_queue_is_short() {
        let mut yeah = judged(0.105, 1_000.0); // Q = 5/105 * 1000 = 47.6 < 80, 5 % < 1/8
        assert!(yeah.is_fast && (yeah.queued - 47.619).abs() < 1e-3);
        let ack = ack(1_000);
        let grown = Grown { ack: &ack, cwnd: 1_000.0, acked: 1.0 };
        assert!((yeah.increase(&grown) - 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_small_window_grows_as_renos_where_that_is_faster() {
        // `tcp_yeah`: a segment for each min(cwnd, 100) that are acknowledged
        let ack = ack(1_000);
        let grown = Grown { ack: &ack, cwnd: 50.0, acked: 1.0 };
        assert!((Yeah::new(YeahConfig::default()).increase(&grown) - 0.02).abs() < 1e-12);
    }

    #[test]
    fn the_queue_is_not_emptied_in_a_recovery() {
        let mut yeah = Yeah::new(YeahConfig::default());
        let at = |round: u64, rtt_ms: u64, in_recovery: bool| {
            let ack = if in_recovery { recovering(&ack(1_000)) } else { ack(1_000) };
            AckEvent { round, rtt_sample: Some(SimDuration::from_millis(rtt_ms)), ..ack }
        };
        yeah.on_ack(&at(1, 100, false), 1_100.0, 1_000);
        for round in 2..=5 {
            (0..3).for_each(|_| yeah.on_ack(&at(round, 110, true), 1_100.0, 1_000));
            assert!(yeah.shed().abs() < 1e-12, "round {round}");
        }
        (0..3).for_each(|_| yeah.on_ack(&at(6, 110, false), 1_100.0, 1_000));
        yeah.on_ack(&at(7, 110, false), 1_100.0, 1_000);
        assert!((yeah.shed() - 100.0).abs() < 1e-9); // Q = 10/110 * 1100
    }

    #[test]
    fn idle_time_begins_another_base_rtt() {
        // `tcp_vegas_cwnd_event`: the path has become longer by 100 ms while nothing was sent, and there is no queue.
        let mut yeah = Yeah::new(YeahConfig::default());
        let at = |round: u64, rtt_ms: u64| AckEvent {
            round,
            rtt_sample: Some(SimDuration::from_millis(rtt_ms)),
            ..ack(1_000)
        };
        yeah.on_ack(&at(1, 100), 1_100.0, 1_000);
        yeah.on_idle();
        (0..3).for_each(|_| yeah.on_ack(&at(2, 200), 1_100.0, 1_000));
        yeah.on_ack(&at(3, 200), 1_100.0, 1_000);
        assert!(yeah.queued.abs() < 1e-9 && yeah.is_fast, "{}", yeah.queued);
    }

    #[test]
    fn a_long_queue_is_emptied() {
        let mut yeah = judged(0.11, 1_100.0); // Q = 10/110 * 1100 = 100 > 80
        assert!((yeah.shed() - 100.0).abs() < 1e-9);
        assert!(yeah.shed().abs() < 1e-12, "once");
    }

    #[test]
    fn fast_round_trips_count_from_the_last_loss() {
        let mut yeah = judged(0.105, 1_000.0);
        assert_eq!(yeah.fast_rounds, 1);
        yeah.decrease(&loss(1_000_000), 1_000.0, 1_000.0);
        assert_eq!(yeah.fast_rounds, 0);
    }

    #[test]
    fn a_loss_takes_the_queue_away_but_an_eighth_at_least() {
        let mut yeah = judged(0.105, 1_000.0);
        assert!((yeah.decrease(&loss(1_000_000), 1_000.0, 1_000.0) - 875.0).abs() < 1e-9); // 125 > 47.6
        let mut yeah = judged(0.125, 1_000.0); // Q = 200
        assert!((yeah.decrease(&loss(1_000_000), 1_000.0, 1_000.0) - 800.0).abs() < 1e-9);
    }
}
