//! Samples over time, and where the measurement begins and ends.

use super::Simulation;
use crate::event_queue::Event;

impl Simulation {
    pub(super) fn on_sample(&mut self) {
        let now = self.network.now;
        self.recorder.sample(now, &self.streams, &self.endpoints, &mut self.network.links);
        self.relays.sample(now, &self.endpoints);
        if let Some(interval) = self.recorder.interval() {
            self.network.queue.push(now + interval, Event::Sample);
        }
    }

    pub(super) fn begin_measurement(&mut self) {
        let now = self.network.now;
        for stream in &mut self.streams {
            stream.begin_measurement(now, &self.endpoints);
        }
        for link in &mut self.network.links {
            link.begin_measurement(now);
        }
    }

    pub(super) fn end_measurement(&mut self) {
        if self.link_stats.is_some() {
            return;
        }
        let now = self.network.now;
        for stream in &mut self.streams {
            stream.end_measurement(now, &self.endpoints);
        }
        self.link_stats = Some(self.network.links.iter_mut().map(|link| link.end_measurement(now)).collect());
    }
}
