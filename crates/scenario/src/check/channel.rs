//! Checks of a link's channel: rates and delays that vary, and effects on packets.

use ackclock_declare::Context;
use ackclock_net::{ChangingRate, ChannelConfig, HandoverConfig, ImpairmentConfig, LinkConfig, RateConfig, Schedule};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::declarations::{read_part, read_table};
use super::links::{MAX_DELAY, MAX_RATE, TOO_LONG};
use super::location::Location;
use crate::file::{Fields, HalfLink, TextOr};

/// The channel of a link: its rate, its delay and its effects on packets. A link of fixed rate and delay without
/// effects has [`ChannelConfig::is_plain`].
pub(crate) fn channel(half: &HalfLink, at: &Location<'_>) -> ChannelConfig {
    let handover = half.handover.as_ref().and_then(|table| read_table(table, &at.key("handover")));
    ChannelConfig {
        rate: rate(half, &at.key("rate")),
        delay: delay(half, handover.as_ref(), at),
        outage: handover.as_ref().and_then(HandoverConfig::outages),
        policer: half.policer.as_ref().and_then(|table| read_table(table, &at.key("policer"))),
        aggregate: half.aggregate.as_ref().and_then(|table| read_table(table, &at.key("aggregate"))),
        impairments: impairments(half, at),
        ..read_table(&Fields::with("keep_order", half.keep_order), at).unwrap_or_default()
    }
}

fn impairments(half: &HalfLink, at: &Location<'_>) -> ImpairmentConfig {
    let context = Context::default();
    ImpairmentConfig {
        loss: half.loss.as_ref().map(|loss| read_part(loss, &context, &at.key("loss"))),
        jitter: half.jitter.as_ref().map(|jitter| read_part(jitter, &context, &at.key("jitter"))),
        reorder: half.reorder.as_ref().map(|reorder| read_part(reorder, &context, &at.key("reorder"))),
        effect: half.effect.as_ref().map(|effect| read_part(effect, &context, &at.key("effect"))),
        ..read_table(&Fields::with("duplicate", half.duplicate), at).unwrap_or_default()
    }
}

fn rate(half: &HalfLink, at: &Location<'_>) -> RateConfig {
    match &half.rate {
        None => at.missing("rate = \"100 Mbit/s\""),
        Some(TextOr::Text(rate)) if rate.0 == Bandwidth(0) || rate.0 > MAX_RATE => {
            at.report(format!("must be 1 bit/s to {MAX_RATE}"), "write a rate at which something moves");
        }
        Some(TextOr::Text(rate)) => return RateConfig::Constant(rate.0),
        Some(TextOr::Table(table)) => {
            if let Some(rate) = changing_rate(table, at) {
                return rate;
            }
        }
    }
    RateConfig::Constant(Bandwidth(1_000_000))
}

/// The schedule of a changing rate. A file that could not be read has been reported.
fn changing_rate(table: &Fields<ChangingRate>, at: &Location<'_>) -> Option<RateConfig> {
    let rate = read_table(table, at)?.rate();
    rate.unwrap_or_else(|mistake| {
        at.mistake(mistake);
        None
    })
}

fn delay(half: &HalfLink, handover: Option<&HandoverConfig>, at: &Location<'_>) -> Schedule<SimDuration> {
    let nothing = || Schedule::constant(SimDuration::ZERO);
    if half.handover.as_ref().is_some_and(|table| table.says("delay")) {
        if half.delay.is_some() && handover.is_some() {
            let place = at.key("handover").key("delay");
            place.report("must not be combined with the link's delay", "keep one of the two");
        }
        return handover.and_then(HandoverConfig::delay).unwrap_or_else(nothing);
    }
    let is_unread = at.key("handover").key("delay").is_unread();
    let at = at.key("delay");
    match &half.delay {
        None if is_unread => {}
        None => at.missing("delay = \"15 ms\""),
        Some(TextOr::Text(delay)) if delay.0 > MAX_DELAY => {
            at.report(TOO_LONG, format!("use at most {MAX_DELAY}"));
        }
        Some(TextOr::Text(delay)) => return Schedule::constant(delay.0),
        Some(TextOr::Table(table)) => {
            return read_table(table, &at).map_or_else(nothing, |delay| delay.schedule());
        }
    }
    nothing()
}

/// Rejects a bucket that is smaller than the largest packet, which would never pass.
pub(super) fn check_policer(link: &LinkConfig, largest: Bytes, at: &Location<'_>) {
    if link.channel.as_ref().and_then(|channel| channel.policer).is_some_and(|policer| policer.burst < largest) {
        let what = format!("must be at least one packet of {largest}, or none could ever pass");
        at.key("policer").key("burst").report(what, format!("use at least {largest}"));
    }
}
