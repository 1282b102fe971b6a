//! RFC 5690's rules worked by hand, in segments of 1000 octets.

use super::*;

const MSS: u64 = 1_000;

/// A sender whose window is always full: what is acknowledged makes room for as much.
struct Flow {
    control: AckControl,
    una: u64,
    window: u64,
}

impl Flow {
    fn new(window: u64) -> Self {
        let control = AckControl::new(AckControlConfig { max_ratio: 255 }, MSS);
        Self { control, una: 0, window: window * MSS }
    }

    /// Takes in an ACK of `segments` further segments, and sends what it allows. Returns the option of the first of it.
    fn ack(&mut self, segments: u64) -> u8 {
        self.ack_with(segments, true)
    }

    fn ack_with(&mut self, segments: u64, is_in_order: bool) -> u8 {
        let (from, high_data) = (self.una, self.una + self.window);
        self.una += segments * MSS;
        self.control.on_ack(AckSeen { from, una: self.una, high_data, cwnd: self.window, is_in_order });
        self.control.on_new_data(high_data)
    }

    /// Whole windows with an ACK for every R segments.
    fn clean_windows(&mut self, count: u64) {
        let end = self.una + count * self.window;
        while self.una < end {
            self.ack(u64::from(self.control.ratio()));
        }
    }

    /// From the start: the first window passes, then an ACK is missing.
    fn double_once(&mut self) -> u8 {
        self.clean_windows(1);
        self.ack(4);
        (0..self.window / MSS).map(|_| self.ack(2)).max().unwrap_or(0)
    }
}

//= rfc5690-4.5-double
//= rfc5690-4.2-option
#[test]
fn a_missing_ack_doubles_the_ratio_at_the_end_of_its_window_and_one_segment_says_so() {
    let mut flow = Flow::new(20);
    assert_eq!(flow.ack(2), 0); // ends the first window, which is empty
    assert_eq!(flow.ack(4), 0); // two ACKs' worth in one: one is missing
    // the window is the 20 segments that were out when it began: it ends at 2 + 4 + 7 * 2
    let options: Vec<u8> = (0..8).map(|_| flow.ack(2)).collect();
    assert_eq!(options, [0, 0, 0, 0, 0, 0, 4, 0]); // the segments after it do not repeat it
    assert_eq!((flow.control.ratio(), flow.control.lost_acks()), (4, 1));
}

//= rfc5690-4.4-lost-acks
#[test]
fn stretch_acks_count_as_the_acks_that_they_replace() {
    let mut flow = Flow::new(20);
    flow.ack(2);
    flow.ack(9); // at most 2 a time would have been 5 ACKs: 4 are missing
    flow.clean_windows(1);
    assert_eq!(flow.control.lost_acks(), 4);
}

//= rfc5690-4.4-lost-acks
#[test]
fn a_late_ack_was_not_lost() {
    let mut flow = Flow::new(20);
    flow.ack(2);
    flow.ack(4);
    flow.control.on_pure_ack(true, false); // the ACK of the first two of the four, overtaken
    flow.clean_windows(1);
    assert_eq!((flow.control.ratio(), flow.control.lost_acks()), (2, 0));
}

#[test]
fn an_ack_missed_at_the_end_of_a_window_has_three_more_to_come_in() {
    let mut flow = Flow::new(20);
    flow.ack(2); // the window ends at 20
    (0..7).for_each(|_| assert_eq!(flow.ack(2), 0)); // 16
    assert_eq!(flow.ack(4), 0); // 20, one missing: judged at the end of the next window
    // of the 20 that were out then: 16 + 20 = 20 + 8 * 2
    assert_eq!([2; 9].map(|segments| flow.ack(segments)), [0, 0, 0, 0, 0, 0, 0, 4, 0]);
}

#[test]
fn a_way_back_that_loses_every_other_ack_doubles_the_ratio_too() {
    let mut flow = Flow::new(20);
    assert_eq!((0..20).map(|_| flow.ack(4)).max(), Some(4));
}

//= rfc5690-4.4-marked-acks
#[test]
fn a_marked_ack_counts_as_a_lost_one() {
    let mut flow = Flow::new(20);
    flow.ack(2);
    flow.control.on_pure_ack(false, true);
    flow.clean_windows(1);
    assert_eq!(flow.control.ratio(), 4);
}

#[test]
fn nothing_is_missed_until_the_receiver_is_known_to_use_the_new_ratio() {
    let mut flow = Flow::new(20);
    assert_eq!(flow.double_once(), 4);
    let before = flow.control.lost_acks();
    flow.control.knowledge = Knowledge::Stale { first_new: Some(flow.una + 10 * MSS) };
    flow.ack(10); // up to where the option is, but not beyond
    flow.ack(8); // covers the option: not counted either, and a window begins
    assert_eq!(flow.control.knowledge, Knowledge::Current);
    flow.ack(4); // one for four is right
    flow.clean_windows(1);
    assert_eq!(flow.control.lost_acks(), before);
}

//= rfc5690-4.5-two-a-window
#[test]
fn the_ratio_leaves_two_acks_a_window() {
    // max(2, cwnd / (2 MSS)), rounded up: 11 segments give 6.
    let mut flow = Flow::new(11);
    flow.double_once();
    (0..20).for_each(|_| assert!(flow.ack(11) < 7)); // one ACK a window: there should have been more
    assert_eq!(flow.control.ratio(), 6);
    flow.window = 5 * MSS; // cwnd fell: 5 / 2 rounded up
    flow.ack(1);
    flow.ack(6);
    assert_eq!(flow.control.ratio(), 3);
    flow.window = 3 * MSS;
    let _ = [3, 3, 3].map(|segments| flow.ack(segments));
    assert_eq!(flow.control.ratio(), 2);
}

#[test]
fn the_configuration_bounds_the_ratio() {
    let mut flow = Flow::new(100);
    flow.control.config.max_ratio = 5;
    flow.double_once();
    (0..20).for_each(|_| assert!(flow.ack(100) < 6));
    assert_eq!(flow.control.ratio(), 5);
}

//= rfc5690-4.5-lower
#[test]
fn without_losses_the_ratio_falls_by_one_after_as_many_windows_as_the_rfc_says() {
    // cwnd / (R^2 - R) windows: 48 / (16 - 4) = 4 windows of 48 segments, 192 segments.
    let mut flow = Flow::new(48);
    flow.double_once();
    assert_eq!(flow.control.enough, 192 * MSS);
    let start = loop {
        let before = flow.una;
        flow.ack(4);
        if flow.control.knowledge == Knowledge::Current {
            break before; // this one told; counting begins with the next
        }
    };
    while flow.control.ratio() == 4 {
        flow.ack(4);
    }
    // 192 segments are reached in the course of a window of 48, and judged at its end
    let windows = (flow.una - start) / flow.window;
    assert!((4..=5).contains(&windows), "{windows}");
    // the next step: 48 / (9 - 3) = 8 windows
    assert_eq!((flow.control.ratio(), flow.control.enough), (3, 384 * MSS));
}

#[test]
fn a_fall_ends_at_two() {
    let mut flow = Flow::new(8);
    flow.double_once();
    flow.clean_windows(100);
    assert_eq!(flow.control.ratio(), 2); // one is for windows of at most three segments only
}

#[test]
fn repair_of_the_data_tells_nothing_of_acks() {
    let mut flow = Flow::new(20);
    flow.ack(2);
    flow.ack_with(10, false); // a hole was filled: what lay above it had arrived
    let high_data = flow.una + flow.window;
    assert_eq!(flow.control.on_retransmission(high_data), 0);
    flow.ack(15); // of data that was out when it was retransmitted
    flow.ack(5);
    assert_eq!((flow.control.lost_acks(), flow.control.ratio()), (0, 2));
    flow.ack(4); // after all of it
    flow.clean_windows(1);
    assert_eq!(flow.control.ratio(), 4);
}

//= rfc5690-4.5.1-timeout
#[test]
fn a_timeout_takes_the_ratio_to_two_and_every_retransmission_says_so() {
    let mut flow = Flow::new(20);
    flow.double_once();
    flow.control.on_timeout();
    let high_data = flow.una + flow.window;
    let options = [(); 2].map(|()| flow.control.on_retransmission(high_data));
    assert_eq!((flow.control.ratio(), options), (2, [2, 2]));
    assert_eq!(flow.control.on_new_data(high_data), 2);
    assert_eq!(flow.control.on_new_data(high_data + MSS), 0);
}
