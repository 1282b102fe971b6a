//! Every switch of a TCP endpoint. A scenario sets them per host or per flow.

use ackclock_units::{Bytes, SimDuration};

/// How a sender repairs loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRecovery {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast retransmit and fast recovery, left at the first new ACK (RFC 5681, RFC 2581).
    Reno,
    /// Stays in recovery over partial ACKs (RFC 6582).
    NewReno,
    /// The SACK scoreboard's conservative recovery (RFC 6675).
    Sack,
}

/// Which formulas give the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoEstimator {
    /// RFC 6298.
    Rfc6298,
    /// OPNET Modeler 17: RFC 793's bounds with Jacobson's estimator, measured in ticks.
    Opnet,
    /// Linux: RFC 6298 with a deviation that is kept at its maximum over a round trip, and a floor on the deviation
    /// term instead of on the sum.
    Linux,
}

/// How a measured RTT becomes a number of ticks (`opnet`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickRounding {
    /// Whole ticks that fit in the RTT.
    Floor,
    /// The nearest number of ticks.
    Nearest,
    /// Ticks begun.
    Ceiling,
    /// Ticks of a free-running clock passed between sending and acknowledgement: depends on where the ticks lie.
    Clock,
}

/// What the first RTT sample R does (`opnet`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstSample {
    /// `SRTT = R`, `RTTVAR = R/2` (RFC 6298 section 2.2).
    Half,
    /// `SRTT = R`, `RTTVAR = 0`.
    NoVariance,
    /// The ordinary update from `SRTT = RTTVAR = 0`.
    FromZero,
}

/// Parameters of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoConfig {
    /// Which formulas.
    pub estimator: RtoEstimator,
    /// Before the first sample.
    pub initial: SimDuration,
    /// Lower bound.
    pub min: SimDuration,
    /// Upper bound, of backed-off values too.
    pub max: SimDuration,
    /// Gain of SRTT (alpha, OPNET's RTT Gain).
    pub rtt_gain: f64,
    /// Gain of RTTVAR (beta, OPNET's Deviation Gain).
    pub deviation_gain: f64,
    /// Weight of RTTVAR (K, OPNET's RTT Deviation Coefficient).
    pub deviation_weight: f64,
    /// Clock granularity G (OPNET's Timer Granularity).
    pub granularity: SimDuration,
    /// Karn's rule: no samples from retransmitted segments, and the backed-off value stays until a valid sample.
    pub karn: bool,
    /// `opnet`: how the RTT is measured in ticks.
    pub rounding: TickRounding,
    /// `opnet`: what the first sample does.
    pub first_sample: FirstSample,
    /// `opnet`: where the ticks lie, as the time of the first one.
    pub tick_offset: SimDuration,
}

impl RtoConfig {
    /// The defaults that belong to an estimator.
    pub fn of(estimator: RtoEstimator) -> Self {
        let ms = SimDuration::from_millis;
        let (initial, min, max, granularity) = match estimator {
            // RFC 6298 sections 2.1, 2.4, 2.5.
            RtoEstimator::Rfc6298 => (ms(1_000), ms(1_000), ms(60_000), ms(1)),
            // OPNET Modeler 17's attribute sheet.
            RtoEstimator::Opnet => (ms(3_000), ms(1_000), ms(64_000), ms(500)),
            // TCP_TIMEOUT_INIT, TCP_RTO_MIN, TCP_RTO_MAX at HZ = 250.
            RtoEstimator::Linux => (ms(1_000), ms(200), ms(120_000), ms(4)),
        };
        Self {
            estimator,
            initial,
            min,
            max,
            rtt_gain: 0.125,
            deviation_gain: 0.25,
            deviation_weight: 4.0,
            granularity,
            karn: true,
            rounding: TickRounding::Nearest,
            first_sample: FirstSample::Half,
            tick_offset: SimDuration::ZERO,
        }
    }
}

/// When a receiver acknowledges in-order data (RFC 5681 section 4.2, RFC 9293 section 3.8.6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Acknowledge every n-th full-sized segment at once; 1 acknowledges each.
    pub segments: u32,
    /// Acknowledge after this time at the latest.
    pub timeout: SimDuration,
}

/// Every switch of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpConfig {
    /// Largest payload of a segment that this end sends and asks for, without any header or option.
    pub mss: u32,
    /// Offer selective acknowledgements (RFC 2018). Used when both ends offer them.
    pub sack: bool,
    /// Offer timestamps (RFC 7323). Used when both ends offer them.
    pub timestamps: bool,
    /// Tick of the timestamp clock.
    pub timestamp_granularity: SimDuration,
    /// Offer window scaling (RFC 7323). Used when both ends offer it.
    pub window_scaling: bool,
    /// Receive buffer; bounds the advertised window, as the window field and its scale do.
    pub receive_buffer: Bytes,
    /// Send buffer: bounds what is sent and not acknowledged.
    pub send_buffer: Bytes,
    /// cwnd to start with.
    pub initial_window: Bytes,
    /// ssthresh to start with; `None` is arbitrarily high (RFC 5681 section 3.1).
    pub initial_ssthresh: Option<Bytes>,
    /// How loss is repaired. `Sack` needs SACK on both ends and falls back to `NewReno` without.
    pub loss_recovery: LossRecovery,
    /// Duplicate ACKs, or segments SACKed above, that mean a loss.
    pub dup_thresh: u32,
    /// Proportional Rate Reduction (RFC 9937) in SACK recovery; without it cwnd drops at once (RFC 6675).
    pub prr: bool,
    /// When in-order data is acknowledged.
    pub delayed_ack: DelayedAck,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Let cwnd grow while something else (the receiver's window, the application) limits the sender. OPNET and ns-2
    /// do; RFC 9293 stacks today do not (RFC 7661).
    pub grow_when_not_limited: bool,
    /// First sequence number of this end; the wire's numbers wrap at 2^32.
    pub initial_sequence: u32,
    /// Give the connection up after this many timeouts in a row (RFC 9293 section 3.8.3, R2).
    pub max_retries: u32,
}

/// Largest window that the 16-bit field carries without scaling.
pub const MAX_UNSCALED_WINDOW: Bytes = Bytes(65_535);

/// Largest window with the largest scale factor, 14 (RFC 7323 section 2.3).
pub const MAX_SCALED_WINDOW: Bytes = Bytes(65_535 << 14);

impl Default for TcpConfig {
    /// Today's standards: SACK, timestamps, scaling, an initial window of ten segments, PRR.
    fn default() -> Self {
        let mss = 1448;
        Self {
            mss,
            sack: true,
            timestamps: true,
            timestamp_granularity: SimDuration::from_millis(1),
            window_scaling: true,
            receive_buffer: MAX_SCALED_WINDOW,
            send_buffer: MAX_SCALED_WINDOW,
            initial_window: Bytes(10 * u64::from(mss)),
            initial_ssthresh: None,
            loss_recovery: LossRecovery::Sack,
            dup_thresh: 3,
            prr: true,
            delayed_ack: DelayedAck { segments: 2, timeout: SimDuration::from_millis(40) },
            rto: RtoConfig::of(RtoEstimator::Rfc6298),
            grow_when_not_limited: false,
            initial_sequence: 0,
            max_retries: 15,
        }
    }
}
