//! One event for a controller's rules in C and what they make of it, laid out as in `programs/drive.h`.

/// Fields of an ACK: `struct ack` of `programs/core.h`, which explains each field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ack {
    /// Time of arrival, ns.
    pub now_ns: u64,
    /// The newest round trip that it shows, ns; 0 if none.
    pub rtt_ns: u64,
    /// The smoothed round trip, ns.
    pub srtt_ns: u64,
    /// Segments that it delivers.
    pub acked: u32,
    /// Segments that it lets the sender take for lost.
    pub lost: u32,
    /// Round trips since the connection began.
    pub round: u32,
    /// The receiver's clock, ticks.
    pub tsval: u32,
    /// The sender's clock when the data left, ticks.
    pub tsecr: u32,
    /// The sender's clock now, ticks.
    pub arrival: u32,
    /// A tick of the sender's clock, ns; 0 without timestamps.
    pub tick_ns: u32,
    /// 1 if it advances `snd_una`.
    pub is_cumulative: u8,
    /// 1 if the window held data back.
    pub is_cwnd_limited: u8,
    /// 1 in a fast recovery.
    pub in_recovery: u8,
    /// Padding, always zero.
    pub padding: u8,
}

/// Event of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Event {
    /// The flow begins.
    Begin,
    /// An ACK has arrived.
    Ack,
    /// A fast recovery begins.
    Loss,
    /// The retransmission timer expires, and an episode begins.
    Timeout,
    /// It expires within an episode.
    TimeoutWithin,
    /// Data leaves while nothing is in flight.
    Idle,
}

/// Words that parameters take.
pub const PARAMS: usize = 12;
/// Words that a flow's state takes.
pub const STATE: usize = 64;

/// An event with the flow's state before it; afterwards with what the rules made of it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Exchange {
    /// Number of an [`Event`].
    pub event: u32,
    /// Whole segments, as the stack has them.
    pub cwnd: u32,
    /// Slow start threshold, whole segments.
    pub ssthresh: u32,
    padding: u32,
    /// The ACK, if it is one; the time of any event.
    pub ack: Ack,
    /// Parameters, as [`crate::Program::params`] gives them.
    pub params: [u64; PARAMS],
    /// cwnd and ssthresh with 32 bits after the point.
    pub window: [u64; 2],
    after_timeout: u64,
    state: [u64; STATE],
}

impl Exchange {
    /// Before anything has happened to a flow with this window.
    pub fn new(params: [u64; PARAMS], cwnd: u32, ssthresh: Option<u32>) -> Self {
        Self {
            event: Event::Begin as u32,
            cwnd,
            ssthresh: ssthresh.unwrap_or(NO_SSTHRESH),
            padding: 0,
            ack: Ack::default(),
            params,
            window: [0; 2],
            after_timeout: 0,
            state: [0; STATE],
        }
    }

    /// The window in segments, with its parts.
    pub fn cwnd_segments(&self) -> f64 {
        self.window[0] as f64 / ONE as f64
    }

    /// ssthresh in segments; `None` while it is arbitrarily high.
    pub fn ssthresh_segments(&self) -> Option<f64> {
        (self.ssthresh != NO_SSTHRESH).then(|| self.window[1] as f64 / ONE as f64)
    }

    /// The struct as octets, for a program in the kernel.
    pub fn octets_mut(&mut self) -> &mut [u8] {
        crate::system::octets_of_mut(self)
    }
}

/// "Arbitrarily high" in the kernel, segments.
const NO_SSTHRESH: u32 = 0x7fff_ffff;
/// One, with 32 bits after the point.
pub(crate) const ONE: u64 = 1 << 32;
