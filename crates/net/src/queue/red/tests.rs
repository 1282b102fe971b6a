use super::*;
use crate::ids::EndpointId;
use crate::packet::Packet;
use crate::queue::testing::{PLACE, RATE, at_rate};
use ackclock_wire::{Ecn, Segment};

fn packet(octets: u64, ecn: Ecn) -> Queued {
    let packet = Packet::tcp(Segment { ecn, ..Segment::default() }, EndpointId::default());
    Queued { packet, octets, since: SimTime::ZERO }
}

/// A queue whose average is held at `average`.
fn held_at(average: f64, config: RedConfig) -> Red {
    let mut red = at_rate(Red::new(&RedConfig { weight: Some(0.0), ..config }, &PLACE), RATE);
    red.average = average;
    red
}

fn arrive(red: &mut Red, octets: u64) -> bool {
    let before = red.counters().drops;
    red.enqueue(SimTime::ZERO, packet(octets, Ecn::NotEct));
    red.counters().drops == before
}

#[test]
fn the_probability_grows_linearly_between_the_thresholds_and_gently_beyond() {
    let p = |average, gentle| held_at(0.0, RedConfig { gentle, ..RedConfig::default() }).base_probability(average, 0.1);
    // thresholds 5 and 15, max_p 0.1
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    close(p(4.9, true), 0.0);
    close(p(10.0, true), 0.05);
    close(p(15.0, false), 1.0);
    close(p(15.0, true), 0.1);
    close(p(22.5, true), 0.55); // halfway from 0.1 to 1
    close(p(30.0, true), 1.0);
}

#[test]
fn the_gaps_between_drops_are_uniform_up_to_the_inverse_of_p() {
    // p_b = 0.05: gaps 1 ... 20, each as likely, mean (1/p_b + 1) / 2 = 10.5 (Floyd and Jacobson 1993, section 7)
    let mut red = held_at(10.0, RedConfig::default());
    let mut gaps = vec![0_u32; 21];
    let (mut gap, drops) = (0, 20_000);
    let mut total = 0;
    while total < drops {
        gap += 1;
        if !arrive(&mut red, 1500) {
            gaps[gap] += 1;
            total += 1;
            gap = 0;
        }
        red.packets = Fifo::default();
    }
    let mean = gaps.iter().zip(0_u32..).map(|(n, gap)| f64::from(n * gap)).sum::<f64>() / f64::from(drops);
    // standard deviation of one gap sqrt((20^2 - 1) / 12) = 5.77, of the mean 0.041
    assert!((mean - 10.5).abs() < 0.16, "{mean}");
    // each of the twenty: 1000, standard deviation 31
    assert!(gaps[1..].iter().all(|n| (875..1125).contains(n)), "{gaps:?}");
}

#[test]
fn in_octets_a_packet_of_half_the_mean_size_is_dropped_half_as_often() {
    let config = RedConfig {
        min_threshold: Some(QueueLimit::Bytes(Bytes(5_000))),
        max_threshold: Some(QueueLimit::Bytes(Bytes(15_000))),
        ..RedConfig::default()
    };
    let share = |octets| {
        let mut red = held_at(10_000.0, config);
        (0..100_000).filter(|_| !arrive(&mut red, octets)).count() as f64 / 1e5
    };
    // one gap: uniform up to 1/p = 20 and 40, means 10.5 and 20.5
    let (whole, half) = (share(1500), share(750));
    assert!((whole * 10.5 - 1.0).abs() < 0.02, "{whole}");
    assert!((half * 20.5 - 1.0).abs() < 0.03, "{half}");
}

#[test]
fn the_average_follows_a_step_as_its_weight_says() {
    // Floyd and Jacobson 1993, section 6.1: after n packets at a queue of q, avg = q (1 - (1 - w)^n). At w = 0.002 and
    // n = 1 / -ln(1 - w) = 499.5 it has 63 % of the step: 1 - e^-1.
    let mut red = at_rate(
        Red::new(&RedConfig { min_threshold: Some(QueueLimit::Packets(1_000)), ..RedConfig::default() }, &PLACE),
        RATE,
    );
    red.idle_since = None;
    for _ in 0..10 {
        red.packets.push(packet(1500, Ecn::NotEct));
    }
    for _ in 0..500 {
        red.update_average(SimTime::ZERO);
    }
    assert!((red.average - 10.0 * (1.0 - 0.998_f64.powi(500))).abs() < 1e-9);
    assert!((red.average / 10.0 - 0.632).abs() < 0.001, "{}", red.average);
}

#[test]
fn idle_time_counts_as_packets_that_found_nothing() {
    let mut red = at_rate(Red::new(&RedConfig::default(), &PLACE), RATE);
    assert!(red.dequeue(SimTime::ZERO).is_none());
    red.average = 4.0;
    red.enqueue(SimTime(500_000_000), packet(1500, Ecn::NotEct)); // 500 packets of 1 ms, and itself
    assert!((red.average - 4.0 * 0.998_f64.powi(501)).abs() < 1e-9, "{}", red.average);
    red.enqueue(SimTime(900_000_000), packet(1500, Ecn::NotEct)); // not idle: one waits
    assert!((red.average - (4.0 * 0.998_f64.powi(502) + 0.002)).abs() < 1e-9, "{}", red.average);
}

#[test]
fn what_is_told_of_an_idle_queue_is_what_the_next_packet_finds() {
    // Floyd and Jacobson 1993, figure 2: m packets could have been sent, and the average is (1 - w)^m of what it was. Of 14, with
    // 1 ms a packet, 2 s later 14 * 0.998^2000 = 0.26: below the lower threshold.
    let mut red = at_rate(Red::new(&RedConfig::default(), &PLACE), RATE);
    assert!(red.dequeue(SimTime::ZERO).is_none());
    red.average = 14.0;
    let told = |red: &Red, now, name| {
        let mut found = f64::NAN;
        red.inspect(SimTime(now), &mut |known, value| found = if known == name { value } else { found });
        found
    };
    assert!((told(&red, 0, "drop_probability") - 0.09).abs() < 1e-12);
    assert!((told(&red, 2_000_000_000, "average_packets") - 14.0 * 0.998_f64.powi(2_000)).abs() < 1e-9);
    assert!(told(&red, 2_000_000_000, "drop_probability").abs() < 1e-12);
}

#[test]
fn adaptive_red_does_not_take_silence_for_a_long_queue() {
    // An average of 14, above the target of 9 to 11, when a silence of a minute begins. At 1000 packets/s, w = 0.0009995, it is
    // 14 e^-0.5 = 8.5 at the first update: every one lowers max_p by a tenth, down to 0.01 (Floyd, Gummadi and Shenker 2001, figure 4).
    let config = RedConfig { adaptive: true, min_threshold: Some(QueueLimit::Packets(5)), ..RedConfig::default() };
    let mut red = at_rate(Red::new(&config, &PLACE), RATE);
    assert!(red.dequeue(SimTime::ZERO).is_none());
    red.average = 14.0;
    red.enqueue(SimTime(60_000_000_000), packet(1500, Ecn::NotEct));
    assert!((0.009..0.01).contains(&red.max_p), "{}", red.max_p);
}

#[test]
fn packets_that_allow_it_are_marked_but_dropped_beyond_the_upper_threshold() {
    let marked_and_dropped = |average, ecn| {
        let mut red = held_at(average, RedConfig { ecn: true, gentle: false, ..RedConfig::default() });
        for _ in 0..10_000 {
            red.enqueue(SimTime::ZERO, packet(1500, ecn));
        }
        (red.counters().marks, red.counters().drops)
    };
    let (marks, drops) = marked_and_dropped(10.0, Ecn::Ect0);
    assert!(marks > 800 && drops == 0, "{marks} {drops}"); // 10 000 / 10.5 = 952
    let (marks, drops) = marked_and_dropped(10.0, Ecn::NotEct);
    assert!(marks == 0 && drops > 800, "{marks} {drops}");
    assert_eq!(marked_and_dropped(15.0, Ecn::Ect0), (0, 10_000));
}

#[test]
fn adaptive_red_takes_its_weight_from_the_rate() {
    // Floyd, Gummadi and Shenker 2001, section 4.3: w = 1 - exp(-1/C); 12 Mbit/s are 1000 packets/s, w = 0.0009995
    let red = at_rate(Red::new(&RedConfig { adaptive: true, ..RedConfig::default() }, &PLACE), RATE);
    assert!((red.weight - 0.000_999_5).abs() < 1e-7, "{}", red.weight);
}
