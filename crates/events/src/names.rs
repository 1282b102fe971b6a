//! Names of causes and the like in tables and files.

use ackclock_wire::Ecn;

use crate::event::{DropCause, LossDetection, PacketInfo, ProbeKind, RecoveryCause, SlowStartExit};
use crate::source::SourceKind;

macro_rules! names {
    ($($type:ident { $($variant:ident = $name:literal,)* })*) => {$(
        impl $type {
            /// Name in tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    )*};
}

impl PacketInfo {
    /// The ECN field, as tables name it.
    pub const fn ecn_name(&self) -> &'static str {
        match self.ecn {
            Ecn::NotEct => "not_ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }
    }
}

names! {
    DropCause {
        Queue = "queue",
        Discarder = "discarder",
        Loss = "loss",
    }
    LossDetection {
        Acks = "acks",
        Time = "time",
        Timeout = "timeout",
    }
    RecoveryCause {
        Loss = "loss",
        Ecn = "ecn",
        Timeout = "timeout",
    }
    ProbeKind {
        TailLoss = "tail_loss",
        ZeroWindow = "zero_window",
    }
    SlowStartExit {
        Loss = "loss",
        Ecn = "ecn",
        Timeout = "timeout",
        Threshold = "threshold",
        Delay = "delay",
        AckTrain = "ack_train",
        PathFull = "path_full",
    }
    SourceKind {
        Flow = "flow",
        Relay = "relay",
        Link = "link",
    }
}

impl RecoveryCause {
    /// State of a sender in a recovery with this cause.
    pub const fn state(self) -> &'static str {
        match self {
            Self::Loss => "fast_recovery",
            Self::Ecn => "ecn_reduction",
            Self::Timeout => "timeout_recovery",
        }
    }
}
