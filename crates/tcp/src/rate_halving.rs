//! Rate halving: the window goes down by a segment with every second ACK of a recovery, so that half as much leaves as arrives.
//!
//! Sources: Hoe, "Improving the Start-up Behavior of a Congestion Control Scheme for TCP" (SIGCOMM 1996), where every second
//! duplicate ACK lets a segment out; Mathis, Semke, Mahdavi, the rate-halving algorithm (Internet draft, 1999). Floor, bound and
//! end are those of Linux 2.4 (`net/ipv4/tcp_input.c`): half of ssthresh; a segment more than is in flight; and at the end the window
//! stays where it is, no more than three segments above what is in flight, from where slow start leads up to ssthresh.
//!
//! Departures: none known. Sections of the papers are from memory.

/// The window of one recovery, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateHalving {
    cwnd: u64,
    least: u64,
    /// An ACK has come for which nothing was taken yet.
    is_odd: bool,
}

impl RateHalving {
    pub(crate) fn new(cwnd: u64, ssthresh: u64) -> Self {
        Self { cwnd, least: ssthresh / 2, is_odd: false }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// The window to go on with once all is repaired, with `pipe` in flight.
    pub(crate) fn end(&self, pipe: u64, mss: u64) -> u64 {
        self.cwnd.min(pipe + 3 * mss)
    }

    /// An ACK arrived, after which `pipe` is in flight.
    pub(crate) fn on_ack(&mut self, pipe: u64, mss: u64) {
        if self.is_odd && self.cwnd > self.least {
            self.cwnd = self.cwnd.saturating_sub(mss).max(mss); // counted in octets, it may have been less than two segments
        }
        self.is_odd = !self.is_odd;
        self.cwnd = self.cwnd.min(pipe + mss);
    }

    /// The controller lowers ssthresh.
    pub(crate) fn reduce_to(&mut self, ssthresh: u64) {
        self.least = self.least.min(ssthresh / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    /// Linux 2.4 counts segments, and its floor, half of an ssthresh of at least two, is one: 2.5, 1.5 and no less than 1.
    #[test]
    fn a_window_counted_in_octets_keeps_a_segment() {
        let mut halving = RateHalving::new(2_500, 2_000);
        let windows = [(); 6].map(|()| {
            halving.on_ack(10_000, MSS);
            halving.cwnd()
        });
        assert_eq!(windows, [2_500, 1_500, 1_500, 1_000, 1_000, 1_000]);
    }

    /// By hand: 20 segments in flight, the first lost, and an ACK for each of the 19 others: a segment leaves for every second.
    #[test]
    fn half_as_much_leaves_as_arrives() {
        let mut halving = RateHalving::new(20 * MSS, 10 * MSS);
        let (mut pipe, mut sent) = (19 * MSS, 0);
        for _ in 0..19 {
            pipe -= MSS;
            halving.on_ack(pipe, MSS);
            while pipe + MSS <= halving.cwnd() {
                pipe += MSS;
                sent += 1;
            }
        }
        // pipe 18, 17, ...: cwnd is 19, then 18 at the second ACK (17 in flight: 18 allows one), and so on.
        assert_eq!(sent, 10);
        assert_eq!(pipe, 10 * MSS);
    }

    #[test]
    fn half_of_ssthresh_is_the_floor_and_what_is_in_flight_the_bound() {
        let mut halving = RateHalving::new(20 * MSS, 10 * MSS);
        for _ in 0..100 {
            halving.on_ack(30 * MSS, MSS);
        }
        assert_eq!(halving.cwnd(), 5 * MSS);
        halving.on_ack(2 * MSS, MSS);
        assert_eq!(halving.cwnd(), 3 * MSS);
        assert_eq!(halving.end(2 * MSS, MSS), 3 * MSS);
        assert_eq!(halving.end(0, MSS), 3 * MSS, "a burst of three at most");
    }
}
