//! How fast a served link sends.

use ackclock_units::{Bandwidth, SimTime};

use crate::clock::LinkClock;

/// How fast a served link sends.
#[derive(Clone, Debug)]
pub enum RateProcess {
    /// Always as fast.
    Constant(ConstantRate),
}

/// A rate that never changes, exact in the long run.
#[derive(Clone, Debug)]
pub struct ConstantRate(LinkClock);

impl RateProcess {
    /// Always `rate`.
    pub fn constant(rate: Bandwidth) -> Self {
        Self::Constant(ConstantRate(LinkClock::new(rate)))
    }

    /// When the last bit of a packet leaves whose service begins at `start`, when the link is free;
    /// [`SimTime::NEVER`] if it never does.
    pub fn service_end(&mut self, start: SimTime, octets: u64) -> SimTime {
        match self {
            Self::Constant(rate) => rate.0.serve(start, octets),
        }
    }
}
