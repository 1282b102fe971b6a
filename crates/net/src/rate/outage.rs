//! Periodic outages: a satellite's handovers.

use ackclock_declare::{About, Entry, Review, declare, required, unset};
use ackclock_units::{SimDuration, SimTime};

use crate::effects::MAX_DELAY;
use crate::schedule::{Schedule, is_filled};

declare! {
    /// The handovers of a link by way of satellite after satellite.
    #[derive(Eq)]
    pub struct HandoverConfig {
        /// Interval between handovers; the first is one period after the start.
        period: SimDuration = required(SimDuration::from_secs(15)).above(SimDuration::ZERO),
        /// Duration of the outage after each handover; less than the period.
        outage: SimDuration = SimDuration::ZERO,
        /// Delays of the periods in turn, in place of the link's delay.
        delays as "delay": Option<Vec<SimDuration>> = unset("the link's")
            .at_most(MAX_DELAY)
            .must_be("a list of at least one delay", is_filled),
    }
    check HandoverConfig::review;
}

impl Entry for HandoverConfig {
    const ABOUT: About = About {
        name: "handover",
        aliases: &[],
        summary: "handovers of satellites: periodic outages, and a delay for each period",
        source: "-",
        departures: "nothing is lost in an outage: packets wait in the queue, and those on their way arrive",
    };
}

impl HandoverConfig {
    fn review(&self, review: &mut Review<'_>) {
        if self.outage >= self.period {
            let message = format!("must be less than period, which is {}", self.period);
            review.report("outage", message, "leave time to send");
        } else if self.outage.is_zero() && self.delays.is_none() {
            let remedy = "add outage = \"50 ms\" or delay = [\"20 ms\", \"35 ms\"]";
            review.report("outage", "must be more than zero where delay is left out", remedy);
        }
    }

    /// The outages; `None` if their duration is zero.
    pub fn outages(&self) -> Option<Outage> {
        (!self.outage.is_zero()).then(|| Outage::new(self.period, self.outage))
    }

    /// The delay of each period in turn, if it is given.
    pub fn delay(&self) -> Option<Schedule<SimDuration>> {
        let delays = self.delays.as_ref()?;
        let steps = (0..).zip(delays).map(|(index, delay)| (self.period * index, *delay)).collect();
        Some(Schedule::new(steps, Some(self.period * delays.len() as u64)))
    }
}

/// Outages of `length` after every multiple of `period`, but the zeroth: the link begins connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    period: SimDuration,
    length: SimDuration,
}

impl Outage {
    /// An outage shorter than the period, which the scenario's check guarantees.
    pub fn new(period: SimDuration, length: SimDuration) -> Self {
        assert!(length < period, "an outage is shorter than its period");
        Self { period, length }
    }

    pub(super) fn period(&self) -> SimDuration {
        self.period
    }

    /// The sending time in each period but the zeroth.
    pub(super) fn sends_for(&self) -> SimDuration {
        self.period - self.length
    }

    /// True if there is an outage at `now`, and the time of the next change.
    pub(super) fn at(&self, now: SimTime) -> (bool, SimTime) {
        let phase = now.0 % self.period.0;
        let begin = SimTime(now.0 - phase);
        let is_out = begin > SimTime::ZERO && phase < self.length.0;
        (is_out, begin + if is_out { self.length } else { self.period })
    }
}
