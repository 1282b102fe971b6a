//! Links that change during the run, and the counters of links.

use ackclock_scenario::Scenario;
use ackclock_sim::{LinkSummary, Outcome};

use crate::common::{numbers, run, simulate};

/// One flow over a dumbbell whose bottleneck has these fields; `rest` has flows and changes.
fn dumbbell(head: &str, bottleneck: &str, rest: &str) -> String {
    format!(
        "{head}\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ {bottleneck} }}\n{rest}"
    )
}

fn change(at: &str, what: &str) -> String {
    format!("[[change]]\nat = \"{at}\"\nlink = \"bottleneck\"\n{what}\n")
}

fn link(outcome: &Outcome, name: &str) -> LinkSummary {
    outcome.summary.links.iter().find(|link| link.name == name).expect("the link").clone()
}

/// "0 bit/s" is an outage: the queue's limit does not depend on it.
#[test]
fn an_outage_is_no_rate_to_divide_by() {
    for kind in [
        "drop_tail",
        "codel",
        "fq_codel",
        "pie",
        "fq_pie",
        "fq",
        "drr",
        "sfq",
        "sgpq",
        "shared_buffer",
        "dualpi2",
        "abc",
    ] {
        let queue =
            format!("rate = \"10 Mbit/s\", delay = \"9 ms\", queue = {{ kind = \"{kind}\", limit = \"20 ms\" }}");
        let rest =
            format!("[[flow]]\n{}{}", change("0.5 s", "rate = \"0 bit/s\""), change("1 s", "rate = \"10 Mbit/s\""));
        let outcome = simulate(&dumbbell("duration = \"3 s\"\nmeasure = { from = \"2 s\" }", &queue, &rest));
        assert!(link(&outcome, "bottleneck").delivered_packets > 100, "{kind}");
    }
}

/// A schedule of one delay that repeats is a constant delay.
#[test]
fn a_single_delay_that_repeats_can_be_changed() {
    let handover = "rate = \"10 Mbit/s\", handover = { period = \"1 s\", outage = \"50 ms\", delay = [\"10 ms\"] }";
    let rest = format!("[[flow]]\n{}", change("1 s", "delay = \"110 ms\""));
    let summary = run(&dumbbell("duration = \"3 s\"\nmeasure = { from = \"2 s\" }", handover, &rest));
    // 2 * 2 ms of access, 10 ms back, 110 ms there
    assert!(summary.flows[0].rtt_ms.as_ref().expect("samples").mean > 120.0);
}

/// Demers, Keshav and Shenker 1989: two backlogged flows get equal shares, whatever the rate was before; also on a
/// trace.
#[test]
fn fair_queueing_is_fair_after_the_rate_has_risen() {
    let bottleneck = "rate = \"2 Mbit/s\", delay = \"9 ms\", queue = { kind = \"fq\", limit = \"200 packets\" }";
    let rest = format!(
        "[[flow]]\nname = \"a\"\n[[flow]]\nname = \"b\"\nstart = \"4 s\"\n{}",
        change("1 s", "rate = \"20 Mbit/s\"")
    );
    let head = "duration = \"7 s\"\nmeasure = { from = \"5 s\" }\ntrace = false";
    let flows = run(&dumbbell(head, bottleneck, &rest)).flows;
    let [a, b] = [0_usize, 1].map(|flow| flows[flow].throughput_bps);
    assert!((a / b - 1.0).abs() < 0.05, "{flows:?}"); // they share what is sent; what is delivered follows
}

/// A limit in time bounds the time before a packet. At 1 Mbit/s a packet of 1500 octets takes 12 ms, so that with "20
/// ms" one may wait behind another, and never longer than two and the one in service take.
#[test]
fn a_limit_in_time_is_the_same_on_every_link() {
    let bottleneck = "rate = \"1 Mbit/s\", delay = \"50 ms\", queue = { kind = \"drop_tail\", limit = \"20 ms\" }";
    let flows = "[[flow]]\ncontroller = \"reno\"\n[[flow]]\ncontroller = \"cubic\"\n";
    let one = simulate(&dumbbell("duration = \"10 s\"", bottleneck, flows));
    let loss = format!("loss = {{ kind = \"random\", p = 0.0 }}, {bottleneck}");
    let other = simulate(&dumbbell("duration = \"10 s\"", &loss, flows));
    let [one, other] = [one, other].map(|outcome| link(&outcome, "bottleneck"));
    assert_eq!(one, other);
    assert!(one.queueing_delay_ms.max > 20.0 && one.queueing_delay_ms.max <= 36.0, "{one:?}");
}

/// Datagrams in flight when a delay becomes shorter are overtaken by later ones, where order is not kept.
#[test]
fn order_that_need_not_be_kept_is_not_kept_after_a_change() {
    let bottleneck = "rate = \"10 Mbit/s\", delay = \"50 ms\", keep_order = false";
    let flow = "[[flow]]\nprotocol = \"udp\"\napp = { kind = \"cbr\", rate = \"5 Mbit/s\" }\n";
    let rest = format!("{flow}{}", change("1 s", "delay = \"10 ms\""));
    let outcome = simulate(&dumbbell("duration = \"2 s\"", bottleneck, &rest));
    // 40 ms of 5 Mbit/s in packets of 1500 octets: 17 or so are passed
    let reordered = link(&outcome, "bottleneck").reordered;
    assert!((14..=22).contains(&reordered), "{reordered}");
}

/// RFC 8033 section 4.2: the probability of an empty queue is multiplied by 0.98 each 15 ms: by 0.02 within 3 s.
///
/// RED's average (Floyd and Jacobson 1993) is multiplied by 0.998 for each 6 ms of a packet: by 0.26 within 4 s, from
/// 15 packets to below 5.
#[test]
fn the_drop_probability_of_an_empty_queue_decays_in_the_series() {
    for kind in ["pie", "fq_pie", "red"] {
        let bottleneck =
            format!("rate = \"2 Mbit/s\", delay = \"9 ms\", queue = {{ kind = \"{kind}\", limit = \"1000 packets\" }}");
        let flow = "[[flow]]\nprotocol = { kind = \"udp\", until = \"3 s\" }\napp = { kind = \"cbr\", rate = \"2.6 Mbit/s\" }\n";
        let outcome = simulate(&dumbbell("duration = \"7 s\"\ntrace = { interval = \"50 ms\" }", &bottleneck, flow));
        let series = numbers(&outcome.links, "drop_probability");
        assert!(series.iter().any(|p| *p > 0.05) && *series.last().expect("rows") < 0.01, "{kind} {series:?}");
    }
}

/// A trace sends no more than its opportunities: all of 1500 octets are used, also those of the window's first instant.
#[test]
fn no_trace_is_used_beyond_what_it_carries() {
    let text = "duration = \"1 s\"\nmeasure = { from = \"200 ms\", to = \"810 ms\" }\n[topology]\nkind = \"chain\"\nnodes = [\"a\", \"b\"]\n\
                links = [{ rate = { instants = \"20 40 60 80 100\" }, delay = \"5 ms\", queue = { kind = \"drop_tail\", limit = \"100 packets\" } }]\n\
                [[flow]]\nprotocol = { kind = \"udp\", payload = \"1472 B\" }\napp = { kind = \"cbr\", rate = \"2 Mbit/s\" }\n";
    let utilization = run(text).links[0].utilization;
    assert!((utilization - 1.0).abs() < 1e-9, "{utilization}");
    let whole = run(&text.replace("measure = { from = \"200 ms\", to = \"810 ms\" }\n", "")).links[0].utilization;
    assert!((whole - 1.0).abs() < 1e-9, "{whole}");
}

/// A link behind an equal one has sent a packet when it left, not when it arrives half a second later.
#[test]
fn utilization_behind_an_equal_link_is_that_of_its_near_end() {
    let text = "duration = \"1 s\"\ntrace = { interval = \"100 ms\", which_links = [\"A->B\", \"B->C\"] }\n[topology]\nkind = \"chain\"\n\
                nodes = [\"A\", { name = \"B\", kind = \"router\" }, \"C\"]\n\
                links = [{ rate = \"10 Mbit/s\", delay = \"1 ms\" }, { rate = \"10 Mbit/s\", delay = \"500 ms\" }]\n\
                [[flow]]\nprotocol = \"udp\"\napp = { kind = \"cbr\", rate = \"8 Mbit/s\" }\n";
    let outcome = simulate(text);
    let [before, behind] = ["A->B", "B->C"].map(|name| link(&outcome, name).utilization);
    assert!((before - behind).abs() < 0.005, "{before} {behind}"); // a packet and 1 ms later
    let throughput = numbers(&outcome.links, "throughput_bps");
    assert!(throughput.iter().skip(2).all(|bps| bps.is_nan() || *bps > 7e6), "{throughput:?}");
}

/// The fields of cake's shaper have no meaning without a shaper.
#[test]
fn what_only_a_shaper_counts_stands_beside_its_bandwidth() {
    for field in ["overhead = 400", "cells = \"atm\"", "minimum = \"1 kB\""] {
        let text = |more: &str| {
            let queue = format!("rate = \"10 Mbit/s\", delay = \"9 ms\", queue = {{ kind = \"cake\", {field}{more} }}");
            dumbbell("duration = \"1 s\"", &queue, "[[flow]]\n")
        };
        let error = Scenario::parse(&text(""), "test.toml", &[]).expect_err(field);
        assert!(error.diagnostics[0].message.contains("must be given with bandwidth"), "{error}");
        assert!(Scenario::parse(&text(", bandwidth = \"5 Mbit/s\""), "test.toml", &[]).is_ok());
    }
}

/// Two sending hosts and two receiving; four flows to one of them, one to the other. `router` precedes the bottleneck.
fn hosts(router: &str, flows: &str) -> String {
    let nodes = ["X", "Z", "Y", "W"].map(|name| format!("[[topology.node]]\nname = \"{name}\"\n")).concat();
    let links = [
        ("X", "P", "1 Gbit/s", ""),
        ("Z", "P", "1 Gbit/s", ""),
        ("R", "Y", "1 Gbit/s", ""),
        ("R", "W", "1 Gbit/s", ""),
    ];
    let wire = |(from, to, rate, more): &(&str, &str, &str, &str)| {
        format!("[[topology.link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\ndelay = \"1 ms\"\n{more}")
    };
    let cake = "queue = { kind = \"cake\", isolation = \"dual_dsthost\" }\n";
    let links: String = links.iter().chain(&[("P", "R", "20 Mbit/s", cake)]).map(wire).collect();
    format!(
        "duration = \"6 s\"\nmeasure = {{ from = \"2 s\" }}\ntrace = false\n[topology]\nkind = \"explicit\"\n{nodes}\
         [[topology.node]]\nname = \"P\"\nkind = \"{router}\"\n[[topology.node]]\nname = \"R\"\nkind = \"router\"\n{links}{flows}"
    )
}

/// Høiland-Jørgensen, Täht and Morton 2018, section 3.2: hosts share equally, then their flows, whatever their packets.
#[test]
fn cake_knows_the_hosts_of_split_connections_and_of_short_flows() {
    let tcp = "[[flow]]\nname = \"four\"\ncount = 4\nfrom = \"X\"\nto = \"Y\"\n[[flow]]\nname = \"one\"\nfrom = \"Z\"\nto = \"W\"\n";
    let short = "[[flow]]\nname = \"short\"\nfrom = \"X\"\nto = \"Y\"\narrivals = { load = 1.5, size = \"2 MB\" }\n\
                 [[flow]]\nname = \"one\"\nfrom = \"Z\"\nto = \"W\"\n";
    for (router, flows) in [("router", tcp), ("appliance", tcp), ("router", short)] {
        let summary = run(&hosts(router, flows));
        let one = summary.flows.iter().find(|flow| flow.name == "one").expect("the lone flow").goodput_bps;
        // At least its half of what 20 Mbit/s carry of TCP; while few short flows are there, it may have more.
        assert!(one > 8.8e6 && (flows == short || one < 10.2e6), "{router} {flows}: {one}");
    }
}

fn mistakes(text: &str) -> Vec<String> {
    let diagnostics = Scenario::parse(text, "test.toml", &[]).err().map(|error| error.diagnostics).unwrap_or_default();
    diagnostics.into_iter().map(|one| format!("{} {}", one.field, one.message)).collect()
}

/// A limit set by a change must hold the packets that cross the link, by the same rule as the queue's own limit.
#[test]
fn a_changed_limit_must_hold_the_packets_of_its_link() {
    let of_queue = |mss: u32, limit: &str, framing: &str| {
        let queue = format!("queue = {{ kind = \"drop_tail\", limit = \"{limit}\" }}, framing = \"{framing}\"");
        let bottleneck = format!("rate = \"10 Mbit/s\", delay = \"9 ms\", {queue}");
        mistakes(&dumbbell(&format!("duration = \"3 s\"\ntcp = {{ mss = {mss} }}"), &bottleneck, "[[flow]]\n"))
    };
    let of_change = |mss: u32, limit: &str, framing: &str| {
        let bottleneck = format!("rate = \"10 Mbit/s\", delay = \"9 ms\", framing = \"{framing}\"");
        let rest = format!("[[flow]]\n{}", change("1 s", &format!("limit = \"{limit}\"")));
        mistakes(&dumbbell(&format!("duration = \"3 s\"\ntcp = {{ mss = {mss} }}"), &bottleneck, &rest))
    };
    // A segment of 8960 octets with 12 of timestamps and 40 of headers has 9012; one of 500 has 552; framing of Ethernet has 38.
    for (mss, framing, largest) in [(8_960, "none", 9_012), (500, "none", 552), (1_448, "ethernet", 1_538)] {
        for (limit, is_right) in [(largest, true), (largest - 1, false)] {
            let limit = format!("{limit} B");
            assert_eq!(of_queue(mss, &limit, framing).is_empty(), is_right, "queue: {mss} {limit}");
            assert_eq!(of_change(mss, &limit, framing).is_empty(), is_right, "change: {mss} {limit}");
        }
    }
    assert!(of_change(1_448, "0 packets", "none")[0].starts_with("change[0].limit must be at least one packet"));
}
