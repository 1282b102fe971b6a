use super::*;
use crate::slow_start::Hystart;
use crate::testing::{self, AckClock, ack, loss, timeout};

const MSS: u64 = 1_448;

/// A controller in congestion avoidance with a window of `segments`, before the first loss.
fn cubic(segments: u64) -> LinuxCubic {
    let window = segments * MSS;
    LinuxCubic::new(&CubicConfig::linux(), Start::of(MSS, window, Some(window)))
}

/// A controller after losses at these windows, segments.
fn after_losses(windows: &[u64]) -> LinuxCubic {
    let mut cubic = cubic(windows[0]);
    for window in windows {
        cubic.on_congestion(&loss(window * MSS));
    }
    cubic
}

fn segments(cubic: &LinuxCubic) -> u64 {
    cubic.cwnd().0 / MSS
}

/// The seconds until the window has grown to `goal` segments, at 100 Mbit/s and 60 ms.
fn seconds_to(cubic: &mut LinuxCubic, goal: u64) -> f64 {
    let mut clock = AckClock::new(SimDuration::from_micros(120), SimDuration::from_millis(60), MSS);
    loop {
        let ack = clock.next_ack(segments(cubic));
        cubic.on_ack(&ack);
        if segments(cubic) >= goal {
            return ack.now.as_secs_f64();
        }
    }
}

#[test]
fn the_integers_are_those_of_the_kernel() {
    let rules = Rules::new(&CubicConfig::linux());
    // 8 * (1024 + 717) = 13 928; / 3 = 4642; / (1024 - 717) = 15.1
    assert_eq!((rules.c, rules.beta, rules.reno_eighths), (410, 717, 15));
}

#[test]
fn loss_keeps_717_of_1024_in_whole_segments() {
    // 757 * 717 / 1024 = 530.05, as recorded from Linux 6.18
    assert_eq!(segments(&after_losses(&[757])), 530);
    assert_eq!(segments(&after_losses(&[2])), 2); // 1.4, but two at least
}

#[test]
fn growth_slows_down_towards_the_window_of_the_last_loss() {
    // W_max = 757, cwnd = 530: K = cbrt(227 / 0.4004) = 8.28 s; 752 is 5 below, cbrt(5 / 0.4004) = 2.32 s before
    // that, and the target looks 0.06 s ahead: 5.90 s; in integers it is there up to a segment sooner, at 5.75 s.
    // Linux 6.18, losing at 752 on such a path: 5.91 to 6.01 s from loss to loss, two round trips of recovery
    // (0.15 s) included.
    let took = seconds_to(&mut after_losses(&[757]), 752);
    assert!((5.75..5.92).contains(&took), "{took}");
}

#[test]
fn growth_speeds_up_beyond_it() {
    // W_max = 604, cwnd = 422: K = cbrt(182 / 0.4004) = 7.69 s, and cbrt(153 / 0.4004) = 7.26 s more to 757:
    // 14.95 s. Linux 6.18: 15.0 to 15.1 s from loss to loss, recovery included.
    let took = seconds_to(&mut after_losses(&[604]), 757);
    assert!((14.85..15.05).contains(&took), "{took}");
}

#[test]
fn a_second_fall_lowers_the_plateau() {
    // 752 < 757: W_max = 752 * 1741 / 2048 = 639, cwnd = 752 * 717 / 1024 = 526. K = cbrt(113 / 0.4004) = 6.56 s,
    // and cbrt(116 / 0.4004) = 6.62 s more to 755: 13.18 s. Linux 6.18: 13.3 s from loss to loss, recovery included.
    let mut cubic = after_losses(&[757, 752]);
    assert_eq!((cubic.state.w_max, segments(&cubic)), (Some(639), 526));
    let took = seconds_to(&mut cubic, 755);
    assert!((13.08..13.28).contains(&took), "{took}");
}

#[test]
fn before_the_first_loss_twenty_acked_segments_are_enough() {
    let mut cubic = cubic(100);
    for _ in 0..100 {
        cubic.on_ack(&ack(MSS)); // no time passes, so that the curve alone would stand still
    }
    assert_eq!(segments(&cubic), 105);
}

#[test]
fn two_acked_segments_are_the_least_for_one_of_growth() {
    let mut cubic = cubic(100);
    cubic.on_ack(&ack(MSS));
    let now = SimTime::ZERO + SimDuration::from_secs(10); // the curve is 400 segments above
    for _ in 0..100 {
        cubic.on_ack(&AckEvent { now, ..ack(MSS) });
    }
    assert_eq!(segments(&cubic), 150); // 101 / 2
}

#[test]
fn an_evaluation_stands_for_seven_ticks() {
    let mut cubic = cubic(100);
    let at = |milliseconds| AckEvent { now: SimTime::ZERO + SimDuration::from_millis(milliseconds), ..ack(MSS) };
    let mut evaluated = |milliseconds| {
        cubic.on_ack(&at(milliseconds));
        cubic.state.evaluated.map(|(_, tick)| tick)
    };
    // 250 / 32 = 7 ticks of 4 ms
    assert_eq!([evaluated(0), evaluated(31), evaluated(32)], [Some(0), Some(0), Some(8)]);
}

#[test]
fn it_is_no_slower_than_reno_with_its_decrease() {
    // A hundred round trips of 20 ms. Reno with this decrease adds a segment for 15/8 windows: 53, to 67. The curve
    // would have reached its plateau of 20 segments.
    let mut cubic = after_losses(&[20]);
    let mut clock = AckClock::new(SimDuration::from_micros(1), SimDuration::from_millis(20), MSS);
    while clock.now < SimTime(2_000_000_000) {
        cubic.on_ack(&clock.next_ack(segments(&cubic)));
    }
    assert!((62..=70).contains(&segments(&cubic)), "{}", segments(&cubic));
}

#[test]
fn a_timeout_forgets_the_plateau() {
    let mut cubic = after_losses(&[100]);
    cubic.on_congestion(&timeout(70 * MSS, false));
    assert_eq!((segments(&cubic), cubic.ssthresh()), (1, Some(Bytes(49 * MSS)))); // 70 * 717 / 1024 = 49.01
    assert_eq!(cubic.state.w_max, None);
}

#[test]
fn a_timeout_of_the_episode_under_way_forgets_it_too() {
    let mut cubic = after_losses(&[100]);
    let window = Bytes(MSS);
    cubic.on_restart(&RestartEvent { now: SimTime::ZERO, cause: RestartCause::Timeout, window, ssthresh: None });
    assert_eq!((segments(&cubic), cubic.ssthresh()), (1, Some(Bytes(70 * MSS)))); // 100 * 717 / 1024 = 70.02
    assert_eq!(cubic.state.w_max, None);
}

#[test]
fn a_spurious_episode_gives_the_window_back() {
    let mut cubic = after_losses(&[100]);
    cubic.on_spurious(SimTime::ZERO);
    assert_eq!((segments(&cubic), cubic.ssthresh()), (100, Some(Bytes(100 * MSS))));
}

#[test]
fn silence_does_not_count() {
    // W_max = 100, cwnd = 70: K = cbrt(30 / 0.4004) = 4.22 s. A tenth of a second after the silence, with the least
    // RTT of another tenth ahead, the curve is at 100 - 0.4004 (4.22 - 0.2)^3 = 100 - 25.9, in integers 75:
    // 70 / 5 = 14 segments ACKed for one of growth, 101 / 14 = 7. A minute would mean the fastest growth, 50.
    let mut cubic = after_losses(&[100]);
    cubic.on_ack(&ack(MSS));
    let idle_for = SimDuration::from_secs(60);
    let now = SimTime::ZERO + idle_for;
    cubic.on_send(&SendEvent { now, idle_for, is_app_limited: true, ..testing::sent(MSS) });
    for _ in 0..100 {
        cubic.on_ack(&AckEvent { now: now + SimDuration::from_millis(100), ..ack(MSS) });
    }
    assert_eq!(segments(&cubic), 77);
}

#[test]
fn hystart_ends_the_first_slow_start_without_a_plateau() {
    let config = CubicConfig { hystart: Hystart::Linux, ..CubicConfig::linux() };
    let mut cubic = LinuxCubic::new(&config, Start::of(MSS, 10 * MSS, None));
    let mut clock = AckClock::new(SimDuration::from_micros(120), SimDuration::from_millis(60), MSS);
    while cubic.ssthresh().is_none() {
        cubic.on_ack(&clock.next_ack(segments(&cubic)));
    }
    assert!((574..=577).contains(&segments(&cubic)), "{}", segments(&cubic)); // see `hystart`
    assert_eq!(cubic.state.w_max, None);
}
