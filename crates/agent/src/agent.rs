//! The controller that an agent acts through.
//!
//! Source: none; it combines the common parts of the catalogues' papers. In slow start the flow's own controller runs,
//! unless the configuration gives slow start to the agent. Then the agent is in charge: it acts at each decision, and
//! window and rate stay between two decisions (with Orca's action the controller stays active). The flow's own
//! controller answers losses and marks, from the present window, unless the agent does. After a timeout slow start
//! begins again.
//!
//! Departures: an action applies at the instant of the ACK of its decision, but after the segments that this ACK
//! permits by itself.

use std::sync::Arc;

use ackclock_cc::{
    AckEvent, BurstRule, CongestionController, CongestionEvent, Controller, CubicPace, Demands, EarlyExit,
    HandshakeEvent, HopRecord, RestartCause, RestartEvent, RttStats, SegmentReport, SendEvent,
};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use crate::action::{Ground, Move};
use crate::config::AgentConfig;
use crate::decision::{Decision, DecisionClock};
use crate::interval::Interval;
use crate::named::{AnyObservation, AnyReward};
use crate::own::{ExternalObservationConfig, ExternalRewardConfig, Instances, with_values};
use crate::recent::Sample;
use crate::view::{Memory, View};

/// Constants of CUBIC (RFC 9438 sections 4.6 and 5).
const CUBIC: CubicPace = CubicPace { c: 0.4, beta: 0.7, formula_c: true };

/// The controller that an agent acts through, with the flow's own controller inside. The decisions of each:
/// [`mod@crate::agent`].
#[derive(Clone, Debug)]
pub struct Agent {
    config: Arc<AgentConfig>,
    /// The flow's own controller.
    own: Controller,
    mss: Bytes,
    cwnd: Bytes,
    ssthresh: Option<Bytes>,
    pacing_rate: Option<Bandwidth>,
    is_in_charge: bool,
    is_waiting: bool,
    in_recovery: bool,
    /// True if the flow's own controller answered the last episode, which it then undoes.
    own_answered: bool,
    /// True if the last action chose the steeper of CUBIC's curves.
    is_faster: bool,
    clock: DecisionClock,
    interval: Interval,
    memory: Memory,
    rtt: RttStats,
    flight_size: Bytes,
    since: Option<SimTime>,
    /// Rows of observations, the latest last; empty without a history.
    history: Vec<f32>,
    own_parts: Instances,
    /// True if the present interval is already among the recent ones.
    is_noted: bool,
}

impl Agent {
    /// An agent in place of `own`, for segments of `mss`.
    pub fn new(config: &Arc<AgentConfig>, own: Controller, mss: Bytes) -> Self {
        Self {
            mss,
            cwnd: own.cwnd(),
            ssthresh: own.ssthresh(),
            pacing_rate: None,
            own,
            is_in_charge: false,
            is_waiting: false,
            in_recovery: false,
            own_answered: true,
            is_faster: false,
            clock: DecisionClock::new(config.decision),
            interval: Interval::default(),
            memory: Memory::default(),
            rtt: RttStats::default(),
            flight_size: Bytes::ZERO,
            since: None,
            history: config.first_history(),
            own_parts: Instances::default(),
            is_noted: false,
            config: Arc::clone(config),
        }
    }

    /// Configuration of the agent.
    pub fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// True if a decision is due.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// True if the agent moves the window: slow start is over, or the agent's own.
    pub fn is_in_charge(&self) -> bool {
        self.is_in_charge
    }

    /// The view of the flow at `now`.
    pub fn view(&self, now: SimTime) -> View<'_> {
        View {
            now,
            mss: self.mss,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            pacing_rate: self.pacing_rate,
            flight_size: self.flight_size,
            rtt: self.rtt,
            since: self.since.unwrap_or(now),
            in_slow_start: self.in_slow_start(),
            in_recovery: self.in_recovery,
            memory: &self.memory,
            interval: &self.interval,
        }
    }

    /// Adds a row to the history and writes the whole history into `out`, which has room for
    /// [`AgentConfig::observation_len`] numbers.
    pub fn observe(&mut self, now: SimTime, out: &mut [f32]) {
        if !std::mem::take(&mut self.is_noted) {
            self.note_interval(now);
        }
        if self.config.history == 1 {
            return self.write_row(now, out);
        }
        let mut history = std::mem::take(&mut self.history);
        let count = self.config.observations.len();
        let newest = history.len() - count;
        history.copy_within(count.., 0);
        self.write_row(now, &mut history[newest..]);
        out.copy_from_slice(&history);
        self.history = history;
    }

    /// Adds the interval to the recent ones.
    fn note_interval(&mut self, now: SimTime) {
        let rate = self.interval.rate_of(self.interval.acked, now);
        self.memory.max_delivery_rate = self.memory.max_delivery_rate.max(rate);
        self.memory.recent.push(Sample {
            rate,
            cwnd: self.cwnd,
            mean_rtt: self.interval.mean_rtt().unwrap_or(self.rtt.latest),
            least_rtt: self.interval.least_rtt().unwrap_or(self.rtt.latest),
            acked: self.interval.acked,
            lost: self.interval.lost,
        });
    }

    fn write_row(&mut self, now: SimTime, row: &mut [f32]) {
        let mut own = std::mem::take(&mut self.own_parts.observations);
        if own.is_empty() {
            own.extend(self.config.own_observations().map(ExternalObservationConfig::make));
        }
        let (view, is_scaled) = (self.view(now), self.config.is_scaled);
        let mut made = own.iter_mut();
        for (place, observation) in row.iter_mut().zip(&self.config.observations) {
            *place = match observation {
                AnyObservation::BuiltIn(observation) if is_scaled => observation.scaled(&view),
                AnyObservation::BuiltIn(observation) => observation.value(&view),
                AnyObservation::Own(config) => {
                    let own = made.next().expect("one was made for each");
                    config.range().shown(with_values(&view, |values| own.value(values)), is_scaled)
                }
            } as f32;
        }
        self.own_parts.observations = own;
    }

    /// Reward for the interval until `now`.
    pub fn reward(&mut self, now: SimTime) -> f64 {
        let reward = match &self.config.reward {
            AnyReward::BuiltIn(reward) => reward.of(&self.view(now)),
            AnyReward::Own(reward) => self.own_reward(&reward.clone(), now),
        };
        self.note_window_rate(now);
        reward
    }

    /// The reward of a user's function, which sees the next observation: the interval is among the recent ones.
    fn own_reward(&mut self, config: &ExternalRewardConfig, now: SimTime) -> f64 {
        if !std::mem::replace(&mut self.is_noted, true) {
            self.note_interval(now);
        }
        let mut own = self.own_parts.reward.take().unwrap_or_else(|| config.make(&()));
        let reward = with_values(&self.view(now), |values| own.reward(values));
        self.own_parts.reward = Some(own);
        reward
    }

    /// Applies a decision: the number of a choice, a value, or a window and a rate. A new interval begins.
    pub fn act(&mut self, now: SimTime, decision: impl Into<Move>) {
        let ground = Ground { mss: self.mss, cwnd: self.cwnd, pacing_rate: self.pacing_rate, srtt: self.rtt.srtt };
        let (setting, is_faster) = match decision.into() {
            Move::Action(action) => (self.config.action.setting(action, &ground), self.config.action.is_faster(action)),
            Move::Setting { cwnd_segments, pacing_rate_bps } => (ground.setting(cwnd_segments, pacing_rate_bps), false),
        };
        (self.cwnd, self.pacing_rate, self.is_faster) = (setting.cwnd, setting.pacing_rate, is_faster);
        let cause = RestartCause::Outer;
        self.own.on_restart(&RestartEvent { now, cause, window: self.cwnd, ssthresh: None });
        self.begin_interval(now);
    }

    fn begin_interval(&mut self, now: SimTime) {
        (self.is_waiting, self.is_noted) = (false, false);
        self.interval = Interval::new(now);
        self.clock.restart(now, self.cwnd);
    }

    fn is_at_pace(&self, now: SimTime) -> bool {
        if self.config.decision != Decision::CubicPace {
            return false;
        }
        let view = self.view(now);
        let cwnd = view.segments(self.cwnd);
        // Before the first congestion the window at hand is all there is to grow from.
        let w_max = if self.memory.w_max == Bytes::ZERO { cwnd } else { view.segments(self.memory.w_max) };
        let since = now.saturating_since(self.memory.last_congestion.unwrap_or(view.since));
        view.segments(self.clock.acked()) > CUBIC.count(self.is_faster, cwnd, w_max, since)
    }

    /// True in slow start, as the party that moves the window sees it. The finished slow start of a controller without
    /// ssthresh does not begin again.
    fn in_slow_start(&self) -> bool {
        if self.own_moves() {
            return self.own.is_in_slow_start();
        }
        self.ssthresh.map_or(self.config.has_slow_start, |ssthresh| self.cwnd < ssthresh)
    }

    /// True if the flow's own controller moves the window.
    fn own_moves(&self) -> bool {
        !self.is_in_charge || self.config.action.keeps_controller()
    }

    fn follow_own(&mut self) {
        (self.cwnd, self.ssthresh) = (self.own.cwnd(), self.own.ssthresh());
    }

    /// Updates who is in charge, after the flow's own controller has moved the window. While it is in charge, no
    /// decision is due.
    fn settle_charge(&mut self, now: SimTime) {
        let belongs = self.config.has_slow_start || !self.own.is_in_slow_start();
        if belongs && !self.is_in_charge {
            self.is_in_charge = true;
            self.begin_interval(now);
        } else if !belongs {
            (self.is_in_charge, self.is_waiting) = (false, false);
            self.clock.stop();
        }
    }

    fn note_window_rate(&mut self, now: SimTime) {
        self.memory.max_window_rate = self.memory.max_window_rate.max(self.view(now).window_rate());
    }
}

impl CongestionController for Agent {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.rtt = ack.rtt;
        self.since.get_or_insert(ack.now);
        self.flight_size = Bytes(ack.snd_nxt.saturating_sub(ack.snd_una));
        self.in_recovery = ack.in_recovery;
        self.interval.on_ack(ack);
        if self.own_moves() {
            self.own.on_ack(ack);
            self.follow_own();
        }
        if self.is_in_charge {
            // In fast recovery the sender clocks the window down by itself: there is nothing to decide.
            let is_bound = ack.in_recovery && !self.config.answers_losses;
            let is_due = self.clock.on_ack(ack) || self.is_at_pace(ack.now);
            self.is_waiting |= is_due && !is_bound;
        } else {
            self.settle_charge(ack.now);
            self.is_waiting = self.is_in_charge;
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.interval.on_congestion(event);
        self.note_window_rate(event.now);
        let before = self.cwnd;
        self.is_faster = false;
        self.own_answered = !self.config.answers_losses || !self.is_in_charge || event.is_timeout();
        if self.own_answered {
            self.own.on_congestion(event);
            self.follow_own();
            self.settle_charge(event.now);
        } else {
            self.ssthresh = Some(self.cwnd);
        }
        if !event.is_repeated() {
            self.memory.threshold = self.ssthresh.unwrap_or(self.cwnd);
            self.memory.w_max = Bytes(u64::midpoint(before.0, self.memory.threshold.0));
            self.memory.last_congestion = Some(event.now);
        }
    }

    fn on_recovery_end(&mut self, now: SimTime) {
        if self.own_answered {
            self.own.on_recovery_end(now);
        }
    }

    fn on_spurious(&mut self, now: SimTime) {
        if self.own_answered {
            self.own.on_spurious(now);
        }
        if !self.config.answers_losses {
            self.follow_own();
            self.settle_charge(now);
        }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        self.flight_size = sent.flight_size;
        self.interval.on_send(sent);
        self.own.on_send(sent);
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.own.on_restart(restart);
        (self.cwnd, self.ssthresh) = (restart.window, restart.ssthresh.or(self.ssthresh));
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        if self.is_in_charge { self.pacing_rate } else { self.own.pacing_rate() }
    }

    fn burst_rule(&self) -> BurstRule {
        self.own.burst_rule()
    }

    fn send_buffer_windows(&self) -> u64 {
        self.own.send_buffer_windows()
    }

    fn demands(&self) -> Demands {
        let own = self.own.demands();
        Demands {
            timer: own.timer || matches!(self.config.decision, Decision::Every(_)),
            recovery_window: own.recovery_window || self.config.answers_losses,
            ..own
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        self.own.keeps_window_on_send()
    }

    fn on_feedback(&mut self, counted: bool) -> bool {
        self.own.on_feedback(counted)
    }

    fn on_handshake(&mut self, handshake: &HandshakeEvent) {
        self.own.on_handshake(handshake);
    }

    fn on_telemetry(&mut self, hops: &[HopRecord]) {
        self.own.on_telemetry(hops);
    }

    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.own.on_delivered(segment);
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        self.own.on_lost(segment);
    }

    fn deadline(&self) -> SimTime {
        self.clock.deadline().min(self.own.deadline())
    }

    fn on_timer(&mut self, now: SimTime) {
        if self.own.deadline() <= now {
            self.own.on_timer(now);
        }
        if self.clock.deadline() <= now {
            self.clock.stop();
            self.is_waiting = true;
        }
    }

    fn wants_to_stop(&self) -> bool {
        self.is_waiting
    }

    fn limits_itself(&self) -> bool {
        self.own_moves() && self.own.limits_itself()
    }

    fn state(&self) -> &'static str {
        match (self.own_moves(), self.in_slow_start()) {
            (true, _) => self.own.state(),
            (false, true) => "slow_start",
            (false, false) => "congestion_avoidance",
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.in_slow_start()
    }

    fn early_exit(&self) -> Option<EarlyExit> {
        self.own.early_exit()
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("threshold_segments", self.memory.threshold.0 as f64 / self.mss.0 as f64);
        record("in_charge", f64::from(u8::from(self.is_in_charge)));
    }
}
