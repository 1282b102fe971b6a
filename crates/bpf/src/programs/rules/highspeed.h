/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* HighSpeed TCP: increase and decrease depend on the window.
 * Source: RFC 3649 section 5; crates/cc/src/classic/highspeed.rs.
 * Departures: a(w) and b(w) are straight lines between 32 windows in each octave, at which the loader works the RFC's formulas
 * out; between them a(w) is at most 1.1e-4 of itself too large. Above 2^20 segments they stay. */
#include "../core.h"

#define OCTAVES 20
#define STEPS 32

struct params {
	u64 slow_start_limit;
	u64 low_window;
};

struct rule {
	u64 nothing;
};

/* a and what is kept, 1 - b, of windows 2^octave (1 + step/32): both rise. */
struct point {
	u64 a;
	u64 kept;
};
struct curve {
	struct point points[OCTAVES * STEPS + 1];
};
#ifdef __bpf__
struct curve curve SEC(".data.curve");
#else
static struct curve curve;
#endif

INLINE void rule_init(struct rule *r, const struct params *p) {}
INLINE void rule_on_ack(struct rule *r, const struct params *p, const struct ack *a, struct window *w) {}
INLINE u64 rule_on_timeout(struct rule *r, const struct params *p, u64 cwnd) { return 0; }

/* The power of two at or below a window, of 1 to 2^20 segments. */
INLINE u32 octave_of(u32 segments)
{
	u32 octave = 0;

	if (segments >> 16) {
		segments >>= 16;
		octave = 16;
	}
	if (segments >> 8) {
		segments >>= 8;
		octave += 8;
	}
	if (segments >> 4) {
		segments >>= 4;
		octave += 4;
	}
	if (segments >> 2) {
		segments >>= 2;
		octave += 2;
	}
	return octave + (segments >> 1);
}

INLINE struct point response(const struct params *p, u64 cwnd)
{
	struct point found = {.a = ONE, .kept = ONE / 2};
	u32 segments = whole(cwnd), index, octave;
	u64 place, part;

	if (q32(segments) <= p->low_window || !segments)
		return found;
	octave = octave_of(segments);
	place = octave < 32 ? (q32(segments) >> octave) & 0xffffffff : 0;
	index = octave * STEPS + (place >> 27);
	if (index >= OCTAVES * STEPS)
		return curve.points[OCTAVES * STEPS];
	part = (place & ((1 << 27) - 1)) << 5;
	found = curve.points[index];
	found.a += q32_part(curve.points[index + 1].a - found.a, part);
	found.kept += q32_part(curve.points[index + 1].kept - found.kept, part);
	return found;
}

INLINE u64 rule_increase(struct rule *r, const struct params *p, const struct ack *a, u64 cwnd, u64 acked)
{
	u64 rate = response(p, cwnd).a;

	return q32_over(rate * (acked >> 32) + q32_part(rate, acked & 0xffffffff), cwnd);
}

INLINE u64 rule_decrease(struct rule *r, const struct params *p, u64 now_ns, u64 cwnd)
{
	return q32_part(cwnd, response(p, cwnd).kept);
}
#include "../classic.h"
