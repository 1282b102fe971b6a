//! `Packet`: a packet as parts in Python see it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use ackclock_net::queue::Queued;
use ackclock_net::{ConnectionIndex, Direction, EndpointId, Packet, Payload};
use ackclock_units::SimTime;
use ackclock_wire::{Ecn, Segment, Seq};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::{Acknowledgment, Flow, Octets, PayloadBytes, Sequence, SinceNs};

/// The memory order. One thread at a time runs the simulation, so the order is that of the program.
const ORDER: Ordering = Ordering::Relaxed;

/// The number of the next packet in a queue, by which packets of different queues are told apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The identity of a packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// The packet's place in the queue.
    pub(super) place: usize,
    /// The packet's number, which no other packet has.
    pub(super) number: u64,
}

impl Token {
    pub(super) fn at(place: usize) -> Self {
        Self { place, number: NEXT.fetch_add(1, ORDER) }
    }
}

/// The place of a packet, from the point of view of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Whereabouts {
    Waits,
    Dropped,
    Left,
}

/// A packet as a queue or an effect of a link sees it. It cannot be changed; `Queue.mark` sets its `ecn`.
///
/// Args:
///     flow: Number of the connection.
///     direction: "forward" or "backward".
///     sequence: Sequence number of the first byte of payload.
///     acknowledgment: The acknowledgment number.
///     payload_bytes: Payload, bytes.
///     octets: Size on the link, bytes; by default that of the IP packet.
///     since_ns: Time at which it came to the link, nanoseconds of simulated time.
///     ecn: The ECN field: "not_ect", "ect0", "ect1" or "ce".
///
/// Raises:
///     ValueError: If the direction or the ECN field is unknown.
#[pyclass(module = "ackclock._core", name = "Packet", frozen)]
pub(crate) struct PyPacket {
    packet: Packet,
    octets: u64,
    since: SimTime,
    pub(super) token: Token,
    ecn: AtomicU8,
    whereabouts: AtomicU8,
}

const ECN: [(&str, Ecn); 4] = [("not_ect", Ecn::NotEct), ("ect1", Ecn::Ect1), ("ect0", Ecn::Ect0), ("ce", Ecn::Ce)];

impl PyPacket {
    fn of(packet: Packet, octets: u64, since: SimTime, token: Token, whereabouts: Whereabouts) -> Self {
        let ecn = AtomicU8::new(packet.ecn() as u8);
        Self { packet, octets, since, token, ecn, whereabouts: AtomicU8::new(whereabouts as u8) }
    }

    /// A packet that waits in a queue.
    pub(super) fn waiting(queued: &Queued, token: Token) -> Self {
        Self::of(queued.packet, queued.octets, queued.since, token, Whereabouts::Waits)
    }

    /// A packet that a link has sent.
    pub(super) fn sent(packet: &Packet, octets: u64, now: SimTime) -> Self {
        Self::of(*packet, octets, now, Token { place: usize::MAX, number: u64::MAX }, Whereabouts::Left)
    }

    /// Moves a waiting packet to another place.
    pub(super) fn goes(&self, whereabouts: Whereabouts) -> PyResult<()> {
        let now = self.whereabouts.swap(whereabouts as u8, ORDER);
        if now == Whereabouts::Waits as u8 {
            return Ok(());
        }
        let what = if now == Whereabouts::Dropped as u8 { "was dropped" } else { "has left" };
        Err(PyValueError::new_err(format!("the packet {what} already: a queue hands out or drops a packet once")))
    }

    /// Sets its ECN field to CE if the packet is ECN-capable.
    pub(super) fn set_ce(&self) -> bool {
        let allows = self.ecn.load(ORDER) != Ecn::NotEct as u8;
        if allows {
            self.ecn.store(Ecn::Ce as u8, ORDER);
        }
        allows
    }
}

#[pymethods]
impl PyPacket {
    #[new]
    #[pyo3(
        signature = (
            *, flow=Flow(0), direction="forward", sequence=Sequence(0), acknowledgment=Acknowledgment(0),
            payload_bytes=PayloadBytes(1448), octets=None, since_ns=SinceNs(0), ecn="ect0"
        ),
        text_signature = "(*, flow=0, direction='forward', sequence=0, acknowledgment=0, payload_bytes=1448, octets=None, since_ns=0, ecn='ect0')"
    )]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        flow: Flow,
        direction: &str,
        sequence: Sequence,
        acknowledgment: Acknowledgment,
        payload_bytes: PayloadBytes,
        octets: Option<Octets>,
        since_ns: SinceNs,
        ecn: &str,
    ) -> PyResult<Self> {
        let connection = ConnectionIndex::new(flow.0);
        let to = match direction {
            "forward" => EndpointId::acceptor(connection),
            "backward" => EndpointId::opener(connection),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "direction {direction:?} is neither \"forward\" nor \"backward\""
                )));
            }
        };
        let Some((_, ecn)) = ECN.into_iter().find(|(name, _)| *name == ecn) else {
            return Err(PyValueError::new_err(format!(
                "ecn {ecn:?} is none of \"not_ect\", \"ect0\", \"ect1\", \"ce\""
            )));
        };
        let segment = Segment {
            seq: Seq(sequence.0),
            ack: Seq(acknowledgment.0),
            payload: payload_bytes.0,
            ecn,
            ..Segment::default()
        };
        let packet = Packet::tcp(segment, to);
        let octets = octets.map_or(u64::from(packet.size), |octets| octets.0);
        Ok(Self::of(packet, octets, SimTime(since_ns.0), Token::at(usize::MAX), Whereabouts::Waits))
    }

    /// Number of its connection; a flow's is its place in the scenario.
    #[getter]
    fn flow(&self) -> u32 {
        self.packet.to.number() / 2
    }

    /// Its direction: "forward" to the end that accepted the connection, "backward" to the other.
    #[getter]
    fn direction(&self) -> &'static str {
        match self.packet.direction() {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        }
    }

    /// Sequence number of the first byte of payload, modulo 2^32; for a datagram, its number.
    #[getter]
    fn sequence(&self) -> u32 {
        match &self.packet.payload {
            Payload::Tcp(segment) => segment.seq.0,
            Payload::Quic(quic) => quic.number,
            Payload::Udp(datagram) => datagram.number,
        }
    }

    /// The acknowledgment number, modulo 2^32; 0 for a datagram.
    #[getter]
    fn acknowledgment(&self) -> u32 {
        self.packet.segment().map_or(0, |segment| segment.ack.0)
    }

    /// Payload, in bytes; 0 for an ACK.
    #[getter]
    fn payload_bytes(&self) -> u32 {
        match &self.packet.payload {
            Payload::Tcp(segment) => segment.payload,
            Payload::Quic(quic) => quic.len.into(),
            Payload::Udp(datagram) => datagram.payload,
        }
    }

    /// Size of the IP packet, in bytes.
    #[getter]
    fn size_bytes(&self) -> u32 {
        self.packet.size
    }

    /// Size on the link, framing included, in bytes.
    #[getter]
    fn octets(&self) -> u64 {
        self.octets
    }

    /// Time of arrival at the queue, in nanoseconds of simulated time; for an effect, of the last bit leaving.
    #[getter]
    fn since_ns(&self) -> u64 {
        self.since.0
    }

    /// The ECN field: "not_ect", "ect0", "ect1", or "ce" once it is marked.
    #[getter]
    fn ecn(&self) -> &'static str {
        ECN[usize::from(self.ecn.load(ORDER))].0
    }

    /// True for a UDP datagram; false for a TCP segment.
    #[getter]
    fn is_datagram(&self) -> bool {
        self.packet.segment().is_none()
    }

    fn __repr__(&self) -> String {
        let (flow, direction, sequence) = (self.flow(), self.direction(), self.sequence());
        format!(
            "Packet(flow={flow}, direction={direction:?}, sequence={sequence}, octets={}, ecn={:?})",
            self.octets,
            self.ecn()
        )
    }

    /// Return a copy that has its place in the copy of its queue.
    ///
    /// Args:
    ///     _memo: Not used.
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        let copy = Self::of(self.packet, self.octets, self.since, self.token, Whereabouts::Waits);
        copy.ecn.store(self.ecn.load(ORDER), ORDER);
        copy.whereabouts.store(self.whereabouts.load(ORDER), ORDER);
        copy
    }
}
