//! Reasons for which connections end, in the words of the log.

use std::io;

use crate::connection::Side;
use crate::metrics::Outcome;
use crate::upstream::is_own_failure;

/// Failure to connect to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The server answered with a reset.
    Refused,
    /// It did not answer in time.
    TimedOut,
    /// No way led there.
    Unreachable,
    /// This host had no descriptor, memory or port left.
    Local,
    /// Any other error, such as that of a firewall of this host.
    Other,
}

impl Failure {
    /// All failures, in the order of the reference.
    pub const ALL: [Self; 5] = [Self::Refused, Self::TimedOut, Self::Unreachable, Self::Local, Self::Other];

    /// The failure that an error of `connect(2)` is.
    pub fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            _ if is_own_failure(error) => Self::Local,
            Some(libc::ECONNREFUSED) => Self::Refused,
            Some(libc::ETIMEDOUT) => Self::TimedOut,
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN | libc::EHOSTDOWN) => Self::Unreachable,
            _ => Self::Other,
        }
    }

    /// Value of the label `reason` in the metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Unreachable => "unreachable",
            Self::Local => "local",
            Self::Other => "other",
        }
    }
}

/// Reason for which the proxy did not carry a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The client is not among `clients`.
    Client,
    /// The client has `limits.per_source` connections.
    Crowd,
    /// A rule with `refuse` fits.
    Rule,
    /// A header of the PROXY protocol was awaited, and something else came.
    Header,
    /// The server is not among `destinations`, or is this proxy itself.
    Destination,
}

/// Reason for which a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both directions ended in order, that of this side first.
    Closed(Side),
    /// This side reset it.
    Reset(Side),
    /// The kernel gave up this side, which did not acknowledge or could no longer be reached.
    Lost(Side),
    /// `timeouts.idle` was over.
    Idle,
    /// `timeouts.half_closed` was over.
    HalfClosed,
    /// `timeouts.header` was over.
    HeaderLate,
    /// Connecting to the last server that was tried failed.
    Unconnected(Failure),
    /// The listener had no server to try.
    NoServer,
    /// The proxy did not carry it.
    Refused(Refusal),
    /// The proxy had no memory for it.
    NoRoom,
    /// `timeouts.drain` was over.
    Drained,
    /// The proxy ended at once.
    Stopped,
}

impl Ending {
    /// All endings, in the order of the reference.
    pub const ALL: [Self; 23] = [
        Self::Closed(Side::Near),
        Self::Closed(Side::Far),
        Self::Reset(Side::Near),
        Self::Reset(Side::Far),
        Self::Lost(Side::Near),
        Self::Lost(Side::Far),
        Self::Idle,
        Self::HalfClosed,
        Self::HeaderLate,
        Self::Unconnected(Failure::Refused),
        Self::Unconnected(Failure::TimedOut),
        Self::Unconnected(Failure::Unreachable),
        Self::Unconnected(Failure::Local),
        Self::Unconnected(Failure::Other),
        Self::NoServer,
        Self::Refused(Refusal::Client),
        Self::Refused(Refusal::Crowd),
        Self::Refused(Refusal::Rule),
        Self::Refused(Refusal::Header),
        Self::Refused(Refusal::Destination),
        Self::NoRoom,
        Self::Drained,
        Self::Stopped,
    ];

    /// The words of the log.
    pub fn words(self) -> &'static str {
        match self {
            Self::Closed(Side::Near) => "closed by client",
            Self::Closed(Side::Far) => "closed by server",
            Self::Reset(Side::Near) => "reset by client",
            Self::Reset(Side::Far) => "reset by server",
            Self::Lost(Side::Near) => "client lost",
            Self::Lost(Side::Far) => "server lost",
            Self::Idle => "idle",
            Self::HalfClosed => "half closed",
            Self::HeaderLate => "PROXY header timed out",
            Self::Unconnected(Failure::Refused) => "connect refused",
            Self::Unconnected(Failure::TimedOut) => "connect timed out",
            Self::Unconnected(Failure::Unreachable) => "connect unreachable",
            Self::Unconnected(Failure::Local) => "connect out of resources",
            Self::Unconnected(Failure::Other) => "connect failed",
            Self::NoServer => "no server",
            Self::Refused(Refusal::Client) => "refused client",
            Self::Refused(Refusal::Crowd) => "refused beyond per_source",
            Self::Refused(Refusal::Rule) => "refused by rule",
            Self::Refused(Refusal::Header) => "refused without PROXY header",
            Self::Refused(Refusal::Destination) => "refused destination",
            Self::NoRoom => "out of resources",
            Self::Drained => "drained",
            Self::Stopped => "stopped",
        }
    }

    /// The outcome as which the metrics count it.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Closed(_) => Outcome::Ended,
            Self::Refused(_) => Outcome::Refused,
            Self::Unconnected(_) | Self::NoServer => Outcome::Unreachable,
            _ => Outcome::Reset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// connect(2).
    #[test]
    fn errors_of_connect_are_told_apart() {
        let failure = |code: i32| Failure::of(&io::Error::from_raw_os_error(code));
        assert_eq!(failure(libc::ECONNREFUSED), Failure::Refused);
        assert_eq!(failure(libc::ETIMEDOUT), Failure::TimedOut);
        assert_eq!(failure(libc::ENETUNREACH), Failure::Unreachable);
        assert_eq!(failure(libc::EHOSTUNREACH), Failure::Unreachable);
        assert_eq!(failure(libc::EADDRNOTAVAIL), Failure::Local);
        assert_eq!(failure(libc::EMFILE), Failure::Local);
        assert_eq!(failure(libc::EPERM), Failure::Other);
    }

    #[test]
    fn every_ending_has_words_of_its_own() {
        let words: std::collections::BTreeSet<&str> = Ending::ALL.iter().map(|ending| ending.words()).collect();
        assert_eq!(words.len(), Ending::ALL.len());
    }
}
