/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A controller's rules compiled for this machine's own processor: RULE names the header, DRIVE the function. */
#include RULE
#include "drive.h"

void DRIVE(struct exchange *x)
{
	drive(x);
}

#ifdef CURVE
void CURVE(const struct curve *given)
{
	curve = *given;
}
#endif
