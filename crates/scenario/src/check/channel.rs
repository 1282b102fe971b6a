//! Checks of a link's channel: rates and delays that vary, and effects on packets.

use ackclock_declare::Context;
use ackclock_net::{ChangingRate, ChannelConfig, HandoverConfig, ImpairmentConfig, LinkConfig, RateConfig, Schedule};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::declarations::{read_part, read_table};
use super::links::{MAX_DELAY, MAX_RATE, TOO_LONG};
use crate::diagnostic::Diagnostics;
use crate::file::{Fields, HalfLink, TextOr};
use crate::tree::FieldPath;

/// The channel of a link: its rate, its delay and its effects on packets. A link of fixed rate and delay without
/// effects has [`ChannelConfig::is_plain`].
pub(crate) fn channel(half: &HalfLink, path: &FieldPath, sink: &mut Diagnostics<'_>) -> ChannelConfig {
    let handover = half.handover.as_ref().and_then(|table| read_table(table, &path.key("handover"), sink));
    ChannelConfig {
        rate: rate(half, &path.key("rate"), sink),
        delay: delay(half, handover.as_ref(), path, sink),
        outage: handover.as_ref().and_then(HandoverConfig::outages),
        policer: half.policer.as_ref().and_then(|table| read_table(table, &path.key("policer"), sink)),
        aggregate: half.aggregate.as_ref().and_then(|table| read_table(table, &path.key("aggregate"), sink)),
        impairments: impairments(half, path, sink),
        ..read_table(&Fields::with("keep_order", half.keep_order), path, sink).unwrap_or_default()
    }
}

fn impairments(half: &HalfLink, path: &FieldPath, sink: &mut Diagnostics<'_>) -> ImpairmentConfig {
    let context = Context::default();
    ImpairmentConfig {
        loss: half.loss.as_ref().map(|loss| read_part(loss, &context, &path.key("loss"), sink)),
        jitter: half.jitter.as_ref().map(|jitter| read_part(jitter, &context, &path.key("jitter"), sink)),
        reorder: half.reorder.as_ref().map(|reorder| read_part(reorder, &context, &path.key("reorder"), sink)),
        effect: half.effect.as_ref().map(|effect| read_part(effect, &context, &path.key("effect"), sink)),
        ..read_table(&Fields::with("duplicate", half.duplicate), path, sink).unwrap_or_default()
    }
}

fn rate(half: &HalfLink, path: &FieldPath, sink: &mut Diagnostics<'_>) -> RateConfig {
    match &half.rate {
        None => sink.missing(path, "rate = \"100 Mbit/s\""),
        Some(TextOr::Text(rate)) if rate.0 == Bandwidth(0) || rate.0 > MAX_RATE => {
            sink.report(path, format!("must be 1 bit/s to {MAX_RATE}"), "write a rate at which something moves");
        }
        Some(TextOr::Text(rate)) => return RateConfig::Constant(rate.0),
        Some(TextOr::Table(table)) => {
            if let Some(rate) = changing_rate(table, path, sink) {
                return rate;
            }
        }
    }
    RateConfig::Constant(Bandwidth(1_000_000))
}

/// The schedule of a changing rate. A file that could not be read has been reported.
fn changing_rate(table: &Fields<ChangingRate>, path: &FieldPath, sink: &mut Diagnostics<'_>) -> Option<RateConfig> {
    let rate = read_table(table, path, sink)?.rate();
    rate.unwrap_or_else(|mistake| {
        sink.mistake(mistake, path);
        None
    })
}

fn delay(
    half: &HalfLink,
    handover: Option<&HandoverConfig>,
    path: &FieldPath,
    sink: &mut Diagnostics<'_>,
) -> Schedule<SimDuration> {
    let nothing = || Schedule::constant(SimDuration::ZERO);
    if half.handover.as_ref().is_some_and(|table| table.says("delay")) {
        if half.delay.is_some() && handover.is_some() {
            let place = path.key("handover").key("delay");
            sink.report(&place, "must not stand beside the link's delay", "keep one of the two");
        }
        return handover.and_then(HandoverConfig::delay).unwrap_or_else(nothing);
    }
    let is_unread = sink.is_unread(&path.key("handover").key("delay"));
    let path = path.key("delay");
    match &half.delay {
        None if is_unread => {}
        None => sink.missing(&path, "delay = \"15 ms\""),
        Some(TextOr::Text(delay)) if delay.0 > MAX_DELAY => {
            sink.report(&path, TOO_LONG, format!("use at most {MAX_DELAY}"));
        }
        Some(TextOr::Text(delay)) => return Schedule::constant(delay.0),
        Some(TextOr::Table(table)) => {
            return read_table(table, &path, sink).map_or_else(nothing, |delay| delay.schedule());
        }
    }
    nothing()
}

/// Rejects a bucket that is smaller than the largest packet, which would never pass.
pub(super) fn check_policer(link: &LinkConfig, largest: Bytes, path: &FieldPath, sink: &mut Diagnostics<'_>) {
    if link.channel.as_ref().and_then(|channel| channel.policer).is_some_and(|policer| policer.burst < largest) {
        let what = format!("must be at least one packet of {largest}, or none could ever pass");
        sink.report(&path.key("policer").key("burst"), what, format!("use at least {largest}"));
    }
}
