//! `NewReno` with an increase chosen by an agent.
//!
//! Source: Seo, Cho, "DQN-based `NewReno`", J. KICS, 2023. The state: threshold, cwnd (segments), RTT (ms). The agent
//! takes one of seven actions for each window of acknowledged data, where `NewReno` would add a segment.
//!
//! Departures: acknowledged bytes are counted, so that delayed ACKs do not halve the number of actions.

use ackclock_declare::{declare, words};
use ackclock_units::{Bytes, SimTime};

use super::learner::{DqnConfig, Kind, Learner};
use super::window::LearnedWindow;
use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartEvent};
use crate::slow_start::{Hystart, SlowStartCount};

/// The inputs of the agent.
pub(super) const INPUTS: usize = 3;
/// The increase of each action, in segments.
pub(super) const STEPS: [i64; 7] = [-10, -3, -1, 0, 1, 3, 10];

words! {
    /// The events that store a tuple in congestion avoidance.
    #[derive(Default)]
    pub enum StoreOn {
        /// A tuple with every ACK.
        #[default]
        "ack" = Ack,
        /// A tuple with every action.
        "action" = Action,
    }
}

declare! {
    /// The parameters of [`DqnNewReno`].
    pub struct DqnNewRenoConfig {
        /// Trigger of storing a tuple.
        store_on: StoreOn = StoreOn::Ack,
        /// Unit that slow start counts: bytes (RFC 3465), or ACKs, as ns-3's `NewReno`.
        slow_start: SlowStartCount = SlowStartCount::Bytes,
    }
    within {
        /// Parameters of the agent.
        dqn: DqnConfig = DqnConfig::with_hidden(vec![30; 3]),
    }
}

impl Algorithm for DqnNewRenoConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "Reno's window with an increase chosen by a deep Q-network, which learns in the flow; also \"dqn-newreno\"",
        source: "Seo, Cho, DQN-based NewReno, J. KICS, 2023",
        departures: "details that the paper omits are parameters; acknowledged bytes are counted; the loss recovery is the stack's",
        aliases: &["dqn-newreno"],
        stack: Stack { profile: "dqn_newreno", ..Stack::ANY },
        ..Name::called("dqn_newreno")
    }];

    fn seed(&mut self, seed: u64) {
        self.dqn.seed = seed;
    }

    fn is_frozen(&self) -> bool {
        self.dqn.frozen.is_some()
    }

    fn start(&self, start: Start) -> Controller {
        Controller::DqnNewReno(Box::new(DqnNewReno::new(self, start)))
    }
}

/// `NewReno` with an agent of deep Q-learning that chooses the increase of its window. Source and departures:
/// [`mod@crate::dqn::newreno`].
#[derive(Clone, Debug)]
pub struct DqnNewReno {
    store_on: StoreOn,
    pub(super) window: LearnedWindow,
    pub(super) learner: Learner<INPUTS>,
    /// The octets acknowledged since the last action.
    acked: u64,
}

impl DqnNewReno {
    pub(crate) fn new(config: &DqnNewRenoConfig, start: Start) -> Self {
        let kinds = [Kind::Segments, Kind::Segments, Kind::Milliseconds];
        Self {
            store_on: config.store_on,
            window: LearnedWindow::new(config.dqn.rules(config.slow_start, Hystart::Off), start),
            learner: Learner::new(&config.dqn, "dqn_newreno", kinds, STEPS.len()),
            acked: 0,
        }
    }

    fn reading(&self) -> [f32; INPUTS] {
        let window = &self.window;
        [window.threshold() as f32, window.segments() as f32, window.rtt.as_millis_f64() as f32]
    }
}

impl CongestionController for DqnNewReno {
    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(acked) = self.window.on_ack(ack) else {
            if self.window.is_starting() {
                self.learner.forget();
            }
            return;
        };
        self.acked += acked;
        let is_due = self.acked >= self.window.cwnd;
        if is_due || self.store_on == StoreOn::Ack {
            self.learner.store(self.reading(), self.window.throughput());
        }
        if is_due {
            self.acked = 0;
            let action = self.learner.act(self.reading());
            self.window.step(STEPS[action]);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let throughput = self.window.throughput();
        self.window.on_congestion(event);
        self.learner.store_loss(self.reading(), throughput);
        self.acked = 0;
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

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.window.on_restart(restart);
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh.map(Bytes)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.learner.inspect(record);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "numbers by hand that f64 holds exactly")]

    use super::*;
    use crate::dqn::{BelowSsthresh, DecreaseFrom};
    use crate::testing::{ack, loss, timeout};

    fn controller(change: impl FnOnce(&mut DqnNewRenoConfig)) -> DqnNewReno {
        let mut config = DqnNewRenoConfig::default();
        change(&mut config);
        DqnNewReno::new(&config, Start::of(1_000, 10_000, None))
    }

    #[test]
    fn slow_start_is_renos_and_a_loss_keeps_seven_tenths() {
        let mut dqn = controller(|_| ());
        (0..10).for_each(|_| dqn.on_ack(&ack(1_000)));
        assert_eq!((dqn.cwnd(), dqn.learner.told("decisions")), (Bytes(20_000), 0.0));
        dqn.on_congestion(&loss(20_000));
        assert_eq!((dqn.cwnd(), dqn.ssthresh()), (Bytes(14_000), Some(Bytes(14_000)))); // 0.7 * 20
        dqn.on_congestion(&timeout(14_000, false));
        assert_eq!((dqn.cwnd(), dqn.ssthresh()), (Bytes(1_000), Some(Bytes(9_800))));
    }

    #[test]
    fn slow_start_counts_bytes_or_acks() {
        // RFC 5681 equation (2): cwnd += min (N, SMSS), an ACK of two segments for each two of the ten.
        for (count, grown) in [(SlowStartCount::Bytes, 20_000), (SlowStartCount::Acks, 15_000)] {
            let mut dqn = controller(|config| config.slow_start = count);
            (0..5).for_each(|_| dqn.on_ack(&ack(2_000)));
            assert_eq!(dqn.cwnd(), Bytes(grown));
        }
    }

    #[test]
    fn an_action_comes_when_a_window_is_acknowledged_and_moves_it_by_its_number() {
        let mut dqn = controller(|config| {
            config.dqn.below_ssthresh = BelowSsthresh::Avoidance;
            config.dqn.decrease_from = DecreaseFrom::FlightSize;
        });
        dqn.on_congestion(&loss(100_000)); // 70 segments
        for round in 1..=40 {
            let before = dqn.cwnd().0;
            for _ in 1..before / 1_000 {
                dqn.on_ack(&ack(1_000));
            }
            assert_eq!((dqn.cwnd().0, dqn.learner.told("decisions")), (before, f64::from(round - 1)));
            dqn.on_ack(&ack(1_000));
            assert_eq!(dqn.learner.told("decisions"), f64::from(round));
            let step = [-10, -3, -1, 0, 1, 3, 10][dqn.learner.told("action") as usize];
            let expected = (before as i64 + 1_000 * step).max(2_000);
            assert_eq!(dqn.cwnd().0 as i64, expected);
        }
    }

    #[test]
    fn tuples_come_with_each_ack_or_each_action() {
        for (store_on, expected) in [(StoreOn::Ack, 7.0), (StoreOn::Action, 1.0)] {
            let mut dqn = controller(|config| {
                config.store_on = store_on;
                config.dqn.below_ssthresh = BelowSsthresh::Avoidance;
            });
            dqn.on_congestion(&loss(10_000));
            // The seventh ACK acts: nothing is pending before. The window is 7 segments then, and what is acknowledged
            // in one piece acts again.
            (0..7).for_each(|_| dqn.on_ack(&ack(1_000)));
            assert_eq!((dqn.learner.told("tuples"), dqn.learner.told("decisions")), (0.0, 1.0));
            let left = dqn.cwnd().0;
            (0..6).for_each(|_| dqn.on_ack(&ack(1)));
            dqn.on_ack(&ack(left));
            assert_eq!((dqn.learner.told("tuples"), dqn.learner.told("decisions")), (expected, 2.0));
        }
    }

    #[test]
    fn a_loss_keeps_seven_tenths_of_cwnd_or_of_the_flight() {
        for (from, kept) in [(DecreaseFrom::Cwnd, 7_000), (DecreaseFrom::FlightSize, 3_500)] {
            let mut dqn = controller(|config| config.dqn.decrease_from = from);
            dqn.on_congestion(&loss(5_000)); // half of the window of ten segments is in flight
            assert_eq!(dqn.cwnd(), Bytes(kept));
        }
    }

    #[test]
    fn below_ssthresh_it_slow_starts_unless_the_agent_is_free() {
        for (below, grown) in [(BelowSsthresh::SlowStart, 1_000), (BelowSsthresh::Avoidance, 0)] {
            let mut dqn = controller(|config| {
                config.dqn.below_ssthresh = below;
                config.dqn.decrease_from = DecreaseFrom::FlightSize;
            });
            dqn.on_congestion(&loss(100_000));
            dqn.on_ack(&ack(1_000));
            dqn.window.step(-3);
            assert_eq!(dqn.cwnd(), Bytes(67_000));
            dqn.on_ack(&ack(1_000));
            assert_eq!(dqn.cwnd(), Bytes(67_000 + grown));
        }
    }
}
