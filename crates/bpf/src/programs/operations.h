/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The operations of a controller, as the kernel takes them; after kernel.h. */
#ifndef ACKCLOCK_OPERATIONS_H
#define ACKCLOCK_OPERATIONS_H

/* Those that each program here has, by their names, and those that it adds. */
#define OPERATIONS(NAME, ...)                                                                                          \
	SEC(".struct_ops.link")                                                                                        \
	struct tcp_congestion_ops ops = {                                                                              \
		.init = (void *)ca_init,                                                                               \
		.ssthresh = (void *)ca_ssthresh,                                                                       \
		.cwnd_event = (void *)ca_event,                                                                        \
		.undo_cwnd = (void *)ca_undo,                                                                          \
		.name = NAME,                                                                                          \
		__VA_ARGS__                                                                                            \
	}
#endif
