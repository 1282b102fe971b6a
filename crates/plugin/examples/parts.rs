//! One part of each kind, as a plug-in: what the tests load, and what they compare with the same parts in their own program.

use std::collections::VecDeque;

use ackclock_plugin::prelude::*;

declare! {
    /// Parameters of [`Fraction`].
    pub struct FractionConfig {
        /// What remains of the window on congestion.
        beta: f64 = default(0.8).above(0.0).below(1.0),
        /// Panic with the first congestion.
        panics: bool = false,
    }
}

/// A segment more for each window of ACKs, a fraction less for each congestion.
#[derive(Clone, Debug)]
pub struct Fraction {
    config: FractionConfig,
    mss: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
}

impl CongestionController for Fraction {
    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.may_grow() {
            let slow_start = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
            let acked = ack.newly_acked.0;
            self.cwnd += if slow_start { acked } else { (self.mss * acked / self.cwnd).max(1) };
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        assert!(!self.config.panics, "as it was asked to");
        let kept = (event.flight_size.0 as f64 * self.config.beta) as u64;
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
    /// Parameters of [`Coin`].
    pub struct CoinConfig {
        /// Packets that may wait.
        packets: usize = default(50_usize).at_least(1).unit("packets"),
        /// How likely one that finds others waiting is marked, or dropped if it allows no marks.
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
    /// Parameters of [`SlowData`].
    pub struct SlowDataConfig {
        /// How much later than ACKs data arrives.
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
    /// Parameters of [`Bursts`].
    pub struct BurstsConfig {
        /// Octets of a burst.
        size: Bytes = default(Bytes(50_000)).at_least(Bytes(1)),
        /// How many; the connection closes after the last.
        count: u64 = required(3_u64).at_least(1),
        /// From one to the next; 0 s waits until the receiver has read.
        gap: SimDuration = SimDuration::ZERO,
    }
}

/// Bursts of data.
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

/// What this plug-in has.
pub fn plugin() -> Plugin {
    Plugin::new()
        .controller(About::new("fraction", "gives way by a fraction"), |config: &FractionConfig, start: &Start| {
            Fraction {
                config: config.clone(),
                mss: start.mss.0,
                cwnd: start.initial_window.0,
                ssthresh: start.initial_ssthresh.map(|bytes| bytes.0),
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
}

ackclock_plugin::export!(plugin);
