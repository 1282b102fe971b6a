//! Returns of several steps: the rewards of a tuple over more than one step.
//!
//! Source: Sutton, "Learning to Predict by the Methods of Temporal Differences", Machine Learning 3, 1988; n-step
//! returns of Rainbow (Hessel et al., AAAI 2018), from memory. Departures: at the end of a chain, tuples with fewer
//! steps behind them are stored, so that no reward is lost.

use std::collections::VecDeque;

use crate::replay::Tuple;

/// The steps of a chain whose returns are not yet complete. Source and departures: [`mod@crate::returns`].
#[derive(Clone, Debug)]
pub struct Returns {
    steps: usize,
    discount: f32,
    width: usize,
    pending: VecDeque<Pending>,
    /// The states of the pending steps, in order, and the latest observation.
    states: VecDeque<f32>,
    last: Vec<f32>,
    room: Vec<f32>,
}

/// A step, with its rewards and those after it so far.
#[derive(Clone, Copy, Debug)]
struct Pending {
    action: usize,
    gained: f32,
    /// The discount of the next reward, or of the value after the last.
    discount: f32,
}

impl Returns {
    /// Returns of `steps` steps, at least one, between states of `width` numbers.
    pub(crate) fn new(steps: usize, discount: f32, width: usize) -> Self {
        let (pending, states) = (VecDeque::with_capacity(steps), VecDeque::with_capacity(steps * width));
        Self {
            steps,
            discount,
            width,
            pending,
            states,
            last: Vec::with_capacity(width),
            room: Vec::with_capacity(width),
        }
    }

    /// Takes a step, and hands over the tuple that it completes.
    pub(crate) fn add(
        &mut self,
        state: &[f32],
        action: usize,
        gained: f32,
        next: &[f32],
        mut complete: impl FnMut(&Tuple<'_>),
    ) {
        if self.steps == 1 {
            return complete(&Tuple { state, action, reward: gained, next, discount: self.discount });
        }
        self.states.extend(state);
        self.pending.push_back(Pending { action, gained: 0.0, discount: 1.0 });
        for step in &mut self.pending {
            step.gained += step.discount * gained;
            step.discount *= self.discount;
        }
        self.last.clear();
        self.last.extend_from_slice(next);
        if self.pending.len() == self.steps {
            self.hand_over(&mut complete);
        }
    }

    /// Ends the chain: the pending steps are complete as they are.
    pub(crate) fn end(&mut self, mut complete: impl FnMut(&Tuple<'_>)) {
        while !self.pending.is_empty() {
            self.hand_over(&mut complete);
        }
    }

    fn hand_over(&mut self, complete: &mut impl FnMut(&Tuple<'_>)) {
        let Some(Pending { action, gained, discount }) = self.pending.pop_front() else { return };
        self.room.clear();
        self.room.extend(self.states.drain(..self.width));
        complete(&Tuple { state: &self.room, action, reward: gained, next: &self.last, discount });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(steps: usize, ends: bool) -> Vec<(f32, usize, f32, f32, f32)> {
        let mut returns = Returns::new(steps, 0.5, 1);
        let mut found = Vec::new();
        let mut take = |tuple: &Tuple<'_>| {
            found.push((tuple.state[0], tuple.action, tuple.reward, tuple.next[0], tuple.discount));
        };
        // From 0 on, a step further each time, by action 7, 8, ..., which gains 4, 8, 16, 32.
        for at in 0..4_u16 {
            let (from, to) = (f32::from(at), f32::from(at + 1));
            returns.add(&[from], 7 + usize::from(at), 4.0 * 2_f32.powi(at.into()), &[to], &mut take);
        }
        if ends {
            returns.end(&mut take);
        }
        found
    }

    #[test]
    fn one_step_is_handed_on_as_it_is() {
        let expected = [(0.0, 7, 4.0, 1.0, 0.5), (1.0, 8, 8.0, 2.0, 0.5), (2.0, 9, 16.0, 3.0, 0.5)];
        assert_eq!(walk(1, true)[..3], expected);
        assert_eq!(walk(1, true).len(), 4);
    }

    #[test]
    fn three_steps_by_hand() {
        // 4 + 8/2 + 16/4 = 12, then worth 1/8; 8 + 16/2 + 32/4 = 24
        let whole = [(0.0, 7, 12.0, 3.0, 0.125), (1.0, 8, 24.0, 4.0, 0.125)];
        assert_eq!(walk(3, false), whole);
        // At the end: 16 + 32/2 with two steps, 32 with one
        let rest = [(2.0, 9, 32.0, 4.0, 0.25), (3.0, 10, 32.0, 4.0, 0.5)];
        assert_eq!(walk(3, true), [whole, rest].concat());
    }
}
