use super::*;
use crate::queue::QueueCounters;
use crate::queue::testing::{PLACE, RATE, arrival, arrival_with, drain};
use ackclock_wire::Ecn;

const MS: u64 = 1_000_000;

fn control(probability: f64, old_delay: f64, delay: f64) -> PieControl {
    let parameters = PieParameters::default();
    PieControl { probability, old_delay, sojourn: delay, ..PieControl::new(&parameters) }
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value}, expected {expected}");
}

#[test]
fn an_update_by_hand() {
    // The delay went from 15 to 30 ms: 0.125 * 0.015 + 1.25 * 0.015 = 0.020625, over 2048 at probability 0.
    let mut control = control(0.0, 0.015, 0.030);
    control.update(&PieParameters::default(), 1);
    assert_close(control.probability, 0.020_625 / 2048.0); // 1.0071e-5
    // It stays at 30 ms: 0.125 * 0.015 = 0.001875, over 128 at probabilities from 1e-5 to 1e-4.
    control.update(&PieParameters::default(), 1);
    assert_close(control.probability, 0.020_625 / 2048.0 + 0.001_875 / 128.0);
}

#[test]
fn the_gains_follow_the_table_of_the_rfc() {
    let table = [(0.05, 2.0), (0.005, 8.0), (5e-4, 32.0), (5e-5, 128.0), (5e-6, 512.0), (5e-7, 2048.0), (0.1, 1.0)];
    for (probability, divisor) in table {
        let mut control = control(probability, 0.016, 0.016);
        control.update(&PieParameters::default(), 1);
        assert_close(control.probability, probability + 0.125 * 0.001 / divisor);
    }
}

#[test]
fn the_increase_is_capped_at_two_percent() {
    let mut control = control(0.5, 0.0, 0.5); // 0.125 * 0.485 + 1.25 * 0.5 = 0.69
    control.update(&PieParameters::default(), 1);
    assert_close(control.probability, 0.52);
}

#[test]
fn an_empty_queue_forgets_by_two_percent() {
    let mut control = control(0.5, 0.0, 0.0);
    control.update(&PieParameters::default(), 0);
    assert_close(control.probability, (0.5 - 0.125 * 0.015) * 0.98);
}

#[test]
fn a_burst_of_150_ms_passes() {
    // Probability 1 would drop everything, but the allowance lasts for ten updates, 15 ms apart.
    let parameters = PieParameters::default();
    let mut control = control(1.0, 0.1, 0.1);
    let mut random = RandomStream::new(1, "test");
    let mut verdict = |control: &mut PieControl, now: u64| {
        control.catch_up(SimTime(now), &parameters, 150_000);
        (0..100).map(|_| control.judge(SimTime(now), &parameters, 150_000, 1500, &mut random)).max_by_key(|v| *v as u8)
    };
    assert_eq!(verdict(&mut control, 150 * MS - 1), Some(Verdict::Keep));
    assert_eq!(verdict(&mut control, 150 * MS), Some(Verdict::Signal));
}

/// The numbers of packets between drops at a constant probability of 0.1.
fn gaps(derandomize: bool) -> Vec<u32> {
    let parameters = PieParameters { derandomize, ..PieParameters::default() };
    let mut control = PieControl { burst_allowance: SimDuration::ZERO, ..control(0.1, 0.030, 0.030) };
    let mut random = RandomStream::new(1, "test");
    let mut gaps = vec![0];
    for _ in 0..200_000 {
        *gaps.last_mut().expect("never empty") += 1;
        if control.judge(SimTime(1), &parameters, 150_000, 1500, &mut random) == Verdict::Signal {
            gaps.push(0);
        }
    }
    gaps.pop();
    gaps
}

fn mean(gaps: &[u32]) -> f64 {
    f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64
}

#[test]
fn derandomised_drops_are_never_close_and_never_far() {
    // The sum of probabilities reaches 0.85 with the ninth packet, 8.5 with the 85th. From the ninth on each is dropped
    // with probability 0.1: a gap has 8 packets and then 10 on average, standard deviation sqrt(0.9)/0.1 = 9.5.
    let gaps = gaps(true);
    assert_eq!(gaps.iter().min(), Some(&9));
    assert!(
        gaps.iter().all(|gap| *gap <= 86),
        "the 85th is dropped for certain; a sum of tenths may fall short by a bit"
    );
    assert!((mean(&gaps) - 18.0).abs() < 4.0 * 9.5 / (gaps.len() as f64).sqrt(), "{}", mean(&gaps));
}

#[test]
fn a_drop_at_a_full_queue_counts_as_the_last_one() {
    // At 0.1 each the ninth packet is the first that may be dropped; a drop for want of room after eight begins anew.
    let parameters = PieParameters::default();
    let mut control = PieControl { burst_allowance: SimDuration::ZERO, ..control(0.1, 0.030, 0.030) };
    let mut random = RandomStream::new(1, "test");
    let mut kept = |control: &mut PieControl, packets: u32| {
        (0..packets).all(|_| control.judge(SimTime(1), &parameters, 150_000, 1500, &mut random) == Verdict::Keep)
    };
    assert!(kept(&mut control, 8));
    control.on_full();
    assert!(kept(&mut control, 8));
    assert_close(control.accumulated, 0.8);
}

#[test]
fn random_drops_have_their_probability() {
    let gaps = gaps(false);
    assert!((mean(&gaps) - 10.0).abs() < 4.0 * 9.5 / (gaps.len() as f64).sqrt(), "{}", mean(&gaps));
    assert_eq!(gaps.iter().min(), Some(&1));
}

/// The counts of a queue of 100 packets at this probability, to which one more comes repeatedly.
fn outcome_at(probability: f64) -> QueueCounters {
    let config = PieConfig { limit: QueueLimit::Unlimited, ..PieConfig::default() };
    let mut queue = Pie::new(&config, &PLACE);
    queue.control = PieControl { burst_allowance: SimDuration::ZERO, ..control(probability, 0.030, 0.030) };
    for _ in 0..1_000 {
        queue.enqueue(SimTime(1), arrival_with(SimTime(1), 0, 1500, Ecn::Ect0));
    }
    queue.counters()
}

#[test]
fn marks_up_to_a_tenth_and_drops_beyond() {
    let (below, above) = (outcome_at(0.099), outcome_at(0.1));
    assert!(below.marks > 0 && below.drops == 0, "{below:?}");
    assert!(above.drops > 0 && above.marks == 0, "{above:?}");
}

#[test]
fn the_departure_rate_is_the_links() {
    // At 12 Mbit/s 16 384 octets take 10.923 ms, so that 30 000 octets are 20 ms.
    let control = PieParameters { delay: DelayEstimate::DepartureRate, ..PieParameters::default() };
    let config = PieConfig { limit: QueueLimit::Unlimited, control };
    let mut queue = Pie::new(&config, &PLACE);
    for _ in 0..100 {
        queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, 1500));
    }
    drain(&mut queue, SimTime::ZERO, RATE);
    assert_close(queue.control.delay(&control, 30_000), 0.020);
}

#[test]
fn updates_made_up_for_are_the_updates_missed() {
    let parameters = PieParameters::default();
    let (mut often, mut once) = (control(0.3, 0.02, 0.001), control(0.3, 0.02, 0.001));
    for update in 0..1_000 {
        often.catch_up(SimTime(update * 15 * MS), &parameters, 0);
    }
    once.catch_up(SimTime(999 * 15 * MS), &parameters, 0);
    assert_eq!(often.probability.to_bits(), once.probability.to_bits());
    assert_eq!((often.burst_allowance, often.next_update), (once.burst_allowance, once.next_update));
}

#[test]
fn a_long_rest_is_passed_over() {
    let parameters = PieParameters::default();
    let mut control = control(0.0, 0.0, 0.0);
    control.catch_up(SimTime(u64::MAX / 2), &parameters, 0); // 292 years of 15 ms, if made one by one
    assert!(control.next_update.0 > u64::MAX / 2);
    assert_eq!(control.next_update.0 % (15 * MS), 0);
}

#[test]
fn inactive_until_enough_waits() {
    let parameters = PieParameters { activation: Some(Bytes(100_000)), ..PieParameters::default() };
    let mut control = PieControl::new(&parameters);
    let mut random = RandomStream::new(1, "test");
    control.judge(SimTime(0), &parameters, 99_999, 1500, &mut random);
    assert!(!control.active);
    control.judge(SimTime(20 * MS), &parameters, 100_000, 1500, &mut random);
    assert!(control.active);
    assert_eq!(control.next_update, SimTime(35 * MS));
    control.catch_up(SimTime(35 * MS), &parameters, 0); // no delay, before and now
    assert!(!control.active);
}
