use super::*;
use crate::testing;

const MSS: u64 = 1_000;

fn bbr() -> LinuxBbr {
    let start = Start::of(MSS, 10 * MSS, None);
    LinuxBbr::new(&BbrConfig::linux(), start)
}

/// A path with rounds of 100 ms: an ACK for ten segments, and a sample of `mbit_s`.
struct Path {
    now: SimTime,
    delivered: u64,
    inflight: u64,
}

impl Path {
    fn new() -> Self {
        Self { now: SimTime::ZERO, delivered: 0, inflight: 10 * MSS }
    }

    fn round(&mut self, bbr: &mut LinuxBbr, mbit_s: u64) {
        self.ack(bbr, mbit_s, Repair::None, 0);
    }

    fn ack(&mut self, bbr: &mut LinuxBbr, mbit_s: u64, repair: Repair, lost: u64) {
        let interval = SimDuration::from_millis(100);
        self.now += interval;
        let prior_delivered = Bytes(self.delivered);
        self.delivered += 10 * MSS;
        let delivered = Bandwidth(mbit_s * 1_000_000).bytes_in(interval);
        let sample = Some(RateSample { delivered, interval, prior_delivered, ..RateSample::default() });
        let (delivered, inflight) = (Bytes(self.delivered), Bytes(self.inflight));
        let delivery = DeliveryReport { delivered, inflight, repair, sample, ..DeliveryReport::default() };
        let ack = AckEvent { now: self.now, newly_lost: Bytes(lost), ..testing::ack(10 * MSS) };
        bbr.on_ack(&AckEvent { delivery: Some(delivery), ..ack });
    }

    /// Leads BBR to `ProbeBW` at 8 Mbit/s: 100 segments in a round trip.
    fn fill(&mut self, bbr: &mut LinuxBbr) {
        self.inflight = 300 * MSS;
        for _ in 0..4 {
            self.round(bbr, 8);
        }
        assert_eq!(bbr.mode, Mode::Drain);
        self.inflight = 100 * MSS;
        self.round(bbr, 8);
        assert_eq!(bbr.mode, Mode::ProbeBw);
    }
}

#[test]
fn startup_paces_at_739_256ths_of_the_rate_less_a_hundredth() {
    let mut bbr = bbr();
    Path::new().round(&mut bbr, 8);
    // 100 segments in 100 000 us * 2^24 = 16 777, less a fraction; * 1000 octets * 739 / 256 * 990 000 / 2^24
    assert_eq!(bbr.pacing_rate(), Some(Bandwidth(8 * 2_857_814)));
}

#[test]
fn while_no_rate_is_known_the_initial_window_in_a_round_trip_is() {
    // 10 segments in 100 000 us * 2^24 = 1 677, less a fraction; * 1000 octets * 739 / 256 * 990 000 / 2^24
    let mut bbr = bbr();
    bbr.note_first_rtt(SimDuration::from_millis(100));
    assert_eq!(bbr.pacing_rate, 285_662);
}

#[test]
fn the_window_is_two_path_fulls_and_three_bursts_and_even_with_two_more_in_the_phase_that_probes() {
    let (mut bbr, mut path) = (bbr(), Path::new());
    path.fill(&mut bbr);
    // The path holds 100 segments (and the rounding up of the rate another); a burst is two segments at this rate.
    bbr.phase = 3;
    assert_eq!(bbr.with_budget(200), 206);
    assert_eq!(bbr.with_budget(201), 208); // 207, made even
    bbr.phase = 0;
    assert_eq!(bbr.with_budget(200), 208);
}

#[test]
fn a_burst_is_a_1024th_of_a_second_of_the_rate_and_one_segment_below_1_2_mbit_s() {
    let mut bbr = bbr();
    for (octets_per_second, segments) in [(149_999, 1), (150_000, 2), (10_000_000, 9), (1_000_000_000, 65)] {
        bbr.pacing_rate = octets_per_second;
        assert_eq!(bbr.burst(), segments); // 10 MB/s / 1024 = 9 765 octets; at most 65 215 of them
    }
}

#[test]
fn the_first_round_of_a_recovery_conserves_packets_and_its_end_restores_the_window() {
    let (mut bbr, mut path) = (bbr(), Path::new());
    path.fill(&mut bbr);
    let before = bbr.cwnd;
    bbr.on_congestion(&testing::loss(100 * MSS));
    path.inflight = 50 * MSS;
    path.ack(&mut bbr, 8, Repair::Fast, MSS);
    assert_eq!(bbr.cwnd, 60); // 50 in flight and ten acknowledged
    path.ack(&mut bbr, 8, Repair::None, 0);
    assert!(bbr.cwnd >= before, "{} of {before}", bbr.cwnd);
}

#[test]
fn what_pacing_holds_back_will_not_be_in_the_network() {
    let (mut bbr, mut path) = (bbr(), Path::new());
    path.fill(&mut bbr);
    bbr.pacing_gain = GAIN_UNIT;
    let now = SimTime(1_000_000_000);
    let next_departure = SimTime(1_010_000_000);
    let delivery = DeliveryReport { next_departure, ..DeliveryReport::default() };
    // A segment leaves the network each millisecond; the next comes in 10 ms. The rate is rounded down.
    assert!((90..=91).contains(&bbr.in_network_at_departure(100, now, &delivery)));
    bbr.pacing_gain = 320; // and it is a burst of two
    assert!((92..=93).contains(&bbr.in_network_at_departure(100, now, &delivery)));
}

#[test]
fn a_timeout_and_an_undo_look_for_the_full_pipe_anew_before_it_was_found() {
    let (mut bbr, mut path) = (bbr(), Path::new());
    path.round(&mut bbr, 8);
    assert!(bbr.full_bandwidth > 0);
    bbr.on_spurious(path.now);
    assert_eq!((bbr.full_bandwidth, bbr.full_rounds), (0, 0));
}

/// Measured on Linux 6.18: a recovery that began in Startup, with infinite ssthresh, is undone in Drain; ssthresh is
/// infinite again.
#[test]
fn an_undo_restores_the_ssthresh_of_when_the_episode_began() {
    let (mut bbr, mut path) = (bbr(), Path::new());
    bbr.on_congestion(&testing::loss(10 * MSS));
    path.fill(&mut bbr);
    let drained = bbr.ssthresh().expect("Drain has set it");
    bbr.on_spurious(path.now);
    assert_eq!(bbr.ssthresh(), None);
    bbr.ssthresh = Some(drained.0 / MSS);
    bbr.cwnd = 200;
    bbr.on_congestion(&testing::loss(100 * MSS));
    bbr.on_spurious(path.now);
    assert_eq!(bbr.ssthresh(), Some(Bytes(150 * MSS))); // three quarters of the window, which is more than the path holds
}

#[test]
fn a_phase_does_not_end_with_an_ack_that_delivers_nothing() {
    // `bbr_is_next_cycle_phase` counts up to `delivered_mstamp`. min_rtt is 100 ms, and the phase cruises.
    let (mut bbr, mut path) = (bbr(), Path::new());
    path.fill(&mut bbr);
    (bbr.min_rtt, bbr.phase, bbr.pacing_gain) = (Some(100_000), 3, GAIN_UNIT);
    let nothing = |at: SimTime| {
        let delivery = DeliveryReport { delivered: Bytes(50 * 10 * MSS), ..DeliveryReport::default() };
        AckEvent { now: at, delivery: Some(delivery), ..testing::ack(0) }
    };
    bbr.on_ack(&nothing(path.now + SimDuration::from_millis(150)));
    assert_eq!(bbr.phase, 3);
    path.now += SimDuration::from_millis(51);
    path.round(&mut bbr, 8); // 151 ms after the phase began
    assert_eq!(bbr.phase, 4);
}

/// `bbr_init` takes the handshake's round trip for the least one, and its time; `bbr_update_min_rtt` counts ten seconds from there.
#[test]
fn the_first_least_round_trip_is_as_old_as_the_connection() {
    let (mut bbr, mut path) = (bbr(), Path::new());
    path.now = SimTime(5_000_000_000);
    bbr.on_send(&SendEvent { now: path.now, ..testing::sent(MSS) });
    (0..100).for_each(|_| path.round(&mut bbr, 8));
    assert_ne!(bbr.mode, Mode::ProbeRtt); // at 15 s
    path.round(&mut bbr, 8);
    assert_eq!(bbr.mode, Mode::ProbeRtt);
}

/// `delivered_mstamp` and `ack_epoch_mstamp` are `tcp_mstamp`, whole microseconds.
#[test]
fn epochs_begin_at_whole_microseconds() {
    let (mut bbr, mut path) = (bbr(), Path::new());
    path.now = SimTime(999);
    path.round(&mut bbr, 8);
    assert_eq!((path.now, bbr.delivered_at), (SimTime(100_000_999), SimTime(100_000_000)));
}

/// A comparison with a kernel, which draws one, tries the seeds below 16 (`studies/differential/compare.py`).
#[test]
fn sixteen_seeds_begin_in_each_of_seven_phases() {
    let drawn: std::collections::BTreeSet<_> = (0..16)
        .map(|seed| {
            let mut bbr = LinuxBbr::new(&BbrConfig { seed, ..BbrConfig::linux() }, Start::of(MSS, 10 * MSS, None));
            Path::new().fill(&mut bbr);
            bbr.phase
        })
        .collect();
    assert_eq!(drawn.len(), CYCLE.len() - 1);
}
