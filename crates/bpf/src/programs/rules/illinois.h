/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Illinois: grows fast while the queue is short and slowly while it is long; keeps more when it was short.
 * Source: Liu, Basar, Srikant, Performance Evaluation 65, 2008; crates/cc/src/classic/illinois.rs. Departures: none. */
#include "../core.h"

#define PATIENCE 5U

struct params {
	u64 slow_start_limit;
	u64 alpha_max;
	/* alpha_min alpha_max / (alpha_max - alpha_min) and alpha_min / (alpha_max - alpha_min): what kappa_1 and kappa_2 have
	 * of them. */
	u64 first;
	u64 second;
	u64 beta_min;
	u64 beta_max;
	u64 window_threshold;
};

struct rule {
	u64 alpha;
	u64 beta;
	/* Of the round trip under way. */
	u64 sum_ns;
	u32 count;
	u32 round;
	u32 least_ns;
	u32 greatest_ns;
	u32 short_rounds;
	u32 padding;
};

INLINE void start_over(struct rule *r)
{
	r->alpha = ONE;
	r->beta = ONE / 2;
	r->short_rounds = PATIENCE;
}

INLINE void rule_init(struct rule *r, const struct params *p)
{
	start_over(r);
}

/* The paper's f_1. */
INLINE void set_alpha(struct rule *r, const struct params *p, u64 mean, u64 longest)
{
	u64 brief = longest / 100, range = longest - brief, kappa_1, kappa_2;

	if (mean <= brief) {
		r->short_rounds = least(r->short_rounds + 1, PATIENCE);
		if (r->short_rounds >= PATIENCE || r->alpha >= p->alpha_max)
			r->alpha = p->alpha_max;
		return;
	}
	r->short_rounds = 0;
	/* in units of 16 ns, so that products stay within 64 bits */
	kappa_1 = (range >> 4) * p->first;
	kappa_2 = ((range * (p->second >> 4)) >> 28) + mean - brief;
	r->alpha = kappa_1 / most(kappa_2 >> 4, 1);
}

/* The paper's f_2, eta_2 = 0.1, eta_3 = 0.8. */
INLINE void set_beta(struct rule *r, const struct params *p, u64 mean, u64 longest)
{
	u64 from = longest / 10, to = longest * 8 / 10;
	u64 place = mean <= from ? 0 : least(q32_ratio(mean - from, to - from), ONE);

	r->beta = p->beta_min + q32_part(p->beta_max - p->beta_min, place);
}

/* A round trip of this mean delay is over; the delays of the ACK that ended it are known. */
INLINE void adapt(struct rule *r, const struct params *p, u64 mean)
{
	u64 longest = r->greatest_ns - r->least_ns;

	/* a mean is rounded down */
	mean = mean > r->least_ns ? mean - r->least_ns : 0;
	set_alpha(r, p, mean, longest);
	set_beta(r, p, mean, longest);
}

INLINE void rule_on_ack(struct rule *r, const struct params *p, const struct ack *a, struct window *w)
{
	u64 rtt = least(a->rtt_ns, LONGEST_NS);

	if (rtt) {
		r->least_ns = r->least_ns ? least(r->least_ns, rtt) : rtt;
		r->greatest_ns = most(r->greatest_ns, rtt);
	}
	if (a->round != r->round) {
		if (r->count)
			adapt(r, p, r->sum_ns / r->count);
		r->round = a->round;
		r->sum_ns = 0;
		r->count = 0;
	}
	if (rtt) {
		r->sum_ns += rtt;
		r->count++;
	}
}

INLINE u64 rule_increase(struct rule *r, const struct params *p, const struct ack *a, u64 cwnd, u64 acked)
{
	u64 rate = cwnd < p->window_threshold ? ONE : r->alpha;

	return q32_over(rate * (acked >> 32) + q32_part(rate, acked & 0xffffffff), cwnd);
}

INLINE u64 rule_decrease(struct rule *r, const struct params *p, u64 now_ns, u64 cwnd)
{
	return q32_part(cwnd, cwnd < p->window_threshold ? ONE / 2 : ONE - r->beta);
}

INLINE u64 rule_on_timeout(struct rule *r, const struct params *p, u64 cwnd)
{
	start_over(r);
	return cwnd / 2;
}
#include "../classic.h"
