//! Effects of links, as a host calls them.

use std::ffi::c_void;

use ackclock_net::{Datagram, EndpointId, ExternalEffect, Fate, Generation, HopIndex, Packet, Payload, TelemetryId};
use ackclock_units::SimTime;
use ackclock_wire::{Ecn, Flags, Segment, Seq};

use super::queue::part_start;
use super::{Config, config, guarded};
use crate::abi::{EffectTable, FateC, PacketC, PartStartC, Status};

pub(super) const TABLE: EffectTable = EffectTable { make, clone, drop: free, on_packet };

type Instance = Box<dyn ExternalEffect>;

fn leaked(effect: Instance) -> *mut c_void {
    Box::into_raw(Box::new(effect)).cast()
}

extern "C" fn make(parameters: *const c_void, start: *const PartStartC) -> *mut c_void {
    // SAFETY: the host passes what `read` returned, and a start that lives during the call.
    let (parameters, start) = unsafe { (config(parameters), part_start(&*start)) };
    let made = guarded(|| match parameters {
        Config::Effect(external) => leaked(external.make(&start)),
        _ => unreachable!("a host makes what it has read"),
    });
    made.unwrap_or(std::ptr::null_mut())
}

extern "C" fn clone(effect: *const c_void) -> *mut c_void {
    // SAFETY: the host passes what `make` or `clone` returned.
    let effect = unsafe { &*effect.cast::<Instance>() };
    guarded(|| leaked(effect.clone())).unwrap_or(std::ptr::null_mut())
}

extern "C" fn free(effect: *mut c_void) {
    // SAFETY: the host passes what `make` or `clone` returned, once.
    let effect = unsafe { Box::from_raw(effect.cast::<Instance>()) };
    guarded(|| drop(effect));
}

extern "C" fn on_packet(effect: *mut c_void, now: u64, packet: *const PacketC, fate: *mut FateC) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, a packet, and a place for its fate, which nothing else uses
    // during the call.
    let (effect, packet, out) = unsafe { (&mut *effect.cast::<Instance>(), &*packet, &mut *fate) };
    let done = guarded(|| match effect.on_packet(SimTime(now), &packet_of(packet), packet.octets) {
        Fate::Lost => Status::Nothing,
        Fate::Arrives { jitter, held, copied } => {
            *out = FateC { jitter: jitter.0, held: held.0, copied };
            Status::Done
        }
    });
    done.unwrap_or(Status::Panicked)
}

/// A packet from the fields that cross the boundary; written in place, as a copy of fields that were just written would
/// wait for all of them.
#[inline]
pub(super) fn packet_of(packet: &PacketC) -> Packet {
    let to = EndpointId::of_number(packet.to);
    let ecn = Ecn::of_bits(packet.ecn);
    let payload = if packet.is_datagram {
        let sent = SimTime(packet.since);
        Payload::Udp(Datagram { number: packet.sequence, sent, payload: packet.payload, ecn })
    } else {
        Payload::Tcp(Segment {
            seq: Seq(packet.sequence),
            ack: Seq(packet.acknowledgment),
            payload: packet.payload,
            flags: Flags(packet.flags),
            ecn,
            ..Segment::default()
        })
    };
    let hop = HopIndex::new(packet.token as usize);
    let (generation, telemetry) = (Generation::default(), TelemetryId::default());
    Packet { payload, to, generation, identification: 0, hop, size: packet.size, telemetry }
}
