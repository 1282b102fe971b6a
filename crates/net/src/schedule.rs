//! A quantity that changes at given instants and is constant between them.

use ackclock_declare::{About, Entry, Review, declare, required, unset};
use ackclock_units::{SimDuration, SimTime};

use crate::effects::MAX_DELAY;

declare! {
    /// One step of a schedule of delays.
    #[derive(Copy, Eq)]
    pub struct DelayStep {
        /// Instant of the step; of the first, 0 s.
        at: Option<SimDuration> = unset("0 s, for the first"),
        /// Delay from then on.
        delay: SimDuration = required(SimDuration::from_millis(20)).at_most(MAX_DELAY),
    }
}

declare! {
    /// A delay that changes.
    #[derive(Eq)]
    pub struct ChangingDelay {
        /// Delays in order, from 0 s on; that of a packet is taken at the instant at which its last bit leaves.
        schedule: Vec<DelayStep> = required(vec![DelayStep::default()])
            .must_be("a list of at least one { at, delay }", |steps| !steps.is_empty()),
        /// Length of the schedule, after which it begins again.
        repeat: Option<SimDuration> = unset("never"),
    }
    check |delay, review| review_steps(delay.schedule.iter().map(|step| step.at), delay.repeat, review);
}

impl Entry for ChangingDelay {
    const ABOUT: About = About {
        name: "delay",
        aliases: &[],
        summary: "a delay that changes: delay = { schedule = [...] }",
        source: "-",
        departures: "the delay of a packet is taken at the instant at which its last bit leaves",
    };
}

impl ChangingDelay {
    /// The delay over time.
    pub fn schedule(&self) -> Schedule<SimDuration> {
        let steps = self.schedule.iter().map(|step| (step.at.unwrap_or_default(), step.delay)).collect();
        Schedule::new(steps, self.repeat)
    }
}

/// True if a list is absent or not empty.
#[allow(clippy::ref_option, reason = "it is reported for a field, whatever its type")]
pub(crate) fn is_filled<T>(list: &Option<Vec<T>>) -> bool {
    list.as_ref().is_none_or(|list| !list.is_empty())
}

/// Checks that the instants of a field `schedule` ascend from zero, and that `repeat` is after them.
pub(crate) fn review_steps(
    instants: impl Iterator<Item = Option<SimDuration>>,
    repeat: Option<SimDuration>,
    review: &mut Review<'_>,
) {
    let (mut end, mut count) = (SimDuration::ZERO, 0);
    for (index, at) in instants.enumerate() {
        count += 1;
        let field = format!("schedule[{index}].at");
        match at {
            None | Some(SimDuration::ZERO) if index == 0 => {}
            Some(at) if index == 0 => {
                review.report(field, "must be 0 s: something has to hold from the start", "begin with a step at 0 s");
                end = at;
            }
            None => review.report(field, "is missing", "add it, such as at = \"10 s\""),
            Some(at) if at <= end => {
                let message = format!("must be later than the step above it, which is at {end}");
                review.report(field, message, format!("use more than {end}"));
            }
            Some(at) => end = at,
        }
    }
    review.needs(&["repeat"], "a schedule of two steps or more", count > 1);
    if repeat.is_some_and(|repeat| repeat <= end) && count > 1 {
        let message = format!("must be later than the last step, which is at {end}");
        review.report("repeat", message, format!("use more than {end}"));
    }
}

/// Values over time: each holds from its instant until the next one's. The list may repeat for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule<T> {
    /// Instants, ascending, the first of them zero, and the value from then on.
    steps: Vec<(SimDuration, T)>,
    /// The length of the list, after which it begins again.
    period: Option<SimDuration>,
}

impl<T: Copy> Schedule<T> {
    /// A schedule whose instants ascend from zero; a period is longer than the last instant. The scenario's check
    /// guarantees both.
    pub fn new(steps: Vec<(SimDuration, T)>, period: Option<SimDuration>) -> Self {
        assert!(steps.first().is_some_and(|(at, _)| at.is_zero()), "a schedule begins at time zero");
        assert!(steps.is_sorted_by(|(one, _), (next, _)| one < next), "the instants of a schedule ascend");
        assert!(period.is_none_or(|period| steps.iter().all(|(at, _)| *at < period)), "a period holds all its steps");
        let period = period.filter(|_| steps.len() > 1); // one value that begins again is one value for ever
        Self { steps, period }
    }

    /// A schedule with one value for ever.
    pub fn constant(value: T) -> Self {
        Self { steps: vec![(SimDuration::ZERO, value)], period: None }
    }

    /// Sets another value from `at` on. It is no earlier than the last step, whose value it replaces at an equal
    /// instant. Not for a list that repeats.
    pub fn push(&mut self, at: SimTime, value: T) {
        assert!(self.period.is_none(), "a list that repeats has no end to add to");
        let at = SimDuration(at.0);
        match self.steps.last_mut().expect("a schedule has a step") {
            last if last.0 == at => last.1 = value,
            last => {
                assert!(last.0 < at, "the instants of a schedule ascend");
                self.steps.push((at, value));
            }
        }
    }

    /// The value at `now`, and the time of the next step; [`SimTime::NEVER`] after the last.
    pub fn at(&self, now: SimTime) -> (T, SimTime) {
        let phase = self.period.map_or(now.0, |period| now.0 % period.0);
        let next = self.steps.partition_point(|(at, _)| at.0 <= phase);
        let upcoming = self.steps.get(next).map(|(at, _)| *at).or(self.period);
        let change = upcoming.map_or(SimTime::NEVER, |at| SimTime(now.0 - phase) + at);
        (self.steps[next - 1].1, change)
    }

    /// The value of a schedule with a single one.
    pub fn only_value(&self) -> Option<T> {
        if let [(_, value)] = *self.steps { Some(value) } else { None }
    }

    /// Every value, in order.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        self.steps.iter().map(|(_, value)| *value)
    }

    /// Every value with the time for which it holds; `None` is for ever.
    pub fn spans(&self) -> impl Iterator<Item = (T, Option<SimDuration>)> + '_ {
        let ends = self.steps.iter().skip(1).map(|(at, _)| Some(*at)).chain([self.period]);
        self.steps.iter().zip(ends).map(|((at, value), end)| (*value, end.map(|end| end - *at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_holds_until_the_next_step() {
        let steps = Schedule::new(vec![(SimDuration(0), 'a'), (SimDuration(10), 'b')], None);
        assert_eq!(steps.at(SimTime(0)), ('a', SimTime(10)));
        assert_eq!(steps.at(SimTime(9)), ('a', SimTime(10)));
        assert_eq!(steps.at(SimTime(10)), ('b', SimTime::NEVER));
    }

    #[test]
    fn a_step_is_added_or_takes_the_place_of_one_at_its_instant() {
        let mut steps = Schedule::constant('a');
        steps.push(SimTime(10), 'b');
        steps.push(SimTime(10), 'c');
        assert_eq!((steps.at(SimTime(9)), steps.at(SimTime(10))), (('a', SimTime(10)), ('c', SimTime::NEVER)));
    }

    #[test]
    fn steps_repeat() {
        let steps = Schedule::new(vec![(SimDuration(0), 'a'), (SimDuration(10), 'b')], Some(SimDuration(15)));
        assert_eq!(steps.at(SimTime(14)), ('b', SimTime(15)));
        assert_eq!(steps.at(SimTime(15)), ('a', SimTime(25)));
        assert_eq!(steps.at(SimTime(160)), ('b', SimTime(165))); // 160 = 10 * 15 + 10
        assert_eq!(steps.spans().collect::<Vec<_>>(), [('a', Some(SimDuration(10))), ('b', Some(SimDuration(5)))]);
    }
}
