//! TCP options as a file says them: the switches that `tcp` declares, and the profile to start from. Each table is laid over a
//! more general one.

use ackclock_declare::{declare, unset};
use ackclock_tcp::TcpConfig;

use super::Fields;

declare! {
    /// Switches of a TCP endpoint.
    pub(crate) struct TcpSwitches {
        /// A named set of all these switches to start from; what earlier tables said is forgotten.
        profile: Option<String> = unset("\"rfc\""),
    }
    within {
        /// The configuration that the switches describe.
        config: TcpConfig = TcpConfig::default(),
    }
}

/// Switches of a TCP endpoint, as far as they are written.
pub(crate) type TcpTable = Fields<TcpSwitches>;
