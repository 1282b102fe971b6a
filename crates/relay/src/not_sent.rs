//! Back-pressure: little that is not sent in the far socket, little room before it.
//!
//! Ours, of what systems have: `TCP_NOTSENT_LOWAT` on the far socket, a small receive buffer on the near one. What is kept
//! is bounded in octets, so that latency is bounded where the rate is known, and the near side is held to a window a round
//! trip.

use ackclock_declare::{About, declare, default};
use ackclock_units::Bytes;

use crate::discipline::{Kind, MAX_WINDOW, Orders, Policy};
use crate::readings::Readings;

declare! {
    /// Parameters of `not_sent`, which limits the octets in the sockets.
    #[derive(Copy, Eq)]
    pub struct NotSentConfig {
        /// Octets not yet sent with which the far socket is content: its `TCP_NOTSENT_LOWAT`.
        low_water: Bytes =
            default(Bytes(16_000)).at_least(Bytes(1)).at_most(MAX_WINDOW).source("what web servers set"),
        /// Octets that may have arrived and not yet been handed on: the window is what they leave of it.
        // A window without scaling, and 2 ms at 256 Mbit/s.
        window: Bytes = default(Bytes(64_000)).at_least(Bytes(1)).at_most(MAX_WINDOW),
    }
}

impl Policy for NotSentConfig {
    const ABOUT: About = About {
        name: "not_sent",
        aliases: &[],
        summary: "hands on while little is unsent, and advertises what is left of a small window",
        source: "ours, on the socket option TCP_NOTSENT_LOWAT",
        departures: "none",
    };

    fn start(&self, _seed: u64) -> Kind {
        Kind::NotSent(NotSent::new(*self))
    }
}

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
