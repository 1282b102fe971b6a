//! The rules in C of controllers with a rate of their own give the numbers of the controllers in Rust, event for event of simulated
//! connections.

use std::sync::{Arc, Mutex};

use crate::mirror::{Apart, Mirror, Told};
use ackclock::{Run, dumbbell};
use ackclock_bpf::replay::Replay;
use ackclock_bpf::{Flight, FlightEvent, Program, Report, host, machine};
use ackclock_units::SimDuration;

/// A connection's path: rate, round trip, queue, and who is there beside it.
const PATHS: [(&str, &str, &str, &str); 4] = [
    ("20 Mbit/s", "40 ms", "2 bdp", ""),
    ("50 Mbit/s", "30 ms", "0.3 bdp", ""),
    ("100 Mbit/s", "60 ms", "1 bdp", "cubic"),
    ("5 Mbit/s", "80 ms", "0.5 bdp", "reno"),
];

/// Half of the link's rate for a third of the time.
const PAUSING: &str = r#"{ kind = "on_off", on = "300 ms", off = "700 ms", rate = "10 Mbit/s" }"#;

fn run(name: &str, path: (&str, &str, &str, &str), loss: bool, told: Told) -> Apart {
    let lossy: &[(&str, &str)] = &[("topology.bottleneck.loss", r#"{ kind = "random", p = 0.005 }"#)];
    run_with(name, path, told, if loss { lossy } else { &[] })
}

fn run_with(name: &str, path: (&str, &str, &str, &str), told: Told, settings: &[(&str, &str)]) -> Apart {
    let program = Program::find(name).expect("there is one");
    let config = program.config(&[]).expect("defaults are in range");
    let apart = Arc::new(Mutex::new(Apart::default()));
    let shared = Arc::clone(&apart);
    let (rate, rtt, queue, beside) = path;
    let mut dumbbell = dumbbell()
        .own_flow("mirror", move |start| Mirror::new(program, &config, start, told, Arc::clone(&shared)))
        .bottleneck(rate)
        .rtt(rtt)
        .queue(queue)
        .duration(SimDuration::from_secs(12));
    if !beside.is_empty() {
        dumbbell = dumbbell.flows(beside);
    }
    for (place, value) in settings {
        dumbbell = dumbbell.set(place, value);
    }
    let scenario = dumbbell.build().unwrap_or_else(|error| panic!("{error}"));
    Run::of(&scenario).finish().unwrap_or_else(|error| panic!("{error}"));
    let apart = apart.lock().expect("one thread");
    apart.clone()
}

fn show(name: &str, path: (&str, &str, &str, &str), apart: &Apart) {
    let Apart { acks, losses, timeouts, window, rate, parted, .. } = apart;
    let mean = apart.c / apart.rust - 1.0;
    println!(
        "{name:5} {path:?}: {acks} ACKs, {losses} episodes, {timeouts} timeouts; windows at most {:.4} % apart and rates {:.4} %, \
         {parted} times more than 0.1 %; means {:.3} %, states {:?}",
        100.0 * window,
        100.0 * rate,
        100.0 * mean,
        apart.states
    );
}

/// Means are within a part of each other or a segment, whichever is more.
fn assert_means(name: &str, path: (&str, &str, &str, &str), apart: &Apart, part: f64) {
    let (rust, c) = (apart.rust / f64::from(apart.acks), apart.c / f64::from(apart.acks));
    assert!(apart.acks > 1_000, "{name} on {path:?}: {}", apart.acks);
    assert!((c - rust).abs() <= (part * rust).max(1.0), "{name} on {path:?}: {rust} and {c} segments");
}

/// Both receive every event alike. Windows of BBR are within a hundredth, and those of Copa within a thousandth where nothing is lost. A
/// direction of Copa that turns an ACK later, as a least round trip is forgotten up to a 128th of its time late, parts its windows for a while:
/// then the means are held; beside others they are shown and not held, since how long it competes hangs on such a turn.
#[test]
fn told_the_same_both_have_the_same_windows() {
    for name in ["copa", "bbr3"] {
        for path in PATHS {
            let apart = run(name, path, false, Told::AsTheKernel);
            show(name, path, &apart);
            if name == "bbr3" || path.3.is_empty() {
                assert_means(name, path, &apart, 0.01);
            }
            let most = match name {
                "bbr3" => 1e-2,
                _ if apart.losses == 0 => 1e-3,
                _ => f64::INFINITY,
            };
            assert!(apart.window < most, "{name} on {path:?}: {}", apart.window);
        }
        let apart = run(name, PATHS[0], true, Told::AsTheKernel);
        show(name, PATHS[0], &apart);
        assert_means(name, PATHS[0], &apart, 0.01);
    }
}

/// draft-ietf-ccwg-bbr, `HandleRestartFromIdle`: "if `packets_in_flight` == 0 and `C.app_limited`": the rate is that of the path again, below
/// which Down paces; without the second term nothing changes.
#[test]
fn only_an_application_that_pauses_makes_bbr_idle() {
    const DOWN: u32 = 2;
    let program = Program::find("bbr3").expect("there is one");
    let params = program.params(&program.config(&[]).expect("defaults are in range"), 0).expect("in range");
    let mut flight = Flight::new(params, 10);
    let mut last = Report::default();
    for (event, report) in run("bbr3", PATHS[0], false, Told::AsTheKernel).told {
        flight.set(event, report);
        host::fly("bbr3", &mut flight);
        last = report;
        if flight.state_number == DOWN {
            break;
        }
    }
    let rate = flight.pacing_rate;
    for (is_app_limited, is_faster) in [(0, false), (1, true)] {
        flight.set(FlightEvent::Idle, Report { inflight: 0, is_app_limited, ..last });
        host::fly("bbr3", &mut flight);
        assert_eq!(flight.pacing_rate > rate, is_faster, "{rate} and {}", flight.pacing_rate);
    }
}

/// Pauses of the application are reported, and both go on alike after them. (The rules of BBR in C begin here without
/// the round trip of the handshake, which the kernel would have reported, so that the first ACKs part the two by a
/// segment.)
#[test]
fn both_go_on_alike_after_pauses() {
    let apart = run_with("copa", PATHS[0], Told::AsTheKernel, &[("flow.mirror.app", PAUSING)]);
    show("copa", PATHS[0], &apart);
    assert!(apart.idles > 5, "{}", apart.idles);
    assert!(apart.window < 1e-2, "{}", apart.window);
}

/// In two minutes at most 0.5 % of the mean on two paths, 1.8 % beside CUBIC, 2.7 % on the slowest, where a decision is a segment or two of 20. In 12 s it has
/// seven losses, of which one that only one of the two sees is a sixth of the mean.
#[test]
fn what_the_kernel_does_not_tell_costs_bbr_little() {
    for path in PATHS {
        let apart = run_with("bbr3", path, Told::All, &[("duration", "120 s")]);
        show("bbr3", path, &apart);
        assert_means("bbr3", path, &apart, 0.05);
    }
}

/// The kernel's bytecode and the host's own come to the same octets of window, rate and state.
#[test]
fn the_bytecode_computes_what_the_host_does() {
    if let Err(missing) = machine::check() {
        println!("skipped: {missing}");
        return;
    }
    for name in ["copa", "bbr3"] {
        let program = Program::find(name).expect("there is one");
        let config = program.config(&[]).expect("defaults are in range");
        let params = program.params(&config, 0).expect("in range");
        let replay = Replay::new(program, &config).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = run(name, PATHS[3], true, Told::AsTheKernel).told;
        let (mut on_host, mut in_kernel) = (Flight::new(params, 10), Flight::new(params, 10));
        assert_eq!(told[0].0, FlightEvent::Begin);
        assert!(told.len() > 1_000, "{}", told.len());
        for (event, report) in told.iter().take(2_500) {
            for flight in [&mut on_host, &mut in_kernel] {
                flight.set(*event, *report);
            }
            host::fly(name, &mut on_host);
            replay.fly(&mut in_kernel).expect("loaded");
            assert!(on_host.octets_mut() == in_kernel.octets_mut(), "{name} after {event:?} {report:?}");
        }
    }
}
