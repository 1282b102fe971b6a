//! Queues in whole runs, compared with laws of their theory or their authors.

use ackclock_scenario::Scenario;
use ackclock_sim::{FlowSummary, LinkSummary, Simulation, Summary};

/// A bottleneck of 10 Mbit/s with this queue, without delay unless flows have some. `seconds` are the start of
/// measurement and the duration.
fn dumbbell(seconds: (u32, u32), queue: &str, flows: &str) -> Summary {
    dumbbell_at("10 Mbit/s", seconds, queue, flows)
}

fn dumbbell_at(rate: &str, (from, duration): (u32, u32), queue: &str, flows: &str) -> Summary {
    run(&format!(
        "duration = \"{duration} s\"\nmeasure = {{ from = \"{from} s\" }}\ntrace = false\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"0 ns\", queue = {queue} }}\n{flows}\n"
    ))
}

fn run(text: &str) -> Summary {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish().summary
}

fn bottleneck(summary: &Summary) -> &LinkSummary {
    summary.links.iter().find(|link| link.name == "bottleneck").expect("a dumbbell has one")
}

fn assert_near(value: f64, law: f64, tolerance: f64, what: &str) {
    assert!((value / law - 1.0).abs() <= tolerance, "{what}: {value} against {law}");
}

/// Datagrams that fill this many octets of IP each.
fn datagrams(name: &str, app: &str, rate: &str, octets: u32) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nprotocol = {{ kind = \"udp\", payload = \"{} B\" }}\n\
         app = {{ kind = \"{app}\", rate = \"{rate}\" }}\n",
        octets - 28
    )
}

/// Evidence for the queue `drop_tail`: Reno keeps 3/4 w^2 / (1 + w^2 - w) of the link busy, w = 1 + length in bdp
/// (Villamizar and Song 1994 at 1 bdp); within 2 %, 0.5 % at 1 bdp.
#[test]
fn drop_tail_keeps_reno_as_busy_as_its_length_allows() {
    // A window that grows by a segment each round trip from W/2 to W, W = P + B with P packets of path and B of queue. Up to
    // P it takes P - W/2 round trips, in which (P^2 - W^2/4) / 2 packets go; then the link is full, and (W^2 - P^2) / 2
    // packets take (W^2 - P^2) / (2 P) round trips. Together 3 W^2 / 8 packets of the (P^2 + W^2 - P W) / 2 that could go:
    // 3/4 W^2 / (P^2 + W^2 - P W), which is 3/4 for no queue and 1 for one of P (Villamizar and Song 1994).
    let flow = "[[flow]]\ncontroller = \"newreno\"\nrtt = \"120 ms\"\ntcp = { delayed_ack = false }";
    let path = 100.0;
    for (limit, tolerance) in [(0.1, 0.02), (0.25, 0.02), (0.5, 0.02), (1.0, 0.005)] {
        let queue = format!("{{ kind = \"drop_tail\", limit = \"{} packets\" }}", path * limit);
        let busy = bottleneck(&dumbbell((100, 900), &queue, flow)).utilization;
        let window = 1.0 + limit;
        let law = 0.75 * window * window / (1.0 + window * window - window);
        assert_near(busy, law, tolerance, &queue);
    }
}

/// Evidence for the queue `sgpq`: mean waits of small and large packets at random: W0 / (1 - a) and
/// W0 / ((1 - a)(1 - a - b)) (Cobham 1954); within 5 %.
/// Evidence for the queue `priority`: mean waits of two bands (Cobham 1954), and of `drop_tail` (Pollaczek and
/// Khinchine); within 5 %.
#[test]
fn small_packets_first_and_one_line_for_all_wait_as_queueing_theory_says() {
    // Small packets of 80 octets (64 us), 2500 a second, and large ones of 1500 (1.2 ms), 500 a second, arrive at random:
    // loads 0.16 and 0.6. The work found in service is W0 = (2500 * 0.064^2 + 500 * 1.2^2) / 2 / 1000 = 0.365 ms. In one
    // line all wait W0 / (1 - 0.76) = 1.521 ms (Pollaczek and Khinchine); with small ones first they wait W0 / (1 - 0.16)
    // = 0.4347 ms, and the large ones that over 0.24, 1.811 ms (Cobham 1954).
    let flows = datagrams("small", "poisson", "1.04 Mbit/s", 80) + &datagrams("large", "poisson", "5.888 Mbit/s", 1500);
    let by_size = "{ kind = \"priority\", bands = [{ max_size = \"80 bytes\", limit = \"unlimited\" }, { limit = \"unlimited\" }] }";
    for (queue, small, large) in [
        ("{ kind = \"drop_tail\", limit = \"unlimited\" }", 1.521, 1.521),
        ("{ kind = \"sgpq\", limit = \"unlimited\" }", 0.4347, 1.811),
        (by_size, 0.4347, 1.811),
    ] {
        let summary = dumbbell((0, 500), queue, &flows);
        for (flow, octets, law) in [(0, 80.0, small), (1, 1500.0, large)] {
            // what the links themselves take: 1/10 us for each bit at the bottleneck, twice 1/1000 us before and after
            let own = octets * 8.0 * (0.1 + 0.002) / 1000.0;
            let delay = summary.datagrams[flow].one_way_delay_ms.as_ref().expect("they arrive").mean;
            assert_near(delay - own, law, 0.05, &format!("{queue}, {octets} octets"));
        }
    }
}

/// Mean goodputs of five senders in bit/s, and the 99th percentile of the first one's delay, ms.
///
/// The first sends 2 Mbit/s, evenly spaced, and four send 5 Mbit/s, all in packets of 1500 octets.
fn against_the_greedy(queue: &str) -> ([f64; 5], f64) {
    let rate = |line: f64| format!("{} bit/s", (line * 1472.0 / 1500.0) as u64);
    let mut flows = datagrams("modest", "cbr", &rate(1.98e6), 1500);
    for greedy in 1..5 {
        flows += &datagrams(&format!("greedy{greedy}"), "cbr", &rate(5e6), 1500);
    }
    let summary = dumbbell((0, 20), queue, &flows);
    let goodput = |flow: usize| summary.datagrams[flow].goodput_bps * 1500.0 / 1472.0;
    let delay = summary.datagrams[0].one_way_delay_ms.as_ref().expect("some arrive").p99;
    ([0, 1, 2, 3, 4].map(goodput), delay)
}

/// Evidence for the queue `drr`: a modest flow waits at most for its packet at its share and (3 F - 2 Q) / C
/// (Stiliadis and Varma 1998); equal shares of the rest within 1 %.
/// Evidence for the queue `sfq`: the bound and shares of `drr`, where no two flows collide.
/// Evidence for the queue `fq`: a modest flow waits at most for its packet at its share and one largest packet
/// (Parekh and Gallager 1993); equal shares of the rest within 1 %.
#[test]
fn schedulers_keep_their_bounds_against_senders_that_heed_nothing() {
    // Five flows of 10 Mbit/s: a share is 2 Mbit/s, and 1500 octets of it take 6 ms. Fair queueing delays a packet of a flow
    // that keeps to its share by no more than that and the largest packet, 1.2 ms (Parekh and Gallager 1993, theorem 1);
    // deficit round robin by 6 ms and (3 F - 2 Q) / C, with quanta Q of 1500 octets and rounds F of five: 6 + 15.6 ms
    // (Stiliadis and Varma 1998, table I). The links of 1 Gbit/s before and after add 24 us.
    for (queue, bound) in [
        ("{ kind = \"fq\", limit = \"200 packets\" }", 7.2),
        ("{ kind = \"drr\", quantum = \"1500 bytes\", limit = \"200 packets\" }", 21.6),
        ("{ kind = \"sfq\", quantum = \"1500 bytes\", limit = \"200 packets\" }", 21.6),
    ] {
        let (goodputs, delay) = against_the_greedy(queue);
        assert!(delay <= bound + 0.025, "{queue}: {delay} ms");
        assert_near(goodputs[0], 1.98e6, 0.002, queue);
        for goodput in &goodputs[1..] {
            assert_near(*goodput, (10e6 - 1.98e6) / 4.0, 0.01, queue);
        }
    }
    let (goodputs, delay) = against_the_greedy("{ kind = \"drop_tail\", limit = \"200 packets\" }");
    assert!(delay > 200.0 && goodputs[0] < 1.5e6, "there was nothing to put right: {delay} ms, {goodputs:?}");
}

/// Evidence for the queue `codel`: drops come interval / sqrt(count) apart while a sender does not heed (RFC 8289);
/// within 2 % of some 400.
#[test]
fn codel_drops_faster_and_faster_while_a_sender_does_not_heed() {
    // RFC 8289 section 5.3: each drop is interval / sqrt(count) after the one before. 15 Mbit/s arrive at 10 Mbit/s: waiting
    // passes the target of 5 ms within 20 ms; an interval of 100 ms later is the first drop; the n-th comes
    // 100 ms * (1/sqrt(1) + ... + 1/sqrt(n - 1)) later. Up to 4 s that is 0.1 * (2 sqrt(n) - 1.46) s = 3.88 s: n = 406.
    let flow = datagrams("deaf", "cbr", "14.72 Mbit/s", 1500);
    let summary = dumbbell((0, 4), "{ kind = \"codel\", limit = \"unlimited\" }", &flow);
    let mut time = 0.120;
    let drops = (1..).take_while(|n| {
        let in_time = time <= 4.0;
        time += 0.1 / f64::from(*n).sqrt();
        in_time
    });
    assert_near(bottleneck(&summary).drops as f64, drops.count() as f64, 0.02, "drops");
}

/// The share of one flow beside four, each with more load than the link of 20 Mbit/s carries.
///
/// Two hosts send to two others; the first has the four flows.
fn share_of_the_one(queue: &str) -> f64 {
    let node = |name: &str, kind: &str| format!("[[topology.node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    let link =
        |from: &str, to: &str, rest: &str| format!("[[topology.link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{rest}\n");
    let access = "rate = \"1 Gbit/s\"\ndelay = \"1 ms\"";
    let mut text =
        "duration = \"20 s\"\nmeasure = { from = \"2 s\" }\ntrace = false\n[topology]\nkind = \"explicit\"\n"
            .to_owned();
    for name in ["A", "B", "C", "D"] {
        text += &node(name, "host");
    }
    text += &(node("R", "router") + &node("S", "router"));
    for (from, to) in [("A", "R"), ("B", "R"), ("S", "C"), ("S", "D")] {
        text += &link(from, to, access);
    }
    text += &link("R", "S", &format!("rate = \"20 Mbit/s\"\ndelay = \"18 ms\"\nqueue = {queue}"));
    for flow in 0..5 {
        let (from, to) = if flow < 4 { ("A", "C") } else { ("B", "D") };
        let datagrams = datagrams(&format!("flow{flow}"), "cbr", "25 Mbit/s", 1500);
        text = format!("{text}{datagrams}from = \"{from}\"\nto = \"{to}\"\n");
    }
    let goodputs: Vec<f64> = run(&text).datagrams.iter().map(|flow| flow.goodput_bps).collect();
    goodputs[4] / goodputs.iter().sum::<f64>()
}

/// Evidence for the queue `fq_codel`: five greedy flows get a fifth each (RFC 8290); within 1 %.
/// Evidence for the queue `cake`: a host with one flow gets as much as one with four (Høiland-Jørgensen, Täht and
/// Morton 2018); within 1 %.
#[test]
fn cake_is_fair_between_hosts_and_flow_queues_between_flows() {
    // Høiland-Jørgensen, Täht and Morton 2018, section III-B: a host's share does not grow with its flows.
    for (queue, share) in [
        ("\"cake\"", 0.5),
        ("{ kind = \"cake\", isolation = \"dual_srchost\" }", 0.5),
        ("{ kind = \"cake\", isolation = \"flows\" }", 0.2),
        ("\"fq_codel\"", 0.2),
        ("\"fq_pie\"", 0.2),
    ] {
        assert_near(share_of_the_one(queue), share, 0.01, queue);
    }
}

const TWO_CUBIC: &str =
    "[[flow]]\nname = \"a\"\nrtt = \"40 ms\"\n[[flow]]\nname = \"b\"\nrtt = \"40 ms\"\nstart = \"1 s\"";

/// Evidence for the queue `fq_pie`: 15 ms of queue for each flow; 11 to 19 ms.
#[test]
fn fq_pie_holds_each_of_its_queues_near_the_target() {
    // RFC 8033: 15 ms, which each flow's queue has to itself, though it has but a half of the link. Near is within a third of that. A
    // host with bursts has one of them queued beside that, here 2.4 ms for each segment.
    let summary = dumbbell((20, 120), "\"fq_pie\"", &format!("{TWO_CUBIC}\n[tcp]\nprofile = \"rfc\"\n"));
    for flow in &summary.flows {
        let waited = flow.rtt_ms.as_ref().expect("it ran").mean - 40.0;
        assert!((10.0..=20.0).contains(&waited), "{}: {waited} ms", flow.name);
    }
    assert!(summary.jain_index.expect("both sent") > 0.99);
    assert!(bottleneck(&summary).utilization > 0.97, "{}", bottleneck(&summary).utilization);
}

/// Evidence for the queue `dualpi2`: 15 ms for classic packets, less than one for L4S, about equal rates with ten
/// flows of each (RFC 9332); within 5 %; 0.8 to 1.25.
#[test]
fn dualpi2_lets_scalable_and_classic_flows_share_alike() {
    // RFC 9332: classic packets wait 15 ms, L4S packets about none, and with k = 2 flows of equal round trips have about equal
    // rates: a classic window is 1.22 / p', a scalable one 2 / (2 p'), if p' is constant. Ten flows of each keep it nearly
    // so. Propagation takes 15 ms less for the classic ones, which makes round trips equal.
    let flows = "[[flow]]\nname = \"classic\"\ncount = 10\ncontroller = \"newreno\"\nrtt = \"40 ms\"\n\
                 tcp = { ecn = \"request\", delayed_ack = false }\n\
                 [[flow]]\nname = \"l4s\"\ncount = 10\ncontroller = \"prague\"\nrtt = \"55 ms\"\n";
    let summary = dumbbell_at("100 Mbit/s", (20, 80), "\"dualpi2\"", flows);
    let (classic, l4s) = summary.flows.split_at(10);
    let goodput = |flows: &[FlowSummary]| flows.iter().map(|flow| flow.goodput_bps).sum::<f64>();
    let waited = |flow: &FlowSummary| flow.rtt_ms.as_ref().expect("it ran").mean;
    let ratio = goodput(classic) / goodput(l4s);
    assert!((0.8..=1.25).contains(&ratio), "{ratio}");
    assert_near(waited(&classic[0]) - 40.1, 15.0, 0.05, "classic, a packet's own time of 0.1 ms aside");
    assert!(waited(&l4s[0]) - 55.1 < 1.0, "L4S {} ms", waited(&l4s[0]) - 55.1);
    assert!(bottleneck(&summary).utilization > 0.99 && bottleneck(&summary).drops == 0);
}
