/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Vegas: keeps between alpha and beta segments queued, judged once for each round trip.
 * Source: Brakmo and Peterson, JSAC 13(8), 1995; crates/cc/src/vegas.rs, whose table says how the variants differ.
 * Departures beyond those named there: after a timeout the kernel's window of one segment holds for all variants. */
#ifndef ACKCLOCK_RULES_VEGAS_H
#define ACKCLOCK_RULES_VEGAS_H
#include "../core.h"

enum variant { BRAKMO, NS2, LINUX };
enum stands { LATEST, LEAST, MEAN };

struct params {
	u64 slow_start_limit;
	u64 variant;
	u64 alpha;
	u64 beta;
	u64 gamma;
	/* Which delay of a round trip stands for it. */
	u64 rtt;
	/* Tick of the receiver's timestamps, ns; 0: estimated. Of the modified one only. */
	u64 receiver_tick_ns;
};

/* What a round trip has shown, and what the next may do. */
struct rule {
	u64 sum_ns;
	/* Segments that congestion avoidance may still add in this round trip. */
	u64 allowance;
	u32 round;
	u32 count;
	u32 least_ns;
	u32 latest_ns;
	u32 base_ns;
	/* The least round trip ever. */
	u32 least_rtt_ns;
	u32 grows;
	/* (LINUX) The next ACK of new data begins a round trip, as after a recovery. */
	u32 begins_anew;
#ifdef RULE_HAS_CLOCKS
	struct clocks clocks;
#endif
};

#define LEAST_WINDOW (2 * ONE)

INLINE void rule_init(struct rule *r, const struct params *p)
{
	r->grows = 1;
}

INLINE void note_delay(struct rule *r, u64 rtt, u64 base)
{
	r->least_ns = r->count ? least(r->least_ns, rtt) : rtt;
	r->count++;
	r->sum_ns += rtt;
	r->latest_ns = rtt;
	r->base_ns = base;
}

/* Diff: segments in queues. */
INLINE u64 queued(const struct params *p, u64 cwnd, u64 rtt, u64 base)
{
	u64 above = rtt > base ? rtt - base : 0, ratio;

	if (p->variant == BRAKMO)
		return q32_part(cwnd, q32_ratio(above, rtt));
	if (p->variant == NS2)
		return (q32_part(cwnd, q32_ratio(above, rtt)) + ONE / 2) & ~(ONE - 1);
	ratio = q32_ratio(above, base);
	return (cwnd * (ratio >> 32) + q32_part(cwnd, ratio & 0xffffffff)) & ~(ONE - 1);
}

/* Slow start ends: where to. */
INLINE u64 left_of_slow_start(const struct params *p, u64 cwnd, u64 rtt, u64 base)
{
	if (p->variant == BRAKMO)
		return cwnd;
	if (p->variant == NS2)
		return cwnd - cwnd / 8;
	return least(cwnd, (q32_part(cwnd, q32_ratio(base, rtt)) & ~(ONE - 1)) + ONE);
}

INLINE void judge(struct rule *r, const struct params *p, struct window *w, u32 was_growing, u64 rtt, u64 base)
{
	u64 diff = queued(p, w->cwnd, rtt, base);

	if (w->cwnd < w->ssthresh) {
		/* The window doubles every other round trip, so that what is measured is what the doubled one did. */
		if (was_growing && p->variant != LINUX) {
			r->grows = 0;
		} else if (diff > p->gamma) {
			r->grows = 0;
			w->cwnd = most(left_of_slow_start(p, w->cwnd, rtt, base), LEAST_WINDOW);
			w->ssthresh = least(w->ssthresh, w->cwnd);
		}
		return;
	}
	r->grows = diff < p->alpha;
	if (r->grows) {
		r->allowance = ONE;
	} else if (diff > p->beta) {
		w->cwnd = most(w->cwnd - least(w->cwnd, ONE), LEAST_WINDOW);
		w->ssthresh = least(w->ssthresh, w->cwnd);
	}
}

INLINE void end_round(struct rule *r, const struct params *p, struct window *w, u32 round)
{
	u32 count = r->count, was_growing = r->grows;
	u64 rtt = p->rtt == LATEST ? r->latest_ns : p->rtt == LEAST ? r->least_ns : count ? r->sum_ns / count : 0;

	r->round = round;
	r->count = 0;
	r->sum_ns = 0;
	r->allowance = 0;
	r->grows = 1;
	if (p->variant == LINUX && count <= 2)
		r->allowance = ONE;
	else if (!count)
		r->grows = w->cwnd < w->ssthresh;
	else
		judge(r, p, w, was_growing, rtt, r->base_ns);
}

#ifndef RULE_HAS_CLOCKS
INLINE void sample(struct rule *r, const struct params *p, const struct ack *a)
{
	if (a->rtt_ns)
		note_delay(r, least(a->rtt_ns, LONGEST_NS), r->least_rtt_ns);
}
#else
INLINE void sample(struct rule *r, const struct params *p, const struct ack *a);
#endif

INLINE void forget_round(struct rule *r, const struct params *p)
{
	r->count = 0;
	r->sum_ns = 0;
	r->begins_anew = p->variant == LINUX;
}

INLINE void rule_on_ack(struct rule *r, const struct params *p, const struct ack *a, struct window *w)
{
	u64 rtt = least(a->rtt_ns, LONGEST_NS);

	if (!a->is_cumulative || a->in_recovery)
		return;
	if (rtt)
		r->least_rtt_ns = r->least_rtt_ns ? least(r->least_rtt_ns, rtt) : rtt;
	sample(r, p, a);
	if (r->begins_anew) {
		forget_round(r, p);
		r->begins_anew = 0;
		r->round = a->round;
		r->allowance = 0;
	} else if (a->round != r->round) {
		end_round(r, p, w, a->round);
	}
}

INLINE void rule_grow(struct rule *r, const struct params *p, const struct ack *a, struct window *w)
{
	u64 acked = least(a->acked, MOST_ACKED), step;

	if (!r->grows)
		return;
	if (w->cwnd < w->ssthresh) {
		if (p->slow_start_limit && p->variant != LINUX)
			acked = least(acked, p->slow_start_limit);
		w->cwnd = least(w->cwnd + (acked << 32), w->ssthresh);
		return;
	}
	step = p->variant == LINUX ? ONE : q32_over(p->variant == NS2 ? ONE : acked << 32, w->cwnd);
	step = least(step, r->allowance);
	r->allowance -= step;
	w->cwnd += step;
}

INLINE u64 rule_decrease(struct rule *r, const struct params *p, u64 now_ns, u64 cwnd)
{
	forget_round(r, p);
	r->grows = 0;
	return p->variant == LINUX ? cwnd / 2 : cwnd / 4 * 3;
}

INLINE u64 rule_on_timeout(struct rule *r, const struct params *p, u64 cwnd)
{
	forget_round(r, p);
	r->grows = 1;
	return cwnd / 2;
}

/* Linux (tcp_vegas_cwnd_event): what leaves after idle time measures BaseRTT anew. */
INLINE void rule_on_idle(struct rule *r, const struct params *p)
{
	if (p->variant != LINUX)
		return;
	r->least_rtt_ns = 0;
	forget_round(r, p);
}
#endif
