/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The rules that RULE names as a program that user space runs by hand, event by event: what the kernel's own bytecode makes
 * of the same events as the rules compiled for the host. */
#include "kernel.h"
#include RULE
#include "drive.h"

SEC("syscall")
int replay(struct exchange *x)
{
	drive(x);
	return 0;
}
