//! Indigo: every 10 ms one of five changes of the window, by the network that its authors published.
//!
//! Source: Yan et al., Pantheon: the training ground for Internet congestion-control research, USENIX ATC 2018, section 5, and the
//! authors' checkpoint (`StanfordSNR/indigo`, `dagger/model`). A cell of 32 units (`BasicLSTMCell`) sees four averages over the ACKs of a step, of weight 1/8, and the last action; the
//! greatest of five scores is the next. A step ends with the first ACK that comes more than 10 ms after it began.
//!
//! Departures: the authors send datagrams that are never sent again and send one after a second without an ACK; here TCP repairs losses,
//! which change nothing, and a timeout leaves one segment until an ACK arrives. What is sent again gives no sample. Their clock counts
//! whole milliseconds. Their receiver acknowledges every packet: set `delayed_ack = false`.

use std::collections::VecDeque;
use std::sync::Arc;

use ackclock_cc::{
    AckEvent, CongestionController, CongestionEvent, Demands, RestartCause, RestartEvent, SegmentReport, SendEvent,
    Start,
};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::PolicyError;
use super::checkpoint::Checkpoint;

const UNITS: usize = 32;
const MEASURES: usize = 4;
const ACTIONS: usize = 5;
const INPUTS: usize = MEASURES + ACTIONS;
const GATES: usize = 4 * UNITS;

const KERNEL: &str = "global/rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel";

const STEP: SimDuration = SimDuration::from_millis(10);
/// Place of the first octet in the stream, behind the SYN.
const FIRST_OCTET: u64 = 1;
const FIRST_WINDOW: f64 = 10.0;
const LEAST_WINDOW: f64 = 2.0;
/// The largest window, packets; the authors have none.
const MOST_PACKETS: f64 = 1e6;
/// The action that counts as taken before the first: to double.
const FIRST_ACTION: usize = 4;
/// Divisors of the measures: ms, Mbit/s twice, packets.
const SCALES: [f64; MEASURES] = [200.0, 200.0, 200.0, 5_000.0];

/// The authors' network, which flows that name its file share.
#[derive(Clone, Debug)]
pub struct IndigoNetwork(Arc<Arrays>);

#[derive(Debug)]
struct Arrays {
    biases: Vec<f32>,
    /// By unit, then action.
    weights: Vec<f32>,
    gate_biases: Vec<f32>,
    /// By input or unit, then gate: input, new content, forget, output.
    kernel: Vec<f32>,
}

/// Memory of the cell.
#[derive(Clone, Debug)]
struct Cell {
    content: [f32; UNITS],
    output: [f32; UNITS],
}

impl IndigoNetwork {
    /// The network of a checkpoint; `None` if the checkpoint is of another.
    pub fn read(checkpoint: &Checkpoint<'_>) -> Option<Result<Self, PolicyError>> {
        checkpoint.has(KERNEL).then(|| {
            Ok(Self(Arc::new(Arrays {
                biases: checkpoint.numbers("global/fully_connected/biases", &[ACTIONS])?,
                weights: checkpoint.numbers("global/fully_connected/weights", &[UNITS, ACTIONS])?,
                gate_biases: checkpoint.numbers("global/rnn/multi_rnn_cell/cell_0/basic_lstm_cell/bias", &[GATES])?,
                kernel: checkpoint.numbers(KERNEL, &[INPUTS + UNITS, GATES])?,
            })))
        })
    }

    /// The action of the greatest score, the first of equals, for these inputs.
    fn decide(&self, inputs: &[f32; INPUTS], cell: &mut Cell) -> usize {
        let scores = self.scores(inputs, cell);
        (0..ACTIONS).rev().max_by(|one, other| scores[*one].total_cmp(&scores[*other])).unwrap_or_default()
    }

    fn scores(&self, inputs: &[f32; INPUTS], cell: &mut Cell) -> [f32; ACTIONS] {
        let Arrays { biases, weights, gate_biases, kernel } = &*self.0;
        let mut gates = gate_biases.clone();
        for (value, row) in inputs.iter().chain(&cell.output).zip(kernel.chunks_exact(GATES)) {
            gates.iter_mut().zip(row).for_each(|(gate, weight)| *gate += value * weight);
        }
        for unit in 0..UNITS {
            let [input, new, forget, output] = [0, 1, 2, 3].map(|gate| gates[gate * UNITS + unit]);
            cell.content[unit] = cell.content[unit] * sigmoid(forget + 1.0) + sigmoid(input) * new.tanh();
            cell.output[unit] = cell.content[unit].tanh() * sigmoid(output);
        }
        let of = |action: usize| {
            let products = cell.output.iter().zip(weights.chunks_exact(ACTIONS)).map(|(unit, row)| unit * row[action]);
            products.sum::<f32>() + biases[action]
        };
        std::array::from_fn(of)
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The state of the flow after an ACK, as the packets see it that leave next.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: SimTime,
    /// Octets sent, again or not, and the place in the stream of what is sent next.
    sent: u64,
    next: u64,
}

/// A flow of Indigo: see the module.
#[derive(Clone, Debug)]
pub struct Indigo {
    network: IndigoNetwork,
    cell: Cell,
    mss: u64,
    /// The window, packets; a fraction lets one more packet leave.
    window: f64,
    action: usize,
    /// Averages over this step: delay in ms, delivery rate and sending rate in Mbit/s.
    averages: Option<[f64; 3]>,
    /// The averages of the last decision, and the number of decisions.
    decided_on: [f64; 3],
    decisions: u64,
    step_began: Option<SimTime>,
    min_rtt: SimDuration,
    sent: u64,
    /// From the latest one before all packets under way.
    marks: VecDeque<Mark>,
    has_timed_out: bool,
}

impl Indigo {
    /// A flow at its beginning.
    pub fn new(network: IndigoNetwork, start: &Start) -> Self {
        Self {
            network,
            cell: Cell { content: [0.0; UNITS], output: [0.0; UNITS] },
            mss: start.mss.0,
            window: FIRST_WINDOW,
            action: FIRST_ACTION,
            averages: None,
            decided_on: [f64::NAN; 3],
            decisions: 0,
            step_began: None,
            min_rtt: SimDuration(u64::MAX),
            sent: 0,
            marks: VecDeque::new(),
            has_timed_out: false,
        }
    }

    /// The last mark before a packet left.
    fn mark_before(&mut self, sent_at: SimTime) -> Option<Mark> {
        while self.marks.get(1).is_some_and(|mark| mark.at <= sent_at) {
            self.marks.pop_front();
        }
        self.marks.front().copied()
    }

    fn sample(&mut self, segment: &SegmentReport) {
        let Some(mark) = self.mark_before(segment.sent_at) else { return };
        let sent_before = mark.sent + segment.start.saturating_sub(mark.next);
        let rtt = segment.now - segment.sent_at;
        self.min_rtt = self.min_rtt.min(rtt);
        let ms = |span: SimDuration| span.as_secs_f64() * 1e3;
        let rate = |octets: u64, span: SimDuration| 0.008 * octets as f64 / ms(span).max(1.0);
        let samples = [
            ms(rtt - self.min_rtt),
            rate(segment.delivered.0 - segment.prior_delivered.0, segment.now.saturating_since(mark.at)),
            rate(self.sent.saturating_sub(sent_before), rtt),
        ];
        let before = self.averages.unwrap_or(samples);
        self.averages = Some(std::array::from_fn(|measure| 0.875 * before[measure] + 0.125 * samples[measure]));
    }

    fn inputs(&self, averages: [f64; 3]) -> [f32; INPUTS] {
        let [delay, delivery, sending] = averages;
        let measures = [delay, delivery, sending, self.window];
        std::array::from_fn(|input| match measures.get(input) {
            Some(measure) => (measure / SCALES[input]) as f32,
            None => f32::from(u8::from(input - MEASURES == self.action)),
        })
    }

    fn decide(&mut self, averages: [f64; 3]) {
        self.action = self.network.decide(&self.inputs(averages), &mut self.cell);
        let window = self.window;
        let changed = [window / 2.0, window - 10.0, window, window + 10.0, window * 2.0][self.action];
        self.window = changed.clamp(LEAST_WINDOW, MOST_PACKETS);
        self.decided_on = averages;
        self.decisions += 1;
    }
}

impl CongestionController for Indigo {
    fn on_send(&mut self, sent: &SendEvent) {
        if self.marks.is_empty() {
            self.marks.push_back(Mark { at: sent.now, sent: 0, next: FIRST_OCTET });
        }
        self.sent += sent.size.0;
    }

    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.has_timed_out = false;
        if !segment.is_retransmission {
            self.sample(segment);
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.marks.push_back(Mark { at: ack.now, sent: self.sent, next: ack.snd_nxt });
        let began = *self.step_began.get_or_insert(ack.now);
        if ack.now.saturating_since(began) > STEP
            && let Some(averages) = self.averages.take()
        {
            self.decide(averages);
            self.step_began = Some(ack.now);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.has_timed_out |= restart.cause == RestartCause::Timeout;
    }

    fn cwnd(&self) -> Bytes {
        Bytes(if self.has_timed_out { 1 } else { self.window.ceil() as u64 } * self.mss)
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, recovery_window: true, no_ecn: true, ..Demands::default() }
    }

    fn is_in_slow_start(&self) -> bool {
        false
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("action", self.action as f64);
        record("decisions", self.decisions as f64);
        let names = ["delay_ewma_ms", "delivery_rate_ewma_mbps", "send_rate_ewma_mbps"];
        names.into_iter().zip(self.decided_on).for_each(|(name, value)| record(name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::tests::written;
    use super::*;

    /// A network whose arrays are functions of their places.
    fn network(
        biases: impl Fn(usize) -> f32,
        weights: impl Fn(usize) -> f32,
        gates: impl Fn(usize) -> f32,
        kernel: impl Fn(usize) -> f32,
    ) -> IndigoNetwork {
        let (index, data) = written(&[
            ("global/cnt", &[], vec![1e30]),
            ("global/fully_connected/biases", &[ACTIONS], (0..ACTIONS).map(biases).collect()),
            ("global/fully_connected/weights", &[UNITS, ACTIONS], (0..UNITS * ACTIONS).map(weights).collect()),
            (&KERNEL.replace("kernel", "bias"), &[GATES], (0..GATES).map(gates).collect()),
            (KERNEL, &[INPUTS + UNITS, GATES], (0..(INPUTS + UNITS) * GATES).map(kernel).collect()),
        ]);
        let checkpoint = Checkpoint::read(&index, &data).unwrap_or_else(|error| panic!("{error}"));
        IndigoNetwork::read(&checkpoint).expect("its names are right").unwrap_or_else(|error| panic!("{error}"))
    }

    /// Each array by hand, with all else zero: the gates are open by half but the one that forgets, whose bias is 1.
    #[test]
    fn a_checkpoint_has_its_arrays_by_their_names() {
        let zero = |_: usize| 0.0;
        let scores = |network: &IndigoNetwork, inputs: &[f32; INPUTS]| {
            let mut cell = Cell { content: [0.0; UNITS], output: [0.0; UNITS] };
            let first = network.scores(inputs, &mut cell);
            (first, network.scores(inputs, &mut cell))
        };
        let inputs = std::array::from_fn(|input| if input == 2 { 0.5 } else { 0.0 });
        let biases = |action: usize| action as f32;
        let (found, _) = scores(&network(biases, zero, zero, zero), &inputs);
        assert!(found.iter().zip(0_u8..).all(|(score, action)| (score - f32::from(action)).abs() < 1e-6), "{found:?}");
        // The new content of unit 3 is tanh of twice the third input, 1: half of that is kept, and 0.731 of it later beside the same anew.
        let kernel = |place: usize| if place == 2 * GATES + UNITS + 3 { 2.0 } else { 0.0 };
        let weights = |place: usize| if place == 3 * ACTIONS + 4 { 10.0 } else { 0.0 };
        let (first, second) = scores(&network(zero, weights, zero, kernel), &inputs);
        let content = 1_f32.tanh() / 2.0;
        let expected =
            [content, content * (1.0 / (1.0 + (-1_f32).exp())) + content].map(|content| 10.0 * content.tanh() / 2.0);
        assert!(
            (first[4] - expected[0]).abs() < 1e-5 && (second[4] - expected[1]).abs() < 1e-5,
            "{first:?} {second:?}"
        );
        assert!(first[..4].iter().all(|score| *score == 0.0));
    }

    /// A network that always takes one action.
    fn always(action: usize) -> Indigo {
        let network = network(|of| f32::from(u8::from(of == action)), |_| 0.0, |_| 0.0, |_| 0.0);
        let start = Start { mss: Bytes(1_000), initial_window: Bytes(10_000), initial_ssthresh: None, seed: 0 };
        Indigo::new(network, &start)
    }

    #[test]
    fn the_window_changes_as_each_action_says() {
        for (action, expected) in [(0, 5), (1, 2), (2, 10), (3, 20), (4, 20)] {
            let mut indigo = always(action);
            indigo.decide([0.0; 3]);
            assert_eq!((indigo.cwnd(), indigo.action), (Bytes(expected * 1_000), action));
        }
        let mut halving = always(0);
        (0..2).for_each(|_| halving.decide([0.0; 3]));
        assert_eq!(halving.cwnd(), Bytes(3_000), "packets 0, 1 and 2 are below 2.5");
        let mut doubling = always(4);
        (0..100).for_each(|_| doubling.decide([0.0; 3]));
        assert_eq!(doubling.cwnd(), Bytes(1_000_000_000));
    }

    /// By hand, two packets sent at 0, acknowledged at 20 and 30 ms, and two sent at 20 ms, acknowledged at 40 and 50 ms.
    #[test]
    fn a_step_averages_delay_and_rates_and_ends_with_an_ack_after_10_ms() {
        let mut indigo = always(2);
        let at = |ms: u64| SimTime(ms * 1_000_000);
        let size = Bytes(1_000);
        let send = |indigo: &mut Indigo, ms: u64| {
            let (flight_size, snd_nxt, idle_for) = (size, size.0, SimDuration::ZERO);
            indigo.on_send(&SendEvent { now: at(ms), size, flight_size, snd_nxt, idle_for, is_app_limited: false });
        };
        let deliver = |indigo: &mut Indigo, place: u64, (sent_ms, now_ms): (u64, u64), prior_delivered: u64| {
            let (now, sent_at) = (at(now_ms), at(sent_ms));
            let [prior_delivered, delivered, tx_in_flight] =
                [prior_delivered, place, 1].map(|packets| Bytes(packets * 1_000));
            let start = FIRST_OCTET + (place - 1) * 1_000;
            let (lost, is_app_limited, is_retransmission) = (Bytes(0), false, false);
            indigo.on_delivered(&SegmentReport {
                now,
                sent_at,
                start,
                size,
                delivered,
                prior_delivered,
                tx_in_flight,
                lost,
                is_app_limited,
                is_retransmission,
            });
        };
        let acknowledge = |indigo: &mut Indigo, ms: u64, sent: u64| {
            let (now, snd_nxt) = (at(ms), FIRST_OCTET + sent * 1_000);
            indigo.on_ack(&AckEvent { now, snd_nxt, ..AckEvent::in_order(size, SimDuration::from_millis(20)) });
        };
        (0..2).for_each(|_| send(&mut indigo, 0));
        deliver(&mut indigo, 1, (0, 20), 0);
        // RTT 20 ms; 1 packet delivered in 20 ms: 0.4 Mbit/s; 2 sent since the first left, in 20 ms: 0.8.
        let near = |found: [f64; 3], expected: [f64; 3]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near(indigo.averages.unwrap(), [0.0, 0.4, 0.8]));
        acknowledge(&mut indigo, 20, 2);
        (0..2).for_each(|_| send(&mut indigo, 20));
        deliver(&mut indigo, 2, (0, 30), 0);
        // RTT 30 ms; 2 delivered in 30 ms: 8/15; 3 sent since the second left, in 30 ms: 0.8.
        assert!(near(indigo.averages.unwrap(), [1.25, 0.35 + 1.0 / 15.0, 0.8]));
        acknowledge(&mut indigo, 30, 4);
        assert_eq!(indigo.decisions, 0, "10 ms are not more than 10 ms");
        deliver(&mut indigo, 3, (20, 40), 1);
        acknowledge(&mut indigo, 40, 4);
        // 2 delivered since the third left, at 20 ms, in 20 ms: 0.8; 2 sent since then, itself included, in 20 ms: 0.8.
        assert!(near(indigo.decided_on, [1.25 * 0.875, 0.875 * (0.35 + 1.0 / 15.0) + 0.1, 0.8]));
        assert_eq!((indigo.decisions, indigo.averages), (1, None));
        let inputs = indigo.inputs([50.0, 100.0, 20.0]);
        let expected = [0.25, 0.5, 0.1, 0.002, 0.0, 0.0, 1.0, 0.0, 0.0]; // the third action was the last
        assert!(inputs.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{inputs:?}");
    }
}
