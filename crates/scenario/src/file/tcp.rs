//! TCP options in a file: the switches that `tcp` declares, and the profile from which they start. Each table is laid
//! over a more general one.

use ackclock_declare::{declare, unset};
use ackclock_tcp::TcpConfig;

use super::Fields;

declare! {
    /// Switches of a TCP endpoint.
    pub(crate) struct TcpSwitches {
        /// A named set of all these switches to start from; it discards the values of earlier tables.
        profile: Option<String> = unset("\"rfc\""),
    }
    within {
        /// The configuration that the switches describe.
        config: TcpConfig = TcpConfig::default(),
    }
}

/// Switches of a TCP endpoint that are set.
pub(crate) type TcpTable = Fields<TcpSwitches>;
