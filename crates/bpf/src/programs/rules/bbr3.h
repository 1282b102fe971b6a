/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* BBR, the third version: a model of the path's rate and round trip, with losses in it, which bound what is put in flight.
 * Source: draft-ietf-ccwg-bbr, the working group's copy of 2025, in the steps of crates/cc/src/bbr/v3.rs, whose departures from it
 * are these, too. The functions bear the draft's names in small letters.
 * Departures from crates/cc, since Linux's rate_sample has neither RS.tx_in_flight nor RS.lost and nobody is told of single lost
 * segments: both are taken as struct past has them; the losses of an ACK are one loss of so many segments, sent when the segment
 * was that the ACK's sample is of; a range lost is an ACK that tells of losses (as Google's module counts them, which is from memory).
 * Windows are octets and rates bit/s, gains fractions of 2^24. */
#ifndef ACKCLOCK_RULES_BBR3_H
#define ACKCLOCK_RULES_BBR3_H
#include "../flight.h"

#define GAIN (1ULL << 24)
#define UNBOUNDED (~0ULL)
#define MIN_PIPE 4
#define MIN_RTT_FILTER_US 10000000ULL
#define EXTRA_ROUNDS 10U
#define EXTRAS 16U

enum state { STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT, NO_STATE };
enum feedback { NO_FEEDBACK, REFILLING, STARTING, COMING, STOPPING };

struct params {
	/* Fractions of 2^24. */
	u64 startup_gain;
	u64 loss_threshold;
	u64 beta;
	u64 headroom;
	u64 probe_rtt_interval_us;
	u64 probe_rtt_duration_us;
};

struct rule {
	struct pasts pasts;
	u64 cwnd, prior_cwnd, pacing_rate, initial_window;
	u64 max_bw, bw, bw_shortterm, inflight_shortterm, inflight_longterm;
	u64 bw_latest, inflight_latest;
	u64 undo_bw_shortterm, undo_inflight_shortterm, undo_inflight_longterm;
	u64 full_bw;
	/* The greatest rates of a cycle and of the one before it. */
	u64 cycle_bw, prior_cycle_bw;
	u64 extra_since_us, extra_delivered, extra;
	u64 extras[EXTRAS];
	u64 cycle_stamp_us, wait_us;
	u64 up_acked, acked_per_increment;
	u64 min_rtt_at_us, recent_at_us, until_us;
	u32 extra_rounds[EXTRAS];
	u32 state, undo_state, feedback;
	u32 mss;
	u32 cycles, filter_cycle;
	u32 round, round_ends_at, drain_start_round, rounds_since_up, up_rounds, full_bw_rounds;
	u32 loss_round_ends_at, lost_ranges;
	u32 min_rtt_us, recent_us;
	u32 repair, draws;
	/* RS.tx_in_flight and RS.lost of the ACK at hand, segments. */
	u32 tx_in_flight, sample_lost;
	u64 sample_rate;
	u8 round_starts, loss_in_round, full_bw_reached, full_bw_now;
	u8 takes_samples, was_too_high, was_precautionary, idle_restart;
	u8 fills_window, filled_window, has_rtt, has_until, round_done, padding[3];
};

INLINE u64 part_of(u64 number, u64 fraction)
{
	return (number >> 24) * fraction + (((number & (GAIN - 1)) * fraction) >> 24);
}

INLINE u64 octets(const struct rule *r, u32 segments)
{
	return (u64)segments * r->mss;
}

INLINE u64 min_pipe(const struct rule *r)
{
	return octets(r, MIN_PIPE);
}

INLINE u64 initial_rate(u64 window, u32 srtt_us, u64 gain)
{
	return part_of(window * 8000000 / (srtt_us ? srtt_us : 1000), gain);
}

/* ---- control parameters ---- */

INLINE u64 pacing_gain(const struct rule *r, const struct params *p)
{
	switch (r->state) {
	case STARTUP:
		return p->startup_gain;
	case DRAIN:
		return GAIN / 2;
	case DOWN:
		return GAIN / 10 * 9;
	case UP:
		return GAIN / 4 * 5;
	default:
		return GAIN;
	}
}

INLINE void set_pacing_rate(struct rule *r, u64 gain)
{
	u64 rate = part_of(r->bw, gain) / 100 * 99;

	if (r->full_bw_reached || rate > r->pacing_rate)
		r->pacing_rate = rate;
}

INLINE u64 bdp_of(const struct rule *r, u64 rate, u64 gain)
{
	return r->min_rtt_us ? part_of(octets_in(rate, r->min_rtt_us), gain) : r->initial_window;
}

INLINE u64 target_inflight(const struct rule *r)
{
	return least(bdp_of(r, r->bw, GAIN), r->cwnd);
}

/* QuantizationBudget. */
INLINE u64 with_budget(const struct rule *r, u64 inflight)
{
	u64 quantum = most(least(octets_in(r->pacing_rate, 1000), 65536), octets(r, 2));

	return most(most(inflight, 3 * quantum), min_pipe(r)) + (r->state == UP ? octets(r, 2) : 0);
}

INLINE u64 inflight_with_headroom(const struct rule *r, const struct params *p)
{
	u64 headroom;

	if (r->inflight_longterm == UNBOUNDED)
		return UNBOUNDED;
	headroom = most(part_of(r->inflight_longterm, p->headroom), r->mss);
	return most(r->inflight_longterm > headroom ? r->inflight_longterm - headroom : 0, min_pipe(r));
}

INLINE void save_cwnd(struct rule *r)
{
	r->prior_cwnd = r->repair == NO_REPAIR && r->state != PROBE_RTT ? r->cwnd : most(r->prior_cwnd, r->cwnd);
}

INLINE void restore_cwnd(struct rule *r)
{
	r->cwnd = most(r->cwnd, r->prior_cwnd);
}

/* ---- rounds and phases ---- */

INLINE void restart_round(struct rule *r, const struct report *a)
{
	r->round_ends_at = a->delivered;
}

INLINE void full_pipe_reset(struct rule *r, u64 bandwidth)
{
	r->full_bw_now = 0;
	r->full_bw = bandwidth;
	r->full_bw_rounds = 0;
}

INLINE void start_down(struct rule *r, const struct report *a)
{
	r->loss_in_round = 0;
	r->bw_latest = r->inflight_latest = 0;
	/* PickProbeWait */
	r->rounds_since_up = (a->random >> 32) & 1;
	r->wait_us = 2000000 + (((a->random & 0xffffffffULL) * 1000000) >> 32);
	r->draws++;
	r->cycle_stamp_us = a->now_us;
	r->feedback = STOPPING;
	restart_round(r, a);
	r->state = DOWN;
}

INLINE void start_refill(struct rule *r, const struct report *a)
{
	r->bw_shortterm = r->inflight_shortterm = UNBOUNDED;
	r->up_rounds = 0;
	r->up_acked = 0;
	r->was_precautionary = 0;
	r->feedback = REFILLING;
	restart_round(r, a);
	r->state = REFILL;
}

INLINE void raise_slope(struct rule *r)
{
	u64 growth = 1ULL << least(r->up_rounds, 30);

	r->up_rounds = least(r->up_rounds + 1, 30);
	r->acked_per_increment = most(r->cwnd / growth, r->mss);
}

INLINE void start_up(struct rule *r, const struct report *a)
{
	r->feedback = STARTING;
	restart_round(r, a);
	full_pipe_reset(r, r->sample_rate);
	r->state = UP;
	raise_slope(r);
}

/* ---- losses ---- */

INLINE u32 is_too_high(const struct params *p, const struct report *a, u32 lost, u32 in_flight)
{
	return (u64)lost << 24 > in_flight * p->loss_threshold || (lost && !a->has_sack);
}

INLINE void save_upon_loss(struct rule *r)
{
	save_cwnd(r);
	r->undo_state = NO_STATE;
	r->undo_bw_shortterm = r->bw_shortterm;
	r->undo_inflight_shortterm = r->inflight_shortterm;
	r->undo_inflight_longterm = r->inflight_longterm;
}

/* At what part of the lost segments did the losses cross the threshold? */
INLINE u64 inflight_at_loss(const struct rule *r, const struct params *p, const struct report *a)
{
	u64 inflight = octets(r, r->tx_in_flight - least(r->tx_in_flight, a->lost));
	u64 lost = octets(r, r->sample_lost - least(r->sample_lost, a->lost));
	u64 allowed = part_of(inflight, p->loss_threshold), room = GAIN - p->loss_threshold;

	if (allowed >= lost)
		return inflight + ((allowed - lost) << 24) / room;
	return inflight - least(((lost - allowed) << 24) / room, inflight);
}

INLINE void handle_inflight_too_high(struct rule *r, const struct params *p, const struct report *a)
{
	r->was_too_high = 1;
	r->takes_samples = 0;
	if (!a->is_app_limited)
		r->inflight_longterm = most(inflight_at_loss(r, p, a), part_of(target_inflight(r), p->beta));
	if (r->state == UP) {
		r->undo_state = UP;
		start_down(r, a);
	}
}

APART u32 ackclock_losses(struct rule *r, const struct params *p, const struct report *a)
{
	if (!r || !p || !a)
		return 0;
	if (!r->loss_in_round) {
		r->loss_round_ends_at = a->delivered;
		save_upon_loss(r);
	}
	r->loss_in_round = 1;
	r->lost_ranges++;
	if (r->takes_samples && is_too_high(p, a, r->sample_lost, r->tx_in_flight))
		handle_inflight_too_high(r, p, a);
	return 0;
}

/* Returns whether a round of losses ends. */
INLINE u32 update_latest_signals(struct rule *r, const struct report *a)
{
	if (!a->has_sample)
		return 0;
	r->bw_latest = most(r->bw_latest, r->sample_rate);
	r->inflight_latest = most(r->inflight_latest, octets(r, a->sample_delivered));
	if ((s32)(a->prior_delivered - r->loss_round_ends_at) < 0)
		return 0;
	r->loss_round_ends_at = a->delivered;
	return 1;
}

/* LossLowerBounds: towards what was delivered, by Beta at most. */
INLINE void lower_bounds(struct rule *r, const struct params *p)
{
	u64 bw = r->bw_shortterm == UNBOUNDED ? r->max_bw : r->bw_shortterm;
	u64 inflight = r->inflight_shortterm == UNBOUNDED ? r->cwnd : r->inflight_shortterm;

	r->bw_shortterm = most(r->bw_latest, part_of(bw, p->beta));
	r->inflight_shortterm = most(r->inflight_latest, part_of(inflight, p->beta));
}

/* Returns how many ranges the round lost. */
INLINE u32 update_congestion_signals(struct rule *r, const struct params *p, u32 round_ends)
{
	u32 ranges = r->lost_ranges;

	if (!round_ends)
		return 0;
	if (r->loss_in_round && r->state != STARTUP && r->state != REFILL && r->state != UP)
		lower_bounds(r, p);
	r->loss_in_round = 0;
	r->lost_ranges = 0;
	return ranges;
}

/* ---- the model ---- */

INLINE void update_max_bw(struct rule *r, const struct report *a)
{
	r->round_starts = 0;
	if (!a->has_sample)
		return;
	if ((s32)(a->prior_delivered - r->round_ends_at) >= 0) {
		r->round_starts = 1;
		r->round_ends_at = a->delivered;
		r->round++;
		r->rounds_since_up++;
	}
	if (!a->interval_us || (r->sample_rate < r->max_bw && a->is_app_limited))
		return;
	if (r->cycles != r->filter_cycle) {
		r->prior_cycle_bw = r->cycles - r->filter_cycle == 1 ? r->cycle_bw : 0;
		r->cycle_bw = 0;
		r->filter_cycle = r->cycles;
	}
	r->cycle_bw = most(r->cycle_bw, r->sample_rate);
	r->max_bw = most(r->cycle_bw, r->prior_cycle_bw);
}

INLINE void note_use_of_window(struct rule *r, const struct report *a)
{
	if (r->round_starts) {
		r->filled_window = r->fills_window;
		r->fills_window = 0;
	}
	r->fills_window |= octets(r, a->prior_inflight + 1) > r->cwnd;
}

INLINE u32 fills(const struct rule *r)
{
	return r->fills_window || r->filled_window;
}

APART u32 ackclock_aggregation(struct rule *r, const struct report *a)
{
	u64 expected;
	u32 i, place, rounds;

	if (!r || !a)
		return 0;
	expected = octets_in(r->bw, a->now_us - r->extra_since_us);
	place = r->round % EXTRAS;
	rounds = r->full_bw_reached ? EXTRA_ROUNDS : 1;
	if (r->extra_delivered <= expected) {
		r->extra_since_us = a->now_us;
		r->extra_delivered = expected = 0;
	}
	r->extra_delivered += octets(r, a->acked);
	if (r->extra_rounds[place] != r->round) {
		r->extra_rounds[place] = r->round;
		r->extras[place] = 0;
	}
	r->extras[place] = most(r->extras[place], least(r->extra_delivered - expected, r->cwnd));
	r->extra = 0;
	for (i = 0; i < EXTRAS; i++) {
		if (r->round - r->extra_rounds[i] < rounds)
			r->extra = most(r->extra, r->extras[i]);
		else
			r->extras[i] = 0;
	}
	return 0;
}

/* CheckFullBWReached: three rounds without a quarter more. */
INLINE void check_full_pipe(struct rule *r, const struct report *a)
{
	if (r->full_bw_now || !r->round_starts || a->is_app_limited)
		return;
	if (r->sample_rate >= r->full_bw + r->full_bw / 4) {
		full_pipe_reset(r, r->sample_rate);
		return;
	}
	r->full_bw_rounds++;
	r->full_bw_now = r->full_bw_rounds >= 3;
	r->full_bw_reached |= r->full_bw_now;
}

INLINE void check_startup_done(struct rule *r, const struct params *p, const struct report *a, u32 round_ends, u32 ranges)
{
	if (r->state != STARTUP)
		return;
	if (round_ends && a->repair == FAST_REPAIR && ranges >= (a->has_sack ? 6 : 1) &&
	    is_too_high(p, a, r->sample_lost, r->tx_in_flight)) {
		r->undo_state = STARTUP;
		r->full_bw_reached = 1;
		r->inflight_longterm = most(bdp_of(r, r->bw, GAIN), r->inflight_latest);
	}
	if (r->full_bw_reached) {
		r->state = DRAIN;
		r->drain_start_round = r->round;
	}
}

INLINE void check_drain_done(struct rule *r, const struct report *a)
{
	if (r->state == DRAIN && (octets(r, a->inflight) <= with_budget(r, bdp_of(r, r->bw, GAIN)) ||
				  r->round > r->drain_start_round + 3))
		start_down(r, a);
}

/* ---- probing for bandwidth ---- */

INLINE void probe_longterm_upward(struct rule *r, const struct report *a)
{
	u64 increments;

	if (!fills(r) || r->cwnd < r->inflight_longterm || !r->acked_per_increment)
		return;
	r->up_acked += octets(r, a->acked);
	increments = r->up_acked / r->acked_per_increment;
	r->up_acked %= r->acked_per_increment;
	r->inflight_longterm += increments * r->mss;
	if (r->round_starts)
		raise_slope(r);
}

/* Returns whether it has chosen a state. */
INLINE u32 adapt_long_term_model(struct rule *r, const struct params *p, const struct report *a)
{
	if (r->feedback == STARTING && r->round_starts)
		r->feedback = COMING;
	if (r->feedback == STOPPING && r->round_starts) {
		r->takes_samples = 0;
		r->feedback = NO_FEEDBACK;
		if (r->state >= DOWN && r->state <= UP) {
			r->cycles += !a->is_app_limited;
			if (r->was_precautionary && !r->was_too_high) {
				start_refill(r, a);
				return 1;
			}
		}
	}
	if (is_too_high(p, a, r->sample_lost, r->tx_in_flight) || r->inflight_longterm == UNBOUNDED)
		return 0;
	r->inflight_longterm = most(r->inflight_longterm, octets(r, r->tx_in_flight));
	if (r->state == UP)
		probe_longterm_upward(r, a);
	return 0;
}

INLINE u32 is_time_to_probe(const struct rule *r, const struct report *a)
{
	return a->now_us > r->cycle_stamp_us + r->wait_us ||
	       r->rounds_since_up >= least(target_inflight(r) / most(r->mss, 1), 63);
}

INLINE u32 is_time_to_cruise(const struct rule *r, const struct params *p, const struct report *a)
{
	u64 inflight = octets(r, a->inflight);

	return inflight <= inflight_with_headroom(r, p) && inflight <= with_budget(r, bdp_of(r, r->max_bw, GAIN));
}

INLINE u32 is_time_to_go_down(struct rule *r, const struct report *a)
{
	if (r->was_too_high && octets(r, a->inflight) >= r->inflight_longterm) {
		r->was_precautionary = 1;
		return 1;
	}
	if (fills(r) && r->cwnd >= r->inflight_longterm) {
		full_pipe_reset(r, r->sample_rate);
		return 0;
	}
	return r->full_bw_now;
}

APART u32 ackclock_probe_bw(struct rule *r, const struct params *p, const struct report *a)
{
	if (!r || !p || !a || !r->full_bw_reached || adapt_long_term_model(r, p, a))
		return 0;
	if ((r->state == DOWN || r->state == CRUISE) && is_time_to_probe(r, a)) {
		start_refill(r, a);
	} else if (r->state == DOWN && is_time_to_cruise(r, p, a)) {
		r->state = CRUISE;
	} else if (r->state == REFILL && r->round_starts) {
		r->takes_samples = 1;
		start_up(r, a);
	} else if (r->state == UP && is_time_to_go_down(r, a)) {
		r->was_too_high = 0;
		start_down(r, a);
	}
	return 0;
}

/* ---- the least round trip ---- */

/* Returns whether a pause is due. */
INLINE u32 update_min_rtt(struct rule *r, const struct params *p, const struct report *a)
{
	u32 expired = r->recent_us && a->now_us > r->recent_at_us + p->probe_rtt_interval_us;

	if (a->rtt_us && (expired || !r->recent_us || a->rtt_us < r->recent_us)) {
		r->recent_us = a->rtt_us;
		r->recent_at_us = a->now_us;
	}
	if (!r->min_rtt_us || r->recent_us < r->min_rtt_us || a->now_us > r->min_rtt_at_us + MIN_RTT_FILTER_US) {
		r->min_rtt_us = r->recent_us;
		r->min_rtt_at_us = r->recent_at_us;
	}
	return expired;
}

INLINE u64 probe_rtt_cwnd(const struct rule *r)
{
	return most(bdp_of(r, r->bw, GAIN / 2), min_pipe(r));
}

INLINE void check_probe_rtt_done(struct rule *r, const struct report *a)
{
	if (!r->has_until || a->now_us <= r->until_us)
		return;
	r->recent_at_us = a->now_us;
	restore_cwnd(r);
	r->bw_shortterm = r->inflight_shortterm = UNBOUNDED;
	if (r->full_bw_reached) {
		start_down(r, a);
		r->state = CRUISE;
	} else {
		r->state = STARTUP;
	}
}

APART u32 ackclock_probe_rtt(struct rule *r, const struct params *p, const struct report *a, u32 expired)
{
	if (!r || !p || !a)
		return 0;
	if (r->state != PROBE_RTT && expired && !r->idle_restart) {
		save_cwnd(r);
		r->state = PROBE_RTT;
		r->has_until = 0;
		r->feedback = STOPPING;
		restart_round(r, a);
	}
	if (r->state == PROBE_RTT) {
		if (r->has_until) {
			r->round_done |= r->round_starts;
			if (r->round_done)
				check_probe_rtt_done(r, a);
		} else if (octets(r, a->inflight) <= probe_rtt_cwnd(r)) {
			r->has_until = 1;
			r->until_us = a->now_us + p->probe_rtt_duration_us;
			r->round_done = 0;
			restart_round(r, a);
		}
	}
	if (a->has_sample)
		r->idle_restart = 0;
	return 0;
}

/* ---- the window ---- */

INLINE u64 bounded_by_model(const struct rule *r, const struct params *p)
{
	u64 cap = UNBOUNDED;

	if (r->state == DOWN || r->state == REFILL || r->state == UP)
		cap = r->inflight_longterm;
	else if (r->state == PROBE_RTT || r->state == CRUISE)
		cap = inflight_with_headroom(r, p);
	return most(least(cap, r->inflight_shortterm), min_pipe(r));
}

APART u32 ackclock_cwnd(struct rule *r, const struct params *p, const struct report *a)
{
	u64 gain, most_cwnd, acked;

	if (!r || !p || !a)
		return 0;
	gain = r->state == UP ? GAIN / 4 * 9 : r->state == PROBE_RTT ? GAIN / 2 : 2 * GAIN;
	most_cwnd = with_budget(r, bdp_of(r, r->bw, gain) + r->extra);
	acked = octets(r, a->acked);
	if (r->full_bw_reached)
		r->cwnd = least(r->cwnd + acked, most_cwnd);
	else if (r->cwnd < most_cwnd || octets(r, a->delivered) < r->initial_window)
		r->cwnd += acked;
	r->cwnd = most(r->cwnd, min_pipe(r));
	if (r->state == PROBE_RTT)
		r->cwnd = least(r->cwnd, probe_rtt_cwnd(r));
	r->cwnd = least(r->cwnd, bounded_by_model(r, p));
	return 0;
}

INLINE void steer(const struct rule *r, struct steering *s)
{
	s->cwnd = q32_ratio(least(r->cwnd, 0xffffffffULL), r->mss);
	s->pacing_rate = r->pacing_rate;
	s->draws = r->draws;
	s->state = r->state;
}

/* ---- what happens ---- */

INLINE void note_first_rtt(struct rule *r, const struct params *p, u32 srtt_us)
{
	if (r->has_rtt || !srtt_us)
		return;
	r->has_rtt = 1;
	r->pacing_rate = initial_rate(r->initial_window, srtt_us, p->startup_gain);
}

INLINE void rule_init(struct rule *r, const struct params *p, const struct report *a, struct steering *s)
{
	r->mss = most(a->mss, 1);
	r->cwnd = r->initial_window = octets(r, whole(s->cwnd));
	r->bw_shortterm = r->inflight_shortterm = r->inflight_longterm = UNBOUNDED;
	r->undo_state = NO_STATE;
	r->pacing_rate = initial_rate(r->initial_window, 0, p->startup_gain);
	r->pasts.delivered = r->round_ends_at = r->loss_round_ends_at = a->delivered;
	r->pasts.lost = a->lost_ever;
	note_first_rtt(r, p, a->srtt_us);
	steer(r, s);
}

INLINE void read_sample(struct rule *r, const struct report *a)
{
	struct past past;

	note_past(&r->pasts, a);
	r->sample_rate = 0;
	r->tx_in_flight = a->prior_inflight;
	r->sample_lost = a->lost;
	if (!a->has_sample)
		return;
	if (a->interval_us)
		r->sample_rate = octets(r, a->sample_delivered) * 8000000 / a->interval_us;
	past = past_of(&r->pasts, a, a->prior_delivered);
	r->tx_in_flight = past.inflight;
	r->sample_lost = a->lost_ever - past.lost;
}

INLINE void note_repair(struct rule *r, const struct report *a)
{
	if (a->repair == FAST_REPAIR && r->repair != FAST_REPAIR)
		save_upon_loss(r);
	else if (a->repair == NO_REPAIR && r->repair != NO_REPAIR)
		restore_cwnd(r);
	r->repair = a->repair;
}

INLINE void rule_on_ack(struct rule *r, const struct params *p, const struct report *a, struct steering *s)
{
	u32 loss_round_ends, ranges, expired;

	read_sample(r, a);
	if (a->lost)
		ackclock_losses(r, p, a);
	if (!a->has_sample)
		r->tx_in_flight = r->sample_lost = 0;
	note_first_rtt(r, p, a->srtt_us);
	note_repair(r, a);
	loss_round_ends = update_latest_signals(r, a);
	update_max_bw(r, a);
	ranges = update_congestion_signals(r, p, loss_round_ends);
	note_use_of_window(r, a);
	ackclock_aggregation(r, a);
	check_full_pipe(r, a);
	check_startup_done(r, p, a, loss_round_ends, ranges);
	check_drain_done(r, a);
	ackclock_probe_bw(r, p, a);
	expired = update_min_rtt(r, p, a);
	ackclock_probe_rtt(r, p, a, expired);
	if (loss_round_ends) {
		r->bw_latest = r->sample_rate;
		r->inflight_latest = octets(r, a->sample_delivered);
	}
	r->bw = least(r->max_bw, r->bw_shortterm);
	set_pacing_rate(r, pacing_gain(r, p));
	ackclock_cwnd(r, p, a);
	steer(r, s);
}

INLINE void rule_on_timeout(struct rule *r, const struct params *p, const struct report *a, struct steering *s)
{
	save_upon_loss(r);
	r->repair = TIMEOUT_REPAIR;
	r->cwnd = octets(r, a->inflight + 1);
	steer(r, s);
}

/* HandleSpuriousLossDetection. */
INLINE void rule_on_undo(struct rule *r, const struct params *p, const struct report *a, struct steering *s)
{
	u32 before = r->undo_state;

	restore_cwnd(r);
	r->loss_in_round = 0;
	full_pipe_reset(r, 0);
	r->bw_shortterm = most(r->bw_shortterm, r->undo_bw_shortterm);
	r->inflight_shortterm = most(r->inflight_shortterm, r->undo_inflight_shortterm);
	r->inflight_longterm = most(r->inflight_longterm, r->undo_inflight_longterm);
	r->undo_state = NO_STATE;
	if (before == STARTUP && r->state != STARTUP) {
		r->full_bw_reached = 0;
		if (r->state != PROBE_RTT)
			r->state = STARTUP;
	} else if (before == UP && r->state != UP && r->state != PROBE_RTT) {
		start_refill(r, a);
	}
	steer(r, s);
}

/* HandleRestartFromIdle: nothing is in flight, and that because the application had nothing to send, not for pacing. */
INLINE void rule_on_idle(struct rule *r, const struct params *p, const struct report *a, struct steering *s)
{
	if (!a->is_app_limited || !r->has_rtt)
		return;
	r->idle_restart = 1;
	r->extra_since_us = a->now_us;
	if (r->state >= DOWN && r->state <= UP)
		set_pacing_rate(r, GAIN);
	else if (r->state == PROBE_RTT)
		check_probe_rtt_done(r, a);
	steer(r, s);
}
#endif
