//! Verus: learns the delay of each window, moves a target delay by the trend of delays, and takes the window from the
//! learnt curve.
//!
//! Source: Zaki et al., Adaptive Congestion Control for Unpredictable Cellular Networks, SIGCOMM 2015, in the steps of
//! the authors' sender (`yzaki/verus`, `verus_server.cpp`), whose numbers these are. Every epoch of 5 ms the largest
//! delay of the epoch is put beside the smoothed one, Dmax. With Dmax above R minimum RTTs the target delay, Dest,
//! falls by delta2; if delays rise it falls by delta1; otherwise it grows by delta2. The delay profile
//! (`verus/profile.rs`) maps it to the window W. `W + (2 - n) / (n - 1) w` packets leave in the epoch, with w in flight
//! and n epochs in a round trip. The profile is learnt from the delay of each packet and the window that it left under,
//! and fitted every second. It begins with slow start, which a loss or 500 ms of delay end. A loss takes the window to
//! 0.7 of that under which the lost packet left. Until data sent after that arrives, the profile learns nothing and the
//! window grows by 1/W a packet.
//!
//! Departures: it sends through TCP, which finds losses and times out; delays are round trips of segments, as ACKs tell
//! them, where those of the authors' are answered one by one; the profile has straight pieces where theirs has a
//! penalised cubic spline of ALGLIB; a retransmission counts unless its ACK came too soon. Where nothing is in flight
//! one segment may leave at any time, after a timeout one until an ACK arrives. The authors' sender always has data and
//! sends it immediately. Here an epoch changes nothing if no data is in flight, or none may leave after a timeout. A
//! window that the application leaves unused neither grows nor teaches the profile, and w includes data that may leave
//! and has not left. As there, slow start begins anew if the profile has fewer than five windows, or none that fits the
//! delay.
//!
//! Behind a short queue delays hardly depend on the window: the curve is nearly flat, and windows of thousands of
//! packets follow, as there.
//!
//! The runs held to it are in docs/reference/laws.md.

mod profile;

use std::collections::VecDeque;

use ackclock_declare::{declare, default};
use ackclock_units::{Bytes, SimDuration, SimTime};

use self::profile::Profile;
use crate::algorithm::{Algorithm, Name};
use crate::allowance::Allowance;
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::{Demands, SegmentReport};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent, SendEvent};

declare! {
    /// The parameters of [`Verus`].
    #[derive(Copy)]
    pub struct VerusConfig {
        /// Largest ratio of the smoothed largest delay to the minimum RTT, R.
        ratio: f64 = default(2.0).above(1.0).at_most(1e3).source("the authors' sender; the paper tries 2, 4 and 6"),
        /// Interval between decisions.
        epoch: SimDuration = default(SimDuration::from_millis(5)).at_least(SimDuration::from_millis(1)).at_most(SimDuration::from_secs(1)).source("section 5"),
        /// Decrease of the target delay in an epoch with rising delays, delta1.
        delta1: SimDuration = default(SimDuration::from_millis(1)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(1)).source("section 5"),
        /// Increase of the target delay in an epoch without rising delays, and decrease where delays are too long,
        /// delta2.
        delta2: SimDuration = default(SimDuration::from_millis(2)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(1)).source("section 5"),
        /// Interval between fits of the profile.
        refit: SimDuration = default(SimDuration::from_secs(1)).at_least(SimDuration::from_millis(1)).at_most(SimDuration::from_secs(100)).source("section 5"),
        /// Fraction of the window kept on a loss.
        decrease: f64 = default(0.7).above(0.0).below(1.0).source("the authors' sender"),
    }
}

impl Algorithm for VerusConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "a window from a learned delay profile, at a target delay adjusted by a few ms every 5 ms; for cellular links",
        source: "Zaki et al., SIGCOMM 2015; the authors' sender",
        departures: "through TCP; delays are RTT samples of ACKs; the curve is piecewise linear",
        ..Name::called("verus")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Verus(Box::new(Verus::new(self, start)))
    }
}

/// The delay that ends slow start, s, and the target delay after it, in R minimum RTTs.
const SLOW_START_DELAY: f64 = 0.5;
const AFTER_SLOW_START: f64 = 0.75;
/// The weights of the old value in the smoothed largest delay and in the smoothed delay.
const LARGEST_MEMORY: f64 = 0.2;
const DELAY_MEMORY: f64 = 0.875;
/// The least rise of the largest delay that counts, s: 0.0001 ms.
const RISE: f64 = 1e-7;
/// The increase of the minimum delay when the target cannot fall further, s.
const LEAST_DELAY_STEP: f64 = 0.01;
/// The window above which a loss ends slow start, and the one from which a loss clears the profile above it, packets.
const SLOW_START_WINDOW: f64 = 20.0;
const PROFILE_KEPT: f64 = 100.0;
/// The time for which the windows of departures are remembered.
const MEMORY: SimDuration = SimDuration::from_secs(10);

/// The delays of an epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    /// The minimum delay of the connection, s, increased when the target cannot fall further.
    least: Option<f64>,
    /// The least measured delay.
    shortest: Option<f64>,
    /// The largest delay of this epoch.
    of_epoch: Option<f64>,
    /// The smoothed largest delay Dmax; `None` before the first epoch.
    largest: Option<f64>,
    smoothed: f64,
}

/// Verus: a window from a curve of delays. Source and departures: [`mod@crate::verus`].
#[derive(Clone, Debug)]
pub struct Verus {
    config: VerusConfig,
    mss: u64,
    profile: Profile,
    in_slow_start: bool,
    /// True from the end of slow start by its delay until data that left afterwards has arrived.
    leaves_slow_start: bool,
    in_loss_phase: bool,
    delays: Delays,
    /// The target delay Dest, s.
    wanted: f64,
    /// The window W, packets.
    window: f64,
    /// The recent windows, each with its beginning.
    windows: VecDeque<(SimTime, f64)>,
    allowance: Allowance,
    /// The last beginning of slow start: data that left before does not count (`ss_id`). The octets of it that have
    /// arrived since the last ACK.
    session: SimTime,
    arrived: u64,
    /// True if the window was in use at the last ACK.
    is_used: bool,
    /// The time of the last ACK, or of the first segment after idle time.
    silent_since: SimTime,
    next_epoch: SimTime,
    next_fit: SimTime,
}

impl Verus {
    pub(crate) fn new(config: &VerusConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0,
            profile: Profile::default(),
            in_slow_start: true,
            leaves_slow_start: false,
            in_loss_phase: false,
            delays: Delays::default(),
            wanted: 0.0,
            window: (start.initial_window.0 / start.mss.0) as f64,
            windows: VecDeque::new(),
            allowance: Allowance::new(start),
            session: SimTime::ZERO,
            arrived: 0,
            is_used: true,
            silent_since: SimTime::ZERO,
            next_epoch: SimTime::NEVER,
            next_fit: SimTime::NEVER,
        }
    }

    fn set_window(&mut self, now: SimTime, window: f64) {
        self.window = window;
        while self.windows.len() > 1 && self.windows.front().is_some_and(|(at, _)| now.saturating_since(*at) > MEMORY) {
            self.windows.pop_front();
        }
        match self.windows.back_mut() {
            Some((at, last)) if *at == now => *last = window,
            _ => self.windows.push_back((now, window)),
        }
    }

    /// The window under which a segment left at `sent`.
    fn window_at(&self, sent: SimTime) -> f64 {
        let after = self.windows.partition_point(|(at, _)| *at < sent);
        self.windows.get(after.saturating_sub(1)).map_or(self.window, |(_, window)| *window)
    }

    fn in_flight_packets(&self) -> f64 {
        (self.allowance.in_flight() / self.mss) as f64
    }

    /// Takes the delay of a packet (`updateUponReceivingPacket`).
    fn on_delay(&mut self, now: SimTime, window: f64, delay: f64, is_app_limited: bool) {
        let delays = &mut self.delays;
        delays.of_epoch = Some(delays.of_epoch.map_or(delay, |largest| largest.max(delay)));
        let least_of = |known: Option<f64>| Some(known.map_or(delay, |least| least.min(delay)));
        (delays.least, delays.shortest) = (least_of(delays.least), least_of(delays.shortest));
        delays.smoothed = DELAY_MEMORY * delays.smoothed + (1.0 - DELAY_MEMORY) * delay;
        if !self.in_loss_phase {
            if !is_app_limited {
                self.profile.learn(window as usize, delay);
            }
            return;
        }
        self.set_window(now, self.window + 1.0 / self.window);
        if let Some(delay) = self.profile.delay_of(self.window) {
            self.wanted = self.wanted.min(delay);
        }
    }

    fn leave_slow_start(&mut self, now: SimTime) {
        self.in_slow_start = false;
        self.next_epoch = now + self.config.epoch;
        self.next_fit = self.next_epoch;
    }

    fn restart_slow_start(&mut self, now: SimTime) {
        self.profile = Profile::default();
        (self.delays, self.wanted) = (Delays::default(), 0.0);
        (self.in_slow_start, self.leaves_slow_start, self.in_loss_phase) = (true, false, false);
        (self.next_epoch, self.next_fit) = (SimTime::NEVER, SimTime::NEVER);
        self.windows.clear();
        self.set_window(now, 1.0);
        self.allowance.set(self.mss);
        self.session = now;
    }

    /// Answers a timeout (`TimeoutHandler`).
    fn on_timeout(&mut self, now: SimTime) {
        if self.in_slow_start {
            self.leave_slow_start(now);
        } else {
            self.in_loss_phase = true;
            self.wanted = self.delays.least.unwrap_or_default();
        }
    }

    /// Answers the loss of a packet that left under this window; one answer for each phase of losses.
    fn answer_loss(&mut self, now: SimTime, window: f64) {
        if self.in_loss_phase {
            return;
        }
        self.in_loss_phase = true;
        self.set_window(now, self.window.min(self.config.decrease * window).max(1.0));
        // In slow start there is no curve yet (`dEst = wList[(int)wBar]`).
        let delay = if self.in_slow_start {
            self.profile.learnt_of(self.window as usize)
        } else {
            self.profile.delay_of(self.window)
        };
        if let Some(delay) = delay {
            self.wanted = delay.max(self.delays.least.unwrap_or_default());
        }
        if self.in_slow_start && self.window > SLOW_START_WINDOW {
            self.profile.forget_from(PROFILE_KEPT.max(window) as usize);
            self.leave_slow_start(now);
        }
    }

    /// The largest delay since the last epoch; without ACKs at least the time since the last one.
    fn largest_delay(&mut self, now: SimTime) -> f64 {
        let silence = now.saturating_since(self.silent_since).as_secs_f64();
        self.delays.of_epoch.take().unwrap_or_else(|| silence.max(self.delays.largest.unwrap_or_default()))
    }

    /// Moves the target delay; false if no data is to leave in this epoch.
    fn move_delay(&mut self, largest: f64, before: f64) -> bool {
        let (delta1, delta2) = (self.config.delta1.as_secs_f64(), self.config.delta2.as_secs_f64());
        let least = self.delays.least.unwrap_or(largest);
        if before > self.config.ratio * least {
            if self.leaves_slow_start {
                return true;
            }
            self.wanted = (self.wanted - delta2).max(least);
            if self.wanted > least {
                return true;
            }
            if self.in_flight_packets() < 2.0 {
                self.delays.least = Some(least + LEAST_DELAY_STEP);
                return true;
            }
            return false;
        }
        if largest - before > RISE {
            self.wanted = (self.wanted - delta1).max(least);
        } else if self.is_used {
            self.wanted += delta2;
        }
        true
    }

    fn run_epoch(&mut self, now: SimTime) {
        self.next_epoch = now + self.config.epoch;
        let is_idle = self.allowance.in_flight() == 0 && self.delays.of_epoch.is_none();
        if is_idle || self.allowance.is_timed_out() {
            return; // nothing is to come, or nothing may leave
        }
        let largest = self.largest_delay(now);
        let before = self.delays.largest.unwrap_or(largest);
        let sends = self.move_delay(largest, before);
        let Some(window) = self.profile.window_of(self.wanted) else {
            self.restart_slow_start(now);
            return;
        };
        self.set_window(now, window.max(1.0));
        self.delays.largest = Some(LARGEST_MEMORY * before + (1.0 - LARGEST_MEMORY) * largest);
        let more = if sends { self.packets_of_epoch() * self.mss } else { 0 };
        self.allowance.set((self.allowance.left() + more).min(self.window as u64 * self.mss));
    }

    /// The packets that leave in the epoch (`calcSi`).
    fn packets_of_epoch(&self) -> u64 {
        let epochs = (self.delays.smoothed / self.config.epoch.as_secs_f64()).ceil();
        // What may leave and waits for its pacing has left in the authors' sender.
        let in_flight = ((self.allowance.in_flight() + self.allowance.left()) / self.mss) as f64;
        let packets = if epochs > 1.0 {
            self.window + in_flight * (2.0 - epochs) / (epochs - 1.0)
        } else {
            self.window - in_flight
        };
        packets.max(0.0) as u64
    }
}

impl CongestionController for Verus {
    fn on_delivered(&mut self, segment: &SegmentReport) {
        if segment.sent_at < self.session {
            return;
        }
        self.arrived += segment.size.0;
        let window = self.window_at(segment.sent_at);
        let delay = segment.now.saturating_since(segment.sent_at).as_secs_f64();
        // Sooner than the path's least delay it was the first sending that arrived (RFC 8985 section 6.2, step 2).
        if segment.is_retransmission && self.delays.shortest.is_none_or(|shortest| delay < shortest) {
            return;
        }
        if self.in_slow_start && delay > SLOW_START_DELAY {
            self.set_window(segment.now, (self.config.decrease * window).max(1.0));
            self.wanted = AFTER_SLOW_START * self.config.ratio * self.delays.least.unwrap_or(delay);
            (self.in_loss_phase, self.leaves_slow_start) = (true, true);
            self.leave_slow_start(segment.now);
        }
        if self.in_loss_phase && window <= self.window {
            self.delays.of_epoch = None;
            (self.in_loss_phase, self.leaves_slow_start) = (false, false);
        }
        self.on_delay(segment.now, window, delay, segment.is_app_limited);
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        self.allowance.on_lost(segment);
        if segment.sent_at >= self.session {
            let window = self.window_at(segment.sent_at);
            self.answer_loss(segment.now, window);
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        (self.silent_since, self.is_used) = (ack.now, ack.growth.is_in_use);
        self.allowance.on_ack(ack);
        let arrived = std::mem::take(&mut self.arrived);
        if self.in_slow_start {
            if self.is_used {
                self.set_window(ack.now, self.window + (arrived / self.mss) as f64);
            }
            self.allowance.set((self.window as u64 * self.mss).saturating_sub(self.allowance.in_flight()));
        }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        self.allowance.on_send(sent);
        if sent.is_app_limited {
            self.silent_since = sent.now;
        }
        if self.windows.is_empty() {
            self.set_window(sent.now, self.window);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn on_restart(&mut self, restart: &RestartEvent) {
        match restart.cause {
            RestartCause::SynLost => self.window = (restart.window.0 / self.mss).max(1) as f64,
            RestartCause::Timeout => self.on_timeout(restart.now),
            RestartCause::Idle | RestartCause::Unused | RestartCause::Outer => return,
        }
        self.allowance.on_restart(restart);
    }

    fn deadline(&self) -> SimTime {
        self.next_epoch.min(self.next_fit)
    }

    fn on_timer(&mut self, now: SimTime) {
        if now >= self.next_fit {
            self.next_fit = now + self.config.refit;
            if !self.profile.fit() {
                self.restart_slow_start(now);
            }
        }
        if now >= self.next_epoch {
            self.run_epoch(now);
        }
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, recovery_window: true, at_once: true, no_ecn: true, ..Demands::default() }
    }

    fn cwnd(&self) -> Bytes {
        self.allowance.window()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        (!self.in_slow_start).then(|| self.cwnd())
    }

    fn is_in_slow_start(&self) -> bool {
        self.in_slow_start
    }

    fn state(&self) -> &'static str {
        match (self.in_slow_start, self.in_loss_phase) {
            (true, _) => "slow_start",
            (false, true) => "loss_recovery",
            (false, false) => "normal_operation",
        }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("window_packets", self.window);
        record("delay_wanted_s", self.wanted);
        record("delay_least_s", self.delays.least.unwrap_or(f64::NAN));
        record("delay_largest_s", self.delays.largest.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, lost, sent, unused};

    const MSS: u64 = 1_000;

    /// A controller after slow start, with delays of 50 ms up to 25 packets and 2 ms more for each above.
    fn verus(wanted: f64, largest: f64) -> Verus {
        let start = Start::of(MSS, 10 * MSS, None);
        let mut verus = Verus::new(&VerusConfig::default(), start);
        for window in 1..=100_usize {
            verus.profile.learn(window, 0.05 + 0.002 * window as f64);
        }
        assert!(verus.profile.fit());
        (verus.in_slow_start, verus.wanted) = (false, wanted);
        verus.allowance.set(0);
        let least = Some(0.05);
        verus.delays = Delays { least, shortest: least, of_epoch: None, largest: Some(largest), smoothed: 0.1 };
        verus
    }

    fn epoch(verus: &mut Verus, largest: f64) -> (f64, f64) {
        verus.delays.of_epoch = Some(largest);
        verus.run_epoch(SimTime(1_000_000_000));
        (verus.wanted, verus.window)
    }

    #[track_caller]
    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, by hand {expected}");
    }

    #[test]
    fn the_delay_aimed_at_goes_up_by_two_and_down_by_one_or_two_and_the_curve_gives_the_window() {
        let mut falling = verus(0.0905, 0.09);
        // No rise: 92.5 ms, which 21.25 packets have: 22 are above.
        let (wanted, window) = epoch(&mut falling, 0.085);
        assert_near(wanted, 0.0925);
        assert_near(window, 21.0);
        assert_near(falling.delays.largest.unwrap(), 0.2 * 0.09 + 0.8 * 0.085);
        // A rise: 89.5 ms, 19.75 packets.
        let (wanted, window) = epoch(&mut verus(0.0905, 0.09), 0.095);
        assert_near(wanted, 0.0895);
        assert_near(window, 19.0);
        // Above twice the least: 88.5 ms, whatever delays do.
        assert_near(epoch(&mut verus(0.0905, 0.101), 0.09).0, 0.0885);
        // Never below the least; with nothing to take away the least itself moves.
        let mut low = verus(0.051, 0.101);
        assert_near(epoch(&mut low, 0.09).0, 0.05);
        assert_near(low.delays.least.unwrap(), 0.06);
    }

    /// RFC 8985 section 6.2, step 2: what arrives sooner than the path's least round trip is the first sending. `verus_server.cpp`
    /// lengthens its dMin by 10 ms at a time, and takes the least of it and of each delay.
    #[test]
    fn a_least_delay_that_was_made_longer_falls_again_with_a_retransmission() {
        let mut low = verus(0.051, 0.101);
        epoch(&mut low, 0.09);
        assert_near(low.delays.least.unwrap(), 0.06);
        let at = |ms: u64| SimTime(ms * 1_000_000);
        let again =
            |sent_ms, ms| SegmentReport { now: at(ms), sent_at: at(sent_ms), is_retransmission: true, ..lost(MSS) };
        low.on_delivered(&again(2_000, 2_049));
        assert_near(low.delays.least.unwrap(), 0.06); // 49 ms: the first sending
        low.on_delivered(&again(2_000, 2_052));
        assert_near(low.delays.least.unwrap(), 0.052);
    }

    #[test]
    fn an_epoch_sends_a_part_of_the_window_and_what_it_grew_by() {
        let mut verus = verus(0.09, 0.09);
        // 100 ms are 20 epochs: 30 - 18/19 of 25 in flight = 6.3
        verus.window = 30.0;
        verus.allowance.on_send(&sent(25 * MSS));
        assert_eq!(verus.packets_of_epoch(), 6);
        verus.delays.smoothed = 0.004;
        assert_eq!(verus.packets_of_epoch(), 5);
        verus.delays.smoothed = 0.1;
        verus.allowance.on_send(&sent(15 * MSS));
        assert_eq!(verus.packets_of_epoch(), 0);
    }

    #[test]
    fn a_loss_takes_three_tenths_of_the_window_that_the_packet_left_under() {
        let mut verus = verus(0.2, 0.2);
        verus.set_window(SimTime(1_000), 50.0);
        verus.set_window(SimTime(2_000), 60.0);
        let window = verus.window_at(SimTime(1_500));
        verus.answer_loss(SimTime(3_000), window);
        assert_near(verus.window, 35.0);
        assert_near(verus.wanted, 0.05 + 0.002 * 35.0);
        verus.answer_loss(SimTime(4_000), 10.0);
        assert_near(verus.window, 35.0);
        // Until what left after it arrives it grows by a packet in a window, and learns nothing.
        verus.on_delay(SimTime(5_000), 50.0, 0.3, false);
        assert_near(verus.window, 35.0 + 1.0 / 35.0);
    }

    #[test]
    fn the_end_of_slow_start_aims_at_the_delay_of_the_window_that_is_left() {
        let mut verus = verus(0.0, 0.2);
        (verus.in_slow_start, verus.delays.of_epoch) = (true, Some(0.5));
        verus.set_window(SimTime(1_000), 100.0);
        verus.answer_loss(SimTime(2_000), 100.0);
        // `verus_server.cpp`: `dEst = wList[(int)wBar]`, of 70 packets, whatever the longest delay was
        assert_near(verus.wanted, 0.05 + 0.002 * 70.0);
        // Its loop runs every epoch: a timer may be left at this moment by no event.
        assert_eq!(verus.deadline(), SimTime(2_000) + VerusConfig::default().epoch);
    }

    #[test]
    fn an_epoch_with_nothing_in_flight_moves_nothing_and_silence_begins_with_what_leaves_after_it() {
        let mut verus = verus(0.09, 0.09);
        let before = (verus.wanted, verus.window, verus.delays.least, verus.delays.largest);
        verus.run_epoch(SimTime(3_000_000_000));
        assert_eq!((verus.wanted, verus.window, verus.delays.least, verus.delays.largest), before);
        let now = SimTime(5_000_000_000);
        verus.on_send(&SendEvent { now, is_app_limited: true, ..sent(MSS) });
        assert_near(verus.largest_delay(now + SimDuration::from_millis(5)), 0.09); // Dmax, and not 5 s
    }

    #[test]
    fn a_window_that_is_not_used_neither_grows_nor_teaches() {
        let mut verus = verus(0.09, 0.09);
        verus.on_ack(&unused(&ack(MSS)));
        assert_near(epoch(&mut verus, 0.085).0, 0.09);
        let taught = verus.profile.learnt_of(50);
        verus.on_delay(SimTime(1_000), 50.0, 0.01, true);
        assert_eq!(verus.profile.learnt_of(50), taught);
        verus.restart_slow_start(SimTime(2_000));
        verus.arrived = MSS;
        verus.on_ack(&unused(&ack(MSS)));
        assert_near(verus.window, 1.0);
    }

    #[test]
    fn what_may_leave_and_has_not_left_counts_as_in_flight() {
        // 100 ms are 20 epochs: 30 - 18/19 of 15 in flight and 10 that wait = 6.3
        let mut verus = verus(0.09, 0.09);
        verus.window = 30.0;
        verus.allowance.on_send(&sent(15 * MSS));
        verus.allowance.set(10 * MSS);
        assert_eq!(verus.packets_of_epoch(), 6);
    }

    #[test]
    fn a_new_slow_start_counts_nothing_that_left_before_it() {
        let mut verus = verus(0.09, 0.09);
        let at = |ms: u64| SimTime(ms * 1_000_000);
        let delivered = |sent_ms, ms| SegmentReport { now: at(ms), sent_at: at(sent_ms), ..lost(MSS) };
        verus.restart_slow_start(at(100));
        // `verus_server.cpp`: "this packet belongs to the old SS session, so we discard it"
        verus.on_delivered(&delivered(90, 140));
        verus.on_ack(&AckEvent { now: at(140), ..ack(MSS) });
        assert_eq!((verus.window, verus.delays.least), (1.0, None));
        verus.on_lost(&delivered(95, 145));
        assert!(!verus.in_loss_phase);
        verus.on_delivered(&delivered(100, 150));
        verus.on_ack(&AckEvent { now: at(150), ..ack(MSS) });
        assert_eq!((verus.window, verus.delays.least), (2.0, Some(0.05)));
    }
}
