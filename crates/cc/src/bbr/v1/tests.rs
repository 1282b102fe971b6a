use super::*;
use crate::delivery::RateSample;
use crate::testing;

const MSS: u64 = 1_000;

fn bbr() -> Bbr {
    let start = Start::of(MSS, 10 * MSS, None);
    Bbr::new(&BbrConfig::default(), start)
}

/// A path whose ACKs end a round each: 100 ms apart, at `mbit_s`, with `inflight` left.
struct Path {
    now: SimTime,
    delivered: u64,
    rtt: SimDuration,
    inflight: u64,
}

impl Path {
    fn new() -> Self {
        Self { now: SimTime::ZERO, delivered: 0, rtt: SimDuration::from_millis(100), inflight: 10 * MSS }
    }

    fn round(&mut self, bbr: &mut Bbr, mbit_s: u64) {
        self.ack(bbr, mbit_s, self.rtt, Repair::None, 0);
    }

    fn ack(&mut self, bbr: &mut Bbr, mbit_s: u64, after: SimDuration, repair: Repair, newly_lost: u64) {
        self.now += after;
        let prior_delivered = Bytes(self.delivered);
        self.delivered += MSS;
        let interval = self.rtt;
        let delivered = Bandwidth(mbit_s * 1_000_000).bytes_in(interval);
        let sample = Some(RateSample { delivered, interval, prior_delivered, ..RateSample::default() });
        let (delivered, inflight) = (Bytes(self.delivered), Bytes(self.inflight));
        let delivery = DeliveryReport { delivered, inflight, repair, sample, ..DeliveryReport::default() };
        let (now, rtt_sample) = (self.now, Some(self.rtt));
        let newly_lost = Bytes(newly_lost);
        bbr.on_ack(&AckEvent { now, rtt_sample, newly_lost, delivery: Some(delivery), ..testing::ack(MSS) });
    }

    /// Leads BBR to the end of Startup at 8 Mbit/s: 100 kB in a round trip.
    fn fill(&mut self, bbr: &mut Bbr) {
        self.inflight = 300 * MSS;
        for _ in 0..4 {
            self.round(bbr, 8);
        }
        assert_eq!(bbr.state, State::Drain);
    }
}

#[test]
fn startup_paces_at_two_over_ln_2_times_the_rate() {
    let mut bbr = bbr();
    Path::new().round(&mut bbr, 8);
    // 2 / ln 2 = 2.885 39
    assert_eq!(bbr.pacing_rate(), Some(Bandwidth(23_083_120)));
}

#[test]
fn before_a_rate_is_known_the_initial_window_in_a_round_trip_is() {
    let mut bbr = bbr();
    // the first sample says 0.1 Mbit/s; 2.885 39 * 80 000 bit / 0.1 s = 2.308 312 Mbit/s is more
    let (now, interval) = (SimTime::ZERO, SimDuration::from_millis(100));
    let sample = Some(RateSample { delivered: Bytes(1_250), interval, ..RateSample::default() });
    let delivery = DeliveryReport { sample, delivered: Bytes(1_250), ..DeliveryReport::default() };
    bbr.on_ack(&AckEvent { now, delivery: Some(delivery), ..testing::ack(MSS) });
    assert_eq!(bbr.pacing_rate(), Some(Bandwidth(2_308_312)));
}

#[test]
fn three_rounds_without_a_quarter_more_fill_the_pipe_and_drain_paces_at_the_inverse() {
    let mut bbr = bbr();
    let mut path = Path::new();
    path.inflight = 1_000 * MSS;
    for (mbit_s, state) in [
        (8, State::Startup),
        (10, State::Startup), // 1.25 times: still growing
        (12, State::Startup),
        (12, State::Startup),
        (12, State::Drain),
    ] {
        path.round(&mut bbr, mbit_s);
        assert_eq!(bbr.state, state, "at {mbit_s} Mbit/s");
    }
    assert_eq!(bbr.pacing_rate(), Some(Bandwidth(4_158_883))); // 12 Mbit/s * ln 2 / 2
}

#[test]
fn drain_ends_at_a_path_full_and_the_window_is_two() {
    let mut bbr = bbr();
    let mut path = Path::new();
    path.fill(&mut bbr);
    // BDP 8 Mbit/s * 0.1 s = 100 kB; three quanta of two segments at Drain's rate of 2.8 Mbit/s
    path.inflight = 106 * MSS + 1;
    path.round(&mut bbr, 8);
    assert_eq!(bbr.state, State::Drain);
    path.inflight = 106 * MSS;
    path.round(&mut bbr, 8);
    assert_eq!(bbr.state, State::ProbeBw);
    for _ in 0..300 {
        path.ack(&mut bbr, 8, SimDuration::ZERO, Repair::None, 0);
    }
    assert_eq!(bbr.cwnd(), Bytes(206 * MSS)); // 2 * 100 kB + 6 kB
}

#[test]
fn the_round_trip_is_measured_anew_after_ten_seconds_at_four_segments() {
    let mut bbr = bbr();
    let mut path = Path::new();
    path.fill(&mut bbr);
    path.inflight = 100 * MSS;
    path.round(&mut bbr, 8);
    path.rtt = SimDuration::from_millis(101);
    let (before, began) = (bbr.cwnd(), path.now);
    while bbr.state != State::ProbeRtt {
        path.round(&mut bbr, 8);
    }
    // The last sample of 100 ms came at `began`.
    assert_eq!(path.now.saturating_since(began), SimDuration::from_millis(100 * 101)); // the first after 10 s
    assert_eq!(bbr.cwnd(), Bytes(4 * MSS));
    assert!(bbr.limits_itself());
    path.inflight = 4 * MSS;
    path.round(&mut bbr, 8);
    let until = path.now + SimDuration::from_millis(200);
    while bbr.state == State::ProbeRtt {
        path.round(&mut bbr, 8);
    }
    assert_eq!(path.now.saturating_since(until), SimDuration::from_millis(2)); // two rounds of 101 ms
    assert!(bbr.cwnd() >= before);
}

#[test]
fn a_recovery_conserves_for_a_round_and_gives_the_window_back() {
    let mut bbr = bbr();
    let mut path = Path::new();
    path.fill(&mut bbr);
    path.inflight = 100 * MSS;
    path.round(&mut bbr, 8);
    let before = bbr.cwnd();
    path.inflight = 60 * MSS;
    path.ack(&mut bbr, 8, path.rtt, Repair::Fast, 2 * MSS);
    assert_eq!(bbr.cwnd(), Bytes(61 * MSS)); // what is in flight, and what arrived
    path.inflight = 100 * MSS;
    path.ack(&mut bbr, 8, path.rtt, Repair::None, 0);
    assert!(bbr.cwnd() >= before);
}

#[test]
fn a_timeout_leaves_one_segment() {
    let mut bbr = bbr();
    bbr.on_congestion(&CongestionEvent { inflight: Bytes(0), ..testing::timeout(10 * MSS, false) });
    assert_eq!(bbr.cwnd(), Bytes(MSS));
}
