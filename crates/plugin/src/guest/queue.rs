//! Queues, as a host calls them.

use std::ffi::c_void;

use ackclock_net::queue::{ExternalQueue, Queued, Treatment};
use ackclock_net::{HopIndex, PartStart, QueueConfig};
use ackclock_units::{Bandwidth, SimTime};

use super::effect::packet_of;
use super::{Config, config, guarded, status_of};
use crate::abi::{InspectC, PacketC, PartStartC, QueueHead, QueueTable, Status, Text, TreatedC};

pub(super) const TABLE: QueueTable =
    QueueTable { make, clone, drop: free, enqueue, dequeue, ready_at, set_rate, inspect };

/// A queue behind its visible state.
#[repr(C)]
struct Instance {
    head: QueueHead,
    inner: Box<dyn ExternalQueue>,
    treated: Vec<TreatedC>,
}

impl Instance {
    fn of(mut inner: Box<dyn ExternalQueue>) -> *mut QueueHead {
        inner.tally().watch();
        let head = QueueHead { treated: std::ptr::null(), treated_len: 0 };
        let instance = Box::new(Self { head, inner, treated: Vec::new() });
        Box::into_raw(instance).cast()
    }

    fn show(&mut self) {
        self.head.treated_len = 0;
        if self.inner.tally().has_noted() {
            self.show_treated();
        }
    }

    #[cold]
    fn show_treated(&mut self) {
        let Self { head, inner, treated } = self;
        treated.clear();
        treated.extend(inner.tally().take().map(|(packet, treatment)| TreatedC {
            token: token_of(packet.hop),
            is_dropped: treatment == Treatment::Dropped,
        }));
        (head.treated, head.treated_len) = (treated.as_ptr(), treated.len());
    }
}

/// The token of a packet: in a plug-in it takes the place of the packet's next hop, which no queue reads.
fn token_of(hop: HopIndex) -> u32 {
    hop.index() as u32
}

extern "C" fn make(parameters: *const c_void, start: *const PartStartC) -> *mut QueueHead {
    // SAFETY: the host passes what `read` returned, and a start that lives during the call.
    let (parameters, start) = unsafe { (config(parameters), part_start(&*start)) };
    let made = guarded(|| match parameters {
        Config::Queue(QueueConfig::External(external)) => Instance::of(external.make(&start)),
        _ => unreachable!("a host makes what it has read"),
    });
    made.unwrap_or(std::ptr::null_mut())
}

pub(super) fn part_start(start: &PartStartC) -> PartStart {
    PartStart { rate: Bandwidth(start.rate), seed: start.seed }
}

extern "C" fn clone(head: *const QueueHead) -> *mut QueueHead {
    // SAFETY: the host passes what `make` or `clone` returned.
    let instance = unsafe { &*head.cast::<Instance>() };
    guarded(|| Instance::of(instance.inner.boxed_clone())).unwrap_or(std::ptr::null_mut())
}

extern "C" fn free(head: *mut QueueHead) {
    // SAFETY: the host passes what `make` or `clone` returned, once.
    let instance = unsafe { Box::from_raw(head.cast::<Instance>()) };
    guarded(|| drop(instance));
}

extern "C" fn enqueue(head: *mut QueueHead, now: u64, packet: *const PacketC) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, which nothing else uses during the call, and a packet that
    // lives during the call.
    let (instance, packet) = unsafe { (&mut *head.cast::<Instance>(), &*packet) };
    status_of(|| {
        let arrival = Queued { packet: packet_of(packet), octets: packet.octets, since: SimTime(packet.since) };
        instance.inner.enqueue(SimTime(now), arrival);
        instance.show();
    })
}

extern "C" fn dequeue(head: *mut QueueHead, now: u64, token: *mut u32) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, and a place for the token, which nothing else uses during
    // the call.
    let (instance, token) = unsafe { (&mut *head.cast::<Instance>(), &mut *token) };
    let done = guarded(|| {
        let next = instance.inner.dequeue(SimTime(now));
        instance.show();
        let Some(queued) = next else { return Status::Nothing };
        *token = token_of(queued.packet.hop);
        Status::Done
    });
    done.unwrap_or(Status::Panicked)
}

extern "C" fn ready_at(head: *const QueueHead, now: u64, time: *mut u64) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, and a place for the time.
    let (instance, time) = unsafe { (&*head.cast::<Instance>(), &mut *time) };
    let done = guarded(|| {
        let Some(ready) = instance.inner.ready_at(SimTime(now)) else { return Status::Nothing };
        *time = ready.0;
        Status::Done
    });
    done.unwrap_or(Status::Panicked)
}

extern "C" fn set_rate(head: *mut QueueHead, now: u64, rate: u64) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, which nothing else uses during the call.
    let instance = unsafe { &mut *head.cast::<Instance>() };
    status_of(|| instance.inner.set_rate(SimTime(now), Bandwidth(rate)))
}

extern "C" fn inspect(head: *const QueueHead, now: u64, context: *mut c_void, record: InspectC) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned.
    let instance = unsafe { &*head.cast::<Instance>() };
    status_of(|| instance.inner.inspect(SimTime(now), &mut |name, value| record(context, Text::of(name), value)))
}
