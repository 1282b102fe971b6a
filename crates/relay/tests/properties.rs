//! Whatever a discipline is shown: it does not panic, and it does not keep the near side waiting for ever.

use ackclock_relay::{
    CodelWindowConfig, CreditConfig, Discipline, DisciplineConfig, DrainRateConfig, EceDropTailConfig,
    EceIntervalConfig, EceRedConfig, FarSide, NotSentConfig, Readings,
};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use proptest::prelude::*;

fn all() -> [DisciplineConfig; 8] {
    [
        DisciplineConfig::Socket,
        DisciplineConfig::EceInterval(EceIntervalConfig::default()),
        DisciplineConfig::EceDropTail(EceDropTailConfig::default()),
        DisciplineConfig::EceRed(EceRedConfig::default()),
        DisciplineConfig::DrainRate(DrainRateConfig::default()),
        DisciplineConfig::CodelWindow(CodelWindowConfig::default()),
        DisciplineConfig::NotSent(NotSentConfig::default()),
        DisciplineConfig::Credit(CreditConfig::default()),
    ]
}

/// Events between two updates. Anything may come out of it that the counts allow.
#[derive(Clone, Debug)]
struct Step {
    pause: u64,
    arrives: u64,
    /// Parts of the octets at hand, in thousandths: sent, acknowledged, in the pipe, sent again.
    sends: u64,
    acknowledges: u64,
    in_pipe: u64,
    again: u64,
    cwnd: u64,
    rwnd: u64,
    srtt: u64,
    paced: Option<u64>,
    slow_start: bool,
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..3000_u64, 0..10_000_000_u64, 0..(1_u64 << 50)]
}

fn step() -> impl Strategy<Value = Step> {
    let share = || 0..=1000_u64;
    let time = || prop_oneof![Just(0), 0..10_000_000_u64, 0..(1_u64 << 50)];
    let counts = (time(), amount(), share(), share(), share(), share());
    let far = (amount(), amount(), time(), prop::option::of(1..100_000_000_000_u64), any::<bool>());
    (counts, far).prop_map(|(counts, far)| {
        let (pause, arrives, sends, acknowledges, in_pipe, again) = counts;
        let (cwnd, rwnd, srtt, paced, slow_start) = far;
        Step { pause, arrives, sends, acknowledges, in_pipe, again, cwnd, rwnd, srtt, paced, slow_start }
    })
}

fn part(of: u64, thousandths: u64) -> u64 {
    (u128::from(of) * u128::from(thousandths) / 1000) as u64
}

fn take(readings: &mut Readings, step: &Step) {
    readings.now += SimDuration(step.pause);
    readings.arrived += Bytes(step.arrives);
    let sends = part(readings.arrived.0 - readings.sent.0, step.sends);
    readings.sent += Bytes(sends);
    readings.written = readings.sent;
    let outstanding = readings.sent.0 - readings.acknowledged.0;
    readings.acknowledged += Bytes(part(outstanding, step.acknowledges));
    let outstanding = readings.sent.0 - readings.acknowledged.0;
    readings.retransmitted += Bytes(part(outstanding, step.again));
    readings.near_rtt = SimDuration(2_000_000);
    readings.near_mss = Bytes(1448);
    readings.far = FarSide {
        srtt: SimDuration(step.srtt),
        min_rtt: SimDuration(step.srtt / 2),
        mss: Bytes(1448),
        cwnd: Bytes(step.cwnd),
        pipe: Bytes(part(outstanding, step.in_pipe)),
        to_repair: Bytes(part(outstanding, 1000 - step.in_pipe)),
        is_in_slow_start: step.slow_start,
        pacing_rate: step.paced.map(Bandwidth),
        rwnd: Bytes(step.rwnd),
    };
}

/// Everything is sent on and acknowledged, and the far side could send: an RTT later the near side may.
fn settle(readings: &mut Readings) {
    readings.sent = readings.arrived;
    readings.written = readings.arrived;
    readings.acknowledged = readings.arrived;
    readings.now += SimDuration::from_secs(1);
    readings.far.srtt = SimDuration::from_millis(50);
    readings.far.pipe = Bytes::ZERO;
    readings.far.to_repair = Bytes::ZERO;
    readings.far.cwnd = readings.far.cwnd.max(Bytes(1448));
    readings.far.rwnd = readings.far.rwnd.max(Bytes(1448));
}

proptest! {
    #[test]
    fn an_idle_far_side_with_room_lets_the_near_side_send(steps in prop::collection::vec(step(), 1..60), which in 0..8_usize) {
        let mut discipline = Discipline::new(&all()[which], 1);
        let mut readings = Readings { now: SimTime(1_000_000_000), ..Readings::default() };
        for step in &steps {
            take(&mut readings, step);
            let orders = discipline.update(&readings);
            prop_assert!(orders.not_sent.is_none_or(|low_water| low_water > Bytes::ZERO));
        }
        settle(&mut readings);
        let window = discipline.update(&readings).window.unwrap_or(Bytes(1448));
        prop_assert!(window >= Bytes(1448), "a window of {window}");
    }

    #[test]
    fn what_asks_to_be_woken_is_woken_later(steps in prop::collection::vec(step(), 1..60), which in 0..8_usize) {
        let mut discipline = Discipline::new(&all()[which], 1);
        let mut readings = Readings { now: SimTime(1_000_000_000), ..Readings::default() };
        for step in &steps {
            take(&mut readings, step);
            let orders = discipline.update(&readings);
            prop_assert!(orders.wake_at.is_none_or(|at| at > readings.now), "at {:?} for {:?}", readings.now, orders.wake_at);
        }
    }
}
