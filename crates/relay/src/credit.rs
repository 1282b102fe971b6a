//! Credit: the near side may send just what the far side will be able to pass on by the time it is there.
//!
//! Ours; an answer to what J. Isogaki (JAIST 2005) leaves open, bounded latency at full throughput. What is asked for now
//! arrives a near round trip later. By then the far side has room for what its window has room for now, and for what ACKs
//! free until then, which self-clocking foretells (`AckClock`). So
//!
//! ```text
//! window = cwnd + growth * freed(near RTT + margin) - pipe - to repair - backlog
//! ```
//!
//! bounded in the same way by the far end's window and by pacing. Octets then arrive about `margin` before they can leave,
//! whatever the far side's rate. Where the far side stands still nothing is freed and nothing is asked for; before it is
//! open its end advertises no window, and nothing is let in that would wait for it.
//!
//! Octets that were fetched in advance wait for long when a loss closes the window. Account is kept of it (`Lateness`): one octet
//! in a hundred may wait longer than `target`. As long as no more than a quarter as many do, all that is foretold is fetched,
//! `margin` early; beyond that less, and nothing from three quarters on. A flow that loses seldom, or over a long round
//! trip, so keeps its far side from ever waiting; one that loses at every turn, which a queue or others keep the link busy
//! for, asks for what there is room for. While losses are repaired, half is expected: PRR sends one segment for two.
//!
//! One segment is let in even where the far end's window is closed, since a sender probes a closed window only if it has
//! data.
//!
//! **What it asks of the far side**: that a window counts as used when it has been filled, though nothing waits behind it
//! (`cwnd_validation` "rfc7661"; with "hold" a small window stays small, with "linux" as long as nothing is fetched in
//! advance), and that cuts start from the window and not from what happens to be out (`decrease_from = "cwnd"`, RACK, as in
//! Linux). Pacing spreads a window over the round trip, so that a loss finds little that was fetched: with it the bound holds
//! on paths with random loss too.

use ackclock_declare::{About, declare, default};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::ack_clock::{AckClock, Forecast};
use crate::discipline::{Kind, MAX_STAY, Orders, Policy};
use crate::grant::Grant;
use crate::lateness::Lateness;
use crate::readings::Readings;

declare! {
    /// Parameters of `credit`: how far ahead it fetches.
    #[derive(Copy)]
    pub struct CreditConfig {
        /// Longest wait of an octet, but for one in a hundred; where as many wait longer, nothing is fetched in
        /// advance.
        target: SimDuration = default(SimDuration::from_millis(10)).at_most(MAX_STAY),
        /// Time before they can leave at which octets should arrive, besides the near side's round trip: covers errors
        /// of the prediction, and is about the wait of an octet.
        margin: SimDuration = default(SimDuration::from_millis(1)).at_most(MAX_STAY),
        /// Octets that an ACK frees in slow start, as a multiple of those that it acknowledges.
        slow_start_growth: f64 = default(2.0).at_least(1.0).at_most(100.0).source("RFC 5681"),
    }
}

impl Policy for CreditConfig {
    const ABOUT: About = About {
        name: "credit",
        aliases: &[],
        summary: "advertises what the far side will be able to send by the time that it arrives",
        source: "ours",
        departures: "none",
    };
    const FILLS_THE_FAR_WINDOW: bool = true;

    fn start(&self, _seed: u64) -> Kind {
        Kind::Credit(Credit::new(*self))
    }
}

/// Octets that an ACK allows while losses are repaired, as a multiple of those that it acknowledges: one segment for
/// two (RFC 9937 where the window is to be halved).
const IN_RECOVERY: f64 = 0.5;

/// The part of the octets that may wait longer than the target.
const MAY_BE_LATE: f64 = 0.01;

/// Lets in what the far side will be able to send when it has come.
#[derive(Clone, Debug)]
pub struct Credit {
    config: CreditConfig,
    clock: AckClock,
    lateness: Lateness,
    grant: Grant,
    /// Octets sent again so far, and when that last grew.
    repaired: (Bytes, SimTime),
    /// Octets put on the wire so far, and when that last grew.
    transmitted: (Bytes, SimTime),
}

impl Credit {
    pub(crate) fn new(config: CreditConfig) -> Self {
        let never = (Bytes::ZERO, SimTime::ZERO);
        Self {
            config,
            clock: AckClock::default(),
            lateness: Lateness::default(),
            grant: Grant::default(),
            repaired: never,
            transmitted: never,
        }
    }

    pub(crate) fn update(&mut self, readings: &Readings) -> Orders {
        self.lateness.observe(readings, self.config.target);
        let trust = self.trust();
        let ahead = readings.near_rtt + SimDuration((self.config.margin.0 as f64 * trust) as u64);
        self.clock.observe(readings, ahead);
        if readings.retransmitted > self.repaired.0 {
            self.repaired = (readings.retransmitted, readings.now);
        }
        if readings.transmitted() > self.transmitted.0 {
            self.transmitted = (readings.transmitted(), readings.now);
        }
        let forecast = self.forecast(readings, ahead, trust);
        let room = self.room(readings, ahead, forecast.freed);
        // More may wait than there is room for: cwnd falls while octets are on their way.
        let window = room.saturating_sub(readings.backlog()).max(least(readings));
        let wake_at = forecast.more_at.into_iter().chain(self.pace_opens(readings, ahead)).min();
        Orders { window: Some(self.grant.window(readings, window)), wake_at, ..Orders::default() }
    }

    /// Octets that the far side will be able to send within `ahead`, if ACKs free `freed` octets.
    fn room(&self, readings: &Readings, ahead: SimDuration, freed: Bytes) -> Bytes {
        let far = &readings.far;
        let cwnd = far.cwnd.max(far.mss);
        // A window may be without bound, and so may what its growth makes of it.
        let opened = cwnd.0.saturating_add((freed.0 as f64 * self.growth(readings)) as u64);
        // More is out than a window that was cut has room for.
        let within_cwnd = opened.saturating_sub(far.pipe.0 + far.to_repair.0);
        let outstanding = readings.sent - readings.acknowledged;
        // A window may be without bound; and one that the far end took back has less room than is out.
        let within_receiver = far.rwnd.0.saturating_add(freed.0).saturating_sub(outstanding.0);
        let within_pace = self.paced(readings, ahead).map_or(u64::MAX, |octets| octets.0);
        Bytes(within_cwnd.min(within_receiver).min(within_pace))
    }

    /// Octets that pacing allows within `ahead`; `None` without pacing.
    fn paced(&self, readings: &Readings, ahead: SimDuration) -> Option<Bytes> {
        // The pacer may let nothing go within `ahead`.
        let left = (readings.now + ahead).saturating_since(self.pacer_next(readings)?);
        let by_rate = readings.far.pacing_rate.map_or(Bytes::ZERO, |rate| rate.bytes_in(left.min(ahead)));
        Some(if left.is_zero() { Bytes::ZERO } else { readings.far.mss + by_rate })
    }

    /// Time at which the pacer's next segment comes within `ahead`, if that is still to come.
    fn pace_opens(&self, readings: &Readings, ahead: SimDuration) -> Option<SimTime> {
        let next = self.pacer_next(readings)?;
        (next >= readings.now + ahead).then(|| SimTime(next.0 - ahead.0 + 1))
    }

    /// Time at which the pacer allows the next segment.
    fn pacer_next(&self, readings: &Readings) -> Option<SimTime> {
        let rate = readings.far.pacing_rate.filter(|rate| rate.0 > 0)?;
        Some(self.transmitted.1 + rate.serialization_delay(readings.far.mss))
    }

    /// Forecast of the octets that ACKs will free within `ahead`, weighted by its trust.
    fn forecast(&self, readings: &Readings, ahead: SimDuration, trust: f64) -> Forecast {
        if trust <= 0.0 {
            return Forecast::default();
        }
        let forecast = self.clock.forecast(readings, ahead, self.growth(readings).max(1.0));
        Forecast { freed: Bytes((forecast.freed.0 as f64 * trust) as u64), ..forecast }
    }

    /// Trust in the forecast: full while a quarter as many octets are late as may be, zero from three quarters on.
    fn trust(&self) -> f64 {
        (1.5 - 2.0 * self.lateness.part() / MAY_BE_LATE).clamp(0.0, 1.0)
    }

    /// Octets that an ACK allows, as a multiple of those that it acknowledges.
    fn growth(&self, readings: &Readings) -> f64 {
        let since_repair = readings.now - self.repaired.1;
        if self.repaired.0 > Bytes::ZERO && since_repair < readings.far.srtt {
            IN_RECOVERY
        } else if readings.far.is_in_slow_start {
            self.config.slow_start_growth
        } else {
            1.0
        }
    }
}

/// A segment where the far end has acknowledged everything and nothing waits, though its window may be closed; nothing
/// before it has answered, or else.
fn least(readings: &Readings) -> Bytes {
    let is_open = !readings.far.srtt.is_zero() || readings.far.rwnd > Bytes::ZERO;
    let is_idle = readings.in_socket() == Bytes::ZERO;
    if is_open && is_idle { readings.near_segment() } else { Bytes::ZERO }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Bandwidth;

    use super::*;

    /// A far side that is open, with a window of ten segments of 1000 octets.
    fn opened() -> Readings {
        let mut readings =
            Readings { near_rtt: SimDuration::from_millis(2), near_mss: Bytes(1000), ..Readings::default() };
        readings.now = SimTime::ZERO + SimDuration::from_secs(1);
        readings.far.srtt = SimDuration::from_millis(10);
        readings.far.mss = Bytes(1000);
        readings.far.cwnd = Bytes(10_000);
        readings.far.rwnd = Bytes(1_000_000);
        readings
    }

    fn window(credit: &mut Credit, readings: &Readings) -> Bytes {
        credit.update(readings).window.unwrap()
    }

    fn credit() -> Credit {
        Credit::new(CreditConfig { margin: SimDuration::from_millis(3), ..CreditConfig::default() })
    }

    #[test]
    fn nothing_before_the_far_side_is_open_then_its_window() {
        let mut credit = credit();
        let mut readings = Readings { near_mss: Bytes(1000), ..Readings::default() };
        readings.far.cwnd = Bytes(10_000);
        assert_eq!(window(&mut credit, &readings), Bytes::ZERO);
        assert_eq!(window(&mut credit, &opened()), Bytes(10_000));
    }

    #[test]
    fn what_waits_is_taken_off_and_so_is_what_is_to_be_sent_again() {
        let mut readings = opened();
        readings.arrived = Bytes(13_000);
        readings.sent = Bytes(10_000);
        readings.far.pipe = Bytes(3000);
        readings.far.to_repair = Bytes(2000);
        // 10 - 3 - 2 segments of room, of which three are spoken for
        assert_eq!(window(&mut credit(), &readings), Bytes(2000));
    }

    #[test]
    fn acks_that_come_within_near_rtt_and_margin_are_counted_on() {
        let mut credit = credit();
        // ten segments, one each millisecond from 1 s on, with no ACK yet and no window left
        let mut readings = opened();
        for n in 1..=10 {
            readings.arrived = Bytes(1000 * n);
            readings.sent = readings.arrived;
            readings.far.pipe = readings.arrived;
            credit.update(&readings);
            readings.now += SimDuration::from_millis(1);
        }
        // at 1010 ms the first ACK is due; within 2 + 3 ms those of 0 to 5 ms are: six segments, in slow start for twelve
        let ahead = SimDuration::from_millis(5);
        let room =
            |readings: &Readings, trust| credit.room(readings, ahead, credit.forecast(readings, ahead, trust).freed);
        assert_eq!(room(&readings, 1.0), Bytes(6000));
        assert_eq!(room(&readings, 0.5), Bytes(3000));
        assert_eq!(room(&readings, 0.0), Bytes::ZERO);
        readings.far.is_in_slow_start = true;
        assert_eq!(room(&readings, 1.0), Bytes(12_000));
    }

    #[test]
    fn the_more_octets_were_late_the_less_is_counted_on() {
        let mut credit = credit();
        let mut readings = opened();
        // 980 kB leave when they come; 5 kB wait for 11 ms, longer than the 10 ms that they may
        readings.arrived = Bytes(980_000);
        readings.sent = readings.arrived;
        credit.update(&readings);
        assert_eq!(credit.trust().to_bits(), 1.0_f64.to_bits());
        readings.arrived += Bytes(5000);
        credit.update(&readings);
        readings.now += SimDuration::from_millis(11);
        credit.update(&readings);
        readings.sent = readings.arrived;
        credit.update(&readings);
        // 5 of 985 kB, 0.508 %: of the way from 0.25 % to 0.75 % 0.485 is left
        assert!((credit.trust() - 0.485).abs() < 5e-4, "{}", credit.trust());
        readings.arrived += Bytes(3000);
        credit.update(&readings);
        readings.now += SimDuration::from_millis(11);
        credit.update(&readings);
        // 8 of 985 kB, the last of them still waiting: more than three quarters of what may be
        assert_eq!(credit.trust().to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn the_far_ends_window_and_pacing_bound_it() {
        let mut readings = opened();
        readings.far.rwnd = Bytes(4000);
        assert_eq!(window(&mut credit(), &readings), Bytes(4000));
        // 2 Mbit/s are 1250 octets in 5 ms, and a segment may always go: 2250, two segments
        readings.far.pacing_rate = Some(Bandwidth(2_000_000));
        assert_eq!(window(&mut credit(), &readings), Bytes(2000));
    }

    #[test]
    fn a_pacer_that_has_just_sent_is_asked_again_near_and_margin_before_the_next() {
        let mut credit = credit();
        let mut readings = opened();
        readings.arrived = Bytes(1000);
        readings.sent = Bytes(1000);
        readings.far.pipe = Bytes(1000);
        // 0.8 Mbit/s: a segment of 1000 octets every 10 ms, the next at 1010 ms; the ACK is far away
        readings.far.srtt = SimDuration::from_millis(100);
        readings.far.pacing_rate = Some(Bandwidth(800_000));
        let orders = credit.update(&readings);
        assert_eq!((orders.window, orders.wake_at), (Some(Bytes::ZERO), Some(SimTime(1_005_000_001))));
        readings.now = SimTime(1_005_000_001);
        assert_eq!(window(&mut credit, &readings), Bytes(1000));
    }

    #[test]
    fn a_far_end_that_closed_its_window_is_probed_with_a_segment() {
        let mut readings = opened();
        readings.far.rwnd = Bytes::ZERO;
        assert_eq!(window(&mut credit(), &readings), Bytes(1000));
        // which waits now
        readings.arrived = Bytes(1000);
        assert_eq!(window(&mut credit(), &readings), Bytes::ZERO);
    }

    #[test]
    fn a_window_below_a_segment_counts_as_one() {
        let mut readings = opened();
        readings.far.cwnd = Bytes(300);
        assert_eq!(window(&mut credit(), &readings), Bytes(1000));
    }
}
