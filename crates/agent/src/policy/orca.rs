//! Orca: CUBIC, whose window the network that its authors published multiplies by up to four, or divides, every 20 ms.
//!
//! Source: Abbasloo, Yen and Chao, Classic Meets Modern: A Pragmatic Learning-Based Congestion Control for the Internet, SIGCOMM 2020, and
//! the authors' program and checkpoint (`Soheil-ab/Orca`): `agent.py` has the network, `envwrapper.py` its inputs and `params.json` their
//! number, `orca-server-mahimahi.cc` slow start, the time of a report and the window, and the kernel's patch the measurements and the pace.
//! Two layers of 256 units, each normalised as it was in training, and one of a single unit see the last ten reports of seven numbers.
//! The inputs are not normalised (`use_normalizer` is false): the time since the last report is in seconds. Until the window is above
//! ssthresh for the first time it grows by a tenth every 2 ms beside CUBIC's growth.
//!
//! Departures: the authors' two programs poll each other, so that a decision comes up to 10 ms late; here it comes at once. Their kernel
//! rounds the mean delivery rate to whole units, and bounds the window by its buffers; their program names a bound of 10,000 segments without
//! applying it, up to which slow start adds its tenth here. What a decision sets in fast recovery is of no effect, where Linux has it until
//! the next ACK. A decision that moves the window begins CUBIC's curve anew, which goes on in their kernel, so that CUBIC probes less here
//! above its last window before a loss. What is found lost while no RTT sample comes counts in the next report; their program forgets it.

use std::sync::Arc;

use ackclock_cc::{
    AckEvent, CongestionController, CongestionEvent, Controller, Demands, EarlyExit, HandshakeEvent, RestartCause,
    RestartEvent, SegmentReport, SendEvent,
};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime, math};

use super::PolicyError;
use super::checkpoint::Checkpoint;
use super::network::{Network, Operand, Operation, Step, Unary, Work};

/// The numbers of a report, in their order.
const REPORT_NAMES: [&str; REPORT] =
    ["throughput_ratio", "pacing_ratio", "loss_ratio", "rtt_samples_per_cwnd", "report_s", "rtt_ratio", "delay_ratio"];
const REPORT: usize = 7;
const REPORTS: usize = 10;
const UNITS: usize = 256;
/// Defaults of `tf.nn.leaky_relu` and `tf.layers.batch_normalization`.
const SLOPE: f32 = 0.2;
const EPSILON: f64 = 1e-3;

const PERIOD: SimDuration = SimDuration::from_millis(20);
const SLOW_START_PERIOD: SimDuration = SimDuration::from_millis(2);
/// Bounds of the window, segments; the authors have no upper one.
const LEAST_WINDOW: u64 = 4;
const MOST_WINDOW: u64 = 1_000_000;
/// Window up to which a tenth is added in slow start, segments: the authors' `MAX_CWND`.
const MOST_SLOW_START: u64 = 10_000;
/// Octets of the headers of IPv4 and TCP with timestamps, which Linux counts in its pace.
const HEADERS: f64 = 52.0;
/// Ratio of SRTT to the least RTT below which delay does not count.
const DELAY_MARGIN: f64 = 1.25;
const LOSS_WEIGHT: f64 = 5.0;
const MOST_PACE: f64 = 10.0;

/// The authors' network, which flows that name its file share.
#[derive(Clone, Debug)]
pub struct OrcaNetwork(Arc<Network>);

impl OrcaNetwork {
    /// The actor of a checkpoint; `None` if the checkpoint is of another network.
    pub fn read(checkpoint: &Checkpoint<'_>) -> Option<Result<Self, PolicyError>> {
        checkpoint.has("actor/fc1/kernel").then(|| {
            let first = normalised(checkpoint, "actor/fc1", "actor/batch_normalization", REPORT * REPORTS)?;
            let second = normalised(checkpoint, "actor/fc2", "actor/batch_normalization_1", UNITS)?;
            let last = affine(checkpoint, "actor/dense", UNITS, 1)?;
            let [leaky, tanh] = [Unary::LeakyRelu(SLOPE), Unary::Tanh].map(Operation::Each);
            let operations = [first, leaky.clone(), second, leaky, last, tanh];
            let step = |(place, operation)| Step { operation, from: Operand::Slot(place) };
            let steps: Vec<Step> = operations.into_iter().enumerate().map(step).collect();
            let output = Operand::Slot(steps.len());
            Ok(Self(Arc::new(Network { constants: Vec::new(), steps, output, memory: Vec::new() })))
        })
    }

    fn action(&self, reports: &[f32], work: &mut Work) -> f64 {
        f64::from(self.0.evaluate(reports, work)[0])
    }
}

/// A layer of these names: weights, a row for each output, where the file has a row for each input.
fn affine(checkpoint: &Checkpoint<'_>, name: &str, inputs: usize, outputs: usize) -> Result<Operation, PolicyError> {
    let kernel = checkpoint.numbers(&format!("{name}/kernel"), &[inputs, outputs])?;
    let biases = checkpoint.numbers(&format!("{name}/bias"), &[outputs])?;
    let weights = (0..outputs).flat_map(|output| kernel.iter().skip(output).step_by(outputs)).copied().collect();
    Ok(Operation::Affine { weights, biases })
}

/// A layer and the normalisation after it, `(y - mean) / sqrt(variance + epsilon) + beta`, as one.
fn normalised(checkpoint: &Checkpoint<'_>, layer: &str, by: &str, inputs: usize) -> Result<Operation, PolicyError> {
    let Operation::Affine { mut weights, mut biases } = affine(checkpoint, layer, inputs, UNITS)? else {
        unreachable!("a layer is affine")
    };
    let of = |what: &str| checkpoint.numbers(&format!("{by}/{what}"), &[UNITS]);
    let [beta, mean, variance] = [of("beta")?, of("moving_mean")?, of("moving_variance")?];
    if let Some(unit) = variance.iter().position(|variance| *variance < 0.0) {
        let what = format!("has a variance below 0: \"{by}/moving_variance\" has {} at {unit}", variance[unit]);
        return Err(PolicyError::of_file(what, "use the checkpoint that the authors published"));
    }
    for (unit, row) in weights.chunks_exact_mut(inputs).enumerate() {
        let scale = 1.0 / (f64::from(variance[unit]) + EPSILON).sqrt();
        for weight in row {
            *weight = (f64::from(*weight) * scale) as f32;
        }
        let centred = f64::from(biases[unit]) - f64::from(mean[unit]);
        biases[unit] = (centred * scale + f64::from(beta[unit])) as f32;
    }
    Ok(Operation::Affine { weights, biases })
}

/// Measurements since the last report.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    since: SimTime,
    /// Sum and number of the samples of the delivery rate, octets/s.
    rates: f64,
    rate_count: u32,
    rtt_count: u32,
    lost: Bytes,
}

/// A flow of Orca: see the module.
#[derive(Clone, Debug)]
pub struct Orca {
    network: OrcaNetwork,
    work: Work,
    own: Controller,
    mss: f64,
    /// The last reports, the oldest first.
    reports: Vec<f32>,
    interval: Interval,
    /// The greatest throughput of a report, octets/s.
    max_rate: f64,
    srtt: SimDuration,
    min_rtt: SimDuration,
    /// The pace, octets of whole packets a second.
    pace: f64,
    in_recovery: bool,
    has_passed_slow_start: bool,
    /// Time of the next report, if an RTT sample has arrived by then.
    next: SimTime,
    action: f64,
    decisions: u64,
}

impl Orca {
    /// A flow at its beginning, where `own` is CUBIC for segments of `mss`.
    pub fn new(network: OrcaNetwork, own: Controller, mss: Bytes) -> Self {
        Self {
            network,
            work: Work::new(),
            own,
            mss: mss.0 as f64,
            reports: vec![0.0; REPORTS * REPORT],
            interval: Interval::default(),
            max_rate: 0.0,
            srtt: SimDuration::ZERO,
            min_rtt: SimDuration::ZERO,
            pace: 0.0,
            in_recovery: false,
            has_passed_slow_start: false,
            next: SimTime::ZERO,
            action: f64::NAN,
            decisions: 0,
        }
    }

    /// The window, whole segments.
    fn window(&self) -> u64 {
        (self.own.cwnd().0 as f64 / self.mss) as u64
    }

    fn set_window(&mut self, now: SimTime, segments: u64) {
        if !self.in_recovery {
            let window = Bytes(segments.clamp(LEAST_WINDOW, MOST_WINDOW) * self.mss as u64);
            self.own.on_restart(&RestartEvent { now, cause: RestartCause::Outer, window, ssthresh: None });
        }
    }

    /// The report at `now`, by the source's `get_state`.
    fn report(&mut self, now: SimTime) -> [f64; REPORT] {
        let Interval { since, rates, rate_count, rtt_count, lost } = self.interval;
        let seconds = now.saturating_since(since).as_secs_f64();
        let rate = if rate_count == 0 { 0.0 } else { rates / f64::from(rate_count) };
        self.max_rate = self.max_rate.max(rate);
        let of_max = |rate: f64| if self.max_rate > 0.0 { rate / self.max_rate } else { 0.0 };
        let [least, smoothed] = [self.min_rtt, self.srtt].map(SimDuration::as_secs_f64);
        let margin = DELAY_MARGIN * least;
        [
            of_max(rate),
            of_max(self.pace).min(MOST_PACE),
            of_max(LOSS_WEIGHT * lost.0 as f64 / seconds),
            f64::from(rtt_count) / self.window().max(1) as f64,
            seconds,
            least / smoothed,
            if margin < smoothed { margin / smoothed } else { 1.0 },
        ]
    }

    /// Reports, and sets the window that the network gives.
    fn poll(&mut self, now: SimTime) {
        self.has_passed_slow_start |=
            self.in_recovery || self.own.ssthresh().is_some_and(|ssthresh| ssthresh < self.own.cwnd());
        if self.has_passed_slow_start {
            let report = self.report(now);
            self.reports.copy_within(REPORT.., 0);
            let newest = &mut self.reports[(REPORTS - 1) * REPORT..];
            newest.iter_mut().zip(report).for_each(|(place, value)| *place = value as f32);
            self.action = self.network.action(&self.reports, &mut self.work);
            self.decisions += 1;
            let hundredths = (100.0 * math::pow(4.0, self.action)) as u64;
            self.set_window(now, hundredths * self.window() / 100);
            self.next = now + PERIOD;
        } else {
            let window = self.window();
            self.set_window(now, ((1.1 * window as f64) as u64).min(window.max(MOST_SLOW_START)));
            self.next = now + SLOW_START_PERIOD;
        }
        self.interval = Interval { since: now, ..Interval::default() };
    }
}

impl CongestionController for Orca {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.own.on_ack(ack);
        self.in_recovery = ack.in_recovery;
        (self.srtt, self.min_rtt) = (ack.rtt.srtt, ack.rtt.min_rtt);
        self.interval.rtt_count += u32::from(ack.rtt_sample.is_some());
        let sample = ack.delivery.and_then(|delivery| delivery.sample).filter(|sample| !sample.interval.is_zero());
        if let Some(sample) = sample {
            self.interval.rates += sample.delivered.0 as f64 / sample.interval.as_secs_f64();
            self.interval.rate_count += 1;
        }
        let outstanding = ack.snd_nxt.saturating_sub(ack.snd_una).max(self.own.cwnd().0) as f64;
        self.pace = outstanding * (1.0 + HEADERS / self.mss) / self.srtt.as_secs_f64().max(1e-6);
        if ack.now >= self.next && self.interval.rtt_count > 0 {
            self.poll(ack.now);
        }
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        self.interval.lost += segment.size;
    }

    fn deadline(&self) -> SimTime {
        if self.has_passed_slow_start && self.interval.rtt_count > 0 { self.next } else { SimTime::NEVER }
    }

    fn on_timer(&mut self, now: SimTime) {
        if self.deadline() <= now {
            self.poll(now);
        }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        if self.next == SimTime::ZERO {
            (self.next, self.interval.since) = (sent.now + PERIOD, sent.now);
        }
        self.own.on_send(sent);
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        let payload = self.pace * 8.0 / (1.0 + HEADERS / self.mss);
        (self.pace > 0.0).then(|| Bandwidth((payload as u64).max(1)))
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, ..self.own.demands() }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.own.inspect(record);
        record("action", self.action);
        record("decisions", self.decisions as f64);
        let newest = &self.reports[(REPORTS - 1) * REPORT..];
        REPORT_NAMES.into_iter().zip(newest).for_each(|(name, value)| record(name, f64::from(*value)));
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.in_recovery = !event.is_timeout();
        self.own.on_congestion(event);
    }
    fn on_spurious(&mut self, now: SimTime) {
        self.own.on_spurious(now);
    }
    fn on_recovery_end(&mut self, now: SimTime) {
        self.own.on_recovery_end(now);
    }
    fn on_restart(&mut self, restart: &RestartEvent) {
        self.own.on_restart(restart);
    }
    fn on_handshake(&mut self, handshake: &HandshakeEvent) {
        self.own.on_handshake(handshake);
    }
    fn on_feedback(&mut self, counted: bool) -> bool {
        self.own.on_feedback(counted)
    }
    fn cwnd(&self) -> Bytes {
        self.own.cwnd()
    }
    fn ssthresh(&self) -> Option<Bytes> {
        self.own.ssthresh()
    }
    fn state(&self) -> &'static str {
        self.own.state()
    }
    fn is_in_slow_start(&self) -> bool {
        self.own.is_in_slow_start()
    }
    fn early_exit(&self) -> Option<EarlyExit> {
        self.own.early_exit()
    }
}

#[cfg(test)]
mod tests {
    use ackclock_cc::{ControllerConfig, CubicConfig, DeliveryReport, RateSample};

    use super::super::checkpoint::tests::written;
    use super::*;

    type Numbers = fn(usize) -> f32;

    /// A network of zeros but for these arrays, by name and place; a variance of 1 - epsilon changes nothing.
    fn network(arrays: &[(&str, Numbers)]) -> Result<OrcaNetwork, PolicyError> {
        let shapes: [(&str, &[usize]); 12] = [
            ("actor/batch_normalization/beta", &[UNITS]),
            ("actor/batch_normalization/moving_mean", &[UNITS]),
            ("actor/batch_normalization/moving_variance", &[UNITS]),
            ("actor/batch_normalization_1/beta", &[UNITS]),
            ("actor/batch_normalization_1/moving_mean", &[UNITS]),
            ("actor/batch_normalization_1/moving_variance", &[UNITS]),
            ("actor/dense/bias", &[1]),
            ("actor/dense/kernel", &[UNITS, 1]),
            ("actor/fc1/bias", &[UNITS]),
            ("actor/fc1/kernel", &[REPORT * REPORTS, UNITS]),
            ("actor/fc2/bias", &[UNITS]),
            ("actor/fc2/kernel", &[UNITS, UNITS]),
        ];
        let variables = shapes.map(|(name, shape)| {
            let given = arrays.iter().find(|(known, _)| *known == name).map(|(_, numbers)| *numbers);
            let numbers = given.unwrap_or(if name.ends_with("variance") { |_| 0.999 } else { |_| 0.0 });
            (name, shape, (0..shape.iter().product()).map(numbers).collect())
        });
        let (index, data) = written(&variables);
        let checkpoint = Checkpoint::read(&index, &data).unwrap_or_else(|error| panic!("{error}"));
        OrcaNetwork::read(&checkpoint).expect("its names are right")
    }

    fn flow(network: OrcaNetwork, ssthresh: Option<Bytes>) -> Orca {
        let mss = Bytes(1_000);
        let own = Controller::new(&ControllerConfig::Cubic(CubicConfig::linux()), mss, Bytes(10_000), ssthresh);
        Orca::new(network, own, mss)
    }

    /// One way through the network: input 69, the last, to unit 2, to unit 5, to the output.
    fn one_way() -> OrcaNetwork {
        let one_way: [(&str, Numbers); 7] = [
            ("actor/fc1/kernel", |place| if place == 69 * UNITS + 2 { 3.0 } else { 0.0 }),
            ("actor/fc1/bias", |unit| if unit == 2 { 1.0 } else { 0.0 }),
            ("actor/batch_normalization/moving_mean", |unit| if unit == 2 { 2.0 } else { 0.0 }),
            ("actor/batch_normalization/moving_variance", |unit| if unit == 2 { 3.999 } else { 0.999 }),
            ("actor/fc2/kernel", |place| if place == 2 * UNITS + 5 { 1.0 } else { 0.0 }),
            ("actor/batch_normalization_1/beta", |unit| if unit == 5 { 0.5 } else { 0.0 }),
            ("actor/dense/kernel", |unit| if unit == 5 { 0.25 } else { 0.0 }),
        ];
        network(&one_way).unwrap_or_else(|error| panic!("{error}"))
    }

    /// By hand: (3 x + 1 - 2) / sqrt(4) is 1 for x = 1, then 1 + 0.5, then tanh of 0.375; for x = -1 it is -2, of which a fifth is left:
    /// -0.4, then 0.1, then tanh of 0.025.
    #[test]
    fn the_network_by_hand() {
        let network = one_way();
        let action = |x: f32| {
            let mut reports = [0.0; REPORT * REPORTS];
            reports[69] = x;
            network.action(&reports, &mut Work::new())
        };
        assert!((action(1.0) - 0.375_f64.tanh()).abs() < 1e-6, "{}", action(1.0));
        assert!((action(-1.0) - 0.025_f64.tanh()).abs() < 1e-6, "{}", action(-1.0));
    }

    #[test]
    fn a_variance_below_zero_is_refused() {
        let error =
            network(&[("actor/batch_normalization_1/moving_variance", |unit| if unit == 7 { -1.0 } else { 1.0 })]);
        let error = error.expect_err("no variance").to_string();
        assert!(error.contains("batch_normalization_1/moving_variance\" has -1 at 7"), "{error}");
    }

    fn at(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    /// An ACK of a segment, which leaves `outstanding` segments, with a sample of 20 segments in 40 ms.
    fn acknowledge(orca: &mut Orca, now: SimTime, rtt_ms: u64, outstanding: u64) {
        let rtt = SimDuration::from_millis(rtt_ms);
        let mut ack = AckEvent { now, ..AckEvent::in_order(Bytes(1_000), rtt) };
        (ack.snd_nxt, ack.rtt.min_rtt) = (ack.snd_una + outstanding * 1_000, SimDuration::from_millis(20));
        let sample =
            RateSample { delivered: Bytes(20_000), interval: SimDuration::from_millis(40), ..RateSample::default() };
        ack.delivery = Some(DeliveryReport { sample: Some(sample), ..DeliveryReport::default() });
        orca.on_ack(&ack);
    }

    /// A flow past slow start, with a window of 100 segments, and a report at 100 ms.
    fn past_slow_start(network: OrcaNetwork) -> Orca {
        let mut orca = flow(network, Some(Bytes(10_000)));
        orca.has_passed_slow_start = true;
        orca.set_window(at(0), 100);
        orca.next = at(120);
        orca.interval.since = at(100);
        orca
    }

    /// By hand: 500,000 octets/s delivered; 150 segments of 1,052 octets in 40 ms are 3,945,000 octets/s; 2,000 octets lost in 20 ms, times five,
    /// are 500,000 octets/s; two samples of 100 segments; 20 ms; 20 of 40 ms; 25 of 40 ms.
    #[test]
    fn a_report_by_hand() {
        let mut orca = past_slow_start(network(&[]).unwrap_or_else(|error| panic!("{error}")));
        acknowledge(&mut orca, at(105), 40, 150);
        acknowledge(&mut orca, at(110), 40, 150);
        orca.interval.lost = Bytes(2_000);
        let report = orca.report(at(120));
        let expected = [1.0, 7.89, 1.0, 0.02, 0.02, 0.5, 0.625];
        assert!(report.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{report:?}");
        assert_eq!(orca.pacing_rate(), Some(Bandwidth(30_000_000))); // 150,000 octets in 40 ms
        assert_eq!(orca.deadline(), at(120));
    }

    /// tanh(1) is 0.761594; 4 to that power is 2.874: 287 hundredths of 100 segments.
    #[test]
    fn a_decision_multiplies_the_window_every_20_ms() {
        let mut orca =
            past_slow_start(network(&[("actor/dense/bias", |_| 1.0)]).unwrap_or_else(|error| panic!("{error}")));
        orca.on_timer(at(120));
        assert_eq!((orca.window(), orca.decisions), (100, 0), "nothing was measured");
        acknowledge(&mut orca, at(125), 20, 100);
        assert_eq!((orca.window(), orca.decisions, orca.deadline()), (287, 1, SimTime::NEVER));
        acknowledge(&mut orca, at(130), 20, 100);
        assert_eq!((orca.decisions, orca.deadline()), (1, at(145)));
        orca.on_timer(at(145));
        // 287 * 287 / 100, truncated; the ACK at 130 ms alone has made no whole segment of growth
        assert_eq!((orca.window(), orca.decisions), (823, 2));
        let mut lower =
            past_slow_start(network(&[("actor/dense/bias", |_| -9.0)]).unwrap_or_else(|error| panic!("{error}")));
        for ms in [120, 140, 160, 180] {
            acknowledge(&mut lower, at(ms), 20, 10);
        }
        assert_eq!(lower.window(), 4); // 25 hundredths each time, down to four
    }

    /// From 10 segments: CUBIC adds one with the ACK, then a tenth is added, truncated.
    #[test]
    fn slow_start_grows_by_a_tenth_every_2_ms() {
        let mut orca = flow(network(&[]).unwrap_or_else(|error| panic!("{error}")), None);
        let (size, flight_size, idle_for) = (Bytes(1_000), Bytes(1_000), SimDuration::ZERO);
        let snd_nxt = size.0;
        orca.on_send(&SendEvent { now: at(1), size, flight_size, snd_nxt, idle_for, is_app_limited: false });
        acknowledge(&mut orca, at(20), 20, 10);
        assert_eq!(orca.window(), 11, "20 ms are not over");
        acknowledge(&mut orca, at(21), 20, 10);
        assert_eq!(orca.window(), 13); // 12 * 1.1
        acknowledge(&mut orca, at(22), 20, 10);
        assert_eq!(orca.window(), 14);
        acknowledge(&mut orca, at(23), 20, 10);
        assert_eq!((orca.window(), orca.decisions), (16, 0)); // 15 * 1.1
    }
}
