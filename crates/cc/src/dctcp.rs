//! DCTCP: reduces the window in proportion to the fraction of marked data, with Reno's window in every other respect.
//!
//! Source: RFC 8257 sections 3.3 (the fraction of marked octets, the answer), 3.4 (losses), 3.5 (other), 4.1 (parameters);
//! Alizadeh et al., SIGCOMM 2010. The receiver's part (section 3.2) is the endpoint's: `dctcp_feedback`.
//!
//! Departures: SYNs, pure ACKs and retransmissions are not ECN-capable. The reduction is at once, as section 3.3 writes
//! it, where Linux spreads it over a round trip, and leaves two segments at least. The window does not grow on ACKs
//! that report marks (RFC 3168 section 6.1.2). `variant = "linux"` is Linux's module ([`mod@crate::linux_module`]).

use ackclock_declare::{declare, default};
use ackclock_units::{Bytes, SimTime};

use crate::algorithm::{Algorithm, Name, Setting, Stack};
use crate::classic::ClassicVariant;
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::Demands;
use crate::event::{AckEvent, CongestionEvent, RestartEvent};
use crate::linux_module::{self, LinuxModule};
use crate::reno::{Reno, RenoConfig};

declare! {
    /// The parameters of [`Dctcp`].
    #[derive(Copy)]
    pub struct DctcpConfig {
        /// Source of the rules: RFC 8257, or Linux's module.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Weight of the latest window in the moving average of the marked fraction, alpha: 1/16. Linux's module takes the next
        /// power of two below.
        gain: f64 = default(1.0 / 16.0).above(0.0).below(1.0).source("RFC 8257 section 4.1"),
        /// alpha before the first window: 1 answers the first mark as Reno does.
        initial_alpha: f64 = default(1.0).at_least(0.0).at_most(1.0),
    }
}

impl Algorithm for DctcpConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "Reno's window, reduced in proportion to the marked fraction; sets tcp.ecn and dctcp_feedback at both ends",
        source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
        departures: "SYNs, pure ACKs and retransmissions are not ECN-capable; the reduction is immediate, where Linux spreads it over a round trip, and leaves two segments at least",
        stack: Stack {
            sets: &[
                ("ecn", Setting::Word("request")),
                ("accurate_ecn", Setting::Switch(false)),
                ("ect1", Setting::Switch(false)),
                ("dctcp_feedback", Setting::Switch(true)),
            ],
            ..Stack::ANY
        },
        ..Name::called("dctcp")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Controller::Dctcp(Box::new(Dctcp::new(self, start))),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Dctcp::new(self, start.mss.0), start),
        }
    }
}

/// The moving average of the fraction of marked octets (`DCTCP.Alpha`), updated once in a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkedFraction {
    gain: f64,
    alpha: f64,
    acked: u64,
    marked: u64,
}

impl MarkedFraction {
    pub(crate) fn new(gain: f64, initial: f64) -> Self {
        //= rfc8257-4.1-alpha
        Self { gain, alpha: initial, acked: 0, marked: 0 }
    }

    pub(crate) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts the data of an ACK.
    pub(crate) fn count(&mut self, ack: &AckEvent) {
        self.acked += ack.newly_acked.0;
        self.marked += ack.newly_ce_marked.0;
    }

    /// Ends the window of observation: `Alpha = Alpha * (1 - g) + g * M`.
    pub(crate) fn update(&mut self) {
        if self.acked > 0 {
            let fraction = self.marked as f64 / self.acked as f64;
            //= rfc8257-3.3-fraction
            self.alpha += self.gain * (fraction - self.alpha);
        }
        (self.acked, self.marked) = (0, 0);
    }
}

/// The window of data in which a mark has been answered: another answer waits until all of it is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answered {
    /// The octets acknowledged in all, and their number at the end of the window.
    acked: u64,
    until: u64,
}

impl Answered {
    pub(crate) fn count(&mut self, ack: &AckEvent) {
        self.acked += ack.newly_acked.0;
    }

    /// True if the ACK covers data that left after the last answer.
    pub(crate) fn is_over(&self) -> bool {
        self.acked > self.until
    }

    /// Records that a mark is answered on this ACK.
    pub(crate) fn restart(&mut self, ack: &AckEvent) {
        self.until = self.acked + ack.prior_flight_size.0.saturating_sub(ack.newly_acked.0);
    }
}

/// DCTCP (RFC 8257): reduces the window by the fraction of octets that were marked. Source and departures:
/// [`mod@crate::dctcp`].
#[derive(Clone, Debug)]
pub struct Dctcp {
    mss: u64,
    window: Reno,
    marks: MarkedFraction,
    round: u64,
    answered: Answered,
}

impl Dctcp {
    pub(crate) fn new(config: &DctcpConfig, start: Start) -> Self {
        Self {
            mss: start.mss.0,
            window: Reno::new(&RenoConfig::default(), start),
            marks: MarkedFraction::new(config.gain, config.initial_alpha),
            round: 0,
            answered: Answered::default(),
        }
    }

    /// Answers marks: `cwnd = cwnd * (1 - Alpha / 2)`, once in a window.
    fn answer_marks(&mut self, ack: &AckEvent) {
        if !self.answered.is_over() || ack.in_recovery {
            return;
        }
        self.answered.restart(ack);
        //= rfc8257-3.3-answer
        let kept = (self.window.cwnd().0 as f64 * (1.0 - self.marks.alpha() / 2.0)) as u64;
        let kept = Bytes(kept.max(2 * self.mss));
        self.window.set_window(kept, kept);
    }
}

impl CongestionController for Dctcp {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.answered.count(ack);
        self.marks.count(ack);
        if ack.round > self.round {
            self.round = ack.round;
            self.marks.update();
        }
        if ack.newly_ce_marked.0 > 0 {
            self.answer_marks(ack);
        } else {
            self.window.on_ack(ack);
        }
    }

    /// Losses halve the window, as usual (section 3.4).
    fn on_congestion(&mut self, event: &CongestionEvent) {
        //= rfc8257-3.4-loss
        self.window.on_congestion(event);
    }

    fn demands(&self) -> Demands {
        Demands { marks: true, ..Demands::default() }
    }

    fn on_spurious(&mut self, now: SimTime) {
        self.window.on_spurious(now);
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.window.on_restart(restart);
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh()
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.marks.alpha());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss};

    const MSS: u64 = 1_000;

    fn dctcp(initial_alpha: f64) -> Dctcp {
        let start = Start::of(MSS, 100 * MSS, Some(50 * MSS));
        Dctcp::new(&DctcpConfig { initial_alpha, ..DctcpConfig::default() }, start)
    }

    //= rfc8257-4.1-alpha
    //= rfc8257-3.3-fraction
    #[test]
    fn alpha_is_the_moving_average_of_the_marked_fraction() {
        let mut dctcp = dctcp(1.0);
        let mut window = |round, marked: u64| {
            dctcp.on_ack(&AckEvent { newly_ce_marked: Bytes(marked), round: round - 1, ..ack(4_000) });
            dctcp.on_ack(&AckEvent { round, ..ack(4_000) });
            dctcp.marks.alpha()
        };
        assert_eq!(window(1, 0).to_bits(), 0.9375_f64.to_bits()); // 15/16 * 1
        assert_eq!(window(2, 4_000).to_bits(), 0.910_156_25_f64.to_bits()); // 15/16 * 0.9375 + 1/16 * 1/2
    }

    //= rfc8257-3.4-loss
    //= rfc8257-3.3-answer
    #[test]
    fn a_mark_takes_half_of_alpha_once_in_a_window_and_a_loss_half() {
        let mark = AckEvent { newly_ce_marked: Bytes(MSS), prior_flight_size: Bytes(100 * MSS), ..ack(MSS) };
        let mut few = dctcp(0.2);
        few.on_ack(&mark);
        assert_eq!(few.cwnd(), Bytes(90 * MSS)); // 100 * (1 - 0.1)
        for _ in 0..99 {
            few.on_ack(&mark);
        }
        assert_eq!(few.cwnd(), Bytes(90 * MSS)); // what was in flight at the first mark has arrived
        few.on_ack(&mark);
        assert_eq!(few.cwnd(), Bytes(81 * MSS));
        let mut all = dctcp(1.0);
        all.on_ack(&mark);
        assert_eq!(all.cwnd(), Bytes(50 * MSS)); // as Reno would
        let mut lossy = dctcp(0.2);
        lossy.on_congestion(&loss(100 * MSS));
        assert_eq!(lossy.cwnd(), Bytes(50 * MSS));
    }
}
