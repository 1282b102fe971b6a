//! A queue of a plug-in, as the link sees it.

use std::sync::Arc;

use ackclock_net::queue::{QueueDiscipline, Queued, Tally};
use ackclock_net::{Packet, PartStart, Payload};
use ackclock_units::{Bandwidth, SimTime};

use super::controller::{Record, note};
use super::declaration::Config;
use crate::abi::{PacketC, PartStartC, QueueHead, QueueTable, Status};

/// A queue discipline of a plug-in. The packets stay here; the plug-in has the fields of each that a queue reads, and
/// its place as a token.
#[derive(Debug)]
pub(super) struct PluginQueue {
    config: Arc<Config>,
    calls: &'static QueueTable,
    head: *mut QueueHead,
    packets: Vec<Option<Queued>>,
    free: Vec<u32>,
    octets: u64,
    tally: Tally,
}

// SAFETY: a plug-in's queues are `Send`.
unsafe impl Send for PluginQueue {}
// SAFETY: a plug-in's queues are `Sync`; what changes one takes `&mut self` here as there.
unsafe impl Sync for PluginQueue {}

impl PluginQueue {
    pub(super) fn new(config: &Arc<Config>, start: &PartStart) -> Self {
        let origin = config.origin();
        let calls = &origin.table.queue;
        let head = origin.made((calls.make)(config.pointer(), &start_of(start)), "making");
        Self {
            config: Arc::clone(config),
            calls,
            head,
            packets: Vec::new(),
            free: Vec::new(),
            octets: 0,
            tally: Tally::default(),
        }
    }

    fn shown(&self) -> &QueueHead {
        // SAFETY: the plug-in keeps it until `drop` frees it, and writes it in calls with `&mut self` only.
        unsafe { &*self.head }
    }

    #[inline]
    fn expect(&self, status: Status, call: &'static str) -> bool {
        if status == Status::Panicked {
            self.config.origin().fail(call);
        }
        status == Status::Done
    }

    fn keep(&mut self, arrival: Queued) -> u32 {
        self.octets += arrival.octets;
        let token = self.free.pop().unwrap_or(self.packets.len() as u32);
        match self.packets.get_mut(token as usize) {
            Some(place) => *place = Some(arrival),
            None => self.packets.push(Some(arrival)),
        }
        token
    }

    /// Removes the packet of a token.
    fn take(&mut self, token: u32, call: &'static str) -> Queued {
        let packet = self.packets.get_mut(token as usize).and_then(Option::take);
        let Some(packet) = packet else {
            panic!("{call} of a plug-in's queue hands out a packet that it does not have")
        };
        self.free.push(token);
        self.octets -= packet.octets;
        packet
    }

    /// Drops and marks the packets that the last call dropped and marked.
    #[inline]
    fn treat(&mut self, call: &'static str) {
        if self.shown().treated_len > 0 {
            self.treat_each(call);
        }
    }

    #[cold]
    fn treat_each(&mut self, call: &'static str) {
        for index in 0..self.shown().treated_len {
            // SAFETY: the plug-in shows a list of this length, which stays until the next call.
            let treated = unsafe { *self.shown().treated.add(index) };
            if treated.is_dropped {
                let dropped = self.take(treated.token, call);
                self.tally.drop(&dropped.packet);
            } else if let Some(Some(queued)) = self.packets.get_mut(treated.token as usize) {
                self.tally.mark(&mut queued.packet);
            }
        }
    }
}

pub(super) fn start_of(start: &PartStart) -> PartStartC {
    PartStartC { rate: start.rate.0, seed: start.seed }
}

/// A packet in the form for a plug-in.
#[inline]
pub(super) fn seen(packet: &Packet, octets: u64, since: SimTime, token: u32) -> PacketC {
    let seen = PacketC {
        token,
        to: packet.to.number(),
        size: packet.size,
        ecn: packet.ecn() as u8,
        octets,
        since: since.0,
        ..PacketC::default()
    };
    match &packet.payload {
        Payload::Tcp(segment) => PacketC {
            sequence: segment.seq.0,
            acknowledgment: segment.ack.0,
            payload: segment.payload,
            flags: segment.flags.0,
            ..seen
        },
        // All that a queue can tell of an encrypted packet is that it is a datagram.
        Payload::Quic(quic) => PacketC { sequence: quic.number, payload: quic.len.into(), is_datagram: true, ..seen },
        Payload::Udp(datagram) => {
            PacketC { sequence: datagram.number, payload: datagram.payload, is_datagram: true, ..seen }
        }
    }
}

impl QueueDiscipline for PluginQueue {
    fn enqueue(&mut self, now: SimTime, arrival: Queued) {
        let token = self.keep(arrival);
        let packet = seen(&arrival.packet, arrival.octets, arrival.since, token);
        let status = (self.calls.enqueue)(self.head, now.0, &raw const packet);
        self.expect(status, "enqueue");
        self.treat("enqueue");
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        let mut token = 0;
        let status = (self.calls.dequeue)(self.head, now.0, &raw mut token);
        let is_there = self.expect(status, "dequeue");
        self.treat("dequeue");
        is_there.then(|| self.take(token, "dequeue"))
    }

    fn ready_at(&self, now: SimTime) -> Option<SimTime> {
        let mut time = 0;
        let status = (self.calls.ready_at)(self.head, now.0, &raw mut time);
        self.expect(status, "ready_at").then_some(SimTime(time))
    }

    fn set_rate(&mut self, now: SimTime, rate: Bandwidth) {
        let status = (self.calls.set_rate)(self.head, now.0, rate.0);
        self.expect(status, "set_rate");
    }

    fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    fn octets(&self) -> u64 {
        self.octets
    }

    ackclock_net::accounts!();

    fn inspect(&self, now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        let mut record = Record(record);
        let status = (self.calls.inspect)(self.head, now.0, std::ptr::from_mut(&mut record).cast(), note);
        self.expect(status, "inspect");
    }
}

impl Clone for PluginQueue {
    fn clone(&self) -> Self {
        let head = self.config.origin().made((self.calls.clone)(self.head), "a copy");
        let (packets, free, octets) = (self.packets.clone(), self.free.clone(), self.octets);
        let (config, tally) = (Arc::clone(&self.config), self.tally.clone());
        Self { config, calls: self.calls, head, packets, free, octets, tally }
    }
}

impl Drop for PluginQueue {
    fn drop(&mut self) {
        (self.calls.drop)(self.head);
    }
}
