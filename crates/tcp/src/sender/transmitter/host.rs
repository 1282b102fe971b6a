//! Queues of the host that segments pass on their way to the network.

use ackclock_units::{Bandwidth, SimTime};

use crate::config::TcpConfig;
use crate::device_queue::DeviceQueue;
use crate::fq::Fq;
use crate::host_queue::HostQueue;
use crate::ranges::Range;

/// The queues that the configuration asks for.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// Queue where segments wait for their time, if the host paces them.
    pub(crate) fq: Option<Box<Fq>>,
    pub(super) queue: Option<Box<HostQueue>>,
    device: Option<Box<DeviceQueue>>,
}

impl Host {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            fq: Fq::new(&config.pacing),
            queue: config.small_queues.map(|queues| Box::new(HostQueue::new(queues.limit))),
            device: config.device_queue.map(|queue| Box::new(DeviceQueue::new(queue.limit))),
        }
    }

    /// The device may refuse a segment.
    pub(in crate::sender) fn has_device(&self) -> bool {
        self.device.is_some()
    }

    /// The device has no room.
    pub(super) fn refuses(&self, now: SimTime) -> bool {
        self.device.as_ref().is_some_and(|queue| queue.is_full(now))
    }

    /// Segments wait for their time.
    pub(super) fn paces(&self) -> bool {
        self.fq.as_ref().is_some_and(|fq| fq.octets() > 0)
    }

    /// True if data of `range` waits for its time.
    pub(super) fn holds(&self, range: Range) -> bool {
        self.fq.as_ref().is_some_and(|fq| fq.holds(range))
    }

    /// Nothing waits.
    pub(super) fn is_empty(&self, now: SimTime) -> bool {
        self.queue.as_ref().is_none_or(|queue| queue.is_empty(now)) && !self.paces()
    }

    /// True if enough data waits that a burst of `burst` octets has to wait, too; `times` as much may.
    pub(super) fn is_full(
        &mut self,
        now: SimTime,
        burst: u64,
        times: u64,
        rate: impl FnOnce() -> Option<Bandwidth>,
    ) -> bool {
        let fq = self.fq.as_ref().map(|fq| (fq.octets(), fq.next()));
        let Some(queue) = &mut self.queue else { return false };
        // Two bursts may wait whatever the rate is, which takes time to work out.
        queue.await_room_beside(now, fq, times * queue.limit(burst, Some(Bandwidth(0))))
            && queue.await_room_beside(now, fq, times * queue.limit(burst, rate()))
    }

    /// Notes that `octets` of payload were handed over, of `mss` a full segment has, and when they leave.
    #[inline]
    pub(crate) fn on_handed_over(&mut self, now: SimTime, octets: u32, mss: u64, leaves_at: impl FnOnce() -> SimTime) {
        if self.queue.is_none() && self.device.is_none() {
            return;
        }
        let leaves_at = leaves_at();
        if let Some(queue) = &mut self.device {
            queue.on_sent(now, u64::from(octets) == mss, leaves_at);
        }
        if let Some(queue) = &mut self.queue {
            queue.on_sent(now, u64::from(octets), leaves_at);
        }
    }

    /// Notes that `octets` of payload were dropped.
    pub(crate) fn on_refused(&mut self, now: SimTime, octets: u32) {
        if let Some(queue) = &mut self.queue {
            queue.on_refused(now, u64::from(octets));
        }
    }

    /// Notes that `octets` of payload have left.
    pub(crate) fn on_left(&mut self, now: SimTime, octets: u32) {
        if let Some(queue) = &mut self.queue {
            queue.on_left(now, u64::from(octets));
        }
    }
}
