/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The rules that RULE names as a program that user space runs by hand, event by event: what the kernel's own bytecode makes
 * of the same events as the rules compiled for the host. */
#include "kernel.h"
#include RULE
#include "drive.h"

/* The rules reckon in a variable: the verifier takes no pointer into what a program is given. */
struct exchange at_hand SEC(".data.at_hand");

SEC("syscall")
int replay(struct exchange *x)
{
	__builtin_memcpy(&at_hand, x, sizeof(at_hand));
	drive(&at_hand);
	__builtin_memcpy(x, &at_hand, sizeof(at_hand));
	return 0;
}
