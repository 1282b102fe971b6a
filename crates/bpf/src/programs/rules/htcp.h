/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* H-TCP: the longer since the last congestion, the faster the window grows; what is kept follows the queue's share of the
 * round trip.
 * Source: Leith and Shorten, PFLDnet 2004; crates/cc/src/classic/htcp.rs, which names its departures.
 * Departures beyond those: after more than 1000 s without congestion growth is that of 1000 s. */
#include "../core.h"

struct params {
	u64 slow_start_limit;
	u64 adaptive_backoff;
	u64 rtt_scaling;
};

struct rule {
	u64 beta;
	/* 0: none yet. */
	u64 last_congestion_ns;
	u64 began_ns;
	/* Segments a second with 8 places after the point: the most since the last congestion, and before it. */
	u64 peak;
	u64 last_peak;
	u32 least_ns;
	u32 greatest_ns;
	u32 acked;
	u32 padding;
};

INLINE void rule_init(struct rule *r, const struct params *p)
{
	r->beta = ONE / 2;
}

INLINE void note_throughput(struct rule *r, const struct ack *a)
{
	u64 span;

	if (a->in_recovery) {
		r->began_ns = 0;
		r->acked = 0;
		return;
	}
	if (!r->began_ns) {
		r->began_ns = a->now_ns;
		return;
	}
	r->acked += a->acked;
	span = a->now_ns - r->began_ns;
	if (span && span >= r->least_ns) {
		r->peak = most(r->peak, (((u64)r->acked * SECOND) << 8) / span);
		r->began_ns = a->now_ns;
		r->acked = 0;
	}
}

INLINE void rule_on_ack(struct rule *r, const struct params *p, const struct ack *a, struct window *w)
{
	u64 rtt = least(a->rtt_ns, LONGEST_NS);

	if (rtt) {
		r->least_ns = r->least_ns ? least(r->least_ns, rtt) : rtt;
		r->greatest_ns = most(r->greatest_ns, rtt);
	}
	if (!r->last_congestion_ns)
		r->last_congestion_ns = a->now_ns;
	note_throughput(r, a);
}

/* 2 (1 - beta) max(1, (1 + 10 D + D^2 / 4) max(0.1, min(2, RTT / 100 ms))). */
INLINE u64 alpha(const struct rule *r, const struct params *p, u64 now_ns)
{
	u64 since = now_ns - r->last_congestion_ns;
	u64 beyond = least(since > SECOND ? since - SECOND : 0, 1000 * SECOND);
	u64 seconds = q32_seconds(beyond), short_seconds = seconds >> 16;
	u64 rate = ONE + 10 * seconds + short_seconds * short_seconds / 4;

	if (p->rtt_scaling && r->least_ns) {
		u64 rtt = least(most(r->least_ns, 10 * MILLISECOND), 200 * MILLISECOND);

		rate = q32_part(rate, q32_ratio(rtt, 200 * MILLISECOND)) * 2;
	}
	return q32_part(most(rate, ONE), 2 * (ONE - r->beta));
}

INLINE u64 rule_increase(struct rule *r, const struct params *p, const struct ack *a, u64 cwnd, u64 acked)
{
	u64 rate = alpha(r, p, a->now_ns);

	return q32_over(rate * (acked >> 32) + q32_part(rate, acked & 0xffffffff), cwnd);
}

INLINE void adapt_beta(struct rule *r, const struct params *p)
{
	u64 apart = r->peak > r->last_peak ? r->peak - r->last_peak : r->last_peak - r->peak;
	u64 has_changed = 5 * apart > r->last_peak;

	if (!r->peak && r->last_peak)
		return; /* nothing was measured since the last congestion: this one belongs to it */
	r->last_peak = r->peak;
	r->peak = 0;
	r->beta = ONE / 2;
	if (p->adaptive_backoff && !has_changed && r->greatest_ns)
		r->beta = least(most(q32_ratio(r->least_ns, r->greatest_ns), ONE / 2), ONE / 5 * 4);
}

INLINE u64 rule_decrease(struct rule *r, const struct params *p, u64 now_ns, u64 cwnd)
{
	adapt_beta(r, p);
	r->last_congestion_ns = now_ns;
	r->greatest_ns = r->least_ns;
	return q32_part(cwnd, r->beta);
}

INLINE u64 rule_on_timeout(struct rule *r, const struct params *p, u64 cwnd) { return 0; }
#include "../classic.h"
