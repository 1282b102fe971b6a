//! Explicit congestion notification: what the handshake settles, what each half keeps.
//!
//! Sources: RFC 3168 section 6.1 (classic), RFC 9768 sections 3.1 and 3.2 (accurate: the ACE field),
//! RFC 8257 section 3.2 (the exact echo of DCTCP).
//!
//! Departures: without the `AccECN` option ([`crate::accurate_ecn`]) a sender corrects for wraps of the ACE field only by the
//! marks that the acknowledged segments make possible (appendix A.1 without the safety of A.2.1).
//! Retransmissions, SYNs, and pure ACKs without their own congestion control (RFC 5690) are not ECN-capable. Where the echo is exact,
//! retransmissions are (Linux: `tcp_ecn_send`, by the behaviour of 7.3), whatever RFC 3168 section 6.1.5 says.

use ackclock_cc::{CongestionController, Controller};
use ackclock_wire::{AccurateEcn, Ecn, Flags};

use crate::accurate_ecn::{OctetsByMark, OctetsDelivered, OctetsReceived};
use crate::config::{EcnConfig, EcnMode};

/// Kind of ECN feedback that both ends agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Feedback {
    /// ECN is not in use.
    #[default]
    None,
    /// ECE and CWR (RFC 3168).
    Classic,
    /// ECE for each segment as it arrived (RFC 8257).
    Exact,
    /// The ACE field counts marked packets (RFC 9768).
    Accurate,
}

const ALL: Flags = Flags::AE.with(Flags::CWR).with(Flags::ECE);

/// Flags of our SYN, which was sent `retries` times before.
pub(crate) fn syn_flags(config: EcnConfig, retries: u32) -> Flags {
    //= rfc3168-6.1.1.1-fall-back
    //= rfc9768-3.1.4.1-fall-back
    if config.fallback && retries > u32::from(config.accurate) {
        return Flags::default();
    }
    match (config.mode, config.accurate) {
        //= rfc9768-3.1.1-syn
        (EcnMode::Request, true) => ALL,
        //= rfc3168-6.1.1-syn
        (EcnMode::Request, false) => Flags::ECE.with(Flags::CWR),
        _ => Flags::default(),
    }
}

/// Our answer to a SYN that carried `flags` in a packet marked `ecn`: what is agreed, and the flags of the SYN-ACK.
pub(crate) fn answer(config: EcnConfig, flags: Flags, ecn: Ecn) -> (Feedback, Flags) {
    if config.mode == EcnMode::Off || !flags.has(Flags::ECE.with(Flags::CWR)) {
        (Feedback::None, Flags::default())
    } else if flags.has(Flags::AE) && config.accurate {
        //= rfc9768-3.1.1-syn-ack
        (Feedback::Accurate, handshake_encoding(ecn))
    } else {
        //= rfc3168-6.1.1-syn-ack
        (classic(config), Flags::ECE)
    }
}

/// Meaning of ECE after RFC 3168's handshake: DCTCP has no handshake of its own.
fn classic(config: EcnConfig) -> Feedback {
    if config.dctcp_feedback { Feedback::Exact } else { Feedback::Classic }
}

/// Feedback to which the peer's SYN-ACK agrees, of what our SYN requested.
pub(crate) fn agreed(config: EcnConfig, flags: Flags) -> Feedback {
    if config.mode != EcnMode::Request {
        return Feedback::None;
    }
    match (flags.has(Flags::AE), flags.has(Flags::CWR), flags.has(Flags::ECE)) {
        //= rfc9768-3.1.2-classic-peer
        (false, false, true) => classic(config),
        //= rfc3168-6.1.1-reflected
        (false, false, false) | (true, true, true) => Feedback::None,
        _ if config.accurate => Feedback::Accurate,
        _ => Feedback::None,
    }
}

/// RFC 9768 table 2: the IP-ECN field of the SYN or SYN-ACK, fed back.
pub(crate) fn handshake_encoding(ecn: Ecn) -> Flags {
    match ecn {
        Ecn::NotEct => Flags::CWR,
        Ecn::Ect1 => Flags::CWR.with(Flags::ECE),
        Ecn::Ect0 => Flags::AE,
        Ecn::Ce => Flags::AE.with(Flags::CWR),
    }
}

/// The initial value of the packet counters (RFC 9768 section 3.2.1).
//= rfc9768-3.2.1-from-five
const FIRST_COUNT: u64 = 5;

/// Marks in an ACK: its flags, and the number of segments that it newly delivers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnEcho {
    pub(crate) flags: Flags,
    pub(crate) segments: u64,
    pub(crate) mss: u64,
}

/// The sending half of ECN.
#[derive(Clone, Debug)]
pub(crate) struct EcnSender {
    feedback: Feedback,
    /// Counts of octets, where the option is in use.
    octets: Option<Box<OctetsDelivered>>,
    /// Something on the way changes marks or their echo: data is not ECN-capable any more.
    is_mangled: bool,
    ect: Ecn,
    /// The receiver must be informed that cwnd was reduced.
    owes_cwr: bool,
    /// Where the data ends that was outstanding when the controller last answered a mark in its own way.
    answered_to: u64,
    /// `s.cep`: packets that the receiver says were marked.
    marked: u64,
    /// The next ACK completes the handshake: its field reports on the SYN-ACK and counts nothing.
    awaits_handshake: bool,
}

impl EcnSender {
    pub(crate) fn new(config: EcnConfig) -> Self {
        let ect = if config.ect1 { Ecn::Ect1 } else { Ecn::Ect0 };
        Self {
            feedback: Feedback::None,
            octets: None,
            is_mangled: false,
            ect,
            owes_cwr: false,
            answered_to: 0,
            marked: FIRST_COUNT,
            awaits_handshake: false,
        }
    }

    /// Sets the agreed feedback, at an end that waits for the handshake's last ACK or that sends it; with the option or
    /// not.
    pub(crate) fn set_feedback(&mut self, feedback: Feedback, awaits_handshake: bool, with_option: bool) {
        (self.feedback, self.awaits_handshake) = (feedback, awaits_handshake);
        let counts_octets = with_option && feedback == Feedback::Accurate;
        self.octets = counts_octets.then(|| Box::new(OctetsDelivered::default()));
    }

    /// Introduces a controller: it learns the kind of feedback, and may decline ECN with it. What the peer sends is
    /// echoed all the same.
    pub(crate) fn introduce(&mut self, controller: &mut Controller) {
        if !controller.on_feedback(self.counts_marks()) {
            //= rfc9331-4.2-counted-marks
            self.feedback = Feedback::None;
            self.octets = None;
        }
    }

    /// Takes in the peer's report of the mark with which our SYN or SYN-ACK arrived; it left without one.
    pub(crate) fn on_handshake_echo(&mut self, flags: Flags) {
        //= rfc9768-3.2.2.3-mangled-handshake
        //= rfc9768-3.2.2.1-zeroed-field
        self.is_mangled |= self.feedback == Feedback::Accurate && !matches!(ace_of(flags), 1 | 2 | 5 | 7);
    }

    /// The segment that is about to be taken in brings this option, or none.
    pub(crate) fn on_option(&mut self, option: Option<AccurateEcn>) {
        if let Some(octets) = &mut self.octets {
            octets.on_segment(option);
        }
    }

    /// Octets of our data that have arrived, by the mark of their packets; zero without the option.
    pub(crate) fn octets(&self) -> OctetsByMark {
        self.octets.as_ref().map_or([0; 3], |octets| octets.octets())
    }

    pub(crate) fn is_on(&self) -> bool {
        self.feedback != Feedback::None
    }

    /// True if an ACK with these flags, and the option that came with it, reports no mark: [`Self::on_ack`] then
    /// returns none.
    #[inline]
    pub(crate) fn is_silent(&self, flags: Flags) -> bool {
        self.feedback == Feedback::None || self.says_nothing(flags)
    }

    #[inline(never)] // most connections do without ECN
    fn says_nothing(&self, flags: Flags) -> bool {
        if self.feedback != Feedback::Accurate {
            return !flags.has(Flags::ECE);
        }
        ace_of(flags) == self.marked & 7
            && !self.awaits_handshake
            && self.octets.as_ref().is_none_or(|octets| octets.is_silent())
    }

    /// True if the feedback gives the number of marked segments, and not only that some were marked.
    pub(crate) fn counts_marks(&self) -> bool {
        matches!(self.feedback, Feedback::Exact | Feedback::Accurate)
    }

    /// Takes in an ACK that reports marks. Returns how many of the segments that it delivers were marked, one standing
    /// for any with the classic echo.
    pub(crate) fn on_ack(&mut self, echo: &EcnEcho) -> u64 {
        match self.feedback {
            Feedback::None => 0,
            Feedback::Classic => u64::from(echo.flags.has(Flags::ECE)),
            Feedback::Exact => u64::from(echo.flags.has(Flags::ECE)) * echo.segments,
            Feedback::Accurate if std::mem::take(&mut self.awaits_handshake) => {
                self.on_handshake_echo(echo.flags);
                self.on_accurate(&EcnEcho { flags: ace_flags(self.marked), ..*echo })
            }
            Feedback::Accurate => self.on_accurate(echo),
        }
    }

    fn on_accurate(&mut self, echo: &EcnEcho) -> u64 {
        let ace = ace_of(echo.flags).wrapping_sub(self.marked) & 7;
        let mut none = OctetsDelivered::default();
        let octets = self.octets.as_deref_mut().unwrap_or(&mut none);
        let told = octets.take_told();
        let (marked, packets) = octets.marked(told, ace, echo.segments, echo.mss);
        self.marked += packets;
        marked
    }

    /// Notes a reduction of cwnd.
    pub(crate) fn on_reduction(&mut self) {
        self.owes_cwr = matches!(self.feedback, Feedback::Classic | Feedback::Exact);
    }

    /// Notes that the controller answers a mark in its own way, once for what is outstanding.
    pub(crate) fn on_answered(&mut self, una: u64, high_data: u64) {
        //= rfc3168-6.1.2-cwr
        if una > self.answered_to {
            self.answered_to = high_data;
            self.on_reduction();
        }
    }

    /// The reduction was undone.
    pub(crate) fn withdraw(&mut self) {
        self.owes_cwr = false;
    }

    /// Mark of a pure ACK, where ACK congestion control answers for it (RFC 5690 section 4.1, RFC 3168 section 6.1.4).
    /// Accurate feedback counts every marked packet, so that its marks would be taken for the data's.
    pub(crate) fn mark_of_ack(&self) -> Ecn {
        //= rfc5690-4.1-ecn-capable-acks
        if matches!(self.feedback, Feedback::Classic | Feedback::Exact) { self.ect } else { Ecn::NotEct }
    }

    /// Mark of new data.
    pub(crate) fn mark_of_data(&self) -> Ecn {
        //= rfc8257-3.5-marked-syn
        if self.feedback == Feedback::None || self.is_mangled { Ecn::NotEct } else { self.ect }
    }

    /// Mark of data that is sent again.
    pub(crate) fn mark_of_retransmission(&self) -> Ecn {
        //= rfc3168-6.1.5-retransmissions
        if self.feedback == Feedback::Exact { self.mark_of_data() } else { Ecn::NotEct }
    }

    /// True if the next new data must inform the receiver of a reduction.
    pub(crate) fn owes_cwr(&self) -> bool {
        self.owes_cwr
    }

    /// Mark of new data, and whether it carries CWR.
    pub(crate) fn mark_new_data(&mut self) -> (Ecn, bool) {
        let mark = self.mark_of_data();
        //= rfc3168-6.1.2-cwr
        (mark, mark != Ecn::NotEct && std::mem::take(&mut self.owes_cwr))
    }
}

fn ace_of(flags: Flags) -> u64 {
    u64::from(flags.has(Flags::AE)) << 2 | u64::from(flags.has(Flags::CWR)) << 1 | u64::from(flags.has(Flags::ECE))
}

/// The flags whose [`ace_of`] has the lowest bits of a count.
fn ace_flags(count: u64) -> Flags {
    let flag = |bit: u64, flag| if count & bit != 0 { flag } else { Flags::default() };
    flag(4, Flags::AE).with(flag(2, Flags::CWR)).with(flag(1, Flags::ECE))
}

/// The receiving half of ECN.
#[derive(Clone, Debug)]
pub(crate) struct EcnReceiver {
    feedback: Feedback,
    /// Counts of octets, where the option is in use.
    octets: Option<Box<OctetsReceived>>,
    /// Echo congestion until the sender says that it has reduced (RFC 3168 section 6.1.3).
    echoes: bool,
    /// Data has arrived in ECN-capable packets.
    has_seen_capable: bool,
    /// `r.cep`: marked packets received.
    marked: u64,
    /// Flags of the next segment in place of the usual ones: the last ACK of the handshake (RFC 9768 section 3.2.2.1).
    once: Option<Flags>,
}

impl Default for EcnReceiver {
    fn default() -> Self {
        Self {
            feedback: Feedback::None,
            octets: None,
            echoes: false,
            has_seen_capable: false,
            marked: FIRST_COUNT,
            once: None,
        }
    }
}

impl EcnReceiver {
    pub(crate) fn set_feedback(&mut self, feedback: Feedback, with_option: bool) {
        self.feedback = feedback;
        let counts_octets = with_option && feedback == Feedback::Accurate;
        self.octets = counts_octets.then(|| Box::new(OctetsReceived::new()));
    }

    pub(crate) fn is_on(&self) -> bool {
        self.feedback != Feedback::None
    }

    /// Counts octets for the option.
    pub(crate) fn has_option(&self) -> bool {
        self.octets.is_some()
    }

    /// The option of a segment after the SYN, if it may have one: the peer has shown that it knows it and that it gets through.
    pub(crate) fn option(&self) -> Option<AccurateEcn> {
        self.octets.as_ref()?.option()
    }

    /// The option of our SYN-ACK, which has to show it first.
    pub(crate) fn first_option(&self) -> Option<AccurateEcn> {
        Some(self.octets.as_ref()?.counters())
    }

    /// The peer's option has been seen.
    //= rfc9768-3.2.3.2-seen-first
    pub(crate) fn on_option_seen(&mut self) {
        if let Some(octets) = &mut self.octets {
            octets.allow();
        }
    }

    /// Packets that arrived marked since the connection began.
    pub(crate) fn marked(&self) -> u64 {
        self.marked - FIRST_COUNT
    }

    /// Octets that have arrived, by the mark of their packets; zero without the option.
    pub(crate) fn octets(&self) -> OctetsByMark {
        self.octets.as_ref().map_or([0; 3], |octets| octets.octets())
    }

    /// The SYN-ACK came in a packet with this mark.
    pub(crate) fn on_syn_ack(&mut self, ecn: Ecn) {
        if self.feedback == Feedback::Accurate {
            //= rfc9768-3.2.2.1-last-ack
            self.once = Some(handshake_encoding(ecn));
        }
    }

    /// True if data that arrives tells of congestion at its sender: the first mark, or a retransmission, which alone is not ECN-capable
    /// where others are.
    pub(crate) fn tells_of_congestion(&mut self, flags: Flags, ecn: Ecn) -> bool {
        let had_capable = self.has_seen_capable;
        self.has_seen_capable |= ecn != Ecn::NotEct;
        match ecn {
            _ if self.feedback != Feedback::Classic => false,
            Ecn::NotEct => had_capable,
            Ecn::Ce => !self.echoes || flags.has(Flags::CWR),
            _ => false,
        }
    }

    /// True if the segment's mark differs from the last one's, so that a delayed ACK leaves first.
    pub(crate) fn changes(&self, ecn: Ecn, payload: u32) -> bool {
        self.feedback == Feedback::Exact && payload > 0 && self.echoes != (ecn == Ecn::Ce)
    }

    /// A segment arrived, with payload or without. Returns true if that is to be acknowledged at once: the first mark,
    /// and the answer to it.
    pub(crate) fn on_segment(&mut self, flags: Flags, ecn: Ecn, payload: u32) -> bool {
        let (is_marked, has_payload) = (ecn == Ecn::Ce, payload > 0);
        match self.feedback {
            Feedback::None => false,
            Feedback::Classic => {
                let answered = flags.has(Flags::CWR) && has_payload;
                //= rfc3168-6.1.3-mark-with-cwr
                if answered {
                    self.echoes = false;
                }
                // Marks on pure ACKs are answered by ACK congestion control, not by the data (RFC 5690 section 4).
                //= rfc3168-6.1.3-echo
                let begins = is_marked && has_payload && !self.echoes;
                self.echoes |= begins;
                begins || answered
            }
            //= rfc8257-3.2-echo
            Feedback::Exact => {
                has_payload && (std::mem::replace(&mut self.echoes, is_marked) != is_marked || flags.has(Flags::CWR))
            }
            Feedback::Accurate => {
                //= rfc9768-3.2.2-all-packets
                self.marked += u64::from(is_marked);
                let changes = self.octets.as_mut().is_some_and(|octets| octets.on_packet(ecn, payload));
                //= rfc9768-3.2.2.5.1-ack-at-marks
                is_marked || changes
            }
        }
    }

    /// Signals congestion to the sender on behalf of the application, like a mark on data. Returns true if it must be
    /// acknowledged at once.
    pub(crate) fn raise(&mut self) -> bool {
        self.on_segment(Flags::default(), Ecn::Ce, 1)
    }

    /// Flags of everything sent after the handshake.
    pub(crate) fn flags(&mut self) -> Flags {
        if let Some(flags) = self.once.take() {
            return flags;
        }
        match self.feedback {
            Feedback::Classic | Feedback::Exact if self.echoes => Flags::ECE,
            //= rfc9768-3.2.2-counter
            Feedback::Accurate => ace_flags(self.marked),
            _ => Flags::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: EcnConfig = EcnConfig {
        fallback: false,
        mode: EcnMode::Request,
        accurate: true,
        accurate_option: false,
        ect1: false,
        dctcp_feedback: false,
    };

    fn echo(flags: Flags, segments: u64) -> EcnEcho {
        EcnEcho { flags, segments, mss: 1_000 }
    }

    /// Linux 6.12 with BBR: CWR comes once, and not again before something is acknowledged that left after it.
    #[test]
    fn a_controller_that_answers_marks_itself_reports_that_once_for_what_is_outstanding() {
        let mut ecn = EcnSender::new(REQUEST);
        ecn.set_feedback(Feedback::Classic, false, false);
        let mut reports = |una, high_data| {
            ecn.on_answered(una, high_data);
            let owes = ecn.owes_cwr;
            ecn.withdraw();
            owes
        };
        let found = [reports(1, 5_001), reports(2_001, 6_001), reports(5_001, 9_001), reports(5_002, 9_001)];
        assert_eq!(found, [true, false, false, true]);
    }

    //= rfc9768-3.1.1-syn-ack
    //= rfc9768-3.1.1-syn
    #[test]
    fn the_accurate_handshake_is_that_of_table_2() {
        assert_eq!(syn_flags(REQUEST, 0), ALL); // AE=1 CWR=1 ECE=1
        let (feedback, flags) = answer(REQUEST, ALL, Ecn::NotEct);
        assert_eq!((feedback, flags), (Feedback::Accurate, Flags::CWR)); // 0 1 0
        assert_eq!(agreed(REQUEST, flags), Feedback::Accurate);
        assert_eq!(agreed(REQUEST, Flags::ECE), Feedback::Classic); // 0 0 1
        assert_eq!(agreed(REQUEST, Flags::default()), Feedback::None); // 0 0 0
        assert_eq!(agreed(REQUEST, ALL), Feedback::None); // 1 1 1: broken
    }

    //= rfc3168-6.1.1.1-fall-back
    //= rfc9768-3.1.4.1-fall-back
    #[test]
    fn a_syn_sent_again_asks_no_more_and_for_accurate_feedback_once_more() {
        let asks = |config, retries| syn_flags(config, retries) != Flags::default();
        let classic = EcnConfig { accurate: false, ..REQUEST };
        let [classic, accurate] = [classic, REQUEST].map(|config| EcnConfig { fallback: true, ..config });
        assert_eq!([0, 1].map(|retries| asks(classic, retries)), [true, false]);
        assert_eq!([0, 1, 2].map(|retries| asks(accurate, retries)), [true, true, false]);
        assert!(asks(REQUEST, 5)); // without it every SYN asks
    }

    //= rfc9768-3.2.2.5.1-ack-at-marks
    //= rfc9768-3.2.2.5.2-wraps
    //= rfc9768-3.2.2-counter
    //= rfc9768-3.2.1-from-five
    #[test]
    fn the_ace_field_starts_at_five_and_counts_modulo_eight() {
        let mut receiver = EcnReceiver::default();
        receiver.set_feedback(Feedback::Accurate, false);
        let mut sender = EcnSender::new(REQUEST);
        sender.set_feedback(Feedback::Accurate, false, false);
        assert_eq!(ace_of(receiver.flags()), 5);
        for _ in 0..4 {
            assert!(receiver.on_segment(Flags::ACK, Ecn::Ce, 1_000));
        }
        assert_eq!(ace_of(receiver.flags()), 1); // 5 + 4 - 8
        assert_eq!(sender.on_ack(&echo(receiver.flags(), 4)), 4);
        assert_eq!(sender.on_ack(&echo(receiver.flags(), 2)), 0);
    }

    //= rfc3168-6.1.3-echo
    #[test]
    fn the_classic_echo_lasts_until_cwr() {
        let mut receiver = EcnReceiver::default();
        receiver.set_feedback(Feedback::Classic, false);
        assert!(receiver.on_segment(Flags::ACK, Ecn::Ce, 1_000));
        assert!(!receiver.on_segment(Flags::ACK, Ecn::Ect0, 1_000));
        assert_eq!(receiver.flags(), Flags::ECE);
        receiver.on_segment(Flags::ACK.with(Flags::CWR), Ecn::Ect0, 1_000);
        assert_eq!(receiver.flags(), Flags::default());
    }

    //= rfc8257-3.2-two-acks
    //= rfc8257-3.2-echo
    #[test]
    fn the_exact_echo_says_how_the_latest_segment_arrived_and_tells_of_changes_at_once() {
        let config = EcnConfig { accurate: false, dctcp_feedback: true, ..REQUEST };
        let (feedback, flags) = answer(config, syn_flags(config, 0), Ecn::NotEct);
        assert_eq!((feedback, agreed(config, flags)), (Feedback::Exact, Feedback::Exact)); // RFC 3168's handshake
        let mut receiver = EcnReceiver::default();
        receiver.set_feedback(feedback, false);
        let mut arrive = |ecn| {
            let is_due = receiver.on_segment(Flags::ACK, ecn, 1_000);
            (is_due, receiver.flags() == Flags::ECE)
        };
        let arrivals = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ect0].map(&mut arrive);
        assert_eq!(arrivals, [(false, false), (true, true), (false, true), (true, false), (false, false)]);
        let mut sender = EcnSender::new(config);
        sender.set_feedback(feedback, false, false);
        assert_eq!(sender.on_ack(&echo(Flags::ECE, 2)), 2); // all that the ACK covers was marked
        assert_eq!(sender.on_ack(&echo(Flags::ACK, 2)), 0);
    }

    /// Linux 7.3: `tcp_ecn_accept_cwr` has data with CWR acknowledged at once.
    #[test]
    fn in_the_exact_echo_cwr_is_acknowledged_at_once_and_ends_nothing() {
        let mut receiver = EcnReceiver::default();
        receiver.set_feedback(Feedback::Exact, false);
        assert!(receiver.on_segment(Flags::ACK, Ecn::Ce, 1_000));
        assert!(receiver.on_segment(Flags::ACK.with(Flags::CWR), Ecn::Ce, 1_000));
        assert!(!receiver.on_segment(Flags::ACK.with(Flags::CWR), Ecn::Ce, 0));
        assert_eq!(receiver.flags(), Flags::ECE);
    }

    /// Linux 7.3: `tcp_ecn_send` clears ECT of a retransmission unless the controller needs ECN, as DCTCP does.
    #[test]
    fn retransmissions_are_ecn_capable_where_the_echo_is_exact() {
        let mark = |feedback| {
            let mut sender = EcnSender::new(REQUEST);
            sender.set_feedback(feedback, true, false);
            sender.mark_of_retransmission()
        };
        assert_eq!([Feedback::Classic, Feedback::Exact].map(mark), [Ecn::NotEct, Ecn::Ect0]);
    }

    /// Linux 6.12: data without ECT behind data with it, and the first mark until it is answered, begin quick ACKs.
    #[test]
    fn a_retransmission_or_the_first_mark_tells_of_congestion() {
        let mut receiver = EcnReceiver::default();
        receiver.set_feedback(Feedback::Classic, false);
        assert!(!receiver.tells_of_congestion(Flags::ACK, Ecn::NotEct));
        assert!(
            !receiver.tells_of_congestion(Flags::ACK, Ecn::Ect0)
                && receiver.tells_of_congestion(Flags::ACK, Ecn::NotEct)
        );
        assert!(receiver.tells_of_congestion(Flags::ACK, Ecn::Ce));
        receiver.on_segment(Flags::ACK, Ecn::Ce, 1_000);
        assert!(!receiver.tells_of_congestion(Flags::ACK, Ecn::Ce));
    }

    /// Table 4 of RFC 9768: 010 is not-ECT, as it was sent; 000 is a field that something has cleared, 011, 100 and 110 are marks
    /// that it did not have; the others are not used yet and prove nothing.
    //= rfc9768-3.2.2.3-mangled-handshake
    //= rfc9768-3.2.2.1-zeroed-field
    #[test]
    fn data_is_not_ecn_capable_if_the_handshake_was_changed_on_the_way() {
        let mark_after = |ace: u64| {
            let mut sender = EcnSender::new(REQUEST);
            sender.set_feedback(Feedback::Accurate, true, false);
            assert_eq!(sender.on_ack(&echo(ace_flags(ace), 0)), 0);
            sender.mark_new_data().0
        };
        let marks: Vec<bool> = (0..8).map(|ace| mark_after(ace) == Ecn::Ect0).collect();
        assert_eq!(marks, [false, true, true, false, false, true, false, true]);
    }
}
