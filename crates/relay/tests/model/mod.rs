//! A model of both sides of a relay, by packets in steps of time: a sender that sends any advertised window, and a far
//! side with an ACK clock over a bottleneck with a queue. No TCP: no timeouts, no limits but the window.

use std::collections::VecDeque;

use ackclock_relay::{Discipline, DisciplineConfig, Readings};
use ackclock_units::{Bandwidth, Bytes, Histogram, RandomStream, SimDuration, SimTime};

pub(crate) const SEGMENT: u64 = 1000;
const STEP: SimDuration = SimDuration::from_micros(20);
const NEAR_RTT: SimDuration = SimDuration::from_millis(2);

/// The far side's path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Before and after half the run.
    pub(crate) rates: [Bandwidth; 2],
    pub(crate) rtt: SimDuration,
    /// Limit of the bottleneck's queue, in octets.
    pub(crate) queue: u64,
    /// Probability that a packet is lost.
    pub(crate) loss: f64,
    /// Length of the run.
    pub(crate) length: SimDuration,
}

/// Result of a discipline on a path.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Octets that the far end has.
    pub(crate) delivered: u64,
    /// Waiting time of octets, arrival to first departure, in nanoseconds.
    pub(crate) waited: Histogram,
}

impl Measured {
    /// The 99th percentile of waiting, in milliseconds.
    pub(crate) fn p99_ms(&self) -> f64 {
        self.waited.quantile(0.99) / 1e6
    }
}

/// Octets on their way from one place to another, in order of arrival.
type Delay<T> = VecDeque<(SimTime, T)>;

fn due<T>(line: &mut Delay<T>, now: SimTime) -> Option<T> {
    if line.front()?.0 > now {
        return None;
    }
    line.pop_front().map(|(_, what)| what)
}

#[derive(Clone, Copy)]
enum Fate {
    Delivered,
    Lost,
}

struct World {
    path: Path,
    discipline: Discipline,
    random: RandomStream,
    readings: Readings,
    ssthresh: u64,
    /// No second cut before this.
    next_cut: SimTime,
    /// Octets in the bottleneck's queue, and what it may still send in this step, in octets times a thousand.
    queue: VecDeque<()>,
    budget: u64,
    outcomes: Delay<Fate>,
    edge: u64,
    windows: Delay<u64>,
    near_sent: u64,
    arriving: Delay<()>,
    waiting: VecDeque<SimTime>,
    wake_at: Option<SimTime>,
    measured: Measured,
}

/// Runs a discipline over a path.
pub(crate) fn run(config: &DisciplineConfig, path: Path) -> Measured {
    let mut readings = Readings { near_rtt: NEAR_RTT, near_mss: Bytes(SEGMENT), ..Readings::default() };
    readings.now = SimTime::ZERO + SimDuration::from_secs(1);
    readings.far.srtt = path.rtt;
    readings.far.min_rtt = path.rtt;
    readings.far.mss = Bytes(SEGMENT);
    readings.far.cwnd = Bytes(10 * SEGMENT);
    readings.far.rwnd = Bytes(1 << 40);
    readings.far.is_in_slow_start = true;
    let mut world = World {
        path,
        discipline: Discipline::new(config, 1),
        random: RandomStream::new(1, "loss"),
        readings,
        ssthresh: u64::MAX,
        next_cut: SimTime::ZERO,
        queue: VecDeque::new(),
        budget: 0,
        outcomes: VecDeque::new(),
        edge: 0,
        windows: VecDeque::new(),
        near_sent: 0,
        arriving: VecDeque::new(),
        waiting: VecDeque::new(),
        wake_at: None,
        measured: Measured { delivered: 0, waited: Histogram::default() },
    };
    world.ask();
    let begin = world.readings.now;
    while world.readings.now < begin + path.length {
        world.step(begin);
    }
    world.measured
}

impl World {
    fn step(&mut self, begin: SimTime) {
        let now = self.readings.now;
        self.serve(begin);
        let mut is_news = self.wake_at.is_some_and(|at| at <= now);
        while let Some(fate) = due(&mut self.outcomes, now) {
            self.feedback(fate);
            is_news = true;
        }
        while due(&mut self.arriving, now).is_some() {
            self.readings.arrived += Bytes(SEGMENT);
            self.waiting.push_back(now);
            is_news = true;
        }
        is_news |= self.send();
        if is_news {
            self.ask();
        }
        self.near();
        self.readings.now += STEP;
    }

    /// The bottleneck sends for a step, and what it sent is acknowledged a round trip later.
    fn serve(&mut self, begin: SimTime) {
        let is_second_half = self.readings.now >= begin + self.path.length / 2;
        let rate = self.path.rates[usize::from(is_second_half)];
        self.budget += rate.0 / 8 * STEP.0 / 1_000_000;
        while self.budget >= SEGMENT * 1000 && self.queue.pop_front().is_some() {
            self.budget -= SEGMENT * 1000;
            let fate = if self.random.chance(self.path.loss) { Fate::Lost } else { Fate::Delivered };
            self.outcomes.push_back((self.readings.now + self.path.rtt, fate));
        }
        if self.queue.is_empty() {
            self.budget = self.budget.min(SEGMENT * 1000);
        }
    }

    fn feedback(&mut self, fate: Fate) {
        let far = &mut self.readings.far;
        far.pipe = far.pipe.saturating_sub(Bytes(SEGMENT));
        match fate {
            Fate::Delivered => {
                self.readings.acknowledged += Bytes(SEGMENT);
                self.measured.delivered += SEGMENT;
                let grown = if far.cwnd.0 < self.ssthresh { SEGMENT } else { SEGMENT * SEGMENT / far.cwnd.0 };
                far.cwnd += Bytes(grown);
            }
            Fate::Lost => {
                far.to_repair += Bytes(SEGMENT);
                if self.readings.now >= self.next_cut {
                    far.cwnd = Bytes((far.cwnd.0 / 2).max(2 * SEGMENT));
                    self.ssthresh = far.cwnd.0;
                    self.next_cut = self.readings.now + self.path.rtt;
                }
            }
        }
        far.is_in_slow_start = far.cwnd.0 < self.ssthresh;
    }

    /// The far side sends what its window lets it, repairs first. True if it sent.
    fn send(&mut self) -> bool {
        let mut has_sent = false;
        while self.readings.far.pipe.0 + SEGMENT <= self.readings.far.cwnd.0 {
            if self.readings.far.to_repair > Bytes::ZERO {
                self.readings.far.to_repair -= Bytes(SEGMENT);
                self.readings.retransmitted += Bytes(SEGMENT);
            } else if let Some(since) = self.waiting.pop_front() {
                self.measured.waited.add((self.readings.now - since).0);
                self.readings.sent += Bytes(SEGMENT);
                self.readings.written = self.readings.sent;
            } else {
                break;
            }
            has_sent = true;
            self.readings.far.pipe += Bytes(SEGMENT);
            if self.queue.len() as u64 * SEGMENT < self.path.queue {
                self.queue.push_back(());
            } else {
                // The loss shows when what is behind it has come through the queue.
                let at = self.readings.now + self.path.rtt;
                let at = self.outcomes.back().map_or(at, |last| last.0.max(at));
                self.outcomes.push_back((at, Fate::Lost));
            }
        }
        has_sent
    }

    fn ask(&mut self) {
        let orders = self.discipline.update(&self.readings);
        self.wake_at = orders.wake_at;
        let edge = self.readings.arrived.0 + orders.window.map_or(1 << 40, |window| window.0);
        if edge > self.edge {
            self.edge = edge;
            self.windows.push_back((self.readings.now + NEAR_RTT / 2, edge));
        }
    }

    /// The near side hears of windows, and sends.
    fn near(&mut self) {
        let now = self.readings.now;
        while let Some(edge) = due(&mut self.windows, now) {
            // 10 Gbit/s at most: 25 segments in a step, and no more than this to come
            while self.near_sent + SEGMENT <= edge && self.arriving.len() < 5000 {
                self.near_sent += SEGMENT;
                self.arriving.push_back((now + NEAR_RTT / 2, ()));
            }
        }
    }
}
