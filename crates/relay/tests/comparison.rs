//! The disciplines beside each other, on a model of both sides.

mod model;

use ackclock_relay::{CodelWindowConfig, CreditConfig, DisciplineConfig, DrainRateConfig, NotSentConfig};
use ackclock_units::{Bandwidth, SimDuration};

use model::{Path, run};

fn path(mbit: [u64; 2], rtt_ms: u64, loss: f64) -> Path {
    let rates = mbit.map(|mbit| Bandwidth(mbit * 1_000_000));
    let rtt = SimDuration::from_millis(rtt_ms);
    let queue = rates[0].max(rates[1]).bytes_in(rtt).0.max(20 * model::SEGMENT);
    Path { rates, rtt, queue, loss, length: SimDuration::from_secs(10) }
}

#[test]
fn table() {
    let all = [
        ("socket", DisciplineConfig::Socket),
        ("drain_rate", DisciplineConfig::DrainRate(DrainRateConfig::default())),
        ("codel_window", DisciplineConfig::CodelWindow(CodelWindowConfig::default())),
        ("not_sent", DisciplineConfig::NotSent(NotSentConfig::default())),
        ("credit", DisciplineConfig::Credit(CreditConfig::default())),
    ];
    for mbit in [[10, 10], [100, 100], [100, 10], [10, 100], [500, 500]] {
        for rtt in [5, 50, 200] {
            for loss in [0.0, 0.001] {
                let path = path(mbit, rtt, loss);
                let full = run(&all[0].1, path).delivered as f64;
                for (name, config) in &all {
                    let m = run(config, path);
                    println!(
                        "{mbit:?} {rtt:3} {loss:5} {name:13} {:.3} p99 {:8.2} ms",
                        m.delivered as f64 / full,
                        m.p99_ms()
                    );
                }
            }
        }
    }
}
