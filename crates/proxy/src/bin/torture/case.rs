//! Steps of a case.

/// One thing that an end does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Sends octets, as many at a time as it can.
    Send(u64),
    /// Sends octets, in segments of the second number of octets.
    SendBy(u64, u64),
    /// Sends an octet as urgent.
    SendUrgent,
    /// Reads this many octets.
    Read(u64),
    /// Reads to the end, at most this many octets at a time.
    ReadToEnd(u64),
    /// Ends its stream with a FIN.
    Fin,
    /// Closes the socket.
    Close,
    /// Waits until what it sent is acknowledged, then resets.
    Reset,
    /// Resets, whatever is still to be sent.
    ResetAtOnce,
    /// Waits for the other end to come to the same step.
    Meet,
    /// Waits for this many milliseconds.
    Wait(u64),
}

/// State of the server when the client connects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Server {
    /// The server listens.
    #[default]
    Listens,
    /// No server listens.
    Absent,
    /// Its queue is full for a while, so that SYNs are dropped: the SYN-ACK comes late.
    Late,
    /// It listens and takes the connection late.
    Busy,
}

/// A case: an exchange of a client with a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    /// Says what it is.
    pub(crate) name: String,
    /// State of the server at first.
    pub(crate) at_first: Server,
    /// Steps of the client.
    pub(crate) client: Vec<Step>,
    /// Steps of the server.
    pub(crate) server: Vec<Step>,
    /// Receive buffers, small where windows are to close.
    pub(crate) receive_buffer: Option<usize>,
    /// The client connects twice from the same port, one after the other.
    pub(crate) same_port: bool,
    /// The two ends race: how much arrives before a reset, and who sees what first, is not fixed.
    pub(crate) is_race: bool,
}

/// Octets that a script sends.
pub(crate) fn octets(steps: &[Step]) -> u64 {
    let of = |step: &Step| match step {
        Step::Send(octets) | Step::SendBy(octets, _) => *octets,
        _ => 0,
    };
    steps.iter().map(of).sum()
}

/// True if a script ends its stream with a FIN. Closing does, unless something was left unread.
pub(crate) fn ends_in_order(steps: &[Step]) -> bool {
    !steps.iter().any(|step| matches!(step, Step::Reset | Step::ResetAtOnce))
}
