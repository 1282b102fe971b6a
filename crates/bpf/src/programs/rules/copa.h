/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Copa: a target rate of 1 / (delta dq), approached at a speed that doubles while the direction stays.
 * Source: Arun and Balakrishnan, NSDI 2018; crates/cc/src/copa.rs, whose departures from it are these, too.
 * Departures from crates/cc: the least and greatest round trips of the recent past are those of `struct leasts`; a window moves by
 * at most 64 of the packets of one ACK. */
#ifndef ACKCLOCK_RULES_COPA_H
#define ACKCLOCK_RULES_COPA_H
#include "../flight.h"

#define MOST_MOVES 64U
#define MIN_WINDOW_US 10000000U

struct params {
	/* 1/delta, q32. */
	u64 packets;
	u64 mode_switch;
	u64 empty_round_trips;
	/* q32. */
	u64 nearly_empty;
};

struct rule {
	u64 window;
	u64 packets;
	u64 velocity;
	u64 velocity_since_us;
	u64 losses_since_us;
	u64 raised_us;
	u64 lowered_us;
	/* Segments of the last two round trips. */
	u64 acked;
	u64 lost;
	s64 balance;
	u32 is_up;
	u32 in_slow_start;
	u32 rtt_standing;
	u32 rtt_min;
	/* Something was lost since the last ACK with a round trip. */
	u32 has_lost;
	u32 padding;
	struct leasts standing;
	struct leasts least;
	struct leasts recent;
	struct leasts largest;
};

#define LEAST_WINDOW (2 * ONE)

INLINE void velocity_begin(struct rule *r)
{
	r->velocity = 1;
	r->is_up = 1;
	r->balance = 0;
	r->velocity_since_us = 0;
}

INLINE void rule_init(struct rule *r, const struct params *p, const struct report *a, struct steering *s)
{
	r->packets = p->packets;
	r->in_slow_start = 1;
	r->window = s->cwnd;
	velocity_begin(r);
}

/* Takes in a round trip. Returns whether the queue was nearly empty of late. */
INLINE u32 sample(struct rule *r, const struct params *p, const struct report *a)
{
	u32 now = a->now_us, rtt = a->rtt_us, memory = a->srtt_us * (u32)p->empty_round_trips, recent, greatest;
	u64 queued, range;

	r->rtt_standing = ackclock_least(&r->standing, now, rtt, a->srtt_us / 2);
	r->rtt_min = ackclock_least(&r->least, now, rtt, MIN_WINDOW_US);
	recent = ackclock_least(&r->recent, now, rtt, memory);
	greatest = ~ackclock_least(&r->largest, now, ~rtt, memory);
	queued = recent > r->rtt_min ? recent - r->rtt_min : 0;
	range = greatest > r->rtt_min ? greatest - r->rtt_min : 0;
	return queued << 32 <= p->nearly_empty * range;
}

/* 1/delta: the default alone; beside others one more in a round trip, and half in one with losses. */
INLINE void compete(struct rule *r, const struct params *p, const struct report *a, u32 is_alone)
{
	u64 now = a->now_us;

	if (is_alone || !p->mode_switch) {
		r->packets = p->packets;
		r->raised_us = now;
	} else if (r->has_lost && now - r->lowered_us > a->rtt_us) {
		r->packets = most(r->packets / 2, p->packets);
		r->lowered_us = now;
	} else if (now - r->raised_us > a->rtt_us) {
		r->packets = least(r->packets + ONE, 4096 * ONE);
		r->raised_us = now;
	}
}

/* RTTstanding / (delta dq), q32 segments. */
INLINE u64 target_of(const struct rule *r)
{
	u64 queueing = r->rtt_standing > r->rtt_min ? r->rtt_standing - r->rtt_min : 0, ratio;

	if (!queueing)
		return ~0ULL;
	ratio = q32_ratio(r->rtt_standing, queueing);
	if ((ratio >> 32) * ((r->packets >> 32) + 1) >= 1ULL << 31)
		return ~0ULL;
	return q32_times(ratio, r->packets);
}

INLINE void turn(struct rule *r, u64 now, u32 rtt)
{
	if (now - r->velocity_since_us <= rtt)
		return;
	if (r->is_up ? r->balance > 0 : r->balance < 0) {
		r->velocity = least(2 * r->velocity, 1 << 20);
	} else {
		r->velocity = 1;
		r->is_up = !r->is_up;
	}
	r->velocity_since_us = now;
	r->balance = 0;
}

/* v / (delta cwnd) packets. */
APART u32 ackclock_move(struct rule *r, u64 target, u32 is_in_use)
{
	u32 is_up;
	u64 step;

	if (!r)
		return 0;
	is_up = r->window < target;
	if (r->velocity * (r->packets >> 16) > r->window >> 16)
		r->velocity /= 2;
	r->velocity = most(r->velocity, 1);
	r->balance += is_up ? 1 : -1;
	step = q32_over(r->velocity * r->packets, r->window);
	if (!is_up)
		r->window = r->window > LEAST_WINDOW + step ? r->window - step : LEAST_WINDOW;
	else if (is_in_use)
		r->window += step;
	return is_up;
}

INLINE void slow_start(struct rule *r, const struct report *a)
{
	if (a->is_cwnd_limited)
		r->window += q32(a->acked);
}

INLINE void move_window(struct rule *r, const struct report *a)
{
	u64 target = target_of(r);
	u32 i, moves = most(least(a->acked, MOST_MOVES), 1);

	r->in_slow_start &= r->window < target;
	if (r->in_slow_start) {
		slow_start(r, a);
		return;
	}
	turn(r, a->now_us, a->rtt_us);
	for (i = 0; i < MOST_MOVES; i++) {
		if (i >= moves)
			break;
		ackclock_move(r, target, a->is_cwnd_limited);
	}
}

/* More than three tenths lost over two round trips take three tenths. */
INLINE void weigh_losses(struct rule *r, const struct report *a)
{
	u64 all = r->acked + r->lost;

	if (a->now_us - r->losses_since_us <= 2 * (u64)a->rtt_us || all < 20)
		return;
	if (10 * r->lost > 3 * all)
		r->window = most(r->window / 10 * 7, LEAST_WINDOW);
	r->losses_since_us = a->now_us;
	r->acked = 0;
	r->lost = 0;
}

INLINE void steer(const struct rule *r, const struct report *a, struct steering *s)
{
	s->cwnd = r->window;
	s->state = r->in_slow_start;
	/* twice the window in a round trip, in bit/s */
	if (r->rtt_standing)
		s->pacing_rate = ((r->window >> 16) * a->mss / r->rtt_standing * 16000000) >> 16;
}

INLINE void rule_on_ack(struct rule *r, const struct params *p, const struct report *a, struct steering *s)
{
	r->acked += a->acked;
	r->lost += a->lost;
	r->has_lost |= a->lost > 0;
	if (a->rtt_us) {
		compete(r, p, a, sample(r, p, a));
		r->has_lost = 0;
		if (a->acked)
			move_window(r, a);
		weigh_losses(r, a);
	} else if (r->in_slow_start) {
		slow_start(r, a);
	}
	steer(r, a, s);
}

INLINE void rule_on_timeout(struct rule *r, const struct params *p, const struct report *a, struct steering *s)
{
	/* the kernel's own loss window */
	r->window = q32(a->inflight) + ONE;
	velocity_begin(r);
	r->in_slow_start = 1;
	/* of the last half of a round trip, which is over */
	r->standing.count = 0;
	r->rtt_standing = 0;
	steer(r, a, s);
}

INLINE void rule_on_undo(struct rule *r, const struct params *p, const struct report *a, struct steering *s) {}
INLINE void rule_on_idle(struct rule *r, const struct params *p, const struct report *a, struct steering *s) {}
#endif
