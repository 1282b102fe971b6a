//! Applications: the octets that they write to a connection, and their times.

use ackclock_net::RandomStream;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::config::{AppConfig, Span};
use crate::traffic::{ExternalSource, Requester, SourceStart, Then, VideoSummary};

/// More octets than any run can send.
const ENDLESS: Bytes = Bytes(1 << 60);

/// The longest interval between writes of an application with a rate.
const WRITE_INTERVAL: SimDuration = SimDuration::from_millis(1);
/// Shortest interval between two writes, over however short a path.
const LEAST_INTERVAL: SimDuration = SimDuration::from_micros(1);

/// An application in operation. It acts when its connection opens, at its own times, and when the receiver has read the
/// octets that it waits for; it returns its next action.
#[derive(Clone, Debug)]
pub struct App {
    kind: Kind,
    written: Bytes,
}

#[derive(Clone, Debug)]
enum Kind {
    Bulk,
    Files { sizes: Vec<Bytes>, gap: SimDuration, next: usize },
    OnOff(OnOff),
    Requester(Box<Requester>),
    Responder,
    External { source: Box<dyn ExternalSource>, is_over: bool },
}

/// Action after the receiver has read the octets that the application waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRead {
    /// Wake it at this time, for more data.
    WakeAt(SimTime),
    /// The other end responds to the request that it has read.
    Respond,
    /// The other end has read its response.
    Responded,
    /// All data has been read.
    Complete,
}

#[derive(Clone, Debug)]
struct OnOff {
    on: Span,
    off: Span,
    rate: Option<Bandwidth>,
    random: RandomStream,
    /// End of the on period under way; `None` while off.
    on_until: Option<SimTime>,
    /// Start of the off period, or of the one before the on period.
    off_since: SimTime,
    /// Time up to which the data of the rate has been written.
    last_write: SimTime,
}

/// State of the connection to which an application writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outlet {
    /// Octets written and not sent.
    pub unsent: Bytes,
    /// Number of octets that the connection takes at present.
    pub room: Bytes,
    /// Time after which it takes more, if that is known.
    pub refill: Option<SimDuration>,
}

/// The next action of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Number of octets to write.
    pub write: Bytes,
    /// True if it closes after the write.
    pub close: bool,
    /// Time at which to wake it.
    pub wake_at: Option<SimTime>,
    /// Total of octets after whose reading the application is to be notified.
    pub tell_when_read: Option<Bytes>,
}

impl App {
    /// The application of a flow; its random numbers come from the seed's stream of its name.
    pub fn new(config: &AppConfig, seed: u64, name: &str) -> Self {
        let kind = match config {
            AppConfig::Bulk => Kind::Bulk,
            AppConfig::Files { sizes, gap } => Kind::Files { sizes: sizes.clone(), gap: *gap, next: 0 },
            AppConfig::OnOff { on, off, rate } => Kind::OnOff(OnOff {
                on: *on,
                off: *off,
                rate: *rate,
                random: RandomStream::new(seed, &format!("app {name}")),
                on_until: None,
                off_since: SimTime::ZERO,
                last_write: SimTime::ZERO,
            }),
            AppConfig::RequestResponse { .. } | AppConfig::Video(_) => {
                Kind::Requester(Box::new(Requester::new(config, seed, name)))
            }
            AppConfig::External(config) => {
                let seed = RandomStream::new(seed, &format!("app {name}")).bits();
                Kind::External { source: config.make(&SourceStart { seed }), is_over: false }
            }
        };
        Self { kind, written: Bytes::ZERO }
    }

    /// The application that answers requests.
    pub fn responder() -> Self {
        Self { kind: Kind::Responder, written: Bytes::ZERO }
    }

    /// The application that makes requests, if it is of that kind.
    pub(crate) fn requester(&self) -> Option<&Requester> {
        if let Kind::Requester(requester) = &self.kind { Some(requester) } else { None }
    }

    /// Mutable version of [`Self::requester`].
    pub(crate) fn requester_mut(&mut self) -> Option<&mut Requester> {
        if let Kind::Requester(requester) = &mut self.kind { Some(requester) } else { None }
    }

    /// Playback of a video until `end`, for an application that plays one.
    pub fn video_summary(&self, end: SimTime) -> Option<VideoSummary> {
        Some(self.requester()?.video()?.summary(end))
    }

    /// Octets of the response to the pending request, for an application that makes requests.
    pub fn wanted_response(&self) -> Option<Bytes> {
        Some(self.requester()?.pending()?.response)
    }

    /// Takes the response to the pending request, which has been read. Returns the time of the request, octets of both,
    /// and the time of the next request, if there is one.
    pub fn on_response(&mut self, now: SimTime) -> Option<(SimTime, Bytes, Option<SimTime>)> {
        let (asked, exchange, next) = self.requester_mut()?.on_response(now)?;
        Some((asked, exchange.request + exchange.response, next))
    }

    /// Writes `octets` and requests a notification when they have been read.
    pub fn respond(&mut self, octets: Bytes) -> Action {
        self.written += octets;
        Action { write: octets, tell_when_read: Some(self.written), ..Action::default() }
    }

    /// Acts once the connection is open, or at the time that the application requested.
    pub fn act(&mut self, now: SimTime, outlet: Outlet) -> Action {
        let action = match &mut self.kind {
            Kind::Bulk => Action { write: ENDLESS, ..Action::default() },
            Kind::Files { sizes, next, .. } => match sizes.get(*next) {
                Some(&size) => {
                    *next += 1;
                    let close = *next == sizes.len();
                    Action { write: size, close, tell_when_read: Some(self.written + size), wake_at: None }
                }
                None => Action::default(),
            },
            Kind::OnOff(app) => app.act(now, outlet),
            Kind::Requester(requester) => {
                let request = requester.ask(now).request;
                Action { write: request, tell_when_read: Some(self.written + request), ..Action::default() }
            }
            Kind::Responder | Kind::External { is_over: true, .. } => Action::default(),
            Kind::External { source, is_over } => {
                let supply = source.next(now, outlet.unsent);
                let write = Bytes(supply.write.0.min(ENDLESS.0 - self.written.0));
                let all = Some(self.written + write);
                *is_over = supply.then == Then::Close;
                match supply.then {
                    // A time that has passed would let nothing else happen.
                    Then::At(time) => {
                        Action { write, wake_at: Some(time.max(now + SimDuration(1))), ..Action::default() }
                    }
                    Then::WhenRead => Action { write, tell_when_read: all, ..Action::default() },
                    Then::Close => Action { write, close: true, tell_when_read: all, wake_at: None },
                }
            }
        };
        self.written += action.write;
        action
    }

    /// The action when the receiver has read the octets for which the application waited.
    pub fn on_read(&self, now: SimTime) -> AfterRead {
        match &self.kind {
            Kind::Files { sizes, gap, next } if *next < sizes.len() => AfterRead::WakeAt(now + *gap),
            Kind::Requester(_) => AfterRead::Respond,
            Kind::Responder => AfterRead::Responded,
            Kind::External { is_over: false, .. } => AfterRead::WakeAt(now),
            _ => AfterRead::Complete,
        }
    }
}

impl OnOff {
    fn act(&mut self, now: SimTime, outlet: Outlet) -> Action {
        match self.on_until {
            None => {
                self.on_until = Some(now + self.draw(self.on));
                // What has not come to a whole octet is written in this period.
                self.last_write += now - self.off_since;
                self.write(now, outlet)
            }
            Some(end) if now < end => self.write(now, outlet),
            Some(end) => {
                // What the connection has room for would be sent in the off period.
                let mut action = self.write(end, Outlet::default());
                (self.on_until, self.off_since) = (None, end);
                action.wake_at = Some(now + self.draw(self.off));
                action
            }
        }
    }

    fn draw(&mut self, span: Span) -> SimDuration {
        match span {
            Span::Constant(span) => span,
            Span::Exponential(mean) => self.random.exponential(mean),
        }
    }

    /// Writes the data of its rate since the last time; without a rate, as much as the connection takes.
    fn write(&mut self, now: SimTime, outlet: Outlet) -> Action {
        let (write, wait) = if let Some(rate) = self.rate {
            let due = rate.bytes_in(now - self.last_write);
            self.last_write += rate.serialization_delay(due).min(now - self.last_write);
            (due, WRITE_INTERVAL)
        } else {
            let refill = outlet.refill.unwrap_or(WRITE_INTERVAL);
            (outlet.room, refill.clamp(LEAST_INTERVAL, WRITE_INTERVAL))
        };
        let end = self.on_until.unwrap_or(now);
        Action { write, wake_at: Some(end.min(now + wait)), ..Action::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_turn_and_the_last_closes() {
        let sizes = vec![Bytes(100), Bytes(50)];
        let gap = SimDuration::from_secs(1);
        let mut app = App::new(&AppConfig::Files { sizes, gap }, 1, "f");
        let first = app.act(SimTime::ZERO, Outlet::default());
        assert_eq!((first.write, first.close, first.tell_when_read), (Bytes(100), false, Some(Bytes(100))));
        assert_eq!(app.on_read(SimTime(5)), AfterRead::WakeAt(SimTime(1_000_000_005)));
        let second = app.act(SimTime(1_000_000_005), Outlet::default());
        assert_eq!((second.write, second.close, second.tell_when_read), (Bytes(50), true, Some(Bytes(150))));
        assert_eq!(app.on_read(SimTime(2_000_000_000)), AfterRead::Complete);
    }

    #[test]
    fn on_off_writes_its_rate_while_on() {
        let second = Span::Constant(SimDuration::from_secs(1));
        let rate = Some(Bandwidth(8_000_000)); // 1 MB/s
        let mut app = App::new(&AppConfig::OnOff { on: second, off: second, rate }, 1, "f");
        let (mut now, mut written) = (SimTime::ZERO, 0);
        while now < SimTime(4_000_000_000) {
            let action = app.act(now, Outlet::default());
            written += action.write.0;
            now = action.wake_at.expect("an on/off application always has a next time");
        }
        assert!((1_999_000..=2_001_000).contains(&written), "{written}"); // two on periods of 1 MB
    }

    #[test]
    fn on_off_writes_its_rate_however_short_its_periods() {
        // 1 kbit/s makes an octet in 8 ms: on periods of 5 ms make one in two of them, of 10 s in all half a minute's 3750.
        let span = |ms| Span::Constant(SimDuration::from_millis(ms));
        let mut app = App::new(&AppConfig::OnOff { on: span(5), off: span(5), rate: Some(Bandwidth(1_000)) }, 1, "f");
        let (mut now, mut written) = (SimTime(3_000_000), 0);
        while now < SimTime(60_003_000_000) {
            let action = app.act(now, Outlet::default());
            written += action.write.0;
            now = action.wake_at.expect("an on/off application always has a next time");
        }
        assert!((3_749..=3_750).contains(&written), "{written}");
    }

    #[test]
    fn on_off_without_a_rate_hands_over_what_there_is_room_for_and_nothing_when_it_goes_off() {
        let second = Span::Constant(SimDuration::from_secs(1));
        let mut app = App::new(&AppConfig::OnOff { on: second, off: second, rate: None }, 1, "f");
        let outlet = Outlet { unsent: Bytes(5), room: Bytes(100), refill: Some(SimDuration::from_millis(700)) };
        let first = app.act(SimTime::ZERO, outlet);
        assert_eq!((first.write, first.wake_at), (Bytes(100), Some(SimTime(1_000_000))));
        let last = app.act(SimTime(1_000_000_000), outlet);
        assert_eq!((last.write, last.wake_at), (Bytes::ZERO, Some(SimTime(2_000_000_000))));
    }

    /// A connection without an RTT sample, and one whose RTT is as short as links without delay make it.
    #[test]
    fn on_off_without_a_rate_lets_time_pass_over_any_path() {
        let second = Span::Constant(SimDuration::from_secs(1));
        for (refill, least) in [(None, 1_000_000), (Some(SimDuration(1)), 1_000)] {
            let mut app = App::new(&AppConfig::OnOff { on: second, off: second, rate: None }, 1, "f");
            let outlet = Outlet { unsent: Bytes(5), room: Bytes::ZERO, refill };
            assert!(app.act(SimTime::ZERO, outlet).wake_at >= Some(SimTime(least)));
        }
    }
}
