//! Requests and responses: what passes between the two applications of one connection.

use ackclock_net::Router;

use super::Simulation;
use crate::app::Action;
use crate::config::{FlowConfig, SimulationConfig};
use crate::event_queue::Event;
use crate::traffic::{Completion, CompletionLog, EmptyPath, Requester};

/// An empty log of the exchanges on `flow`.
pub(super) fn new_log(
    config: &SimulationConfig,
    flow: &FlowConfig,
    router: &mut Router<'_>,
) -> Box<(CompletionLog, EmptyPath)> {
    let mut path = |from, to| router.shortest_path(from, to).expect("a checked scenario has a route for every flow");
    let (forward, backward) = (path(flow.from, flow.to), path(flow.to, flow.from));
    Box::new((CompletionLog::new(&[]), EmptyPath::new(flow, &config.network.links, &forward, &backward)))
}

impl Simulation {
    /// The stream that the other end of this one's connection sends.
    fn other_stream(&self, index: usize) -> usize {
        self.ports[self.streams[index].receiver].sends as usize
    }

    /// The acceptor has read the request of stream `index`: it answers.
    pub(super) fn respond(&mut self, index: usize) {
        let pending = self.streams[index].app.requester().and_then(Requester::pending);
        let response = pending.expect("a request that was read was made").response;
        let other = self.other_stream(index);
        let action = self.streams[other].app.respond(response);
        self.perform(other, self.streams[other].sender, action);
    }

    /// The opener has read the response, which stream `index` sent: it goes on, or both ends close.
    pub(super) fn on_responded(&mut self, index: usize) {
        let now = self.network.now;
        let asker = self.other_stream(index);
        let stream = &mut self.streams[asker];
        let requester = stream.app.requester_mut().expect("the other end of a responder makes requests");
        let (start, exchange, next) = requester.on_response(now).expect("a response was asked for");
        if let Some(exchanges) = &mut stream.exchanges {
            let ideal = exchanges.1.exchange(exchange.request, exchange.response);
            let size = exchange.request + exchange.response;
            exchanges.0.add(Completion { start, size, time: now - start, ideal }, &self.config.measure);
        }
        match next {
            Some(time) => self.network.queue.push(time, Event::App(asker as u32)),
            None => {
                for stream in [asker, index] {
                    self.streams[stream].complete(now, &self.config.measure, &self.endpoints);
                    let close = Action { close: true, ..Action::default() };
                    self.perform(stream, self.streams[stream].sender, close);
                }
            }
        }
    }
}
