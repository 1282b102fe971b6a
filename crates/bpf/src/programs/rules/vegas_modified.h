/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Vegas on the delay of the forward path, from the timestamps option: a queue on the reverse path counts for nothing.
 * Source: J.-D. Kim and C.-K. Kim 1999; crates/cc/src/vegas/forward.rs and peer_clock.rs, which say how and what is assumed.
 * Departures beyond those: all readings of before the receiver's tick was known count, not the first 1024 only: instead of the
 * readings the least delays are kept that each tick would make of them. */
#include "../core.h"

#define TICKS 12
/* The receiver's clock must have gone on by so many ticks, and the sender's by so much, before the two are compared. */
#define ENOUGH_TICKS 16
#define ENOUGH_TIME (100 * MILLISECOND)

/* All times in ns from the first ACK on, delays too: they are differences of two clocks, and may be negative. */
struct clocks {
	s64 arrived;
	/* Ticks of the receiver's clock. */
	s64 received;
	u64 tick_ns;
	s64 least_forward;
	s64 least_backward;
	u32 last_arrival;
	u32 last_tsval;
	u32 is_read;
	u32 has_least;
	/* Before the tick is known: what the least delays would be with each. */
	s64 early_forward[TICKS];
	s64 early_backward[TICKS];
};

#define RULE_HAS_CLOCKS
#include "vegas.h"

INLINE u64 tick_of(u32 index)
{
	const u64 ticks[TICKS] = {1000, 10000, 100000, 1000000, 2000000, 4000000, 10000000, 20000000, 100000000, 200000000,
				  500000000, 1000000000};

	return ticks[index];
}

INLINE void note_early(struct clocks *c, u32 index, s64 sent, u32 is_first)
{
	s64 forward = c->received * (s64)tick_of(index) - sent, backward = c->arrived - c->received * (s64)tick_of(index);

	if (is_first || forward < c->early_forward[index])
		c->early_forward[index] = forward;
	if (is_first || backward < c->early_backward[index])
		c->early_backward[index] = backward;
}

/* The tick of a clock that has shown `ticks` while `elapsed` ns went by, within a quarter. */
INLINE u32 is_tick(u32 index, s64 elapsed, s64 ticks)
{
	s64 shown = ticks * (s64)tick_of(index), apart = elapsed > shown ? elapsed - shown : shown - elapsed;

	return apart * 4 < shown;
}

INLINE void find_tick(struct clocks *c, const struct params *p, s64 sent, u32 is_first)
{
#ifdef __bpf__
#pragma unroll
#endif
	for (u32 index = 0; index < TICKS; index++) {
		u32 is_given = p->receiver_tick_ns == tick_of(index);

		note_early(c, index, sent, is_first);
		if (c->tick_ns || (p->receiver_tick_ns && !is_given))
			continue;
		if (is_given || (c->received >= ENOUGH_TICKS && c->arrived >= (s64)ENOUGH_TIME &&
				 is_tick(index, c->arrived, c->received))) {
			c->tick_ns = tick_of(index);
			c->least_forward = c->early_forward[index];
			c->least_backward = c->early_backward[index];
			c->has_least = 1;
		}
	}
}

/* How long the first segment that an ACK covers waited for the last: a delayed ACK echoes the first one's timestamp. */
INLINE s64 waited(const struct ack *a, s64 flight)
{
	s64 wait = flight - (s64)a->rtt_ns;

	return a->rtt_ns && a->acked > 1 && wait > 0 ? wait : 0;
}

/* The delay that counts: T_f0 + T_b0 with the forward queue; 0 while the receiver's tick is unknown. */
INLINE u64 forward_delay(struct clocks *c, const struct params *p, const struct ack *a, u64 *base)
{
	s64 flight, sent, forward, backward, received;
	u32 is_first = !c->is_read;

	if (is_first) {
		c->last_arrival = a->arrival;
		c->last_tsval = a->tsval;
		c->is_read = 1;
	}
	c->arrived += (s64)(s32)(a->arrival - c->last_arrival) * a->tick_ns;
	c->received += (s32)(a->tsval - c->last_tsval);
	c->last_arrival = a->arrival;
	c->last_tsval = a->tsval;
	flight = (s64)(s32)(a->arrival - a->tsecr) * a->tick_ns;
	sent = c->arrived - flight;
	if (!c->tick_ns)
		find_tick(c, p, sent, is_first);
	if (!c->tick_ns)
		return 0;
	received = c->received * (s64)c->tick_ns;
	forward = received - sent - waited(a, flight);
	backward = c->arrived - received;
	if (forward < c->least_forward)
		c->least_forward = forward;
	if (backward < c->least_backward)
		c->least_backward = backward;
	if (c->least_forward + c->least_backward <= 0)
		return 0;
	*base = c->least_forward + c->least_backward;
	return forward + c->least_backward;
}

INLINE void sample(struct rule *r, const struct params *p, const struct ack *a)
{
	u64 base = r->least_rtt_ns, delay = a->tick_ns ? forward_delay(&r->clocks, p, a, &base) : 0;

	if (!delay)
		delay = a->rtt_ns;
	if (delay)
		note_delay(r, least(delay, LONGEST_NS), least(base, LONGEST_NS));
}
