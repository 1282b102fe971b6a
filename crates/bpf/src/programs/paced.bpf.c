/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A controller of the kernel with a window and a rate of its own, out of the rules that RULE names: they are asked with every ACK, in
 * recoveries as well, where the kernel reduces nothing (as with its own BBR), and segments leave paced.
 *
 * Source: the kernel's struct tcp_congestion_ops with cong_control, by its behaviour in 6.18. Departures from crates/cc: after idle
 * time the window stays (the kernel restarts none of a controller that has cong_control); bursts are as large as the kernel's
 * pacing makes them. */
#include "kernel.h"
#include RULE
#include "sockets.h"
#include "operations.h"

struct params params SEC(".data.params");
/* What was loaded, in words, for whoever lists it. */
char about[256] SEC(".data.about");

struct flow {
	struct steering steering;
	u32 lost;
	u32 padding;
	struct rule rule;
};

#include "stored.h"

INLINE void read_report(struct report *a, const struct tcp_sock *tp, struct flow *f)
{
	u32 state = ca_state_of(tp);

	a->now_us = tp->tcp_mstamp;
	a->srtt_us = tp->srtt_us >> 3;
	a->delivered = tp->delivered;
	a->lost_ever = tp->lost;
	a->lost = tp->lost - f->lost;
	f->lost = tp->lost;
	a->inflight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;
	a->mss = tp->mss_cache;
	a->random = (u64)(bpf_get_prandom_u32() & 1) << 32 | bpf_get_prandom_u32();
	a->is_cwnd_limited = is_limited(tp);
	a->has_sack = BPF_CORE_READ_BITFIELD(tp, rx_opt.sack_ok) != 0;
	a->repair = state == TCP_CA_Recovery ? FAST_REPAIR : state == TCP_CA_Loss ? TIMEOUT_REPAIR : NO_REPAIR;
}

/* Apart from an ACK, whose losses these are not: they stay the next one's. */
INLINE void read_between(struct report *a, struct sock *sk, struct flow *f)
{
	read_report(a, (struct tcp_sock *)sk, f);
	f->lost -= a->lost;
}

INLINE void steer_socket(const struct flow *f, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 octets = f->steering.pacing_rate / 8;

	tp->snd_cwnd = least(most(whole(f->steering.cwnd), 1), tp->snd_cwnd_clamp);
	if (octets)
		sk->sk_pacing_rate = least(octets, sk->sk_max_pacing_rate);
}

SEC("struct_ops")
void BPF_PROG(ca_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = begin_flow(sk);
	struct report a = {};

	if (!f)
		return;
	f->lost = tp->lost;
	read_report(&a, tp, f);
	f->steering.cwnd = q32(tp->snd_cwnd);
	rule_init(&f->rule, &params, &a, &f->steering);
	sk->sk_pacing_status = SK_PACING_NEEDED;
	steer_socket(f, sk);
}

SEC("struct_ops")
void BPF_PROG(ca_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	struct report a = {};

	if (!f)
		return;
	read_report(&a, tp, f);
	a.rtt_us = rs->rtt_us > 0 ? rs->rtt_us : 0;
	a.acked = rs->acked_sacked;
	a.prior_inflight = rs->prior_in_flight;
	if (rs->delivered >= 0) {
		a.has_sample = 1;
		a.prior_delivered = rs->prior_delivered;
		a.sample_delivered = rs->delivered;
		a.interval_us = rs->interval_us > 0 ? rs->interval_us : 0;
		a.is_app_limited = rs->is_app_limited;
	}
	rule_on_ack(&f->rule, &params, &a, &f->steering);
	steer_socket(f, sk);
}

/* The kernel's own reductions ask for it; there are none here. */
SEC("struct_ops")
__u32 BPF_PROG(ca_ssthresh, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_ssthresh;
}

SEC("struct_ops")
void BPF_PROG(ca_state, struct sock *sk, __u8 state)
{
	struct flow *f = flow_of(sk);
	struct report a = {};

	if (!f || state != TCP_CA_Loss)
		return;
	read_between(&a, sk, f);
	rule_on_timeout(&f->rule, &params, &a, &f->steering);
	steer_socket(f, sk);
}

/* Data leaves while nothing is in flight. */
SEC("struct_ops")
void BPF_PROG(ca_event, struct sock *sk, __u32 event)
{
	struct flow *f = flow_of(sk);
	struct report a = {};

	if (!f || event != CA_EVENT_TX_START)
		return;
	read_between(&a, sk, f);
	/* tcp_mstamp is of before the pause */
	a.now_us = bpf_ktime_get_ns() / 1000;
	a.is_app_limited = ((struct tcp_sock *)sk)->app_limited != 0;
	rule_on_idle(&f->rule, &params, &a, &f->steering);
	steer_socket(f, sk);
}

SEC("struct_ops")
__u32 BPF_PROG(ca_undo, struct sock *sk)
{
	struct flow *f = flow_of(sk);
	struct report a = {};

	if (!f)
		return ((struct tcp_sock *)sk)->snd_cwnd;
	read_between(&a, sk, f);
	rule_on_undo(&f->rule, &params, &a, &f->steering);
	return most(whole(f->steering.cwnd), 1);
}

OPERATIONS(CA_NAME, .cong_control = (void *)ca_control, .set_state = (void *)ca_state);
