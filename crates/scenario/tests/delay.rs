//! Controllers that go by delay on a network: what their papers say of the queue they keep.

use ackclock_scenario::Scenario;
use ackclock_sim::{Simulation, Summary};

fn run(text: &str) -> Summary {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish().summary
}

/// 20 Mbit/s, 40 ms of propagation, no end to the queue, an ACK for every segment; measured from 30 s to 120 s.
fn dumbbell(flows: &str) -> Summary {
    run(&format!(
        "duration = \"120 s\"\nmeasure = {{ from = \"30 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
         bottleneck = {{ rate = \"20 Mbit/s\", delay = \"19.98 ms\", queue = {{ kind = \"drop_tail\", limit = \"unlimited\" }} }}\n\
         [tcp]\ndelayed_ack = false\n{flows}\n"
    ))
}

fn flows(controller: &str, count: u32) -> String {
    format!("[[flow]]\ncount = {count}\ncontroller = {controller}\nstart = {{ spacing = \"2 s\" }}")
}

fn queue_packets(summary: &Summary) -> f64 {
    summary.links[0].queue_packets.mean
}

fn queueing_delay_ms(summary: &Summary) -> f64 {
    summary.links[0].queueing_delay_ms.mean
}

#[test]
fn probe() {
    for c in [
        "{ kind = \"fast\", alpha = 20 }",
        "\"ledbat\"",
        "{ kind = \"ledbat\", delay = \"round_trip\", target = \"50 ms\" }",
        "\"ledbat_plus_plus\"",
        "{ kind = \"ledbat_plus_plus\", slowdown = false }",
        "\"copa\"",
        "{ kind = \"copa\", delta = 0.1 }",
        "{ kind = \"swift\", base_target = \"60 ms\" }",
    ] {
        for n in [1, 2, 4] {
            let s = dumbbell(&flows(c, n));
            println!(
                "{c} x{n}: {} queue {:.2} pkt max {} {:.2} ms, util {:.4} jain {:.3} retx {}",
                s.links[0].name,
                queue_packets(&s),
                s.links[0].queue_packets.max,
                queueing_delay_ms(&s),
                s.links[0].utilization,
                s.jain_index.unwrap_or(0.0),
                s.flows.iter().map(|f| f.retransmitted_segments).sum::<u64>()
            );
            for f in &s.flows {
                print!("   {:.2}", f.goodput_bps / 1e6);
            }
            println!();
        }
    }
}
