//! Bound on the octets kept in one direction: a buffer discipline, fed with the kernel's report on both sockets, and
//! obeyed.
//!
//! The disciplines are those of `ackclock-relay`, which simulated appliances obey as well. What waits in the receive buffer
//! of one side, in the pipe and in the send buffer of the other is one backlog: arrived and not sent.
//!
//! **How a window is obeyed.** By `TCP_WINDOW_CLAMP`, which bounds what is advertised beyond what has arrived. A bound of less than a
//! segment would be for good, as the kernel lets it grow by what arrives only: two segments stay open. Where the far side stands
//! still they would add up in the receive buffer, two with every near round trip. So the buffer has room for what lies in it and for what may
//! still come, and no more: for the window that is ordered, or for what was advertised before, which would be dropped otherwise. While nothing is
//! ordered it is never made larger. A window opens on reading, and by itself only as octets come. A client so near that it refills a
//! window before the next order is let send no more than the far side will by then.
//!
//! **Departures** from a simulated appliance: orders are renewed every eighth of a far round trip, between one and ten milliseconds (`credit`: two), not
//! with every ACK, and congestion window validation cannot be switched off: so a policy that would keep nothing waiting (`credit`) is
//! given what the far side sends until orders are renewed, and a little more, in advance: its `margin` is three milliseconds at least. ECE can be raised only where the kernel was given the
//! means (`ece.rs`), and rides on what the sender sends next.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use ackclock_relay::{CreditConfig, Discipline, DisciplineConfig, FarSide, Orders, Readings};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use prometheus_client::metrics::histogram::Histogram;
use socket2::SockRef;

use crate::direction::{Direction, End, Endpoint};
use crate::ece;
use crate::sys::{self, TcpInfo};

/// Orders are renewed no more often, and no less often while octets are carried; of a policy that keeps nothing waiting, sooner.
const TICKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));
const JUST_IN_TIME: Duration = Duration::from_millis(2);

/// Time without changes after which updates stop until there is one.
const AT_REST: Duration = Duration::from_millis(200);

/// Unsent octets that the far socket always has, if there are as many: what it sends in this time, and segments.
const UNSENT: (Duration, u64) = (Duration::from_millis(2), 2);

/// Time of the far side's sending that is let in beyond the order of a policy that keeps nothing waiting, besides the
/// time between orders.
const IN_ADVANCE: Duration = Duration::from_millis(2);

/// Segments that are always let in.
const LEAST_SEGMENTS: u64 = 2;

/// Octets of a receive buffer for one that may come: the kernel counts its own structures, about as much again. The
/// smallest buffer has four for one of the smallest window: once all of it was read there is room, so that the kernel
/// sends the client a window update.
const MEMORY_OF_AN_OCTET: u64 = 2;
const MEMORY_OF_THE_LEAST: u64 = 4;

/// A client nearer than so refills the window before orders are renewed.
const NEAR: Duration = TICKS.0;

/// Marks of what has arrived and not been sent, at most.
const MARKS: usize = 4096;

/// Least margin by which `credit` fetches ahead: orders come up to two milliseconds late, and a process is scheduled within one more.
const LEAST_MARGIN: SimDuration = SimDuration::from_millis(3);

/// A discipline at work on one direction of a connection, or a measurement without one.
#[derive(Debug)]
pub struct Bounded {
    discipline: Option<Discipline>,
    is_paced: bool,
    last: Readings,
    changed: Instant,
    /// Octets that had arrived at a moment, of which some have not been sent.
    marks: VecDeque<(u64, Instant)>,
    /// It keeps nothing waiting, by its orders.
    is_just_in_time: bool,
    receive_buffer: u64,
    /// The kernel reports the advertised window: those before Linux 6.2 do not.
    tells_window: bool,
    /// The client refills the window before orders are renewed.
    is_near: bool,
    window: u64,
    low_water: u64,
}

/// A discipline as a process can follow it.
fn in_real_time(config: &DisciplineConfig) -> DisciplineConfig {
    match config {
        DisciplineConfig::Credit(credit) => {
            DisciplineConfig::Credit(CreditConfig { margin: credit.margin.max(LEAST_MARGIN), ..*credit })
        }
        other => other.clone(),
    }
}

impl Bounded {
    /// Bound for a connection that opens now. `is_paced` says whether the pacing rate in the kernel's report is in
    /// force.
    pub fn new(config: &DisciplineConfig, is_paced: bool, seed: u64, now: Instant) -> Self {
        let discipline = (*config != DisciplineConfig::Socket).then(|| Discipline::new(&in_real_time(config), seed));
        let (last, marks) = (Readings::default(), VecDeque::new());
        let is_just_in_time = config.fills_the_far_window();
        let (receive_buffer, tells_window, is_near, window, low_water) = (0, false, false, 0, 0);
        let changed = now;
        Self {
            discipline,
            is_paced,
            last,
            changed,
            marks,
            is_just_in_time,
            receive_buffer,
            tells_window,
            is_near,
            window,
            low_water,
        }
    }

    /// Reads the state of both sockets and carries out the discipline's orders. Returns the time until the next update;
    /// `None`: when octets have been carried.
    pub fn update(
        &mut self,
        direction: &mut Direction,
        (near, far): (&Endpoint, &Endpoint),
        (now, start): (Instant, Instant),
        waited: &Histogram,
    ) -> Option<Duration> {
        let (near_info, far_info) = (sys::tcp_info(&near.socket).ok()?, sys::tcp_info(&far.socket).ok()?);
        let unread = rustix::io::ioctl_fionread(near.socket.as_fd()).ok()?;
        let outstanding = u64::from(sys::not_acknowledged(&far.socket).ok()?);
        let mut readings = self.readings(direction, unread, outstanding, &near_info, &far_info);
        readings.now = SimTime((now - start).as_nanos() as u64);
        if readings.arrived != self.last.arrived || readings.acknowledged != self.last.acknowledged {
            self.changed = now;
        }
        self.observe(&readings, now, waited);
        self.last = readings;
        let longest = if self.is_just_in_time { JUST_IN_TIME } else { TICKS.1 };
        let mut next = (Duration::from_micros(u64::from(far_info.tcpi_rtt)) / 8).clamp(TICKS.0, longest);
        if let Some(discipline) = &mut self.discipline {
            let orders = discipline.update(&readings);
            self.is_near = Duration::from_micros(u64::from(near_info.tcpi_min_rtt)) < NEAR;
            let advertised = u64::from(near_info.tcpi_rcv_wnd);
            self.tells_window |= advertised > 0;
            self.obey(&orders, &readings, (next, advertised), direction, near, far);
            let wake = orders.wake_at.map(|at| Duration::from_nanos(at.saturating_since(readings.now).0));
            next = next.min(wake.unwrap_or(next)).max(TICKS.0);
        }
        let is_over = direction.end != End::Open && readings.backlog() == Bytes::ZERO;
        (!is_over && now - self.changed < AT_REST).then_some(next)
    }

    /// Octets that have arrived and not been sent.
    pub fn backlog(&self) -> u64 {
        self.last.backlog().0
    }

    fn readings(
        &self,
        direction: &Direction,
        unread: u64,
        outstanding: u64,
        near: &TcpInfo,
        far: &TcpInfo,
    ) -> Readings {
        let last = &self.last;
        let outstanding = outstanding.saturating_sub(u64::from(direction.is_fin_sent));
        let not_sent = u64::from(far.tcpi_notsent_bytes);
        // Each is read at a moment of its own, and none may fall, or be more than what comes before it.
        let arrived = (direction.taken + unread).max(last.arrived.0);
        let written = direction.written.clamp(last.written.0, arrived);
        let sent = written.saturating_sub(not_sent).clamp(last.sent.0, written);
        let acknowledged = written.saturating_sub(outstanding).clamp(last.acknowledged.0, sent);
        Readings {
            now: last.now,
            arrived: Bytes(arrived),
            written: Bytes(written),
            sent: Bytes(sent),
            retransmitted: Bytes(far.tcpi_bytes_retrans.max(last.retransmitted.0)),
            acknowledged: Bytes(acknowledged),
            near_rtt: micros(near.tcpi_rtt),
            near_mss: Bytes(u64::from(near.tcpi_rcv_mss)),
            far: self.far_side(far),
        }
    }

    fn far_side(&self, info: &TcpInfo) -> FarSide {
        let mss = u64::from(info.tcpi_snd_mss);
        let octets = |segments: u32| Bytes(u64::from(segments) * mss);
        let in_network = (info.tcpi_unacked + info.tcpi_retrans).saturating_sub(info.tcpi_sacked + info.tcpi_lost);
        let pacing = self.is_paced && info.tcpi_pacing_rate != u64::MAX;
        FarSide {
            srtt: micros(info.tcpi_rtt),
            min_rtt: if info.tcpi_min_rtt == u32::MAX { SimDuration::ZERO } else { micros(info.tcpi_min_rtt) },
            mss: Bytes(mss),
            cwnd: octets(info.tcpi_snd_cwnd),
            pipe: octets(in_network),
            to_repair: octets(info.tcpi_lost.saturating_sub(info.tcpi_retrans)),
            is_in_slow_start: info.tcpi_snd_cwnd < info.tcpi_snd_ssthresh,
            pacing_rate: pacing.then(|| Bandwidth(info.tcpi_pacing_rate.saturating_mul(8))),
            rwnd: Bytes(u64::from(info.tcpi_snd_wnd)),
        }
    }

    /// Records how long octets waited that have been sent by now.
    fn observe(&mut self, readings: &Readings, now: Instant, waited: &Histogram) {
        if readings.arrived > self.last.arrived && self.marks.len() < MARKS {
            self.marks.push_back((readings.arrived.0, now));
        }
        while let Some((_, since)) = self.marks.front().copied().filter(|(count, _)| *count <= readings.sent.0) {
            self.marks.pop_front();
            waited.observe((now - since).as_secs_f64());
        }
    }

    fn obey(
        &mut self,
        orders: &Orders,
        readings: &Readings,
        (until_next, advertised): (Duration, u64),
        direction: &mut Direction,
        near: &Endpoint,
        far: &Endpoint,
    ) {
        if orders.raise_ece {
            ece::raise(&near.socket);
        }
        if orders.not_sent.is_none() && orders.window.is_none() {
            return; // everything is left to the sockets
        }
        let low_water = orders.not_sent.map_or_else(|| unsent(&readings.far), |octets| octets.0);
        if differs(low_water, self.low_water) {
            self.low_water = low_water;
            let _ = SockRef::from(&far.socket).set_tcp_notsent_lowat(low_water as u32);
            direction.unsent_most = Some(low_water.max(1) as usize);
        }
        let Some(window) = orders.window else { return };
        // While losses are repaired, what is let in waits until that is done.
        let in_advance = if self.is_just_in_time && readings.far.to_repair == Bytes::ZERO {
            sent_within(&readings.far, until_next + IN_ADVANCE).saturating_sub(readings.backlog().0)
        } else {
            0
        };
        let window = if self.is_just_in_time && self.is_near {
            window.0.max(in_advance).min(sent_within(&readings.far, IN_ADVANCE))
        } else {
            window.0.max(in_advance)
        };
        let least = LEAST_SEGMENTS * readings.near_mss.0;
        self.make_room(window, advertised, least, near);
        self.open(window.max(least), near);
    }

    /// Makes the receive buffer as large as what lies in it and what may still come need: `window`, if that is more than was
    /// `advertised` before.
    fn make_room(&mut self, window: u64, advertised: u64, least: u64, near: &Endpoint) {
        let Ok(used) = sys::receive_memory(&near.socket) else { return };
        let needed = u64::from(used) + MEMORY_OF_AN_OCTET * window.max(advertised);
        let mut buffer = if window >= least { needed } else { needed.min(self.receive_buffer) };
        if !self.tells_window {
            buffer = needed.max(self.receive_buffer);
        }
        let buffer = buffer.clamp(MEMORY_OF_THE_LEAST * least, 1 << 30);
        if differs(buffer, self.receive_buffer) {
            self.receive_buffer = buffer;
            let _ = sys::set_buffer(&near.socket, sys::Buffer::Receive, buffer);
        }
    }

    /// Opens the receive window to `window` octets.
    fn open(&mut self, window: u64, near: &Endpoint) {
        if differs(window, self.window) {
            self.window = window;
            let _ = sys::set_window_clamp(&near.socket, window.min(1 << 30) as u32);
        }
    }
}

/// Enough that a far side which sends at its rate is not out of octets before it is looked after.
fn unsent(far: &FarSide) -> u64 {
    let (time, segments) = UNSENT;
    sent_within(far, time).max(segments * far.mss.0)
}

/// Octets sent in this time at a window a round trip; a window at most.
fn sent_within(far: &FarSide, time: Duration) -> u64 {
    let by_rate = u128::from(far.cwnd.0) * time.as_nanos() / u128::from(far.srtt.0.max(1));
    u64::try_from(by_rate).unwrap_or(u64::MAX).min(far.cwnd.0)
}

/// True if the values differ by more than an eighth: less is not worth a call.
fn differs(wanted: u64, now: u64) -> bool {
    wanted.abs_diff(now) > now / 8
}

fn micros(micros: u32) -> SimDuration {
    SimDuration::from_micros(u64::from(micros))
}
