//! How much may wait: what a scenario writes of it, what it comes to on a link, and the room that it leaves.

use std::fmt;
use std::str::FromStr;

use ackclock_declare::{Context, Json, Mistake, Range, Spec, Unordered, Value, default};
use ackclock_units::{Bandwidth, Bytes, ParseQuantityError, SimDuration};

/// A day: the longest time that a parameter of a queue may be. Sums stay within 64 bits of nanoseconds.
pub(super) const MAX_TIME: SimDuration = SimDuration::from_secs(24 * 3600);

/// Packets for which there is room where nobody said how much may wait: a sender in slow start has two leave for each ACK.
const LEAST_DEFAULT: u64 = 2;

/// Room for the largest packet there is.
pub(super) const LARGEST_PACKET: Bytes = Bytes(65_536);

/// Queues that flows are hashed into: each takes some memory.
pub(super) const MAX_FLOW_QUEUES: u32 = 65_536;

/// How much may wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Whatever arrives has room.
    Unlimited,
    /// Room for so many packets.
    Packets(u64),
    /// So many octets, framing included.
    Bytes(Bytes),
    /// A packet is dropped if what waits before it, the packet in service aside, takes longer than this to send.
    Time(SimDuration),
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Limit::Of(*self).fmt(f)
    }
}

impl QueueLimit {
    /// A time as what a link of this rate sends in it.
    #[must_use]
    pub(super) fn at_rate(self, rate: Bandwidth) -> Self {
        match self {
            Self::Time(time) => Self::Bytes(rate.bytes_in(time)),
            limit => limit,
        }
    }

    /// A multiple of it.
    #[must_use]
    pub(super) fn times(self, factor: u64) -> Self {
        match self {
            Self::Unlimited => Self::Unlimited,
            Self::Packets(count) => Self::Packets(count.saturating_mul(factor)),
            Self::Bytes(bytes) => Self::Bytes(Bytes(bytes.0.saturating_mul(factor))),
            Self::Time(time) => Self::Time(SimDuration(time.0.saturating_mul(factor))),
        }
    }

    /// What is wrong with it if packets of up to `largest` octets are to wait.
    pub fn lacks_room_for(self, largest: Bytes) -> Option<String> {
        match self {
            Self::Packets(0) | Self::Time(SimDuration::ZERO) => {
                Some("must be at least one packet: nothing could wait".to_owned())
            }
            Self::Bytes(bytes) if bytes < largest => {
                Some(format!("must be at least one packet of {largest}, and is {bytes}: none could ever wait"))
            }
            _ => None,
        }
    }
}

/// How much may wait in a queue, as a scenario writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// What does not depend on the flows.
    Of(QueueLimit),
    /// So many millionths of the bandwidth-delay product.
    Bdp(u64),
}

const MILLIONTHS: u64 = 1_000_000;

impl Limit {
    /// A limit of one bandwidth-delay product.
    pub const ONE_BDP: Self = Self::Bdp(MILLIONTHS);

    /// No limit at all.
    pub const UNLIMITED: Self = Self::Of(QueueLimit::Unlimited);

    /// What it comes to in a context. As long as the flows are unknown, a part of a bdp is no limit.
    fn settle(self, context: &Context) -> Result<QueueLimit, Vec<Mistake>> {
        let millionths = match self {
            Self::Of(limit) => return Ok(limit),
            Self::Bdp(millionths) => millionths,
        };
        let (Some(rate), Some(crossing)) = (context.settled_rate(), context.crossing()) else {
            return Ok(QueueLimit::Unlimited);
        };
        let Some(rtt) = crossing.rtt else {
            let remedy = "give the limit in packets, bytes or time, or send a flow over the link";
            return Err(vec![Mistake::new(
                "must not be in bdp: no flow crosses the link, so it has no round trip",
                remedy,
            )]);
        };
        let bdp = u128::from(rate.bytes_in(rtt).0);
        Ok(QueueLimit::Bytes(Bytes((bdp * u128::from(millionths) / u128::from(MILLIONTHS)) as u64)))
    }
}

impl FromStr for Limit {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        let text = text.trim();
        let wrong = |what: &str| ParseQuantityError::new(text, what.to_owned());
        if text == "unlimited" {
            return Ok(Self::UNLIMITED);
        }
        if let Some(count) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            let count = count.trim().replace('_', "").parse().map(QueueLimit::Packets).map(Self::Of);
            return count
                .map_err(|_| wrong("must be a whole number of packets, less than 2^64; write it like \"10 packets\""));
        }
        if let Some(number) = text.strip_suffix("bdp") {
            return millionths(number.trim()).map(Self::Bdp).ok_or_else(|| {
                wrong("must be a part of the bandwidth-delay product; write it like \"1 bdp\" or \"0.5 bdp\"")
            });
        }
        let bytes = text.parse().map(QueueLimit::Bytes).ok();
        bytes.or_else(|| text.parse().map(QueueLimit::Time).ok()).map(Self::Of).ok_or_else(|| {
            wrong(
                "must be a queue limit; write it like \"100 packets\", \"150 kB\", \"20 ms\", \"1 bdp\" or \"unlimited\"",
            )
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(QueueLimit::Unlimited) => f.write_str("unlimited"),
            Self::Of(QueueLimit::Packets(count)) => write!(f, "{count} packets"),
            Self::Of(QueueLimit::Bytes(bytes)) => bytes.fmt(f),
            Self::Of(QueueLimit::Time(time)) => time.fmt(f),
            Self::Bdp(millionths) => {
                let (whole, rest) = (millionths / MILLIONTHS, millionths % MILLIONTHS);
                let decimals = format!("{whole}.{rest:06}");
                write!(f, "{} bdp", decimals.trim_end_matches('0').trim_end_matches('.'))
            }
        }
    }
}

/// A decimal with at most six places, as millionths.
fn millionths(number: &str) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 6 || number.is_empty() || number == "." {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction: u64 = format!("{fraction:0<6}").parse().ok()?;
    whole.checked_mul(MILLIONTHS)?.checked_add(fraction)
}

fn limit_of(raw: &Json) -> Result<Limit, String> {
    let text = raw.as_str().ok_or_else(|| format!("must be a text; write {}", QueueLimit::wanted()))?;
    text.parse().map_err(|error: ParseQuantityError| error.what().to_owned())
}

impl Value for QueueLimit {
    type Bound = Unordered;

    fn wanted() -> String {
        "\"100 packets\", \"150 kB\", \"20 ms\", \"1 bdp\" or \"unlimited\"".to_owned()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        limit_of(raw)?.settle(&Context::default()).map_err(|mistakes| mistakes[0].message.clone())
    }
    fn read_in(raw: &Json, context: &Context) -> Result<Self, Vec<Mistake>> {
        limit_of(raw).map_err(|message| vec![Mistake::new(message, "")])?.settle(context)
    }
    fn write(&self) -> Json {
        Limit::Of(*self).to_string().into()
    }
    fn canonical(raw: &Json) -> Result<Json, String> {
        Ok(limit_of(raw)?.to_string().into())
    }
    fn schema() -> Json {
        let fields = [("type", Json::from("string")), ("examples", vec!["100 packets"].into())];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
    fn bounded(&self) -> Vec<Unordered> {
        Vec::new()
    }
    fn inside(_: &Range<Unordered>) -> Vec<Self> {
        let time = SimDuration::from_millis(20);
        vec![Self::Packets(100), Self::Bytes(Bytes(150_000)), Self::Time(time), Self::Unlimited]
    }
}

/// The limit of a queue that leaves it to its link where it is not written.
pub(super) fn of_link() -> Spec<QueueLimit> {
    let words = "\"1 bdp\" at the bottleneck of a dumbbell or parking lot, but 2 packets at least; else \"unlimited\"";
    let of = |context: &Context| -> Option<Result<QueueLimit, Vec<Mistake>>> {
        // A link that no flow crosses has no bdp, which is a mistake only where somebody wrote it.
        let limit = QueueLimit::read_in(&context.link.as_ref()?.default_limit, context);
        let limit = limit.unwrap_or(QueueLimit::Packets(LEAST_DEFAULT));
        let least = context.crossing().map_or(0, |crossing| LEAST_DEFAULT * crossing.largest_packet.0);
        Some(Ok(match limit {
            QueueLimit::Bytes(bytes) => QueueLimit::Bytes(Bytes(bytes.0.max(least))),
            limit => limit,
        }))
    };
    default(QueueLimit::Unlimited).in_context(words, of)
}

/// What a queue of several may send in a turn.
pub(super) fn quantum(size: Bytes) -> Spec<Bytes> {
    default(size).at_least(Bytes(40)).at_most(Bytes(1 << 30))
}

/// How much may wait on a link of some rate, and the one rule by which every queue looks at it.
///
/// A limit counts what waits and not the packet in service. One in time bounds what stands before a packet: what waits already takes
/// at most so long to send at the link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    limit: QueueLimit,
    rate: Option<Bandwidth>,
    /// Fewer packets than these wait before the next.
    packets: u64,
    /// No more octets wait, the next packet's included.
    octets: u64,
    /// No more octets wait before the next packet.
    before: u64,
}

impl Room {
    /// Room of this much on a link whose rate is yet to be set.
    pub fn new(limit: QueueLimit) -> Self {
        let mut room = Self { limit, rate: None, packets: u64::MAX, octets: u64::MAX, before: u64::MAX };
        room.settle();
        room
    }

    /// Another limit, on the same link.
    pub fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
        self.settle();
    }

    /// The link has this rate, which is above zero.
    pub fn set_rate(&mut self, rate: Bandwidth) {
        self.rate = Some(rate);
        self.settle();
    }

    /// The limit at the rate of the link: a time is what the link sends in it.
    pub(super) fn limit_at_rate(&self) -> QueueLimit {
        self.rate.map_or(self.limit, |rate| self.limit.at_rate(rate))
    }

    fn settle(&mut self) {
        (self.packets, self.octets, self.before) = match self.limit {
            QueueLimit::Unlimited => (u64::MAX, u64::MAX, u64::MAX),
            QueueLimit::Packets(packets) => (packets, u64::MAX, u64::MAX),
            QueueLimit::Bytes(octets) => (u64::MAX, octets.0, u64::MAX),
            QueueLimit::Time(time) => (u64::MAX, u64::MAX, self.rate.map_or(0, |rate| rate.bytes_in(time).0)),
        };
    }

    /// True if one more packet of `arriving` octets may wait beside those that do.
    #[inline]
    pub fn takes(&self, packets: usize, octets: u64, arriving: u64) -> bool {
        debug_assert!(
            self.rate.is_some() || !matches!(self.limit, QueueLimit::Time(_)),
            "a discipline with a limit in time sets the rate of its room"
        );
        (packets as u64) < self.packets && octets.saturating_add(arriving) <= self.octets && octets <= self.before
    }

    /// True if what waits may go on waiting, a packet of `newest` octets among it being the last that came.
    pub fn holds(&self, packets: usize, octets: u64, newest: u64) -> bool {
        packets == 0 || self.takes(packets - 1, octets.saturating_sub(newest), newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_it_read() {
        for text in ["100 packets", "150 kB", "20 ms", "1 bdp", "0.25 bdp", "unlimited"] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_wrong_limit_says_how_to_write_one() {
        for text in ["", "bdp", ". bdp", "1.2345678 bdp", "-1 packets", "3.5 packets", "99999999999999999999 bdp", "12"]
        {
            let error = text.parse::<Limit>().expect_err(text).to_string();
            assert!(error.contains("; write it like \""), "{error}");
        }
    }
}
