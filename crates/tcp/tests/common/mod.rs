//! Two endpoints and a virtual clock, stepped to whatever happens next.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "fuzz targets use a part")]

use ackclock_cc::{ControllerConfig, RenoConfig};
use ackclock_tcp::{
    AckControlConfig, BurstConfig, Counting, CwndValidation, DecreaseFrom, DelayedAck, EcnConfig, EcnMode, Endpoint,
    IdleRestart, LossDetection, LossRecovery, Nagle, PacedBy, PacingConfig, Reading, RtoConfig, RtoEstimator,
    SmallQueues, TcpConfig, UndoConfig,
};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::{Ecn, Segment};

pub const MSS: u32 = 1_000;
pub const OPENER: usize = 0;
pub const ACCEPTOR: usize = 1;

/// Configuration of most tests: data segments of 1000 octets, no timestamps, an ACK for every segment, Reno.
pub fn plain() -> TcpConfig {
    TcpConfig {
        mss: MSS,
        timestamps: false,
        initial_window: Bytes(10 * u64::from(MSS)),
        delayed_ack: DelayedAck {
            segments: 1,
            timeout: SimDuration::from_millis(200),
            ..TcpConfig::default().delayed_ack
        },
        ..TcpConfig::default()
    }
}

/// Same as [`plain`], with a window that never changes: RFC 5681's duplicate ACKs all carry the same one.
pub fn with_recovery(loss_recovery: LossRecovery) -> TcpConfig {
    TcpConfig { loss_recovery, window_scaling: false, receive_buffer: Bytes(65_535), ..plain() }
}

/// A connection after 200 segments, one every 100 ms. RTTs of 400 ms leave a deviation of nothing: RTO is hardly more
/// than they are. From the 151st on they are 440 ms: an ACK still comes 140 ms after the one before it, and 100 ms after
/// each that follows.
pub fn with_growing_round_trip(config: &TcpConfig) -> Pair {
    let ms = SimDuration::from_millis;
    let mut pair = Pair::new(config, config);
    pair.one_way = ms(200);
    pair.open();
    for segment in 0..200 {
        if segment == 150 {
            pair.one_way = ms(220);
        }
        pair.write(OPENER, 1_000);
        pair.run_for(ms(100));
    }
    pair.run_for(ms(1_000));
    pair
}

/// Everything that a host of today does, where `some` says so.
pub fn switches(recovery: LossRecovery, some: u32) -> TcpConfig {
    let is = |bit: u32| some & (1 << bit) != 0;
    let plain = with_recovery(recovery);
    TcpConfig {
        prr: is(0),
        counting: if is(1) { Counting::Segments } else { Counting::Octets },
        loss_detection: match (is(2), is(24)) {
            (true, _) => LossDetection::Rack,
            (false, true) => LossDetection::Fack,
            (false, false) => LossDetection::DupAcks,
        },
        rate_halving: is(24),
        tlp: is(3),
        undo: UndoConfig { eifel: is(4), dsack: is(5), frto: is(6) },
        timestamps: is(7),
        decrease_from: if is(8) { DecreaseFrom::Cwnd } else { DecreaseFrom::FlightSize },
        dup_acks_as_sacks: is(9),
        sack: is(10),
        limited_transmit: is(11),
        nagle: if is(12) { Nagle::Minshall } else { Nagle::Off },
        bursts: BurstConfig { enabled: is(13), ..plain.bursts },
        pacing: PacingConfig {
            enabled: is(14) || is(23),
            by: if is(23) { PacedBy::Fq } else { PacedBy::Tcp },
            ..plain.pacing
        },
        small_queues: is(23).then(SmallQueues::default),
        max_dup_thresh: if is(15) { 300 } else { 3 },
        idle_restart: if is(16) { IdleRestart::Linux } else { IdleRestart::Off },
        cwnd_validation: if is(17) { CwndValidation::Linux } else { CwndValidation::Rfc7661 },
        rto: RtoConfig::of(if is(18) { RtoEstimator::Linux } else { RtoEstimator::Rfc6298 }),
        ecn: EcnConfig {
            mode: if is(19) { EcnMode::Request } else { EcnMode::Off },
            accurate: is(20),
            accurate_option: is(20),
            ect1: false,
            dctcp_feedback: is(21),
            fallback: false,
        },
        ack_control: is(22).then_some(AckControlConfig { max_ratio: 255 }),
        ..plain
    }
}

/// Says whether a segment is lost on the way.
pub type Drops = Box<dyn FnMut(usize, usize, &Segment) -> bool>;

/// Says whether a segment is marked on the way.
pub type Marks = Box<dyn FnMut(usize, &Segment) -> bool>;

/// A segment seen on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub time: SimTime,
    pub from: usize,
    pub segment: Segment,
    pub dropped: bool,
}

pub struct Pair {
    pub ends: [Endpoint; 2],
    pub now: SimTime,
    pub one_way: SimDuration,
    /// Drops a segment: `(sender, how many segments that end has sent before, segment)`.
    pub drop: Drops,
    /// Marks a segment that is ECN-capable.
    pub mark: Marks,
    pub seen: Vec<Seen>,
    wire: Vec<(SimTime, usize, Segment)>,
    sent: [usize; 2],
}

impl Pair {
    pub fn new(opener: &TcpConfig, acceptor: &TcpConfig) -> Self {
        Self::with_reader(opener, acceptor, None)
    }

    pub fn with_reader(opener: &TcpConfig, acceptor: &TcpConfig, read_rate: Option<Bandwidth>) -> Self {
        let reno = ControllerConfig::Reno(RenoConfig::default());
        let mut ends = [Endpoint::new(*opener, &reno, Reading::AtOnce), Endpoint::new(*acceptor, &reno, read_rate)];
        ends[ACCEPTOR].listen();
        Self {
            ends,
            now: SimTime::ZERO,
            one_way: SimDuration::from_millis(50),
            drop: Box::new(|_, _, _| false),
            mark: Box::new(|_, _| false),
            seen: Vec::new(),
            wire: Vec::new(),
            sent: [0; 2],
        }
    }

    /// Runs `call` on one end and puts what it sends on the wire.
    pub fn call(&mut self, end: usize, call: impl FnOnce(&mut Endpoint, SimTime, &mut Vec<Segment>)) {
        let mut out = Vec::new();
        call(&mut self.ends[end], self.now, &mut out);
        for mut segment in out {
            let dropped = (self.drop)(end, self.sent[end], &segment);
            self.sent[end] += 1;
            self.seen.push(Seen { time: self.now, from: end, segment, dropped });
            if segment.ecn != Ecn::NotEct && (self.mark)(end, &segment) {
                segment.ecn = Ecn::Ce;
            }
            if !dropped {
                self.wire.push((self.now + self.one_way, 1 - end, segment));
            }
        }
    }

    pub fn open(&mut self) {
        self.call(OPENER, ackclock_tcp::Endpoint::connect);
        self.run_for(self.one_way * 4);
    }

    pub fn write(&mut self, end: usize, octets: u64) {
        self.call(end, |end, now, out| end.write(now, Bytes(octets), out));
    }

    pub fn close(&mut self, end: usize) {
        self.call(end, ackclock_tcp::Endpoint::close);
    }

    pub fn run_for(&mut self, span: SimDuration) {
        let until = self.now + span;
        while self.step(until) {}
        self.now = until;
    }

    /// Handles what comes next, if it comes by `until`.
    fn step(&mut self, until: SimTime) -> bool {
        let arrival = self.wire.first().map_or(SimTime::NEVER, |(time, _, _)| *time);
        let timers = [self.ends[0].deadline(), self.ends[1].deadline()];
        let next = arrival.min(timers[0]).min(timers[1]).max(self.now);
        if next > until || next == SimTime::NEVER {
            return false;
        }
        self.now = next;
        if arrival <= next {
            let (_, to, segment) = self.wire.remove(0);
            self.call(to, |end, now, out| end.on_segment(now, &segment, out));
        } else {
            let end = usize::from(timers[0] > timers[1]);
            self.call(end, ackclock_tcp::Endpoint::on_timer);
        }
        true
    }

    /// Data segments that `end` sent, as `(ms, seq, payload)`.
    pub fn data_sent(&self, end: usize) -> Vec<(u64, u32, u32)> {
        let data = self.seen.iter().filter(|seen| seen.from == end && seen.segment.payload > 0);
        data.map(|seen| (seen.time.0 / 1_000_000, seen.segment.seq.0, seen.segment.payload)).collect()
    }
}
