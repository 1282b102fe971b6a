//! One part of each kind, as a plug-in, which the tests load and compare with the same parts in their own program.

use std::collections::VecDeque;

use ackclock_plugin::prelude::*;

declare! {
    /// The parameters of [`Fraction`].
    pub struct FractionConfig {
        /// Factor of the window on congestion.
        beta: f64 = default(0.8).above(0.0).below(1.0),
        /// Panic with the first congestion.
        panics: bool = false,
        /// Decline ECN where marks are not counted.
        declines: bool = false,
        /// A segment more every 100 ms, by the timer, and a window of its own after a timeout.
        ticking: bool = false,
    }
}

/// A segment more for each window of ACKs, a fraction less for each congestion.
#[derive(Clone, Debug)]
pub struct Fraction {
    config: FractionConfig,
    mss: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
    next_tick: SimTime,
}

impl CongestionController for Fraction {
    fn demands(&self) -> Demands {
        Demands { timer: self.config.ticking, own_loss_window: self.config.ticking, ..Demands::default() }
    }

    fn deadline(&self) -> SimTime {
        if self.config.ticking { self.next_tick } else { SimTime::NEVER }
    }

    fn on_timer(&mut self, now: SimTime) {
        self.cwnd += self.mss;
        self.next_tick = now + SimDuration::from_millis(100);
    }

    fn on_feedback(&mut self, counted: bool) -> bool {
        counted || !self.config.declines
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.may_grow() {
            let slow_start = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
            let acked = ack.newly_acked.0;
            self.cwnd += if slow_start { acked } else { (self.mss * acked / self.cwnd).max(1) };
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        assert!(!self.config.panics, "as it was asked to");
        let kept = (event.decrease_from.0 as f64 * self.config.beta) as u64;
        self.ssthresh = Some(kept.max(2 * self.mss));
        self.cwnd = if event.is_timeout() { self.mss } else { kept.max(2 * self.mss) };
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.cwnd = restart.window.0;
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(Bytes)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("beta", self.config.beta);
    }
}

declare! {
    /// The parameters of [`Coin`].
    pub struct CoinConfig {
        /// Packets that may wait.
        packets: usize = default(50_usize).at_least(1).unit("packets"),
        /// Probability that one that finds others waiting is marked, or dropped if it allows no marks.
        p: f64 = default(0.01).at_least(0.0).at_most(1.0),
    }
}

/// First in, first out, with marks or drops by chance.
#[derive(Clone, Debug)]
pub struct Coin {
    config: CoinConfig,
    random: RandomStream,
    packets: VecDeque<Queued>,
    octets: u64,
    tally: Tally,
}

impl QueueDiscipline for Coin {
    fn enqueue(&mut self, _now: SimTime, mut arrival: Queued) {
        let is_chosen = !self.packets.is_empty() && self.random.chance(self.config.p);
        let is_refused =
            self.packets.len() >= self.config.packets || (is_chosen && !self.tally.mark(&mut arrival.packet));
        if is_refused {
            return self.tally.drop(&arrival.packet);
        }
        self.octets += arrival.octets;
        self.packets.push_back(arrival);
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        let next = self.packets.pop_front()?;
        self.octets -= next.octets;
        Some(next)
    }

    fn set_rate(&mut self, _now: SimTime, _rate: Bandwidth) {}

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn octets(&self) -> u64 {
        self.octets
    }

    fn counters(&self) -> QueueCounters {
        self.tally.counters()
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }
}

declare! {
    /// The parameters of [`SlowData`].
    pub struct SlowDataConfig {
        /// Extra delay of data.
        by: SimDuration = default(SimDuration::from_millis(5)),
        /// Each packet of this number is lost; 0 loses none.
        each: u64 = 0,
    }
}

/// Delays data, and loses packets at even distances.
#[derive(Clone, Debug)]
pub struct SlowData {
    config: SlowDataConfig,
    count: u64,
}

impl LinkEffect for SlowData {
    fn on_packet(&mut self, _now: SimTime, packet: &Packet, _octets: u64) -> Fate {
        self.count += 1;
        if self.config.each > 0 && self.count.is_multiple_of(self.config.each) {
            return Fate::Lost;
        }
        let jitter = if packet.has_data() { self.config.by } else { SimDuration::ZERO };
        Fate::Arrives { jitter, held: SimDuration::ZERO, copied: false }
    }
}

declare! {
    /// The parameters of [`Bursts`].
    pub struct BurstsConfig {
        /// Octets of a burst.
        size: Bytes = default(Bytes(50_000)).at_least(Bytes(1)),
        /// Number of bursts; the connection closes after the last.
        count: u64 = required(3_u64).at_least(1),
        /// Time from one to the next; 0 s waits until the receiver has read.
        gap: SimDuration = SimDuration::ZERO,
    }
}

/// A source of bursts of data.
#[derive(Clone, Debug)]
pub struct Bursts {
    config: BurstsConfig,
    sent: u64,
}

impl TrafficSource for Bursts {
    fn next(&mut self, now: SimTime, _unsent: Bytes) -> Supply {
        self.sent += 1;
        let then = match self.config.gap {
            _ if self.sent == self.config.count => Then::Close,
            SimDuration::ZERO => Then::WhenRead,
            gap => Then::At(now + gap),
        };
        Supply { write: self.config.size, then }
    }
}

declare! {
    /// The parameters of [`Level`].
    pub struct LevelConfig {
        /// Weight of earlier values.
        kept: f64 = default(0.5).at_least(0.0).below(1.0),
    }
}

/// The number of segments that wait on the path, smoothed.
#[derive(Clone, Debug)]
pub struct Level {
    kept: f64,
    level: f64,
}

impl OwnObservation for Level {
    fn value(&mut self, values: &Values<'_>) -> f64 {
        self.level = self.kept * self.level + (1.0 - self.kept) * values.of("queued_segments");
        self.level
    }
}

declare! {
    /// The parameters of [`Toll`].
    pub struct TollConfig {
        /// Price of a millisecond of waiting.
        price: f64 = default(0.1).at_least(0.0),
        /// Panic at this decision; 0 never does.
        panics: u64 = 0,
    }
}

/// Throughput less a price on waiting, which a second of simulated time doubles.
#[derive(Clone, Debug)]
pub struct Toll {
    config: TollConfig,
    decisions: u64,
}

impl OwnReward for Toll {
    fn reward(&mut self, values: &Values<'_>) -> f64 {
        self.decisions += 1;
        assert!(self.decisions != self.config.panics, "as it was asked to");
        let waiting_ms = values.of("mean_rtt_ms") - values.of("min_rtt_ms");
        let price = self.config.price * (1.0 + values.now().as_secs_f64());
        values.of("delivery_rate_bps") / 1e6 - price * waiting_ms
    }
}

/// Parts of this plug-in.
pub fn plugin() -> Plugin {
    Plugin::new()
        .controller(About::new("fraction", "gives way by a fraction"), |config: &FractionConfig, start: &Start| {
            Fraction {
                config: config.clone(),
                mss: start.mss.0,
                cwnd: start.initial_window.0,
                ssthresh: start.initial_ssthresh.map(|bytes| bytes.0),
                next_tick: SimTime::ZERO, // a timer that runs out before the handshake ends resends no SYN
            }
        })
        .queue(About::new("coin", "marks or drops by chance"), |config: &CoinConfig, start: &PartStart| Coin {
            config: config.clone(),
            random: RandomStream::new(start.seed, "coin"),
            packets: VecDeque::new(),
            octets: 0,
            tally: Tally::default(),
        })
        .effect(About::new("slow_data", "data later than ACKs"), |config: &SlowDataConfig, _: &PartStart| SlowData {
            config: config.clone(),
            count: 0,
        })
        .source(About::new("bursts", "bursts of data"), |config: &BurstsConfig, _: &SourceStart| Bursts {
            config: config.clone(),
            sent: 0,
        })
        .observation(
            About::new("level_segments", "what waits on the path, smoothed"),
            ObservationRange::new(0.0, 1e4).logarithmic_from(1.0),
            |config: &LevelConfig| Level { kept: config.kept, level: 0.0 },
        )
        .reward(About::new("toll", "throughput less a price on waiting"), |config: &TollConfig| Toll {
            config: config.clone(),
            decisions: 0,
        })
}

ackclock_plugin::export!(plugin);
