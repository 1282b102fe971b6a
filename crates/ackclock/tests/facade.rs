//! A user's program: it builds, runs, reads, and provides a controller.

use ackclock::congestion::CongestionCause;
use ackclock::network::queue::{QueueCounters, QueueDiscipline, Queued, Tally};
use ackclock::{
    AckEvent, Bandwidth, Bytes, CongestionController, CongestionEvent, Extensions, ExternalConfig, Run, Scenario,
    SimDuration, SimTime, Start, dumbbell,
};

#[test]
fn the_builder_and_the_file_are_one_scenario() {
    // The values of Python's `dumbbell(bottleneck="10 Mbit/s", rtt="25 ms", flows="cubic,cubic", duration="2 s")`.
    let text = r#"
        name = "cubic-1, cubic-2 over 10 Mbit/s, 25 ms"
        duration = "2 s"
        seed = 1
        [topology]
        kind = "dumbbell"
        access = { rate = "1 Gbit/s", delay = "0 ms" }
        bottleneck = { rate = "10 Mbit/s", delay = "12.5 ms", queue = { kind = "drop_tail", limit = "1 bdp" } }
        [[flow]]
        name = "cubic-1"
        controller = "cubic"
        [[flow]]
        name = "cubic-2"
        controller = "cubic"
    "#;
    let built = dumbbell().bottleneck(Bandwidth(10_000_000)).rtt(SimDuration::from_millis(25)).flows("cubic, cubic");
    let built = built.duration("2 s").build().expect("a right scenario");
    let read = Scenario::parse(text, "two.toml", &[]).expect("a right scenario");
    assert_eq!(built.config(), read.config());
    assert_eq!(built.to_json(), read.to_json());
}

#[test]
fn mistakes_are_those_of_the_scenario_at_their_fields() {
    let error = dumbbell().rtt("0.5 ns").flows("cubik").set("duration", "no time").build().expect_err("mistakes");
    let fields: Vec<&str> = error.diagnostics.iter().map(|one| one.field.as_str()).collect();
    for field in ["duration", "topology.bottleneck.delay", "flow[0].controller"] {
        assert!(fields.contains(&field), "{fields:?}");
    }
}

#[test]
fn series_are_columns_of_one_length_with_units_in_their_names() {
    let scenario = dumbbell().bottleneck("10 Mbit/s").rtt("20 ms").flows("cubic,reno").duration("3 s").build();
    let results = Run::of(&scenario.expect("a right scenario")).finish().expect("nothing is drawn");
    let series = results.flow_series("reno").expect("a flow of this name");
    let (times, cwnd) = (series.column("time_s").unwrap(), series.column("cwnd_bytes").unwrap());
    assert!(times.len() > 10 && times.len() == cwnd.len());
    assert!(times.is_sorted() && *times.last().unwrap() <= 3.0);
    assert!(cwnd.iter().all(|bytes| bytes.fract() < f64::EPSILON));
    let error = series.column("cwnd").unwrap_err();
    assert!(error.to_string().contains("\"cwnd\"") && error.to_string().contains("cwnd_bytes"), "{error}");
    let error = results.flow("vegas").unwrap_err();
    assert_eq!(error.to_string(), "unknown flow \"vegas\"; write one of cubic, reno");
}

#[test]
fn a_seed_and_threads_are_a_runs_own() {
    let scenario = dumbbell().set("topology.bottleneck.loss", r#"{ kind = "random", p = 0.001 }"#).duration("2 s");
    let scenario = scenario.build().expect("a right scenario");
    let run = |seed, threads| Run::of(&scenario).seed(seed).threads(threads).finish().expect("nothing is drawn");
    assert_eq!(run(3, 1).summary(), run(3, 4).summary());
    assert_ne!(run(3, 1).outcome().flows, run(4, 1).outcome().flows);
    assert_eq!(run(3, 0).summary().seed, 3);
}

/// A controller with a window of fixed segments that halves on loss: enough to differ from the built-in ones.
#[derive(Clone, Debug)]
struct Halving {
    cwnd: Bytes,
}

impl CongestionController for Halving {
    fn on_ack(&mut self, _ack: &AckEvent) {}
    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.cause == CongestionCause::Loss {
            self.cwnd = Bytes(self.cwnd.0 / 2);
        }
    }
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
}

fn halving(start: &Start) -> Halving {
    Halving { cwnd: Bytes(40 * start.mss.0) }
}

#[test]
fn an_own_controller_runs_beside_a_built_in_one_and_from_a_file() {
    let built = dumbbell().bottleneck("100 Mbit/s").rtt("40 ms").flows("cubic").own_flow("halving", halving);
    let built = built.duration("2 s").build().expect("a right scenario");
    let results = Run::of(&built).finish().expect("nothing is drawn");
    assert_eq!(results.flow("halving").unwrap().controller, "halving");

    let extensions = Extensions::new(|_| Ok(ExternalConfig::new("halving", halving)));
    let read = Scenario::from_json_with(&built.to_json(), &[], &extensions).expect("the same scenario");
    assert_eq!(Run::of(&read).finish().unwrap().summary(), results.summary());
}

/// A program's controller does not replace another one, whatever its name.
#[test]
fn controllers_of_one_name_stay_apart() {
    let small = |start: &Start| Halving { cwnd: Bytes(2 * start.mss.0) };
    // Two segments in a round trip of 40 ms: 0.58 Mbit/s; forty: 11.6 Mbit/s, which is more than the link has.
    let goodput_bps = |results: &ackclock::Results, name: &str| results.flow(name).expect("a flow").goodput_bps;
    let built = dumbbell().bottleneck("10 Mbit/s").rtt("40 ms").duration("2 s").own_flow("cubic", small).flows("cubic");
    let results = Run::of(&built.build().expect("a right scenario")).finish().expect("nothing is drawn");
    assert!(goodput_bps(&results, "cubic-1") < 0.6e6, "the program's own");
    assert!(goodput_bps(&results, "cubic-2") > 5e6, "the built-in one");
    let built = dumbbell().bottleneck("100 Mbit/s").rtt("40 ms").duration("2 s");
    let built = built.own_flow("mine", small).own_flow("mine", halving).build().expect("a right scenario");
    let results = Run::of(&built).finish().expect("nothing is drawn");
    assert!(goodput_bps(&results, "mine-1") < 0.6e6 && goodput_bps(&results, "mine-2") > 5e6);
}

/// No link is faster than 100,000 Gbit/s (docs/reference/scenario.md).
#[test]
fn access_links_are_as_fast_as_links_can_be() {
    let scenario = dumbbell().bottleneck("2 Tbit/s").duration("1 ms").build().expect("a right scenario");
    assert_eq!(scenario.config().network.links[2].rate.0, 100_000_000_000_000);
}

/// A queue that loses the first three packets with data, and keeps all others.
#[derive(Clone, Debug, Default)]
struct LosesThree {
    packets: std::collections::VecDeque<Queued>,
    tally: Tally,
}

impl QueueDiscipline for LosesThree {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if arrival.packet.has_data() && self.tally.counters().drops < 3 {
            self.tally.drop(&arrival.packet);
        } else {
            self.packets.push_back(arrival);
        }
    }
    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        self.packets.pop_front()
    }
    fn set_rate(&mut self, _now: SimTime, _rate: ackclock::units::Bandwidth) {}

    fn len(&self) -> usize {
        self.packets.len()
    }
    fn octets(&self) -> u64 {
        self.packets.iter().map(|queued| queued.octets).sum()
    }
    fn counters(&self) -> QueueCounters {
        self.tally.counters()
    }
    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }
}

#[test]
fn an_own_queue_takes_the_place_of_the_bottlenecks() {
    let scenario = dumbbell().own_queue("loses_three", |_| LosesThree::default()).duration("2 s").build();
    let results = Run::of(&scenario.expect("a right scenario")).finish().expect("nothing is drawn");
    // Data goes one way, so that one queue drops; the access links' queues have no limit.
    assert_eq!(results.summary().links.iter().map(|link| link.drops).sum::<u64>(), 3);
    assert!(results.summary().flows[0].retransmitted_segments >= 3);
}
