//! Requests and responses on one connection: the opener sends a request, the acceptor a response, and so on.

use ackclock_net::RandomStream;
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::sizes::SizeDistribution;
use super::video::Video;
use crate::config::{AppConfig, Span};

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) request: Bytes,
    pub(crate) response: Bytes,
}

/// The application that makes requests.
#[derive(Clone, Debug)]
pub(crate) struct Requester {
    kind: Kind,
    pending: Option<(SimTime, Exchange)>,
}

#[derive(Clone, Debug)]
enum Kind {
    Drawn(Drawn),
    Video(Video),
}

#[derive(Clone, Debug)]
struct Drawn {
    request: SizeDistribution,
    response: SizeDistribution,
    think: Span,
    left: u64,
    random: RandomStream,
}

impl Requester {
    /// The requester of `app`, which must have responses.
    pub(crate) fn new(app: &AppConfig, seed: u64, name: &str) -> Self {
        let kind = match app {
            AppConfig::RequestResponse { request, response, think, count } => Kind::Drawn(Drawn {
                request: request.clone(),
                response: response.clone(),
                think: *think,
                left: *count,
                random: RandomStream::new(seed, &format!("app {name}")),
            }),
            AppConfig::Video(video) => Kind::Video(Video::new(video)),
            AppConfig::Bulk | AppConfig::Files { .. } | AppConfig::OnOff { .. } | AppConfig::External(_) => {
                unreachable!("an application without responses makes no requests")
            }
        };
        Self { kind, pending: None }
    }

    /// Makes the next request.
    pub(crate) fn ask(&mut self, now: SimTime) -> Exchange {
        let exchange = match &mut self.kind {
            Kind::Drawn(drawn) => drawn.ask(),
            Kind::Video(video) => video.ask(now),
        };
        self.pending = Some((now, exchange));
        exchange
    }

    /// The pending request.
    pub(crate) fn pending(&self) -> Option<Exchange> {
        self.pending.map(|(_, exchange)| exchange)
    }

    /// Takes a response that has been read. Returns the time of its request, the exchange, and the time of the next
    /// request, if any.
    pub(crate) fn on_response(&mut self, now: SimTime) -> Option<(SimTime, Exchange, Option<SimTime>)> {
        let (asked, exchange) = self.pending.take()?;
        let next = match &mut self.kind {
            Kind::Drawn(drawn) => drawn.on_response(now),
            Kind::Video(video) => video.on_segment(asked, now, exchange.response),
        };
        Some((asked, exchange, next))
    }

    /// The video client, if it is one.
    pub(crate) fn video(&self) -> Option<&Video> {
        match &self.kind {
            Kind::Video(video) => Some(video),
            Kind::Drawn(_) => None,
        }
    }
}

impl Drawn {
    fn ask(&mut self) -> Exchange {
        self.left -= 1;
        Exchange { request: self.request.draw(&mut self.random), response: self.response.draw(&mut self.random) }
    }

    fn on_response(&mut self, now: SimTime) -> Option<SimTime> {
        let think = match self.think {
            Span::Constant(think) => think,
            Span::Exponential(SimDuration::ZERO) => SimDuration::ZERO,
            Span::Exponential(mean) => self.random.exponential(mean),
        };
        (self.left > 0).then(|| now + think)
    }
}
