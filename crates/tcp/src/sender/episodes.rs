//! Congestion episodes: each is reported to the controller and recorded.

use ackclock_cc::{CongestionCause, CongestionController, CongestionEvent};
use ackclock_units::{Bytes, SimTime};

use super::Sender;
use crate::config::DecreaseFrom;
use crate::episode::{Episode, EpisodeCause};

impl Sender {
    /// Reports a congestion episode to the controller and records it.
    pub(super) fn begin_episode(&mut self, now: SimTime, cause: CongestionCause, flight_size: u64, newly_lost: u64) {
        self.report_lost(now);
        let before = (self.controller.cwnd(), self.controller.ssthresh());
        let from = match self.config.decrease_from {
            // What PRR has made of it, where a recovery is held; what duplicate ACKs inflate a window by is no part of it.
            DecreaseFrom::Cwnd => self.recovery.phase().reduced_window().map_or(before.0, Bytes),
            // Between two recoveries snd_una may lag far behind what has been SACKed, so that FlightSize says nothing
            // of what the network held; cwnd bounds it.
            DecreaseFrom::FlightSize => Bytes(self.validation.decrease_from(flight_size.min(before.0.0), before.0.0)),
        };
        //= rfc9293-3.8.2-congestion-control
        self.controller.on_congestion(&CongestionEvent {
            now,
            cause,
            flight_size: Bytes(flight_size),
            decrease_from: from,
            newly_lost: Bytes(newly_lost),
            inflight: Bytes(self.board.pipe()),
        });
        self.report_congestion(cause);
        self.episodes.begin(Episode {
            cause: EpisodeCause::from(cause),
            start: now,
            end: None,
            cwnd_before: before.0,
            cwnd_after: self.controller.cwnd(),
            ssthresh_before: before.1,
            ssthresh_after: self.controller.ssthresh(),
            lost: Bytes(newly_lost),
            marked: 0,
            spurious: false,
        });
    }

    pub(super) fn note_lost(&mut self, octets: u64) {
        self.count_lost(octets, self.detection());
        self.episodes.on_lost(octets);
    }
}
