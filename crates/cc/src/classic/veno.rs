//! Veno: Reno that distinguishes congestion loss from random loss by Vegas' estimate of the queue.
//!
//! Source: Fu and Liew, TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks, IEEE JSAC 21(2),
//! 2003: `N = (Expected - Actual) BaseRTT`, threshold 3 segments; from there on the window grows with every other new
//! ACK; after a loss 4/5 of it remain while N is below, else 1/2. `BaseRTT` is the least RTT since the last loss, by
//! duplicate ACKs or a timeout.
//!
//! Departures: growth with every other ACK is half as much with each. Actual uses the latest RTT.
//!
//! Checked: threshold, growth, the decrease and the latest RTT against the authors' module for Linux (`tcp_veno.c`).
//! The module keeps `BaseRTT` over losses and measures it anew after idle time, keeps 4/5 at a timeout, too, and is Reno
//! until two RTTs are known; `variant = "linux"` is that ([`mod@crate::linux_module`]). The runs held to it are in docs/reference/laws.md.

use super::{Classic, ClassicVariant, Grown, Rule};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};
use crate::event::{AckEvent, CongestionEvent};
use crate::linux_module::{self, LinuxModule};
use ackclock_declare::{declare, default};
use ackclock_units::SimDuration;

declare! {
    /// The parameters of [`Veno`].
    #[derive(Copy)]
    pub struct VenoConfig {
        /// Source of the rules: the paper, or Linux's module.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Queued segments from which the path counts as congested.
        beta: f64 = default(3.0).at_least(1e-6).at_most(1e9).unit("segments"),
    }
}

impl Algorithm for VenoConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "Reno that distinguishes random loss from congestion by Vegas' estimate of the queue",
        source: "Fu, Liew, IEEE JSAC 21(2), 2003",
        departures: "growth every other round trip is half a segment in each; slow start is RFC 5681's, acknowledged segments are counted by octets",
        ..Name::called("veno")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Classic::start(Veno::new(*self), start),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Veno::new(*self), start),
        }
    }
}

/// Veno: a smaller decrease after a loss without a queue. Source and departures: [`mod@crate::classic::veno`].
#[derive(Clone, Debug)]
pub struct Veno {
    beta: f64,
    /// The minimum RTT since the last loss, s; zero before the first sample (`BaseRTT`).
    base: f64,
    /// The estimate N of queued segments.
    queued: f64,
}

impl Veno {
    pub(super) fn new(config: VenoConfig) -> Self {
        Self { beta: config.beta, base: 0.0, queued: 0.0 }
    }
}

impl Rule for Veno {
    fn on_ack(&mut self, ack: &AckEvent, cwnd: f64, _mss: u64) {
        if let Some(rtt) = ack.rtt_sample.map(SimDuration::as_secs_f64) {
            self.base = if self.base > 0.0 { self.base.min(rtt) } else { rtt };
            self.queued = if rtt > 0.0 { cwnd * (rtt - self.base) / rtt } else { 0.0 };
        }
    }

    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        let step = if self.queued < self.beta { 1.0 } else { 0.5 };
        step * grown.acked / grown.cwnd
    }

    fn decrease(&mut self, event: &CongestionEvent, _cwnd: f64, flight: f64) -> f64 {
        let is_random = self.queued < self.beta && !event.is_timeout();
        self.base = 0.0;
        flight * if is_random { 0.8 } else { 0.5 }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queued_segments", self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss};

    fn with_rtt(rtt_ms: u64) -> Veno {
        let mut veno = Veno::new(VenoConfig::default());
        see(&mut veno, 100); // BaseRTT
        see(&mut veno, rtt_ms);
        veno
    }

    fn see(veno: &mut Veno, rtt_ms: u64) {
        let ack = AckEvent { rtt_sample: Some(SimDuration::from_millis(rtt_ms)), ..ack(1_000) };
        veno.on_ack(&ack, 30.0, 1_000);
    }

    #[test]
    fn a_loss_begins_another_base_rtt() {
        // Fu and Liew, section III-A: BaseRTT is reset by each loss. The path has become longer by 100 ms: no queue.
        let mut veno = with_rtt(200);
        veno.decrease(&loss(30_000), 30.0, 30.0);
        see(&mut veno, 200);
        assert!(veno.queued.abs() < 1e-9, "{}", veno.queued);
    }

    #[test]
    fn a_loss_without_a_queue_is_taken_for_random() {
        let mut veno = with_rtt(105); // N = 30 * 5 / 105 = 1.43
        assert!((veno.queued - 1.428_57).abs() < 1e-5);
        assert!((veno.decrease(&loss(30_000), 30.0, 30.0) - 24.0).abs() < 1e-9);
    }

    #[test]
    fn with_a_queue_it_halves_and_grows_half_as_fast() {
        let mut veno = with_rtt(120); // N = 30 * 20 / 120 = 5
        assert!((veno.queued - 5.0).abs() < 1e-9);
        let ack = ack(1_000);
        let grown = Grown { ack: &ack, cwnd: 30.0, acked: 30.0 };
        assert!((veno.increase(&grown) - 0.5).abs() < 1e-9);
        assert!((veno.decrease(&loss(30_000), 30.0, 30.0) - 15.0).abs() < 1e-9);
    }
}
