//! The rules in C give the numbers of the controllers in Rust, on the same events: cwnd and ssthresh after each of them.

use std::sync::Once;

use crate::path::{MSS, Path, Sender, tell, translate};
use ackclock_bpf::replay::Replay;
use ackclock_bpf::{Event, Exchange, PROGRAMS, Program, host, machine};
use ackclock_cc::{CongestionController, Controller, ControllerConfig};
use ackclock_units::Bytes;

const INITIAL_WINDOW: u32 = 10;
/// RFC 3465's L, which the controllers in Rust have.
const LIMIT: u32 = 2;

/// 20 Mbit/s with a long queue, 100 Mbit/s, 600 Mbit/s.
const PATHS: [Path; 6] = [
    Path { per_segment_ns: 120_000, rtt_ns: 8_000_000, queue: 30, acks: 40_000, timeout_of: 8, pause_of: 0, seed: 5 },
    Path { per_segment_ns: 600_000, rtt_ns: 50_000_000, queue: 200, acks: 20_000, timeout_of: 4, pause_of: 0, seed: 1 },
    Path { per_segment_ns: 120_000, rtt_ns: 60_000_000, queue: 250, acks: 40_000, timeout_of: 8, pause_of: 0, seed: 2 },
    Path {
        per_segment_ns: 120_000,
        rtt_ns: 60_000_000,
        queue: 20,
        acks: 40_000,
        timeout_of: 1_000,
        pause_of: 0,
        seed: 3,
    },
    Path {
        per_segment_ns: 20_000,
        rtt_ns: 28_000_000,
        queue: 1_400,
        acks: 80_000,
        timeout_of: 16,
        pause_of: 0,
        seed: 4,
    },
    Path {
        per_segment_ns: 120_000,
        rtt_ns: 60_000_000,
        queue: 100,
        acks: 20_000,
        timeout_of: 2,
        pause_of: 700,
        seed: 6,
    },
];

/// Tolerance between two windows: a part of a segment for octets there and fixed-point numbers here, and a part of the
/// window that the least of its digits make up over a run.
#[derive(Clone, Copy, Debug)]
struct Tolerance {
    segments: f64,
    part: f64,
}

/// The greatest difference of cwnd, segments, and the number of episodes.
fn compare(program: &Program, config: &ControllerConfig, path: Path, tolerance: Tolerance) -> (f64, u32) {
    let initial = Bytes(u64::from(INITIAL_WINDOW) * MSS);
    let mut controller = Controller::new(config, Bytes(MSS), initial, None);
    let params = program.params(config, LIMIT).expect("in range");
    let mut exchange = Exchange::new(params, INITIAL_WINDOW, None);
    assert!(host::drive(program.name, &mut exchange));
    let (mut sender, mut acks, mut worst, mut episodes) = (Sender::new(path), 0, 0.0_f64, 0);
    while acks < path.acks {
        for happening in sender.next(controller.cwnd().0) {
            tell(&mut controller, &happening);
            let (event, ack) = translate(&happening);
            (exchange.event, exchange.ack) = (event as u32, ack);
            host::drive(program.name, &mut exchange);
            acks += u32::from(event == Event::Ack);
            episodes += u32::from(event != Event::Ack);
            let cwnd = controller.cwnd().0 as f64 / MSS as f64;
            let apart = (cwnd - exchange.cwnd_segments()).abs();
            worst = worst.max(apart);
            assert!(
                apart <= tolerance.segments + tolerance.part * cwnd,
                "{} on {path:?}: after {acks} ACKs and {event:?} {cwnd} segments in Rust, {} in C",
                program.name,
                exchange.cwnd_segments()
            );
            assert!(exchange.cwnd.abs_diff(cwnd as u32) <= 1);
            let ssthresh = controller.ssthresh().map(|ssthresh| ssthresh.0 as f64 / MSS as f64);
            let same = match (ssthresh, exchange.ssthresh_segments()) {
                (Some(rust), Some(c)) => (rust - c).abs() <= tolerance.segments + tolerance.part * rust,
                (rust, c) => rust.is_none() && c.is_none(),
            };
            assert!(same, "{}: ssthresh {ssthresh:?} and {:?}", program.name, exchange.ssthresh_segments());
        }
    }
    (worst, episodes)
}

/// The response of `HighSpeed` is one for all threads.
fn prepare(config: &ControllerConfig) {
    static SET: Once = Once::new();
    if let Some(curve) = Program::curve(config) {
        SET.call_once(|| host::set_curve(&curve));
    }
}

/// Vegas in Rust drops what a round trip's growth leaves of an octet, so that each round trip that grows parts the two by up to
/// one octet until the next decrease. The modified one reckons with delays of whole ticks, by which Diff can be a threshold itself:
/// then the last digit decides whether a round trip adds a segment.
fn tolerance_of(name: &str) -> Tolerance {
    let segments = match name {
        "vegas_modified" => 1.0,
        "vegas" => 0.25,
        _ => 0.02,
    };
    Tolerance { segments, part: 1e-4 }
}

#[test]
fn every_program_has_the_windows_of_its_controller_after_each_event() {
    for program in PROGRAMS.iter().filter(|program| !program.is_paced) {
        let config = program.config(&[]).expect("defaults are in range");
        prepare(&config);
        for path in PATHS {
            let (worst, episodes) = compare(program, &config, path, tolerance_of(program.name));
            println!("{:15} seed {}: at most {worst:.5} segments apart, {episodes} episodes", program.name, path.seed);
        }
    }
}

/// Linux's Vegas forgets `BaseRTT` after idle time (`tcp_vegas_cwnd_event`), where the others keep it; both have their own numbers.
#[test]
fn each_variant_of_vegas_has_the_windows_of_its_controller() {
    for variant in ["ns2", "linux"] {
        for name in ["vegas", "vegas_modified"] {
            let program = Program::find(name).expect("there is one");
            let config = program.config(&[("variant".to_owned(), variant.to_owned())]).expect("there is one");
            let (worst, episodes) = compare(program, &config, PATHS[5], Tolerance { segments: 1.0, part: 1e-4 });
            println!("{variant} {name}: at most {worst:.5} segments apart, {episodes} episodes");
        }
    }
}

/// The kernel's bytecode and the host's own come to the same octets of window and state.
#[test]
fn the_bytecode_computes_what_the_host_does() {
    if let Err(missing) = machine::check() {
        println!("skipped: {missing}");
        return;
    }
    for program in PROGRAMS.iter().filter(|program| !program.is_paced) {
        let config = program.config(&[]).expect("defaults are in range");
        let params = program.params(&config, LIMIT).expect("in range");
        prepare(&config);
        let replay = Replay::new(program, &config).unwrap_or_else(|error| panic!("{}: {error}", program.name));
        let (mut on_host, mut in_kernel) =
            (Exchange::new(params, INITIAL_WINDOW, None), Exchange::new(params, INITIAL_WINDOW, None));
        let mut sender = Sender::new(PATHS[0]);
        host::drive(program.name, &mut on_host);
        replay.drive(&mut in_kernel).expect("loaded");
        for _ in 0..4_000 {
            for happening in sender.next(u64::from(on_host.cwnd) * MSS) {
                let (event, ack) = translate(&happening);
                for (exchange, is_host) in [(&mut on_host, true), (&mut in_kernel, false)] {
                    (exchange.event, exchange.ack) = (event as u32, ack);
                    if is_host {
                        host::drive(program.name, exchange);
                    } else {
                        replay.drive(exchange).expect("loaded");
                    }
                }
                assert!(
                    on_host.octets_mut() == in_kernel.octets_mut(),
                    "{} after {event:?}: {on_host:?} {in_kernel:?}",
                    program.name
                );
            }
        }
    }
}
