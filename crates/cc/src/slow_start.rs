//! Slow start's growth, and its early ends before a loss.
//!
//! Source: RFC 5681 section 3.1 and RFC 3465 section 2.2 for the growth; [`HyStart`] and [`HyStartPlusPlus`] for the
//! early end. Departures: up to two segments of an ACK count, as RFC 3465 allows; each of the two lists its own.

use ackclock_declare::words;
use ackclock_units::SimTime;

use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};
use crate::hystart::{HyStart, Rules};
use crate::hystart_plus_plus::HyStartPlusPlus;

words! {
    /// The early end of slow start before the first loss.
    #[derive(Default)]
    pub enum Hystart {
        /// No early end: loss or ssthresh ends slow start.
        #[default]
        "off" = Off,
        /// ACK trains and rising delays, as Linux measures them.
        "linux" = Linux,
        /// ACK trains and rising delays as in ns-3's `TcpCubic`: a train as long as the whole minimum RTT, or an RTT of
        /// twice the minimum.
        "ns3" = Ns3,
        /// The rules of `HyStart++` (RFC 9406).
        "rfc9406" = Rfc9406,
    }
}

words! {
    /// The unit that slow start counts.
    #[derive(Default)]
    pub enum SlowStartCount {
        /// Bytes acknowledged, up to two segments of an ACK (RFC 3465): the window doubles in a round trip, however the
        /// receiver acknowledges.
        #[default]
        "bytes" = Bytes,
        /// ACKs, each as one segment (RFC 5681 equation 2), as ns-3's `TcpNewReno`: with an ACK for every two segments the
        /// window grows by half in a round trip.
        "acks" = Acks,
    }
}

/// A sign of a full path in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitSign {
    /// The RTT grew.
    Delay,
    /// The train of ACKs grew as long as half the minimum RTT.
    AckTrain,
}

/// An early exit from slow start, before ssthresh or a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyExit {
    /// The time of the exit.
    pub at: SimTime,
    /// The sign that caused the exit.
    pub sign: ExitSign,
}

/// A window as an ACK finds it, in bytes; in segments where `mss` is 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: Option<u64>,
    pub(crate) mss: u64,
}

impl Window {
    pub(crate) fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }
}

/// A window in segments and fractions of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: Option<f64>,
    pub(crate) mss: u64,
}

/// The pace of slow start on an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The controller's own pace.
    Ordinary,
    /// The pace of RFC 9406: at most `limit` segments of the ACK count, and only one in `divisor` of these.
    PlusPlus {
        /// The limit L of RFC 9406; `None` is unlimited.
        limit: Option<u64>,
        /// The divisor: 1, or `CSS_GROWTH_DIVISOR`.
        divisor: u64,
    },
    /// No growth: slow start ends, and ssthresh becomes cwnd.
    Leave,
}

/// The state of slow start.
#[derive(Clone, Debug)]
pub(crate) struct SlowStart {
    watch: Watch,
    /// The remainder of the divided ACKs, in the window's unit.
    carried: u64,
    /// True if the last episode was a timeout.
    after_timeout: bool,
    /// The latest early exit.
    exit: Option<EarlyExit>,
}

/// The reports on slow start of a controller that holds a [`SlowStart`] as `slow_start`.
macro_rules! slow_start_reports {
    () => {
        fn state(&self) -> &'static str {
            if self.is_in_slow_start() { self.slow_start.state() } else { "congestion_avoidance" }
        }

        fn early_exit(&self) -> Option<$crate::EarlyExit> {
            self.slow_start.early_exit()
        }
    };
}
pub(crate) use slow_start_reports;

#[derive(Clone, Debug)]
enum Watch {
    Nothing,
    HyStart(Box<HyStart>),
    PlusPlus(Box<HyStartPlusPlus>),
}

impl SlowStart {
    pub(crate) fn new(kind: Hystart) -> Self {
        let watch = match kind {
            Hystart::Off => Watch::Nothing,
            Hystart::Linux => Watch::HyStart(Box::new(HyStart::new(Rules::Linux))),
            Hystart::Ns3 => Watch::HyStart(Box::new(HyStart::new(Rules::Ns3))),
            Hystart::Rfc9406 => Watch::PlusPlus(Box::default()),
        };
        Self { watch, carried: 0, after_timeout: false, exit: None }
    }

    /// True if slow start may end early.
    pub(crate) fn is_watched(&self) -> bool {
        !matches!(self.watch, Watch::Nothing)
    }

    /// Takes every ACK before the window grows, also in recovery. `epoch` is the beginning of the present stage of
    /// congestion avoidance, for controllers that keep it.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, window: &Window, epoch: Option<SimTime>) -> Pace {
        let sign = match &mut self.watch {
            Watch::Nothing => None,
            Watch::HyStart(hystart) => hystart.on_ack(ack, window, epoch),
            Watch::PlusPlus(hystart) => match hystart.on_ack(ack, window) {
                Pace::Leave => Some(ExitSign::Delay),
                pace => return pace,
            },
        };
        let Some(sign) = sign else { return Pace::Ordinary };
        self.exit = Some(EarlyExit { at: ack.now, sign });
        Pace::Leave
    }

    /// The latest early exit: see [`crate::CongestionController::early_exit`].
    pub(crate) fn early_exit(&self) -> Option<EarlyExit> {
        self.exit
    }

    /// The state of a controller in slow start.
    pub(crate) fn state(&self) -> &'static str {
        match &self.watch {
            Watch::PlusPlus(hystart) if hystart.is_conservative() => "conservative_slow_start",
            _ => "slow_start",
        }
    }

    /// The octets for which one ACK may count.
    pub(crate) fn limit(&self, count: SlowStartCount, mss: u64) -> u64 {
        match count {
            SlowStartCount::Bytes => self.byte_limit(mss),
            SlowStartCount::Acks => mss,
        }
    }

    /// The limit L of RFC 3465, octets: two segments, so that delayed ACKs do not slow it down. After a timeout it is
    /// one, since an ACK may cover data that has been lying at the receiver (section 2.3).
    pub(crate) fn byte_limit(&self, mss: u64) -> u64 {
        //= rfc3465-2.2-two-segments
        if self.after_timeout { mss } else { 2 * mss }
    }

    pub(crate) fn on_congestion(&mut self, event: &CongestionEvent) {
        (self.carried, self.after_timeout) = (0, false);
        if let Watch::PlusPlus(hystart) = &mut self.watch {
            hystart.stop();
        }
        if event.is_timeout() {
            self.on_timeout();
        }
    }

    /// Restarts slow start with the window.
    pub(crate) fn on_restart(&mut self, restart: &RestartEvent) {
        match restart.cause {
            RestartCause::Timeout => self.on_timeout(),
            // Nothing is outstanding: no ACK can be of data that was lost.
            RestartCause::Idle => self.after_timeout = false,
            RestartCause::SynLost | RestartCause::Unused | RestartCause::Outer => {}
        }
    }

    /// Forgets the signs of earlier ACKs when the retransmission timer expires, within an episode or not.
    fn on_timeout(&mut self) {
        //= rfc3465-2.3-one-after-timeout
        (self.carried, self.after_timeout) = (0, true);
        if let Watch::HyStart(hystart) = &mut self.watch {
            hystart.reset();
        }
    }

    /// The value of cwnd after `acked`, and the rest of the ACK for congestion avoidance. `limit` is the controller's
    /// own bound of the octets that one ACK counts for.
    ///
    /// RFC 5681 section 3.1, equation (2): `cwnd += min (N, SMSS)` for an ACK of N bytes; with byte counting, RFC 3465
    /// section 2.2 allows up to L = 2 segments, so that delayed ACKs do not slow it down.
    pub(crate) fn grow(&mut self, pace: Pace, window: Window, acked: u64, limit: u64) -> (u64, u64) {
        let grown = window.cwnd + self.counted(pace, window.mss, acked, limit);
        match window.ssthresh {
            //= rfc5681-3.1-below-ssthresh
            Some(ssthresh) if grown > ssthresh => {
                let cwnd = ssthresh.max(window.cwnd);
                (cwnd, grown - cwnd)
            }
            _ => (grown, 0),
        }
    }

    /// Grows a window in fractions of segments, which must meet its ssthresh to the last fraction of an octet.
    pub(crate) fn grow_segments(&mut self, pace: Pace, window: Parts, acked: u64) -> (f64, f64) {
        let Parts { cwnd, ssthresh, mss } = window;
        let limit = self.byte_limit(mss);
        let grown = cwnd + self.counted(pace, mss, acked, limit) as f64 / mss as f64;
        let reached = ssthresh.map_or(grown, |ssthresh| grown.min(ssthresh.max(cwnd)));
        (reached, grown - reached)
    }

    /// The octets for which an ACK counts.
    fn counted(&mut self, pace: Pace, mss: u64, acked: u64, limit: u64) -> u64 {
        match pace {
            //= rfc5681-3.1-slow-start
            Pace::Ordinary => acked.min(limit),
            Pace::PlusPlus { limit, divisor } => {
                let whole = limit.map_or(acked, |limit| acked.min(limit * mss));
                // What a division left over is a part of a segment, so it is worth nothing to another divisor.
                let carried = if divisor == 1 { 0 } else { self.carried };
                self.carried = (whole + carried) % divisor;
                (whole + carried) / divisor
            }
            Pace::Leave => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::loss;
    use ackclock_units::Bytes;

    const WINDOW: Window = Window { cwnd: 10_000, ssthresh: Some(12_500), mss: 1_000 };

    fn grow(pace: Pace, acked: u64) -> (u64, u64) {
        SlowStart::new(Hystart::Off).grow(pace, WINDOW, acked, 2_000)
    }

    //= rfc9406-4.2-limit
    //= rfc5681-3.1-below-ssthresh
    //= rfc5681-3.1-slow-start
    #[test]
    fn growth_is_limited_and_what_passes_ssthresh_is_left_over() {
        assert_eq!(grow(Pace::Ordinary, 5_000), (12_000, 0)); // min(5 000, L = 2 segments)
        // L = 8 lets all 5 000 count; 2 500 of them reach ssthresh
        assert_eq!(grow(Pace::PlusPlus { limit: Some(8), divisor: 1 }, 5_000), (12_500, 2_500));
    }

    #[test]
    fn a_window_of_parts_of_segments_meets_its_ssthresh() {
        let mut slow_start = SlowStart::new(Hystart::Off);
        let window = Parts { cwnd: 3_560.0, ssthresh: Some(3_561.123_4), mss: 1_000 };
        let (cwnd, left) = slow_start.grow_segments(Pace::Ordinary, window, 2_000);
        assert_eq!(cwnd.to_bits(), 3_561.123_4_f64.to_bits());
        assert!((left - 0.876_6).abs() < 1e-9); // two segments less what is missing
        let beyond = slow_start.grow_segments(Pace::Ordinary, Parts { cwnd, ..window }, 1_000);
        assert!((beyond.0 - cwnd).abs() < 1e-12 && (beyond.1 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_ack_counts_one_segment_after_a_timeout_within_an_episode_too() {
        let mut slow_start = SlowStart::new(Hystart::Off);
        slow_start.on_congestion(&loss(10_000));
        assert_eq!(slow_start.byte_limit(1_000), 2_000);
        let (now, window) = (SimTime::ZERO, Bytes(1_000));
        slow_start.on_restart(&RestartEvent { now, cause: RestartCause::Timeout, window, ssthresh: None });
        assert_eq!(slow_start.byte_limit(1_000), 1_000); // RFC 3465 section 2.3
        // Section 2.3 is of the slow start that repairs, not of one after idle time.
        slow_start.on_restart(&RestartEvent { now, cause: RestartCause::Idle, window, ssthresh: None });
        assert_eq!(slow_start.byte_limit(1_000), 2_000);
    }

    #[test]
    fn a_division_loses_nothing() {
        let mut slow_start = SlowStart::new(Hystart::Rfc9406);
        let mut window = Window { cwnd: 100, ssthresh: None, mss: 1 };
        for _ in 0..6 {
            let pace = Pace::PlusPlus { limit: None, divisor: 4 };
            (window.cwnd, _) = slow_start.grow(pace, window, 3, 2);
        }
        assert_eq!(window.cwnd, 104); // 18 segments / 4 = 4, with 2 carried
        // Back in slow start an ACK of 3 counts 3: the 2 were half a segment, not two.
        assert_eq!(slow_start.grow(Pace::PlusPlus { limit: None, divisor: 1 }, window, 3, 2), (107, 0));
    }
}
