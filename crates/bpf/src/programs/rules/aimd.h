/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* AIMD(a, b): a segments more in a round trip, a fraction b less on congestion.
 * Source: Chiu and Jain 1989; crates/cc/src/classic/aimd.rs. Departures: none. */
#include "../core.h"

struct params {
	u64 slow_start_limit;
	u64 a;
	/* What is kept: 1 - b. */
	u64 kept;
};
#include "../stateless.h"

INLINE u64 rule_increase(struct rule *r, const struct params *p, const struct ack *a, u64 cwnd, u64 acked)
{
	return q32_over(p->a * (acked >> 32) + q32_part(p->a, acked & 0xffffffff), cwnd);
}

INLINE u64 rule_decrease(struct rule *r, const struct params *p, u64 now_ns, u64 cwnd)
{
	return q32_part(cwnd, p->kept);
}
#include "../classic.h"
