//! The kernel's own CUBIC with a factor from user space, on a real connection: without one it is CUBIC, with one the
//! window is as decided. Needs root, `ip` and `tc`; says so and passes where they are missing.

use std::time::Duration;

use crate::lab::Lab;
use ackclock_bpf::agent::{Agent, CORRECTED_NAME, Counters, Decision, Observation};
use ackclock_bpf::command::Group;

/// Observations of a connection of some seconds with these decisions.
fn run(
    lab: &Lab,
    seconds: f64,
    mut decide: impl FnMut(&Observation) -> Option<Decision>,
) -> (Vec<Observation>, Counters) {
    let agent = Agent::correcting().expect("root, and a kernel that lets programs call its CUBIC");
    let command = lab.send(seconds);
    let sender = std::thread::spawn(move || {
        let mut group = Group::new().expect("root");
        group.choose(CORRECTED_NAME).expect("registered");
        group.run(&command, || Ok(())).expect("starts")
    });
    let mut seen = Vec::new();
    let watched = |observation: &Observation| {
        seen.push(*observation);
        decide(observation)
    };
    agent.run(Duration::from_secs_f64(seconds + 0.3), watched).expect("registered");
    assert!(sender.join().expect("ends").success());
    let counters = agent.counters().expect("registered");
    (seen, counters)
}

#[test]
fn a_factor_multiplies_the_window_once_and_cubic_goes_on_from_there() {
    let Some(lab) = Lab::new(50, 180_000, None) else { return };
    // Without decisions it is CUBIC, of whose window a loss leaves seven tenths.
    let (seen, counters) = run(&lab, 2.0, |_| None);
    assert_eq!((counters.flows, counters.in_force, counters.missed), (1, 0, 0));
    let kept: Vec<f64> = seen
        .windows(2)
        .filter(|pair| pair[0].ssthresh < 1_000 && pair[1].state == 3 && pair[0].state != 3)
        .map(|pair| f64::from(pair[1].ssthresh) / f64::from(pair[0].cwnd))
        .collect();
    println!("CUBIC: losses leave {kept:.3?}");
    assert!(!kept.is_empty());
    // 717/1024 (the kernel's beta) of whole segments
    assert!(kept.iter().all(|kept| (kept - 0.7).abs() < 0.02), "{kept:?}");

    // Each second a factor of one half, and an absurd one once.
    let (mut next, mut last, mut absurd) = (0, 0, false);
    let decide = |seen: &Observation| {
        next = if next == 0 { seen.time_ns + 700_000_000 } else { next };
        if last == 0 && seen.time_ns > next - 200_000_000 && !absurd {
            absurd = true;
            return Some(Decision::times(5.0));
        }
        if seen.time_ns < next || seen.state != 0 {
            return None;
        }
        (next, last) = (seen.time_ns + 700_000_000, seen.decision);
        Some(Decision::times(0.5))
    };
    let (seen, counters) = run(&lab, 3.0, decide);
    println!("{counters:?}");
    assert!(counters.in_force >= 3 && counters.absurd == 1, "{counters:?}");
    let mut halved = 0;
    for pair in
        seen.windows(2).filter(|pair| pair[1].decision != pair[0].decision && pair[0].is_led + pair[1].is_led > 0)
    {
        if pair[1].state > 1 || pair[0].state > 1 {
            continue;
        }
        // between the two CUBIC may have added a segment
        let (before, after) = (f64::from(pair[0].cwnd), f64::from(pair[1].cwnd));
        println!("{before} to {after} segments");
        assert!((after - before / 2.0).abs() <= 1.5, "{before} to {after}");
        halved += 1;
    }
    assert!(halved >= 2, "{halved} of {}", counters.in_force);
    // it grows again by itself
    assert!(seen.last().is_some_and(|last| last.cwnd > 30));
}
