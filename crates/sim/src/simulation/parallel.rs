//! One simulation on several cores.
//!
//! The network is cut into parts, each with its own queue of events, and each part is run by a thread. A packet needs
//! at least the delay of a link to come from one part to another, so a part may run ahead of the others by that much
//! before it must know their packets. This is conservative synchronisation by lookahead (Chandy and Misra 1979);
//! UNISON, 2024, cuts the networks of ns-3 in a similar way. The order of events at an instant does not depend on their
//! origin ([`crate::event_queue`]). So each part handles its events in the order of one queue of all events, and the
//! results are the same to the byte for any number of parts.
//!
//! A part is a [`Simulation`] of the whole network, of which it runs only the share that the [`Partition`] assigns to
//! it. Events that concern the whole network, samples and the borders of the measurement window, wait until all parts
//! have come to that moment.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ackclock_events::{Record, Source};
use ackclock_net::{EndpointId, Link, LinkId};
use ackclock_units::interrupt::{check, stop_by};
use ackclock_units::{SimDuration, SimTime};
use serde::Serialize;

use super::measuring::Seen;
use super::{Simulation, opener_of};
use crate::config::SimulationConfig;
use crate::end_view::EndView;
use crate::event_queue::{Event, EventQueue, Moment};
use crate::ids::StreamId;
use crate::outcome::{EngineCounters, Outcome};
use crate::partition::{Borders, Partition, Synchronizer};
use crate::recorder::Observed;
use crate::stream::Stream;

/// Longest wait for a part before a check for cancellation.
const NAP: Duration = Duration::from_millis(20);

/// A simulation under way in parts. Clones continue in the same way.
#[derive(Clone, Debug)]
pub struct ParallelSimulation {
    /// The first part; between a call of [`Self::whole`] and the next run, the whole simulation.
    first: Simulation,
    others: Vec<Simulation>,
    partition: Arc<Partition>,
    /// Events that concern all parts.
    shared_events: EventQueue,
    /// True if the first part has the state of the others.
    is_gathered: bool,
}

/// The partition of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartitionSummary {
    /// Number of parts into which the network was cut.
    pub parts: usize,
    /// Least time that a part may run ahead of another; `None` with one part, or for parts that do not communicate.
    pub lookahead_s: Option<f64>,
    /// Share of the part with most work, by a rough estimate.
    pub largest_share: f64,
    /// Reasons that keep nodes together, in words.
    pub ties: Vec<&'static str>,
}

impl ParallelSimulation {
    /// A clone that continues in the same way; see [`Simulation::copy`].
    #[inline(never)]
    #[must_use]
    pub fn copy(&self) -> Self {
        self.clone()
    }

    /// A simulation at time zero, cut into at most `threads` parts. The configuration must be checked: see the scenario
    /// crate.
    pub fn new(config: &SimulationConfig, threads: NonZeroUsize) -> Self {
        Self::of(&Arc::new(config.clone()), threads)
    }

    /// A simulation like [`Self::new`], for a shared configuration.
    pub fn of(config: &Arc<SimulationConfig>, threads: NonZeroUsize) -> Self {
        let mut first = Simulation::of(config);
        let partition = Arc::new(Partition::new(config, &first.hosts.network, threads.get()));
        let mut others: Vec<Simulation> = (1..partition.parts()).map(|_| first.clone()).collect();
        let mut shared_events = EventQueue::default();
        if !others.is_empty() {
            shared_events =
                first.hosts.network.queue.split_off(|event| part_of(event, &first.streams, &partition).is_some());
            for (part, simulation) in std::iter::once(&mut first).chain(&mut others).enumerate() {
                simulation.become_part(part, &partition);
            }
        }
        Self { first, others, partition, shared_events, is_gathered: true }
    }

    /// The partition of the simulation.
    pub fn partition(&self) -> PartitionSummary {
        PartitionSummary {
            parts: self.partition.parts(),
            lookahead_s: self.partition.least_lookahead().map(SimDuration::as_secs_f64),
            largest_share: self.partition.largest_share(),
            ties: self.partition.ties().iter().map(|tie| tie.reason()).collect(),
        }
    }

    /// The time that has been simulated.
    pub fn now(&self) -> SimTime {
        self.first.now()
    }

    /// True at the scenario's end.
    pub fn is_finished(&self) -> bool {
        self.first.is_finished()
    }

    /// Work of the engine so far.
    pub fn counters(&self) -> EngineCounters {
        self.others.iter().fold(self.first.counters, |sum, part| EngineCounters {
            events: sum.events + part.counters.events,
            packets_delivered: sum.packets_delivered + part.counters.packets_delivered,
        })
    }

    /// The sources of events: see [`Simulation::event_sources`]. An observed run is one part.
    pub fn event_sources(&self) -> &[Source] {
        self.first.event_sources()
    }

    /// Takes the events so far: see [`Simulation::take_events`].
    pub fn take_events(&mut self) -> Vec<Record> {
        self.first.take_events()
    }

    /// Returns events to the simulation: see [`Simulation::put_back_events`].
    pub fn put_back_events(&mut self, records: Vec<Record>) {
        self.first.put_back_events(records);
    }

    /// Runs until there are events to take: see [`Simulation::run_to_events`]. Without observers it is
    /// [`Self::run_until`].
    ///
    /// # Panics
    /// If the run of a part does.
    pub fn run_to_events(&mut self, until: SimTime) -> bool {
        if self.others.is_empty() {
            return self.first.run_to_events(until);
        }
        self.run_until(until);
        false
    }

    /// The whole simulation, for inspection.
    pub fn whole(&mut self) -> &Simulation {
        self.gather();
        &self.first
    }

    /// Handles every event up to and including `until`, but none after the scenario's end.
    ///
    /// # Panics
    /// If the run of a part does.
    pub fn run_until(&mut self, until: SimTime) {
        if self.others.is_empty() {
            return self.first.run_until(until);
        }
        self.scatter();
        let until = until.min(self.first.end);
        let synchronizer = Synchronizer::new(&self.partition, self.now());
        std::thread::scope(|scope| {
            let _alarm = synchronizer.alarm();
            let crew: Vec<Worker> =
                (1..self.partition.parts()).map(|part| Worker::hire(scope, part, &synchronizer)).collect();
            self.run_spans(until, &synchronizer, &crew);
        });
        for (part, simulation) in self.parts().enumerate() {
            synchronizer.collect(part, |crossing| simulation.hosts.network.receive(crossing));
        }
    }

    /// Runs to the end and hands over the results.
    pub fn finish(mut self) -> Outcome {
        self.run_until(self.first.end);
        self.stop()
    }

    /// Hands over the results up to now.
    pub fn stop(mut self) -> Outcome {
        let counters = self.counters();
        if !self.is_gathered {
            self.parts().for_each(|part| part.hosts.network.check_at_end());
        }
        self.gather();
        Simulation { counters, ..self.first }.conclude()
    }

    fn parts(&mut self) -> impl Iterator<Item = &mut Simulation> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// Moves the state of the other parts into the first.
    fn gather(&mut self) {
        if !std::mem::replace(&mut self.is_gathered, true) {
            self.swap();
        }
    }

    /// Moves the state of the other parts back to them.
    fn scatter(&mut self) {
        if std::mem::replace(&mut self.is_gathered, false) {
            self.swap();
        }
    }

    fn swap(&mut self) {
        let (first, partition) = (&mut self.first, &*self.partition);
        for (part, other) in (1..).zip(&mut self.others) {
            first.streams.swap(&mut other.streams, |stream| partition.part_of(stream.sender) == part);
            first.hosts.connections.swap(&mut other.hosts.connections, |end| partition.part_of(end) == part);
            first.hosts.network.swap(&mut other.hosts.network, |link| partition.part_before(link) == part);
        }
    }

    /// Runs all parts until `until`, and handles the events in between that concern them all.
    fn run_spans(&mut self, until: SimTime, synchronizer: &Synchronizer, crew: &[Worker]) {
        loop {
            let end = Moment::after(until);
            let next = self.shared_events.first_moment().filter(|next| *next < end);
            self.run_span(next.unwrap_or(end), synchronizer, crew);
            let time = next.map_or(until, Moment::time);
            self.parts().for_each(|part| part.wait_until(time));
            if next.is_none() {
                return;
            }
            self.handle_shared(time);
        }
    }

    /// Runs all parts at the same time, until all events before `end` have been handled.
    fn run_span(&mut self, end: Moment, synchronizer: &Synchronizer, crew: &[Worker]) {
        for (worker, simulation) in crew.iter().zip(self.others.drain(..)) {
            worker.give(Span { simulation, end });
        }
        self.first.run_part(0, synchronizer, end);
        self.others.extend(crew.iter().map(Worker::take_back));
    }

    /// Handles an event that concerns all parts, which have all come to it.
    fn handle_shared(&mut self, now: SimTime) {
        let Some((_, event)) = self.shared_events.first_before(Moment::after(now)) else { return };
        self.shared_events.drop_first();
        self.shared_events.advance(now);
        self.first.counters.events += 1;
        if event == Event::Sample {
            return self.sample(now);
        }
        self.gather();
        match event {
            Event::MeasureFrom => self.first.begin_measurement(),
            _ => self.first.end_measurement(),
        }
        self.scatter();
    }

    fn sample(&mut self, now: SimTime) {
        let Simulation { hosts, recorder, streams, relays, datagrams, .. } = &mut self.first;
        relays.sample(now, &hosts.connections);
        datagrams.sample(now);
        let others = self.others.iter_mut().map(|part| Seen { streams: &part.streams, hosts: &mut part.hosts });
        let parts = std::iter::once(Seen { streams, hosts }).chain(others).collect();
        recorder.sample(now, &mut SeenInParts { parts, partition: &self.partition });
        if let Some(interval) = recorder.interval() {
            self.shared_events.push(now + interval, Event::Sample);
        }
    }
}

/// The parts, each with a share of the sampled state.
struct SeenInParts<'a> {
    parts: Vec<Seen<'a>>,
    partition: &'a Partition,
}

impl Observed for SeenInParts<'_> {
    fn stream(&self, id: StreamId) -> &Stream {
        let sender = self.parts[0].stream(id).sender;
        self.parts[self.partition.part_of(sender)].stream(id)
    }

    fn end(&self, id: EndpointId) -> EndView<'_> {
        self.parts[self.partition.part_of(id)].end(id)
    }

    fn link(&mut self, id: LinkId) -> &mut Link {
        self.parts[self.partition.part_before(id)].link(id)
    }
}

/// A thread that runs one of the parts.
struct Worker {
    spans: Sender<Span>,
    done: Receiver<Simulation>,
}

/// The task of a worker: a part that runs until `end`.
struct Span {
    simulation: Simulation,
    end: Moment,
}

impl Worker {
    fn hire<'scope>(
        scope: &'scope std::thread::Scope<'scope, '_>,
        part: usize,
        synchronizer: &'scope Synchronizer,
    ) -> Self {
        let ((spans, work), (hand_back, done)) = (channel::<Span>(), channel());
        scope.spawn(move || {
            let _alarm = synchronizer.alarm();
            stop_by(synchronizer.failure());
            for Span { mut simulation, end } in work {
                simulation.run_part(part, synchronizer, end);
                if hand_back.send(simulation).is_err() {
                    return;
                }
            }
        });
        Self { spans, done }
    }

    fn give(&self, span: Span) {
        self.spans.send(span).expect("a worker waits for work until there is no more");
    }

    fn take_back(&self) -> Simulation {
        loop {
            match self.done.recv_timeout(NAP) {
                Ok(simulation) => return simulation,
                Err(RecvTimeoutError::Timeout) => check(),
                Err(RecvTimeoutError::Disconnected) => panic!("a part is handed back unless its run has failed"),
            }
        }
    }
}

impl Simulation {
    /// Keeps only the events and packets of a part.
    fn become_part(&mut self, part: usize, partition: &Arc<Partition>) {
        let Self { streams, hosts, .. } = self;
        hosts.network.queue.split_off(|event| part_of(event, streams, partition) == Some(part));
        hosts.network.become_part(Borders::new(part, partition));
    }

    /// Runs this part until all its events before `end` are done, as far ahead of the others as allowed. It reports its
    /// progress several times in a lookahead: if each part reported only when it has to wait for the others, they would
    /// run in turn.
    fn run_part(&mut self, part: usize, synchronizer: &Synchronizer, end: Moment) {
        let (mut horizon, mut spin_wait) = (synchronizer.horizon(part), synchronizer.spin_wait());
        loop {
            synchronizer.collect(part, |crossing| self.hosts.network.receive(crossing));
            let reach = horizon.min(self.next_event().max(self.now()) + synchronizer.stride(part));
            self.run_before(end.min(Moment::before(reach)), |_| false);
            let next = self.next_event();
            synchronizer.post(part, self.hosts.network.borders().outgoing(), reach.min(end.time()), next);
            if reach > end.time() {
                return;
            }
            let Some(further) = synchronizer.wait(part, reach, &mut spin_wait) else { return };
            horizon = further;
        }
    }

    /// Time of the first event, or [`SimTime::NEVER`].
    fn next_event(&self) -> SimTime {
        self.hosts.network.queue.first_moment().map_or(SimTime::NEVER, Moment::time)
    }
}

/// Part of an event that is scheduled before the run begins; `None` if all parts have it.
fn part_of(event: Event, streams: &crate::streams::Streams, partition: &Partition) -> Option<usize> {
    match event {
        Event::Sample | Event::MeasureFrom | Event::MeasureUntil => None,
        Event::Start(flow) | Event::Abort(flow) => Some(partition.part_of(opener_of(flow))),
        Event::Timer(end) | Event::StopReading(end) => Some(partition.part_of(end)),
        Event::App(stream) => Some(partition.part_of(streams.get(stream).sender)),
        Event::Link(link) | Event::Service(link) | Event::Left(link) => Some(partition.part_before(link)),
        Event::Arrival(_) | Event::Datagram(_) | Event::Discipline(_) | Event::Copier(_) | Event::Change(_) => Some(0),
    }
}
