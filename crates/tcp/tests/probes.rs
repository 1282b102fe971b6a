//! When a tail loss probe leaves (RFC 8985 section 7).

mod common;

use ackclock_tcp::{LossDetection, RtoConfig, RtoEstimator, TcpConfig};
use ackclock_units::SimDuration;
use common::{OPENER, Pair, plain};

/// RFC 8985 section 7.2 lets the retransmission timer cut a probe's timeout short. RFC 6298 section 5.3 restarts that
/// timer with every ACK of new data: while ACKs come, it is not due.
//= rfc8985-7.2-not-after-timeout
#[test]
fn no_probe_leaves_while_acks_come_though_the_round_trip_grows() {
    let ms = SimDuration::from_millis;
    let rto = RtoConfig { min: ms(200), ..RtoConfig::of(RtoEstimator::Rfc6298) };
    let config = TcpConfig { tlp: true, loss_detection: LossDetection::Rack, rto, ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.one_way = ms(200);
    pair.open();
    // A segment every 100 ms. RTTs of 400 ms throughout leave a deviation of nothing: RTO is hardly more than they are.
    // Then they are 440 ms: an ACK still comes 140 ms after the one before it, and 100 ms after each that follows.
    for segment in 0..200 {
        if segment == 150 {
            pair.one_way = ms(220);
        }
        pair.write(OPENER, 1_000);
        pair.run_for(ms(100));
    }
    pair.run_for(ms(1_000));
    assert_eq!(pair.data_sent(OPENER).len(), 200, "each segment once");
}
