//! Values written as a number with a unit.

use std::fmt;
use std::str::FromStr;

use ackclock_units::{Bandwidth, Bytes, SimDuration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::overlay_replaces;

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Duration(pub(crate) SimDuration);

/// How often something happens, in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EventRate(pub(crate) f64);

/// A data rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate(pub(crate) Bandwidth);

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) Bytes);

/// An amount of data, in bytes or in segments of the connection's MSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Bytes(Bytes),
    Segments(u64),
}

/// A buffer: as large as the window field can use, or of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffer {
    Unlimited,
    Of(Bytes),
}

/// The first slow-start threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ssthresh {
    Infinite,
    Of(Amount),
}

/// Octets that the link layer adds to each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing(pub(crate) Bytes);

/// PPP in HDLC-like framing (RFC 1662 section 3.1): flag 1, address 1, control 1, protocol 2, check sequence 2, closing
/// flag 1. Frames back to back may share a flag, and transparency may add octets; neither is modelled.
const PPP_OCTETS: u64 = 8;

/// Ethernet (IEEE 802.3): preamble and start delimiter 8, addresses and type 14, check sequence 4, inter-packet gap 12.
const ETHERNET_OCTETS: u64 = 38;

const FRAMING_NAMES: [(&str, u64); 3] = [("none", 0), ("ppp", PPP_OCTETS), ("ethernet", ETHERNET_OCTETS)];

/// Serde, schema and layering of types that are written as text.
macro_rules! written_as_text {
    ($($type:ident: $wanted:literal, $example:literal;)*) => {
        $(
            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    struct Reads;
                    impl serde::de::Visitor<'_> for Reads {
                        type Value = $type;

                        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                            f.write_str(concat!($wanted, " as a text such as \"", $example, "\""))
                        }
                        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                            text.parse().map_err(E::custom)
                        }
                    }
                    deserializer.deserialize_str(Reads)
                }
            }

            impl Serialize for $type {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl JsonSchema for $type {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($type).into()
                }

                fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    schemars::json_schema!({ "type": "string", "description": $wanted, "examples": [$example] })
                }
            }

            overlay_replaces!($type);
        )*
    };
}

written_as_text! {
    Duration: "a duration", "30 ms";
    EventRate: "how many in a time", "1000 /s";
    Rate: "a rate", "100 Mbit/s";
    Size: "an amount of data", "50 MB";
    Amount: "an amount of data or a number of segments", "10 segments";
    Buffer: "an amount of data or \"unlimited\"", "64 KiB";
    Ssthresh: "an amount of data, a number of segments or \"infinite\"", "65535 bytes";
    Framing: "an amount of data, or \"none\", \"ppp\" (8 bytes), \"ethernet\" (38 bytes)", "38 bytes";
}

/// Newtypes around a quantity of `units` read and write as it does.
macro_rules! quantity {
    ($($type:ident),*) => {
        $(
            impl FromStr for $type {
                type Err = String;
                fn from_str(text: &str) -> Result<Self, String> {
                    text.parse().map(Self).map_err(|e| e.what().to_owned())
                }
            }

            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(f)
                }
            }
        )*
    };
}

quantity!(Duration, Rate, Size);

/// Times in a second.
const EVENT_UNITS: [(&str, f64); 4] = [("/ms", 1e3), ("/min", 1.0 / 60.0), ("/h", 1.0 / 3_600.0), ("/s", 1.0)];

impl FromStr for EventRate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must be how many in a time; write it like \"1000 /s\"; units: /ms, /s, /min, /h".to_owned();
        let text = text.trim();
        let found = EVENT_UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
        let (number, factor) = found.ok_or_else(wrong)?;
        let number: f64 = number.trim().replace('_', "").parse().map_err(|_| wrong())?;
        if number.is_finite() && number >= 0.0 { Ok(Self(number * factor)) } else { Err(wrong()) }
    }
}

impl fmt::Display for EventRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /s", self.0)
    }
}

/// `12 segments` as 12, for any of the given unit names.
fn count_of(text: &str, units: &[&str]) -> Option<Result<u64, String>> {
    let text = text.trim();
    let number = units.iter().find_map(|unit| text.strip_suffix(unit))?.trim();
    Some(
        number
            .replace('_', "")
            .parse()
            .map_err(|_| format!("must be a whole number of {}; write it like \"10 {}\"", units[0], units[0])),
    )
}

impl FromStr for Amount {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match count_of(text, &["segments", "segment"]) {
            Some(count) => count.map(Self::Segments),
            None => text.parse().map(Self::Bytes).map_err(|e| format!("{}, or like \"10 segments\"", e.what())),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Segments(count) => write!(f, "{count} segments"),
        }
    }
}

impl FromStr for Buffer {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "unlimited" => Ok(Self::Unlimited),
            text => text.parse().map(Self::Of).map_err(|e| format!("{}, or \"unlimited\"", e.what())),
        }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("unlimited"),
            Self::Of(bytes) => bytes.fmt(f),
        }
    }
}

impl FromStr for Ssthresh {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "infinite" => Ok(Self::Infinite),
            text => text.parse().map(Self::Of).map_err(|e| format!("{e}, or \"infinite\"")),
        }
    }
}

impl fmt::Display for Ssthresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Infinite => f.write_str("infinite"),
            Self::Of(amount) => amount.fmt(f),
        }
    }
}

impl FromStr for Framing {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match FRAMING_NAMES.iter().find(|(name, _)| *name == text.trim()) {
            Some((_, octets)) => Ok(Self(Bytes(*octets))),
            None => text.parse().map(Self).map_err(|e| format!("{}, or a name: none, ppp, ethernet", e.what())),
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_it_read() {
        for text in ["10 segments", "65.535 kB"] {
            assert_eq!(text.parse::<Amount>().unwrap().to_string(), text);
        }
        assert_eq!("infinite".parse::<Ssthresh>().unwrap().to_string(), "infinite");
        assert_eq!("unlimited".parse::<Buffer>().unwrap().to_string(), "unlimited");
    }

    #[test]
    fn framing_has_names() {
        assert_eq!("ppp".parse(), Ok(Framing(Bytes(8))));
        assert_eq!("ethernet".parse(), Ok(Framing(Bytes(38))));
        assert_eq!("none".parse(), Ok(Framing(Bytes(0))));
        assert_eq!("38 bytes".parse(), Ok(Framing(Bytes(38))));
    }
}
