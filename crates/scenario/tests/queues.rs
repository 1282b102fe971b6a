//! Queue disciplines: their options in a scenario, and their authors' claims in whole runs.

use ackclock_scenario::Scenario;
use ackclock_sim::{ColumnData, LinkSummary, Outcome, Simulation};

/// A dumbbell whose bottleneck (10 Mbit/s, 10 ms) has this queue in both directions.
fn dumbbell(queue: &str, flows: &str) -> String {
    format!(
        "duration = \"30 s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", queue = {queue} }}\n[tcp]\nprofile = \"rfc\"\n{flows}\n"
    )
}

fn run(text: &str) -> Outcome {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish()
}

fn bottleneck(outcome: &Outcome) -> &LinkSummary {
    &outcome.summary.links[0]
}

/// The mean of a links' series after the first 10 s.
fn mean(outcome: &Outcome, column: &str) -> f64 {
    let numbers = |name: &str| {
        let column = outcome.links.columns.iter().find(|column| column.name == name).expect(name);
        let ColumnData::F64(values) = &column.data else { panic!("{name} holds numbers") };
        values.clone()
    };
    let times = numbers("time_s");
    let late: Vec<f64> = numbers(column).into_iter().zip(times).filter(|(_, t)| *t >= 10.0).map(|(v, _)| v).collect();
    late.iter().sum::<f64>() / late.len() as f64
}

/// The fields of the mistakes in this queue.
fn blamed(queue: &str) -> Vec<String> {
    let error = Scenario::parse(&dumbbell(queue, "[[flow]]"), "test.toml", &[]).expect_err(queue);
    let mistakes = error.diagnostics.iter();
    mistakes.map(|mistake| mistake.field.replace("topology.bottleneck.queue", "queue")).collect()
}

#[test]
fn mistakes_are_blamed_on_their_fields() {
    for (queue, fields) in [
        ("{ kind = \"sgpq\", threshold = \"0 bytes\" }", vec!["queue.threshold"]),
        ("{ kind = \"red\", max_p = 0.0, weight = 2.0 }", vec!["queue.max_p", "queue.weight"]),
        (
            "{ kind = \"red\", min_threshold = \"10 packets\", max_threshold = \"10 packets\" }",
            vec!["queue.max_threshold"],
        ),
        ("{ kind = \"red\", min_threshold = \"10 packets\", max_threshold = \"40 kB\" }", vec!["queue.max_threshold"]),
        ("{ kind = \"red\", max_threshold = \"15 packets\" }", vec!["queue.min_threshold"]),
        ("{ kind = \"tbf\" }", vec!["queue.rate", "queue.burst"]),
        ("{ kind = \"tbf\", rate = \"1 Mbit/s\", burst = \"1499 bytes\" }", vec!["queue.burst"]),
        ("{ kind = \"priority\", bands = [] }", vec!["queue.bands"]),
        ("{ kind = \"priority\", bands = [{ flows = \"flow9\" }, {}] }", vec!["queue.bands[0].flows"]),
        ("{ kind = \"priority\", bands = [{ flows = [\"flow1\", \"x\"] }, {}] }", vec!["queue.bands[0].flows[1]"]),
        (
            "{ kind = \"priority\", bands = [{ of = \"acks\" }, { limit = \"10 bytes\" }] }",
            vec!["queue.bands[1].limit"],
        ),
        ("{ kind = \"priority\", bands = [{ of = \"acks\" }, { of = \"data\" }] }", vec!["queue.bands[1]"]),
        ("{ kind = \"pie\", ecn = false, mark_threshold = 0.2 }", vec!["queue.mark_threshold"]),
        ("{ kind = \"fq_pie\", ecn = false, mark_threshold = 0.2 }", vec!["queue.mark_threshold"]),
        ("{ kind = \"drr\", quantum = \"10 bytes\" }", vec!["queue.quantum"]),
        ("{ kind = \"sfq\", buckets = 0, quantum = \"10 bytes\" }", vec!["queue.buckets", "queue.quantum"]),
        ("{ kind = \"sfq\", perturb = \"1 us\" }", vec!["queue.perturb"]),
        ("{ kind = \"fq\", limit = \"0 packets\" }", vec!["queue.limit"]),
        (
            "{ kind = \"shared_buffer\", sharing = { kind = \"dynamic_threshold\", alpha = 0.0 } }",
            vec!["queue.sharing.alpha"],
        ),
        ("{ kind = \"shared_buffer\", sharing = \"dynamic_threshold\", limit = \"unlimited\" }", vec!["queue.limit"]),
    ] {
        // the reverse path inherits the queue, and each mistake with it
        let mut found = blamed(queue);
        found.dedup();
        let mut unique: Vec<String> = Vec::new();
        for field in found {
            if !unique.contains(&field) {
                unique.push(field);
            }
        }
        assert_eq!(unique, fields, "{queue}");
    }
}

#[test]
fn small_packets_do_not_queue_behind_data() {
    // One flow keeps two segments outstanding, another fills the queue of the reverse path, which the first one's ACKs cross.
    let flows = "[[flow]]\ncontroller = { kind = \"fixed\", window = \"2 segments\" }\n\
                 tcp = { delayed_ack = false }\n[[flow]]\nreverse = true";
    // Round trip: 20 ms of delay; two segments of 1500 B at 10 Mbit/s 2.4 ms (and at 1 Gbit/s 2 * 24 us); on the reverse path
    // behind at most one data packet 1.2 ms, and the other ACKs of 52 B, two of the flow and those of data: 42 us each.
    let longest = 20.0 + 2.4 + 0.1 + 1.2 + 0.2;
    let rtt = |queue: &str| run(&dumbbell(queue, flows)).summary.flows[0].rtt_ms.expect("samples").p99;
    assert!(rtt("\"sgpq\"") <= longest * 1.01, "{}", rtt("\"sgpq\""));
    let waits = rtt("\"drop_tail\"");
    assert!(waits > longest * 1.3, "{waits}"); // a bdp of queue is 20 ms
    // the same, by bands
    let bands = "{ kind = \"priority\", bands = [{ of = \"acks\" }, {}] }";
    assert!(rtt(bands) <= longest * 1.01, "{}", rtt(bands));
}

/// Evidence for the queue `red`: adaptive: the average within 0.4 and 0.6 of the way between the thresholds (Floyd,
/// Gummadi and Shenker 2001).
#[test]
fn adaptive_red_holds_the_average_near_its_target() {
    // Floyd, Gummadi and Shenker 2001: the average stays about halfway between the thresholds, here 10 and 30 packets: in
    // 18 ... 22.
    let queue = "{ kind = \"red\", adaptive = true, min_threshold = \"10 packets\", max_threshold = \"30 packets\", \
                 limit = \"100 packets\" }";
    let outcome = run(&dumbbell(queue, "[[flow]]\ncount = 8\ncontroller = \"newreno\"").replace("30 s", "120 s"));
    let average = mean(&outcome, "average_queue_packets");
    assert!((18.0..=22.0).contains(&average), "{average}");
    assert!(bottleneck(&outcome).utilization > 0.97, "{}", bottleneck(&outcome).utilization);
}

#[test]
fn red_marks_instead_of_dropping_where_both_ends_agree() {
    let queue = "{ kind = \"red\", ecn = true, min_threshold = \"10 packets\", limit = \"200 packets\" }";
    let with = |ecn: &str| {
        let flows = format!("ecn = \"{ecn}\"\n[[flow]]\ncount = 2\ncontroller = \"newreno\"");
        let outcome = run(&dumbbell(queue, &flows));
        (bottleneck(&outcome).marks, bottleneck(&outcome).drops)
    };
    let (marks, drops) = with("request");
    assert!(marks > 20 && drops == 0, "{marks} marks, {drops} drops");
    let (marks, drops) = with("off");
    assert!(marks == 0 && drops > 20, "{marks} marks, {drops} drops");
}

#[test]
fn a_device_lengthens_a_queue_in_order_of_arrival_by_what_it_takes() {
    // Ten packets in order of arrival, and behind them twenty, are thirty: the same packets are dropped, and arrive at the same times.
    let flows = "[[flow]]\ncount = 3\n[[flow]]\nreverse = true";
    let [one, two] = [30, 10].map(|limit| format!("{{ kind = \"drop_tail\", limit = \"{limit} packets\" }}"));
    let of = |queue: &str| {
        let outcome = run(&dumbbell(queue, flows));
        let goodput: Vec<f64> = outcome.summary.flows.iter().map(|flow| flow.goodput_bps).collect();
        (goodput, bottleneck(&outcome).drops, bottleneck(&outcome).utilization)
    };
    assert_eq!(of(&one), of(&format!("{two}, device_queue = 20")));
    assert_ne!(of(&one), of(&format!("{two}, device_queue = 19")));
    assert_eq!(blamed("\"fq_codel\", device_queue = 0")[0], "topology.bottleneck.device_queue");
}

/// Evidence for the queue `tbf`: goodput is its rate; within 0.5 %.
#[test]
fn a_token_bucket_decides_the_rate() {
    let queue = "{ kind = \"tbf\", rate = \"4 Mbit/s\", burst = \"15 kB\", limit = \"60 packets\" }";
    let outcome = run(&dumbbell(queue, "[[flow]]"));
    // Full packets of 1500 B carry 1448 B: 4 Mbit/s * 1448/1500 = 3.861 Mbit/s; the link is busy 4/10 of the time
    let goodput = outcome.summary.flows[0].goodput_bps;
    assert!((goodput / 3.861e6 - 1.0).abs() < 0.005, "{goodput}");
    let utilization = bottleneck(&outcome).utilization;
    assert!((utilization - 0.4).abs() < 0.002, "{utilization}");
}

#[test]
fn schedulers_give_flows_equal_shares_whatever_their_round_trips() {
    let flows = "[[flow]]\nrtt = \"20 ms\"\n[[flow]]\nrtt = \"100 ms\"\n[[flow]]\nrtt = \"200 ms\"";
    let jain = |queue: &str| run(&dumbbell(queue, flows).replace("30 s", "60 s")).summary.jain_index.expect("goodput");
    assert!(jain("{ kind = \"drop_tail\", limit = \"200 packets\" }") < 0.99);
    for kind in ["drr", "sfq", "fq", "shared_buffer"] {
        let jain = jain(&format!("{{ kind = \"{kind}\", limit = \"200 packets\" }}"));
        assert!(jain > 0.999, "{kind}: {jain}");
    }
}

#[test]
fn a_flow_that_sends_little_hardly_waits_under_fair_queueing() {
    // Two segments a round trip of 20 ms are 1.2 Mbit/s of a fair share of 5: a packet waits for at most the one in service
    // and one of the other flow in its turn.
    let flows = "[[flow]]\ncontroller = { kind = \"fixed\", window = \"2 segments\" }\n\
                 tcp = { delayed_ack = false }\n[[flow]]";
    for kind in ["drr", "sfq", "fq", "shared_buffer"] {
        let outcome = run(&dumbbell(&format!("{{ kind = \"{kind}\", limit = \"100 packets\" }}"), flows));
        let rtt = outcome.summary.flows[0].rtt_ms.expect("samples");
        // 20 ms; two segments of one's own, 1.2 ms each, and two of the other's
        assert!(rtt.p99 < (20.0 + 4.0 * 1.2 + 0.2) * 1.01, "{kind}: {rtt:?}");
    }
}

/// Evidence for the queue `shared_buffer`: one busy queue fills alpha / (1 + alpha) of it (Choudhury and Hahne 1998);
/// within a packet.
#[test]
fn a_queue_under_dynamic_thresholds_grows_to_its_share() {
    // Choudhury and Hahne 1998: one busy queue fills alpha / (1 + alpha) of the buffer: 2/3 of 120 packets
    let sharing = "sharing = { kind = \"dynamic_threshold\", alpha = 2.0 }";
    let queue = format!("{{ kind = \"shared_buffer\", {sharing}, limit = \"120 packets\" }}");
    let outcome = run(&dumbbell(&queue, "[[flow]]"));
    let most = bottleneck(&outcome).queue_packets.max;
    assert!((79.0..=81.0).contains(&most), "{most}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let queue = "{ kind = \"red\", limit = \"100 packets\" }";
    let of_seed = |seed: u64| run(&format!("seed = {seed}\n{}", dumbbell(queue, "[[flow]]\ncount = 4"))).summary;
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1).flows, of_seed(2).flows);
}

#[test]
fn what_a_clone_does_the_original_does() {
    let scenario = Scenario::parse(&dumbbell("\"fq\"", "[[flow]]\ncount = 3"), "test.toml", &[]).expect("right");
    let mut simulation = Simulation::new(scenario.config());
    simulation.run_until(ackclock_units::SimTime(5_000_000_000));
    assert_eq!(simulation.clone().finish().summary, simulation.finish().summary);
}
