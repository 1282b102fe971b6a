//! Invariants of a receiving half after every call.

use super::Receiver;

impl Receiver {
    /// Panics with the promise that is broken.
    pub(crate) fn check_invariants(&self) {
        assert!(self.rcv_nxt >= 1, "an open connection has received a SYN: {self:?}");
        let in_order = self.out_of_order.iter().next().is_none_or(|first| first.start > self.rcv_nxt);
        assert!(in_order, "RCV.NXT is the first octet that has not arrived: {self:?}");
        assert!(self.fin_at.is_none_or(|fin| self.rcv_nxt <= fin + 1), "nothing follows a FIN: {self:?}");
        assert!(self.last_ack_sent <= self.rcv_nxt, "an ACK never covers what has not arrived: {self:?}");
        assert!(self.unread() <= self.payload_octets(), "what is unread has arrived: {self:?}");
    }
}
