//! Linux's controllers over a packet-level path, compared with recordings of Linux 6.18 on such a path: 100 Mbit/s, 60
//! ms, 250 packets of queue, segments of 1500 bytes on the wire. BDP and queue are 500 + 250 segments.

use crate::common::Dumbbell;
use ackclock_cc::{ControllerConfig, CubicConfig, Hystart, Increase, RenoConfig};
use ackclock_net::QueueLimit;
use ackclock_sim::{ColumnData, FlowSeries, Outcome, Table};
use ackclock_units::{Bandwidth, SimDuration};

const MSS: f64 = 1448.0;

fn run(controller: ControllerConfig, duration_s: u64) -> Outcome {
    let (one_way, duration) = (SimDuration::from_millis(30), SimDuration::from_secs(duration_s));
    let mut path = Dumbbell::new(Bandwidth(100_000_000), one_way, QueueLimit::Packets(250), duration);
    path.access = Bandwidth(100_000_000_000);
    path.controllers = vec![controller];
    path.trace = vec![FlowSeries::Ssthresh];
    path.per_event = true;
    path.run()
}

fn cubic() -> ControllerConfig {
    ControllerConfig::Cubic(CubicConfig { hystart: Hystart::Linux, ..CubicConfig::linux() })
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    let column = table.columns.iter().find(|column| column.name == name).expect(name);
    let ColumnData::F64(values) = &column.data else { panic!("{name} holds numbers") };
    values.clone()
}

#[test]
fn slow_start_ends_where_linux_ends_it() {
    // Recorded in four runs: 574 to 577 segments. A round begins with 320, its train of 0.12 ms a segment lasts for
    // half of 60 ms and an allowance of 1 ms after 255: 575.
    let outcome = run(cubic(), 1);
    let ssthresh = numbers(&outcome.flows, "ssthresh_bytes").into_iter().find(|bytes| bytes.is_finite());
    let segments = ssthresh.expect("HyStart ends slow start") / MSS;
    assert!((574.0..=577.0).contains(&segments), "{segments}");
}

#[test]
fn cubic_loses_when_linux_does() {
    // Recorded in four runs, in seconds since the connection was up, one round trip after our start, give or take the
    // 10 ms between samples: the times of the losses after slow start's, and ssthresh after each.
    let recorded = [(15.54, 15.59, 530.0), (21.50, 21.56, 526.0), (34.83, 34.89, 529.0), (40.98, 41.03, 526.0)];
    let outcome = run(cubic(), 45);
    let times = numbers(&outcome.episodes, "time_s");
    let windows = numbers(&outcome.episodes, "cwnd_before_bytes");
    assert_eq!(times.len(), 1 + recorded.len(), "{times:?}");
    for ((time, cwnd), (from, to, ssthresh)) in times.iter().zip(windows).skip(1).zip(recorded) {
        let since_up = time - 0.06;
        assert!((from - 0.02..=to + 0.02).contains(&since_up), "{since_up} s, recorded {from} to {to} s");
        let kept = (cwnd / MSS * 717.0 / 1024.0).floor();
        assert!((kept - ssthresh).abs() <= 1.0, "{kept} segments, recorded {ssthresh}");
    }
}

#[test]
fn reno_grows_a_segment_a_round_trip_as_linux_does() {
    // Recorded in the two runs that lost once in slow start: ssthresh 570 and 571, the next loss 14.70 and 14.61 s later
    // at 752 to 753 segments. By hand: beyond 500 segments a round trip lasts 0.12 ms a segment of the window; from 570 to
    // 753 that makes 183 * 661.5 * 0.12 ms = 14.53 s, and recovery takes some two round trips of 90 ms.
    let controller = RenoConfig { increase: Increase::Segments, ..RenoConfig::default() };
    let outcome = run(ControllerConfig::Reno(controller), 20);
    let times = numbers(&outcome.episodes, "time_s");
    let windows = numbers(&outcome.episodes, "cwnd_before_bytes");
    assert_eq!(times.len(), 2, "{times:?}");
    let (interval, segments) = (times[1] - times[0], windows[1] / MSS);
    assert!((14.59..=14.72).contains(&interval), "{interval} s");
    assert!((752.0..=753.0).contains(&segments), "{segments}");
}
