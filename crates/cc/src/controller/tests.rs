//! Laws of every built-in controller.

use ackclock_declare::{Context, Table};
use ackclock_units::SimDuration;

use super::*;
use crate::event::CongestionCause;
use crate::testing::{ack, loss};

const MSS: u64 = 1_000;

/// A round trip below the target of Swift's default.
const RTT: SimDuration = SimDuration::from_millis(40);

/// Controllers that leave marks unanswered and say so in their headers. `bbr` with `variant = "linux"` also does, as
/// Linux's module does.
const DECLARED: [&str; 1] = ["fixed"];

/// The data that a controller sends in 200 windows, of which the last ten are fully marked if the network marks.
fn sent_after(name: &str, marks: bool) -> Option<(Bytes, Option<Bandwidth>)> {
    let part = controllers().find(name).expect("it is in the catalogue");
    let config = part.read(&Table::default(), &Context::default()).config;
    let mut controller = Controller::new(&config, Bytes(MSS), Bytes(10 * MSS), Some(Bytes(20 * MSS)));
    if !controller.on_feedback(true) {
        return None;
    }
    for number in 0..2_000 {
        let (now, round) = (SimTime(number * 10_000_000), number / 10);
        let is_marked = marks && round >= 190;
        if is_marked && number % 10 == 0 && !controller.demands().marks {
            let flight_size = controller.cwnd();
            controller.on_congestion(&CongestionEvent {
                now,
                cause: CongestionCause::Ecn,
                newly_lost: Bytes::ZERO,
                ..loss(flight_size.0)
            });
        }
        // At last, a window in each round trip, so that ten windows are marked.
        let acked = if round >= 190 { controller.cwnd().0 / 10 } else { MSS };
        controller.on_ack(&AckEvent {
            now,
            round,
            newly_ce_marked: if is_marked { Bytes(acked) } else { Bytes::ZERO },
            prior_flight_size: controller.cwnd(),
            snd_una: number * MSS,
            snd_nxt: number * MSS + controller.cwnd().0,
            ..AckEvent::in_order(Bytes(acked), RTT)
        });
    }
    Some((controller.cwnd(), controller.pacing_rate()))
}

/// A controller restores the window and ssthresh to undo an episode (RFC 4015 section 3.2): a window alone leaves slow
/// start for good. Linux's module of NV grows no window again before its next round trip says so.
#[test]
fn whoever_undoes_a_spurious_episode_goes_on_with_slow_start() {
    let mut halves = Vec::new();
    for part in controllers() {
        let name = part.about.name;
        let config = part.read(&Table::default(), &Context::default()).config;
        let mut undone = Controller::new(&config, Bytes(MSS), Bytes(100 * MSS), None);
        undone.on_ack(&ack(MSS));
        let mut spared = undone.clone();
        let before = (undone.cwnd(), undone.ssthresh());
        undone.on_congestion(&loss(100 * MSS));
        let is_answered = undone.cwnd() < before.0;
        undone.on_spurious(SimTime::ZERO);
        if !is_answered || undone.cwnd() < before.0 || name == "nv" {
            continue; // it has another answer, or does not undo it
        }
        let after = undone.ssthresh();
        for controller in [&mut undone, &mut spared] {
            controller.on_ack(&AckEvent { now: SimTime(1_000_000), prior_flight_size: Bytes(100 * MSS), ..ack(MSS) });
        }
        if (after, undone.cwnd()) != (before.1, spared.cwnd()) {
            halves.push((name, before, after, undone.cwnd(), spared.cwnd()));
        }
    }
    assert!(halves.is_empty(), "{halves:?}");
}

/// RFC 3168 section 5: a marked packet is answered as a lost one is, or data is not ECN-capable.
//= rfc3168-5-as-a-loss
#[test]
fn whoever_sends_ecn_capable_data_answers_marks() {
    let ignores = |name: &&str| match (sent_after(name, true), sent_after(name, false)) {
        (Some(marked), Some(unmarked)) => marked.0 >= unmarked.0 && marked.1 >= unmarked.1,
        _ => false,
    };
    let silent: Vec<&str> = controllers().iter().map(|part| part.about.name).filter(ignores).collect();
    assert_eq!(silent, DECLARED);
}
