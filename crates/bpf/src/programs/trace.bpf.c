/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The state of TCP connections when they are established and closed, at each segment that they receive, at each change of their
 * congestion state and at each retransmission, into a ring that user space empties at its leisure. It watches the connections of one port, at either end, or
 * of one cgroup, whatever their controller.
 *
 * Source: the kernel's tracepoints tcp_probe, tcp_cong_state_set, tcp_retransmit_skb and
 * inet_sock_set_state. A segment's state is that which it
 * finds: the tracepoint lies before it is processed. */
#include "kernel.h"

enum kind { SEGMENT, STATE, RETRANSMISSION, ESTABLISHED, CLOSED };

/* States of a connection, part of the kernel's interface to user space. */
#define TCP_ESTABLISHED 1
#define TCP_CLOSE 7
#define AF_INET6 10

struct record {
	__u64 time_ns;
	__u64 flow;
	__u64 pacing_rate;
	__u64 bytes_acked;
	__u64 bytes_sent;
	__u64 bytes_retrans;
	__u64 bytes_received;
	__u32 kind;
	__u32 state;
	__u32 local_port;
	__u32 remote_port;
	__u32 cwnd;
	__u32 ssthresh;
	__u32 srtt_us;
	__u32 min_rtt_us;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 mss;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u32 rttvar_us;
	__u32 snd_wnd;
	__u32 data_segs_out;
	__u32 dsack_dups;
	__u32 family;
	__u32 flight_bytes;
	__u32 srtt_eighths;
	__u32 lost;
	__u8 local[16];
	__u8 remote[16];
	char controller[16];
};

struct wanted {
	__u64 cgroup;
	__u64 port;
};
struct wanted wanted SEC(".data.wanted");
/* Records that the ring had no room for. */
__u64 missed SEC(".data.missed");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} records SEC(".maps");

/* Addresses as on the wire: four octets of IPv4, sixteen of IPv6. */
static __always_inline void name_ends(struct record *r, const struct sock *sk)
{
	r->family = sk->__sk_common.skc_family;
	__builtin_memset(r->local, 0, 32);
	if (r->family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&r->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&r->remote, sk, __sk_common.skc_v6_daddr);
	} else {
		*(__u32 *)r->local = sk->__sk_common.skc_rcv_saddr;
		*(__u32 *)r->remote = sk->__sk_common.skc_daddr;
	}
}

static __always_inline int is_wanted(const struct sock *sk)
{
	__u32 remote = bpf_ntohs(sk->__sk_common.skc_dport);

	if (wanted.port && sk->__sk_common.skc_num != wanted.port && remote != wanted.port)
		return 0;
	return !wanted.cgroup || sk->sk_cgrp_data.cgroup->kn->id == wanted.cgroup;
}

static __always_inline __u32 state_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD((const struct inet_connection_sock *)tp, icsk_ca_state);
}

/* `state` is the one to come where that is what happens, -1 otherwise. */
static __always_inline void note(struct sock *sk, __u32 kind, __s32 state)
{
	const struct tcp_sock *tp;
	struct record *r;

	if (!is_wanted(sk))
		return;
	tp = (const struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&missed, 1);
		return;
	}
	r->time_ns = bpf_ktime_get_ns();
	r->flow = bpf_get_socket_cookie(sk);
	r->pacing_rate = sk->sk_pacing_rate;
	r->bytes_acked = tp->bytes_acked;
	r->kind = kind;
	r->state = state < 0 ? state_of(tp) : (__u32)state;
	r->local_port = sk->__sk_common.skc_num;
	r->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	r->cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->srtt_us = tp->srtt_us >> 3;
	r->min_rtt_us = tp->rtt_min.s[0].v;
	r->packets_out = tp->packets_out;
	r->sacked_out = tp->sacked_out;
	r->lost_out = tp->lost_out;
	r->retrans_out = tp->retrans_out;
	r->total_retrans = tp->total_retrans;
	r->mss = tp->mss_cache;
	r->rate_delivered = tp->rate_delivered;
	r->rate_interval_us = tp->rate_interval_us;
	r->bytes_sent = tp->bytes_sent;
	r->bytes_retrans = tp->bytes_retrans;
	r->bytes_received = tp->bytes_received;
	r->rttvar_us = tp->rttvar_us >> 2;
	r->snd_wnd = tp->snd_wnd;
	r->data_segs_out = tp->data_segs_out;
	r->dsack_dups = tp->dsack_dups;
	r->flight_bytes = tp->snd_nxt - tp->snd_una;
	r->srtt_eighths = tp->srtt_us;
	r->lost = tp->lost;
	name_ends(r, sk);
	BPF_CORE_READ_INTO(&r->controller, (const struct inet_connection_sock *)tp, icsk_ca_ops, name);
	/* nobody is woken: who reads looks by itself, which costs connections less */
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk)
{
	note(sk, SEGMENT, -1);
	return 0;
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(on_state, struct sock *sk, __u8 state)
{
	note(sk, STATE, state);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmission, struct sock *sk)
{
	note(sk, RETRANSMISSION, -1);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_connection, struct sock *sk, int before, int now)
{
	if (now == TCP_ESTABLISHED)
		note(sk, ESTABLISHED, -1);
	else if (now == TCP_CLOSE)
		note(sk, CLOSED, -1);
	return 0;
}
