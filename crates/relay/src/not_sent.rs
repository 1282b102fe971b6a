//! Back-pressure: little that is not sent in the far socket, little room before it.
//!
//! Ours, of what systems have: `TCP_NOTSENT_LOWAT` on the far socket, a small receive buffer on the near one. What is kept
//! is bounded in octets, so that latency is bounded where the rate is known, and the near side is held to a window a round
//! trip.

use crate::config::NotSentConfig;
use crate::discipline::Orders;
use crate::readings::Readings;

/// A low-water mark on the far side, a small window on the near side.
#[derive(Clone, Debug)]
pub struct NotSent {
    config: NotSentConfig,
}

impl NotSent {
    pub(crate) fn new(config: NotSentConfig) -> Self {
        Self { config }
    }

    pub(crate) fn update(&mut self, readings: &Readings) -> Orders {
        let not_handed_on = readings.arrived - readings.written;
        Orders {
            // More waits than the window has room for where the far socket takes nothing.
            window: Some(self.config.window.saturating_sub(not_handed_on)),
            not_sent: Some(self.config.low_water),
            ..Orders::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Bytes;

    use super::*;

    #[test]
    fn the_window_is_what_the_small_buffer_has_left() {
        let mut discipline = NotSent::new(NotSentConfig { low_water: Bytes(16_000), window: Bytes(64_000) });
        let readings =
            Readings { arrived: Bytes(50_000), written: Bytes(20_000), sent: Bytes(10_000), ..Readings::default() };
        let orders = discipline.update(&readings);
        // 30 000 are not handed on: 34 000 are left of 64 000
        assert_eq!((orders.window, orders.not_sent), (Some(Bytes(34_000)), Some(Bytes(16_000))));
    }
}
