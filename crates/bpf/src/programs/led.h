/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the controllers that user space has a say in share: a ring of what ACKs tell, slots of decisions, counts; after kernel.h,
 * core.h, sockets.h and cubic.h. The layouts are read by src/agent.rs and python/ackclock/running/kernel_agent.py. */
#ifndef ACKCLOCK_LED_H
#define ACKCLOCK_LED_H

#define SLOTS 4096

/* What user space decides for the connection of a slot. */
struct decision {
	u32 number;
	u32 flow;
	/* Segments; for cubic_corrected by how much the window is multiplied, in 65536ths. */
	u32 cwnd;
	/* Losses reduce nothing: the next decision answers them. */
	u32 owns_losses;
	/* Octets a second; 0: as the window and the round trip have it. */
	u64 pacing_rate;
	u64 decided_ns;
};

struct observation {
	u64 time_ns;
	u64 pacing_rate;
	u32 flow;
	u32 local_port;
	u32 cwnd;
	u32 ssthresh;
	u32 srtt_us;
	u32 min_rtt_us;
	u32 rtt_us;
	u32 inflight;
	u32 acked;
	u32 lost;
	u32 state;
	u32 delivered;
	u32 interval_us;
	u32 mss;
	u32 decision;
	/* 1 while decisions are in force, 0 while CUBIC has the window. */
	u32 is_led;
};

struct counters {
	u64 acks;
	u64 missed;
	u64 in_force;
	u64 absurd;
	u64 fallbacks;
	u64 waited_ns;
	u64 flows;
};
struct counters counters SEC(".data.counters");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} observations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	/* so that a decision is a few stores of whoever decides, and no system call */
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS);
	__type(key, u32);
	__type(value, struct decision);
} decisions SEC(".maps");

/* The decision for a connection that has not been looked at yet, or NULL; it counts as looked at. */
INLINE struct decision *next_decision(u32 flow, u32 *number)
{
	u32 slot = flow % SLOTS;
	struct decision *d = bpf_map_lookup_elem(&decisions, &slot);

	if (!d || d->flow != flow || d->number == *number)
		return 0;
	*number = d->number;
	return d;
}

INLINE void count_in_force(const struct decision *d, u64 now)
{
	__sync_fetch_and_add(&counters.in_force, 1);
	if (now > d->decided_ns)
		__sync_fetch_and_add(&counters.waited_ns, now - d->decided_ns);
}

/* Room in the ring with what the socket itself tells; NULL if there is none. */
INLINE struct observation *observe(struct sock *sk, const struct tcp_sock *tp, u64 now)
{
	struct observation *o = bpf_ringbuf_reserve(&observations, sizeof(*o), 0);

	if (!o) {
		__sync_fetch_and_add(&counters.missed, 1);
		return 0;
	}
	o->time_ns = now;
	o->pacing_rate = sk->sk_pacing_rate;
	o->local_port = sk->__sk_common.skc_num;
	o->cwnd = tp->snd_cwnd;
	o->ssthresh = tp->snd_ssthresh;
	o->srtt_us = tp->srtt_us >> 3;
	o->min_rtt_us = tp->rtt_min.s[0].v;
	o->inflight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;
	o->state = ca_state_of(tp);
	o->mss = tp->mss_cache;
	return o;
}

SEC("struct_ops")
void BPF_PROG(ca_state, struct sock *sk, __u8 state)
{
	cubictcp_state(sk, state);
}
#endif
