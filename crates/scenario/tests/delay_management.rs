//! Disciplines that manage delay, with TCP flows on a scenario's links, compared with their standards.

use ackclock_scenario::Scenario;
use ackclock_sim::{FlowSummary, LinkSummary, Simulation, Summary};

fn run(text: &str) -> Summary {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish().summary
}

/// A bottleneck of 20 Mbit/s with this queue; the round trip is 40 ms unless a flow has more.
fn dumbbell(queue: &str, flows: &str) -> Summary {
    run(&format!(
        "duration = \"60 s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"20 Mbit/s\", delay = \"18 ms\", queue = {queue} }}\n[tcp]\nprofile = \"rfc\"\n{flows}\n"
    ))
}

const TWO_CUBIC: &str = "[[flow]]\nname = \"a\"\n[[flow]]\nname = \"b\"\nstart = \"1 s\"";

fn bottleneck(summary: &Summary) -> &LinkSummary {
    summary.links.iter().find(|link| link.name == "bottleneck").expect("a dumbbell has one")
}

fn flow<'a>(summary: &'a Summary, name: &str) -> &'a FlowSummary {
    summary.flows.iter().find(|flow| flow.name == name).expect(name)
}

/// Median round-trip time of a flow in excess of `base`, both in ms.
fn median_excess(summary: &Summary, name: &str, base: f64) -> f64 {
    flow(summary, name).rtt_ms.as_ref().expect("a flow that ran").p50 - base
}

#[test]
fn codel_holds_two_cubic_flows_near_its_target() {
    let summary = dumbbell("\"codel\"", TWO_CUBIC);
    let (a, b) = (median_excess(&summary, "a", 40.0), median_excess(&summary, "b", 40.0));
    // target 5 ms; a packet's own service takes 0.6 ms. DropTail's 1000 packets would be 600 ms.
    assert!((2.0..=10.0).contains(&a) && (2.0..=10.0).contains(&b), "{a} {b} ms");
    assert!(bottleneck(&summary).utilization > 0.95, "{}", bottleneck(&summary).utilization);
    assert!(bottleneck(&summary).drops > 0);
}

#[test]
fn codel_marks_where_flows_can_say_so() {
    let summary = dumbbell("\"codel\"", &format!("ecn = \"request\"\n{TWO_CUBIC}"));
    let link = bottleneck(&summary);
    // Marks take the place of drops; a SYN and a retransmission are not ECN-capable, so a few drops may be left.
    assert!(link.marks > 20 && link.drops * 10 < link.marks, "{} marks, {} drops", link.marks, link.drops);
    let a = median_excess(&summary, "a", 40.0);
    assert!((2.0..=10.0).contains(&a), "{a} ms");
}

/// Evidence for the queue `pie`: 15 ms of queue, by timestamps and by departure rate (RFC 8033); 9 to 21 ms.
#[test]
fn pie_holds_two_cubic_flows_near_its_target() {
    for delay in ["timestamps", "departure_rate"] {
        let summary = dumbbell(&format!("{{ kind = \"pie\", delay = \"{delay}\" }}"), TWO_CUBIC);
        let mean = bottleneck(&summary).queueing_delay_ms.mean;
        // target 15 ms
        assert!((9.0..=21.0).contains(&mean), "{delay}: {mean} ms");
        assert!(bottleneck(&summary).utilization > 0.97, "{}", bottleneck(&summary).utilization);
    }
}

/// Round trips of 40 and 80 ms, both within the 100 ms of CoDel's interval. A flow of longer round trip cannot use its
/// share of so short a queue, and then the discipline is not the reason.
const DIFFERENT_RTTS: &str = "[[flow]]\nname = \"near\"\n[[flow]]\nname = \"far\"\nrtt = \"80 ms\"";

#[test]
fn flow_queues_share_equally_whatever_the_round_trips() {
    let jain = |queue| dumbbell(queue, DIFFERENT_RTTS).jain_index.expect("both sent");
    for (queue, shared) in [("\"fq_codel\"", "\"codel\""), ("\"fq_pie\"", "\"pie\""), ("\"cake\"", "\"codel\"")] {
        let (apart, together) = (jain(queue), jain(shared));
        assert!(apart > 0.99, "{queue}: {apart}");
        assert!(together < 0.98, "{shared}: {together}: there was nothing to put right");
    }
}

#[test]
fn a_sparse_flow_hardly_waits_behind_bulk_flows() {
    // A sender of 64 kbit/s, beside two bulk flows, waits for the packets in service and for what a round needs.
    let sparse =
        "[[flow]]\nname = \"call\"\napp = { kind = \"on_off\", on = \"50 s\", off = \"1 s\", rate = \"64 kbit/s\" }";
    let wait = |queue| {
        let summary = dumbbell(queue, &format!("{TWO_CUBIC}\n{sparse}"));
        median_excess(&summary, "call", 40.0)
    };
    let (fair, fifo) = (wait("\"fq_codel\""), wait("{ kind = \"drop_tail\", limit = \"200 packets\" }"));
    // 0.6 ms of the packet's own service, up to 0.6 ms of the one before it
    assert!(fair < 1.5, "{fair} ms");
    assert!(fifo > 20.0, "{fifo} ms: the comparison means nothing");
}

#[test]
fn cakes_shaper_makes_the_queue_its_own() {
    // A link of 20 Mbit/s shaped to 10: 1460 of every 1500 octets are payload (no timestamps: 20 + 20 of headers).
    let summary = dumbbell(
        "{ kind = \"cake\", bandwidth = \"10 Mbit/s\" }",
        &format!("timestamps = false\nmss = 1460\n{TWO_CUBIC}"),
    );
    let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    let most = 10e6 * 1460.0 / 1500.0;
    assert!((0.97 * most..=1.001 * most).contains(&goodput), "{goodput} of {most} bit/s");
    assert!((bottleneck(&summary).utilization - 0.5).abs() < 0.02);
}

#[test]
fn an_ack_filter_frees_a_narrow_way_back() {
    // 50 Mbit/s there, 0.4 Mbit/s back. 50 Mbit/s are 4167 packets of 1500 octets a second; an ACK for every other, of 52
    // octets, is 0.87 Mbit/s: twice what the reverse path carries. Filtered, as many ACKs as fit say all that is to be said.
    let goodput = |filter: &str| {
        let summary = run(&format!(
            "duration = \"40 s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"50 Mbit/s\", delay = \"10 ms\", queue = \"fq_codel\", reverse = {{ rate = \"400 kbit/s\", \
             queue = {{ kind = \"cake\", ack_filter = \"{filter}\" }} }} }}\n[[flow]]\nname = \"a\"\n"
        ));
        flow(&summary, "a").goodput_bps
    };
    let (off, conservative, aggressive) = (goodput("off"), goodput("conservative"), goodput("aggressive"));
    assert!(conservative > 1.1 * off, "{conservative} against {off} bit/s");
    assert!(aggressive > 1.1 * off, "{aggressive} against {off} bit/s");
}

#[test]
fn dualpi2_keeps_l4s_packets_waiting_a_millisecond_beside_classic_ones() {
    // The L4S flow holds ten segments: 10 * 1500 * 8 / 42 ms = 2.9 Mbit/s, which the link can always carry.
    let summary = dumbbell(
        "\"dualpi2\"",
        "[[flow]]\nname = \"classic\"\n[[flow]]\nname = \"l4s\"\ncontroller = { kind = \"fixed\", window = \"10 segments\" }\n\
         tcp = { ecn = \"request\", ect1 = true }",
    );
    let classic = median_excess(&summary, "classic", 40.0);
    let l4s = flow(&summary, "l4s").rtt_ms.as_ref().expect("it ran");
    assert!((8.0..=22.0).contains(&classic), "classic {classic} ms, target 15 ms");
    // ten segments back to back take 6 ms of the link by themselves: half of them is the median
    assert!(l4s.p50 - 40.0 < 5.0, "L4S {} ms", l4s.p50 - 40.0);
    let goodput = flow(&summary, "l4s").goodput_bps;
    assert!(goodput > 2e6, "{goodput} bit/s");
}

#[test]
fn every_discipline_takes_a_limit_in_bandwidth_delay_products() {
    for queue in ["codel", "fq_codel", "pie", "fq_pie", "dualpi2"] {
        let summary = dumbbell(&format!("{{ kind = \"{queue}\", limit = \"0.5 bdp\" }}"), TWO_CUBIC);
        // half of 20 Mbit/s * 40 ms is 50 000 octets: 33 packets of 1500
        let most = bottleneck(&summary).queue_packets.max;
        assert!(most > 0.0 && most <= 50_000.0 / 52.0, "{queue}: {most} packets");
        assert!(flow(&summary, "a").goodput_bps > 5e6, "{queue}");
    }
}

#[test]
fn runs_repeat_and_clones_go_on_alike() {
    let text = |queue: &str| {
        format!(
            "duration = \"5 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"20 Mbit/s\", delay = \"18 ms\", queue = \"{queue}\" }}\n{TWO_CUBIC}\n"
        )
    };
    for queue in ["codel", "fq_codel", "pie", "fq_pie", "cake", "dualpi2"] {
        let scenario = Scenario::parse(&text(queue), "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        let whole = format!("{:?}", Simulation::new(scenario.config()).finish().summary);
        let mut half = Simulation::new(scenario.config());
        half.run_until(ackclock_units::SimTime(2_500_000_001));
        let copy = half.clone();
        assert_eq!(format!("{:?}", half.finish().summary), whole, "{queue}");
        assert_eq!(format!("{:?}", copy.finish().summary), whole, "{queue}");
    }
}

#[test]
fn mistakes_name_place_and_remedy() {
    let wrong = [
        ("{ kind = \"codel\", target = \"0 ms\" }", "target", "5 ms"),
        ("{ kind = \"fq_codel\", flows = 0 }", "flows", "at least 1 and at most 65536 queues"),
        ("{ kind = \"fq_codel\", quantum = \"0 bytes\" }", "quantum", "at least 40 bytes"),
        ("{ kind = \"fq_codel\", drop_batch = 0 }", "drop_batch", "at least 1"),
        ("{ kind = \"fq_pie\", memory_limit = \"1 kB\" }", "memory_limit", "at least"),
        ("{ kind = \"pie\", mark_threshold = 1.5 }", "mark_threshold", "at least 0 and at most 1"),
        ("{ kind = \"pie\", t_update = \"1 us\" }", "t_update", "100 us"),
        ("{ kind = \"pie\", alpha = -1.0 }", "alpha", "0.125"),
        ("{ kind = \"cake\", flows = 100 }", "flows", "multiple of 8"),
        ("{ kind = \"cake\", bandwidth = \"0 bit/s\" }", "bandwidth", "at least 1 bit/s"),
        ("{ kind = \"dualpi2\", coupling = 0.5 }", "coupling", "at least 1 and at most 100"),
        ("{ kind = \"dualpi2\", shift = \"30 ms\" }", "shift", "time_shifted"),
        ("{ kind = \"codel\", limit = \"100 bytes\" }", "limit", "1 packet"),
    ];
    for (queue, field, remedy) in wrong {
        let text = format!(
            "duration = \"5 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"20 Mbit/s\", delay = \"18 ms\", queue = {queue} }}\n{TWO_CUBIC}\n"
        );
        let error = Scenario::parse(&text, "test.toml", &[]).err().unwrap_or_else(|| panic!("{queue} passed"));
        let said = error.to_string();
        assert!(said.contains(&format!("queue.{field}")) && said.contains(remedy), "{queue}: {said}");
    }
}
