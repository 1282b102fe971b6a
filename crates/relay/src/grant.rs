//! The edge up to which the near side may send.

use ackclock_units::Bytes;

use crate::readings::Readings;

/// Window granted to the near side: never taken back, and grown by whole segments, since a sender that avoids silly
/// windows (RFC 1122 section 4.2.3.4) does not use less.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grant {
    edge: Bytes,
}

impl Grant {
    /// The window to advertise where `window` is what one would like to.
    pub(crate) fn window(&mut self, readings: &Readings, window: Bytes) -> Bytes {
        let (arrived, segment) = (readings.arrived, readings.near_segment());
        self.edge = self.edge.max(arrived);
        // A window may be without bound, and less may be wanted than has been granted.
        let more = Bytes(arrived.0.saturating_add(window.0)).saturating_sub(self.edge);
        if more >= segment {
            self.edge += Bytes(more.0 / segment.0 * segment.0);
        } else if window >= segment && self.edge - arrived < segment {
            // What is left of a segment that came in parts is of no use to the sender.
            self.edge += segment;
        }
        self.edge - arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_moves_by_whole_segments_and_never_back() {
        let mut grant = Grant::default();
        let mut readings = Readings { near_mss: Bytes(1000), ..Readings::default() };
        assert_eq!(grant.window(&readings, Bytes(2999)), Bytes(2000));
        assert_eq!(grant.window(&readings, Bytes(500)), Bytes(2000));
        readings.arrived = Bytes(1500);
        // 500 are left; 1499 more would not be two segments, so one
        assert_eq!(grant.window(&readings, Bytes(1999)), Bytes(1500));
    }

    #[test]
    fn less_than_a_segment_that_is_left_gets_a_whole_one() {
        let mut grant = Grant::default();
        let mut readings = Readings { near_mss: Bytes(1000), ..Readings::default() };
        assert_eq!(grant.window(&readings, Bytes(1000)), Bytes(1000));
        readings.arrived = Bytes(100);
        // 900 are left, which a sender with more to send does not use
        assert_eq!(grant.window(&readings, Bytes(999)), Bytes(900));
        assert_eq!(grant.window(&readings, Bytes(1000)), Bytes(1900));
        assert_eq!(grant.window(&readings, Bytes(1000)), Bytes(1900));
    }
}
