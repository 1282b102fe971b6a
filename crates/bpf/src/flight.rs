//! One event for a controller with a window and a rate of its own, and what its rules in C make of it, laid out as in
//! `programs/flight.h` and `programs/fly.h`.

use crate::exchange::{ONE, PARAMS};

/// Fields of an ACK: `struct report` of `programs/flight.h`. Counts are in segments unless a unit is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Report {
    /// Time of arrival, us.
    pub now_us: u64,
    /// The newest round trip that it shows, us; 0 if none.
    pub rtt_us: u32,
    /// The smoothed round trip, us.
    pub srtt_us: u32,
    /// Number newly delivered.
    pub acked: u32,
    /// Newly taken for lost.
    pub lost: u32,
    /// Delivered since the connection began.
    pub delivered: u32,
    /// Taken for lost since the connection began.
    pub lost_ever: u32,
    /// Number in flight after this ACK.
    pub inflight: u32,
    /// Number in flight before it.
    pub prior_inflight: u32,
    /// Delivered when the segment left that the sample is of.
    pub prior_delivered: u32,
    /// Number delivered since then.
    pub sample_delivered: u32,
    /// Time of the sample, us; 0 if it is too short for a rate.
    pub interval_us: u32,
    /// Octets of a segment.
    pub mss: u32,
    /// 32 random bits for a uniform number, and one more in the 33rd.
    pub random: u64,
    /// 1 if there is a sample.
    pub has_sample: u8,
    /// 1 if its segment left while the application did not fill the window.
    pub is_app_limited: u8,
    /// 1 if the window held data back.
    pub is_cwnd_limited: u8,
    /// Value 1 if the receiver reports out-of-order data.
    pub has_sack: u8,
    /// 0, or 1 in a fast recovery, 2 after a timeout.
    pub repair: u8,
    /// Padding, always zero.
    pub padding: [u8; 7],
}

/// Event of a flow with delivery reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FlightEvent {
    /// The flow begins.
    Begin,
    /// An ACK has arrived.
    Ack,
    /// A fast recovery begins.
    Loss,
    /// The retransmission timer expires.
    Timeout,
    /// The last losses were none.
    Undo,
    /// Data leaves after a pause.
    Idle,
}

/// Words that a flow's state takes, as in `programs/fly.h`.
const STATE: usize = 1_700;

/// An event with the flow's state before it; afterwards with what the rules made of it.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Flight {
    event: u32,
    padding: u32,
    /// The ACK, or the flow as any other event finds it.
    pub report: Report,
    cwnd: u64,
    /// Pacing rate, bit/s.
    pub pacing_rate: u64,
    /// Number of times that random bits were used.
    pub draws: u32,
    /// Number of the state in the rules.
    pub state_number: u32,
    params: [u64; PARAMS],
    state: [u64; STATE],
}

impl Flight {
    /// Before anything has happened to a flow with this window in segments.
    pub fn new(params: [u64; PARAMS], cwnd: u32) -> Box<Self> {
        Box::new(Self {
            event: FlightEvent::Begin as u32,
            padding: 0,
            report: Report::default(),
            cwnd: u64::from(cwnd) * ONE,
            pacing_rate: 0,
            draws: 0,
            state_number: 0,
            params,
            state: [0; STATE],
        })
    }

    /// Sets the next event.
    pub fn set(&mut self, event: FlightEvent, report: Report) {
        (self.event, self.report) = (event as u32, report);
    }

    /// The window in segments, with its parts.
    pub fn cwnd_segments(&self) -> f64 {
        self.cwnd as f64 / ONE as f64
    }

    /// The struct as octets, for a program in the kernel.
    pub fn octets_mut(&mut self) -> &mut [u8] {
        crate::system::octets_of_flight(self)
    }
}
