//! A connection's time, divided by the limit that kept its sender from sending more.
//!
//! Source: Linux's behaviour (its chronographs of 4.10 on, `tcp_chrono_start` and `tcp_chrono_stop`) for busy time, the peer's window
//! and the send buffer, as `TCP_INFO` has them (`busy_time`, `rwnd_limited`, `sndbuf_limited`). Linux does not split the rest of busy
//! time: here it goes to what the last attempt to send stopped at.
//!
//! Time counts from the end of the handshake until the FIN is acknowledged or the connection fails.
//!
//! Departures: times are exact, where Linux counts ticks of its clock. Where both windows are full, the peer's counts, at which the
//! sender looks first; on Linux the congestion window's does. A writer that finds no room counts at once, on Linux from the next
//! segment on.

use ackclock_units::{SimDuration, SimTime};

/// Number of kinds of [`Activity`].
const KINDS: usize = 7;

/// Activity, or limit, on which a sender's time is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing is outstanding or waits.
    Idle,
    /// The application has nothing more to send, or lets a small rest wait for more; ACKs are outstanding.
    Application,
    /// The congestion window is full.
    Cwnd,
    /// The peer's window keeps data from leaving.
    PeerWindow,
    /// The send buffer is full of data that has left.
    SendBuffer,
    /// The pacer's time has not come.
    Pacing,
    /// Enough waits at the host itself.
    Host,
}

/// Time by [`Activity`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent([SimDuration; KINDS]);

impl Spent {
    /// The time of this activity.
    pub fn on(&self, activity: Activity) -> SimDuration {
        self.0[activity as usize]
    }

    /// The time of all of them.
    pub fn total(&self) -> SimDuration {
        self.0.into_iter().fold(SimDuration::ZERO, |sum, span| sum + span)
    }

    /// The time with something outstanding or waiting, whatever limited it: Linux's `busy_time`.
    pub fn busy(&self) -> SimDuration {
        self.total() - self.on(Activity::Idle)
    }

    /// The time spent since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|kind| self.0[kind] - earlier.0[kind]))
    }
}

/// Measures the time that a sender spends on each [`Activity`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Chronograph {
    /// `None` before the handshake is over, and after the end.
    activity: Option<Activity>,
    since: SimTime,
    spent: Spent,
}

impl Chronograph {
    /// The handshake is over, and nothing was written yet.
    pub(crate) fn start(&mut self, now: SimTime) {
        (self.activity, self.since) = (Some(Activity::Idle), now);
    }

    /// Notes that the sender is at `activity` from now on.
    #[inline]
    pub(crate) fn observe(&mut self, now: SimTime, activity: Activity) {
        if self.activity != Some(activity) && self.activity.is_some() {
            self.turn(now, Some(activity));
        }
    }

    /// Nothing counts any more.
    pub(crate) fn end(&mut self, now: SimTime) {
        self.turn(now, None);
    }

    #[inline(never)] // an attempt to send mostly stops at what the one before did
    fn turn(&mut self, now: SimTime, activity: Option<Activity>) {
        self.spent = self.spent(now);
        (self.activity, self.since) = (activity, now);
    }

    /// The time spent until now.
    pub(crate) fn spent(&self, now: SimTime) -> Spent {
        let mut spent = self.spent;
        if let Some(activity) = self.activity {
            spent.0[activity as usize] += now.saturating_since(self.since);
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_time_is_busy_time_and_what_goes_on_counts() {
        let ms = |count: u64| SimTime(count * 1_000_000);
        let mut times = Chronograph::default();
        times.observe(ms(2), Activity::Cwnd); // in the handshake
        times.start(ms(5));
        times.observe(ms(10), Activity::Cwnd);
        times.observe(ms(13), Activity::PeerWindow);
        times.observe(ms(15), Activity::PeerWindow);
        times.observe(ms(18), Activity::SendBuffer);
        times.observe(ms(19), Activity::Idle);
        times.observe(ms(30), Activity::PeerWindow);
        // Idle for 5 and 11, at the congestion window for 3, held back for 5, without room for 1; and again held back since 30.
        let spent = times.spent(ms(32));
        let kinds = [Activity::Idle, Activity::Cwnd, Activity::PeerWindow, Activity::SendBuffer, Activity::Pacing];
        assert_eq!(kinds.map(|kind| spent.on(kind)), [16, 3, 7, 1, 0].map(SimDuration::from_millis));
        assert_eq!([spent.busy(), spent.total()], [11, 27].map(SimDuration::from_millis));
        let since = spent.since(&times.spent(ms(31)));
        assert_eq!([since.total(), since.on(Activity::PeerWindow)], [1, 1].map(SimDuration::from_millis));
        times.end(ms(33));
        times.observe(ms(40), Activity::Cwnd);
        assert_eq!(times.spent(ms(50)).total(), SimDuration::from_millis(28));
    }
}
