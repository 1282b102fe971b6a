//! `Segment`: a TCP segment as a value, and its octets on a wire.

use std::net::SocketAddrV4;

use ackclock_wire::{Addresses, Ecn, Flags, SackBlock, SackBlocks, Segment, Seq, SynOptions, Timestamps, emit, parse};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A TCP segment without its content.
#[pyclass(module = "ackclock._core", name = "Segment", frozen, get_all, eq)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PySegment {
    seq: u32,
    ack: u32,
    payload: u32,
    window: u16,
    flags: u16,
    ecn: u8,
    mss: u16,
    window_scale: Option<u8>,
    sack_permitted: bool,
    timestamps: Option<(u32, u32)>,
    sack: Vec<(u32, u32)>,
}

#[pymethods]
impl PySegment {
    #[new]
    #[pyo3(signature = (*, seq, ack=0, payload=0, window=0, flags, ecn=0, mss=0, window_scale=None, sack_permitted=false, timestamps=None, sack=vec![]))]
    #[allow(clippy::too_many_arguments, reason = "keywords, one for each field of the header")]
    fn new(
        seq: u32,
        ack: u32,
        payload: u32,
        window: u16,
        flags: u16,
        ecn: u8,
        mss: u16,
        window_scale: Option<u8>,
        sack_permitted: bool,
        timestamps: Option<(u32, u32)>,
        sack: Vec<(u32, u32)>,
    ) -> Self {
        Self { seq, ack, payload, window, flags, ecn, mss, window_scale, sack_permitted, timestamps, sack }
    }

    /// The IPv4 packet that carries it, its payload zeros.
    fn to_bytes<'py>(&self, py: Python<'py>, source: &str, destination: &str) -> PyResult<Bound<'py, PyBytes>> {
        let addresses = Addresses { source: address(source)?, destination: address(destination)? };
        let mut octets = Vec::new();
        emit(&self.to_segment(), addresses, 0, &mut octets)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &octets))
    }

    /// Reads the headers of an IPv4 packet.
    #[staticmethod]
    fn from_bytes(packet: &[u8]) -> PyResult<Self> {
        let (_, segment) = parse(packet).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self::of(&segment))
    }
}

fn address(text: &str) -> PyResult<SocketAddrV4> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{text:?} is no IPv4 address and port; write 10.0.0.1:80")))
}

impl PySegment {
    pub(crate) fn of(segment: &Segment) -> Self {
        Self {
            seq: segment.seq.0,
            ack: segment.ack.0,
            payload: segment.payload,
            window: segment.window,
            flags: segment.flags.0,
            ecn: segment.ecn as u8,
            mss: segment.syn.mss,
            window_scale: segment.syn.window_scale,
            sack_permitted: segment.syn.sack_permitted,
            timestamps: segment.timestamps.map(|timestamps| (timestamps.value, timestamps.echo)),
            sack: segment.carried_sack_blocks().iter().map(|block| (block.start.0, block.end.0)).collect(),
        }
    }

    pub(crate) fn to_segment(&self) -> Segment {
        let mut sack = SackBlocks::default();
        for &(start, end) in &self.sack {
            sack.push(SackBlock { start: Seq(start), end: Seq(end) });
        }
        Segment {
            seq: Seq(self.seq),
            ack: Seq(self.ack),
            payload: self.payload,
            window: self.window,
            flags: Flags(self.flags),
            ecn: Ecn::of_bits(self.ecn),
            syn: SynOptions { mss: self.mss, window_scale: self.window_scale, sack_permitted: self.sack_permitted },
            timestamps: self.timestamps.map(|(value, echo)| Timestamps { value, echo }),
            sack,
        }
    }
}
