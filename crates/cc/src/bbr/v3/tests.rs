use super::congestion::inflight_at_loss;
use super::*;
use crate::testing;

const MSS: u64 = 1_000;

fn bbr() -> Bbr3 {
    let start = Start::of(MSS, 10 * MSS, None);
    Bbr3::new(&Bbr3Config::default(), start)
}

fn lost(tx_in_flight: u64, lost: u64) -> SegmentReport {
    SegmentReport {
        now: SimTime::ZERO,
        sent_at: SimTime::ZERO,
        start: 1,
        size: Bytes(MSS),
        delivered: Bytes(50 * MSS),
        prior_delivered: Bytes(0),
        tx_in_flight: Bytes(tx_in_flight),
        lost: Bytes(lost),
        is_app_limited: false,
        is_retransmission: false,
    }
}

/// A path with rounds of 100 ms, each with one ACK.
struct Path {
    now: SimTime,
    delivered: u64,
    inflight: u64,
    mbit_s: u64,
}

impl Path {
    fn new() -> Self {
        Self { now: SimTime::ZERO, delivered: 0, inflight: 10 * MSS, mbit_s: 8 }
    }

    fn round(&mut self, bbr: &mut Bbr3) {
        self.lossy_round(bbr, 0, 0, Repair::None);
    }

    fn lossy_round(&mut self, bbr: &mut Bbr3, tx_in_flight: u64, lost: u64, repair: Repair) {
        let interval = SimDuration::from_millis(100);
        self.now += interval;
        let prior_delivered = Bytes(self.delivered);
        self.delivered += MSS;
        let sample = RateSample {
            delivered: Bandwidth(self.mbit_s * 1_000_000).bytes_in(interval),
            interval,
            prior_delivered,
            is_app_limited: false,
            tx_in_flight: Bytes(tx_in_flight),
            lost: Bytes(lost),
        };
        let delivery = DeliveryReport {
            delivered: Bytes(self.delivered),
            inflight: Bytes(self.inflight),
            repair,
            has_sack: true,
            sample: Some(sample),
            ..DeliveryReport::default()
        };
        bbr.on_ack(&AckEvent { now: self.now, delivery: Some(delivery), ..testing::ack(MSS) });
    }

    /// Leads BBR through Startup and Drain at 8 Mbit/s: 100 kB in a round trip.
    fn settle(&mut self, bbr: &mut Bbr3) {
        self.inflight = 300 * MSS;
        for _ in 0..4 {
            self.round(bbr);
        }
        assert_eq!(bbr.state, State::Drain);
        self.inflight = 90 * MSS;
        self.round(bbr);
        assert_eq!(bbr.state, State::Cruise); // through Down at once: nothing is left to drain
    }
}

#[test]
fn startup_paces_at_four_ln_2_less_a_hundredth() {
    let mut bbr = bbr();
    Path::new().round(&mut bbr);
    // 8 Mbit/s * 0.99 * 4 ln 2 = 7.92e6 * 2.772 588 722
    assert_eq!(bbr.pacing_rate(), Some(Bandwidth(21_958_902)));
}

#[test]
fn the_losses_of_a_segment_tell_what_would_have_been_safe() {
    // 99 segments before it, of which 2 were lost: (0.02 * 99 000 - 2 000) / 0.98 = -20.4, from 99 000
    assert_eq!(inflight_at_loss(&lost(100 * MSS, 3 * MSS), 0.02), 98_979);
}

#[test]
fn a_probe_that_loses_more_than_a_fiftieth_sets_the_long_term_limit() {
    let mut bbr = bbr();
    Path::new().settle(&mut bbr);
    bbr.cwnd = 100 * MSS;
    bbr.state = State::Up;
    bbr.probe_bw.takes_samples = true;
    bbr.on_lost(&lost(100 * MSS, 2 * MSS)); // 2 % is not more than 2 %
    assert_eq!((bbr.state, bbr.inflight_longterm), (State::Up, UNBOUNDED));
    bbr.on_lost(&lost(100 * MSS, 3 * MSS));
    assert_eq!((bbr.state, bbr.inflight_longterm), (State::Down, 98_979));
    bbr.on_lost(&lost(100 * MSS, 9 * MSS)); // one answer for each probe
    assert_eq!(bbr.inflight_longterm, 98_979);
}

#[test]
fn the_long_term_limit_keeps_seven_tenths_of_what_is_wanted_in_flight() {
    let mut bbr = bbr();
    Path::new().settle(&mut bbr);
    bbr.cwnd = 200 * MSS;
    bbr.probe_bw.takes_samples = true;
    bbr.on_lost(&lost(20 * MSS, 10 * MSS));
    assert_eq!(bbr.inflight_longterm, 70 * MSS); // 0.7 of the BDP of 100 kB, which is less than cwnd
}

#[test]
fn a_round_with_losses_lowers_the_short_term_bounds_by_three_tenths_at_most() {
    let mut bbr = bbr();
    let mut path = Path::new();
    path.settle(&mut bbr);
    bbr.cwnd = 200 * MSS;
    path.mbit_s = 4;
    path.round(&mut bbr); // the greatest delivery of the last round is forgotten
    path.round(&mut bbr);
    bbr.cwnd = 200 * MSS;
    bbr.on_lost(&SegmentReport { delivered: Bytes(path.delivered), ..lost(100 * MSS, MSS) });
    path.round(&mut bbr);
    // latest: 4 Mbit/s and 50 kB; 0.7 of 8 Mbit/s and of 200 kB are more
    assert_eq!((bbr.bandwidth_shortterm, bbr.inflight_shortterm), (5_600_000, 140 * MSS));
    assert_eq!(bbr.pacing_rate(), Some(Bandwidth(5_544_000))); // paced a hundredth below
}

#[test]
fn cruising_leaves_fifteen_hundredths_of_the_limit_free() {
    let mut bbr = bbr();
    bbr.inflight_longterm = 100 * MSS;
    assert_eq!(bbr.inflight_with_headroom(), 85 * MSS);
    bbr.inflight_longterm = 5 * MSS;
    assert_eq!(bbr.inflight_with_headroom(), 4 * MSS); // MinPipeCwnd
}

#[test]
fn a_limit_grows_by_one_two_four_segments_in_successive_rounds() {
    let mut bbr = bbr();
    bbr.cwnd = 80 * MSS;
    // the volume to be acknowledged for each segment more
    for per_segment in [80 * MSS, 40 * MSS, 20 * MSS, 10 * MSS] {
        bbr.raise_slope();
        assert_eq!(bbr.probe_bw.acked_per_increment, per_segment);
    }
}

#[test]
fn probing_waits_two_to_three_seconds() {
    let mut bbr = bbr();
    let mut path = Path::new();
    path.settle(&mut bbr);
    path.inflight = 100 * MSS;
    bbr.probe_bw.rounds_since_up = 0;
    let mut rounds = 0;
    while bbr.state != State::Refill {
        path.round(&mut bbr);
        rounds += 1;
        assert!(rounds < 40, "no probe after {rounds} rounds of 100 ms");
    }
    assert!((20..=31).contains(&rounds), "{rounds} rounds of 100 ms");
    path.round(&mut bbr);
    assert_eq!(bbr.state, State::Up); // one round to refill
}

#[test]
fn the_round_trip_is_measured_anew_at_half_a_path_full() {
    let mut bbr = bbr();
    let mut path = Path::new();
    path.settle(&mut bbr);
    while bbr.state != State::ProbeRtt {
        path.round(&mut bbr);
        assert!(path.now < SimTime(12_000_000_000), "not after 12 s");
    }
    assert_eq!(path.now, SimTime(5_200_000_000)); // the first ACK later than 5 s after the sample at 0.1 s
    assert_eq!(bbr.cwnd(), Bytes(50 * MSS)); // half of 100 kB
}

#[test]
fn the_least_round_trip_counts_for_ten_seconds_over_a_pause_that_does_not_find_it() {
    let mut bbr = bbr();
    let mut sample = |ms: u64, rtt_ms: u64| {
        let rtt_sample = Some(SimDuration::from_millis(rtt_ms));
        let ack = AckEvent { now: SimTime(ms * 1_000_000), rtt_sample, ..testing::ack(0) };
        let expired = bbr.update_min_rtt(&ack);
        (expired, bbr.probe_rtt.min_rtt)
    };
    let known = Some(SimDuration::from_millis(40));
    assert_eq!(sample(100, 40), (false, known));
    assert_eq!(sample(5_100, 60), (false, known));
    assert_eq!(sample(5_101, 60), (true, known)); // a pause is due; 40 ms says how much that leaves in flight
    assert_eq!(sample(10_100, 70), (false, known));
    assert_eq!(sample(10_101, 70), (false, Some(SimDuration::from_millis(60)))); // of 5.101 s
    assert_eq!(sample(10_102, 70), (true, Some(SimDuration::from_millis(60))));
}

#[test]
fn a_spurious_loss_gives_the_bounds_back() {
    let mut bbr = bbr();
    Path::new().settle(&mut bbr);
    bbr.state = State::Up;
    bbr.probe_bw.takes_samples = true;
    bbr.on_lost(&lost(100 * MSS, 5 * MSS));
    assert_eq!(bbr.state, State::Down);
    bbr.on_spurious(SimTime::ZERO);
    assert_eq!((bbr.state, bbr.inflight_longterm), (State::Refill, UNBOUNDED));
}

/// "When a loss recovery episode starts, BBR saves information about its current state": later losses and the ACK that
/// begins the recovery save nothing.
#[test]
fn a_spurious_recovery_gives_back_what_was_before_its_first_loss() {
    let mut bbr = bbr();
    let mut path = Path::new();
    path.settle(&mut bbr);
    bbr.state = State::Up;
    bbr.probe_bw.takes_samples = true;
    for _ in 0..2 {
        bbr.on_lost(&lost(100 * MSS, 5 * MSS));
    }
    path.lossy_round(&mut bbr, 100 * MSS, 10 * MSS, Repair::Fast);
    assert_eq!(bbr.state, State::Down);
    assert_ne!(bbr.inflight_longterm, UNBOUNDED);
    bbr.on_spurious(SimTime::ZERO);
    assert_eq!((bbr.state, bbr.inflight_longterm), (State::Refill, UNBOUNDED));
}
