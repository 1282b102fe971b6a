/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A controller of the kernel out of the rules that RULE names: their window in place of the kernel's, whose recovery,
 * proportional rate reduction and undo stay.
 *
 * Source: the kernel's struct tcp_congestion_ops, by its behaviour in 6.18. Departures from crates/cc: what a loss leaves is taken
 * of cwnd, as the kernel's controllers do, not of what is in flight; an undo restores cwnd and ssthresh as the kernel keeps them. */
#include "kernel.h"
#include RULE
#include "sockets.h"
#include "operations.h"

struct params params SEC(".data.params");
/* What was loaded, in words, for whoever lists it. */
char about[256] SEC(".data.about");

struct flow {
	struct window window;
	struct counts counts;
	struct rule rule;
};

#ifdef STORED
#include "stored.h"
#else
_Static_assert(sizeof(struct flow) <= 104, "a flow's state lies in icsk_ca_priv, which has 104 octets");

INLINE struct flow *flow_of(struct sock *sk)
{
	return (struct flow *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

INLINE struct flow *begin_flow(struct sock *sk)
{
	struct flow *f = flow_of(sk);

	*f = (struct flow){};
	return f;
}
#endif

INLINE void take_window(struct flow *f, const struct tcp_sock *tp)
{
	window_sync(&f->window, tp->snd_cwnd, tp->snd_ssthresh);
}

INLINE void give_window(const struct flow *f, struct tcp_sock *tp)
{
	u32 cwnd = whole(f->window.cwnd), ssthresh = whole(f->window.ssthresh);

	if (cwnd != tp->snd_cwnd)
		tp->snd_cwnd = least(most(cwnd, 1), tp->snd_cwnd_clamp);
	if (ssthresh != tp->snd_ssthresh)
		tp->snd_ssthresh = ssthresh;
}

SEC("struct_ops")
void BPF_PROG(ca_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = begin_flow(sk);

	if (!f)
		return;
	begin_counts(&f->counts, tp);
	rule_init(&f->rule, &params);
	take_window(f, tp);
}

SEC("struct_ops")
void BPF_PROG(ca_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	struct ack a = {};

	if (!f)
		return;
	read_ack(&a, tp, &f->counts);
	a.rtt_ns = sample->rtt_us > 0 ? (u64)(u32)sample->rtt_us * 1000 : 0;
	a.is_cumulative = sample->pkts_acked > 0;
	take_window(f, tp);
	rule_on_ack(&f->rule, &params, &a, &f->window);
	if (!a.in_recovery)
		give_window(f, tp);
}

SEC("struct_ops")
void BPF_PROG(ca_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	struct ack a = {};

	if (!f || !is_limited(tp))
		return;
	a.now_ns = tp->tcp_mstamp * 1000;
	a.acked = acked;
	take_window(f, tp);
	rule_grow(&f->rule, &params, &a, &f->window);
	give_window(f, tp);
}

SEC("struct_ops")
__u32 BPF_PROG(ca_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);

	if (!f)
		return most(tp->snd_cwnd / 2, 2);
	take_window(f, tp);
	f->window.ssthresh = most(rule_decrease(&f->rule, &params, tp->tcp_mstamp * 1000, f->window.cwnd), 2 * ONE);
	f->window.after_timeout = 0;
	return whole(f->window.ssthresh);
}

/* An episode begins with an expiry of the retransmission timer; ssthresh has been asked for before. */
INLINE void begin_loss(struct flow *f, struct tcp_sock *tp)
{
	u64 threshold = rule_on_timeout(&f->rule, &params, q32(tp->snd_cwnd));

	if (threshold) {
		f->window.ssthresh = most(threshold, 2 * ONE);
		tp->snd_ssthresh = whole(f->window.ssthresh);
	}
}

SEC("struct_ops")
void BPF_PROG(ca_event, struct sock *sk, __u32 event)
{
	struct flow *f = flow_of(sk);

	if (!f)
		return;
	if (event == CA_EVENT_LOSS)
		begin_loss(f, (struct tcp_sock *)sk);
	else if (event == CA_EVENT_TX_START)
		rule_on_idle(&f->rule, &params);
	else if (event == CA_EVENT_CWND_RESTART)
		f->window.after_timeout = 0;
}

/* The retransmission timer has expired, within an episode or not: of one that is under way nothing else tells. */
SEC("struct_ops")
void BPF_PROG(ca_state, struct sock *sk, __u8 state)
{
	struct flow *f = flow_of(sk);

	if (!f || state != TCP_CA_Loss)
		return;
	f->window.after_timeout = 1;
	rule_on_timeout(&f->rule, &params, f->window.cwnd);
}

SEC("struct_ops")
__u32 BPF_PROG(ca_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	return most(tp->snd_cwnd, tp->prior_cwnd);
}

OPERATIONS(CA_NAME, .pkts_acked = (void *)ca_acked, .cong_avoid = (void *)ca_cong_avoid, .set_state = (void *)ca_state);
