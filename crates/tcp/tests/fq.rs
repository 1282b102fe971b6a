//! Pacing by the host's queue beside pacing by TCP's own timer. Segments of 1000 octets, a round trip of 100 ms: with twenty segments of
//! window, slow start paces at 2 * 20 000 octets a round trip, a segment each 2.5 ms, from the tenth segment on.

use crate::common::{ACCEPTOR, OPENER, Pair, plain};
use ackclock_tcp::{PacedBy, PacingConfig, SmallQueues, TcpConfig};
use ackclock_units::{Bytes, SimDuration, SimTime};

fn opened(by: PacedBy) -> Pair {
    let config = TcpConfig {
        initial_window: Bytes(20_000),
        pacing: PacingConfig { enabled: true, by, ..PacingConfig::default() },
        small_queues: Some(SmallQueues::default()),
        ..plain()
    };
    let mut pair = Pair::new(&config, &config);
    pair.open(); // until 200 ms
    pair
}

/// Departure times of the opener's segments with data, or without, in microseconds from `from` (ms) on.
fn departures(pair: &Pair, has_data: bool, from: u64) -> Vec<u64> {
    let wanted = |seen: &&crate::common::Seen| {
        let is_late = seen.time >= SimTime(from * 1_000_000);
        seen.from == OPENER && is_late && (seen.segment.payload > 0) == has_data
    };
    pair.seen.iter().filter(wanted).map(|seen| seen.time.0 / 1_000 - from * 1_000).collect()
}

#[test]
fn segments_leave_as_by_tcp_but_two_bursts_and_one_are_out_of_its_hands() {
    let expected: Vec<u64> = [0; 10].into_iter().chain((1..=10).map(|after| after * 2_500)).collect();
    for (by, handed_over) in [(PacedBy::Tcp, 10_000), (PacedBy::Fq, 13_000)] {
        let mut pair = opened(by);
        pair.write(OPENER, 20_000);
        // Ten leave at once. Of a segment a burst, two may wait at the host, and a third is let through as they are not more than two.
        assert_eq!(pair.ends[OPENER].flight_size(), Bytes(handed_over), "{by:?}");
        pair.run_for(SimDuration::from_millis(90));
        assert_eq!(departures(&pair, true, 200), expected, "{by:?}");
    }
}

#[test]
fn an_ack_waits_behind_data_in_the_hosts_queue() {
    // The peer's segment arrives at 250 ms. Twelve were written at 249 ms: ten left, two leave 2.5 ms and 5 ms later, and what comes
    // next would 7.5 ms later. In the host's queue the ACK has its place behind them.
    for (by, expected) in [(PacedBy::Tcp, [1_000]), (PacedBy::Fq, [7_500])] {
        let mut pair = opened(by);
        pair.write(ACCEPTOR, 1_000);
        pair.run_for(SimDuration::from_millis(49));
        pair.write(OPENER, 12_000);
        pair.run_for(SimDuration::from_millis(40));
        assert_eq!(departures(&pair, false, 249), expected, "{by:?}");
        assert_eq!(departures(&pair, true, 249)[10..], [2_500, 5_000], "{by:?}");
    }
}
