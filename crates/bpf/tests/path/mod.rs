//! Events for two controllers side by side: a sender that always has data, a link with a short queue, an ACK path that jams
//! now and then. The window of the one in Rust decides what is sent, so that every event is one that could be.

use std::collections::VecDeque;

use ackclock_bpf::{Ack, Event};
use ackclock_cc::delivery::DeliveryReport;
use ackclock_cc::{
    AckEvent, CongestionCause, CongestionController, CongestionEvent, Controller, RestartCause, RestartEvent, RttStats,
    SegmentTimestamps, SendEvent,
};
use ackclock_units::{Bytes, SimDuration, SimTime};

pub(crate) const MSS: u64 = 1_448;
const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;

/// Properties of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) per_segment_ns: u64,
    pub(crate) rtt_ns: u64,
    /// Segments that wait at most.
    pub(crate) queue: u64,
    /// Number of ACKs, each for one to eight segments.
    pub(crate) acks: u32,
    /// One of this many losses is found by the timer; and of the losses within an episode.
    pub(crate) timeout_of: u64,
    /// The application pauses at one of this many ACKs; 0: never.
    pub(crate) pause_of: u64,
    pub(crate) seed: u64,
}

/// One event, in the form for each side.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    Ack(Box<AckEvent>),
    Congestion(CongestionEvent),
    /// The timer expires within an episode.
    TimeoutWithin(SimTime),
    /// Data leaves after a pause.
    Idle(SendEvent),
}

/// A segment under way: its number, when it left, when it reaches the receiver; `None` if the queue had no room.
#[derive(Clone, Copy, Debug)]
struct Segment {
    sent: u64,
    arrives: Option<u64>,
}

pub(crate) struct Sender {
    path: Path,
    random: u64,
    now: u64,
    link_free_at: u64,
    flight: VecDeque<Segment>,
    una: u64,
    nxt: u64,
    round: u64,
    round_end: u64,
    /// Until this number is acknowledged, losses are of the episode under way.
    recovery_end: Option<u64>,
    /// The application has nothing to send until all has arrived.
    pauses: bool,
    srtt: u64,
    least: u64,
}

impl Sender {
    pub(crate) fn new(path: Path) -> Self {
        Self {
            path,
            random: path.seed | 1,
            now: 1_000 * MILLISECOND,
            link_free_at: 0,
            flight: VecDeque::new(),
            una: 0,
            nxt: 0,
            round: 0,
            round_end: 0,
            recovery_end: None,
            pauses: false,
            srtt: 0,
            least: u64::MAX,
        }
    }

    /// Random number by xorshift64 (Marsaglia 2003).
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn send(&mut self, cwnd: u64) {
        while (self.flight.len() as u64) < cwnd.max(1) {
            let waiting = self.link_free_at.saturating_sub(self.now) / self.path.per_segment_ns;
            let arrives = (waiting <= self.path.queue).then(|| {
                self.link_free_at = self.link_free_at.max(self.now) + self.path.per_segment_ns;
                self.link_free_at + self.path.rtt_ns / 2
            });
            self.flight.push_back(Segment { sent: self.now, arrives });
            self.nxt += 1;
        }
    }

    /// Delay of the reverse path, which is longer for a fifth of the time.
    fn back(&self) -> u64 {
        let jam = if (self.now / (200 * MILLISECOND)).is_multiple_of(5) { 17 * MILLISECOND } else { 0 };
        self.path.rtt_ns / 2 + jam
    }

    /// Next events of a flow with this window, octets.
    pub(crate) fn next(&mut self, cwnd: u64) -> Vec<Happening> {
        if self.pauses && self.flight.is_empty() {
            return vec![Happening::Idle(self.go_on())];
        }
        if !self.pauses {
            self.send(cwnd / MSS);
            self.pauses = self.path.pause_of > 0 && self.draw(self.path.pause_of) == 0;
        }
        let most = 1 + self.draw(2) + if self.draw(20) == 0 { self.draw(7) } else { 0 };
        let arrived = self.flight.iter().take_while(|segment| segment.arrives.is_some()).count() as u64;
        if arrived == 0 {
            return self.lose(cwnd);
        }
        let acked = most.min(arrived);
        let first = self.flight[0];
        let mut last = first;
        for _ in 0..acked {
            last = self.flight.pop_front().expect("counted");
        }
        self.una += acked;
        let received = last.arrives.expect("counted");
        self.now = self.now.max(received + self.back()) / MICROSECOND * MICROSECOND;
        vec![Happening::Ack(Box::new(self.ack(acked, first.sent, last.sent, received)))]
    }

    fn go_on(&mut self) -> SendEvent {
        let idle_for = SimDuration(300 * MILLISECOND);
        (self.pauses, self.now) = (false, self.now + idle_for.0);
        let (size, flight_size, snd_nxt) = (Bytes(MSS), Bytes(MSS), self.nxt * MSS);
        SendEvent { now: SimTime(self.now), size, flight_size, snd_nxt, idle_for, is_app_limited: true }
    }

    fn ack(&mut self, acked: u64, first_sent: u64, last_sent: u64, received: u64) -> AckEvent {
        let rtt = (self.now - last_sent) / MICROSECOND * MICROSECOND;
        self.srtt = if self.srtt == 0 { rtt } else { (7 * self.srtt + rtt) / 8 };
        self.least = self.least.min(rtt);
        if self.una >= self.round_end {
            self.round += 1;
            self.round_end = self.nxt;
        }
        let in_recovery = self.recovery_end.is_some();
        self.recovery_end = self.recovery_end.filter(|end| self.una < *end);
        let is_cwnd_limited = self.draw(50) != 0;
        AckEvent {
            now: SimTime(self.now),
            newly_acked: Bytes(acked * MSS),
            is_cumulative: true,
            newly_lost: Bytes::ZERO,
            lost_before: Bytes::ZERO,
            newly_ce_marked: Bytes::ZERO,
            prior_flight_size: Bytes((self.flight.len() as u64 + acked) * MSS),
            snd_una: self.una * MSS,
            snd_nxt: self.nxt * MSS,
            rtt_sample: Some(SimDuration(rtt)),
            rtt: RttStats {
                latest: SimDuration(rtt),
                srtt: SimDuration(self.srtt),
                rttvar: SimDuration::ZERO,
                min_rtt: SimDuration(self.least),
            },
            timestamps: Some(SegmentTimestamps {
                tsval: 77_u32.wrapping_add((received / MILLISECOND) as u32),
                tsecr: (first_sent / MILLISECOND) as u32,
                arrival: (self.now / MILLISECOND) as u32,
                tick: SimDuration(MILLISECOND),
            }),
            is_cwnd_limited,
            in_recovery,
            growth: ackclock_cc::Growth::of_facts(true, is_cwnd_limited, in_recovery),
            reduced_window: None,
            round: self.round,
            is_paced: false,
            delivery: None::<DeliveryReport>,
        }
    }

    /// The first in flight is lost: all that are, are repaired, and an episode begins unless one is under way.
    fn lose(&mut self, cwnd: u64) -> Vec<Happening> {
        let rtt = self.path.rtt_ns;
        self.now = (self.now + self.path.per_segment_ns) / MICROSECOND * MICROSECOND;
        let arrives = Some(self.now + rtt / 2);
        for segment in self.flight.iter_mut().filter(|segment| segment.arrives.is_none()) {
            *segment = Segment { sent: self.now, arrives };
        }
        self.link_free_at = self.link_free_at.max(self.now);
        let is_timeout = self.draw(self.path.timeout_of) == 0;
        if self.recovery_end.is_some() {
            if !is_timeout {
                return Vec::new();
            }
            self.recovery_end = None; // it is a repair after a timeout from here on
            return vec![Happening::TimeoutWithin(SimTime(self.now))];
        }
        self.recovery_end = (!is_timeout).then_some(self.nxt);
        let cause = if is_timeout { CongestionCause::Timeout { repeated: false } } else { CongestionCause::Loss };
        let flight_size = Bytes(cwnd);
        let newly_lost = Bytes(MSS);
        vec![Happening::Congestion(CongestionEvent {
            now: SimTime(self.now),
            cause,
            flight_size,
            decrease_from: flight_size,
            newly_lost,
            inflight: flight_size,
        })]
    }
}

/// Sends an event to the controller in Rust; a timeout restarts its window at one segment, as the stack does.
pub(crate) fn tell(controller: &mut Controller, happening: &Happening) {
    match happening {
        Happening::Ack(ack) => controller.on_ack(ack),
        Happening::Congestion(event) => {
            controller.on_congestion(event);
            if event.is_timeout() {
                restart(controller, event.now);
            }
        }
        Happening::TimeoutWithin(now) => restart(controller, *now),
        Happening::Idle(sent) => controller.on_send(sent),
    }
}

fn restart(controller: &mut Controller, now: SimTime) {
    controller.on_restart(&RestartEvent { now, cause: RestartCause::Timeout, window: Bytes(MSS), ssthresh: None });
}

/// The event in the form for the rules in C.
pub(crate) fn translate(happening: &Happening) -> (Event, Ack) {
    match happening {
        Happening::Ack(ack) => (Event::Ack, translate_ack(ack)),
        Happening::Congestion(event) => {
            let kind = if event.is_timeout() { Event::Timeout } else { Event::Loss };
            (kind, Ack { now_ns: event.now.0, ..Ack::default() })
        }
        Happening::TimeoutWithin(now) => (Event::TimeoutWithin, Ack { now_ns: now.0, ..Ack::default() }),
        Happening::Idle(sent) => (Event::Idle, Ack { now_ns: sent.now.0, ..Ack::default() }),
    }
}

fn translate_ack(ack: &AckEvent) -> Ack {
    let stamps = ack.timestamps.expect("every ACK here has them");
    Ack {
        now_ns: ack.now.0,
        rtt_ns: ack.rtt_sample.map_or(0, |rtt| rtt.0),
        srtt_ns: ack.rtt.srtt.0,
        acked: (ack.newly_acked.0 / MSS) as u32,
        lost: (ack.newly_lost.0 / MSS) as u32,
        round: ack.round as u32,
        tsval: stamps.tsval,
        tsecr: stamps.tsecr,
        arrival: stamps.arrival,
        tick_ns: stamps.tick.0 as u32,
        is_cumulative: u8::from(ack.is_cumulative),
        is_cwnd_limited: u8::from(ack.is_cwnd_limited),
        in_recovery: u8::from(ack.in_recovery),
        padding: 0,
    }
}
