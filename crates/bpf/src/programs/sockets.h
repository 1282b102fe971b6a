/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What an ACK tells, out of the kernel's socket; after kernel.h and core.h. */
#ifndef ACKCLOCK_SOCKETS_H
#define ACKCLOCK_SOCKETS_H

/* Counts that the kernel only ever adds to, as the last ACK left them, and the round trip under way. */
struct counts {
	u32 delivered;
	u32 lost;
	u32 round;
	u32 round_end;
};

INLINE u32 ca_state_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD((const struct inet_connection_sock *)tp, icsk_ca_state);
}

/* Fast recovery or the answer to a mark, in which the kernel itself reduces the window. */
INLINE u32 is_reducing(const struct tcp_sock *tp)
{
	u32 state = ca_state_of(tp);

	return state == TCP_CA_Recovery || state == TCP_CA_CWR;
}

/* As the kernel judges it: in slow start it is enough to have used half of the window. */
INLINE u32 is_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

INLINE void read_timestamps(struct ack *a, const struct tcp_sock *tp)
{
	/* without the option it was never set */
	if (!tp->rx_opt.rcv_tsecr)
		return;
	a->tsval = tp->rx_opt.rcv_tsval;
	a->tsecr = tp->rx_opt.rcv_tsecr;
	if (bpf_core_field_exists(tp->tcp_usec_ts) && BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts)) {
		a->arrival = tp->tcp_mstamp;
		a->tick_ns = 1000;
	} else {
		a->arrival = tp->tcp_mstamp / 1000;
		a->tick_ns = MILLISECOND;
	}
}

INLINE void read_ack(struct ack *a, const struct tcp_sock *tp, struct counts *c)
{
	a->now_ns = tp->tcp_mstamp * 1000;
	a->srtt_ns = (u64)(tp->srtt_us >> 3) * 1000;
	a->acked = tp->delivered - c->delivered;
	a->lost = tp->lost - c->lost;
	c->delivered = tp->delivered;
	c->lost = tp->lost;
	/* before the first ACK there may have been no sequence number yet */
	if (!c->round || (s32)(tp->snd_una - c->round_end) >= 0) {
		c->round++;
		c->round_end = tp->snd_nxt;
	}
	a->round = c->round;
	a->in_recovery = is_reducing(tp);
	a->is_cwnd_limited = is_limited(tp);
	read_timestamps(a, tp);
}

INLINE void begin_counts(struct counts *c, const struct tcp_sock *tp)
{
	c->delivered = tp->delivered;
	c->lost = tp->lost;
	c->round = 0;
}
#endif
