//! The edge up to which the near side may send.

use ackclock_units::Bytes;

use crate::readings::Readings;

/// What has been granted to the near side: never taken back, and grown by whole segments, since a sender that avoids
/// silly windows (RFC 1122 section 4.2.3.4) makes nothing of less.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grant {
    edge: Bytes,
}

impl Grant {
    /// The window to advertise where `window` is what one would like to.
    pub(crate) fn window(&mut self, readings: &Readings, window: Bytes) -> Bytes {
        self.edge = self.edge.max(readings.arrived);
        let wanted = Bytes(readings.arrived.0.saturating_add(window.0));
        let segment = readings.near_segment().0;
        self.edge += Bytes(wanted.saturating_sub(self.edge).0 / segment * segment);
        self.edge - readings.arrived
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
}
