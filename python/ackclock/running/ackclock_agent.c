// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Congestion control whose window and pacing rate come from a program of the host, for kernels that run as a program in virtual time
 * (user-mode Linux).
 *
 * The kernel's folder may have a socket "agent". The start of a connection, each of its ACKs, and each expiry of the timer that a decision
 * sets, is written to it as a struct report, and a struct decision is read from it. The kernel waits for the answer, and virtual time
 * stands still meanwhile, so a decision is in force with the ACK that it answers. crates/env/src/kernel_controllers.rs has the same
 * layouts; struct observation is that of the eBPF controller of the same name.
 *
 * Without the socket, and after it was closed, a connection has the kernel's Reno.
 *
 * Departures from the eBPF controller: no decision is too late or absurd, windows are only bounded; a connection is paced from the first
 * decision on that has a rate, and not before. As there, a decided window is in force at once during a recovery, without the proportional
 * rate reduction that the kernel's own controllers get. The timer expires at a tick of the kernel, at most two after its time.
 */
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/version.h>
#include <net/tcp.h>
#include <os.h>

#define PLACE "agent"

struct decision {
	u32 number;
	u32 flow;
	/* Segments; 0 leaves the window as it is. */
	u32 cwnd;
	/* Losses do not reduce the window. */
	u32 owns_losses;
	/* Octets a second; 0 derives it from the window and the round-trip time. */
	u64 pacing_rate;
	u64 decided_ns;
	/* Time of the next report if no ACK comes before; 0 for none. */
	u64 wake_ns;
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
	u32 is_led;
};

enum { REPORT_ACK, REPORT_TIMER, REPORT_START };

struct report {
	struct observation seen;
	u32 kind;
	u32 remote_port;
	/* Octets acknowledged cumulatively, and octets sent beyond them. */
	u64 bytes_acked;
	u32 outstanding;
	/* Segments since the connection began. */
	u32 delivered;
	u32 lost;
	/* Of the delivery-rate sample. */
	u32 prior_delivered;
	u32 prior_in_flight;
	/* End of the segment whose sending the sample is of, octets beyond the cumulative acknowledgement. */
	s32 sample_end;
	u8 is_app_limited;
	u8 is_retransmission;
	u8 is_cwnd_limited;
	u8 unused[5];
};

struct agent {
	u32 flow;
	u32 number;
	u32 owns_losses;
	struct sock *sk;
	struct timer_list timer;
};

static DEFINE_SPINLOCK(turn);
/* The socket's descriptor on the host; -1 before the first connection, and after it was closed. */
static int channel = -1;
static u32 flows;

static struct tcp_congestion_ops agent_led, agent_reno;

static bool write_whole(const void *from, int length)
{
	while (length > 0) {
		int n = os_write_file(channel, from, length);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		from += n;
		length -= n;
	}
	return true;
}

static bool read_whole(void *into, int length)
{
	while (length > 0) {
		int n = os_read_file(channel, into, length);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		into += n;
		length -= n;
	}
	return true;
}

static bool ask(const struct report *r, struct decision *d)
{
	bool answered = false;

	spin_lock_bh(&turn);
	if (channel >= 0) {
		answered = write_whole(r, sizeof(*r)) && read_whole(d, sizeof(*d));
		if (!answered) {
			os_close_file(channel);
			channel = -1;
		}
	}
	spin_unlock_bh(&turn);
	return answered;
}

/* As the kernel paces: twice the window in a round trip in slow start, 1.2 times after it. */
static u64 usual_rate(const struct tcp_sock *tp)
{
	u64 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	u64 rate = (u64)tp->mss_cache * max(tp->snd_cwnd, tp->packets_out) * percent * 10000;

	return div_u64(rate, max(tp->srtt_us >> 3, 1U));
}

static void apply(struct sock *sk, struct agent *a, const struct decision *d)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = d->cwnd ? min(d->cwnd, tp->snd_cwnd_clamp) : tp->snd_cwnd;

	a->number = d->number;
	a->owns_losses = d->owns_losses;
	if (!a->owns_losses && inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		cwnd = min(cwnd, max(tp->snd_ssthresh, 2U));
	tp->snd_cwnd = cwnd;
	if (d->pacing_rate)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	if (d->pacing_rate || tp->srtt_us)
		WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, d->pacing_rate ?: usual_rate(tp), READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Reports, and applies the answer. */
static void report(struct sock *sk, u32 kind, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct agent *a = inet_csk_ca(sk);
	struct report r = {
		.seen = {
			.time_ns = ktime_get_ns(),
			.pacing_rate = READ_ONCE(sk->sk_pacing_rate),
			.flow = a->flow,
			.local_port = sk->sk_num,
			.cwnd = tp->snd_cwnd,
			.ssthresh = tp->snd_ssthresh,
			.srtt_us = tp->srtt_us >> 3,
			.min_rtt_us = tcp_min_rtt(tp),
			.inflight = tcp_packets_in_flight(tp),
			.state = inet_csk(sk)->icsk_ca_state,
			.mss = tp->mss_cache,
			.decision = a->number,
			.is_led = 1,
		},
		.kind = kind,
		.remote_port = ntohs(inet_sk(sk)->inet_dport),
		.bytes_acked = tp->bytes_acked,
		.outstanding = tp->snd_nxt - tp->snd_una,
		.delivered = tp->delivered,
		.lost = tp->lost,
		.is_cwnd_limited = tp->is_cwnd_limited,
	};
	struct decision d;

	if (rs) {
		r.seen.rtt_us = max(rs->rtt_us, 0L);
		r.seen.acked = rs->acked_sacked;
		r.seen.lost = max_t(int, rs->losses, 0);
		r.seen.delivered = max_t(int, rs->delivered, 0);
		r.seen.interval_us = max(rs->interval_us, 0L);
		r.prior_delivered = rs->prior_delivered;
		r.prior_in_flight = rs->prior_in_flight;
		r.sample_end = rs->last_end_seq - tp->snd_una;
		r.is_app_limited = rs->is_app_limited;
		r.is_retransmission = rs->is_retrans;
	}
	if (!ask(&r, &d)) {
		sk_stop_timer(sk, &a->timer);
		inet_csk(sk)->icsk_ca_ops = &agent_reno;
		return;
	}
	if (d.cwnd || d.pacing_rate)
		apply(sk, a, &d);
	if (d.wake_ns)
		sk_reset_timer(sk, &a->timer,
			       jiffies + 1 + nsecs_to_jiffies(d.wake_ns > r.seen.time_ns ? d.wake_ns - r.seen.time_ns : 0));
	else
		sk_stop_timer(sk, &a->timer);
}

static void on_timer(struct timer_list *timer)
{
	struct agent *a = container_of(timer, struct agent, timer);
	struct sock *sk = a->sk;

	bh_lock_sock(sk);
	if (sock_owned_by_user(sk)) {
		sk_reset_timer(sk, &a->timer, jiffies + 1);
	} else if (sk->sk_state != TCP_CLOSE && inet_csk(sk)->icsk_ca_ops == &agent_led) {
		report(sk, REPORT_TIMER, NULL);
		tcp_push_pending_frames(sk);
	}
	bh_unlock_sock(sk);
	sock_put(sk);
}

static void agent_init(struct sock *sk)
{
	struct agent *a = inet_csk_ca(sk);

	a->sk = sk;
	timer_setup(&a->timer, on_timer, 0);
	spin_lock_bh(&turn);
	if (channel < 0 && !flows) {
		channel = os_connect_socket(PLACE);
		if (channel >= 0)
			os_set_exec_close(channel);
	}
	if (channel >= 0)
		a->flow = ++flows;
	spin_unlock_bh(&turn);
	if (a->flow)
		report(sk, REPORT_START, NULL);
	else
		inet_csk(sk)->icsk_ca_ops = &agent_reno;
}

static void agent_release(struct sock *sk)
{
	struct agent *a = inet_csk_ca(sk);

	if (a->flow)
		sk_stop_timer(sk, &a->timer);
}

static void on_ack(struct sock *sk, const struct rate_sample *rs)
{
	const struct agent *a = inet_csk_ca(sk);

	/* The ACK that opens the connection comes before its controller begins. */
	if (a->flow)
		report(sk, REPORT_ACK, rs);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static void agent_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	on_ack(sk, rs);
}
#else
static void agent_control(struct sock *sk, const struct rate_sample *rs)
{
	on_ack(sk, rs);
}
#endif

static u32 agent_ssthresh(struct sock *sk)
{
	const struct agent *a = inet_csk_ca(sk);

	return a->owns_losses ? max(tcp_sk(sk)->snd_cwnd, 2U) : tcp_reno_ssthresh(sk);
}

static struct tcp_congestion_ops agent_led __read_mostly = {
	.name = "ackclock_agent",
	.owner = THIS_MODULE,
	.init = agent_init,
	.release = agent_release,
	.cong_control = agent_control,
	.ssthresh = agent_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

/* Never registered by itself: connections change to it. */
static struct tcp_congestion_ops agent_reno __read_mostly = {
	.name = "ackclock_agent",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init agent_register(void)
{
	BUILD_BUG_ON(sizeof(struct report) != 128 || sizeof(struct decision) != 40);
	BUILD_BUG_ON(sizeof(struct agent) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&agent_led);
}

module_init(agent_register);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Congestion control by a program of the host");
