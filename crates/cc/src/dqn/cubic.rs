//! CUBIC with a pace chosen by an agent.
//!
//! Source: Seo, Cho, "DQN-based CUBIC", J. KICS, 2024. The state: threshold, cwnd, `W_max` (segments), RTT, and T, the
//! time since the last reduction (ms). `W_max` is `cwnd (1 + beta) / 2` at a congestion. The agent acts when more than
//! CUBIC's `cnt` segments have been acknowledged, where CUBIC would add one. It takes one of four actions: a faster
//! curve, CUBIC's, hold, one segment less. `cnt` is `cwnd / (target - cwnd)`, at least 2, and `100 cwnd` where the
//! target is not above cwnd, as Linux has it.
//!
//! Departures: acknowledged bytes are counted, as segments and parts of one. The target of a curve sets the pace to the next
//! action, as in CUBIC itself; after hold and less the pace is CUBIC's. There is no floor of Reno's pace.

use ackclock_declare::{declare, default};
use ackclock_units::{Bytes, SimTime};

use super::LearnedKind;
use super::learner::{DqnConfig, Kind, Learner};
use super::pace::CubicPace;
use super::window::LearnedWindow;
use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartEvent};
use crate::slow_start::{Hystart, SlowStartCount};

/// The inputs of the agent.
pub(super) const INPUTS: usize = 5;
pub(super) const ACTIONS: usize = 4;
const FASTER: usize = 3;
const CUBICS_PACE: usize = 2;
const LESS: usize = 0;

declare! {
    /// The parameters of [`DqnCubic`].
    pub struct DqnCubicConfig {
        /// Steepness of the curve, C.
        c: f64 = default(0.4).at_least(1e-6).at_most(1e6).unit("segments/s^3"),
        /// Apply C before the cube of action 2, as in CUBIC; false applies 1, as the paper is printed.
        formula_c: bool = true,
        /// Early end of slow start before the first loss, as in CUBIC.
        hystart: Hystart = Hystart::Off,
    }
    within {
        /// Parameters of the agent.
        dqn: DqnConfig = DqnConfig::with_hidden(vec![50; 5]),
    }
}

impl Algorithm for DqnCubicConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "CUBIC with a pace chosen by a deep Q-network, which learns in the flow; also \"dqn-cubic\"",
        source: "Seo, Cho, DQN-based CUBIC, J. KICS, 2024",
        departures: "details that the paper omits are parameters; acknowledged bytes are counted; no floor of Reno's pace",
        aliases: &["dqn-cubic"],
        stack: Stack { profile: "dqn_cubic", ..Stack::ANY },
        ..Name::called("dqn_cubic")
    }];

    fn seed(&mut self, seed: u64) {
        self.dqn.seed = seed;
    }

    fn is_frozen(&self) -> bool {
        self.dqn.frozen.is_some()
    }

    fn start(&self, start: Start) -> Controller {
        Controller::DqnCubic(Box::new(DqnCubic::new(self, start)))
    }
}

/// CUBIC with an agent of deep Q-learning that chooses the pace of its growth. Source and departures:
/// [`mod@crate::dqn::cubic`].
#[derive(Clone, Debug)]
pub struct DqnCubic {
    config: DqnCubicConfig,
    pub(super) window: LearnedWindow,
    pub(super) learner: Learner<INPUTS>,
    /// The plateau `W_max`, segments; `None` until congestion avoidance begins.
    w_max: Option<f64>,
    /// The time of the last reduction, or the beginning of congestion avoidance.
    since: SimTime,
    is_faster: bool,
    /// The data acknowledged since the last action, segments.
    acked: f64,
    /// The value of cwnd when the last tuple was stored.
    stored_at: u64,
}

impl DqnCubic {
    pub(crate) fn new(config: &DqnCubicConfig, start: Start) -> Self {
        let kinds = [Kind::Segments, Kind::Segments, Kind::Milliseconds, Kind::Segments, Kind::Milliseconds];
        Self {
            window: LearnedWindow::new(config.dqn.rules(SlowStartCount::Bytes, config.hystart), start),
            learner: Learner::new(&config.dqn, "dqn_cubic", kinds, ACTIONS),
            w_max: None,
            since: SimTime::ZERO,
            is_faster: false,
            acked: 0.0,
            stored_at: 0,
            config: config.clone(),
        }
    }

    pub(super) fn kind(&self) -> LearnedKind {
        LearnedKind::Cubic { c: self.config.c, formula_c: self.config.formula_c }
    }

    fn reading(&self, now: SimTime) -> [f32; INPUTS] {
        let (window, t) = (&self.window, now.saturating_since(self.since));
        [
            window.threshold() as f32,
            window.segments() as f32,
            window.rtt.as_millis_f64() as f32,
            self.w_max.unwrap_or(0.0) as f32,
            t.as_millis_f64() as f32,
        ]
    }

    /// The segments to be acknowledged until the next action.
    fn cnt(&self, now: SimTime, w_max: f64) -> f64 {
        let pace = CubicPace { c: self.config.c, beta: self.config.dqn.beta, formula_c: self.config.formula_c };
        pace.count(self.is_faster, self.window.segments(), w_max, now.saturating_since(self.since))
    }

    fn act(&mut self, now: SimTime) {
        self.acked = 0.0;
        let action = self.learner.act(self.reading(now));
        self.is_faster = action == FASTER;
        match action {
            FASTER | CUBICS_PACE => self.window.step(1),
            LESS => self.window.step(-1),
            _ => {}
        }
    }
}

impl CongestionController for DqnCubic {
    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(acked) = self.window.on_ack(ack) else {
            if self.window.is_starting() {
                self.learner.forget();
            }
            return;
        };
        let w_max = if let Some(w_max) = self.w_max {
            w_max
        } else {
            self.since = ack.now;
            *self.w_max.insert(self.window.segments())
        };
        self.acked += acked as f64 / self.window.mss as f64;
        let t = ack.now.saturating_since(self.since);
        if t > ack.rtt.min_rtt || self.window.cwnd != self.stored_at {
            self.stored_at = self.window.cwnd;
            self.learner.store(self.reading(ack.now), self.window.throughput());
        }
        if self.acked > self.cnt(ack.now, w_max) {
            self.act(ack.now);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let (throughput, cwnd) = (self.window.throughput(), self.window.segments());
        self.window.on_congestion(event);
        if !event.is_repeated() {
            self.w_max = Some(cwnd * f64::midpoint(1.0, self.config.dqn.beta));
        }
        self.since = event.now;
        self.learner.store_loss(self.reading(event.now), throughput);
        (self.acked, self.is_faster) = (0.0, false);
    }

    fn on_spurious(&mut self, _now: SimTime) {
        self.window.on_spurious();
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.window.bytes()
    }

    /// Begins the curve anew after any decrease of the window.
    fn on_restart(&mut self, restart: &RestartEvent) {
        if restart.cause.is_reduction() {
            self.since = restart.now;
        }
        self.window.on_restart(restart);
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh.map(Bytes)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.learner.inspect(record);
        record("w_max_segments", self.w_max.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "numbers by hand that f64 holds exactly")]

    use super::*;
    use crate::dqn::BelowSsthresh;
    use crate::testing::{ack, loss};

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-3
    }

    #[test]
    fn w_max_and_the_pace_by_hand() {
        let mut config = DqnCubicConfig::default();
        config.dqn.below_ssthresh = BelowSsthresh::Avoidance;
        let start = Start::of(1_000, 100_000, None);
        let mut dqn = DqnCubic::new(&config, start);
        dqn.on_congestion(&loss(100_000));
        assert_eq!(dqn.cwnd(), Bytes(70_000));
        assert!(close(dqn.w_max.expect("a congestion"), 85.0));
        // At the beginning the target is 59.5, below the window: 100 * 70. After 5 s it is 85.406: 70 / 15.406 = 4.543 6
        assert!(close(dqn.cnt(SimTime::ZERO, 85.0), 7_000.0));
        let now = SimTime(5_000_000_000);
        assert!((dqn.cnt(now, 85.0) - 4.543_6).abs() < 5e-3);
        let mut actions = [false; ACTIONS];
        for _ in 0..40 {
            let (before, decisions) = (dqn.cwnd().0 as i64, dqn.learner.told("decisions"));
            let cnt = dqn.cnt(now, 85.0);
            for _ in 0..cnt.floor() as u64 {
                dqn.on_ack(&AckEvent { now, ..ack(1_000) });
            }
            assert_eq!(dqn.learner.told("decisions"), decisions);
            dqn.on_ack(&AckEvent { now, ..ack(1_000) });
            assert_eq!(dqn.learner.told("decisions"), decisions + 1.0);
            let action = dqn.learner.told("action") as usize;
            actions[action] = true;
            assert_eq!(dqn.cwnd().0 as i64 - before, [-1_000, 0, 1_000, 1_000][action]);
            assert_eq!(dqn.is_faster, action == 3);
        }
        assert_eq!(actions, [true; ACTIONS]);
    }
}
