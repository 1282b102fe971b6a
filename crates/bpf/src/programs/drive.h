/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One event for a controller, as the kernel's stack would bring it: for comparing its numbers with those of crates/cc, on the
 * host and, by the bytecode itself, in the kernel. The order of calls is that of the kernel: measurements of every ACK, growth where the window may grow, ssthresh where an
 * episode begins; and of a timeout within an episode, and of what leaves after idle time, that it is. */
#ifndef ACKCLOCK_DRIVE_H
#define ACKCLOCK_DRIVE_H

enum event { BEGIN, ACK, LOSS, TIMEOUT, TIMEOUT_WITHIN, IDLE };

#define PARAMS 12
#define STATE 64

struct exchange {
	u32 event;
	u32 cwnd;
	u32 ssthresh;
	u32 padding;
	struct ack ack;
	u64 params[PARAMS];
	/* Of the controller, and its window with the parts of a segment. */
	struct window window;
	u64 state[STATE];
};

_Static_assert(sizeof(struct params) <= PARAMS * sizeof(u64), "more parameters than an exchange has room for");
_Static_assert(sizeof(struct rule) <= STATE * sizeof(u64), "more state than an exchange has room for");

INLINE void drive(struct exchange *x)
{
	struct rule *r = (struct rule *)x->state;
	const struct params *p = (const struct params *)x->params;
	struct window *w = &x->window;
	const struct ack *a = &x->ack;
	u64 cwnd;

	if (x->event == BEGIN)
		rule_init(r, p);
	window_sync(w, x->cwnd, x->ssthresh);
	cwnd = w->cwnd;
	if (x->event == ACK) {
		rule_on_ack(r, p, a, w);
		if (a->is_cumulative && a->is_cwnd_limited && !a->in_recovery)
			rule_grow(r, p, a, w);
	} else if (x->event == LOSS || x->event == TIMEOUT) {
		w->ssthresh = most(rule_decrease(r, p, a->now_ns, cwnd), 2 * ONE);
		w->cwnd = w->ssthresh;
		w->after_timeout = x->event == TIMEOUT;
	}
	if (x->event == TIMEOUT) {
		u64 threshold = rule_on_timeout(r, p, cwnd);

		if (threshold)
			w->ssthresh = most(threshold, 2 * ONE);
		w->cwnd = ONE;
	} else if (x->event == TIMEOUT_WITHIN) {
		rule_on_timeout(r, p, cwnd);
		w->after_timeout = 1;
		w->cwnd = ONE;
	} else if (x->event == IDLE) {
		rule_on_idle(r, p);
	}
	x->cwnd = whole(w->cwnd);
	x->ssthresh = whole(w->ssthresh);
}
#endif
