//! Switches that are one of a few words.

use ackclock_declare::words;

words! {
    /// Method by which a sender repairs loss.
    pub enum LossRecovery {
        /// Fast retransmit, then slow start from one segment (Jacobson 1988).
        "tahoe" = Tahoe,
        /// Fast retransmit and fast recovery, left at the first new ACK (RFC 5681, RFC 2581).
        "reno" = Reno,
        /// Stays in recovery over partial ACKs (RFC 6582).
        "newreno" = NewReno,
        /// The SACK scoreboard's conservative recovery (RFC 6675).
        "sack" = Sack,
    }
}

words! {
    /// Method by which a sender detects lost segments.
    pub enum LossDetection {
        /// Duplicate ACKs, or segments SACKed above (RFC 5681, RFC 6675).
        "dup_acks" = DupAcks,
        /// By time: what was sent before something delivered later than a reordering window ago (RFC 8985). Needs SACK;
        /// without, duplicate ACKs are counted.
        "rack" = Rack,
        /// By the furthest data that was SACKed: what lies `dup_thresh` segments below it, or further (Mathis and Mahdavi 1996,
        /// Linux up to 4.14). Needs SACK; without, duplicate ACKs are counted.
        "fack" = Fack,
    }
}

words! {
    /// Unit in which windows and flights are counted.
    pub enum Counting {
        /// Counted in octets (RFC 5681).
        "octets" = Octets,
        /// Segments, each as a full one however short it is (Linux, ns-2).
        "segments" = Segments,
    }
}

words! {
    /// Value that a decrease, and PRR with it, starts from.
    pub enum DecreaseFrom {
        /// `FlightSize` (RFC 5681 section 3.1, equation 4).
        "flight_size" = FlightSize,
        /// cwnd, whether it is in use or not (Linux).
        "cwnd" = Cwnd,
    }
}

words! {
    /// Meaning of a timeout, or of a retransmission that is found lost, while data outstanding at the last timeout or
    /// fast retransmit is not yet acknowledged.
    pub enum TimeoutInRecovery {
        /// A congestion episode of its own (RFC 5681 section 3.1: ssthresh is held only where the same segment times out
        /// again; section 4.3: the loss of a retransmission is a second sign).
        "new_episode" = NewEpisode,
        /// A part of the episode under way: ssthresh stays (Linux).
        "same_episode" = SameEpisode,
    }
}

words! {
    /// Rules by which a receive buffer grows.
    pub enum BufferGrowth {
        /// Linux 6.16 and later: by what lies above a hole, too; a round trip counts while the application has read everything.
        "linux_6_16" = Linux6_16,
        /// Linux 6.19 and later: the same, but where the round trip is below a millisecond, by as much more than twice what was read as the
        /// round trip is of a millisecond.
        "linux_6_19" = Linux6_19,
        /// Linux from 4.20 to 6.15: by sixteen segments more than what was read.
        "linux_4_20" = Linux4_20,
    }
}

words! {
    /// Start of the user timeout.
    pub enum UserTimeoutFrom {
        /// The time at which the first outstanding segment left (RFC 5482, RFC 9293 section 3.9.1.1).
        "transmission" = Transmission,
        /// The time of the first retransmission (Linux).
        "retransmission" = Retransmission,
    }
}

words! {
    /// Start of the doubled interval to the next probe of a closed window.
    pub enum ZeroWindowProbeFrom {
        /// The time of the last probe.
        "probe" = Probe,
        /// The time of the ACK that answers it (Linux).
        "answer" = Answer,
    }
}

words! {
    /// Condition under which samples of the delivery rate count as limited by the application.
    pub enum AppLimitedFrom {
        /// Nothing is left to send (draft-cheng-iccrg-delivery-rate-estimation section 3.4).
        "idle" = Idle,
        /// The application writes after nothing was left to send: not the end of what it has written (Linux).
        "write" = Write,
    }
}

words! {
    /// Treatment of cwnd while it does not limit the sender.
    pub enum CwndValidation {
        /// It grows all the same (OPNET, ns-2).
        "none" = None,
        /// It does not grow (RFC 9293's stacks today; RFC 5681 leaves it open).
        "hold" = Hold,
        /// RFC 7661: it does not grow beyond what is validated, and a loss in the non-validated phase takes it back.
        "rfc7661" = Rfc7661,
        /// Linux: in slow start it grows while less than twice the largest flight of the last round trip; unused for an
        /// RTO, it is moved half-way back to what was used.
        "linux" = Linux,
    }
}

words! {
    /// Treatment of cwnd after the sender has been idle for longer than the RTO.
    pub enum IdleRestart {
        /// The window stays as it is.
        "off" = Off,
        /// Back to the restart window, min(IW, cwnd) (RFC 5681 section 4.1).
        "rfc5681" = Rfc5681,
        /// Halved for each RTO of idleness, down to the restart window (RFC 2861, Linux).
        "linux" = Linux,
    }
}

words! {
    /// Holding back small segments.
    pub enum Nagle {
        /// Small segments leave at once (`TCP_NODELAY`).
        "off" = Off,
        /// No small segment while anything is unacknowledged (RFC 896, RFC 9293 section 3.7.4).
        "classic" = Classic,
        /// No small segment while a small one is unacknowledged (Minshall's modification; Linux).
        "minshall" = Minshall,
    }
}
