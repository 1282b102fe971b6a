/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Westwood+: after a loss the window falls to what the path has been delivering.
 * Source: Grieco and Mascolo, CCR 34(2), 2004; crates/cc/src/classic/westwood.rs, which names its departures.
 * Departures beyond those: a sample counts MOST_SAMPLED segments at most, some 65 Gbit/s over the shortest of them. */
#include "../core.h"

#define SHORTEST_SAMPLE (50 * MILLISECOND)
/* Times a second with 16 places after the point it stays within 64 bits. */
#define MOST_SAMPLED 281474U

struct params {
	u64 slow_start_limit;
	/* Share of the old estimate. */
	u64 filter;
	u64 filter_twice;
};

struct rule {
	/* Segments a second with 16 places after the point, filtered once and as often as is asked for; 0 before the first. */
	u64 filtered;
	u64 bandwidth;
	u64 sampled_at_ns;
	u32 acked;
	u32 latest_ns;
	u32 least_ns;
	u32 padding;
};

INLINE void rule_init(struct rule *r, const struct params *p) {}

INLINE u64 filter(const struct params *p, u64 old, u64 new)
{
	/* with 16 places more for the product */
	old = old ? old : new;
	return (q32_part(old << 16, p->filter) + q32_part(new << 16, ONE - p->filter)) >> 16;
}

INLINE void rule_on_ack(struct rule *r, const struct params *p, const struct ack *a, struct window *w)
{
	u64 rtt = least(a->rtt_ns, LONGEST_NS), span;

	if (rtt) {
		r->least_ns = r->least_ns ? least(r->least_ns, rtt) : rtt;
		r->latest_ns = rtt;
	}
	if (!r->sampled_at_ns) {
		r->sampled_at_ns = a->now_ns;
		return;
	}
	r->acked = least(r->acked + a->acked, MOST_SAMPLED);
	span = a->now_ns - r->sampled_at_ns;
	if (span < most(r->latest_ns, SHORTEST_SAMPLE))
		return;
	r->filtered = filter(p, r->filtered, (((u64)r->acked * SECOND) << 16) / span);
	r->bandwidth = p->filter_twice ? filter(p, r->bandwidth, r->filtered) : r->filtered;
	r->acked = 0;
	r->sampled_at_ns = a->now_ns;
}

INLINE u64 rule_increase(struct rule *r, const struct params *p, const struct ack *a, u64 cwnd, u64 acked)
{
	return q32_over(acked, cwnd);
}

INLINE u64 rule_decrease(struct rule *r, const struct params *p, u64 now_ns, u64 cwnd)
{
	/* bandwidth * RTT_min in microseconds: as finely as the kernel measures */
	return r->bandwidth ? least((r->bandwidth * (r->least_ns / 1000) / 1000000) << 16, cwnd) : cwnd / 2;
}

INLINE u64 rule_on_timeout(struct rule *r, const struct params *p, u64 cwnd) { return 0; }
#include "../classic.h"
