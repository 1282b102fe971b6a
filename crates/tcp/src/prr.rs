//! Proportional Rate Reduction (RFC 9937): how much to send on each ACK of a fast recovery, so that the window reaches
//! ssthresh when the recovery ends and not at once.
//!
//! Departures: none.

/// The state of one recovery; all in octets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    ssthresh: u64,
    /// `RecoverFS`: what was outstanding and not delivered when the recovery began.
    recover_fs: u64,
    delivered: u64,
    out: u64,
    /// Amounts are multiples of this: one octet, or a segment where windows count segments.
    unit: u64,
}

/// Values of an ACK that PRR needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrrAck {
    /// Octets newly delivered (`DeliveredData`).
    pub(crate) delivered: u64,
    /// `inflight`, after the scoreboard took in the ACK.
    pub(crate) pipe: u64,
    /// `SafeACK`: the ACK advanced `snd_una` and reported no further loss.
    pub(crate) is_safe: bool,
    pub(crate) mss: u64,
}

impl Prr {
    pub(crate) fn new(ssthresh: u64, recover_fs: u64, unit: u64) -> Self {
        Self { ssthresh, recover_fs: recover_fs.max(1), delivered: 0, out: 0, unit }
    }

    /// The window after this ACK (RFC 9937 section 6).
    pub(crate) fn on_ack(&mut self, ack: PrrAck) -> u64 {
        self.delivered += ack.delivered;
        let mut send = if ack.pipe > self.ssthresh {
            //= rfc9937-5-proportional
            let product = u128::from(self.delivered) * u128::from(self.ssthresh);
            let units = product.div_ceil(u128::from(self.recover_fs) * u128::from(self.unit)) as u64;
            (units * self.unit).saturating_sub(self.out) // more may have been sent than delivered
        } else {
            //= rfc9937-5-reduction-bound
            let mut send = self.delivered.saturating_sub(self.out).max(ack.delivered);
            if ack.is_safe {
                send += ack.mss;
            }
            //= rfc9937-5-not-above-ssthresh
            send.min(self.ssthresh - ack.pipe)
        };
        if self.out == 0 {
            //= rfc9937-5-fast-retransmit
            send = send.max(ack.mss); // the fast retransmit
        }
        ack.pipe + send
    }

    /// Lowers ssthresh.
    pub(crate) fn reduce_to(&mut self, ssthresh: u64) {
        self.ssthresh = self.ssthresh.min(ssthresh);
    }

    pub(crate) fn on_sent(&mut self, size: u64) {
        self.out += size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    /// Worked by hand from section 6: 20 segments in flight, the first lost, Reno's ssthresh of 10: one segment sent for
    /// every two delivered.
    //= rfc9937-5-proportional
    #[test]
    fn one_loss_halves_the_sending_rate() {
        let mut prr = Prr::new(10 * MSS, 20 * MSS, 1);
        let mut sent = 0;
        let mut pipe = 19 * MSS;
        for _ in 0..19 {
            pipe -= MSS;
            let cwnd = prr.on_ack(PrrAck { delivered: MSS, pipe, is_safe: false, mss: MSS });
            while pipe + MSS <= cwnd {
                pipe += MSS;
                sent += 1;
                prr.on_sent(MSS);
            }
        }
        assert_eq!(sent, 10); // ceil(19 * 10/20)
        assert_eq!(pipe, 10 * MSS);
    }

    #[test]
    fn in_segments_the_part_of_one_is_a_whole_one() {
        // CUBIC's 7 of 10: one delivered: 0.7 of a segment, so one; two: 1.4, so two.
        let mut prr = Prr::new(7 * MSS, 10 * MSS, MSS);
        let ack = PrrAck { delivered: MSS, pipe: 8 * MSS, is_safe: false, mss: MSS };
        assert_eq!(prr.on_ack(ack), 9 * MSS);
        prr.on_sent(MSS);
        assert_eq!(prr.on_ack(ack), 9 * MSS);
    }

    //= rfc9937-5-reduction-bound
    #[test]
    fn below_ssthresh_it_sends_what_is_delivered_and_one_more_on_safe_acks() {
        let mut prr = Prr::new(10 * MSS, 20 * MSS, 1);
        prr.on_sent(MSS);
        let ack = PrrAck { delivered: 2 * MSS, pipe: 4 * MSS, is_safe: false, mss: MSS };
        assert_eq!(prr.on_ack(ack), 6 * MSS);
        prr.on_sent(2 * MSS);
        assert_eq!(prr.on_ack(PrrAck { is_safe: true, ..ack }), 7 * MSS);
    }
}
