/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's own CUBIC, for programs that go on from it: its functions, and those operations that are left to it. Its state lies in
 * the socket's own room, so that theirs is stored. After kernel.h. */
#ifndef ACKCLOCK_CUBIC_H
#define ACKCLOCK_CUBIC_H

extern void cubictcp_init(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

SEC("struct_ops")
void BPF_PROG(ca_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

/* CUBIC's is Reno's. */
SEC("struct_ops")
__u32 BPF_PROG(ca_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
#endif
