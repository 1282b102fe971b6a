use super::*;
use ackclock_units::Bytes;

const MS: u64 = 1_000_000;

fn limits() -> Limits {
    Limits {
        least: Bandwidth(150_000),
        most: Bandwidth(1_500_000),
        start: Bandwidth(300_000),
        frame_interval: SimDuration::from_millis(33),
        is_l4s: false,
    }
}

/// Sends packets of 1000 octets every 10 ms, 800 kbit/s, with this one-way delay. Reports come every 50 ms; some
/// packets are lost.
fn run(gcc: &mut Gcc, from: u32, to: u32, delay: impl Fn(u32) -> u64, is_lost: impl Fn(u32) -> bool) {
    for report in from / 5..to / 5 {
        let packets: Vec<PacketResult> = (report * 5..report * 5 + 5)
            .map(|number| {
                let sent = SimTime(u64::from(number) * 10 * MS);
                let arrived = (!is_lost(number)).then(|| sent + SimDuration(delay(number)));
                PacketResult { number, size: Bytes(1_000), sent, arrived, is_marked: false }
            })
            .collect();
        let last = packets[4];
        let now = last.sent + SimDuration(delay(last.number) + 50 * MS);
        gcc.on_feedback(&Feedback {
            now,
            packets: &packets,
            advanced: Bytes(5_000),
            in_flight: Bytes(10_000),
            rtt: Some(now.saturating_since(last.sent)),
            held: SimDuration::ZERO,
        });
    }
}

#[test]
fn the_rate_rises_by_8_percent_a_second_up_to_the_limit() {
    // From 300 to 1500 kbit/s takes ln 5 / ln 1.08 = 20.9 s; but 1.5 times the 800 kbit/s that arrive, and 10, are 1210.
    let mut gcc = Gcc::new(GccConfig::default(), limits());
    run(&mut gcc, 0, 1_000, |_| 50 * MS, |_| false);
    let after_ten = gcc.target_rate().0 as f64;
    assert!((after_ten / (3e5 * ackclock_units::math::pow(1.08, 10.0)) - 1.0).abs() < 0.02, "{after_ten}");
    run(&mut gcc, 1_000, 4_000, |_| 50 * MS, |_| false);
    assert_eq!(gcc.target_rate(), Bandwidth(1_210_000));
    assert_eq!(gcc.pacing_rate(), Bandwidth(3_025_000)); // 2.5 times
}

#[test]
fn a_growing_delay_leaves_85_percent_of_what_arrives() {
    let mut gcc = Gcc::new(GccConfig::default(), limits());
    run(&mut gcc, 0, 2_000, |_| 50 * MS, |_| false);
    // Each packet waits 2 ms longer: packets arrive 12 ms apart, 667 kbit/s.
    run(&mut gcc, 2_000, 2_040, |number| 50 * MS + u64::from(number - 1_999) * 2 * MS, |_| false);
    let target = gcc.target_rate().0 as f64;
    assert!((0.85 * 6.6e5..=0.85 * 8e5).contains(&target), "{target}");
}

#[test]
fn the_lower_of_the_two_rates_counts() {
    let mut gcc = Gcc::new(GccConfig::default(), limits());
    run(&mut gcc, 0, 2_000, |_| 50 * MS, |_| false);
    let before = gcc.target_rate().0 as f64;
    // A fifth is lost: of each twenty packets or more, at most once in 400 ms, a tenth of the rate; two seconds have five.
    run(&mut gcc, 2_000, 2_200, |_| 50 * MS, |number| number % 5 == 2);
    let part = gcc.target_rate().0 as f64 / before;
    assert!(part > ackclock_units::math::pow(0.9, 6.0) && part < ackclock_units::math::pow(0.9, 4.0), "{part}");
}

#[test]
fn the_rate_by_loss_rests_at_the_least_rate_and_rises_from_there() {
    // libwebrtc's SendSideBandwidthEstimation keeps its rate at the configured minimum: a minute in which half is lost is forgotten as
    // soon as it ends, and the rate is 1.08 times the least of the last second, and 1 kbit/s.
    let mut gcc = Gcc::new(GccConfig::default(), limits());
    run(&mut gcc, 0, 6_000, |_| 50 * MS, |number| number % 2 == 0);
    assert_eq!(gcc.target_rate(), Bandwidth(150_000));
    run(&mut gcc, 6_000, 6_090, |_| 50 * MS, |_| false);
    assert_eq!(gcc.target_rate(), Bandwidth(163_000));
}
