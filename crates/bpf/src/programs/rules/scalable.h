/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Scalable TCP: grows by a fraction of itself in a round trip, falls by a fraction.
 * Source: Kelly, CCR 33(2), 2003; crates/cc/src/classic/scalable.rs. Departures: none. */
#include "../core.h"

struct params {
	u64 slow_start_limit;
	/* Segments for each acknowledged one, below 1. */
	u64 a;
	u64 kept;
	u64 legacy_window;
};
#include "../stateless.h"

INLINE u64 rule_increase(struct rule *r, const struct params *p, const struct ack *a, u64 cwnd, u64 acked)
{
	return cwnd <= p->legacy_window ? q32_over(acked, cwnd) : q32_part(acked, p->a);
}

INLINE u64 rule_decrease(struct rule *r, const struct params *p, u64 now_ns, u64 cwnd)
{
	return cwnd <= p->legacy_window ? cwnd / 2 : q32_part(cwnd, p->kept);
}
#include "../classic.h"
