//! Samples over time, and where the measurement begins and ends.

use super::Simulation;
use crate::event_queue::Event;

impl Simulation {
    pub(super) fn on_sample(&mut self) {
        let now = self.hosts.now();
        let Self { hosts, recorder, streams, relays, .. } = self;
        recorder.sample(now, streams.list(), &hosts.connections, &mut hosts.network.links);
        relays.sample(now, &hosts.connections);
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

    pub(super) fn end_measurement(&mut self) {
        if self.link_stats.is_some() {
            return;
        }
        let now = self.hosts.now();
        self.streams.end_measurement(now, &self.hosts.connections);
        self.link_stats = Some(self.hosts.network.links.iter_mut().map(|link| link.end_measurement(now)).collect());
    }
}
