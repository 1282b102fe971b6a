//! Checks of a link's channel: rates and delays that vary, and effects on packets.

use ackclock_declare::Context;
use ackclock_net::{ChangingRate, ChannelConfig, HandoverConfig, ImpairmentConfig, RateConfig, Schedule};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::Checker;
use super::links::{MAX_DELAY, MAX_RATE, TOO_LONG};
use crate::file::{Fields, HalfLink, TextOr};
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    /// The channel of a link: its rate, its delay and its effects on packets. A link of fixed rate and delay without
    /// effects has [`ChannelConfig::is_plain`].
    pub(crate) fn channel(&mut self, half: &HalfLink, path: &FieldPath) -> ChannelConfig {
        let handover = half.handover.as_ref().and_then(|table| self.own(table, &path.key("handover")));
        ChannelConfig {
            rate: self.rate(half, &path.key("rate")),
            delay: self.delay(half, handover.as_ref(), path),
            outage: handover.as_ref().and_then(HandoverConfig::outages),
            policer: half.policer.as_ref().and_then(|table| self.own(table, &path.key("policer"))),
            aggregate: half.aggregate.as_ref().and_then(|table| self.own(table, &path.key("aggregate"))),
            impairments: self.impairments(half, path),
            ..self.own(&Fields::with("keep_order", half.keep_order), path).unwrap_or_default()
        }
    }

    fn impairments(&mut self, half: &HalfLink, path: &FieldPath) -> ImpairmentConfig {
        let context = Context::default();
        ImpairmentConfig {
            loss: half.loss.as_ref().map(|loss| self.chosen(loss, &context, &path.key("loss"))),
            jitter: half.jitter.as_ref().map(|jitter| self.chosen(jitter, &context, &path.key("jitter"))),
            reorder: half.reorder.as_ref().map(|reorder| self.chosen(reorder, &context, &path.key("reorder"))),
            effect: half.effect.as_ref().map(|effect| self.chosen(effect, &context, &path.key("effect"))),
            ..self.own(&Fields::with("duplicate", half.duplicate), path).unwrap_or_default()
        }
    }

    fn rate(&mut self, half: &HalfLink, path: &FieldPath) -> RateConfig {
        match &half.rate {
            None => self.missing(path, "rate = \"100 Mbit/s\""),
            Some(TextOr::Text(rate)) if rate.0 == Bandwidth(0) || rate.0 > MAX_RATE => {
                self.report(path, format!("must be 1 bit/s to {MAX_RATE}"), "write a rate at which something moves");
            }
            Some(TextOr::Text(rate)) => return RateConfig::Constant(rate.0),
            Some(TextOr::Table(table)) => {
                if let Some(rate) = self.changing_rate(table, path) {
                    return rate;
                }
            }
        }
        RateConfig::Constant(Bandwidth(1_000_000))
    }

    /// The schedule of a changing rate. A file that could not be read has been reported.
    fn changing_rate(&mut self, table: &Fields<ChangingRate>, path: &FieldPath) -> Option<RateConfig> {
        let rate = self.own(table, path)?.rate();
        rate.unwrap_or_else(|mistake| {
            self.mistake(mistake, path);
            None
        })
    }

    fn delay(&mut self, half: &HalfLink, handover: Option<&HandoverConfig>, path: &FieldPath) -> Schedule<SimDuration> {
        let nothing = || Schedule::constant(SimDuration::ZERO);
        if half.handover.as_ref().is_some_and(|table| table.says("delay")) {
            if half.delay.is_some() && handover.is_some() {
                let place = path.key("handover").key("delay");
                self.report(&place, "must not be combined with the link's delay", "keep one of the two");
            }
            return handover.and_then(HandoverConfig::delay).unwrap_or_else(nothing);
        }
        let is_unread = self.diagnostics.is_unread(&path.key("handover").key("delay"));
        let path = path.key("delay");
        match &half.delay {
            None if is_unread => {}
            None => self.missing(&path, "delay = \"15 ms\""),
            Some(TextOr::Text(delay)) if delay.0 > MAX_DELAY => {
                self.report(&path, TOO_LONG, format!("use at most {MAX_DELAY}"));
            }
            Some(TextOr::Text(delay)) => return Schedule::constant(delay.0),
            Some(TextOr::Table(table)) => return self.own(table, &path).map_or_else(nothing, |delay| delay.schedule()),
        }
        nothing()
    }

    /// Rejects a bucket that is smaller than the largest packet, which would never pass.
    pub(super) fn check_policer(&mut self, link: usize, largest: Bytes, path: &FieldPath) {
        let channel = self.network.links[link].channel.as_ref();
        if channel.and_then(|channel| channel.policer).is_some_and(|policer| policer.burst < largest) {
            let what = format!("must be at least one packet of {largest}, or none could ever pass");
            self.report(&path.key("policer").key("burst"), what, format!("use at least {largest}"));
        }
    }
}
