/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A policy in whole numbers by hand: what the kernel's bytecode decides on a sight, and how long it takes. */
#include "kernel.h"
#include "policy.h"

struct policy policy SEC(".data.policy_0");

struct question {
	struct sight sight;
	s64 decision;
	u64 window;
	struct work work;
};
struct question at_hand SEC(".data.at_hand");
struct memory memory SEC(".data.memory");

SEC("syscall")
int replay(void *context)
{
	look(&policy, &at_hand.work, &at_hand.sight);
	at_hand.decision = decide(&policy, &at_hand.work, &memory);
	at_hand.window = window_after(&policy, at_hand.decision, at_hand.sight.cwnd >> 16);
	return 0;
}
