//! Values written as a number with a unit.

use std::fmt;
use std::str::FromStr;

use ackclock_units::{Bandwidth, Bytes, SimDuration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::either::Wanted;
use super::macros::overlay_replaces;

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Duration(pub(crate) SimDuration);

/// A number of events per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EventRate(pub(crate) f64);

/// A data rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate(pub(crate) Bandwidth);

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) Bytes);

/// Octets that the link layer adds to each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing(pub(crate) Bytes);

/// PPP in HDLC-like framing (RFC 1662 section 3.1): flag 1, address 1, control 1, protocol 2, check sequence 2, closing
/// flag 1. Frames back to back may share a flag, and transparency may add octets; neither is modelled.
const PPP_OCTETS: u64 = 8;

/// Ethernet (IEEE 802.3): preamble and start delimiter 8, addresses and type 14, check sequence 4, inter-packet gap 12.
const ETHERNET_OCTETS: u64 = 38;

const FRAMING_NAMES: [(&str, u64); 3] = [("none", 0), ("ppp", PPP_OCTETS), ("ethernet", ETHERNET_OCTETS)];

/// Implements serde, schema and layering for types that are written as text.
macro_rules! written_as_text {
    ($($type:ident: $wanted:literal, $example:literal;)*) => {
        $(
            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    struct Reads;
                    impl serde::de::Visitor<'_> for Reads {
                        type Value = $type;

                        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                            f.write_str(<$type>::WANTED)
                        }
                        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                            text.parse().map_err(E::custom)
                        }
                    }
                    deserializer.deserialize_str(Reads)
                }
            }

            impl Wanted for $type {
                const WANTED: &'static str = concat!($wanted, " as a string such as \"", $example, "\"");
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
    Framing: "an amount of data, or \"none\", \"ppp\" (8 bytes), \"ethernet\" (38 bytes)", "38 bytes";
}

/// Defines newtypes of quantities of `units`, read and written alike.
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

/// The units of events per second, with their factors.
const EVENT_UNITS: [(&str, f64); 4] = [("/ms", 1e3), ("/min", 1.0 / 60.0), ("/h", 1.0 / 3_600.0), ("/s", 1.0)];

impl FromStr for EventRate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must be a rate of arrivals; write it like \"1000 /s\"; units: /ms, /s, /min, /h".to_owned();
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
    fn framing_has_names() {
        assert_eq!("ppp".parse(), Ok(Framing(Bytes(8))));
        assert_eq!("ethernet".parse(), Ok(Framing(Bytes(38))));
        assert_eq!("none".parse(), Ok(Framing(Bytes(0))));
        assert_eq!("38 bytes".parse(), Ok(Framing(Bytes(38))));
    }
}
