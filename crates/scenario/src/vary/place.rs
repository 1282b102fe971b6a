//! Places whose values are drawn, and functions that fill them.

use ackclock_units::RandomStream;

use super::range::{Range, pick};
use crate::tree::{FieldPath, Node, Value};

/// A place of a scenario with the distribution of its value.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The path from the node in which the place was found: the scenario, or the alternative of a choice.
    pub(crate) path: FieldPath,
    /// The path from the top of the text, as `topology.bottleneck.queue.choice[1].limit`; it names the random stream.
    pub(crate) name: String,
    /// The distribution as it was written.
    pub(crate) text: String,
    pub(crate) distribution: Distribution,
}

#[derive(Clone, Debug)]
pub(crate) enum Distribution {
    Range(Range),
    /// One of these alternatives, each as likely; never empty.
    Choice(Vec<Alternative>),
    /// A mistake, which has been reported; it has no value.
    Wrong,
}

/// An alternative of a choice, with the places in it whose values are drawn.
#[derive(Clone, Debug)]
pub(crate) struct Alternative {
    pub(crate) node: Node,
    pub(crate) places: Vec<Place>,
}

/// The rule by which values are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Draw {
    /// The low end of each range; in a choice, the alternative of this round.
    Lowest(usize),
    /// The high end of each range; in a choice, the alternative of this round.
    Highest(usize),
    /// The values that this seed draws.
    Seed(u64),
}

/// A value that was drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DrawnValue {
    /// The place in the scenario without its distributions.
    pub(crate) path: FieldPath,
    /// The place in the text.
    pub(crate) name: String,
    /// The distribution as it was written.
    pub(crate) distribution: String,
    /// True if it is from a range; false if it is an alternative.
    pub(crate) is_from_range: bool,
    /// The value; `None` in place of a wrong distribution.
    pub(crate) value: Option<Value>,
}

/// Puts a value into each of the `places` of `root`, which itself stands at `above`.
pub(crate) fn fill(root: &mut Node, places: &[Place], above: &FieldPath, draw: Draw, drawn: &mut Vec<DrawnValue>) {
    for place in places {
        let Some(node) = root.at_mut(&place.path) else { continue };
        let path = FieldPath([above.0.as_slice(), &place.path.0].concat());
        let entry = drawn.len();
        drawn.push(DrawnValue {
            path: path.clone(),
            name: place.name.clone(),
            distribution: place.text.clone(),
            is_from_range: matches!(place.distribution, Distribution::Range(_)),
            value: None,
        });
        match &place.distribution {
            Distribution::Range(range) => node.value = in_range(range, &place.name, draw),
            Distribution::Choice(alternatives) => {
                let (index, inner) = choose(alternatives, &place.name, draw);
                let alternative = &alternatives[index];
                *node = Node { key_origin: node.key_origin.clone(), ..alternative.node.clone() };
                fill(node, &alternative.places, &path, inner, drawn);
            }
            Distribution::Wrong => {
                node.value = Value::Pruned;
                continue;
            }
        }
        drawn[entry].value = Some(node.value.clone());
    }
}

fn in_range(range: &Range, name: &str, draw: Draw) -> Value {
    match draw {
        Draw::Lowest(_) => range.lowest(),
        Draw::Highest(_) => range.highest(),
        Draw::Seed(seed) => range.draw(&mut stream(seed, name)),
    }
}

/// The alternative, and the draw within it.
fn choose(alternatives: &[Alternative], name: &str, draw: Draw) -> (usize, Draw) {
    match draw {
        Draw::Lowest(round) => {
            let (index, round) = of_round(alternatives, round);
            (index, Draw::Lowest(round))
        }
        Draw::Highest(round) => {
            let (index, round) = of_round(alternatives, round);
            (index, Draw::Highest(round))
        }
        Draw::Seed(seed) => (pick(alternatives.len(), &mut stream(seed, name)), draw),
    }
}

/// The random stream of a place: each has its own, so that a further place changes no other draws.
fn stream(seed: u64, name: &str) -> RandomStream {
    RandomStream::new(seed, &format!("scenario {name}"))
}

/// Rounds after which every alternative of every choice in `places` has been taken.
pub(crate) fn rounds(places: &[Place]) -> usize {
    let of_place = |place: &Place| match &place.distribution {
        Distribution::Choice(alternatives) => alternatives.iter().map(|one| rounds(&one.places)).sum(),
        _ => 1,
    };
    places.iter().map(of_place).max().unwrap_or(1)
}

/// The alternative of a round, and the round within it.
fn of_round(alternatives: &[Alternative], round: usize) -> (usize, usize) {
    let all: usize = alternatives.iter().map(|one| rounds(&one.places)).sum();
    let mut rest = round % all.max(1);
    for (index, alternative) in alternatives.iter().enumerate() {
        let own = rounds(&alternative.places);
        if rest < own {
            return (index, rest);
        }
        rest -= own;
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Origin;

    fn alternative(word: &str, places: Vec<Place>) -> Alternative {
        Alternative { node: Node::new(Value::Text(word.to_owned()), Origin::Unknown), places }
    }

    fn choice(alternatives: Vec<Alternative>) -> Place {
        let distribution = Distribution::Choice(alternatives);
        Place { path: FieldPath::default(), name: "x".to_owned(), text: String::new(), distribution }
    }

    #[test]
    fn rounds_take_every_alternative_of_nested_choices() {
        let inner = choice(vec![alternative("b", Vec::new()), alternative("c", Vec::new())]);
        let places = vec![choice(vec![alternative("a", Vec::new()), alternative("inner", vec![inner])])];
        // a; b and c, within the second
        assert_eq!(rounds(&places), 3);
        let taken: Vec<String> = (0..3)
            .map(|round| {
                let mut node = Node::new(Value::Pruned, Origin::Unknown);
                fill(&mut node, &places, &FieldPath::default(), Draw::Lowest(round), &mut Vec::new());
                node.to_text()
            })
            .collect();
        assert_eq!(taken, ["\"a\"", "\"b\"", "\"c\""]);
    }
}
