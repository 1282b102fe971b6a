//! The rules of a discarder, as a scenario writes them.

use std::sync::LazyLock;

use ackclock_declare::{About, Parts, Review, declare, required, unset};
use ackclock_units::{SimDuration, SimTime};

use crate::config::{DiscardRule, PacketClass, Selection};
use crate::effects::part;

declare! {
    /// Packets to which a rule applies.
    #[derive(Eq)]
    pub(crate) struct Filter {
        /// Class of packets to which the rule applies, and which it counts.
        class as "of": PacketClass = PacketClass::Any,
        /// Flow, or group of flows, to which the rule applies.
        flow: Option<String> = unset("any"),
        /// Time from which the rule applies.
        from: Option<SimDuration> = unset("the start"),
        /// Time until which the rule applies, exclusive.
        until: Option<SimDuration> = unset("the end of the run"),
    }
}

impl Filter {
    fn window(&self) -> (SimTime, SimTime) {
        let time = |time: Option<SimDuration>, default| time.map_or(default, |time| SimTime(time.0));
        (time(self.from, SimTime::ZERO), time(self.until, SimTime::NEVER))
    }

    fn review(&self, review: &mut Review<'_>) {
        let (from, until) = self.window();
        if from >= until {
            review.report("until", "must be later than from", "let until be later than from");
        }
    }

    /// A rule that drops these of the packets to which it applies.
    fn selecting(self, selection: Selection) -> NamedRule {
        let (from, until) = self.window();
        NamedRule { flow: self.flow, rule: DiscardRule { class: self.class, flows: None, from, until, selection } }
    }
}

/// A rule, and the name of the only flow to which it applies, whose number the network knows.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRule {
    /// Flow to which the rule applies; `None` is all of them.
    pub flow: Option<String>,
    /// The rule, for all flows.
    pub rule: DiscardRule,
}

declare! {
    /// Rule that drops one packet.
    struct Nth {
        /// Position of the packet.
        n: u64 = required(5).at_least(1),
    }
    within {
        /// Packets to which it applies.
        filter: Filter = Filter::default(),
    }
    check |rule, review| rule.filter.review(review);
}

declare! {
    /// Rule that drops several packets.
    struct Positions {
        /// Positions of the packets.
        positions: Vec<u64> = required(vec![5, 9])
            .at_least(1)
            .must_be("a list of at least one position", |positions| !positions.is_empty()),
    }
    within {
        /// Packets to which it applies.
        filter: Filter = Filter::default(),
    }
    check |rule, review| rule.filter.review(review);
}

declare! {
    /// Rule that drops consecutive packets.
    struct PositionRange {
        /// Position of the first packet.
        first: u64 = required(5).at_least(1),
        /// Position of the last packet.
        last: u64 = required(9).at_least(1),
    }
    within {
        /// Packets to which it applies.
        filter: Filter = Filter::default(),
    }
    check PositionRange::review;
}

impl PositionRange {
    fn review(&self, review: &mut Review<'_>) {
        if self.last < self.first {
            let message = format!("must be at least first, which is {}", self.first);
            review.report("last", message, format!("use at least {}", self.first));
        }
        self.filter.review(review);
    }
}

declare! {
    /// Drops every k-th packet.
    struct Every {
        /// Number of packets of which one is dropped; 1 drops all.
        k: u64 = required(5).at_least(1),
    }
    within {
        /// Packets to which it applies.
        filter: Filter = Filter::default(),
    }
    check |rule, review| rule.filter.review(review);
}

declare! {
    /// Drops each packet with a probability.
    struct Chance {
        /// Probability that a packet is dropped.
        p: f64 = required(0.01).at_least(0.0).at_most(1.0),
    }
    within {
        /// Packets to which it applies.
        filter: Filter = Filter::default(),
    }
    check |rule, review| rule.filter.review(review);
}

declare! {
    /// Drops all packets between `from` and `until`.
    struct Window {}
    within {
        /// Packets to which it applies.
        filter: Filter = Filter::default(),
    }
    check Window::review;
}

impl Window {
    fn review(&self, review: &mut Review<'_>) {
        if self.filter.from.is_none() && self.filter.until.is_none() {
            review.report("from", "is missing", "add it, such as from = \"1 s\" or until = \"2 s\", or both");
        }
        self.filter.review(review);
    }
}

/// Catalogue entry of discard rules.
pub(crate) const ABOUT: About = About {
    name: "discard",
    aliases: &[],
    summary: "chosen packets dropped before the queue, by a list of rules: kind nth, list, range, every, probability or window",
    source: "the Packet Discarder node of OPNET Modeler, in spirit",
    departures: "rules can be combined; every rule counts every packet to which it applies, from 1",
};

static RULES: LazyLock<Parts<NamedRule>> = LazyLock::new(|| {
    Parts::new(vec![
        part("nth", "one packet", |rule: Nth| rule.filter.selecting(Selection::Positions(vec![rule.n]))),
        part("list", "several packets", |rule: Positions| rule.filter.selecting(Selection::Positions(rule.positions))),
        part("range", "consecutive packets", |rule: PositionRange| {
            rule.filter.selecting(Selection::Range(rule.first, rule.last))
        }),
        part("every", "every k-th packet", |rule: Every| rule.filter.selecting(Selection::Every(rule.k))),
        part("probability", "each packet with a probability", |rule: Chance| {
            rule.filter.selecting(Selection::Probability(rule.p))
        }),
        part("window", "all packets of a window of time", |rule: Window| rule.filter.selecting(Selection::All)),
    ])
});

/// Every rule of a discarder that a scenario can name, as it declares itself.
pub fn discard_rules() -> &'static Parts<NamedRule> {
    &RULES
}
