//! Congestion events, recovery periods and persistent congestion (RFC 9002 section 7, appendix B).

use ackclock_cc::{CongestionCause, CongestionController, CongestionEvent, Repair, RestartCause, RestartEvent};
use ackclock_events::RecoveryCause;
use ackclock_tcp::{Episode, EpisodeCause};
use ackclock_units::{Bytes, SimTime};

use super::Sender;
use crate::sent_log::Fate;

/// The repair of losses, until the last of the lost data has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repairing {
    what: Repair,
    /// Position of the last retransmission of lost data, in the order of all octets that were in flight.
    last: u64,
}

impl Repairing {
    pub(super) fn what(self) -> Repair {
        self.what
    }

    /// Takes the loss of packets; data from here on repairs them. A repair after persistent congestion stays one.
    fn on_lost(&mut self, position: u64, is_persistent: bool) {
        self.last = position;
        if is_persistent {
            self.what = Repair::Timeout;
        } else if self.what == Repair::None {
            self.what = Repair::Fast;
        }
    }

    pub(super) fn on_sent_again(&mut self, position: u64) {
        self.last = self.last.max(position);
    }

    /// Takes note that a packet has arrived, and no lost data waits to be sent again.
    pub(super) fn on_delivered(&mut self, position: u64) {
        if position >= self.last {
            self.what = Repair::None;
        }
    }
}

impl Sender {
    /// Takes the loss of packets with these numbers, `octets` in all, of which `newest` left last.
    pub(super) fn on_losses(&mut self, now: SimTime, lost: &[u64], newest: u64, octets: u64) {
        let sent = self.log.get(newest).expect("lost packets are kept for a while").at;
        self.on_congestion(now, sent, CongestionCause::Loss, octets);
        let is_persistent = self.is_persistent(lost);
        self.repairing.on_lost(self.log.position(), is_persistent);
        if is_persistent {
            // Section 7.6.2 and appendix B.8: the least window, and a new period may begin at once.
            let (window, ssthresh) = (self.config.minimum_window(), None);
            self.controller.on_restart(&RestartEvent { now, cause: RestartCause::Timeout, window, ssthresh });
            self.rtt.on_persistent_congestion();
            self.recovery_start = None;
            if self.is_recovering {
                self.leave_recovery(now);
            }
        }
        self.note_pacing();
    }

    /// Begins a recovery period, unless the packet that shows congestion left before the last one began (section
    /// 7.3.1).
    pub(super) fn on_congestion(&mut self, now: SimTime, sent: SimTime, cause: CongestionCause, lost: u64) {
        if self.recovery_start.is_some_and(|start| sent <= start) {
            if cause == CongestionCause::Loss && std::mem::take(&mut self.answers_mark) {
                self.controller.on_loss_in_answer(self.controller.cwnd());
            }
            return self.episodes.on_lost(lost);
        }
        let before = (self.controller.cwnd(), self.controller.ssthresh());
        (self.recovery_start, self.is_recovering) = (Some(now), true);
        self.answers_mark = cause == CongestionCause::Ecn;
        self.controller.on_congestion(&CongestionEvent {
            now,
            cause,
            flight_size: Bytes(self.log.in_flight()),
            decrease_from: before.0, // section 7.3.2: half of the congestion window
            newly_lost: Bytes(lost),
            inflight: Bytes(self.log.in_flight()),
        });
        self.counters.fast_recoveries += u64::from(cause == CongestionCause::Loss);
        self.episodes.begin(Episode {
            cause: EpisodeCause::from(cause),
            start: now,
            end: None,
            cwnd_before: before.0,
            cwnd_after: self.controller.cwnd(),
            ssthresh_before: before.1,
            ssthresh_after: self.controller.ssthresh(),
            lost: Bytes(lost),
            marked: 0,
            spurious: false,
        });
        let cause = if cause == CongestionCause::Ecn { RecoveryCause::Ecn } else { RecoveryCause::Loss };
        self.report_recovery(cause, before.0);
    }

    pub(super) fn leave_recovery(&mut self, now: SimTime) {
        self.is_recovering = false;
        self.episodes.end(now);
        self.report_recovery_left();
    }

    /// True if all packets sent in a long time are lost, none of them before the first RTT sample (section 7.6).
    fn is_persistent(&self, lost: &[u64]) -> bool {
        let Some(first_sample) = self.rtt.first_sample() else { return false };
        let span = self.rtt.persistent_congestion(self.peer.max_ack_delay);
        let mut since = None;
        let (Some(&oldest), Some(&newest)) = (lost.first(), lost.last()) else { return false };
        (oldest..=newest).filter_map(|number| self.log.get(number)).any(|packet| match packet.fate {
            Fate::Lost if packet.at > first_sample => {
                let since = *since.get_or_insert(packet.at);
                packet.at.saturating_since(since) > span
            }
            Fate::Delivered => {
                since = None;
                false
            }
            _ => false,
        })
    }
}
