//! Timing of a tail loss probe (RFC 8985 section 7).

use crate::common::{OPENER, Pair, plain, with_growing_round_trip};
use ackclock_tcp::{LossDetection, PacingConfig, RtoConfig, RtoEstimator, TcpConfig};
use ackclock_units::{Bytes, SimDuration};

/// RFC 8985 section 7.2 lets the retransmission timer cut a probe's timeout short. RFC 6298 section 5.3 restarts that
/// timer with every ACK of new data: while ACKs come, it is not due.
//= rfc8985-7.2-not-after-timeout
#[test]
fn no_probe_leaves_while_acks_come_though_the_round_trip_grows() {
    let ms = SimDuration::from_millis;
    let rto = RtoConfig { min: ms(200), ..RtoConfig::of(RtoEstimator::Rfc6298) };
    let config = TcpConfig { tlp: true, loss_detection: LossDetection::Rack, rto, ..plain() };
    let pair = with_growing_round_trip(&config);
    assert_eq!(pair.data_sent(OPENER).len(), 200, "each segment once");
}

/// RFC 8985 section 7.2: no probe while segments are SACKed, least of all of one that has arrived.
#[test]
fn a_segment_that_is_sacked_is_not_sent_as_a_probe() {
    let ms = SimDuration::from_millis;
    let config = TcpConfig { tlp: true, ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    let start_ms = pair.now.0 / 1_000_000;
    let mut sent = 0;
    pair.drop = Box::new(move |end, _, segment| {
        sent += u32::from(end == OPENER && segment.payload > 0);
        end == OPENER && segment.payload > 0 && sent <= 2
    });
    // Of four segments the first two are lost: the SACKs of the others come back at 100 ms, one too few for a fast
    // retransmit. The probe timer, set for 2 SRTT when they left, fires at 200 ms: nothing is new, and the last segment
    // has arrived. The RTO (1 s, the least) counts from when they left: no ACK of new data has restarted it since (RFC 6298 section 5.3).
    pair.write(OPENER, 4_000);
    pair.run_for(ms(1_300));
    let sent: Vec<(u64, u32)> =
        pair.data_sent(OPENER).iter().map(|(time, seq, _)| (time - start_ms, seq / 1_000 + 1)).collect();
    assert_eq!(sent[..5], [(0, 1), (0, 2), (0, 3), (0, 4), (1_000, 1)]);
}

/// RFC 8985 section 7.3 lets one probe be out at a time. Where the timer of a second goes off with the pacer's, at an end that is called
/// late, what the pacer held back leaves all the same.
//= rfc8985-7.3-one-probe
#[test]
fn a_probe_that_may_not_leave_keeps_nothing_else_back() {
    let pacing = PacingConfig { enabled: true, ..PacingConfig::default() };
    let config = TcpConfig { tlp: true, initial_window: Bytes(20_000), pacing, ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    pair.drop = Box::new(|_, _, _| true);
    pair.write(OPENER, 20_000);
    // Ten leave at once, the others 2.5 ms or more after each other; the probe's timer is set for 2 SRTT, 200 ms, with each that leaves. The
    // eleventh is the probe, the twelfth is paced, and at 600 ms both timers have gone off.
    for (late_ms, sent) in [(300, 11), (310, 12), (600, 13)] {
        let late = pair.now + SimDuration::from_millis(late_ms);
        pair.call(OPENER, |end, _, out| end.on_timer(late, out));
        assert_eq!(pair.data_sent(OPENER).len(), sent, "{late_ms} ms after the write");
        assert!(pair.ends[OPENER].deadline() > late, "{late_ms} ms after the write");
    }
}
