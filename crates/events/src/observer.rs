//! Observers of events.

use ackclock_units::SimTime;

use crate::event::Event;
use crate::source::{Source, SourceId};

/// An event with when and where it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time of the event.
    pub time: SimTime,
    /// Source of the event: an index into the sources that [`Observer::begin`] received.
    pub source: SourceId,
    /// The event itself.
    pub event: Event,
}

/// Whoever watches a run.
pub trait Observer {
    /// Before the first event: everything that events may come from, in the order of its numbers.
    fn begin(&mut self, _sources: &[Source]) {}

    /// Something happened. Time never goes back from one call to the next.
    fn on_event(&mut self, record: &Record);
}

/// Keeps every record in the vector.
impl Observer for Vec<Record> {
    fn on_event(&mut self, record: &Record) {
        self.push(*record);
    }
}
