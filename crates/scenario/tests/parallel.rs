//! A simulation in parts gives the bytes of the whole simulation, for any network and any number of parts.

use std::num::NonZeroUsize;

use ackclock_cc::{AckEvent, CongestionController, CongestionEvent, ControllerConfig, ExternalConfig};
use ackclock_scenario::Scenario;
use ackclock_sim::{Outcome, ParallelSimulation, Simulation, SimulationConfig};
use ackclock_units::{Bytes, SimTime};
use proptest::prelude::*;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// All results of a run, and the engine's counters.
fn everything(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

fn in_parts(config: &SimulationConfig, threads: usize) -> ParallelSimulation {
    ParallelSimulation::new(config, NonZeroUsize::new(threads).expect("some threads"))
}

/// Two hosts at each of the routers of a chain: flows that begin and end anywhere on it.
const CHAIN: &str = r#"
duration = "3 s"
measure = { from = "0.7 s", to = "2.3 s" }
trace = { interval = "50 ms" }
[topology]
kind = "parking_lot"
hops = 3
bottleneck = { rate = "50 Mbit/s", delay = "4 ms", queue = { kind = "drop_tail", limit = "50 packets" } }
access = { rate = "500 Mbit/s", delay = "3 ms" }
[[flow]]
name = "long"
count = 3
start = { first = "0 s", spacing = "30 ms" }
[[flow]]
name = "first"
from = "H1"
to = "H2"
[[flow]]
name = "back"
from = "H4"
to = "H2"
controller = "bbr3"
"#;

#[test]
fn a_chain_in_parts_is_the_chain() {
    let scenario = scenario(CHAIN);
    let whole = everything(&Simulation::new(scenario.config()).finish());
    for (threads, parts) in [(1, 1..=1), (2, 2..=2), (3, 3..=3), (16, 4..=8)] {
        let simulation = in_parts(scenario.config(), threads);
        assert!(parts.contains(&simulation.partition().parts), "{:?}", simulation.partition());
        assert_eq!(everything(&simulation.finish()), whole, "{threads} threads");
    }
}

#[test]
fn what_hosts_are_told_of_their_own_queues_is_the_same_in_parts() {
    let slow =
        r#"access = { rate = "40 Mbit/s", delay = "3 ms", queue = { kind = "fq_codel", limit = "60 packets" } }"#;
    let scenario = scenario(&CHAIN.replace(r#"access = { rate = "500 Mbit/s", delay = "3 ms" }"#, slow));
    let whole = everything(&Simulation::new(scenario.config()).finish());
    for threads in [2, 3, 16] {
        let mut parts = in_parts(scenario.config(), threads);
        assert!(parts.partition().parts > 1);
        (1..50).for_each(|step| parts.run_until(SimTime(step * 60_000_007)));
        assert_eq!(everything(&parts.finish()), whole, "{threads} threads");
    }
}

#[test]
fn it_can_be_run_in_pieces_cloned_and_looked_at() {
    let scenario = scenario(CHAIN);
    let mut whole = Simulation::new(scenario.config());
    let mut parts = in_parts(scenario.config(), 3);
    for step in 1..40 {
        let until = SimTime(step * 60_000_007);
        whole.run_until(until);
        parts.run_until(until);
        for flow in whole.flows() {
            assert_eq!(parts.whole().sender(flow).cwnd(), whole.sender(flow).cwnd());
            assert_eq!(parts.whole().read(flow), whole.read(flow));
        }
        assert_eq!(parts.counters(), whole.counters());
    }
    let expected = everything(&whole.finish());
    assert_eq!(everything(&parts.clone().finish()), expected);
    assert_eq!(everything(&parts.finish()), expected);
}

#[test]
fn what_ties_nodes_together_is_said() {
    let cut = |more: &str| in_parts(scenario(&format!("{DUMBBELL}{more}")).config(), 2).partition();
    assert_eq!((cut("").parts, cut("").lookahead_s), (2, Some(0.01)));
    let file = cut("[[flow]]\nname = \"file\"\napp = { kind = \"file\", size = \"1 MB\" }\n");
    assert_eq!((file.parts, file.ties[1]), (1, "applications that wait until the other end has read"));
    let short = in_parts(
        scenario(&DUMBBELL.replace("\"10 ms\"", "\"10 us\", queue = { kind = \"drop_tail\", limit = \"9 packets\" }"))
            .config(),
        2,
    )
    .partition();
    assert_eq!((short.parts, short.ties[1]), (1, "links with too little delay for what there is to do in it"));
    let codel =
        in_parts(scenario(&DUMBBELL.replace("\"10 ms\"", "\"10 ms\", queue = \"codel\"")).config(), 2).partition();
    assert_eq!((codel.parts, codel.lookahead_s), (1, None));
    assert_eq!(codel.ties, ["links without delay", "links with a queue other than drop_tail or with a channel"]);
}

const DUMBBELL: &str = r#"
duration = "1 s"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "0 ms" }
bottleneck = { rate = "100 Mbit/s", delay = "10 ms" }
[[flow]]
name = "bulk"
count = 4
"#;

/// A controller that panics.
#[derive(Clone, Debug)]
struct Broken;

impl CongestionController for Broken {
    fn on_ack(&mut self, ack: &AckEvent) {
        assert!(ack.now < SimTime(500_000_000), "this controller is broken");
    }
    fn on_congestion(&mut self, _event: &CongestionEvent) {}
    fn cwnd(&self) -> Bytes {
        Bytes(15_000)
    }
}

/// A part that fails leaves no other waiting for it.
#[test]
#[should_panic(expected = "this controller is broken")]
fn a_part_that_fails_ends_the_run() {
    let mut config = scenario(CHAIN).config().clone();
    config.flows[3].controller = ControllerConfig::External(ExternalConfig::new("broken", |_| Broken));
    let parts = in_parts(&config, 3);
    assert!(parts.partition().parts > 1);
    parts.finish();
}

/// A tree of routers with hosts; each link has its own rate, delay and queue.
fn any_network() -> impl Strategy<Value = String> {
    let rate = prop::sample::select(vec![12_u32, 24, 60, 120]); // few, so that much happens at the same nanosecond
    let link = (rate, 0_u32..5, 0_usize..8);
    (prop::collection::vec((any::<u32>(), link.clone()), 1..6), prop::collection::vec((any::<u32>(), link), 2..7))
        .prop_map(|(routers, hosts)| topology(&routers, &hosts))
}

type Cable = (u32, (u32, u32, usize));

fn topology(routers: &[Cable], hosts: &[Cable]) -> String {
    let router = |router| format!("[[topology.node]]\nname = \"R{router}\"\nkind = \"router\"\n");
    let host = |host| format!("[[topology.node]]\nname = \"H{host}\"\n");
    let nodes = (0..=routers.len()).map(router).chain((0..hosts.len()).map(host));
    let mut text = String::from("[topology]\nkind = \"explicit\"\n") + &nodes.collect::<String>();
    for (number, (at, cable)) in (1..).zip(routers) {
        text += &link(&format!("R{number}"), &format!("R{}", *at as usize % number), *cable);
    }
    for (number, (at, cable)) in hosts.iter().enumerate() {
        text += &link(&format!("H{number}"), &format!("R{}", *at as usize % (routers.len() + 1)), *cable);
    }
    text
}

fn link(from: &str, to: &str, (rate, delay, queue): (u32, u32, usize)) -> String {
    let queues =
        ["", ", queue = \"fq_codel\"", ", jitter = \"1 ms\"", ", discard = [{ kind = \"probability\", p = 0.01 }]"];
    let more = queues.get(queue).copied().unwrap_or(", queue = { kind = \"drop_tail\", limit = \"15 packets\" }");
    let more =
        more.trim_start_matches(", ").replace("jitter = \"1 ms\"", "jitter = { kind = \"uniform\", max = \"1 ms\" }");
    let delay = 2_000 * delay;
    format!(
        "[[topology.link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"{delay} us\"\n{more}\n"
    )
}

fn any_flows() -> impl Strategy<Value = Vec<(usize, usize, usize, u32)>> {
    prop::collection::vec((0_usize..100, 0_usize..100, 0_usize..8, 0_u32..3), 1..7)
}

fn flows(hosts: usize, flows: &[(usize, usize, usize, u32)]) -> String {
    let apps = [
        "app = { kind = \"file\", size = \"100 kB\" }",
        "app = { kind = \"on_off\", on = \"100 ms\", off = \"50 ms\", rate = \"2 Mbit/s\" }",
        "controller = \"bbr3\"",
        "tcp = { profile = \"linux-6.x\" }",
    ];
    let flow = |(number, (from, to, app, start)): (usize, &(usize, usize, usize, u32))| {
        let (from, to) = (from % hosts, (from % hosts + 1 + to % (hosts - 1)) % hosts);
        let app = apps.get(*app).copied().unwrap_or("");
        format!("[[flow]]\nname = \"f{number}\"\nfrom = \"H{from}\"\nto = \"H{to}\"\nstart = \"{start}00 ms\"\n{app}\n")
    };
    flows.iter().enumerate().map(flow).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_network_in_parts_is_that_network(network in any_network(), some in any_flows(), threads in 2_usize..5) {
        let hosts = network.matches("name = \"H").count();
        let head = "duration = \"1 s\"\nmeasure = { from = \"0.2 s\" }\ntrace = { interval = \"20 ms\" }\n";
        let scenario = scenario(&format!("{head}{network}{}", flows(hosts, &some)));
        let parts = in_parts(scenario.config(), threads);
        prop_assume!(parts.partition().parts > 1);
        let whole = everything(&Simulation::new(scenario.config()).finish());
        prop_assert_eq!(everything(&parts.finish()), whole);
    }
}
