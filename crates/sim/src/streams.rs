//! The streams of a scenario's own flows, and the actions of their applications.

use ackclock_net::EndpointId;
use ackclock_units::{Bytes, SimTime};

use crate::app::{Action, AfterRead, App};
use crate::config::{FlowConfig, MeasureWindow};
use crate::connections::Connections;
use crate::event_queue::Event;
use crate::hosts::Hosts;
use crate::ids::StreamId;
use crate::recorder::Recorder;
use crate::stream::Stream;
use crate::traffic::{Completion, Requester};

/// All streams of data.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    list: Vec<Stream>,
    window: MeasureWindow,
}

impl Streams {
    pub(crate) fn new(window: MeasureWindow) -> Self {
        Self { list: Vec::new(), window }
    }

    /// Adds the stream that an application writes.
    pub(crate) fn add(&mut self, flow: &FlowConfig, name: String, app: App, [from, to]: [EndpointId; 2]) -> StreamId {
        let id = StreamId::new(self.list.len());
        self.list.push(Stream::new(flow, name, app, [from, to]));
        id
    }

    pub(crate) fn get(&self, id: StreamId) -> &Stream {
        &self.list[id.index()]
    }

    pub(crate) fn get_mut(&mut self, id: StreamId) -> &mut Stream {
        &mut self.list[id.index()]
    }

    /// Exchanges the streams for which `is_there` is true between two parts.
    pub(crate) fn swap(&mut self, other: &mut Self, is_there: impl Fn(&Stream) -> bool) {
        for (here, there) in self.list.iter_mut().zip(&mut other.list).filter(|(here, _)| is_there(here)) {
            std::mem::swap(here, there);
        }
    }

    /// The streams in the scenario's order.
    pub(crate) fn list(&self) -> &[Stream] {
        &self.list
    }

    /// Counts the RTT sample of a packet that has come to the endpoint that sends a stream.
    pub(crate) fn count_round_trip(&mut self, id: StreamId, hosts: &Hosts) {
        let stream = &mut self.list[id.index()];
        if let Some(sample) = hosts.view(stream.sender).latest_rtt_sample() {
            stream.on_rtt_sample(sample);
        }
    }

    /// Lets the application act after a call into the endpoint that sends a stream.
    pub(crate) fn after_call(&mut self, id: StreamId, hosts: &mut Hosts, recorder: &mut Recorder) {
        let stream = &mut self.list[id.index()];
        if recorder.per_event {
            let ends = [stream.sender, stream.receiver].map(|end| hosts.view(end));
            recorder.record_flow(hosts.now(), id, stream, ends);
        }
        // An acceptor may get all of a small file, and its end, with the segment that completes the handshake.
        if !stream.is_open && hosts.view(stream.sender).is_open() {
            stream.is_open = true;
            self.on_app(id, hosts);
        }
    }

    /// Handles data at the end of a stream, whose reading the application at the other end may await.
    pub(crate) fn on_data(&mut self, id: StreamId, hosts: &mut Hosts) {
        let now = hosts.now();
        let stream = &mut self.list[id.index()];
        if let Some(blocking) = &mut stream.blocking {
            let has_gap = hosts.view(stream.receiver).has_out_of_order_data();
            blocking.on_data(now, has_gap, &self.window);
        }
        let Some(wanted) = stream.wanted.filter(|_| stream.read_event.is_none()) else { return };
        if let Some(time) = hosts.connections.time_of_read(stream.receiver, wanted, now) {
            stream.read_event = Some(time);
            hosts.schedule(time, Event::App(id));
        }
    }

    /// Handles an application's time: to write, or to learn that the receiver has read the awaited octets.
    pub(crate) fn on_app(&mut self, id: StreamId, hosts: &mut Hosts) {
        let now = hosts.now();
        let stream = self.get_mut(id);
        if stream.read_event.is_some_and(|time| time <= now) {
            (stream.read_event, stream.wanted) = (None, None);
            match stream.app.on_read(now) {
                AfterRead::WakeAt(time) => hosts.schedule(time, Event::App(id)),
                AfterRead::Complete => self.complete(id, now, &hosts.connections),
                AfterRead::Respond => self.respond(id, hosts),
                AfterRead::Responded => self.on_responded(id, hosts),
            }
            return;
        }
        let action = stream.app.act(now, hosts.view(stream.sender).outlet());
        self.perform(id, action, hosts);
    }

    fn perform(&mut self, id: StreamId, action: Action, hosts: &mut Hosts) {
        let stream = self.get_mut(id);
        stream.wanted = action.tell_when_read.or(stream.wanted);
        let sender = stream.sender;
        if let Some(time) = action.wake_at {
            hosts.schedule(time, Event::App(id));
        }
        hosts.either(
            sender,
            |tcp, now, out| {
                if action.write > Bytes::ZERO {
                    tcp.write(now, action.write, out);
                }
                if action.close {
                    tcp.close(now, out);
                }
            },
            |quic, now, out| {
                if action.close {
                    quic.write_last(now, action.write, out);
                } else {
                    quic.write(now, action.write, out);
                }
            },
        );
        hosts.arm_timer(sender);
    }

    /// The stream that the other end of this one's connection sends.
    fn other(&self, id: StreamId, connections: &Connections) -> StreamId {
        connections.sends(self.get(id).receiver).expect("both ends of an exchange have an application")
    }

    /// Answers the request on a stream, which the acceptor has read.
    fn respond(&mut self, id: StreamId, hosts: &mut Hosts) {
        let pending = self.get(id).app.requester().and_then(Requester::pending);
        let response = pending.expect("a request that was read was made").response;
        let other = self.other(id, &hosts.connections);
        let action = self.get_mut(other).app.respond(response);
        self.perform(other, action, hosts);
    }

    /// Continues after the response on this stream, which the opener has read; or closes both ends.
    fn on_responded(&mut self, id: StreamId, hosts: &mut Hosts) {
        let now = hosts.now();
        let asker = self.other(id, &hosts.connections);
        let stream = &mut self.list[asker.index()];
        let requester = stream.app.requester_mut().expect("the other end of a responder makes requests");
        let (start, exchange, next) = requester.on_response(now).expect("a response was asked for");
        if let Some(exchanges) = &mut stream.exchanges {
            let (size, time) = (exchange.request + exchange.response, now - start);
            let ideal = exchanges.1.exchange(exchange.request, exchange.response, time);
            exchanges.0.add(Completion { start, size, time, ideal }, &self.window);
        }
        if let Some(time) = next {
            return hosts.schedule(time, Event::App(asker));
        }
        for id in [asker, id] {
            self.complete(id, now, &hosts.connections);
            self.perform(id, Action { close: true, ..Action::default() }, hosts);
        }
    }

    fn complete(&mut self, id: StreamId, now: SimTime, connections: &Connections) {
        self.list[id.index()].complete(now, &self.window, connections);
    }

    pub(crate) fn begin_measurement(&mut self, now: SimTime, connections: &Connections) {
        self.list.iter_mut().for_each(|stream| stream.begin_measurement(now, connections));
    }

    pub(crate) fn end_measurement(&mut self, now: SimTime, connections: &Connections) {
        self.list.iter_mut().for_each(|stream| stream.end_measurement(now, connections));
    }
}
