/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What controllers with a window and a rate of their own are told of an ACK, and what they set; in the kernel and on the host.
 *
 * Source: draft-cheng-iccrg-delivery-rate-estimation-02 for the sample, whose names are given.
 * Departures: Linux keeps of a segment how much had been delivered when it left, and not what was in flight then nor what had
 * been lost. Both are taken from a table of ACKs by that number: what was in flight right before the next ACK came, and the count
 * of losses at that moment; so segments of one burst have the last one's in flight. An ACK's losses come as one number.
 */
#ifndef ACKCLOCK_FLIGHT_H
#define ACKCLOCK_FLIGHT_H
#include "core.h"

enum repair { NO_REPAIR, FAST_REPAIR, TIMEOUT_REPAIR };

/* Of segments where nothing else is said. */
struct report {
	u64 now_us;
	/* The newest round trip; none: 0. */
	u32 rtt_us;
	u32 srtt_us;
	u32 acked;
	u32 lost;
	/* C.delivered, C.lost, C.inflight after this ACK, and the latter before it. */
	u32 delivered;
	u32 lost_ever;
	u32 inflight;
	u32 prior_inflight;
	/* RS.prior_delivered, RS.delivered, RS.interval (too short to tell: 0). */
	u32 prior_delivered;
	u32 sample_delivered;
	u32 interval_us;
	/* Octets of a segment. */
	u32 mss;
	/* 32 random bits for a uniform number, and one more in the 33rd. */
	u64 random;
	u8 has_sample;
	u8 is_app_limited;
	u8 is_cwnd_limited;
	u8 has_sack;
	u8 repair;
	u8 padding[7];
};

struct steering {
	/* q32 segments. */
	u64 cwnd;
	/* Segments are paced at that; bit/s. */
	u64 pacing_rate;
	/* How often random bits were used. */
	u32 draws;
	/* As the rule numbers its states. */
	u32 state;
};

/* ---- what was in flight ---- */

#define PASTS 1024U
/* So many segments of what had been delivered share a place. */
#define PAST_SHIFT 2

struct past {
	u32 delivered;
	u32 inflight;
	u32 lost;
};

struct pasts {
	u32 delivered;
	u32 lost;
	struct past of[PASTS];
};

/* An ACK: what was in flight before it belongs to what had been delivered before it. */
INLINE void note_past(struct pasts *p, const struct report *a)
{
	struct past *past = &p->of[(p->delivered >> PAST_SHIFT) % PASTS];

	past->delivered = p->delivered;
	past->inflight = a->prior_inflight;
	past->lost = p->lost;
	p->delivered = a->delivered;
	p->lost = a->lost_ever;
}

/* The moment at which `delivered` segments had been delivered; what was right before this ACK if it is too long ago. */
INLINE struct past past_of(const struct pasts *p, const struct report *a, u32 delivered)
{
	struct past past = p->of[(delivered >> PAST_SHIFT) % PASTS];

	if (past.delivered >> PAST_SHIFT != delivered >> PAST_SHIFT) {
		past.inflight = a->prior_inflight;
		past.lost = a->lost_ever - a->lost;
	}
	return past;
}

/* ---- numbers ---- */

/* a * b of two q32, for results below 2^32. */
INLINE u64 q32_times(u64 a, u64 b)
{
	return (a >> 32) * b + q32_part(b, a & 0xffffffffULL);
}

/* Octets that a rate in bit/s carries in a time of at most 16 s, rounded down. */
INLINE u64 octets_in(u64 rate, u64 us)
{
	return least(rate, 1ULL << 40) * least(us, 16000000) / 8000000;
}

/* The least value of the recent past. Departures from crates/cc/src/windowed_min.rs: of values that rise, those less than 1/128 of
 * the window after the last one kept are not kept. */
#define LEASTS 256U
struct leasts {
	u32 at_us[LEASTS];
	u32 value[LEASTS];
	u32 first;
	u32 count;
};

APART u32 ackclock_least(struct leasts *l, u32 now_us, u32 value, u32 window_us)
{
	u32 i, last;

	if (!l)
		return value;
	for (i = 0; i < LEASTS; i++) {
		last = (l->first + l->count - 1) % LEASTS;
		if (!l->count || l->value[last] < value)
			break;
		l->count--;
	}
	last = (l->first + l->count - 1) % LEASTS;
	if (!l->count || (l->count < LEASTS && now_us - l->at_us[last] >= window_us / 128)) {
		last = (l->first + l->count) % LEASTS;
		l->at_us[last] = now_us;
		l->value[last] = value;
		l->count++;
	}
	for (i = 0; i < LEASTS; i++) {
		if (l->count <= 1 || now_us - l->at_us[l->first % LEASTS] <= window_us)
			break;
		l->first = (l->first + 1) % LEASTS;
		l->count--;
	}
	if (l->count == 1 && now_us - l->at_us[l->first % LEASTS] > window_us) {
		l->at_us[l->first % LEASTS] = now_us;
		l->value[l->first % LEASTS] = value;
	}
	return l->value[l->first % LEASTS];
}
#endif
