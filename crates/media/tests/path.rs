//! Sender and receiver over a path of a few lines, without the simulator: what sources say comes out of whole calls.

use std::collections::VecDeque;

use ackclock_media::sender::Action;
use ackclock_media::{MediaApp, RateControl, RateController, Receiver, Report, Sender};
use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime};

const MS: u64 = 1_000_000;
const PAYLOAD: u32 = 1_000;

/// A queue of so many octets before a link, and the way back.
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

/// A second of a call.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    target: f64,
    received: f64,
    /// One-way delays above the path's, milliseconds.
    queueing: f64,
    most: f64,
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
            second.most = second.most.max(queueing);
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

#[test]
fn explore() {
    for name in ["gcc", "scream", "scream_v1"] {
        for kbps in [600, 1_000, 2_500] {
            let log = call(&app(name), &Path::of(kbps), 60);
            println!("{name} {kbps}");
            for (at, second) in log.iter().enumerate().filter(|(at, _)| at % 3 == 0) {
                println!("  {at} target {:.0} got {:.0} queue {:.0} most {:.0} dropped {}", second.target / 1e3, second.received / 1e3, second.queueing / f64::from(second.packets.max(1)), second.most, second.dropped);
            }
        }
    }
}
