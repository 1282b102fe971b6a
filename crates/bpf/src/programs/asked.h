/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* When a policy is asked, and what it sees of a connection; after policy.h, the kernel's sockets, and `ca_state_of` and `is_reducing`.
 *
 * Source: crates/agent/src/agent.rs, for agents whose slow start and losses are the stack's. Departures from it: windows are whole
 * segments; an interval's losses are what the kernel has taken for lost in it, the retransmission timer's included; the threshold after a
 * congestion is ssthresh as the kernel has it then. */
#ifndef ACKCLOCK_ASKED_H
#define ACKCLOCK_ASKED_H

struct flow {
	u64 from_us;
	u64 rtt_sum_us;
	u64 max_rate;
	/* Counts that the kernel only ever adds to, as the last ACK left them. */
	u32 all_delivered;
	u32 all_lost;
	u32 rtt_count;
	u32 rtt_us;
	u32 acks;
	u32 acked;
	u32 lost;
	u32 window;
	u32 threshold;
	u32 is_in_charge;
	/* What was in force when the memory was made. */
	u32 remembers;
	struct memory memory;
	struct work work;
};

INLINE void begin_interval(struct flow *f, const struct tcp_sock *tp)
{
	f->from_us = tp->tcp_mstamp;
	f->rtt_sum_us = 0;
	f->rtt_count = f->acks = f->acked = f->lost = 0;
	f->window = tp->snd_cwnd;
}

INLINE void begin_asking(struct flow *f, const struct tcp_sock *tp)
{
	f->all_delivered = tp->delivered;
	f->all_lost = tp->lost;
	begin_interval(f, tp);
}

/* An ACK; `rtt_us` is its round trip, none: 0 or less. */
INLINE void tally_ack(struct flow *f, const struct tcp_sock *tp, s32 rtt_us)
{
	f->acks++;
	f->acked += tp->delivered - f->all_delivered;
	f->lost += tp->lost - f->all_lost;
	f->all_delivered = tp->delivered;
	f->all_lost = tp->lost;
	if (rtt_us <= 0)
		return;
	f->rtt_us = rtt_us;
	f->rtt_sum_us += f->rtt_us;
	f->rtt_count++;
}

INLINE u32 is_due(const struct flow *f, const struct tcp_sock *tp, const struct policy *p)
{
	if (p->decide == BY_ACKS)
		return f->acks >= p->every;
	if (p->decide == BY_WINDOW)
		return f->acked >= f->window;
	return tp->tcp_mstamp - f->from_us >= (u64)(tp->srtt_us >> 3) * p->every / 1000;
}

/* Whether an ACK that has been tallied is one to ask the policy at. */
INLINE u32 is_to_ask(struct flow *f, const struct tcp_sock *tp, const struct policy *p)
{
	u32 is_first = !f->is_in_charge;

	if (is_first) {
		if (tp->snd_cwnd < tp->snd_ssthresh)
			return 0;
		/* the first decision falls as soon as it is in charge */
		begin_interval(f, tp);
	}
	if (ca_state_of(tp) >= TCP_CA_CWR)
		return 0;
	f->is_in_charge = 1;
	return is_first || is_due(f, tp, p);
}

INLINE void see(struct sight *s, struct flow *f, const struct tcp_sock *tp)
{
	s->cwnd = (u64)tp->snd_cwnd << 16;
	s->ssthresh = tp->snd_ssthresh == NO_SSTHRESH ? 0 : (u64)tp->snd_ssthresh << 16;
	s->threshold = (u64)f->threshold << 16;
	s->acked = (u64)f->acked << 16;
	s->lost = (u64)f->lost << 16;
	s->rtt_us = f->rtt_us;
	s->srtt_us = tp->srtt_us >> 3;
	s->min_rtt_us = tp->rtt_min.s[0].v;
	s->mean_rtt_us = f->rtt_count ? f->rtt_sum_us / f->rtt_count : f->rtt_us;
	s->interval_us = tp->tcp_mstamp - f->from_us;
	s->acks = f->acks;
	s->in_slow_start = tp->snd_cwnd < tp->snd_ssthresh;
	s->in_recovery = is_reducing(tp);
	if (s->interval_us)
		s->delivery_rate = least((u64)f->acked * tp->mss_cache * 8000000 / s->interval_us, MOST_BPS);
	f->max_rate = s->max_delivery_rate = most(f->max_rate, s->delivery_rate);
}

/* Asks the policy, and puts the window in force that it decides on. */
INLINE void ask(struct flow *f, struct tcp_sock *tp, const struct policy *p)
{
	struct sight s = {};
	s64 decision;

	see(&s, f, tp);
	look(p, &f->work, &s);
	decision = decide(p, &f->work, &f->memory);
	tp->snd_cwnd = least(window_after(p, decision, tp->snd_cwnd), tp->snd_cwnd_clamp);
	begin_interval(f, tp);
}

/* The congestion state is about to change: after a timeout slow start begins again. */
INLINE void on_state(struct flow *f, u32 state)
{
	if (state == TCP_CA_Loss)
		f->is_in_charge = 0;
}
#endif
