//! Read access to an end of a connection for flows, results and series, whatever its transport.
//!
//! QUIC has no retransmission timeout, and its receiver no advertised window: the probe timeout, and the rest of
//! `MAX_DATA`, replace them. Its flight size is RFC 9002's bytes in flight.

use ackclock_cc::{Controller, RttStats};
use ackclock_quic::QuicEndpoint;
use ackclock_tcp::{Endpoint, SenderCounters, Spent, State};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::app::Outlet;

/// View of an end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndView<'a> {
    Tcp(&'a Endpoint),
    Quic(&'a QuicEndpoint),
}

/// Calls that both transports have in common.
macro_rules! both {
    ($($name:ident -> $result:ty;)*) => {
        $(pub(crate) fn $name(self) -> $result {
            match self {
                Self::Tcp(endpoint) => endpoint.$name(),
                Self::Quic(endpoint) => endpoint.$name(),
            }
        })*
    };
}

impl<'a> EndView<'a> {
    both! {
        cwnd -> Bytes;
        rtt -> RttStats;
        has_rtt_sample -> bool;
        latest_rtt_sample -> Option<SimDuration>;
        unsent -> Bytes;
        has_out_of_order_data -> bool;
        counters -> SenderCounters;
        is_decision_due -> bool;
    }

    pub(crate) fn controller(self) -> &'a Controller {
        match self {
            Self::Tcp(endpoint) => endpoint.controller(),
            Self::Quic(endpoint) => endpoint.controller(),
        }
    }

    /// True if data may be sent.
    pub(crate) fn is_open(self) -> bool {
        match self {
            Self::Tcp(endpoint) => matches!(endpoint.state(), State::Established | State::CloseWait),
            Self::Quic(endpoint) => endpoint.is_open(),
        }
    }

    /// True if the connection was given up or reset.
    pub(crate) fn is_aborted(self) -> bool {
        matches!(self, Self::Tcp(endpoint) if endpoint.is_aborted())
    }

    pub(crate) fn flight_size(self) -> Bytes {
        match self {
            Self::Tcp(endpoint) => endpoint.flight_size(),
            Self::Quic(endpoint) => endpoint.in_flight(),
        }
    }

    /// The retransmission timeout, or the probe timeout.
    pub(crate) fn rto(self) -> SimDuration {
        match self {
            Self::Tcp(endpoint) => endpoint.rto(),
            Self::Quic(endpoint) => endpoint.pto(),
        }
    }

    pub(crate) fn rwnd(self) -> Bytes {
        match self {
            Self::Tcp(endpoint) => endpoint.rwnd(),
            Self::Quic(endpoint) => endpoint.peer_window(),
        }
    }

    /// The state of the connection for an application: at most one window may be unsent, as in a send buffer that
    /// follows the window. A quarter of a round trip later at most a half of that has left.
    pub(crate) fn outlet(self) -> Outlet {
        let unsent = self.unsent();
        let ahead = self.cwnd().saturating_sub(unsent);
        let (room, srtt) = match self {
            Self::Tcp(endpoint) => (ahead.min(endpoint.writable()), endpoint.fine_srtt()),
            Self::Quic(endpoint) => (ahead, endpoint.rtt().srtt),
        };
        Outlet { unsent, room, refill: (!srtt.is_zero()).then_some(SimDuration(srtt.0 / 4)) }
    }

    /// Time since the handshake, by the limit of the sender; zero for QUIC, whose sender does not separate the peer's
    /// limit from the application's.
    pub(crate) fn spent(self, now: SimTime) -> Spent {
        match self {
            Self::Tcp(endpoint) => endpoint.spent(now),
            Self::Quic(_) => Spent::default(),
        }
    }

    pub(crate) fn ack_ratio(self) -> Option<u32> {
        match self {
            Self::Tcp(endpoint) => endpoint.ack_ratio(),
            Self::Quic(_) => None,
        }
    }

    /// Octets that the application has read.
    pub(crate) fn read(self, now: SimTime) -> Bytes {
        match self {
            Self::Tcp(endpoint) => endpoint.read(now),
            Self::Quic(endpoint) => endpoint.received(),
        }
    }

    /// Octets of a full packet that count in cwnd: TCP's payload, or QUIC's whole UDP payload.
    pub(crate) fn mss(self) -> u32 {
        match self {
            Self::Tcp(endpoint) => endpoint.mss(),
            Self::Quic(endpoint) => endpoint.datagram_size(),
        }
    }
}
