//! Limits of waiting packets: the form in a scenario, the value on a link, and the room that it leaves.

use std::fmt;
use std::str::FromStr;

use ackclock_declare::{Context, Json, Mistake, Range, Spec, Unordered, Value, default};
use ackclock_units::{Bandwidth, Bytes, ParseQuantityError, SimDuration};

/// The longest time that a parameter of a queue may be: a day. Sums stay within 64 bits of nanoseconds.
pub(super) const MAX_TIME: SimDuration = SimDuration::from_secs(24 * 3600);

/// The least default room, in packets: a sender in slow start sends two for each ACK.
const LEAST_DEFAULT: u64 = 2;

/// The size of the largest packet, for which there must be room.
pub(super) const LARGEST_PACKET: Bytes = Bytes(65_536);

/// The largest number of queues for the hash of flows: each takes some memory.
pub(super) const MAX_FLOW_QUEUES: u32 = 65_536;

/// The limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// No limit at all.
    Unlimited,
    /// A number of packets.
    Packets(u64),
    /// A number of octets, framing included.
    Bytes(Bytes),
    /// A time: a packet is dropped if the packets before it take longer to send, without the packet in service.
    Time(SimDuration),
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Limit::Of(*self).fmt(f)
    }
}

impl QueueLimit {
    /// The limit with a time converted to the octets that a link of this rate sends in it.
    #[must_use]
    pub(super) fn at_rate(self, rate: Bandwidth) -> Self {
        match self {
            Self::Time(time) => Self::Bytes(rate.bytes_in(time)),
            limit => limit,
        }
    }

    /// A multiple of the limit.
    #[must_use]
    pub(super) fn times(self, factor: u64) -> Self {
        match self {
            Self::Unlimited => Self::Unlimited,
            Self::Packets(count) => Self::Packets(count.saturating_mul(factor)),
            Self::Bytes(bytes) => Self::Bytes(Bytes(bytes.0.saturating_mul(factor))),
            Self::Time(time) => Self::Time(SimDuration(time.0.saturating_mul(factor))),
        }
    }

    /// The reason why packets of up to `largest` octets do not fit, if they do not.
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

/// The limit of a queue, as a scenario writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A limit that does not depend on the flows.
    Of(QueueLimit),
    /// A number of millionths of the bandwidth-delay product.
    Bdp(u64),
}

const MILLIONTHS: u64 = 1_000_000;

impl Limit {
    /// A limit of one bandwidth-delay product.
    pub const ONE_BDP: Self = Self::Bdp(MILLIONTHS);

    /// No limit at all.
    pub const UNLIMITED: Self = Self::Of(QueueLimit::Unlimited);

    /// The limit in a context. While the flows are unknown, a fraction of a bdp is no limit.
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
    let text = raw.as_str().ok_or_else(|| format!("must be a string; write {}", QueueLimit::wanted()))?;
    text.parse().map_err(|error: ParseQuantityError| error.what().to_owned())
}

impl Value for QueueLimit {
    ackclock_declare::without_range!();

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
    fn inside(_: &Range<Unordered>) -> Vec<Self> {
        let time = SimDuration::from_millis(20);
        vec![Self::Packets(100), Self::Bytes(Bytes(150_000)), Self::Time(time), Self::Unlimited]
    }
}

/// The limit of a queue that takes its link's limit where it is not written.
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

/// The octets that one of several queues may send in a turn.
pub(super) fn quantum(size: Bytes) -> Spec<Bytes> {
    default(size).at_least(Bytes(40)).at_most(Bytes(1 << 30))
}

/// The room on a link of some rate, and the one rule that every queue applies.
///
/// A limit counts waiting packets, and not the packet in service. One in time bounds the packets before a packet: their
/// sending time at the link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    limit: QueueLimit,
    rate: Option<Bandwidth>,
    /// The bound of waiting packets before the next one, exclusive.
    packets: u64,
    /// The bound of waiting octets, with those of the next packet.
    octets: u64,
    /// The bound of waiting octets before the next packet.
    before: u64,
}

impl Room {
    /// The room of `limit` on a link whose rate is yet to be set.
    pub fn new(limit: QueueLimit) -> Self {
        let mut room = Self { limit, rate: None, packets: u64::MAX, octets: u64::MAX, before: u64::MAX };
        room.settle();
        room
    }

    /// Sets another limit, on the same link.
    pub fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
        self.settle();
    }

    /// Sets the rate of the link, above zero.
    pub fn set_rate(&mut self, rate: Bandwidth) {
        self.rate = Some(rate);
        self.settle();
    }

    /// The limit at the rate of the link, where a time is converted to octets.
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

    /// True if one more packet of `arriving` octets may wait beside the others.
    #[inline]
    pub fn takes(&self, packets: usize, octets: u64, arriving: u64) -> bool {
        debug_assert!(
            self.rate.is_some() || !matches!(self.limit, QueueLimit::Time(_)),
            "a discipline with a limit in time sets the rate of its room"
        );
        (packets as u64) < self.packets && octets.saturating_add(arriving) <= self.octets && octets <= self.before
    }

    /// True if the waiting packets fit, with a latest packet of `newest` octets.
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
