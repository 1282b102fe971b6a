/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A controller whose window and pacing rate come from user space: every ACK's measurements go into a ring, decisions come back
 * through a map and are in force from the next ACK on. While no decision has come for three round trips, or the last one was
 * absurd, the kernel's own CUBIC has the window.
 *
 * Departures from the kernel's CUBIC in that time: a window is reduced at once where the kernel would do so in proportion to
 * what arrives, since a controller that may pace has that to do by itself. */
#include "kernel.h"
#include "core.h"
#include "sockets.h"
#include "cubic.h"
#include "led.h"
#include "operations.h"

#define PATIENCE 3

/* The kernel's CUBIC has the socket's own room for a controller's state. */
struct flow {
	u64 heard_ns;
	u64 pacing_rate;
	u32 flow;
	u32 number;
	u32 cwnd;
	u32 owns_losses;
	u32 is_led;
	u32 padding;
};
#include "stored.h"

SEC("struct_ops")
void BPF_PROG(ca_init, struct sock *sk)
{
	struct flow *f = begin_flow(sk);

	cubictcp_init(sk);
	if (!f)
		return;
	f->flow = __sync_fetch_and_add(&counters.flows, 1) + 1;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* A window is absurd if no path could have come to need it since the last one. */
INLINE int is_absurd(const struct decision *d, const struct tcp_sock *tp)
{
	return !d->cwnd || d->cwnd > tp->snd_cwnd_clamp || d->cwnd > 16 * tp->snd_cwnd + 64;
}

INLINE void listen(struct flow *f, const struct tcp_sock *tp, u64 now)
{
	struct decision *d = next_decision(f->flow, &f->number);

	if (!d)
		return;
	if (is_absurd(d, tp)) {
		__sync_fetch_and_add(&counters.absurd, 1);
		f->heard_ns = 0;
		return;
	}
	f->heard_ns = now;
	f->cwnd = d->cwnd;
	f->pacing_rate = d->pacing_rate;
	f->owns_losses = d->owns_losses;
	count_in_force(d, now);
}

INLINE int is_heard(const struct flow *f, const struct tcp_sock *tp, u64 now)
{
	return f->heard_ns && now - f->heard_ns <= PATIENCE * most(tp->srtt_us >> 3, 1000) * 1000;
}

/* As the kernel paces: twice the window in a round trip in slow start, 1.2 times after it. */
INLINE u64 usual_rate(const struct tcp_sock *tp)
{
	u64 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	u64 rate = (u64)tp->mss_cache * most(tp->snd_cwnd, tp->packets_out) * percent * 10000;

	return rate / most(tp->srtt_us >> 3, 1);
}

INLINE void lead(struct sock *sk, struct tcp_sock *tp, struct flow *f)
{
	f->is_led = 1;
	if (ca_state_of(tp) < TCP_CA_CWR || f->owns_losses)
		tp->snd_cwnd = f->cwnd;
	else
		tp->snd_cwnd = least(f->cwnd, most(tp->snd_ssthresh, 2));
}

INLINE void fall_back(struct sock *sk, struct tcp_sock *tp, struct flow *f, u32 ack, u32 acked)
{
	if (f->is_led) {
		f->is_led = 0;
		__sync_fetch_and_add(&counters.fallbacks, 1);
		cubictcp_init(sk);
	}
	if (is_reducing(tp)) {
		if (tp->snd_cwnd > tp->snd_ssthresh)
			tp->snd_cwnd = most(tp->snd_ssthresh, 2);
	} else if (acked) {
		cubictcp_cong_avoid(sk, ack, acked);
	}
}

INLINE void tell(struct sock *sk, const struct tcp_sock *tp, const struct flow *f, const struct rate_sample *rs, u64 now)
{
	struct observation *o = observe(sk, tp, now);

	if (!o)
		return;
	o->flow = f->flow;
	o->rtt_us = rs->rtt_us > 0 ? rs->rtt_us : 0;
	o->acked = rs->acked_sacked;
	o->lost = rs->losses > 0 ? rs->losses : 0;
	o->delivered = rs->delivered > 0 ? rs->delivered : 0;
	o->interval_us = rs->interval_us > 0 ? rs->interval_us : 0;
	o->decision = f->number;
	o->is_led = f->is_led;
	bpf_ringbuf_submit(o, 0);
}

SEC("struct_ops")
void BPF_PROG(ca_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	u64 now = bpf_ktime_get_ns();

	if (!f)
		return;
	__sync_fetch_and_add(&counters.acks, 1);
	listen(f, tp, now);
	if (is_heard(f, tp, now))
		lead(sk, tp, f);
	else
		fall_back(sk, tp, f, ack, rs->acked_sacked);
	if (tp->srtt_us)
		sk->sk_pacing_rate = f->is_led && f->pacing_rate ? f->pacing_rate : usual_rate(tp);
	tell(sk, tp, f, rs, now);
}

SEC("struct_ops")
__u32 BPF_PROG(ca_ssthresh, struct sock *sk)
{
	struct flow *f = flow_of(sk);

	if (f && f->is_led && f->owns_losses)
		return most(((struct tcp_sock *)sk)->snd_cwnd, 2);
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(ca_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
}

OPERATIONS("ackclock_agent", .cong_control = (void *)ca_control, .set_state = (void *)ca_state, .pkts_acked = (void *)ca_acked);
