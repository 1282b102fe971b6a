/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A trained policy as a controller of the kernel: the kernel's own CUBIC has slow start and answers losses; in between the policy is
 * asked whenever a decision is due.
 *
 * Source: asked.h, with its departures.
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

#include "asked.h"
/* CUBIC has the socket's own room. */
#include "stored.h"

SEC("struct_ops")
void BPF_PROG(ca_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = begin_flow(sk);

	cubictcp_init(sk);
	if (!f)
		return;
	begin_asking(f, tp);
}

INLINE void ask_in_time(struct flow *f, struct tcp_sock *tp, const struct policy *p, u32 now_in_force)
{
	u64 began = bpf_ktime_get_ns(), spent;

	if (f->remembers != now_in_force) {
		__builtin_memset(&f->memory, 0, sizeof(f->memory));
		f->remembers = now_in_force;
	}
	ask(f, tp, p);
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
	u32 now_in_force = in_force;

	cubictcp_acked(sk, sample);
	if (!f)
		return;
	tally_ack(f, tp, sample->rtt_us);
	if (now_in_force & 1) {
		if (is_to_ask(f, tp, &second))
			ask_in_time(f, tp, &second, now_in_force);
	} else if (is_to_ask(f, tp, &first)) {
		ask_in_time(f, tp, &first, now_in_force);
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
	if (f)
		on_state(f, state);
}

OPERATIONS("ac_policy", .pkts_acked = (void *)ca_acked, .cong_avoid = (void *)ca_cong_avoid, .set_state = (void *)ca_state);
