//! `HighSpeed` TCP: increase and decrease depend on the window, so that a window of 83,000 segments needs a loss rate of
//! only 1e-7.
//!
//! Source: RFC 3649 section 5 (the response function and the formulas of a(w) and b(w)) and appendix B (their table).
//! Beyond `High_Window` the RFC's table follows the formulas down to b = 0.09, where it ends, and so does Linux's. Here b ends at
//! that, nine tenths of `High_Decrease`; a(w) goes on with it by the formula, so that the response function holds.
//!
//! Departures: none; `increase = "acks"` counts as Linux does, and `variant = "linux"` is its module ([`mod@crate::linux_module`]). With `response = "table"` a(w) and b(w) are those of the greatest entry not above w, as the RFC's
//! appendix gives them; it ends at 94,717 segments.
//!
//! Checked: the RFC's table against its formulas, in the tests below; the runs held to it are in
//! docs/reference/laws.md.

use ackclock_declare::{declare, default, words};
use ackclock_units::math::{ln, pow};

use super::{Classic, Grown, Rule};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};
use crate::event::CongestionEvent;
use crate::linux_module::{self, LinuxModule};

words! {
    /// The source of the rules.
    #[derive(Default)]
    pub enum HighSpeedVariant {
        /// RFC 3649.
        #[default]
        "rfc3649" = Rfc3649,
        /// Linux's module, to which no other parameter applies.
        "linux" = Linux,
    }
}

words! {
    /// The source of a(w) and b(w).
    #[derive(Default)]
    pub enum HighSpeedResponse {
        /// The formulas of section 5.
        #[default]
        "formula" = Formula,
        /// The table of appendix B.
        "table" = Table,
    }
}

words! {
    /// The unit that congestion avoidance counts.
    #[derive(Default)]
    pub enum HighSpeedIncrease {
        /// Octets acknowledged: a(w) segments in a round trip however the receiver acknowledges.
        #[default]
        "bytes" = Bytes,
        /// ACKs, each as one segment, as Linux's own HighSpeed does: half of a(w) with an ACK for every second segment.
        "acks" = Acks,
    }
}

declare! {
    /// Parameters of [`HighSpeed`]; the defaults are the RFC's.
    #[derive(Copy)]
    pub struct HighSpeedConfig {
        /// Source of the rules: the RFC, or Linux's module, which reads the table of appendix B upwards and takes no other parameter.
        variant: HighSpeedVariant = HighSpeedVariant::Rfc3649,
        /// Source of a(w) and b(w): the RFC's section 5, or the table of its appendix B.
        response: HighSpeedResponse = HighSpeedResponse::Formula,
        /// Unit that the window counts: octets, or ACKs, as `tcp_highspeed.c` of Linux.
        increase: HighSpeedIncrease = HighSpeedIncrease::Bytes,
        /// Window up to which Reno's rules hold.
        low_window: f64 = default(38.0).at_least(1.0).at_most(1e9).unit("segments").source("RFC 3649 section 5"),
        /// Window to be reached at `high_p`.
        high_window: f64 = default(83_000.0).at_least(2.0).at_most(1e9).unit("segments").source("RFC 3649 section 5"),
        /// Loss rate at `high_window`.
        high_p: f64 = default(1e-7).at_least(1e-12).at_most(9e-4).source("RFC 3649 section 5"),
        /// Fraction taken away at `high_window`.
        high_decrease: f64 = default(0.1).at_least(1e-3).at_most(0.5).source("RFC 3649 section 5"),
    }
    check |config, review| {
        let plain = Self { variant: config.variant, ..Self::as_declared() };
        if config.variant == HighSpeedVariant::Linux && *config != plain {
            review.report("variant", "\"linux\" takes no other parameter".to_owned(), "leave the others out");
        }
        review.at_most(("low_window", &(config.low_window + 1.0)), ("high_window", &config.high_window));
    };
}

impl Algorithm for HighSpeedConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "HighSpeed TCP (HSTCP): increase and decrease depend on the window",
        source: "RFC 3649",
        departures: "slow start is RFC 5681's, acknowledged segments are counted by octets",
        ..Name::called("highspeed")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            HighSpeedVariant::Rfc3649 => Classic::start(HighSpeed::new(*self), start),
            HighSpeedVariant::Linux => LinuxModule::start(linux_module::HighSpeed::new(), start),
        }
    }
}

impl HighSpeedConfig {
    /// The values of a(w), segments a round trip, and b(w) by the formulas of section 5, for a window above
    /// `low_window`, in segments.
    pub fn response_at(&self, window: f64) -> (f64, f64) {
        from_formulas(self, window)
    }
}

/// The loss rate at which Reno's window is `low_window`, 1.5 / W^2 (section 5): `10^-3` for the RFC's 38 segments,
/// rounded as there.
fn low_p(low_window: f64) -> f64 {
    if low_window.to_bits() == 38_f64.to_bits() { 1e-3 } else { 1.5 / (low_window * low_window) }
}

/// The table of appendix B: w, and 100 b(w); a(w) is the number of the entry.
//= rfc3649-B-table
pub(crate) const TABLE: [(u32, u8); 73] = [
    (38, 50),
    (118, 44),
    (221, 41),
    (347, 38),
    (495, 37),
    (663, 35),
    (851, 34),
    (1058, 33),
    (1284, 32),
    (1529, 31),
    (1793, 30),
    (2076, 29),
    (2378, 28),
    (2699, 28),
    (3039, 27),
    (3399, 27),
    (3778, 26),
    (4177, 26),
    (4596, 25),
    (5036, 25),
    (5497, 24),
    (5979, 24),
    (6483, 23),
    (7009, 23),
    (7558, 22),
    (8130, 22),
    (8726, 22),
    (9346, 21),
    (9991, 21),
    (10661, 21),
    (11358, 20),
    (12082, 20),
    (12834, 20),
    (13614, 19),
    (14424, 19),
    (15265, 19),
    (16137, 19),
    (17042, 18),
    (17981, 18),
    (18955, 18),
    (19965, 17),
    (21013, 17),
    (22101, 17),
    (23230, 17),
    (24402, 16),
    (25618, 16),
    (26881, 16),
    (28193, 16),
    (29557, 15),
    (30975, 15),
    (32450, 15),
    (33986, 15),
    (35586, 14),
    (37253, 14),
    (38992, 14),
    (40808, 14),
    (42707, 13),
    (44694, 13),
    (46776, 13),
    (48961, 13),
    (51258, 13),
    (53677, 12),
    (56230, 12),
    (58932, 12),
    (61799, 12),
    (64851, 11),
    (68113, 11),
    (71617, 11),
    (75401, 10),
    (79517, 10),
    (84035, 10),
    (89053, 10),
    (94717, 9),
];

/// `HighSpeed` TCP (RFC 3649): increase and decrease follow the size of the window. Source:
/// [`mod@crate::classic::highspeed`].
#[derive(Clone, Debug)]
pub struct HighSpeed {
    config: HighSpeedConfig,
    /// The rounded window of the latest a and b, which are kept because logarithms are expensive.
    known_for: f64,
    known: (f64, f64),
}

impl HighSpeed {
    pub(super) fn new(config: HighSpeedConfig) -> Self {
        Self { config, known_for: 0.0, known: (1.0, 0.5) }
    }

    /// The values of a(w), segments a round trip, and b(w).
    fn response(&mut self, window: f64) -> (f64, f64) {
        let window = window.floor();
        if window.to_bits() != self.known_for.to_bits() {
            self.known_for = window;
            //= rfc3649-5-below-low-window
            self.known = if window <= self.config.low_window {
                (1.0, 0.5)
            } else if self.config.response == HighSpeedResponse::Table {
                from_table(window)
            } else {
                from_formulas(&self.config, window)
            };
        }
        self.known
    }
}

fn from_table(window: f64) -> (f64, f64) {
    let entries = TABLE.partition_point(|(from, _)| f64::from(*from) <= window).max(1);
    (entries as f64, f64::from(TABLE[entries - 1].1) / 100.0)
}

/// The least b(w), as a share of `High_Decrease`: the table ends at 0.09 of 0.1.
const LEAST_DECREASE: f64 = 0.9;

/// The values by section 5: b(w) falls linearly in log w; a(w) follows from b(w) and the loss rate p(w) of w.
fn from_formulas(config: &HighSpeedConfig, window: f64) -> (f64, f64) {
    //= rfc3649-5-decrease
    //= rfc3649-5-response
    let span = ln(config.high_window) - ln(config.low_window);
    let place = (ln(window) - ln(config.low_window)) / span;
    let b = ((config.high_decrease - 0.5) * place + 0.5).max(LEAST_DECREASE * config.high_decrease);
    let low_p = low_p(config.low_window);
    let p = low_p * pow(config.high_p / low_p, place);
    (window * window * p * 2.0 * b / (2.0 - b), b)
}

impl Rule for HighSpeed {
    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        let counted = if self.config.increase == HighSpeedIncrease::Acks { 1.0 } else { grown.acked };
        self.response(grown.cwnd).0 * counted / grown.cwnd
    }

    fn decrease(&mut self, _event: &CongestionEvent, cwnd: f64, flight: f64) -> f64 {
        flight * (1.0 - self.response(cwnd).1)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("a_segments", self.known.0);
        record("b", self.known.1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{avoiding, gain_of_round, kept_of_loss};
    use super::*;
    use crate::controller::CongestionController;
    use crate::testing::ack;

    //= rfc3649-B-table
    //= rfc3649-5-response
    #[test]
    fn the_formulas_give_the_table_of_appendix_b() {
        // The table has a(w) rounded to whole segments at the first window that reaches them, b(w) to two digits.
        for (number, (window, hundredths)) in (1_u32..).zip(TABLE) {
            if window < 118 {
                continue;
            }
            let (a, b) = from_formulas(&HighSpeedConfig::default(), f64::from(window));
            assert!((a - f64::from(number)).abs() < 0.03 * f64::from(number), "a({window}) = {a}");
            assert!((b - f64::from(hundredths) / 100.0).abs() < 0.0151, "b({window}) = {b}");
        }
    }

    //= rfc3649-5-decrease
    //= rfc3649-5-response
    #[test]
    fn at_the_high_window_a_is_72_and_b_a_tenth() {
        // RFC 3649 section 5: a(83000) = 72 segments for b = 0.1 and p = 1e-7:
        // 83000^2 * 1e-7 * 2 * 0.1 / 1.9 = 72.5
        let mut high_speed = avoiding(&HighSpeedConfig::default(), 83_000.0);
        let gained = gain_of_round(&mut high_speed, 1, 0, 100);
        assert!((gained - 72.5).abs() < 0.5, "{gained}");
        let kept = kept_of_loss(&mut high_speed);
        assert!((kept - 0.9).abs() < 0.001, "{kept}");
    }

    //= rfc3649-5-decrease
    #[test]
    fn beyond_the_table_the_decrease_stays_and_the_response_goes_on() {
        // The line through (10^-3, 38) and (10^-7, 83000): W = 0.12 / p^0.835, p = 0.078 / W^1.2 (RFC 3649 section 5).
        for window in [1e5, 1e6, 1e7] {
            let (a, b) = from_formulas(&HighSpeedConfig::default(), window);
            assert!((b - 0.09).abs() < 1e-3, "b({window}) = {b}"); // the last entry of appendix B
            let law = window * window * 0.078 / pow(window, 1.2) * 2.0 * b / (2.0 - b);
            assert!((a / law - 1.0).abs() < 0.05, "a({window}) = {a} against {law}");
        }
        let small = HighSpeedConfig { high_window: 200.0, high_p: 1e-4, ..HighSpeedConfig::default() };
        let kept = kept_of_loss(&mut avoiding(&small, 20_000.0));
        assert!((kept - 0.91).abs() < 1e-6, "{kept}");
    }

    #[test]
    fn counting_acks_adds_half_under_delayed_acks() {
        // As above, 72.5 segments for 83000 that are acknowledged one by one, and half of it for 41 500 ACKs of two.
        let gained = |increase| {
            let config = HighSpeedConfig { increase, ..HighSpeedConfig::default() };
            let mut high_speed = avoiding(&config, 83_000.0);
            let before = high_speed.cwnd().0;
            (0..41_500).for_each(|_| high_speed.on_ack(&ack(2_000)));
            (high_speed.cwnd().0 - before) as f64 / 1_000.0
        };
        assert!((gained(HighSpeedIncrease::Bytes) - 72.5).abs() < 0.5);
        assert!((gained(HighSpeedIncrease::Acks) - 36.25).abs() < 0.25);
    }

    //= rfc3649-5-below-low-window
    #[test]
    fn below_the_low_window_it_is_reno() {
        let mut high_speed = avoiding(&HighSpeedConfig::default(), 30.0);
        let gained = gain_of_round(&mut high_speed, 1, 0, 100);
        assert!((0.95..=1.0).contains(&gained), "{gained}");
        assert!((kept_of_loss(&mut high_speed) - 0.5).abs() < 1e-3);
    }

    //= rfc3649-B-table
    #[test]
    fn the_table_is_read_downwards() {
        assert_eq!(from_table(117.0), (1.0, 0.50));
        assert_eq!(from_table(118.0), (2.0, 0.44));
        assert_eq!(from_table(1e6), (73.0, 0.09));
    }
}
