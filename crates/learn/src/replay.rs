//! Experience replay: random draws from past observations, actions and rewards.
//!
//! Source: Lin 1992; Mnih et al., Nature 518, 2015. Departures: none; when it is full, the oldest tuple is replaced.

use ackclock_units::RandomStream;

/// One step: the observation (`state`), the action, the reward, and the next observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuple<'a> {
    /// Observation before the action.
    pub state: &'a [f32],
    /// The number of the action.
    pub action: usize,
    /// Reward of the action.
    pub reward: f32,
    /// Observation after the action.
    pub next: &'a [f32],
    /// Discount of the value of `next`.
    pub discount: f32,
}

/// A bounded store of tuples.
#[derive(Clone, Debug)]
pub struct Replay {
    capacity: usize,
    width: usize,
    states: Vec<f32>,
    actions: Vec<u32>,
    rewards: Vec<f32>,
    discounts: Vec<f32>,
    /// Place of the next tuple when the replay is full.
    oldest: usize,
}

impl Replay {
    /// A replay for states of `width` numbers, with at most `capacity` tuples, at least one.
    pub fn new(capacity: usize, width: usize) -> Self {
        Self {
            capacity,
            width,
            states: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            discounts: Vec::new(),
            oldest: 0,
        }
    }

    /// The number of tuples.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// True before the first tuple.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Stores a tuple; a full store replaces the oldest.
    pub fn push(&mut self, tuple: &Tuple<'_>) {
        if self.len() < self.capacity {
            self.states.extend(tuple.state.iter().chain(tuple.next));
            self.actions.push(tuple.action as u32);
            self.rewards.push(tuple.reward);
            self.discounts.push(tuple.discount);
            return;
        }
        let at = self.oldest;
        self.oldest = (at + 1) % self.capacity;
        let (state, next) = self.states[2 * at * self.width..][..2 * self.width].split_at_mut(self.width);
        state.copy_from_slice(tuple.state);
        next.copy_from_slice(tuple.next);
        self.actions[at] = tuple.action as u32;
        self.rewards[at] = tuple.reward;
        self.discounts[at] = tuple.discount;
    }

    /// The tuple at a place below [`Self::len`].
    pub fn get(&self, at: usize) -> Tuple<'_> {
        let (state, next) = self.states[2 * at * self.width..][..2 * self.width].split_at(self.width);
        let (reward, discount) = (self.rewards[at], self.discounts[at]);
        Tuple { state, action: self.actions[at] as usize, reward, next, discount }
    }

    /// A place drawn uniformly, with replacement.
    pub fn draw(&self, random: &mut RandomStream) -> usize {
        index_below(self.len(), random)
    }
}

/// A uniform number below `count`: the upper half of a 64-bit product, whose bias is below `count / 2^64`.
pub(crate) fn index_below(count: usize, random: &mut RandomStream) -> usize {
    ((u128::from(random.bits()) * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(replay: &mut Replay, number: usize) {
        let at = number as f32;
        replay.push(&Tuple {
            state: &[at, -at],
            action: number,
            reward: at / 2.0,
            next: &[at + 1.0, 0.0],
            discount: at / 10.0,
        });
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut replay = Replay::new(3, 2);
        (0..5).for_each(|number| push(&mut replay, number));
        assert_eq!(replay.len(), 3);
        let actions: Vec<usize> = (0..3).map(|at| replay.get(at).action).collect();
        assert_eq!(actions, [3, 4, 2]);
        let tuple = Tuple { state: &[4.0, -4.0], action: 4, reward: 2.0, next: &[5.0, 0.0], discount: 0.4 };
        assert_eq!(replay.get(1), tuple);
    }

    #[test]
    fn every_tuple_is_drawn_alike() {
        let (mut replay, mut random) = (Replay::new(100, 2), RandomStream::new(1, "replay"));
        (0..50).for_each(|number| push(&mut replay, number));
        let mut drawn = [0_u32; 50];
        (0..50_000).for_each(|_| drawn[replay.draw(&mut random)] += 1);
        // Chi-squared of 49 degrees of freedom: mean 49, standard deviation sqrt(98) = 9.9; five of them above: 98.5
        let chi: f64 = drawn.iter().map(|count| (f64::from(*count) - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi < 98.5, "{chi}");
    }
}
