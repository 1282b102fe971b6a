//! Sender and receiver over a path of a few lines, without the simulator: whole calls agree with the sources.

use std::collections::VecDeque;

use ackclock_media::sender::Action;
use ackclock_media::{MediaApp, RateControl, RateController, Receiver, Report, Sender};
use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime};

const MS: u64 = 1_000_000;
const PAYLOAD: u32 = 1_000;

/// A queue of limited length before a link, and the reverse path.
struct Path {
    rate: Box<dyn Fn(SimTime) -> Bandwidth>,
    delay: SimDuration,
    buffer: SimDuration,
    is_lost: Box<dyn Fn(u32) -> bool>,
    is_report_lost: Box<dyn Fn(u64) -> bool>,
}

impl Path {
    fn of(kbps: u64) -> Self {
        Self {
            rate: Box::new(move |_| Bandwidth(kbps * 1_000)),
            delay: SimDuration(50 * MS),
            buffer: SimDuration(300 * MS),
            is_lost: Box::new(|_| false),
            is_report_lost: Box::new(|_| false),
        }
    }
}

/// One second of a call.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    target: f64,
    received: f64,
    /// One-way delays beyond the path's, milliseconds.
    queueing: f64,
    packets: u32,
    dropped: u32,
}

fn call(app: &MediaApp, path: &Path, seconds: u64) -> Vec<Second> {
    let limits = app.limits(false);
    let end = SimTime(seconds * 1_000 * MS);
    let mut sender = Sender::new(app, limits, PAYLOAD, (SimTime::ZERO, end), RandomStream::new(7, "call"));
    let mut receiver = Receiver::new(app.reporting(sender.controller()));
    let mut free = SimTime::ZERO;
    let mut under_way: VecDeque<(SimTime, SimTime, u32, u32)> = VecDeque::new();
    let mut back: VecDeque<(SimTime, Report)> = VecDeque::new();
    let (mut reports, mut log) = (0_u64, vec![Second::default(); seconds as usize]);
    loop {
        let arrival = under_way.front().map_or(SimTime::NEVER, |packet| packet.0);
        let report = back.front().map_or(SimTime::NEVER, |report| report.0);
        let now = sender.deadline().min(receiver.deadline()).min(arrival).min(report);
        if now >= end {
            return log;
        }
        let second = &mut log[(now.0 / (1_000 * MS)) as usize];
        second.target = sender.controller().target_rate().0 as f64;
        while let Some(action) = sender.act(now) {
            let Action::Sends(departure) = action else { continue };
            let wait = free.saturating_since(now);
            if wait > path.buffer || (path.is_lost)(departure.number) {
                second.dropped += 1;
                continue;
            }
            free = free.max(now) + (path.rate)(now).serialization_delay(Bytes(u64::from(departure.size) + 28));
            under_way.push_back((free + path.delay, now, departure.number, departure.size));
        }
        while let Some((arrival, sent, number, size)) = under_way.pop_front_if(|packet| packet.0 <= now) {
            let queueing = (arrival.saturating_since(sent).0 as f64 - path.delay.0 as f64) / 1e6;
            second.packets += 1;
            second.received += f64::from(size) * 8.0;
            second.queueing += queueing;
            let known = sender.come(number).expect("it comes once");
            receiver.on_packet(now, number, size, false, known.is_last);
        }
        if let Some(report) = receiver.report(now, Vec::new()) {
            reports += 1;
            if !(path.is_report_lost)(reports) {
                back.push_back((now + path.delay, report));
            }
        }
        while let Some((_, report)) = back.pop_front_if(|report| report.0 <= now) {
            sender.on_report(now, &report);
        }
    }
}

fn app(name: &str) -> MediaApp {
    let controller = match name {
        "gcc" => RateControl::Gcc(ackclock_media::GccConfig::default()),
        "scream" => RateControl::Scream(ackclock_media::ScreamConfig::default()),
        _ => RateControl::ScreamV1(ackclock_media::ScreamV1Config::default()),
    };
    MediaApp { controller, ..MediaApp::default() }
}

/// The mean received rate of these seconds, bit/s, and their mean queueing delay, milliseconds.
fn over(log: &[Second]) -> (f64, f64) {
    let packets: u32 = log.iter().map(|second| second.packets).sum();
    let received: f64 = log.iter().map(|second| second.received).sum();
    let queueing: f64 = log.iter().map(|second| second.queueing).sum();
    (received / log.len() as f64, queueing / f64::from(packets.max(1)))
}

const NAMES: [&str; 3] = ["gcc", "scream", "scream_v1"];

#[test]
fn a_call_uses_most_of_a_link_and_no_more_than_its_encoder_makes() {
    // RFC 8867 section 5.1: what is expected of every candidate, here without a change of capacity.
    for name in NAMES {
        for kbps in [600, 1_000] {
            let log = call(&app(name), &Path::of(kbps), 60);
            let (rate, queueing) = over(&log[30..]);
            let part = rate / (kbps as f64 * 1e3 * 1_000.0 / 1_028.0);
            assert!((0.75..1.01).contains(&part), "{name} at {kbps}: {part}");
            assert!(
                queueing < 300.0 && log[30..].iter().all(|second| second.dropped == 0),
                "{name} at {kbps}: {queueing}"
            );
        }
        let log = call(&app(name), &Path::of(10_000), 60);
        assert!(log[30..].iter().all(|second| second.target.to_bits() == 1.5e6_f64.to_bits()), "{name}: {log:?}");
    }
}

#[test]
fn a_fall_of_the_capacity_is_followed_within_ten_seconds() {
    // SCReAM of RFC 8298 may take a queue of its own for that of others, and raise its target: the RFC's "false positive".
    for (name, most) in NAMES.into_iter().zip([200.0, 200.0, 300.0]) {
        let mut path = Path::of(0);
        path.rate = Box::new(|now| Bandwidth(if now < SimTime(40_000 * MS) { 2_500_000 } else { 600_000 }));
        let log = call(&app(name), &path, 60);
        let (rate, queueing) = over(&log[52..]);
        assert!(
            (0.7..1.01).contains(&(rate / (6e5 * 1_000.0 / 1_028.0))) && queueing < most,
            "{name}: {rate}, {queueing}"
        );
    }
}

#[test]
fn every_second_report_is_enough_for_scream_and_halves_what_gcc_knows_of() {
    // SCReAM's reports overlap. GCC counts the rate that arrives from what reports tell of: half, and lowers its own to that.
    for (name, least, most) in [("gcc", 0.3e6, 0.5e6), ("scream", 0.75e6, 1e6), ("scream_v1", 0.75e6, 1e6)] {
        let mut path = Path::of(1_000);
        path.is_report_lost = Box::new(|number| number % 2 == 0);
        let (rate, _) = over(&call(&app(name), &path, 60)[30..]);
        assert!((least..most).contains(&rate), "{name}: {rate}");
    }
}

#[test]
fn loss_of_a_fifth_lowers_every_rate_to_its_least() {
    for name in NAMES {
        let mut path = Path::of(10_000);
        path.is_lost = Box::new(|number| number % 5 == 3);
        let log = call(&app(name), &path, 60);
        assert!(log[40..].iter().all(|second| second.target < 2.2e5), "{name}: {log:?}");
    }
}
