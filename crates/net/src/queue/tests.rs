//! Invariants of every discipline towards its link.

use ackclock_declare::{Context, Table};
use ackclock_units::{Bytes, SimDuration};
use ackclock_wire::{Ecn, Segment};
use proptest::prelude::*;

use super::*;
use crate::config::{DropTailConfig, PacketClass, QueueLimit, SgpqConfig};
use crate::ids::HopIndex;
use crate::queue::testing::receiver;

/// Every discipline; those that are listed below have room for twelve packets, so that they are often full.
pub(crate) fn every_discipline() -> Vec<QueueConfig> {
    let kind = std::mem::discriminant::<QueueConfig>;
    let mut all = full_disciplines();
    for part in queues() {
        let default = part.read(&Table::new(), &Context::default()).config;
        if all.iter().all(|listed| kind(listed) != kind(&default)) {
            all.push(default);
        }
    }
    all
}

/// Disciplines with room for twelve packets.
fn full_disciplines() -> Vec<QueueConfig> {
    let limit = QueueLimit::Packets(12);
    let red = RedConfig { weight: Some(0.5), ecn: true, limit, ..RedConfig::default() };
    let band = |class| BandConfig { class, flows: None, largest: None, limit: QueueLimit::Packets(6) };
    let bands = vec![band(PacketClass::Acks), band(PacketClass::Any)];
    let shared = |sharing| QueueConfig::SharedBuffer(SharedBufferConfig { sharing, quantum: Bytes(500), limit });
    let mut all = vec![
        QueueConfig::DropTail(DropTailConfig { limit }),
        QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Bytes(Bytes(9_000)) }),
        QueueConfig::Sgpq(SgpqConfig { threshold: Bytes(80), small_limit: limit, limit }),
        QueueConfig::Threshold(ThresholdConfig { threshold: QueueLimit::Packets(3), limit }),
        QueueConfig::Red(RedConfig { adaptive: true, ..red }),
        QueueConfig::Red(RedConfig {
            min_threshold: Some(QueueLimit::Bytes(Bytes(2_000))),
            max_threshold: Some(QueueLimit::Bytes(Bytes(6_000))),
            gentle: false,
            ..red
        }),
        QueueConfig::Tbf(TbfConfig { rate: Bandwidth(1_000_000), burst: Bytes(3_000), limit }),
        QueueConfig::Priority(PriorityConfig { bands }),
        QueueConfig::Drr(DrrConfig { quantum: Bytes(500), limit }),
        QueueConfig::Sfq(SfqConfig { buckets: 3, perturb: SimDuration::from_millis(7), limit, ..SfqConfig::default() }),
        QueueConfig::Fq(FqConfig { limit: QueueLimit::Bytes(Bytes(9_000)), ..FqConfig::default() }),
        QueueConfig::Fq(FqConfig { variant: FqVariant::Linux, limit }),
        shared(Sharing::LongestQueueDrop),
        shared(Sharing::DynamicThreshold { alpha: 2.0 }),
        QueueConfig::Abc(AbcQueueConfig { limit, delay_threshold: SimDuration::ZERO, ..AbcQueueConfig::default() }),
    ];
    all.extend(delay_managers(limit));
    all
}

/// The disciplines that manage delay, so eager that they drop and mark within the few packets of the test.
fn delay_managers(limit: QueueLimit) -> Vec<QueueConfig> {
    let (short, soon) = (SimDuration::from_millis(1), SimDuration::from_millis(3));
    let quantum = Bytes(500);
    let codel = |ecn| CodelParameters {
        target: short,
        interval: soon,
        ecn,
        ce_threshold: Some(soon),
        ..CodelParameters::default()
    };
    let pie = PieParameters {
        target: short,
        t_update: short,
        alpha: 100.0,
        max_burst: SimDuration::ZERO,
        mean_packet: Bytes(100),
        ..PieParameters::default()
    };
    let shaper = ShaperConfig { rate: Some(Bandwidth(1_000_000)), ..ShaperConfig::default() };
    let dual = DualPi2Config { limit, target: short, rtt_max: soon, ..DualPi2Config::default() };
    let time_shifted = DualScheduler::TimeShifted;
    vec![
        QueueConfig::Codel(CodelConfig { limit, control: codel(false) }),
        QueueConfig::Codel(CodelConfig { limit, control: codel(true) }),
        QueueConfig::FqCodel(FqCodelConfig {
            limit,
            flows: 3,
            quantum,
            control: codel(false),
            ..FqCodelConfig::default()
        }),
        QueueConfig::FqCodel(FqCodelConfig { memory_limit: Bytes(3_000), ..FqCodelConfig::default() }),
        QueueConfig::Pie(PieConfig { limit, control: pie }),
        QueueConfig::Pie(PieConfig { limit, control: PieParameters { delay: DelayEstimate::DepartureRate, ..pie } }),
        QueueConfig::FqPie(FqPieConfig { limit, flows: 3, quantum, control: pie, ..FqPieConfig::default() }),
        QueueConfig::Cake(CakeConfig {
            memory_limit: Some(Bytes(3_000)),
            flows: 8,
            rtt: soon,
            ..CakeConfig::default()
        }),
        QueueConfig::Cake(CakeConfig { shaper, rtt: soon, ecn: false, ..CakeConfig::default() }),
        QueueConfig::DualPi2(dual),
        QueueConfig::DualPi2(DualPi2Config { scheduler: time_shifted, shift: soon, ..dual }),
    ]
}

/// The account that a link keeps of a queue.
#[derive(Default)]
struct Account {
    came: u64,
    left: u64,
    octets_came: u64,
    octets_left: u64,
    /// The number of the last packet that left, of each flow and kind.
    last: [[HopIndex; 2]; 4],
}

impl Account {
    fn on_left(&mut self, queued: &Queued) -> Result<(), TestCaseError> {
        self.left += 1;
        self.octets_left += queued.octets;
        // disciplines that tell small packets or ACKs apart keep the order of each kind
        let kind = usize::from(!queued.packet.has_data());
        let last = &mut self.last[queued.packet.connection().index()][kind];
        prop_assert!(queued.packet.hop > *last, "flow {} was reordered", queued.packet.connection().index());
        *last = queued.packet.hop;
        Ok(())
    }
}

pub(crate) fn packet(flow: u32, payload: u32, number: u32, now: SimTime) -> Queued {
    let segment = Segment { payload, ecn: Ecn::Ect0, ..Segment::default() };
    let packet = Packet { hop: HopIndex::new(number as usize), ..Packet::tcp(segment, receiver(flow)) };
    Queued { packet, octets: u64::from(packet.size) + 8, since: now }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Every packet leaves once, in its flow's order, or waits, or is counted as dropped. The reported waiting packets
    /// are those that wait; and a queue with waiting packets reports the time of a departure.
    #[test]
    fn packets_are_neither_lost_nor_made(
        steps in proptest::collection::vec((0_u64..4_000_000, 0_u32..4, proptest::bool::ANY, 0_u32..3), 1..200),
        seed in 0_u64..1_000,
    ) {
        for config in every_discipline() {
            let mut queue = Queue::new(&config, &QueuePlace { link: "test", seed }, Bandwidth(10_000_000));
            let mut account = Account::default();
            let mut now = SimTime::ZERO;
            for (number, &(gap, flow, is_ack, takes)) in (1..).zip(&steps) {
                now += SimDuration(gap);
                let arrival = packet(flow, if is_ack { 0 } else { 100 + 350 * flow }, number, now);
                account.came += 1;
                account.octets_came += arrival.octets;
                queue.enqueue(now, arrival);
                for _ in 0..takes {
                    if let Some(queued) = queue.dequeue(now) {
                        account.on_left(&queued)?;
                    } else if let Some(ready) = queue.ready_at(now) {
                        prop_assert!(ready > now && !queue.is_empty(), "{config:?} is ready and gives nothing");
                    }
                }
                let waiting = queue.len() as u64;
                prop_assert_eq!(account.came, account.left + waiting + queue.counters().drops, "{:?}", config);
                prop_assert_eq!(waiting == 0, queue.octets() == 0);
                prop_assert!(queue.octets() <= account.octets_came - account.octets_left);
            }
            while let Some(ready) = queue.ready_at(now) {
                now = now.max(ready);
                if let Some(queued) = queue.dequeue(now) {
                    account.on_left(&queued)?;
                }
            }
            prop_assert_eq!((queue.len(), queue.octets()), (0, 0), "{:?}", config);
            prop_assert_eq!(account.came, account.left + queue.counters().drops, "{:?}", config);
        }
    }
}

/// The values that a discipline derives from the rate of its link follow a change of that rate.
#[test]
fn a_queue_on_a_link_that_was_changed_is_one_on_a_link_that_always_had_its_rate() {
    let place = QueuePlace { link: "test", seed: 1 };
    for config in every_discipline() {
        let always = Queue::new(&config, &place, Bandwidth(10_000_000));
        let mut changed = Queue::new(&config, &place, Bandwidth(100_000));
        changed.set_rate(SimTime::ZERO, Bandwidth(10_000_000));
        assert_eq!(format!("{changed:?}"), format!("{always:?}"), "{config:?}");
    }
}
