//! A controller in Rust that runs a simulated connection, and beside it the same rules in C, which receive every event
//! as the kernel would report it. After each event both results are compared.
//!
//! Departures from a run of the controller in Rust alone: times are whole microseconds, as the kernel's are; a timeout restarts no
//! window; and with [`Told::AsTheKernel`] it knows of what was in flight and lost what the kernel lets one know.

use std::sync::{Arc, Mutex};

use ackclock::Start;
use ackclock_bpf::{Flight, FlightEvent, Program, Report, host};
use ackclock_cc::delivery::{Demands, RateSample, Repair, SegmentReport};
use ackclock_cc::{
    AckEvent, CongestionController, CongestionEvent, Controller, ControllerConfig, HandshakeEvent, SendEvent,
};
use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime};

/// Values that the controller in Rust receives of the data in flight when a segment left, and of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The values that the rules in C receive.
    AsTheKernel,
    /// All that the simulator knows.
    All,
}

/// Differences between both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Apart {
    pub(crate) acks: u32,
    pub(crate) losses: u32,
    pub(crate) timeouts: u32,
    pub(crate) idles: u32,
    /// The greatest difference of the windows and of the rates, as a part of the former.
    pub(crate) window: f64,
    pub(crate) rate: f64,
    /// ACKs after which the windows are more than a thousandth apart.
    pub(crate) parted: u32,
    /// Sums of the windows, segments.
    pub(crate) rust: f64,
    pub(crate) c: f64,
    pub(crate) states: std::collections::BTreeSet<u32>,
    /// Events sent to the rules in C, for the bytecode.
    pub(crate) told: Vec<(FlightEvent, Report)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Mirror {
    name: &'static str,
    controller: Controller,
    flight: Box<Flight>,
    told: Told,
    mss: u64,
    /// Copy of the controller's random stream.
    random: RandomStream,
    next: u64,
    draws: u32,
    delivered: u64,
    lost: u64,
    /// Segments newly lost and not reported yet, and the last lost segment.
    pending: Option<SegmentReport>,
    pasts: Vec<Past>,
    pub(crate) apart: Arc<Mutex<Apart>>,
}

/// State at the ACK before which `delivered` octets had been delivered.
#[derive(Clone, Copy, Debug)]
struct Past {
    delivered: u64,
    inflight: u64,
    lost: u64,
}

const MICROSECOND: u64 = 1_000;

fn whole_us(time: SimTime) -> SimTime {
    SimTime(time.0 / MICROSECOND * MICROSECOND)
}

fn whole_rtt(time: SimDuration) -> SimDuration {
    SimDuration(time.0 / MICROSECOND * MICROSECOND)
}

impl Mirror {
    pub(crate) fn new(
        program: &'static Program,
        config: &ControllerConfig,
        start: &Start,
        told: Told,
        apart: Arc<Mutex<Apart>>,
    ) -> Self {
        let params = program.params(config, 0).expect("in range");
        let mss = start.mss.0;
        let mut flight = Flight::new(params, (start.initial_window.0 / mss) as u32);
        let report = Report { mss: mss as u32, ..Report::default() };
        flight.set(FlightEvent::Begin, report);
        // both ends of the connection have one; the receiver's receives no further events
        {
            let told_of = &mut apart.lock().expect("one thread").told;
            if told_of.is_empty() {
                told_of.push((FlightEvent::Begin, report));
            }
        }
        assert!(host::fly(program.name, &mut flight));
        let mut random = RandomStream::new(0, program.name);
        let next = draw(&mut random);
        Self {
            name: program.name,
            controller: Controller::new(config, start.mss, start.initial_window, None),
            flight,
            told,
            mss,
            random,
            next,
            draws: 0,
            delivered: 0,
            lost: 0,
            pending: None,
            pasts: Vec::new(),
            apart,
        }
    }

    fn segments(&self, octets: u64) -> u32 {
        (octets / self.mss) as u32
    }

    fn tell(&mut self, event: FlightEvent, report: Report) {
        let report = Report { mss: self.mss as u32, random: self.next, has_sack: 1, ..report };
        self.flight.set(event, report);
        host::fly(self.name, &mut self.flight);
        if self.flight.draws != self.draws {
            self.draws = self.flight.draws;
            self.next = draw(&mut self.random);
        }
        let mut apart = self.apart.lock().expect("one thread");
        apart.told.push((event, report));
        let (rust, c) = (self.controller.cwnd().0 as f64 / self.mss as f64, self.flight.cwnd_segments());
        let window = (rust - c).abs() / rust;
        let rate = self.controller.pacing_rate().map_or(0.0, |Bandwidth(rate)| {
            (rate as f64 - self.flight.pacing_rate as f64).abs() / (rate as f64).max(1.0)
        });
        if event == FlightEvent::Ack {
            apart.acks += 1;
            (apart.rust, apart.c) = (apart.rust + rust, apart.c + c);
            apart.parted += u32::from(window > 1e-3);
        }
        apart.window = apart.window.max(window);
        apart.rate = apart.rate.max(rate);
        apart.states.insert(self.flight.state_number);
    }

    /// State that the kernel would know of the moment at which `delivered` octets had been delivered.
    fn past(&self, delivered: u64) -> Option<Past> {
        let place = |octets: u64| self.segments(octets) >> 2;
        self.pasts.iter().rev().find(|past| place(past.delivered) == place(delivered)).copied()
    }

    /// The losses of an ACK as one, and the sample as the rules in C have it.
    fn as_the_kernel(&mut self, ack: &mut AckEvent, prior_inflight: u64, lost_ever: u64, newly_lost: u64) {
        let Some(delivery) = &mut ack.delivery else { return };
        let known = delivery.sample.map(|sample| {
            let lost_before = lost_ever - newly_lost;
            let unknown = Past { delivered: 0, inflight: prior_inflight, lost: lost_before };
            let past = self.past(sample.prior_delivered.0).unwrap_or(unknown);
            RateSample { tx_in_flight: Bytes(past.inflight), lost: Bytes(lost_ever - past.lost), ..sample }
        });
        delivery.sample = known;
        ack.newly_lost = Bytes(newly_lost);
        if let Some(last) = self.pending.take() {
            let (tx_in_flight, lost) =
                known.map_or((Bytes(prior_inflight), Bytes(newly_lost)), |sample| (sample.tx_in_flight, sample.lost));
            let one = SegmentReport {
                now: ack.now,
                size: Bytes(newly_lost),
                delivered: delivery.delivered,
                tx_in_flight,
                lost,
                is_app_limited: known.is_some_and(|sample| sample.is_app_limited),
                ..last
            };
            self.controller.on_lost(&one);
        }
    }
}

fn draw(random: &mut RandomStream) -> u64 {
    let one = u64::from(random.chance(0.5));
    one << 32 | (random.uniform() * f64::from(u32::MAX)) as u64
}

impl CongestionController for Mirror {
    fn on_ack(&mut self, ack: &AckEvent) {
        let mut ack = *ack;
        ack.now = whole_us(ack.now);
        ack.rtt_sample = ack.rtt_sample.map(whole_rtt);
        ack.rtt.srtt = whole_rtt(ack.rtt.srtt);
        let Some(delivery) = &mut ack.delivery else { return };
        if let Some(sample) = &mut delivery.sample {
            sample.interval = whole_rtt(sample.interval);
        }
        let (before, lost_before) = (self.delivered, self.lost);
        let (delivered, lost_ever, inflight) = (delivery.delivered.0, delivery.lost.0, delivery.inflight.0);
        (self.delivered, self.lost) = (delivered, lost_ever);
        let newly_lost = lost_ever - lost_before;
        let prior_inflight = delivery.prior_inflight.0;
        let oldest = before.saturating_sub(4_096 * self.mss);
        self.pasts.retain(|past| past.delivered >= oldest);
        self.pasts.push(Past { delivered: before, inflight: prior_inflight, lost: lost_before });
        let sample = delivery.sample;
        let repair = match delivery.repair {
            Repair::None => 0,
            Repair::Fast => 1,
            Repair::Timeout => 2,
        };
        let mut report = Report {
            now_us: ack.now.0 / MICROSECOND,
            rtt_us: ack.rtt_sample.map_or(0, |rtt| (rtt.0 / MICROSECOND) as u32),
            srtt_us: (ack.rtt.srtt.0 / MICROSECOND) as u32,
            acked: self.segments(ack.newly_acked.0),
            lost: self.segments(newly_lost),
            delivered: self.segments(delivered),
            lost_ever: self.segments(lost_ever),
            inflight: self.segments(inflight),
            prior_inflight: self.segments(prior_inflight),
            is_cwnd_limited: u8::from(ack.growth.is_in_use),
            repair,
            ..Report::default()
        };
        if let Some(sample) = sample {
            report.has_sample = 1;
            report.prior_delivered = self.segments(sample.prior_delivered.0);
            report.sample_delivered = self.segments(sample.delivered.0);
            report.interval_us = (sample.interval.0 / MICROSECOND) as u32;
            report.is_app_limited = u8::from(sample.is_app_limited);
        }
        if self.told == Told::AsTheKernel {
            self.as_the_kernel(&mut ack, prior_inflight, lost_ever, newly_lost);
        }
        self.controller.on_ack(&ack);
        self.tell(FlightEvent::Ack, report);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let event = CongestionEvent { now: whole_us(event.now), ..*event };
        self.controller.on_congestion(&event);
        let report = Report {
            now_us: event.now.0 / MICROSECOND,
            inflight: self.segments(event.inflight.0),
            ..Report::default()
        };
        let report = Report { delivered: self.segments(self.delivered), ..report };
        self.apart.lock().expect("one thread").losses += 1;
        if event.is_timeout() {
            self.apart.lock().expect("one thread").timeouts += 1;
            self.tell(FlightEvent::Timeout, report);
        }
    }

    fn on_spurious(&mut self, now: SimTime) {
        self.controller.on_spurious(whole_us(now));
        let delivered = self.segments(self.delivered);
        self.tell(FlightEvent::Undo, Report { now_us: now.0 / MICROSECOND, delivered, ..Report::default() });
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        let segment = SegmentReport { now: whole_us(segment.now), ..*segment };
        match self.told {
            Told::AsTheKernel => self.pending = Some(segment),
            Told::All => self.controller.on_lost(&segment),
        }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        let sent = SendEvent { now: whole_us(sent.now), ..*sent };
        self.controller.on_send(&sent);
        if !sent.idle_for.is_zero() {
            let (now_us, delivered) = (sent.now.0 / MICROSECOND, self.segments(self.delivered));
            let is_app_limited = u8::from(sent.is_app_limited);
            self.tell(FlightEvent::Idle, Report { now_us, delivered, is_app_limited, ..Report::default() });
            self.apart.lock().expect("one thread").idles += 1;
        }
    }

    fn on_handshake(&mut self, handshake: &HandshakeEvent) {
        self.controller.on_handshake(&HandshakeEvent { srtt: whole_rtt(handshake.srtt), ..*handshake });
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, recovery_window: true, marks: true, ..Demands::default() }
    }

    fn limits_itself(&self) -> bool {
        self.controller.limits_itself()
    }

    fn is_in_slow_start(&self) -> bool {
        self.controller.is_in_slow_start()
    }

    fn cwnd(&self) -> Bytes {
        self.controller.cwnd()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.controller.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        self.controller.pacing_rate()
    }
}
