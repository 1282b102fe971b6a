//! The packet discarder: drops chosen packets, for studies of loss.
//!
//! Source: the Packet Discarder node of OPNET Modeler, in spirit. Departures: rules can be combined; a packet that any
//! rule selects is dropped, and every rule counts every packet to which it applies.

mod rules;

use ackclock_units::{RandomStream, SimTime};

use crate::config::{DiscardRule, DiscarderConfig, Selection};
use crate::packet::Packet;

pub(crate) use rules::ABOUT;
pub use rules::{NamedRule, discard_rules};

/// A discarder at work.
#[derive(Clone, Debug)]
pub struct Discarder {
    rules: Vec<Rule>,
    random: RandomStream,
}

#[derive(Clone, Debug)]
struct Rule {
    config: DiscardRule,
    /// Packets examined so far.
    position: u64,
}

impl Discarder {
    /// A discarder whose probabilities draw from the stream of its name.
    pub fn new(config: &DiscarderConfig, seed: u64) -> Self {
        let rules = config.rules.iter().map(|rule| Rule { config: sorted(rule), position: 0 }).collect();
        Self { rules, random: RandomStream::new(seed, &config.name) }
    }

    /// True if this packet is to be dropped.
    pub fn drops(&mut self, now: SimTime, packet: &Packet) -> bool {
        let mut drop = false;
        for rule in &mut self.rules {
            if rule.config.sees(now, packet) {
                rule.position += 1;
                drop |= rule.config.selection.selects(rule.position, &mut self.random);
            }
        }
        drop
    }
}

fn sorted(rule: &DiscardRule) -> DiscardRule {
    let mut rule = rule.clone();
    if let Selection::Positions(positions) = &mut rule.selection {
        positions.sort_unstable();
    }
    rule
}

impl DiscardRule {
    fn sees(&self, now: SimTime, packet: &Packet) -> bool {
        self.class.has(packet)
            && self.flows.as_ref().is_none_or(|flows| flows.contains(&packet.connection().index()))
            && (self.from..self.until).contains(&now)
    }
}

impl Selection {
    fn selects(&self, position: u64, random: &mut RandomStream) -> bool {
        match self {
            Self::Positions(positions) => positions.binary_search(&position).is_ok(),
            Self::Range(first, last) => (*first..=*last).contains(&position),
            Self::Every(k) => position.is_multiple_of(*k),
            Self::Probability(probability) => random.chance(*probability),
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PacketClass;
    use crate::ids::{ConnectionIndex, EndpointId};
    use ackclock_wire::Segment;

    fn dropped(rule: DiscardRule, packets: impl IntoIterator<Item = (u64, usize, u32)>) -> Vec<usize> {
        let config = DiscarderConfig { name: "d".to_owned(), rules: vec![rule] };
        let mut discarder = Discarder::new(&config, 1);
        let drops = packets.into_iter().enumerate().filter(|(_, (time, flow, payload))| {
            let flow = ConnectionIndex::new(*flow);
            let segment = Segment { payload: *payload, ..Segment::default() };
            discarder.drops(SimTime(*time), &Packet::tcp(segment, EndpointId::acceptor(flow)))
        });
        drops.map(|(index, _)| index + 1).collect()
    }

    fn rule(selection: Selection) -> DiscardRule {
        DiscardRule { class: PacketClass::Any, flows: None, from: SimTime::ZERO, until: SimTime::NEVER, selection }
    }

    #[test]
    fn positions_ranges_and_multiples() {
        let ten = || (0..10).map(|time| (time, 0, 100));
        assert_eq!(dropped(rule(Selection::Positions(vec![7, 2])), ten()), [2, 7]);
        assert_eq!(dropped(rule(Selection::Range(3, 5)), ten()), [3, 4, 5]);
        assert_eq!(dropped(rule(Selection::Every(4)), ten()), [4, 8]);
    }

    #[test]
    fn only_what_a_rule_looks_at_counts() {
        let mixed = [(0, 0, 0), (1, 0, 100), (2, 1, 100), (3, 0, 100), (4, 0, 0)];
        let data = DiscardRule { class: PacketClass::Data, ..rule(Selection::Positions(vec![2])) };
        assert_eq!(dropped(data, mixed), [3]);
        let acks = DiscardRule { class: PacketClass::Acks, ..rule(Selection::All) };
        assert_eq!(dropped(acks, mixed), [1, 5]);
        let flow = DiscardRule { flows: Some(vec![0]), ..rule(Selection::Every(2)) };
        assert_eq!(dropped(flow, mixed), [2, 5]);
        let window = DiscardRule { from: SimTime(1), until: SimTime(3), ..rule(Selection::All) };
        assert_eq!(dropped(window, mixed), [2, 3]);
    }

    #[test]
    fn a_probability_drops_its_share() {
        let many = (0..100_000).map(|time| (time, 0, 100));
        let share = dropped(rule(Selection::Probability(0.01)), many).len() as f64 / 1e5;
        assert!((share - 0.01).abs() < 0.001, "{share}"); // three standard errors are 0.00094
    }
}
