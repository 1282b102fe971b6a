//! What a connection's time was spent on: as Linux tells it in `TCP_INFO` (`busy_time`, `rwnd_limited`, `sndbuf_limited`).
//!
//! Source: Linux's behaviour (its chronographs of 4.10 on).
//!
//! Departures: times are exact, where Linux counts ticks of its clock. What limits is looked at after each call into an endpoint,
//! by its owner, and not as segments are let go.

use ackclock_units::{SimDuration, SimTime};

/// What a sender's time goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing is outstanding or waits.
    Idle,
    /// Something is outstanding or waits, for what else than the other two.
    Busy,
    /// The peer's window keeps data from leaving.
    PeerWindow,
    /// All that the send buffer holds has left, and the application waits for room in it.
    SendBuffer,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Chronograph {
    activity: Activity,
    since: SimTime,
    /// Of the three that are counted, in their order.
    spent: [SimDuration; 3],
}

impl Default for Chronograph {
    fn default() -> Self {
        Self { activity: Activity::Idle, since: SimTime::ZERO, spent: [SimDuration::ZERO; 3] }
    }
}

impl Chronograph {
    /// From now on the sender is at that.
    pub fn observe(&mut self, now: SimTime, activity: Activity) {
        if activity != self.activity {
            self.spent = self.spent_at(now);
            (self.activity, self.since) = (activity, now);
        }
    }

    fn spent_at(&self, now: SimTime) -> [SimDuration; 3] {
        let mut spent = self.spent;
        if let Some(index) = (self.activity as usize).checked_sub(1) {
            spent[index] += now.saturating_since(self.since);
        }
        spent
    }

    /// The time with something outstanding or waiting, whatever limited it.
    pub fn busy(&self, now: SimTime) -> SimDuration {
        self.spent_at(now).into_iter().fold(SimDuration::ZERO, |sum, span| sum + span)
    }

    /// Of that, limited by the peer's window.
    pub fn limited_by_peer(&self, now: SimTime) -> SimDuration {
        self.spent_at(now)[1]
    }

    /// Of that, limited by the send buffer.
    pub fn limited_by_buffer(&self, now: SimTime) -> SimDuration {
        self.spent_at(now)[2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_time_is_busy_time_and_what_goes_on_counts() {
        let ms = |count: u64| SimTime(count * 1_000_000);
        let mut times = Chronograph::default();
        times.observe(ms(10), Activity::Busy);
        times.observe(ms(13), Activity::PeerWindow);
        times.observe(ms(15), Activity::PeerWindow);
        times.observe(ms(18), Activity::SendBuffer);
        times.observe(ms(19), Activity::Idle);
        times.observe(ms(30), Activity::PeerWindow);
        // Busy for 3, held back for 5, without room for 1; and again held back since 30.
        let told = (times.busy(ms(32)), times.limited_by_peer(ms(32)), times.limited_by_buffer(ms(32)));
        assert_eq!(told, (SimDuration::from_millis(11), SimDuration::from_millis(7), SimDuration::from_millis(1)));
    }
}
