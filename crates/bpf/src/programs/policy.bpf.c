/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A trained policy as a controller of the kernel: the kernel's own CUBIC has slow start and answers losses; in between the policy is
 * asked whenever a decision is due.
 *
 * Source: crates/agent/src/agent.rs, for agents whose slow start and losses are the stack's. Departures from it: windows are whole
 * segments; an interval's losses are what the kernel has taken for lost in it, the retransmission timer's included; the threshold after a
 * congestion is ssthresh as the kernel has it then.
 *
 * There are two places for a policy, and one of them is in force: another is written to the place that is not, and then put in
 * force, for the connections that there are as well. What these remember of the one before is dropped: its weights made it. */
#include "kernel.h"
#include "policy.h"
#include "sockets.h"
#include "cubic.h"
#include "operations.h"

struct policy first SEC(".data.policy_0");
struct policy second SEC(".data.policy_1");
/* Counted up by each policy that is put in force; its last bit is the place. */
u32 in_force SEC(".data.in_force");
/* What was loaded, in words, for whoever lists it. */
char about[256] SEC(".data.about");

struct tally {
	u64 decisions;
	/* What they took, ns. */
	u64 spent_ns;
	u64 longest_ns;
};
struct tally tally SEC(".data.tally");

struct flow {
	struct counts counts;
	u64 from_us;
	u64 rtt_sum_us;
	u64 max_rate;
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

/* CUBIC has the socket's own room. */
#include "stored.h"

INLINE void begin_interval(struct flow *f, const struct tcp_sock *tp)
{
	f->from_us = tp->tcp_mstamp;
	f->rtt_sum_us = 0;
	f->rtt_count = f->acks = f->acked = f->lost = 0;
	f->window = tp->snd_cwnd;
}

SEC("struct_ops")
void BPF_PROG(ca_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = begin_flow(sk);

	cubictcp_init(sk);
	if (!f)
		return;
	begin_counts(&f->counts, tp);
	begin_interval(f, tp);
}

INLINE void tally_ack(struct flow *f, const struct ack *a)
{
	f->acks++;
	f->acked += a->acked;
	f->lost += a->lost;
	if (!a->rtt_ns)
		return;
	f->rtt_us = a->rtt_ns / 1000;
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

INLINE void ask(struct flow *f, struct tcp_sock *tp, const struct policy *p, u32 now_in_force)
{
	u64 began = bpf_ktime_get_ns(), spent;
	struct sight s = {};
	s64 decision;

	if (f->remembers != now_in_force) {
		__builtin_memset(&f->memory, 0, sizeof(f->memory));
		f->remembers = now_in_force;
	}
	see(&s, f, tp);
	look(p, &f->work, &s);
	decision = decide(p, &f->work, &f->memory);
	tp->snd_cwnd = least(window_after(p, decision, tp->snd_cwnd), tp->snd_cwnd_clamp);
	begin_interval(f, tp);
	spent = bpf_ktime_get_ns() - began;
	__sync_fetch_and_add(&tally.decisions, 1);
	__sync_fetch_and_add(&tally.spent_ns, spent);
	if (spent > tally.longest_ns)
		tally.longest_ns = spent;
}

SEC("struct_ops")
void BPF_PROG(ca_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	struct ack a = {};
	u32 is_first = 0, now_in_force = in_force;

	cubictcp_acked(sk, sample);
	if (!f)
		return;
	read_ack(&a, tp, &f->counts);
	a.rtt_ns = sample->rtt_us > 0 ? (u64)(u32)sample->rtt_us * 1000 : 0;
	tally_ack(f, &a);
	if (!f->is_in_charge) {
		if (tp->snd_cwnd < tp->snd_ssthresh)
			return;
		/* the first decision falls as soon as it is in charge */
		begin_interval(f, tp);
		is_first = 1;
	}
	if (ca_state_of(tp) >= TCP_CA_CWR)
		return;
	f->is_in_charge = 1;
	if (now_in_force & 1) {
		if (is_first || is_due(f, tp, &second))
			ask(f, tp, &second, now_in_force);
	} else if (is_first || is_due(f, tp, &first)) {
		ask(f, tp, &first, now_in_force);
	}
}

SEC("struct_ops")
void BPF_PROG(ca_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct flow *f = flow_of(sk);
	u32 goes_on = (in_force & 1 ? second.action : first.action) == ORCA;

	if (!f || !f->is_in_charge || goes_on)
		cubictcp_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ca_ssthresh, struct sock *sk)
{
	struct flow *f = flow_of(sk);
	__u32 threshold = cubictcp_recalc_ssthresh(sk);

	if (f)
		f->threshold = threshold;
	return threshold;
}

SEC("struct_ops")
void BPF_PROG(ca_state, struct sock *sk, __u8 state)
{
	struct flow *f = flow_of(sk);

	cubictcp_state(sk, state);
	/* slow start begins again */
	if (f && state == TCP_CA_Loss)
		f->is_in_charge = 0;
}

OPERATIONS("ac_policy", .pkts_acked = (void *)ca_acked, .cong_avoid = (void *)ca_cong_avoid, .set_state = (void *)ca_state);
