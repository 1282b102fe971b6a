//! What a case is made of.

/// One thing that an end does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Sends octets, as many at a time as it can.
    Send(u64),
    /// Sends octets, so many at a time, each in a segment of its own.
    SendBy(u64, u64),
    /// Sends an octet as urgent.
    SendUrgent,
    /// Reads so many octets.
    Read(u64),
    /// Reads to the end, so many octets at a time.
    ReadToEnd(u64),
    /// Ends its stream.
    Fin,
    /// Closes.
    Close,
    /// Waits until what it sent is acknowledged, then resets.
    Reset,
    /// Resets, whatever is still to be sent.
    ResetAtOnce,
    /// Waits for the other end to come to its like step.
    Meet,
    /// Waits, in milliseconds.
    Wait(u64),
}

/// Where the server is when the client connects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Server {
    /// It listens.
    #[default]
    Listens,
    /// Nobody listens.
    Absent,
    /// Its queue is full for a while, so that SYNs are dropped: the SYN-ACK comes late.
    Late,
    /// It listens and takes the connection late.
    Busy,
}

/// An exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    /// Says what it is.
    pub(crate) name: String,
    /// Where the server is at first.
    pub(crate) at_first: Server,
    /// What the client does.
    pub(crate) client: Vec<Step>,
    /// What the server does.
    pub(crate) server: Vec<Step>,
    /// Receive buffers, small where windows are to close.
    pub(crate) receive_buffer: Option<usize>,
    /// The client connects twice from the same port, one after the other.
    pub(crate) same_port: bool,
    /// Where the two race, how much arrives before a reset, and who sees what first, is not fixed.
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
