//! State that a sender keeps only for controllers that request more than the common events: samples of the delivery
//! rate, reports of segments, a timer; and the delivery rate for an owner who requests it.
//!
//! Sources: draft-cheng-iccrg-delivery-rate-estimation, through [`crate::rate_sample`]; of the rate told, Linux's `TCP_INFO` by its
//! behaviour. Departures: none.

use ackclock_cc::{CongestionController, Controller, DeliveryReport, Demands, RateSample, Repair, SegmentReport};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::config::TcpConfig;
use crate::loss_recovery::Recovery;
use crate::ranges::Range;
use crate::rate_sample::RateSampler;
use crate::recovery::Phase;
use crate::scoreboard::{Scale, Scoreboard};

/// Feeds rate samples and segment reports to controllers that request them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControllerFeed {
    demands: Demands,
    rates: Option<Box<RateSampler>>,
    /// Latest delivery rate, if the owner wants it.
    told: Option<Box<DeliveryRate>>,
}

/// The latest sample of the delivery rate that the application did not limit, or a higher one that it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeliveryRate {
    /// Octets, and in which time; zero before the first sample.
    delivered: u64,
    interval: SimDuration,
    pub(crate) is_app_limited: bool,
}

impl DeliveryRate {
    /// The rate; none before the first sample.
    pub(crate) fn rate(&self) -> Bandwidth {
        let bits = u128::from(self.delivered) * 8 * 1_000_000_000;
        Bandwidth(
            bits.checked_div(u128::from(self.interval.0)).map_or(0, |rate| u64::try_from(rate).unwrap_or(u64::MAX)),
        )
    }

    fn take(&mut self, sample: &RateSample) {
        let is_higher = u128::from(sample.delivered.0) * u128::from(self.interval.0)
            >= u128::from(self.delivered) * u128::from(sample.interval.0);
        if !sample.interval.is_zero() && (!sample.is_app_limited || is_higher) {
            let RateSample { delivered, interval, is_app_limited, .. } = *sample;
            *self = Self { delivered: delivered.0, interval, is_app_limited };
        }
    }
}

impl ControllerFeed {
    /// The controller is settled, or another takes over.
    pub(crate) fn settle(&mut self, demands: Demands, config: &TcpConfig) {
        self.demands = demands;
        if !demands.samples && self.told.is_none() {
            self.rates = None;
        } else if self.rates.is_none() {
            self.rates = Some(Box::new(RateSampler::new(config)));
        }
    }

    /// The owner wants to know the rate: before the controller is settled.
    pub(crate) fn measure(&mut self) {
        let none = DeliveryRate { delivered: 0, interval: SimDuration::ZERO, is_app_limited: true };
        self.told = Some(Box::new(none));
    }

    pub(crate) fn delivery_rate(&self) -> Option<DeliveryRate> {
        self.told.as_deref().copied()
    }

    /// True if the sending rate is limited by the application, as far as samples show.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.rates.as_ref().is_some_and(|rates| rates.is_app_limited())
    }

    /// Samples and reports are wanted.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.rates.is_some()
    }

    /// The controller has a timer.
    #[inline]
    pub(crate) fn has_timer(&self) -> bool {
        self.demands.has_timer()
    }

    /// Marks begin no episode.
    pub(crate) fn takes_marks(&self) -> bool {
        self.demands.marks
    }

    /// The controller's window bounds sending in fast recovery too.
    pub(crate) fn bounds_recovery(&self) -> bool {
        self.demands.recovery_window
    }

    /// A segment has just left.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: SimTime, range: Range, board: &Scoreboard, is_retransmission: bool) {
        if let Some(rates) = &mut self.rates {
            let inflight = board.pipe().max(board.weight(range.len()));
            let begins_flight = !is_retransmission && board.una() == range.start;
            rates.on_sent(now, range, inflight, begins_flight, is_retransmission);
        }
    }

    /// The receiver has the segment at `range`.
    #[inline]
    pub(crate) fn on_delivered(&mut self, range: Range, scale: Scale, now: SimTime) -> Option<SegmentReport> {
        self.rates.as_mut()?.on_delivered(range, scale.weight(range.len()), now)
    }

    /// See [`RateSampler::count`].
    pub(crate) fn count(&mut self, now: SimTime, octets: u64) {
        if let Some(rates) = &mut self.rates {
            rates.count(now, octets);
        }
    }

    /// See [`RateSampler::uncount`].
    pub(crate) fn uncount(&mut self, octets: u64) {
        if let Some(rates) = &mut self.rates {
            rates.uncount(octets);
        }
    }

    /// draft-cheng-iccrg-delivery-rate-estimation section 3.4: nothing to send, room in the window, and nothing lost that
    /// waits to be retransmitted.
    #[inline]
    pub(crate) fn on_nothing_to_send(&mut self, board: &Scoreboard, window: impl FnOnce() -> u64) {
        if let Some(rates) = &mut self.rates {
            let pipe = board.pipe();
            if pipe < window() && board.lost() <= board.retransmitted() {
                rates.on_application_limited(pipe);
            }
        }
    }

    /// After an ACK: the controller may hold back on purpose, as BBR does to measure the round trip. True if it reduces the window of
    /// its own accord.
    #[inline]
    pub(crate) fn after_controller(&mut self, controller: &mut Controller, board: &Scoreboard) -> bool {
        let Some(rates) = &mut self.rates else { return false };
        if controller.limits_itself() {
            rates.on_application_limited(board.pipe());
        }
        controller.begins_reduction()
    }

    /// Reports each segment that has been found lost to the controller.
    #[inline]
    pub(crate) fn report_lost(&mut self, now: SimTime, board: &mut Scoreboard, controller: &mut Controller) {
        let Some(rates) = &mut self.rates else { return };
        let scale = board.scale();
        for range in board.take_newly_lost() {
            if let Some(report) = rates.on_lost(range, scale.weight(range.len()), now) {
                controller.on_lost(&report);
            }
        }
    }

    /// Delivery report of an ACK, once its losses have been detected.
    #[inline]
    pub(crate) fn delivery_report(
        &mut self,
        min_rtt: SimDuration,
        board: &Scoreboard,
        prior_inflight: u64,
        recovery: &Recovery,
        next_departure: SimTime,
    ) -> Option<DeliveryReport> {
        let rates = self.rates.as_mut()?;
        let sample = rates.take_sample(min_rtt, board.una());
        if let (Some(told), Some(sample)) = (&mut self.told, &sample) {
            told.take(sample);
        }
        Some(DeliveryReport {
            delivered: Bytes(rates.delivered()),
            lost: Bytes(rates.lost()),
            inflight: Bytes(board.pipe()),
            prior_inflight: Bytes(prior_inflight),
            repair: match recovery.phase() {
                Phase::Open | Phase::Cwr { .. } => Repair::None,
                Phase::Fast(_) => Repair::Fast,
                Phase::Loss(_) => Repair::Timeout,
            },
            has_sack: recovery.has_sack(),
            next_departure,
            sample,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Counting;

    /// Linux asks for `packets_out`, and not for what loss detection takes to be in the network.
    #[test]
    fn a_flight_goes_on_while_something_is_outstanding_that_is_taken_for_lost() {
        let ms = |ms: u64| SimTime(ms * 1_000_000);
        let mut feed = ControllerFeed::default();
        feed.settle(Demands { samples: true, ..Demands::default() }, &TcpConfig::default());
        let mut board = Scoreboard::new(Counting::Octets, 1_000);
        let mut send = |now, board: &mut Scoreboard| {
            let start = board.high_data();
            board.on_new_data(1_000, now);
            feed.on_sent(now, Range { start, end: start + 1_000 }, board, false);
        };
        send(ms(0), &mut board);
        board.mark_all_lost(|_| true);
        send(ms(100), &mut board);
        let rates = feed.rates.as_mut().expect("they are wanted");
        rates.on_delivered(Range { start: board.una() + 1_000, end: board.high_data() }, 1_000, ms(150));
        let sample = rates.take_sample(SimDuration::ZERO, board.una()).expect("its record is there");
        assert_eq!(sample.interval, SimDuration::from_millis(150));
    }

    /// `tcp_rate_skb_delivered` and `tcp_rate_gen`: two packets, and not the 200 octets in them.
    #[test]
    fn on_linux_a_small_segment_counts_for_a_full_one() {
        let mut feed = ControllerFeed::default();
        feed.settle(Demands { samples: true, ..Demands::default() }, &TcpConfig::default());
        let mut board = Scoreboard::new(Counting::Segments, 1_000);
        let (una, sent, arrived) = (board.una(), SimTime(0), SimTime(50_000_000));
        for _ in 0..2 {
            let start = board.high_data();
            board.on_new_data(100, sent);
            feed.on_sent(sent, Range { start, end: start + 100 }, &board, false);
        }
        for start in [una, una + 100] {
            feed.on_delivered(Range { start, end: start + 100 }, board.scale(), arrived);
        }
        let rates = feed.rates.as_mut().expect("they are wanted");
        let sample = rates.take_sample(SimDuration::ZERO, board.high_data()).expect("its record is there");
        assert_eq!((sample.delivered, sample.tx_in_flight), (Bytes(2_000), Bytes(2_000)));
    }

    fn sample(delivered: u64, interval_ms: u64, is_app_limited: bool) -> RateSample {
        let (lost, prior) = (Bytes(0), Bytes(0));
        let interval = SimDuration::from_millis(interval_ms);
        let delivered = Bytes(delivered);
        RateSample { delivered, interval, prior_delivered: prior, is_app_limited, tx_in_flight: Bytes(0), lost }
    }

    #[test]
    fn a_sample_that_the_application_limited_counts_if_it_is_higher() {
        let mut feed = ControllerFeed::default();
        feed.measure();
        let told = feed.told.as_mut().expect("it was asked for");
        told.take(&sample(1_000, 0, false)); // shorter than the least round trip: no sample
        assert_eq!((told.rate(), told.is_app_limited), (Bandwidth(0), true));
        let mut rate_after = |sample| {
            told.take(&sample);
            (told.rate().0 / 8, told.is_app_limited)
        };
        assert_eq!(rate_after(sample(2_000, 100, true)), (20_000, true)); // 2000 octets in a tenth of a second
        assert_eq!(rate_after(sample(1_000, 100, false)), (10_000, false));
        assert_eq!(rate_after(sample(900, 100, true)), (10_000, false));
        assert_eq!(rate_after(sample(1_100, 100, true)), (11_000, true));
    }
}
