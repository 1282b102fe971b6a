//! The application that takes data out of the receive buffer.

use ackclock_units::{Bandwidth, Bytes, SimTime};

/// Pace at which an application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Whatever arrives, at once.
    AtOnce,
    /// The application reads at a constant rate.
    Rate(Bandwidth),
    /// The endpoint's owner reads by call.
    OnCall,
}

impl From<Option<Bandwidth>> for Reading {
    fn from(rate: Option<Bandwidth>) -> Self {
        rate.map_or(Self::AtOnce, Self::Rate)
    }
}

/// The application's reading of data in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    reading: Reading,
    /// Octets in order and not yet read, at `at`.
    unread: u64,
    at: SimTime,
}

impl Reader {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reading, unread: 0, at: SimTime::ZERO }
    }

    pub(crate) fn is_immediate(&self) -> bool {
        self.reading == Reading::AtOnce
    }

    pub(crate) fn reads_at_a_rate(&self) -> bool {
        matches!(self.reading, Reading::Rate(_))
    }

    pub(crate) fn unread(&self) -> u64 {
        self.unread
    }

    /// `octets` more have arrived in order.
    pub(crate) fn add(&mut self, octets: u64) {
        self.unread += octets;
    }

    /// The application reads up to `octets` on call. Returns how many it got.
    pub(crate) fn take(&mut self, octets: u64) -> u64 {
        let taken = octets.min(self.unread);
        self.unread -= taken;
        taken
    }

    /// Lets octets be read on call only from now on.
    pub(crate) fn stop(&mut self, now: SimTime) {
        self.catch_up(now);
        self.reading = Reading::OnCall;
    }

    pub(crate) fn catch_up(&mut self, now: SimTime) {
        let rate = match self.reading {
            Reading::OnCall => return,
            Reading::AtOnce => {
                self.unread = 0;
                return;
            }
            Reading::Rate(rate) => rate,
        };
        let read = rate.bytes_in(now.saturating_since(self.at)).0;
        if read >= self.unread {
            (self.unread, self.at) = (0, now);
        } else if read > 0 {
            self.unread -= read;
            // Keep the fraction of an octet that integer division leaves.
            self.at += rate.serialization_delay(Bytes(read)).min(now.saturating_since(self.at));
        }
    }

    /// Time at which it will have read `octets` more.
    pub(crate) fn time_to_read(&self, octets: u64) -> SimTime {
        match self.reading {
            Reading::Rate(rate) => self.at + rate.serialization_delay(Bytes(octets)),
            Reading::AtOnce | Reading::OnCall => SimTime::NEVER,
        }
    }
}
