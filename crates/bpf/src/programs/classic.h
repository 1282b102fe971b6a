/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What rules that differ from Reno's in increase and decrease have in common; included after one of them.
 * Source: crates/cc/src/classic.rs. Departures: an ACK counts for at most MOST_ACKED segments. */

INLINE void rule_on_idle(struct rule *r, const struct params *p) {}

INLINE void rule_grow(struct rule *r, const struct params *p, const struct ack *a, struct window *w)
{
	u64 left = window_slow_start(w, least(a->acked, MOST_ACKED), p->slow_start_limit);

	if (left)
		w->cwnd += rule_increase(r, p, a, w->cwnd, left);
}
