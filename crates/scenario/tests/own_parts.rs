//! Parts that are not built in, named in a scenario like those that are.

use ackclock_cc::{AckEvent, CongestionController, CongestionEvent, ControllerConfig, ExternalConfig, Stack};
use ackclock_declare::{About, Library, OwnField, Part, Table, default};
use ackclock_net::queue::{ExternalQueueConfig, QueueDiscipline, Queued, Tally};
use ackclock_net::{ExternalEffectConfig, Fate, LinkEffect, Packet, QueueConfig};
use ackclock_scenario::{Extensions, Scenario, Unloadable};
use ackclock_sim::{ExternalSourceConfig, Outcome, Simulation, Supply, Then, TrafficSource};
use ackclock_units::{Bytes, SimDuration, SimTime};

/// A controller with a constant window.
#[derive(Clone, Debug)]
struct Holds(Bytes);

impl CongestionController for Holds {
    fn on_ack(&mut self, _ack: &AckEvent) {}
    fn on_congestion(&mut self, _event: &CongestionEvent) {}
    fn cwnd(&self) -> Bytes {
        self.0
    }
}

/// A queue with room for one packet, or for two after each drop.
#[derive(Clone, Debug, Default)]
struct OneOrTwo {
    packets: Vec<Queued>,
    tally: Tally,
}

impl QueueDiscipline for OneOrTwo {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if self.packets.len() as u64 > self.tally.counters().drops % 2 {
            self.tally.drop(&arrival.packet);
        } else {
            self.packets.push(arrival);
        }
    }
    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        (!self.packets.is_empty()).then(|| self.packets.remove(0))
    }
    fn set_rate(&mut self, _now: SimTime, _rate: ackclock_units::Bandwidth) {}

    fn len(&self) -> usize {
        self.packets.len()
    }
    fn octets(&self) -> u64 {
        self.packets.iter().map(|queued| queued.octets).sum()
    }
    ackclock_net::accounts!();
}

/// An effect that delays packets with data.
#[derive(Clone, Debug)]
struct SlowData(SimDuration);

impl LinkEffect for SlowData {
    fn on_packet(&mut self, _now: SimTime, packet: &Packet, _octets: u64) -> Fate {
        let jitter = if packet.has_data() { self.0 } else { SimDuration::ZERO };
        Fate::Arrives { jitter, held: SimDuration::ZERO, copied: false }
    }
}

/// A source of a few writes, each when the last has been read.
#[derive(Clone, Debug)]
struct Few(u64);

impl TrafficSource for Few {
    fn next(&mut self, _now: SimTime, _unsent: Bytes) -> Supply {
        self.0 -= 1;
        Supply { write: Bytes(10_000), then: if self.0 == 0 { Then::Close } else { Then::WhenRead } }
    }
}

fn about(name: &'static str) -> About {
    About { name, aliases: &[], summary: "of a test", source: "-", departures: "none" }
}

fn number(table: &Table, name: &str) -> u64 {
    table[name].as_u64().expect("a whole number")
}

fn library() -> Library {
    let mut library = Library::default();
    let field = OwnField::new("segments", "The window", default(4_u64).at_least(1));
    library.add(Part::of_own_fields(about("holds"), Stack::ANY, vec![field], |table| {
        let segments = number(&table, "segments");
        ControllerConfig::External(ExternalConfig::new("holds", move |start| Holds(Bytes(start.mss.0 * segments))))
    }));
    library.add(Part::of_own_fields(about("one_or_two"), (), vec![], |_| {
        QueueConfig::External(ExternalQueueConfig::new("one_or_two", |_| Box::new(OneOrTwo::default())))
    }));
    let field = OwnField::new("by", "The delay", default(SimDuration::from_millis(10)));
    library.add(Part::of_own_fields(about("slow_data"), (), vec![field], |table| {
        let by = table["by"].as_str().and_then(|text| text.parse().ok()).expect("a duration");
        ExternalEffectConfig::new("slow_data", move |_| Box::new(SlowData(by)))
    }));
    let field = OwnField::new("writes", "How many", default(3_u64).at_least(1));
    library.add(Part::of_own_fields(about("few"), (), vec![field], |table| {
        let writes = number(&table, "writes");
        ExternalSourceConfig::new("few", move |_| Box::new(Few(writes)))
    }));
    library
}

fn loads(name: &str) -> Result<Library, Unloadable> {
    if name.starts_with("mine") {
        return Ok(library());
    }
    Err(Unloadable { message: "is nowhere".to_owned(), remedy: "write \"mine\"".to_owned() })
}

fn read(text: &str) -> Result<Scenario, String> {
    let extensions = Extensions::default().with_loader(loads);
    Scenario::parse_with(text, "<test>", &[], &extensions).map_err(|error| error.to_string())
}

fn scenario(link: &str, flow: &str) -> String {
    format!(
        "use = [\"mine\"]\nduration = \"2 s\"\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"8 ms\"{link} }}\n[[flow]]\nname = \"a\"\n{flow}"
    )
}

fn run(link: &str, flow: &str) -> Outcome {
    Simulation::new(read(&scenario(link, flow)).expect("a right scenario").config()).finish()
}

#[test]
fn a_controller_is_named_with_its_parameters() {
    let outcome = run("", "controller = { kind = \"holds\", segments = 2 }");
    let flow = &outcome.summary.flows[0];
    assert_eq!(flow.controller, "holds");
    // Two segments of 1448 octets each round trip: 20 ms of propagation, and at least 1.2 ms for 1500 octets at 10 Mbit/s.
    let at_most = 2.0 * 1_448.0 * 8.0 / 0.0212;
    assert!(flow.goodput_bps < at_most && flow.goodput_bps > 0.8 * at_most, "{}", flow.goodput_bps);
}

#[test]
fn a_queue_drops_what_it_says() {
    let outcome = run(", queue = \"one_or_two\"", "controller = \"reno\"");
    let link = &outcome.summary.links[0];
    assert!(link.drops > 0 && link.queue_packets.max <= 2.0, "{link:?}");
}

#[test]
fn an_effect_is_added_to_the_round_trip() {
    let median = |link| run(link, "controller = \"holds\"").summary.flows[0].rtt_ms.expect("samples").p50;
    let (plain, slow) = (median(""), median(", effect = { kind = \"slow_data\", by = \"30 ms\" }"));
    // A median is that of a histogram, which tells a value to 1/128 of it.
    assert!((slow - plain - 30.0).abs() < (slow + plain) / 128.0, "{plain} {slow}");
}

#[test]
fn a_source_writes_and_closes() {
    let outcome = run("", "app = { kind = \"few\", writes = 4 }\ncontroller = \"cubic\"");
    let flow = &outcome.summary.flows[0];
    assert_eq!(flow.delivered_bytes, 40_000);
    // four times 20 ms and more, as each write waits until the last has been read
    assert!(flow.completion_s.is_some_and(|time| time > 0.08 && time < 0.3), "{:?}", flow.completion_s);
}

#[test]
fn mistakes_are_told_as_those_of_built_in_parts() {
    let error = read(&scenario("", "controller = { kind = \"holds\", segments = 0, gain = 1 }")).unwrap_err();
    assert!(error.contains("flow[0].controller.segments must be at least 1"), "{error}");
    assert!(error.contains("controller.gain is not a known field"), "{error}");
    let error = read(&scenario("", "controller = \"hold\"")).unwrap_err();
    assert!(error.contains("did you mean \"holds\"?"), "{error}");
}

#[test]
fn names_mean_nothing_to_a_scenario_that_does_not_use_them() {
    let text = scenario("", "controller = \"holds\"").replace("use = [\"mine\"]\n", "");
    assert!(read(&text).unwrap_err().contains("must be a known name"));
    let text = scenario("", "controller = \"holds\"").replace("\"mine\"", "\"other\"");
    let error = read(&text).unwrap_err();
    assert!(error.contains("use[0] is nowhere") && error.contains("remedy: write \"mine\""), "{error}");
}

#[test]
fn a_built_in_name_is_not_taken_over() {
    let mut library = Library::default();
    library.add(Part::of_own_fields(about("cubic"), Stack::ANY, vec![], |_| {
        ControllerConfig::External(ExternalConfig::new("cubic", |_| Holds(Bytes(1))))
    }));
    let extensions = Extensions::default().with_loader(move |_| Ok(library.clone()));
    let error = Scenario::parse_with(&scenario("", ""), "<test>", &[], &extensions).unwrap_err().to_string();
    assert!(error.contains("has a part \"cubic\", which is the name of a built-in part"), "{error}");
}

#[test]
fn two_entries_do_not_bring_parts_of_one_name() {
    // `loads` makes a library of its own for each.
    let text = scenario("", "").replace("\"mine\"", "\"mine\", \"mine too\"");
    let error = read(&text).unwrap_err();
    assert!(error.contains("use[1] has a part \"holds\", as has another entry of `use`"), "{error}");
}

#[test]
fn what_is_read_back_from_its_json_is_the_same() {
    let first = read(&scenario(", queue = \"one_or_two\"", "controller = { kind = \"holds\", segments = 3 }")).unwrap();
    let extensions = Extensions::default().with_loader(loads);
    let again = Scenario::from_json_with(&first.to_json(), &[], &extensions).expect("the same scenario");
    assert_eq!((first.to_json(), first.hash()), (again.to_json(), again.hash()));
}
