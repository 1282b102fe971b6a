//! Samples over time, and the borders of the measurement window.

use ackclock_net::{EndpointId, Link, LinkId, LinkStats};
use ackclock_units::SimTime;
use ackclock_units::interrupt::check;

use super::Simulation;
use crate::end_view::EndView;
use crate::event_queue::Event;
use crate::hosts::Hosts;
use crate::ids::StreamId;
use crate::recorder::Observed;
use crate::stream::Stream;
use crate::streams::Streams;
use crate::summary::link_summary;

/// The sampled state of a simulation, or of a part of one.
pub(super) struct Seen<'a> {
    pub(super) streams: &'a Streams,
    pub(super) hosts: &'a mut Hosts,
}

impl Observed for Seen<'_> {
    fn stream(&self, id: StreamId) -> &Stream {
        self.streams.get(id)
    }

    fn end(&self, id: EndpointId) -> EndView<'_> {
        self.hosts.view(id)
    }

    fn link(&mut self, id: LinkId) -> &mut Link {
        &mut self.hosts.network.links[id.index()]
    }
}

impl Simulation {
    pub(super) fn on_sample(&mut self) {
        check(); // of a large network a sample takes milliseconds
        let now = self.hosts.now();
        let Self { hosts, recorder, streams, relays, datagrams, .. } = self;
        recorder.sample(now, &mut Seen { streams, hosts });
        relays.sample(now, &hosts.connections);
        datagrams.sample(now);
        if let Some(interval) = recorder.interval() {
            hosts.schedule(now + interval, Event::Sample);
        }
    }

    pub(super) fn begin_measurement(&mut self) {
        let now = self.hosts.now();
        self.streams.begin_measurement(now, &self.hosts.connections);
        for link in &mut self.hosts.network.links {
            link.begin_measurement(now);
        }
    }

    /// Ends the window, before other events of the same time.
    pub(super) fn end_measurement(&mut self) {
        self.end_measurement_by(Link::end_measurement_before);
    }

    /// Ends the window with the run, if it has not ended before.
    pub(super) fn end_measurement_with_run(&mut self) {
        if self.link_summaries.is_none() {
            self.end_measurement_by(Link::end_measurement);
        }
    }

    fn end_measurement_by(&mut self, end: fn(&mut Link, SimTime) -> LinkStats) {
        let now = self.hosts.now();
        self.streams.end_measurement(now, &self.hosts.connections);
        let links = self.config.network.links.iter().zip(&mut self.hosts.network.links);
        // One after the other: the distributions of many thousand links are larger than all else.
        self.link_summaries = Some(links.map(|(config, link)| link_summary(&config.name, &end(link, now))).collect());
    }
}
