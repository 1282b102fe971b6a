//! ACK congestion control on a network (RFC 5690): the effect on a reverse path that is too narrow for the ACKs, and on
//! one that is not.

use ackclock_scenario::Scenario;
use ackclock_sim::{ColumnData, LinkSummary, Outcome, Simulation};

/// A scenario with segments of 512 octets over 10 Mbit/s and 44 ms, with this reverse path.
fn text(tcp: &str, reverse: &str) -> String {
    format!(
        "duration = \"60 s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"20 ms\", reverse = {{ {reverse} }} }}\n\
         [tcp]\nmss = 512\n{tcp}\n[[flow]]\ncontroller = \"newreno\"\n"
    )
}

fn download(tcp: &str, reverse: &str) -> Outcome {
    let scenario = Scenario::parse(&text(tcp, reverse), "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish()
}

fn way_back(outcome: &Outcome) -> &LinkSummary {
    outcome.summary.links.iter().find(|link| link.name == "bottleneck.reverse").expect("the reverse path")
}

fn share_lost(outcome: &Outcome) -> f64 {
    let link = way_back(outcome);
    link.drops as f64 / (link.drops + link.delivered_packets) as f64
}

/// The ACK ratio in every sample after the first 10 s.
fn ratios(outcome: &Outcome) -> Vec<f64> {
    let numbers = |name: &str| {
        let column = outcome.flows.columns.iter().find(|column| column.name == name).expect(name);
        let ColumnData::F64(values) = &column.data else { panic!("{name} holds numbers") };
        values.clone()
    };
    let times = numbers("time_s");
    numbers("ack_ratio").into_iter().zip(times).filter(|(_, time)| *time >= 10.0).map(|(ratio, _)| ratio).collect()
}

const NARROW: &str = "rate = \"200 kbit/s\", queue = { kind = \"drop_tail\", limit = \"10 packets\" }";

#[test]
fn on_a_way_back_fifty_times_slower_acks_are_spared_and_more_data_arrives() {
    // 10 Mbit/s are 2216 packets of 564 octets a second; ACKs of 52 octets for every second one would be 461 kbit/s of the
    // 200: more than half are lost while the link is full. 2216 / R * 416 <= 200,000 from R = 4.6 on.
    let fixed = download("profile = \"rfc\"", NARROW);
    assert!(share_lost(&fixed) > 0.4, "{}", share_lost(&fixed));
    let adaptive = download("profile = \"rfc\"\nack_congestion_control = true", NARROW);
    // An additive decrease finds the limit again and again: doubled from about 4.6, back by one, doubled again.
    assert!(share_lost(&adaptive) < 0.05, "{}", share_lost(&adaptive));
    let ratios = ratios(&adaptive);
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((4.0..=9.2).contains(&mean), "{mean}");
    let goodput = |outcome: &Outcome| outcome.summary.flows[0].goodput_bps;
    assert!(goodput(&adaptive) > 1.1 * goodput(&fixed), "{} with {}", goodput(&adaptive), goodput(&fixed));
    assert!(adaptive.summary.flows[0].timeouts < fixed.summary.flows[0].timeouts);
}

#[test]
fn where_no_ack_is_lost_the_ratio_stays_at_two() {
    let wide = "rate = \"10 Mbit/s\", queue = { kind = \"drop_tail\", limit = \"1000 packets\" }";
    for tcp in ["", "profile = \"linux-6.x\"\n"] {
        let outcome = download(&format!("{tcp}ack_congestion_control = true"), wide);
        assert_eq!(way_back(&outcome).drops, 0);
        assert!(outcome.summary.flows[0].retransmitted_segments > 0, "the data was repaired, which shifts ACKs");
        assert!(ratios(&outcome).iter().all(|ratio| (*ratio - 2.0).abs() < 0.5));
    }
}

#[test]
fn acks_that_are_overtaken_are_not_lost() {
    let wide = "rate = \"10 Mbit/s\", queue = { kind = \"drop_tail\", limit = \"1000 packets\" }, \
                reorder = { kind = \"probability\", p = 0.02, extra = \"1500 us\" }";
    for timestamps in [true, false] {
        // 1.5 ms are less than two ACKs' distance of 0.9 ms; with timestamps PAWS refuses what comes late
        let tcp = format!("timestamps = {timestamps}\nack_congestion_control = true");
        let outcome = download(&tcp, wide);
        assert!(way_back(&outcome).reordered > 100, "{}", way_back(&outcome).reordered);
        let ratios = ratios(&outcome);
        assert!(ratios.iter().all(|ratio| (*ratio - 2.0).abs() < 0.5), "{timestamps}: {ratios:?}");
    }
}

#[test]
fn a_ratio_has_bounds() {
    for (max_ratio, is_valid) in [("1", false), ("2", true), ("255", true), ("256", false)] {
        let tcp = format!("ack_congestion_control = {{ max_ratio = {max_ratio} }}");
        let result = Scenario::parse(&text(&tcp, NARROW), "test.toml", &[]);
        assert_eq!(result.is_ok(), is_valid, "{max_ratio}");
        if let Err(error) = result {
            assert_eq!(error.diagnostics[0].field, "tcp.ack_congestion_control.max_ratio");
        }
    }
}
