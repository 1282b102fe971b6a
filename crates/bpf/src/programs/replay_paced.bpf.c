/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The rules that RULE names as a program that user space runs by hand, event by event, as replay.bpf.c does for those that have a
 * window only. What happens is written to the variable and read from it: a flow's state is too large to be copied here. */
#include "kernel.h"
#include RULE
#include "fly.h"

struct flight at_hand SEC(".data.at_hand");

SEC("syscall")
int replay(void *context)
{
	fly(&at_hand);
	return 0;
}
