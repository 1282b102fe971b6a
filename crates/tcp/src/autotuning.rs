//! Buffers that grow with what a connection needs.
//!
//! Sources: Fisk, Feng, Dynamic right-sizing, 2001 (the receive buffer), as Linux has it by its behaviour.
//!
//! The window follows the buffer with `opens_to` as Linux 7.3's does, to the octet over the 1.2 s of a recording: by two segments
//! with each full-sized one that arrives, each of which is acknowledged at once. How far the buffer grows, by
//! which round trip, and what counts as read are Linux 6.16's and later; captured limits of such a connection are in a test. Its
//! end is memory, as in `tcp_rmem`, of which [`window_of_memory`] is window. Round trips are counted from when the connection opened,
//! in whole ticks, and what lies above a hole opens window and buffer as well: the tracepoint `tcp_rcvbuf_grow` of Linux 6.18 shows it.
//!
//! Departures: Linux counts memory, and its steps are smaller where packets carry little.

use ackclock_units::{SimDuration, SimTime};

use crate::config::{Autotuning, BufferGrowth, WindowTuning};

/// A full segment behind a TUN device, its memory, and the share of memory that is window, in Linux's 256ths: the tracepoint
/// `tcp_rcvbuf_grow` of 7.3 shows both. Goodput times round trip on 6.18 was 249 and 496 kB of 400 and 800.
const SEGMENT: u64 = 1_448;
const SEGMENT_MEMORY: u64 = 2_304;
const WINDOW_SHARE: u64 = 160;

/// Window that `octets` of memory hold, for full segments of 1,448 octets.
pub fn window_of_memory(octets: u64) -> u64 {
    (u128::from(octets) * u128::from(WINDOW_SHARE) / 256) as u64
}

/// The receive buffer: twice what the application took in a round trip, and room for growth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveAutotuning {
    config: WindowTuning,
    /// The buffer, and what of it is advertised while it is empty.
    size: u64,
    window: u64,
    rtt: SimDuration,
    /// The timestamp last measured with: each counts once.
    echo: u32,
    /// The round trip under way: since when, what had been read then, what was read in the one before.
    since: SimTime,
    read_before: u64,
    /// `None` before the first: ten segments, an initial window.
    space: Option<u64>,
    /// End of the window offered at `window_since`: when it is full, a round trip has passed.
    window_end: u64,
    window_since: SimTime,
}

impl ReceiveAutotuning {
    pub(crate) fn new(config: WindowTuning) -> Self {
        let opens_to = config.opens_to.0.min(window_of_memory(config.max.0));
        Self {
            config,
            size: config.initial.0.max(opens_to),
            window: config.initial.0,
            rtt: SimDuration::ZERO,
            echo: 0,
            since: SimTime::ZERO,
            read_before: 0,
            space: None,
            window_end: 0,
            window_since: SimTime::ZERO,
        }
    }

    /// Largest size of the buffer, which determines the window scale.
    pub(crate) fn largest(&self) -> u64 {
        self.config.max.0
    }

    /// Largest window.
    fn limit(&self) -> u64 {
        if self.opens() { window_of_memory(self.config.max.0) } else { self.config.max.0 }
    }

    /// Window to advertise while nothing waits to be read.
    pub(crate) fn window(&self) -> u64 {
        if self.opens() { self.window } else { self.size }
    }

    /// The window opens with segments, and not at once with the buffer.
    pub(crate) fn opens(&self) -> bool {
        self.config.opens_to > self.config.initial
    }

    /// Free space in the buffer, beside the `held` octets in it, which take memory.
    pub(crate) fn room(&self, held: u64) -> u64 {
        let taken = if self.opens() { window_of_memory(held * SEGMENT_MEMORY / SEGMENT) } else { held };
        self.size.saturating_sub(taken)
    }

    /// The connection is open, its window advertised as `advertised`: round trips count from here. Room for one segment is kept
    /// (Linux, until the first segment of data tells how much memory one takes).
    pub(crate) fn begin(&mut self, now: SimTime, advertised: u64, mss: u64) {
        self.since = now;
        if self.opens() {
            self.window = advertised.min(self.config.initial.0.saturating_sub(mss).max(2 * mss));
        }
    }

    /// The window has not come up to the buffer yet.
    #[inline]
    pub(crate) fn may_open(&self) -> bool {
        self.opens() && self.window < self.size
    }

    /// A full-sized segment arrived in order, and `held` octets lie in the buffer beside it: true if it lets the window open further.
    pub(crate) fn on_full_segment(&mut self, mss: u64, held: u64) -> bool {
        self.open_within(mss, held + mss)
    }

    fn open_within(&mut self, mss: u64, held: u64) -> bool {
        let most = self.room(held);
        if !self.opens() || self.window >= most {
            return false;
        }
        self.window = (self.window + 2 * mss).min(most);
        true
    }

    /// A segment of `octets` arrived above a hole; what lies there reaches `above_hole` beyond it, and with it `held` octets lie in
    /// the buffer: true if it lets the window open further.
    pub(crate) fn on_segment_above_hole(&mut self, octets: u64, above_hole: u64, held: u64, mss: u64) -> bool {
        if !self.opens() {
            return false;
        }
        let opens = octets >= mss && self.open_within(mss, held.saturating_sub(octets));
        if self.config.growth != BufferGrowth::Linux4_20 {
            let twice = 2 * self.space(mss);
            let wanted = twice + self.growth_of_short(twice).unwrap_or(0) + above_hole;
            self.size = self.size.max(wanted.min(self.limit()));
        }
        opens
    }

    /// Growth of a buffer of `octets`, if the round trip is short: the sender doubles within a few of them anyway.
    fn growth_of_short(&self, octets: u64) -> Option<u64> {
        const LONG: SimDuration = SimDuration::from_millis(1); // tcp_rcvbuf_low_rtt
        let is_short = self.config.growth == BufferGrowth::Linux6_19 && self.rtt < LONG;
        is_short.then(|| (u128::from(octets) * u128::from(self.rtt.0) / u128::from(LONG.0)) as u64)
    }

    /// The round trip; zero before it is known.
    pub(crate) fn rtt(&self) -> SimDuration {
        self.rtt
    }

    /// Octets that the application read in the measured round trip; ten segments before the first.
    pub(crate) fn space(&self, mss: u64) -> u64 {
        self.space.unwrap_or_else(|| self.window.min(10 * mss))
    }

    /// True if `echo` was not measured with before.
    pub(crate) fn is_new_echo(&mut self, echo: u32) -> bool {
        std::mem::replace(&mut self.echo, echo) != echo
    }

    /// A round trip as the receiver sees it: a timestamp echoed. The least counts; a longer one, which queues make, draws
    /// it up by an eighth, unless the application is late (`unread`).
    pub(crate) fn on_rtt(&mut self, rtt: SimDuration, unread: u64) {
        if rtt.is_zero() {
            return;
        }
        if self.rtt.is_zero() || rtt < self.rtt {
            self.rtt = rtt;
        } else if unread == 0 || self.config.growth == BufferGrowth::Linux4_20 {
            self.rtt = SimDuration(self.rtt.0 - self.rtt.0 / 8 + rtt.0 / 8);
        }
    }

    /// Data up to `rcv_nxt` has arrived, with a window open to `edge`: a window's worth of data takes at least a round trip. That
    /// alone measures one below the tick of the timestamps.
    #[inline]
    pub(crate) fn on_data(&mut self, now: SimTime, rcv_nxt: u64, edge: u64) {
        if rcv_nxt < self.window_end {
            return;
        }
        if self.window_end > 0 {
            let took = now.saturating_since(self.window_since).max(SimDuration::from_micros(1));
            self.rtt = if self.rtt.is_zero() { took } else { self.rtt.min(took) };
        }
        (self.window_end, self.window_since) = (edge, now);
    }

    /// A round trip is over.
    #[inline]
    pub(crate) fn is_due(&self, now: SimTime) -> bool {
        !self.rtt.is_zero() && now.saturating_since(self.since) >= self.rtt
    }

    /// A round trip is over in which the application has come to have read `octets` in all; `unread` wait for it, and what
    /// lies above a hole reaches `above_hole` beyond them.
    pub(crate) fn on_round_trip(&mut self, now: SimTime, octets: u64, unread: u64, above_hole: u64, mss: u64) {
        let copied = (octets - self.read_before).saturating_sub(unread);
        let space = self.space(mss);
        if copied > space {
            // The sender doubles in slow start: twice what came, and twice as much more as it has grown.
            let (cushion, above_hole) = match self.config.growth {
                BufferGrowth::Linux6_16 | BufferGrowth::Linux6_19 => (0, above_hole),
                BufferGrowth::Linux4_20 => (16 * mss, 0),
            };
            let base = 2 * copied + cushion;
            let growth = self.growth_of_short(base).unwrap_or_else(|| {
                let doubling = 2 * u128::from(base) * u128::from(copied - space) / u128::from(space);
                doubling.min(u128::from(u64::MAX / 2)) as u64 // more than any buffer, but no overflow
            });
            let wanted = base.saturating_add(growth).saturating_add(above_hole);
            self.size = self.size.max(wanted.min(self.limit()));
            self.space = Some(copied);
        }
        (self.since, self.read_before) = (now, octets);
    }
}

/// The send buffer grown for a congestion window: to twice that, so that a window is there when another is acknowledged.
pub(crate) fn grown_send_buffer(size: u64, config: Autotuning, cwnd: u64) -> u64 {
    size.max((2 * cwnd).min(config.max.0))
}

#[cfg(test)]
mod tests {
    use ackclock_units::Bytes;

    use super::*;

    fn tuning(initial: u64, opens_to: u64) -> ReceiveAutotuning {
        let opens_to = Bytes(opens_to);
        ReceiveAutotuning::new(WindowTuning {
            initial: Bytes(initial),
            max: Bytes(1_000_000),
            opens_to,
            ..WindowTuning::default()
        })
    }

    #[test]
    fn the_buffer_doubles_with_the_data_of_a_round_trip() {
        let mut tuning = tuning(64_000, 0);
        tuning.on_rtt(SimDuration::from_millis(100), 0);
        tuning.on_round_trip(SimTime(100_000_000), 10_000, 0, 0, 1_000);
        assert_eq!(tuning.window(), 64_000); // no more than ten segments in the round trip
        tuning.on_round_trip(SimTime(200_000_000), 30_000, 0, 0, 1_000);
        // 20 000 in a round trip: 2 * 20 000 = 40 000; grown by 10/10: + 2 * 40 000
        assert_eq!(tuning.window(), 120_000);
        tuning.on_round_trip(SimTime(300_000_000), 600_000, 0, 0, 1_000);
        assert_eq!(tuning.window(), 1_000_000);
    }

    /// Octets that still wait are subtracted from what was read since; octets above a hole need room beside it.
    #[test]
    fn what_waits_does_not_count_and_what_lies_above_a_hole_needs_room() {
        let (mut late, mut hole) = (tuning(64_000, 0), tuning(64_000, 0));
        late.on_rtt(SimDuration::from_millis(100), 0);
        late.on_round_trip(SimTime(100_000_000), 30_000, 20_000, 0, 1_000);
        assert_eq!(late.window(), 64_000); // 30 000 less 20 000 is no more than ten segments
        hole.on_rtt(SimDuration::from_millis(100), 0);
        hole.on_round_trip(SimTime(100_000_000), 20_000, 0, 5_000, 1_000);
        assert_eq!(hole.window(), 125_000);
    }

    /// By hand: 100 ms, then 180 draws it up by an eighth of 80, then 60 is the least.
    #[test]
    fn the_least_round_trip_counts_and_longer_ones_draw_it_up() {
        let mut tuning = tuning(64_000, 0);
        let mut after = |rtt, unread| {
            tuning.on_rtt(SimDuration::from_millis(rtt), unread);
            tuning.rtt()
        };
        assert_eq!(after(100, 0), SimDuration::from_millis(100));
        assert_eq!(after(180, 0), SimDuration::from_millis(110));
        assert_eq!(after(180, 1), SimDuration::from_millis(110)); // the reader is late
        assert_eq!(after(60, 1), SimDuration::from_millis(60));
        assert_eq!(after(0, 0), SimDuration::from_millis(60)); // less than the clock shows
        assert!(tuning.is_new_echo(7) && !tuning.is_new_echo(7));
    }

    fn linux() -> ReceiveAutotuning {
        let config = WindowTuning {
            initial: Bytes(65_536),
            max: Bytes(32 << 20),
            opens_to: Bytes(81_920),
            ..WindowTuning::default()
        };
        let mut tuning = ReceiveAutotuning::new(config);
        tuning.begin(SimTime::ZERO, 65_160, 1_448);
        tuning
    }

    /// By hand: of 65,536 octets room for a segment is kept at first; each segment opens 2,896 more, until memory for 81,920 leaves
    /// 1,440 for the segment itself. The tracepoint `tcp_rcvbuf_grow` of Linux 7.3 shows 80,480, too.
    #[test]
    fn the_window_opens_with_segments() {
        let mut tuning = linux();
        assert_eq!(tuning.window(), 64_088);
        let opened = (0..10).filter(|_| tuning.on_full_segment(1_448, 0)).count();
        assert_eq!((opened, tuning.window()), (6, 80_480));
        tuning.on_round_trip(SimTime(1), 30_408, 0, 0, 1_448);
        assert_eq!(tuning.window(), 80_480, "only segments open it");
        assert!(tuning.on_full_segment(1_448, 0));
        assert_eq!(tuning.window(), 83_376);
    }

    /// The same tracepoint on a connection over 10 Mbit/s and 40 ms: what was read in a round trip, what of it still waited, and
    /// what lay above a hole, with the buffer that it had come to by the next.
    #[test]
    fn the_buffer_grows_as_traced() {
        let mut tuning = linux();
        let mut read = 0;
        let sizes: Vec<u64> =
            [(15_928, 0, 0), (30_408, 0, 0), (57_920, 0, 0), (97_016, 0, 0), (202_720, 1_448, 41_992)]
                .into_iter()
                .map(|(copied, unread, above_hole)| {
                    read += copied;
                    tuning.on_round_trip(SimTime(read), read, unread, above_hole, 1_448);
                    tuning.size
                })
                .collect();
        assert_eq!(sizes, [81_920, 171_390, 325_455, 455_975, 1_309_705]);
    }

    /// By hand: open at 6.2 ms, a segment each 1.2 ms from 7.48 ms on, whose round trip is 5 ms: the fifth comes at 12.28 ms, the
    /// fourth at 11.08. The tracepoint `tcp_rcvbuf_grow` of Linux 6.18 counts in the same way.
    #[test]
    fn round_trips_count_from_when_the_connection_opens() {
        let mut tuning = tuning(64_240, 80_931);
        tuning.begin(SimTime(6_200_000), 64_240, 1_448);
        tuning.on_rtt(SimDuration::from_millis(5), 0);
        let first_due = (1..20).find(|segment| tuning.is_due(SimTime(7_480_000 + 1_200_000 * (segment - 1))));
        assert_eq!(first_due, Some(5));
    }

    /// Above a hole each segment lets the window open, as far as what is held leaves room, and the buffer reaches beyond the last.
    #[test]
    fn what_lies_above_a_hole_opens_the_window() {
        let mut tuning = tuning(64_240, 80_931);
        tuning.on_segment_above_hole(1_448, 1_448, 1_448, 1_448);
        assert_eq!(tuning.window(), 67_136); // 64 240 + 2 * 1448
        tuning.on_segment_above_hole(1_448, 100_000, 14_480, 1_448);
        // Of 80 931 octets nine segments before it take 9 * 1440 = 12 960; 2 * 14 480 + 100 000 are wanted.
        assert_eq!((tuning.window(), tuning.size), (67_971, 128_960));
    }

    /// By hand: with 0.25 ms twice what was read and a quarter of that, with 1 ms as in slow start; 100 kB after ten segments.
    #[test]
    fn below_a_millisecond_the_buffer_grows_with_the_round_trip() {
        for (rtt_us, growth, size) in [
            (250, BufferGrowth::Linux6_19, 250_000),
            (250, BufferGrowth::Linux6_16, 200_000 + 400_000 * (100_000 - 14_480) / 14_480),
            (1_000, BufferGrowth::Linux6_19, 200_000 + 400_000 * (100_000 - 14_480) / 14_480),
        ] {
            let max = Bytes(10_000_000);
            let config = WindowTuning { initial: Bytes(64_240), max, growth, ..WindowTuning::default() };
            let mut tuning = ReceiveAutotuning::new(config);
            tuning.on_rtt(SimDuration::from_micros(rtt_us), 0);
            tuning.on_round_trip(SimTime(10_000_000), 100_000, 0, 0, 1_448);
            assert_eq!(tuning.size, size, "{rtt_us} us, {growth:?}");
        }
    }

    /// Linux 6.18 with `tcp_rmem` ending at 400,000: 19.88 Mbit/s over 100.3 ms, 249 kB. 160/256 of it are 250,000.
    #[test]
    fn what_opens_ends_at_memory() {
        let config = WindowTuning {
            initial: Bytes(65_535),
            max: Bytes(400_000),
            opens_to: Bytes(80_931),
            ..WindowTuning::default()
        };
        let mut tuning = ReceiveAutotuning::new(config);
        tuning.on_rtt(SimDuration::from_millis(100), 0);
        tuning.on_round_trip(SimTime(100_000_000), 300_000, 0, 0, 1_448);
        assert_eq!((tuning.size, tuning.largest()), (250_000, 400_000));
    }
}
