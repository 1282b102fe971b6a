//! Data counted in octets or in segments.

use std::fmt;
use std::str::FromStr;

use crate::Bytes;
use crate::text::ParseQuantityError;

/// An amount of data, in bytes or in segments of a connection's MSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// An amount in octets.
    Bytes(Bytes),
    /// An amount in segments of the connection's MSS.
    Segments(u64),
}

impl Amount {
    /// Amount in octets, with segments of `mss`.
    pub fn in_bytes(self, mss: u64) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Segments(count) => Bytes(count.saturating_mul(mss)),
        }
    }
}

impl FromStr for Amount {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        let text = text.trim();
        let wrong = |what: String| ParseQuantityError::new(text, what);
        let Some(count) = text.strip_suffix("segments").or_else(|| text.strip_suffix("segment")) else {
            let bytes = text.parse().map(Self::Bytes);
            return bytes
                .map_err(|error: ParseQuantityError| wrong(format!("{}, or like \"10 segments\"", error.what())));
        };
        let count = count.trim().replace('_', "").parse().map(Self::Segments);
        count.map_err(|_| {
            wrong("must be a whole number of segments, less than 2^64; write it like \"10 segments\"".to_owned())
        })
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
