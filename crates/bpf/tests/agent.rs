//! Decisions of user space for a real connection, and what becomes of it when they stop or are absurd. Needs root, `ip` and `tc`;
//! says so and passes where they are missing.

use std::time::{Duration, Instant};

use crate::lab::Lab;
use ackclock_bpf::agent::{Agent, Counters, Decision, NAME, Observation};
use ackclock_bpf::command::Group;

/// Linux's number of the state without losses, `TCP_CA_Open`.
const OPEN: u32 = 0;

/// Observations in turn, each with the time since the beginning.
type Seen = Vec<(Duration, Observation)>;

/// Decides a window of 60 segments with every ACK for a second, nothing for another, then an absurd one once.
fn decide_for_a_second(lab: &Lab) -> (Seen, Counters) {
    let agent = Agent::new().expect("root, and a kernel that lets programs call its CUBIC");
    let command = lab.send(3.0);
    let sender = std::thread::spawn(move || {
        let mut group = Group::new().expect("root");
        group.choose(NAME).expect("registered");
        group.run(&command, || Ok(())).expect("starts")
    });
    let (began, mut seen, mut absurd) = (Instant::now(), Vec::new(), false);
    let decide = |observation: &Observation| {
        let at = began.elapsed();
        seen.push((at, *observation));
        if at < Duration::from_secs(1) {
            return Some(Decision { cwnd: 60, ..Decision::default() });
        }
        let is_late = at > Duration::from_secs(2) && !absurd;
        absurd |= is_late;
        is_late.then(|| Decision { cwnd: 1_000_000, ..Decision::default() })
    };
    agent.run(Duration::from_secs_f64(3.2), decide).expect("registered");
    assert!(sender.join().expect("ends").success());
    (seen, agent.counters().expect("registered"))
}

/// Number of times that the kernel's CUBIC took over. On a busy machine decisions may be late by three round trips,
/// which are 3 ms at the beginning.
fn falls(seen: &Seen) -> usize {
    seen.windows(2).filter(|pair| pair[0].1.is_led > pair[1].1.is_led).count()
}

#[test]
fn decisions_are_in_force_until_they_stop_and_then_cubic_has_the_window() {
    let Some(lab) = Lab::new(50, 180_000, None) else { return };
    let in_time = |(seen, counters): &(Seen, Counters)| {
        assert_eq!(counters.fallbacks, falls(seen) as u64, "{counters:?}");
        counters.fallbacks == 1
    };
    let (seen, counters) =
        (0..5).map(|_| decide_for_a_second(&lab)).find(in_time).expect("decisions in time once in five");
    println!("{counters:?}");
    assert_eq!((counters.flows, counters.missed, counters.absurd, counters.fallbacks), (1, 0, 1, 1));

    // A loss lowers the window, as any controller's, until the next decision: a machine that stands still for a moment may lose.
    let led: Vec<_> =
        seen.iter().filter(|(at, _)| (0.2..1.0).contains(&at.as_secs_f64())).map(|(_, ack)| ack).collect();
    assert!(led.len() > 1_000);
    assert!(led.iter().all(|ack| ack.is_led == 1));
    let mut calm = led.windows(2).filter(|pair| pair.iter().all(|ack| ack.state == OPEN));
    assert!(calm.clone().count() > led.len() / 2);
    assert!(calm.clone().all(|pair| pair[1].cwnd == 60), "{:?}", calm.find(|pair| pair[1].cwnd != 60));
    // 60 segments of 1500 octets at 50 Mbit/s take 14.4 ms, and three of these 43 ms.
    let after = seen.iter().filter(|(at, _)| at.as_secs_f64() > 1.1);
    assert!(after.clone().all(|(_, ack)| ack.is_led == 0));
    let windows: Vec<u32> = after.map(|(_, ack)| ack.cwnd).collect();
    let (least, greatest) = (windows.iter().min().expect("ACKs"), windows.iter().max().expect("ACKs"));
    println!("CUBIC: {least} to {greatest} segments");
    // the path holds 120; CUBIC grows beyond 60 until it loses, and keeps seven tenths then
    assert!(*greatest > 100 && *least >= 60 * 7 / 10, "{least} to {greatest}");
}
