/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Of rules that remember nothing but the window; after core.h and `struct params`. */

struct rule {
	u64 nothing;
};

INLINE void rule_init(struct rule *r, const struct params *p) {}
INLINE void rule_on_ack(struct rule *r, const struct params *p, const struct ack *a, struct window *w) {}
INLINE u64 rule_on_timeout(struct rule *r, const struct params *p, u64 cwnd) { return 0; }
