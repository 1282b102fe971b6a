/* A trained policy as a congestion control that is compiled into the kernel: the kernel's own CUBIC has slow start and answers losses; in
 * between the policy is asked whenever a decision is due.
 *
 * CUBIC's state is at the beginning of the room that a socket has for its controller, 60 of 104 octets in Linux 6.12; the place of
 * the flow's is at its end. A connection for which there is no memory has CUBIC alone. */
#ifdef __KERNEL__
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#endif

// core.h

// policy.h

// image

#ifdef __KERNEL__
INLINE u32 ca_state_of(const struct tcp_sock *tp)
{
	return inet_csk((const struct sock *)tp)->icsk_ca_state;
}

/* Fast recovery or the answer to a mark, in which the kernel itself reduces the window. */
INLINE u32 is_reducing(const struct tcp_sock *tp)
{
	return ca_state_of(tp) == TCP_CA_Recovery || ca_state_of(tp) == TCP_CA_CWR;
}

// asked.h

static const struct tcp_congestion_ops *cubic;

static struct flow **place_of(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	return (struct flow **)&icsk->icsk_ca_priv[ARRAY_SIZE(icsk->icsk_ca_priv) - 1];
}

static void policy_init(struct sock *sk)
{
	struct flow *f = kzalloc(sizeof(*f), GFP_ATOMIC | __GFP_NOWARN);

	cubic->init(sk);
	*place_of(sk) = f;
	if (f)
		begin_asking(f, tcp_sk(sk));
}

static void policy_release(struct sock *sk)
{
	kfree(*place_of(sk));
	*place_of(sk) = NULL;
}

static void policy_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct flow *f = *place_of(sk);

	cubic->pkts_acked(sk, sample);
	if (!f)
		return;
	tally_ack(f, tcp_sk(sk), sample->rtt_us);
	if (is_to_ask(f, tcp_sk(sk), policy))
		ask(f, tcp_sk(sk), policy);
}

static void policy_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct flow *f = *place_of(sk);

	if (!f || !f->is_in_charge || policy->action == ORCA)
		cubic->cong_avoid(sk, ack, acked);
}

static u32 policy_ssthresh(struct sock *sk)
{
	struct flow *f = *place_of(sk);
	u32 threshold = cubic->ssthresh(sk);

	if (f)
		f->threshold = threshold;
	return threshold;
}

static void policy_state(struct sock *sk, u8 state)
{
	struct flow *f = *place_of(sk);

	cubic->set_state(sk, state);
	if (f)
		on_state(f, state);
}

static void policy_event(struct sock *sk, enum tcp_ca_event event)
{
	cubic->cwnd_event(sk, event);
}

static struct tcp_congestion_ops policy_operations __read_mostly = {
	.name = "NAME",
	.owner = THIS_MODULE,
	.init = policy_init,
	.release = policy_release,
	.ssthresh = policy_ssthresh,
	.cong_avoid = policy_cong_avoid,
	.set_state = policy_state,
	.cwnd_event = policy_event,
	.pkts_acked = policy_acked,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init policy_register(void)
{
	BUILD_BUG_ON(sizeof(image) != sizeof(struct policy));
	rcu_read_lock();
	cubic = tcp_ca_find("cubic");
	rcu_read_unlock();
	if (!cubic || !cubic->init || !cubic->pkts_acked || !cubic->set_state || !cubic->cwnd_event)
		return -ENOENT;
	return tcp_register_congestion_control(&policy_operations);
}

/* After CUBIC. */
late_initcall(policy_register);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A trained policy as a congestion control");
#endif
