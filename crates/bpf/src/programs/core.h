/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the rules of all controllers share, in the kernel and on the host: numbers, what an ACK tells, slow start.
 *
 * Source: crates/cc of this project, which these rules are held to; RFC 5681 and RFC 3465 for slow start.
 * Departures: windows are fixed-point numbers with 32 bits after the point ("q32"), where crates/cc has f64 or octets, since a
 * program in the kernel has no floating point and divides unsigned numbers only. What an operation may be given is said with it.
 */
#ifndef ACKCLOCK_CORE_H
#define ACKCLOCK_CORE_H

#ifdef __bpf__
typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
#elif defined(__KERNEL__)
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

#define INLINE static inline __attribute__((always_inline, unused))

/* Functions that the kernel's verifier looks at by themselves, whoever calls them, so that what they do is looked at once. They are not
 * static, and ask whether their pointers are null. */
#ifdef __KERNEL__
#define APART static __attribute__((__noinline__, unused))
#else
#define APART __attribute__((noinline, weak))
#endif

#define ONE (1ULL << 32)
#define MILLISECOND 1000000ULL
#define SECOND 1000000000ULL
/* The kernel's "arbitrarily high" ssthresh, in segments. */
#define NO_SSTHRESH 0x7fffffffU
/* Delays are kept in 32 bits of nanoseconds: longer ones count as this long. */
#define LONGEST_NS 4000000000ULL
/* More segments than that are not counted for one ACK, so that products stay within 64 bits. */
#define MOST_ACKED 4096U

INLINE u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE u64 q32(u32 whole)
{
	return (u64)whole << 32;
}

INLINE u32 whole(u64 number)
{
	return number >> 32;
}

/* number * fraction, exactly but for the last place; fraction at most 1. */
INLINE u64 q32_part(u64 number, u64 fraction)
{
	return (number >> 32) * fraction + (((number & 0xffffffffULL) * fraction) >> 32);
}

/* number / divisor, both q32; the divisor 2^-16 at least. Its last 16 places are left out: at a window of two segments an
 * error of 1e-5 of the result, less above. */
INLINE u64 q32_over(u64 number, u64 divisor)
{
	u64 by = divisor >> 16;

	if (!by)
		return 0;
	return ((number / by) << 16) + (((number % by) << 16) / by);
}

/* part / all as q32; both below 2^32. */
INLINE u64 q32_ratio(u64 part, u64 all)
{
	return all ? (part << 32) / all : 0;
}

/* Nanoseconds as q32 seconds. */
INLINE u64 q32_seconds(u64 ns)
{
	return ((ns / SECOND) << 32) + ((ns % SECOND) << 32) / SECOND;
}

/* What an ACK tells, and the flow as it found it. */
struct ack {
	u64 now_ns;
	/* The newest round trip that it shows; none: 0. */
	u64 rtt_ns;
	/* The smoothed one. */
	u64 srtt_ns;
	/* Segments that it delivers, by SACK or not, and that it lets the sender take for lost. */
	u32 acked;
	u32 lost;
	/* Round trips since the connection began, told by sequence numbers. */
	u32 round;
	/* The timestamps option: the receiver's clock, the own one when the data left and now; a tick of the own one, none: 0. */
	u32 tsval;
	u32 tsecr;
	u32 arrival;
	u32 tick_ns;
	/* It advances snd_una; the window held data back; a fast recovery is under way, which this ACK may end. */
	u8 is_cumulative;
	u8 is_cwnd_limited;
	u8 in_recovery;
	u8 padding;
};

/* The window, with the parts of a segment that the kernel's whole numbers do not hold. */
struct window {
	u64 cwnd;
	u64 ssthresh;
	/* Since a timeout, of which fewer octets count in slow start (RFC 3465 section 2.3). */
	u32 after_timeout;
	u32 padding;
};

/* Takes over the stack's whole numbers where it has changed them: after idle time, a timeout, an undo, in a recovery. */
INLINE void window_sync(struct window *w, u32 cwnd, u32 ssthresh)
{
	if (whole(w->ssthresh) != ssthresh)
		w->ssthresh = q32(ssthresh);
	/* a recovery ends with cwnd = ssthresh */
	if (whole(w->cwnd) != cwnd)
		w->cwnd = cwnd == ssthresh ? w->ssthresh : q32(cwnd);
}

/* Slow start's part of an ACK, in segments; `limit` is the most that one ACK counts for (RFC 3465's L), none: 0.
 * Returns what is left for congestion avoidance, q32 segments. */
INLINE u64 window_slow_start(struct window *w, u32 acked, u64 limit)
{
	u64 counted = acked, grown;

	if (w->cwnd >= w->ssthresh)
		return q32(acked);
	if (limit)
		counted = least(counted, w->after_timeout ? 1 : limit);
	grown = w->cwnd + (counted << 32);
	if (grown <= w->ssthresh) {
		w->cwnd = grown;
		return 0;
	}
	w->cwnd = w->ssthresh;
	return grown - w->ssthresh;
}

#endif
