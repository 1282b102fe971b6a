/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the programs read of the kernel: of each structure only the members used, found in the running kernel's own layout
 * when a program is loaded (CO-RE), so that no header of a kernel is needed. The names are the kernel's. */
#ifndef ACKCLOCK_KERNEL_H
#define ACKCLOCK_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	__u8 octets[16];
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__u16 skc_family;
	__be16 skc_dport;
	__u16 skc_num;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_common __sk_common;
	struct sock_cgroup_data sk_cgrp_data;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

/* The name alone: the operations that programs set are below. */
struct tcp_congestion_ops___named {
	char name[16];
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5;
	__u32 icsk_rto;
	const struct tcp_congestion_ops___named *icsk_ca_ops;
	__u64 icsk_ca_priv[13];
};

struct minmax_sample {
	__u32 t;
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	__u32 rcv_tsval;
	__u32 rcv_tsecr;
	__u16 sack_ok : 3;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_cwnd_clamp;
	__u32 snd_cwnd_cnt;
	__u32 prior_cwnd;
	__u32 max_packets_out;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 delivered;
	__u32 lost;
	__u32 app_limited;
	__u32 srtt_us;
	__u32 mdev_us;
	__u32 rttvar_us;
	__u32 snd_wnd;
	__u32 data_segs_out;
	__u32 dsack_dups;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 mss_cache;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u64 tcp_mstamp;
	__u64 bytes_acked;
	__u64 bytes_sent;
	__u64 bytes_retrans;
	__u64 bytes_received;
	struct minmax rtt_min;
	struct tcp_options_received rx_opt;
	__u8 is_cwnd_limited : 1;
	__u8 tcp_usec_ts : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

struct rate_sample {
	__u32 prior_delivered;
	__s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	__u32 acked_sacked;
	__u32 prior_in_flight;
	bool is_app_limited;
};

#pragma clang attribute pop

/* The members that controllers here set; libbpf puts each into its place in the running kernel's structure. */
struct tcp_congestion_ops {
	char name[16];
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, __u32 event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 flags;
};

/* enum tcp_ca_state and enum tcp_ca_event of the kernel, which are part of its interface to user space and to modules. */
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum tcp_ca_event { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS };

#define SK_PACING_NEEDED 1

/* The kernel lets a program call some of its functions only if it says that it goes with the GPL; MIT does. */
char _license[] SEC("license") = "Dual MIT/GPL";
#endif
