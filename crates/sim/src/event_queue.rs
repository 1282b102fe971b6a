//! The event queue: a total order by (time, time of scheduling, event).
//!
//! Keys have 16 bytes: the time in the highest bits, then how far ahead it was scheduled, the farthest first, then the
//! event. One comparison of two 128-bit integers decides. A key does not depend on other scheduled events: events of
//! one instant come in the same order wherever they were put into a queue, and into whatever queue.
//!
//! Time never goes back, and most events are scheduled for soon. So the soonest lie in order in a short list, the first
//! last; those of the next while lie in a [`Wheel`] of spans of time, unordered, each span of which becomes the short
//! list when its turn comes; the rest, mostly timers that will not be needed, lie in a [`Heap`]. A few events, as in a
//! network of one flow, all lie in the short list. The order of the keys is total, so that the order of events does not
//! depend on these places.

mod event;
mod heap;
mod wheel;

use ackclock_units::SimTime;

use heap::Heap;
use wheel::Wheel;

pub(crate) use event::{Event, MOST_NUMBERS};

const AHEAD_SHIFT: u32 = 28;
const EVENT_MASK: u64 = (1 << AHEAD_SHIFT) - 1;

/// The number of events above which they no longer all lie in the short list, until there are no more than `FEW_AGAIN`.
/// A queue of about this length does not change its form with every event.
const FEW: usize = 12;
const FEW_AGAIN: usize = 6;

/// The length from which the short list takes no event; events before its end then go to the heap.
const LONG: usize = 48;

/// A key after those of all events.
const NO_KEY: u128 = u128::MAX;

/// The farthest distance in a key, 69 s in nanoseconds: events scheduled farther ahead have the same rank.
const FARTHEST: u64 = (1 << (64 - AHEAD_SHIFT)) - 2;

/// Queue of future events in order of time.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    /// The soonest events, the latest of them first.
    soon: Vec<u128>,
    /// Time before which events go to the list of the soonest; the end of time while events are few.
    soon_ends: u64,
    later: Wheel,
    /// Keys beyond the span of the wheel, and keys for which the list of the soonest was too long.
    rest: Heap,
    /// The first key of the heap, or [`NO_KEY`].
    first_of_rest: u128,
    now: SimTime,
    /// Number of events ever scheduled.
    scheduled: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            soon: Vec::with_capacity(LONG),
            soon_ends: u64::MAX,
            later: Wheel::default(),
            rest: Heap::default(),
            first_of_rest: NO_KEY,
            now: SimTime::ZERO,
            scheduled: 0,
        }
    }
}

impl EventQueue {
    /// The time that has been simulated.
    #[inline]
    pub(crate) fn now(&self) -> SimTime {
        self.now
    }

    /// Moves time on, to the first event or to a time before it without events.
    #[inline]
    pub(crate) fn advance(&mut self, now: SimTime) {
        debug_assert!(now >= self.now, "time runs backwards");
        self.now = now;
    }

    /// Schedules an event that was known at `since`.
    pub(crate) fn push_since(&mut self, since: SimTime, time: SimTime, event: Event) {
        self.scheduled += 1;
        self.push_key(key(time, since, event.pack()));
    }

    /// Schedules an event now.
    #[inline]
    pub(crate) fn push(&mut self, time: SimTime, event: Event) {
        self.push_packed(time, event.pack()); // where it is called it is known what kind of event it is
    }

    fn push_packed(&mut self, time: SimTime, event: u64) {
        let key = self.key(time, event);
        self.push_key(key);
    }

    fn push_key(&mut self, key: u128) {
        if time_of(key) >= self.soon_ends {
            self.put_later(key);
            return self.refill_if_empty();
        }
        if self.soon.len() >= LONG {
            return self.put_into_rest(key);
        }
        self.soon.push(key);
        put_in_order(&mut self.soon, key);
        if self.soon.len() > FEW && self.soon_ends == u64::MAX {
            self.turn_into_many();
        }
    }

    #[inline]
    fn key(&mut self, time: SimTime, event: u64) -> u128 {
        self.scheduled += 1;
        key(time, self.now, event)
    }

    /// The first event, if it is before `end`, which stays in place: drop it or replace it.
    #[inline]
    pub(crate) fn first_before(&self, end: Moment) -> Option<(SimTime, Event)> {
        let first = self.first_key();
        (first < end.0).then(|| (SimTime(time_of(first)), event_of(first)))
    }

    /// Moment of the first event in the order of events, if there is one.
    pub(crate) fn first_moment(&self) -> Option<Moment> {
        Some(Moment(self.first_key())).filter(|first| first.0 < NO_KEY)
    }

    #[inline]
    fn first_key(&self) -> u128 {
        self.soon.last().map_or(self.first_of_rest, |key| self.first_of_rest.min(*key))
    }

    /// Keeps the events for which `keeps` is true, and returns a queue of the others.
    pub(crate) fn split_off(&mut self, keeps: impl Fn(Event) -> bool) -> Self {
        let (now, keys) = (self.now, self.take_all());
        let mut queues = [(); 2].map(|()| Self { now, ..Self::default() });
        for key in keys {
            queues[usize::from(keeps(event_of(key)))].push_key(key);
        }
        let [others, kept] = queues;
        *self = kept;
        others
    }

    /// True if the first event is one of the soonest, not of the rest.
    #[inline]
    fn is_first_soon(&self) -> bool {
        self.soon.last().is_some_and(|key| *key < self.first_of_rest)
    }

    /// Removes the first event.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        if !self.is_first_soon() {
            return self.drop_first_of_rest();
        }
        self.soon.pop();
        self.refill_if_empty();
    }

    /// Replaces the first event by another, at the cost of one operation.
    #[inline]
    pub(crate) fn replace_first(&mut self, time: SimTime, event: Event) {
        self.replace_first_packed(time, event.pack());
    }

    fn replace_first_packed(&mut self, time: SimTime, event: u64) {
        if !self.is_first_soon() {
            self.drop_first_of_rest();
            return self.push_packed(time, event);
        }
        let key = self.key(time, event);
        if time.0 < self.soon_ends {
            return put_in_order(&mut self.soon, key);
        }
        self.soon.pop();
        self.put_later(key);
        self.refill_if_empty();
    }

    #[inline]
    fn refill_if_empty(&mut self) {
        if self.soon.is_empty() && self.soon_ends < u64::MAX {
            self.refill();
        }
    }

    /// Puts an event that is not among the soonest into its place.
    #[inline]
    fn put_later(&mut self, key: u128) {
        if !self.later.put(key) {
            self.put_into_rest(key);
        }
    }

    fn put_into_rest(&mut self, key: u128) {
        self.rest.push(key);
        self.first_of_rest = self.first_of_rest.min(key);
    }

    fn drop_first_of_rest(&mut self) {
        self.rest.drop_first();
        self.first_of_rest = self.rest.first().unwrap_or(NO_KEY);
        self.refill_if_empty();
    }

    /// Refills the empty list of the soonest with the next span of the wheel.
    fn refill(&mut self) {
        if self.later.len() + self.rest.len() <= FEW_AGAIN {
            return self.turn_into_few();
        }
        self.soon_ends = if self.later.is_empty() {
            self.later.begin(time_of(self.first_of_rest))
        } else {
            self.later.take_next(&mut self.soon)
        };
        put_all_in_order(&mut self.soon);
        if self.later.adapts_length(self.scheduled) {
            self.spread_anew();
        }
    }

    /// Distributes all keys anew, with another length of spans.
    #[cold]
    fn spread_anew(&mut self) {
        let mut keys = std::mem::take(&mut self.soon);
        self.later.empty_into(&mut keys);
        self.spread(keys);
    }

    #[cold]
    fn turn_into_many(&mut self) {
        let keys = std::mem::take(&mut self.soon);
        self.spread(keys);
    }

    /// Distributes keys, of which there are some; the first is one of the soonest.
    fn spread(&mut self, keys: Vec<u128>) {
        let first = keys.iter().copied().min().map_or(0, time_of);
        self.soon_ends = self.later.begin(first);
        for key in keys {
            if time_of(key) < self.soon_ends {
                self.soon.push(key);
            } else {
                self.put_later(key);
            }
        }
        put_all_in_order(&mut self.soon);
    }

    #[cold]
    fn turn_into_few(&mut self) {
        self.soon_ends = u64::MAX;
        self.soon = self.take_all();
    }

    /// Every key, in falling order.
    fn take_all(&mut self) -> Vec<u128> {
        let mut keys = std::mem::take(&mut self.soon);
        self.later.empty_into(&mut keys);
        while let Some(key) = self.rest.first() {
            keys.push(key);
            self.rest.drop_first();
        }
        self.first_of_rest = NO_KEY;
        put_all_in_order(&mut keys);
        keys
    }
}

/// A place in the order of all events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u128);

impl Moment {
    /// The moment before all events at `time`.
    pub(crate) fn before(time: SimTime) -> Self {
        Self(u128::from(time.0) << 64)
    }

    /// The moment after all events at `time`.
    pub(crate) fn after(time: SimTime) -> Self {
        Self::before(SimTime(time.0.saturating_add(1)))
    }

    /// Time of the moment.
    pub(crate) fn time(self) -> SimTime {
        SimTime(time_of(self.0))
    }
}

/// The key of an event that was scheduled at `since`.
#[inline]
fn key(time: SimTime, since: SimTime, event: u64) -> u128 {
    let ahead = time.0.wrapping_sub(since.0).min(FARTHEST);
    u128::from(time.0) << 64 | u128::from((FARTHEST - ahead) << AHEAD_SHIFT | event)
}

/// The event of a key: its lowest bits.
fn event_of(key: u128) -> Event {
    Event::unpack(key as u64 & EVENT_MASK)
}

/// The time of a key: its highest bits.
fn time_of(key: u128) -> u64 {
    (key >> 64) as u64
}

/// Inserts `key` into keys in falling order, whose last place is free.
#[inline]
fn put_in_order(keys: &mut [u128], key: u128) {
    let Some(mut at) = keys.len().checked_sub(1) else { return };
    while at > 0 && keys[at - 1] < key {
        keys[at] = keys[at - 1];
        at -= 1;
    }
    keys[at] = key;
}

/// Sorts keys into falling order.
fn put_all_in_order(keys: &mut [u128]) {
    if keys.len() > FEW {
        return keys.sort_unstable_by(|a, b| b.cmp(a));
    }
    for count in 2..=keys.len() {
        let key = keys[count - 1];
        put_in_order(&mut keys[..count], key);
    }
}

#[cfg(test)]
mod tests;
