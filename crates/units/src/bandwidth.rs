//! Data rates in bits per second.

use std::fmt;
use std::str::FromStr;

use crate::text::{ParseQuantityError, UnitTable, parse_quantity, write_quantity};
use crate::{Bytes, SimDuration};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(pub u64);

const UNITS: UnitTable = UnitTable {
    quantity: "a rate",
    example: "100 Mbit/s",
    base: "bit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("B/s", 8),
        ("kB/s", 8_000),
        ("MB/s", 8_000_000),
        ("GB/s", 8_000_000_000),
    ],
    names: LINE_RATES,
    written: &["Gbit/s", "Mbit/s", "kbit/s", "bit/s"],
};

/// Digital lines by their names, each with the rate of its bits, framing of the line included: the plesiochronous hierarchies of North America
/// (ANSI T1.107: DS0, DS1 and DS3, on carriers T1 and T3) and of Europe (ITU-T G.702, G.703: E1, E3), and SONET's optical
/// carriers of 51.84 Mbit/s times N (Telcordia GR-253: OC-3, OC-12, OC-48).
pub const LINE_RATES: &[(&str, u64)] = &[
    ("DS0", 64_000),
    ("DS1", 1_544_000),
    ("T1", 1_544_000),
    ("E1", 2_048_000),
    ("E3", 34_368_000),
    ("DS3", 44_736_000),
    ("T3", 44_736_000),
    ("OC-3", 155_520_000),
    ("OC-12", 622_080_000),
    ("OC-48", 2_488_320_000),
];

impl Bandwidth {
    /// Time to clock `size` onto a link of this rate. Rounds up, so a link never runs faster than its rate.
    pub fn serialization_delay(self, size: Bytes) -> SimDuration {
        let (whole, remainder) = self.serialization_parts(size);
        SimDuration(whole + u64::from(remainder > 0))
    }

    /// Serialization delay in parts: whole nanoseconds, and what is left in units of 1/rate nanoseconds. A busy link
    /// adds the left-over of one packet to the next, so that its long-run rate is exact.
    pub fn serialization_parts(self, size: Bytes) -> (u64, u64) {
        let bit_nanoseconds = u128::from(size.0) * 8_000_000_000;
        let rate = u128::from(self.0);
        ((bit_nanoseconds / rate) as u64, (bit_nanoseconds % rate) as u64)
    }

    /// Bytes that this rate carries in `span`, rounded down: the bandwidth-delay product when `span` is a round trip.
    pub fn bytes_in(self, span: SimDuration) -> Bytes {
        Bytes((u128::from(self.0) * u128::from(span.0) / 8_000_000_000) as u64)
    }
}

impl FromStr for Bandwidth {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_quantity(text, &UNITS).map(Self)
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, &UNITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ethernet_packet_takes_120_us_at_100_mbit_s() {
        // 1500 B * 8 bit / 100e6 bit/s = 120 us
        assert_eq!(Bandwidth(100_000_000).serialization_delay(Bytes(1500)), SimDuration(120_000));
    }

    #[test]
    fn serialisation_rounds_up() {
        // 1500 * 8 / 44.736e6 = 268.240343... us
        assert_eq!(Bandwidth(44_736_000).serialization_delay(Bytes(1500)), SimDuration(268_241));
    }

    #[test]
    fn a_line_has_the_rate_of_its_frames() {
        let rate = |name: &str| name.parse::<Bandwidth>().expect(name).0;
        // ANSI T1.107: 8000 frames a second of 24 octets and a bit. ITU-T G.704: of 32 octets.
        assert_eq!([rate("DS0"), rate("DS1"), rate("E1")], [8_000 * 8, 8_000 * (24 * 8 + 1), 8_000 * 32 * 8]);
        // ITU-T G.702, table 1, third level: 44 736 kbit/s in North America, 34 368 kbit/s in Europe.
        assert_eq!([rate("DS3"), rate("E3")], [44_736_000, 34_368_000]);
        assert_eq!([rate("T1"), rate("T3")], [rate("DS1"), rate("DS3")]);
        // GR-253: an STS-1 has 8000 frames a second of 9 rows of 90 octets, an OC-N N of them.
        let sts1 = 8_000 * 9 * 90 * 8;
        assert_eq!([rate("OC-3"), rate("OC-12"), rate("OC48")], [3 * sts1, 12 * sts1, 48 * sts1]);
    }

    #[test]
    fn a_line_is_written_as_the_number_that_it_stands_for() {
        for (name, rate) in LINE_RATES {
            let written = name.parse::<Bandwidth>().expect(name).to_string();
            assert_eq!(written.parse(), Ok(Bandwidth(*rate)), "{name}: {written}");
        }
        assert_eq!("DS3".parse::<Bandwidth>().expect("a line").to_string(), "44.736 Mbit/s");
        let error = "DS2".parse::<Bandwidth>().expect_err("not read").to_string();
        assert!(error.contains("names: DS0, DS1, T1, E1"), "{error}");
    }

    #[test]
    fn bdp_of_the_papers_path() {
        // 100 Mbit/s * 60 ms / 8 = 750 000 B
        assert_eq!(Bandwidth(100_000_000).bytes_in(SimDuration::from_millis(60)), Bytes(750_000));
    }
}
