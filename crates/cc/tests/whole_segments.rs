//! Tests that Linux's variants hold whole segments after any events.

use ackclock_cc::{
    AckEvent, CongestionCause, CongestionController, CongestionEvent, Controller, ControllerConfig, CubicConfig,
    Hystart, Increase, RenoConfig, SendEvent,
};
use ackclock_units::{Bytes, SimDuration, SimTime};
use proptest::prelude::*;

const MSS: u64 = 1_448;

/// An event of a sender, after some time.
#[derive(Clone, Debug)]
enum Event {
    Ack { bytes: u64, rtt_us: u64, is_paced: bool, round_ends: bool },
    Congestion(CongestionCause),
    Spurious,
    Sent,
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (1..20 * MSS, 1..400_000_u64, any::<bool>(), any::<bool>())
        .prop_map(|(bytes, rtt_us, is_paced, round_ends)| Event::Ack { bytes, rtt_us, is_paced, round_ends });
    let cause = prop_oneof![
        Just(CongestionCause::Loss),
        Just(CongestionCause::Ecn),
        any::<bool>().prop_map(|repeated| CongestionCause::Timeout { repeated }),
    ];
    prop_oneof![
        30 => ack,
        1 => cause.prop_map(Event::Congestion),
        1 => Just(Event::Spurious),
        3 => Just(Event::Sent),
    ]
}

fn config() -> impl Strategy<Value = ControllerConfig> {
    let hystart = prop_oneof![Just(Hystart::Off), Just(Hystart::Linux), Just(Hystart::Ns3), Just(Hystart::Rfc9406)];
    let beta_ecn = prop_oneof![Just(None), Just(Some(0.85))];
    (any::<bool>(), hystart, beta_ecn).prop_map(|(is_cubic, hystart, beta_ecn)| {
        if is_cubic {
            ControllerConfig::Cubic(CubicConfig { hystart, beta_ecn, ..CubicConfig::linux() })
        } else {
            let increase = Increase::Segments;
            ControllerConfig::Reno(RenoConfig { increase, hystart, beta_ecn, ..RenoConfig::default() })
        }
    })
}

fn ack(now: SimTime, controller: &Controller, bytes: u64, rtt_us: u64, is_paced: bool, round: u64) -> AckEvent {
    AckEvent {
        now,
        prior_flight_size: controller.cwnd(),
        snd_una: round * 1_000 * MSS,
        snd_nxt: round * 1_000 * MSS + controller.cwnd().0,
        round,
        is_paced,
        ..AckEvent::in_order(Bytes(bytes), SimDuration::from_micros(rtt_us))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_are_whole_segments(
        config in config(),
        events in proptest::collection::vec((0..50_000_000_u64, event()), 1..200),
    ) {
        let mut controller = Controller::new(&config, Bytes(MSS), Bytes(10 * MSS), None);
        let (mut now, mut round) = (SimTime::ZERO, 0);
        for (gap_ns, event) in events {
            now += SimDuration(gap_ns);
            let before = controller.cwnd();
            match event {
                Event::Ack { bytes, rtt_us, is_paced, round_ends } => {
                    round += u64::from(round_ends);
                    controller.on_ack(&ack(now, &controller, bytes, rtt_us, is_paced, round));
                    let grown = controller.cwnd().0 - before.0;
                    // One more segment than the ACK may come from bytes or segments counted before.
                    prop_assert!(grown <= bytes + 2 * MSS, "{before} grew by {grown} on an ACK of {bytes}");
                }
                Event::Congestion(cause) => {
                    let (flight_size, newly_lost, inflight) = (before, Bytes(MSS), before);
                    let decrease_from = flight_size;
                    controller.on_congestion(&CongestionEvent {
                        now,
                        cause,
                        flight_size,
                        decrease_from,
                        newly_lost,
                        inflight,
                    });
                    prop_assert!(controller.cwnd() <= before.max(Bytes(2 * MSS)));
                }
                Event::Spurious => {
                    controller.on_spurious(now);
                    prop_assert!(controller.cwnd() >= before);
                }
                Event::Sent => {
                    let idle_for = SimDuration(gap_ns);
                    let (size, snd_nxt, is_app_limited) = (Bytes(MSS), round * 1_000 * MSS + MSS, true);
                    controller.on_send(&SendEvent { now, size, flight_size: size, snd_nxt, idle_for, is_app_limited });
                }
            }
            prop_assert!(controller.cwnd() >= Bytes(MSS));
            prop_assert_eq!(controller.cwnd().0 % MSS, 0);
            prop_assert_eq!(controller.ssthresh().map_or(0, |bytes| bytes.0 % MSS), 0);
        }
    }
}
