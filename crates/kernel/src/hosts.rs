//! Senders and receivers: real sockets in the namespaces, with the applications of the simulator on them.
//!
//! A connection has a thread that asks its applications what to do (`conversation`), one that writes for each direction with data
//! (`writing`), and one that reads at each end (`reading`). Sockets reset their connection when they are closed, so that the kernel keeps
//! nothing of a run that is over, or was killed; before that an application closes its direction as in the simulator.
//!
//! Threads that read and write run before ordinary ones where that is allowed, as a network card would wake them. A reader that comes
//! late finds a whole burst, and Linux 6.18 does not let the receive window grow for an application that leaves data lying in its queue:
//! with readers of ordinary priority on a busy machine a window stayed at 81 kB for a whole run.

mod conversation;
mod datagrams;
mod ends;
mod flow_log;
mod reading;
mod sampling;
mod short_flows;
mod writing;

pub use conversation::{Course, Exchanged, Held, hold};
pub use datagrams::{drain, send};
pub use ends::{Border, Ends, Stream, bind, listen, set_controller, socket};
pub use flow_log::{FlowLog, Row};
pub use reading::Reader;
pub use sampling::{Episode, FlowSampler, Sampled};
pub use short_flows::{ShortFlows, ShortFlowsDone};

/// Behind the emulator, before every ordinary thread.
const PRIORITY: i32 = 5;

/// Makes the calling thread one that runs at once, if that is allowed.
fn hurry() {
    let _ = crate::sys::become_fifo(PRIORITY);
}

#[cfg(test)]
mod testing {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::sync::OnceLock;

    use super::{Ends, Stream, listen, socket};
    use crate::plan::SocketOptions;

    /// A connection with one stream, from its opener.
    pub(super) fn connected() -> [Ends; 1] {
        let options = SocketOptions { max_segment: 1_460, no_delay: true, ..SocketOptions::default() };
        let listener = listen(&options, "cubic", SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let opener = socket(&options).expect("a socket");
        opener.connect(&listener.local_addr().expect("bound")).expect("connects");
        let acceptor = OnceLock::from(listener.accept().expect("a connection").0);
        [Ends { opener, listener, acceptor, streams: vec![Stream::new("one".to_owned())], reset: OnceLock::new() }]
    }
}
