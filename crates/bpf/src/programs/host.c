/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A controller's rules compiled for this machine's own processor: RULE names the header, DRIVE the function. */
#include RULE
#ifdef PACED
#include "fly.h"

void DRIVE(struct flight *x)
{
	fly(x);
}
#else
#include "drive.h"

void DRIVE(struct exchange *x)
{
	drive(x);
}
#endif

#ifdef CURVE
void CURVE(const struct curve *given)
{
	curve = *given;
}
#endif
