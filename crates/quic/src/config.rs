//! Settings of a QUIC connection, declared once: a scenario's `protocol` table has them.

use ackclock_declare::{About, Entry, declare, default};
use ackclock_units::{Bytes, SimDuration};

declare! {
    /// Parameters of a QUIC connection.
    #[derive(Copy)]
    pub struct QuicConfig {
        /// UDP payload of a full packet.
        // RFC 9000 section 14: 1200 octets is the least that a path must carry.
        max_datagram_size: u32 = default(1472).at_least(1200).at_most(65_507).unit("bytes").source("1500 - 28 octets"),
        /// Distance in packets to a later one that has arrived, at which a packet is lost.
        packet_threshold: u32 = default(3).at_least(1).unit("packets").source("RFC 9002 section 6.1.1"),
        /// Time in round trips after which a packet is lost when a later one has arrived.
        time_threshold: f64 = default(1.125).at_least(1.0).at_most(100.0).source("RFC 9002 section 6.1.2"),
        /// Round trip that is assumed before the first sample.
        initial_rtt: SimDuration = default(SimDuration::from_millis(333)).at_least(SimDuration::from_millis(1)).source("RFC 9002 section 6.2.2"),
        /// Number of ack-eliciting packets that the receiver acknowledges at once; 1 acknowledges each.
        ack_every: u8 = default(2).at_least(1).unit("packets").source("RFC 9000 section 13.2.2"),
        /// Longest delay of an ACK by the receiver.
        // Values of 2^14 ms or more are invalid.
        max_ack_delay: SimDuration = default(SimDuration::from_millis(25)).at_most(SimDuration::from_millis(16_383)).source("RFC 9000 section 18.2"),
        /// Spread packets over the round trip, unless the controller times each of them (`sprout`, `verus`).
        pacing: bool = default(true).source("RFC 9002 section 7.7"),
        /// Pacing rate, as a multiple of cwnd / SRTT; a controller with a pacing rate of its own ignores it.
        pacing_gain: f64 = default(1.25).at_least(0.01).at_most(1e3).source("RFC 9002 section 7.7"),
        /// Largest number of octets in flight or waiting for the application (`MAX_DATA`).
        receive_window: Bytes = default(Bytes(15_000_000)).at_least(Bytes(1200)).at_most(Bytes(1 << 40)).source("quic-go and Chromium at most"),
        /// Send packets as ECN-capable, and answer marks (RFC 9000 section 13.4).
        ecn: bool = false,
        /// Send packets with ECT(1), the identifier of L4S (RFC 9331).
        ect1: bool = false,
    }
    tables {
        /// Frequency of ACKs that the sender requests (draft-ietf-quic-ack-frequency).
        ack_frequency: Option<AckFrequency> = None,
    }
    check |config, review| review.needs(&["pacing_gain"], "pacing = true", config.pacing);
}

declare! {
    /// The `ACK_FREQUENCY` frame, sent once the connection is open.
    #[derive(Copy, Eq)]
    pub struct AckFrequency {
        /// Number of ack-eliciting packets for an ACK.
        packets: u8 = default(10).at_least(1).unit("packets").source("draft-ietf-quic-ack-frequency section 4"),
        /// Longest delay of an ACK.
        max_ack_delay: SimDuration = default(SimDuration::from_millis(25)).at_most(SimDuration::from_millis(16_383)).source("RFC 9000 section 18.2"),
        /// Distance from a later packet that has arrived at which a missing packet draws an ACK at once; 0 never.
        reordering: u8 = default(1).unit("packets").source("draft-ietf-quic-ack-frequency section 4"),
    }
}

impl Entry for QuicConfig {
    const ABOUT: About = About {
        name: "quic",
        aliases: &[],
        summary: "protocol: a QUIC connection with one stream",
        source: "RFC 9000, RFC 9002, draft-ietf-quic-ack-frequency",
        departures: "a handshake of one round trip without octets of TLS beyond two datagrams of 1200; one packet-number space; \
                     no connection identifiers that change, no idle timeout, no closing frames; a packet holds one STREAM frame",
    };
}

impl QuicConfig {
    /// The size `max_datagram_size` as a number of octets.
    pub(crate) fn datagram(&self) -> u64 {
        u64::from(self.max_datagram_size)
    }

    /// The initial window: ten datagrams, at most the larger of 14 720 octets and two datagrams (RFC 9002 section 7.2).
    pub(crate) fn initial_window(&self) -> Bytes {
        Bytes((10 * self.datagram()).min((2 * self.datagram()).max(14_720)))
    }

    /// The minimum window: two datagrams (RFC 9002 section 7.2).
    pub(crate) fn minimum_window(&self) -> Bytes {
        Bytes(2 * self.datagram())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_window_is_that_of_rfc_9002() {
        let window = |max_datagram_size| QuicConfig { max_datagram_size, ..QuicConfig::default() }.initial_window();
        assert_eq!(window(1_200), Bytes(12_000)); // 10 * 1200
        assert_eq!(window(1_472), Bytes(14_720)); // 10 * 1472, the bound itself
        assert_eq!(window(1_500), Bytes(14_720));
        assert_eq!(window(9_000), Bytes(18_000)); // 2 * 9000
    }
}
