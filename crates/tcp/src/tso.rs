//! Bursts of hosts with segmentation offload: how much of an open window is worth sending, and when to wait for more.
//!
//! Source: Linux's TSO autosizing and deferral, by their behaviour.
//!
//! Departures: none known. A burst aims at what pacing would send in a millisecond, unless the controller asks for other bursts
//! ([`BurstRule`]), is half of cwnd at most, and ends with the buffer that it is taken from (`send_buffers.rs`). A sender that has sent
//! within the last millisecond, pacing included, waits for a burst's worth of window, or for a part of it (`window_divisor`), if the
//! next ACK is near: a millisecond away, or half a round trip if that is less (Linux since 6.18).

use ackclock_cc::BurstRule;
use ackclock_units::{Bandwidth, SimDuration, SimTime};

use crate::config::BurstConfig;
use crate::scoreboard::Sent;
use crate::send_buffers::Head;

/// A sender whose last burst is older does not wait.
const RECENT: SimDuration = SimDuration::from_millis(1);

/// Groups segments into bursts, like TCP segmentation offload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TsoBursts {
    config: BurstConfig,
    last_sent: SimTime,
    /// Remaining octets of the current burst, as far as its length is known.
    room: u64,
    /// Nothing of it has left.
    begins: bool,
    repair: Repair,
}

/// A burst of retransmissions: what left in one burst, and is lost by now, leaves in one again.
#[derive(Clone, Copy, Debug, Default)]
struct Repair {
    /// Time of the burst of retransmissions, and offset at which it continues.
    at: SimTime,
    next: u64,
    room: u64,
}

/// Position of a segment in its burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The first, and maybe all of it.
    Begins,
    Amid,
    /// The last of several: it is pushed, so that the receiver's host passes on what it has gathered.
    Ends,
}

/// Inputs of the decision whether to begin a burst, in octets and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// Open in every window.
    pub(crate) allowed: u64,
    /// Size that a burst is to have.
    pub(crate) aim: u64,
    /// cwnd, or the peer's window if that is smaller.
    pub(crate) window: u64,
    /// The buffer that the burst is taken from.
    pub(crate) head: Head,
    /// Nothing will be sent behind it.
    pub(crate) is_end: bool,
    pub(crate) mss: u64,
    /// Departure time of the oldest outstanding segment.
    pub(crate) first_sent: Option<SimTime>,
    pub(crate) srtt: SimDuration,
    pub(crate) min_rtt: SimDuration,
    /// Pacing rate, or the rate that pacing would have.
    pub(crate) rate: Option<Bandwidth>,
    /// Until when pacing spreads the last burst; the beginning of time without pacing.
    pub(crate) paced_until: SimTime,
    /// The controller's rule for bursts.
    pub(crate) rule: BurstRule,
}

impl TsoBursts {
    pub(crate) fn new(config: BurstConfig) -> Self {
        Self { config, last_sent: SimTime::ZERO, room: 0, begins: false, repair: Repair::default() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.config.enabled
    }

    /// True if another burst begins now, the last being complete; otherwise it waits for the window to open further, if it may:
    /// within a recovery none does.
    pub(crate) fn begin(&mut self, now: SimTime, opening: &Opening, most: u64, may_wait: bool) -> bool {
        if may_wait && self.waits(now, opening) {
            return false;
        }
        self.room = most.min(opening.allowed.max(opening.mss)).min(opening.head.octets);
        self.begins = true;
        true
    }

    /// Limits the burst that begins to `octets`
    pub(crate) fn bound(&mut self, octets: u64) {
        self.room = self.room.min(octets);
    }

    /// True if the burst of retransmissions under way goes on with this segment.
    pub(crate) fn repairs(&self, now: SimTime, lost: &Sent) -> bool {
        self.repair.room > 0 && self.repair.at == now && lost.start() == self.repair.next && !lost.begins_burst
    }

    /// Begins another burst of retransmissions.
    pub(crate) fn begin_repair(&mut self, opening: &Opening) {
        self.repair.room = self.size(opening).min(opening.allowed);
    }

    /// Octets of the burst of retransmissions that begins.
    pub(crate) fn repair_room(&self) -> u64 {
        self.repair.room
    }

    /// It goes on with this segment, which is about to be retransmitted.
    pub(crate) fn on_repaired(&mut self, now: SimTime, lost: &Sent) {
        let room = self.repair.room.saturating_sub(lost.range().len());
        self.repair = Repair { at: now, next: lost.end, room };
    }

    /// Size of a burst: what pacing would send in about a millisecond, and more where the RTT is far below one.
    pub(crate) fn size(&self, opening: &Opening) -> u64 {
        let (octets, least) = match opening.rule {
            BurstRule::Host => (self.host_size(opening), self.config.min_segments),
            BurstRule::AtLeast(least) => (self.host_size(opening), least),
            BurstRule::Lasting(span) => (opening.rate.map_or(0, |rate| rate.bytes_in(span).0), 1),
        };
        (octets.min(self.config.max_octets.0) / opening.mss).max(u64::from(least)) * opening.mss
    }

    fn host_size(&self, opening: &Opening) -> u64 {
        let most = self.config.max_octets.0;
        let paced = opening.rate.map_or(most, |rate| rate.0 / 8 / 1024);
        let near = most >> (opening.min_rtt.0 / 1_000 / 512).min(63);
        paced + near
    }

    fn waits(&self, now: SimTime, opening: &Opening) -> bool {
        let is_near = |sent: SimTime| {
            let near = RECENT.min(SimDuration(opening.srtt.0 / 2));
            (sent + opening.srtt).saturating_since(now) <= near
        };
        now < self.last_sent.max(opening.paced_until) + RECENT
            && opening.head.octets > opening.mss
            && opening.allowed < opening.aim
            && (opening.head.is_last || opening.allowed < opening.head.octets)
            && !(opening.is_end && opening.allowed > opening.head.octets)
            && self.is_little(opening)
            && opening.first_sent.is_some_and(is_near)
    }

    /// True if so small a part of the window is open that waiting for more pays.
    fn is_little(&self, opening: &Opening) -> bool {
        match self.config.window_divisor {
            0 => opening.allowed <= 3 * opening.mss,
            divisor => opening.allowed < opening.window / u64::from(divisor),
        }
    }

    /// Notes that `octets` have left.
    pub(crate) fn on_sent(&mut self, now: SimTime, octets: u64) -> Place {
        self.last_sent = now;
        self.begins |= self.room == 0; // a probe begins none
        self.room = self.room.saturating_sub(octets); // the last segment may go beyond
        match (std::mem::take(&mut self.begins), self.room) {
            (true, _) => Place::Begins,
            (false, 0) => Place::Ends,
            (false, _) => Place::Amid,
        }
    }

    /// A burst has begun and is not yet complete: pacing goes from burst to burst.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.room > 0
    }

    /// Remaining octets of the current burst.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    /// Nothing more can be sent for now: the burst ends here.
    pub(crate) fn end(&mut self) {
        self.room = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Counting;
    use crate::ranges::Range;
    use crate::scoreboard::Scoreboard;

    const MS: u64 = 1_000_000;

    fn bursts() -> TsoBursts {
        TsoBursts::new(BurstConfig { enabled: true, ..BurstConfig::default() })
    }

    /// 100 Mbit/s paced, 60 ms.
    fn opening(allowed: u64) -> Opening {
        Opening {
            allowed,
            window: 500_000,
            aim: 0,
            head: Head { octets: 1_000_000, is_last: true },
            is_end: false,
            mss: 1_000,
            first_sent: Some(SimTime(40 * MS)),
            srtt: SimDuration(60 * MS),
            min_rtt: SimDuration(60 * MS),
            rate: Some(Bandwidth(100_000_000)),
            paced_until: SimTime::ZERO,
            rule: BurstRule::Host,
        }
    }

    fn begins(bursts: &mut TsoBursts, now: SimTime, opening: &Opening, may_wait: bool) -> bool {
        let opening = Opening { aim: bursts.size(opening), ..*opening };
        bursts.begin(now, &opening, opening.aim, may_wait)
    }

    #[test]
    fn a_burst_is_a_millisecond_of_the_rate() {
        assert_eq!(bursts().size(&opening(0)), 12_000); // 12.5 MB/s / 1024 = 12 207 octets: 12 segments
        assert_eq!(bursts().size(&Opening { rate: Some(Bandwidth(1_000)), ..opening(0) }), 2_000);
        // At 0.1 ms of RTT the rate does not matter: the largest burst, 65 segments.
        assert_eq!(bursts().size(&Opening { min_rtt: SimDuration(100_000), ..opening(0) }), 65_000);
    }

    #[test]
    fn a_controller_may_ask_for_other_bursts() {
        let size = |rule, rate| bursts().size(&Opening { rule, rate: Some(Bandwidth(rate)), ..opening(0) });
        // Linux's BBR below 1.2 Mbit/s: 1 Mbit/s is 122 octets in a 1024th of a second.
        assert_eq!(size(BurstRule::AtLeast(1), 1_000_000), 1_000);
        assert_eq!(size(BurstRule::AtLeast(1), 100_000_000), 12_000);
        // Prague's 1 / 4096 s at 100 Mbit/s: 3051 octets; at 4 Mbit/s 122, and one segment all the same.
        let quarter = SimDuration(1_000_000_000 / 4_096);
        assert_eq!(size(BurstRule::Lasting(quarter), 100_000_000), 3_000);
        assert_eq!(size(BurstRule::Lasting(quarter), 4_000_000), 1_000);
        assert_eq!(size(BurstRule::Lasting(quarter), 100_000_000_000), 65_000); // gso_max_size bounds it as any
    }

    #[test]
    fn the_last_of_several_ends_a_burst_and_what_is_alone_does_not() {
        let mut bursts = bursts();
        let mut places = |allowed, written, segments: &[u64]| -> Vec<Place> {
            bursts.end();
            assert!(begins(&mut bursts, SimTime(MS), &opening(allowed), false));
            bursts.bound(written);
            segments.iter().map(|octets| bursts.on_sent(SimTime(MS), *octets)).collect()
        };
        let (begins, amid, ends) = (Place::Begins, Place::Amid, Place::Ends);
        assert_eq!(places(3_000, 9_000, &[1_000; 3]), [begins, amid, ends]);
        assert_eq!(places(1_000, 9_000, &[1_000]), [begins]);
        // Of what is written two full segments and a short one leave, or the short one waits (Nagle).
        assert_eq!(places(9_000, 2_500, &[1_000, 1_000, 500]), [begins, amid, ends]);
        assert_eq!(places(9_000, 2_000, &[1_000, 1_000]), [begins, ends]);
    }

    #[test]
    fn what_left_together_is_repaired_together_up_to_a_burst() {
        let mut board = Scoreboard::new(Counting::Octets, 1_000);
        for begins in [true, false, false, false, true] {
            board.on_new_data(1_000, SimTime(1));
            if begins {
                board.note_burst();
            }
        }
        board.mark_all_lost(|_| true);
        let mut bursts = bursts();
        let mut begun = 0;
        while let Some(lost) = board.next_lost() {
            if !bursts.repairs(SimTime(9), &lost) {
                bursts.begin_repair(&Opening { rate: Some(Bandwidth(24_576_000)), ..opening(9_000) }); // 3 segments
                begun += 1;
            }
            bursts.on_repaired(SimTime(9), &lost);
            board.on_retransmitted(lost.range(), SimTime(9));
        }
        assert_eq!(begun, 3); // three, one that is left of its burst, one of another
    }

    /// `tcp_mark_head_lost` cuts what is lost from the rest of its buffer, which leaves by itself when it is found lost.
    #[test]
    fn what_is_found_lost_later_is_another_burst() {
        let mut board = Scoreboard::new(Counting::Octets, 1_000);
        board.on_new_data(1_000, SimTime(1));
        board.note_burst();
        board.on_new_data(1_000, SimTime(1));
        let mut bursts = bursts();
        board.mark_first_lost();
        bursts.begin_repair(&opening(9_000));
        bursts.on_repaired(SimTime(8), &board.next_lost().expect("the first"));
        board.on_retransmitted(Range { start: board.una(), end: board.una() + 1_000 }, SimTime(8));
        board.mark_all_lost(|sent| !sent.was_retransmitted());
        board.on_retransmitted(Range { start: board.una(), end: board.una() + 1_000 }, SimTime(8));
        let second = board.next_lost().expect("the second");
        assert!(bursts.repairs(SimTime(8), &second));
        assert!(!bursts.repairs(SimTime(9), &second));
    }

    #[test]
    fn a_small_opening_waits_unless_the_last_burst_is_a_millisecond_old() {
        let mut bursts = bursts();
        bursts.on_sent(SimTime(100 * MS), 1_000);
        assert!(!begins(&mut bursts, SimTime(100 * MS + 500_000), &opening(2_000), true));
        assert!(begins(&mut bursts, SimTime(100 * MS + 500_000), &opening(12_000), true));
        bursts.end();
        assert!(begins(&mut bursts, SimTime(100 * MS + 500_000), &opening(2_000), false));
        bursts.end();
        assert!(begins(&mut bursts, SimTime(101 * MS), &opening(2_000), true));
        bursts.end();
        let spread = Opening { paced_until: SimTime(102 * MS), ..opening(2_000) };
        assert!(!begins(&mut bursts, SimTime(102 * MS), &spread, true)); // two milliseconds after it left, and none after its end
    }

    /// Linux: in the middle of the queue, what is all of a buffer leaves; the last may still grow, unless a FIN ends it.
    #[test]
    fn what_ends_a_buffer_does_not_wait() {
        let leaves = |octets, is_last, is_end| {
            let mut bursts = bursts();
            bursts.on_sent(SimTime(100 * MS), 1_000);
            let opening = Opening { head: Head { octets, is_last }, is_end, ..opening(2_000) };
            begins(&mut bursts, SimTime(100 * MS + 500_000), &opening, true)
        };
        assert!(leaves(1_000, true, false) && leaves(2_000, false, false) && leaves(1_500, true, true));
        assert!(!leaves(3_000, false, false) && !leaves(2_000, true, false) && !leaves(2_000, true, true));
    }

    #[test]
    fn a_sender_waits_for_a_part_of_its_window() {
        let begins = |window_divisor, allowed| {
            let mut bursts = TsoBursts::new(BurstConfig { enabled: true, window_divisor, ..BurstConfig::default() });
            bursts.on_sent(SimTime(100 * MS), 1_000);
            begins(&mut bursts, SimTime(100 * MS + 500_000), &opening(allowed), true)
        };
        // Of a window of 500 000 octets, in bursts of 12 000; tcp_tso_win_divisor of Linux's ip-sysctl.rst.
        assert!(!begins(3, 11_000));
        assert!(begins(100, 5_000) && !begins(100, 4_000));
        assert!(begins(0, 4_000) && !begins(0, 3_000));
    }
}
