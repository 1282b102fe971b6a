/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's own CUBIC with a factor from outside: each decision multiplies the window once, and CUBIC goes on from there, with
 * its slow start, its losses and the kernel's recovery. Without decisions it is CUBIC and nothing else.
 *
 * Source: the shape of Orca (Abbasloo et al., SIGCOMM 2020, equation (1): cwnd = 2^a cwnd, a from -2 to 2), whose authors set the
 * window of a patched kernel from user space. Departures: a decision that falls into a recovery, or into the repair after a
 * timeout, waits for its end, since there the kernel itself sets the window; CUBIC's curve is not told of the factor, so that it
 * draws the window back to itself, as it does in Orca; the rate is the kernel's, whatever a decision says of one. */
#include "kernel.h"
#include "core.h"
#include "sockets.h"
#include "cubic.h"
#include "led.h"
#include "operations.h"

/* A factor of one, and those of a = -2 and a = 2. */
#define UNIT 65536U
#define LEAST_FACTOR (UNIT / 4)
#define MOST_FACTOR (UNIT * 4)

/* The kernel's CUBIC has the socket's own room for a controller's state. */
struct flow {
	struct counts counts;
	u32 flow;
	u32 number;
	/* Not in force yet; none: 0. */
	u32 factor;
	/* A decision has ever been in force. */
	u32 is_led;
};
#include "stored.h"

SEC("struct_ops")
void BPF_PROG(ca_init, struct sock *sk)
{
	struct flow *f = begin_flow(sk);

	cubictcp_init(sk);
	if (!f)
		return;
	begin_counts(&f->counts, (struct tcp_sock *)sk);
	f->flow = __sync_fetch_and_add(&counters.flows, 1) + 1;
}

INLINE void listen(struct flow *f, u64 now)
{
	struct decision *d = next_decision(f->flow, &f->number);

	if (!d)
		return;
	if (d->cwnd < LEAST_FACTOR || d->cwnd > MOST_FACTOR) {
		__sync_fetch_and_add(&counters.absurd, 1);
		return;
	}
	f->factor = d->cwnd;
	count_in_force(d, now);
}

INLINE void correct(struct flow *f, struct tcp_sock *tp)
{
	u64 cwnd;

	if (!f->factor || ca_state_of(tp) >= TCP_CA_CWR)
		return;
	cwnd = (u64)tp->snd_cwnd * f->factor / UNIT;
	tp->snd_cwnd = least(most(cwnd, 2), tp->snd_cwnd_clamp);
	f->factor = 0;
	f->is_led = 1;
}

/* Every ACK comes here, before the window may grow. */
SEC("struct_ops")
void BPF_PROG(ca_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	struct observation *o;
	struct ack a = {};
	u64 now;

	cubictcp_acked(sk, sample);
	if (!f)
		return;
	now = bpf_ktime_get_ns();
	__sync_fetch_and_add(&counters.acks, 1);
	read_ack(&a, tp, &f->counts);
	listen(f, now);
	correct(f, tp);
	o = observe(sk, tp, now);
	if (!o)
		return;
	o->flow = f->flow;
	o->rtt_us = sample->rtt_us > 0 ? sample->rtt_us : 0;
	o->acked = a.acked;
	o->lost = a.lost;
	/* of the last sample before this ACK: this one's is not taken yet */
	o->delivered = tp->rate_delivered;
	o->interval_us = tp->rate_interval_us;
	o->decision = f->number;
	o->is_led = f->is_led;
	bpf_ringbuf_submit(o, 0);
}

SEC("struct_ops")
void BPF_PROG(ca_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	cubictcp_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ca_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

OPERATIONS("cubic_corrected", .pkts_acked = (void *)ca_acked, .cong_avoid = (void *)ca_cong_avoid, .set_state = (void *)ca_state);
