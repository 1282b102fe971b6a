//! The disciplines beside each other, on a model of both sides.

use ackclock_relay::{CodelWindowConfig, CreditConfig, DisciplineConfig, DrainRateConfig, NotSentConfig};
use ackclock_units::{Bandwidth, SimDuration};

use crate::model::{self, Measured, Path, run};

/// A path whose rate is the first one for half of the run, then the second; its queue holds what is under way at the higher
/// of them. A run has 6 s, or 60 round trips: in fewer, what the start of a flow lets in too much is more than a hundredth.
fn path(mbit: [u64; 2], rtt_ms: u64) -> Path {
    let rates = mbit.map(|mbit| Bandwidth(mbit * 1_000_000));
    let rtt = SimDuration::from_millis(rtt_ms);
    let queue = rates[0].max(rates[1]).bytes_in(rtt).0.max(20 * model::SEGMENT);
    Path { rates, rtt, queue, loss: 0.0, length: SimDuration::from_secs(6).max(rtt * 60) }
}

fn credit() -> DisciplineConfig {
    DisciplineConfig::Credit(CreditConfig::default())
}

/// Delivered octets, as a part of those that an unbounded buffer delivers.
fn share(measured: &Measured, path: Path) -> f64 {
    measured.delivered as f64 / run(&DisciplineConfig::Socket, path).delivered as f64
}

#[test]
fn without_a_discipline_octets_wait_for_seconds() {
    // 10 Gbit/s come, 100 Mbit/s leave: what arrives soon leaves at the end
    assert!(run(&DisciplineConfig::Socket, path([100, 100], 50)).p99_ms() > 1000.0);
}

#[test]
fn credit_holds_latency_at_full_throughput_also_where_the_rate_changes_tenfold() {
    for mbit in [[100, 100], [100, 10], [10, 100]] {
        for rtt_ms in [5, 50, 200] {
            let path = path(mbit, rtt_ms);
            let measured = run(&credit(), path);
            let share = share(&measured, path);
            assert!(share >= 0.98, "{path:?}: {share} of the throughput");
            assert!(measured.p99_ms() < 10.0, "{path:?}: {} ms", measured.p99_ms());
        }
    }
}

#[test]
fn a_window_of_fixed_size_bounds_the_rate() {
    // 64 kB in 2 ms are 256 Mbit/s, of 500. The model looks every 20 us, up to four times in a round, and the far side
    // has to start: within a tenth.
    let path = path([500, 500], 5);
    let measured = run(&DisciplineConfig::NotSent(NotSentConfig::default()), path);
    let mbit = measured.delivered as f64 * 8.0 / path.length.as_secs_f64() / 1e6;
    assert!((230.0..=256.0).contains(&mbit), "{mbit} Mbit/s");
}

#[test]
fn windows_by_rate_and_by_sojourn_hold_latency_where_nothing_changes() {
    let path = path([100, 100], 50);
    let drain_rate = DisciplineConfig::DrainRate(DrainRateConfig::default());
    let codel = DisciplineConfig::CodelWindow(CodelWindowConfig::default());
    for config in [drain_rate, codel] {
        let measured = run(&config, path);
        let share = share(&measured, path);
        assert!(share >= 0.98, "{config:?}: {share} of the throughput");
        assert!(measured.p99_ms() < 10.0, "{config:?}: {} ms", measured.p99_ms());
    }
}
