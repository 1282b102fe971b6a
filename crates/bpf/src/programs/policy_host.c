/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The policy of policy.h compiled for this machine's own processor. */
#include "policy.h"

s64 ackclock_decide(const struct policy *policy, const struct sight *sight, struct memory *memory)
{
	static struct work work;

	look(policy, &work, sight);
	return decide(policy, &work, memory);
}
