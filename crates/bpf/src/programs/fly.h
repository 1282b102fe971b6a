/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One event for a controller with a window and a rate of its own, as the kernel's stack would bring it: as drive.h for those that
 * have a window only. */
#ifndef ACKCLOCK_FLY_H
#define ACKCLOCK_FLY_H

enum event { BEGIN, ACK, LOSS, TIMEOUT, UNDO, IDLE };

#define PARAMS 12
#define FLIGHT_STATE 1700

struct flight {
	u32 event;
	u32 padding;
	struct report report;
	struct steering steering;
	u64 params[PARAMS];
	u64 state[FLIGHT_STATE];
};

_Static_assert(sizeof(struct params) <= PARAMS * sizeof(u64), "more parameters than a flight has room for");
_Static_assert(sizeof(struct rule) <= FLIGHT_STATE * sizeof(u64), "more state than a flight has room for");

INLINE void fly(struct flight *x)
{
	struct rule *r = (struct rule *)x->state;
	const struct params *p = (const struct params *)x->params;
	const struct report *a = &x->report;
	struct steering *s = &x->steering;

	if (x->event == BEGIN)
		rule_init(r, p, a, s);
	else if (x->event == ACK)
		rule_on_ack(r, p, a, s);
	else if (x->event == TIMEOUT)
		rule_on_timeout(r, p, a, s);
	else if (x->event == UNDO)
		rule_on_undo(r, p, a, s);
	else if (x->event == IDLE)
		rule_on_idle(r, p, a, s);
}
#endif
