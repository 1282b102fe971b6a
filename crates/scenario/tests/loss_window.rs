//! The window after silence: one segment after a timeout (RFC 5681 section 3.1), also where the timeout falls into a
//! repair or follows another, and the least window after persistent congestion (RFC 9002 section 7.6.2).

use ackclock_events::{Event, Observer, Record, RecoveryCause, Source};
use ackclock_scenario::Scenario;
use ackclock_sim::Simulation;
use ackclock_units::SimTime;

/// Events with their times.
#[derive(Default)]
struct Watched(Vec<(SimTime, Event)>);

impl Observer for Watched {
    fn begin(&mut self, _sources: &[Source]) {}

    fn on_event(&mut self, record: &Record) {
        self.0.push((record.time, record.event));
    }
}

/// The events of one flow over 20 Mbit/s and 50 ms, with the losses of `discard`.
fn watch(flow: &str, discard: &str) -> Vec<(SimTime, Event)> {
    let text = format!(
        "duration = \"8 s\"\ntrace = {{ events = [\"segment_sent\", \"recovery_entered\", \"ack_arrived\"] }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n[topology.bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"25 ms\"\n\
         queue = {{ kind = \"drop_tail\", limit = \"200 packets\" }}\ndiscard = [{discard}]\n[[flow]]\n{flow}\n"
    );
    let scenario = Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut watched = Watched::default();
    Simulation::new(scenario.config()).run_observed(SimTime(8_000_000_000), &mut watched);
    watched.0
}

#[test]
fn a_timeout_within_a_repair_leaves_one_segment_as_any_other() {
    const MS: u64 = 1_000_000;
    let controllers = [
        "\"reno\"",
        "\"bbr\"",
        "{ kind = \"bbr\", variant = \"draft\" }",
        "\"bbr3\"",
        "\"sprout\"",
        "\"verus\"",
        "\"illinois\"",
        "\"yeah\"",
        "{ kind = \"cubic\", variant = \"rfc9438\" }",
    ];
    for controller in controllers {
        let flow = format!("controller = {controller}");
        let lost = "{ kind = \"range\", first = 1, last = 1, of = \"data\", from = \"2 s\" }";
        let repair = |(at, event): &(SimTime, Event)| {
            (at.0 > 1_999 * MS && matches!(event, Event::RecoveryEntered { .. })).then_some(at.0)
        };
        let began = watch(&flow, lost).iter().find_map(repair).expect("the loss begins a repair");
        // Nothing arrives from 0.3 ms after that on.
        let silence =
            format!("{{ kind = \"probability\", p = 1.0, of = \"data\", from = \"{} ns\" }}", began + 300_000);
        let events = watch(&flow, &format!("{lost}, {silence}"));
        let sent = |from: SimTime, until: u64| {
            let is_sent = |(at, event): &&(SimTime, Event)| {
                matches!(event, Event::SegmentSent(_)) && *at >= from && at.0 < from.0 + until
            };
            events.iter().filter(is_sent).count()
        };
        let timeouts: Vec<SimTime> = events
            .iter()
            .filter(|(at, event)| {
                at.0 > began && matches!(event, Event::RecoveryEntered { cause: RecoveryCause::Timeout, .. })
            })
            .map(|(at, _)| *at)
            .collect();
        assert!(timeouts.len() >= 2, "{controller}: {timeouts:?}");
        for at in timeouts {
            assert_eq!(sent(at, MS / 10), 1, "{controller} at {at:?}");
            // Sprout and Verus go on by the clock, with what they forecast and what an epoch may send.
            let goes_on = ["\"sprout\"", "\"verus\""].contains(&controller);
            assert!(goes_on || sent(at, 100 * MS) == 1, "{controller} at {at:?}");
        }
    }
}

#[test]
fn persistent_congestion_leaves_the_least_window() {
    const DATAGRAM: u64 = 1_472;
    for controller in ["\"reno\"", "\"cubic\"", "\"bbr\"", "{ kind = \"bbr\", variant = \"draft\" }", "\"bbr3\""] {
        let silence = "{ kind = \"probability\", p = 1.0, of = \"any\", from = \"2 s\", until = \"4 s\" }";
        let events = watch(&format!("protocol = \"quic\"\ncontroller = {controller}"), silence);
        // The ACK that tells of it adds the packet that it acknowledges to the two; BBR's least window is four.
        let first = events.iter().find_map(|(at, event)| match event {
            Event::AckArrived(ack) if at.0 > 4_000_000_000 => Some(ack.cwnd.0),
            _ => None,
        });
        assert!(first.is_some_and(|cwnd| cwnd <= 4 * DATAGRAM), "{controller}: {first:?}");
    }
}
