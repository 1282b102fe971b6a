/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A trained policy in whole numbers: observations, network, decision.
 *
 * Source: crates/agent/src/policy/quantised.rs, whose arithmetic this is, bit for bit; `struct policy` is its Image, `struct sight`
 * its Sight. Numbers are q16 where nothing else is said. Departures: none. */
#ifndef ACKCLOCK_POLICY_H
#define ACKCLOCK_POLICY_H
#include "core.h"

#define LAYERS 6
#define OBSERVATIONS 32
#define CHOICES 64
#define BIASES 512
#define WEIGHTS 16384
#define WIDTH 128
#define POINTS 257
#define CURVE 513
#define GATE 1025
#define CELLS 32

#define UNIT ((s64)1 << 16)
#define MOST_SEGMENTS ((u64)1000000 << 16)
#define MOST_MS ((u64)600000 << 16)
#define MOST_BPS 1000000000000ULL
/* An activation's numbers stay below 2^15. */
#define MOST_NUMBER ((s64)1 << 31)
#define END (8 * UNIT)
#define GATE_END (16 * UNIT)

enum function { PLAIN, RELU, TABLE, CLIP };
enum decide { BY_ACKS, BY_WINDOW, BY_ROUNDS };
enum action { DELTAS, ORCA };

struct layer {
	u32 inputs;
	u32 outputs;
	u32 function;
	u32 fraction;
	u32 weights;
	u32 biases;
};

struct policy {
	u32 inputs;
	u32 layers;
	u32 decide;
	/* ACKs, or thousandths of a smoothed round trip. */
	u32 every;
	u32 action;
	u32 choices;
	u32 is_scaled;
	/* Outputs are a value for each choice. */
	u32 has_values;
	s32 segments[CHOICES];
	u32 codes[OBSERVATIONS];
	u32 units[OBSERVATIONS];
	u64 inverses[OBSERVATIONS];
	struct layer heads[LAYERS];
	u32 logarithms[POINTS];
	u32 powers[POINTS];
	s32 curve[CURVE];
	s32 slope_low;
	s32 slope_high;
	/* What lies beyond it on either side is cut. */
	u32 limit;
	s64 biases[BIASES];
	/* Each with 2^31 added, so that they are loaded without a sign; rows are filled up to fours. */
	u32 weights[WEIGHTS];
	/* The layer whose outputs are sums for the gates of an LSTM, counted from one; 0 if there is none. What follows is of it. */
	u32 lstm;
	u32 cells;
	/* Where in this layer's inputs the hidden state begins. */
	u32 hidden;
	u32 gate[GATE];
};

/* What is kept of a flow from one decision to the next: zero when it begins. */
struct memory {
	s64 hidden[CELLS];
	s64 cells[CELLS];
};

/* A flow at a decision, and the interval since the last one. */
struct sight {
	u64 cwnd;
	u64 ssthresh;
	u64 threshold;
	u64 acked;
	u64 lost;
	/* bit/s, whole. */
	u64 delivery_rate;
	u64 max_delivery_rate;
	u32 rtt_us;
	u32 srtt_us;
	u32 min_rtt_us;
	u32 mean_rtt_us;
	u32 interval_us;
	u32 acks;
	u32 in_slow_start;
	u32 in_recovery;
};

/* Room to work in: what goes into a layer and what comes out, and of the layer at hand. */
struct work {
	s64 numbers[2][WIDTH];
	/* 2^31 times the sum of what goes in, which the weights have too much. */
	s64 excess;
	u32 from;
	u32 layer;
};

/* ---- observations ---- */

INLINE u64 ms_of(u32 us)
{
	return least(((u64)us << 16) / 1000, MOST_MS);
}

INLINE u64 queue_share(const struct sight *s)
{
	u64 queueing = s->mean_rtt_us > s->min_rtt_us ? s->mean_rtt_us - s->min_rtt_us : 0;

	return s->mean_rtt_us ? (queueing << 16) / s->mean_rtt_us : 0;
}

INLINE u64 loss_fraction(const struct sight *s)
{
	u64 all = (s->acked + s->lost) >> 8;

	return all ? ((s->lost >> 8) << 16) / all : 0;
}

INLINE u64 delivery_ratio(const struct sight *s)
{
	u64 greatest = least(s->max_delivery_rate, MOST_BPS);

	return greatest ? (least(s->delivery_rate, greatest) << 16) / greatest : 0;
}

/* The value of a code, by its place in the list of crates/agent/src/policy/quantised/sight.rs. */
INLINE u64 value_of(u32 code, const struct sight *s)
{
	switch (code) {
	case 0:
		return least(s->cwnd, MOST_SEGMENTS);
	case 1:
		return least(s->ssthresh, MOST_SEGMENTS);
	case 2:
		return least(s->threshold, MOST_SEGMENTS);
	case 3:
		return least(s->acked, MOST_SEGMENTS);
	case 4:
		return least(s->lost, MOST_SEGMENTS);
	case 5:
		return ms_of(s->rtt_us);
	case 6:
		return ms_of(s->srtt_us);
	case 7:
		return ms_of(s->min_rtt_us);
	case 8:
		return ms_of(s->mean_rtt_us);
	case 9:
		return ms_of(s->mean_rtt_us > s->min_rtt_us ? s->mean_rtt_us - s->min_rtt_us : 0);
	case 10:
		return ms_of(s->interval_us);
	case 11:
		return least(s->delivery_rate, MOST_BPS);
	case 12:
		return least(s->max_delivery_rate, MOST_BPS);
	case 13:
		return loss_fraction(s);
	case 14:
		return delivery_ratio(s);
	case 15:
		return queue_share(s);
	case 16:
		return least(s->cwnd, MOST_SEGMENTS) * queue_share(s) >> 16;
	case 17:
		return s->in_slow_start ? UNIT : 0;
	default:
		return s->in_recovery ? UNIT : 0;
	}
}

/* The place of the highest bit of a number, which is not zero. */
INLINE u32 highest_bit(u64 number)
{
	u32 place = 0;

	if (number >> 32) {
		number >>= 32;
		place = 32;
	}
	if (number >> 16) {
		number >>= 16;
		place += 16;
	}
	if (number >> 8) {
		number >>= 8;
		place += 8;
	}
	if (number >> 4) {
		number >>= 4;
		place += 4;
	}
	if (number >> 2) {
		number >>= 2;
		place += 2;
	}
	return place + (u32)(number >> 1);
}

/* The logarithm of a number, which is one at least. */
INLINE u64 log2_of(const struct policy *p, u64 number)
{
	u32 whole_part = highest_bit(number) & 63;
	u64 digits = number << (63 - whole_part), part = (digits >> 39) & 0xffff;
	u32 place = (digits >> 55) & 255;
	u64 low = p->logarithms[place], high = p->logarithms[place + 1];

	return ((u64)(whole_part - 16) << 16) + low + ((high - low) * part >> 16);
}

APART s64 ackclock_input(const struct policy *p, u32 place, const struct sight *s)
{
	u64 value, unit, share, log;

	if (!p || !s || place >= OBSERVATIONS)
		return 0;
	value = value_of(p->codes[place], s);
	unit = p->units[place];
	if (!p->is_scaled || !unit)
		return value;
	/* of rates, which are whole, the unit is 10^5 */
	share = unit == 1 ? value : (value << 16) / unit;
	log = log2_of(p, share + UNIT);
	/* log is below 2^32: the product with 32 bits more, in two parts */
	return log * (p->inverses[place] >> 32) + (log * (p->inverses[place] & 0xffffffffULL) >> 32);
}

/* ---- the network ---- */

INLINE s64 activated(const struct policy *p, u32 function, s64 x)
{
	u32 place;
	s64 low, high;

	if (function == RELU)
		return x > 0 ? x : 0;
	if (function == CLIP)
		return x < -(s64)p->limit ? -(s64)p->limit : x > (s64)p->limit ? (s64)p->limit : x;
	if (function != TABLE)
		return x;
	if (x < -END)
		return p->curve[0] + ((s64)p->slope_low * (x + END) >> 16);
	if (x >= END)
		return p->curve[CURVE - 1] + ((s64)p->slope_high * (x - END) >> 16);
	place = ((u64)(x + END) >> 11) & 511;
	low = p->curve[place];
	high = p->curve[place + 1];
	return low + ((high - low) * ((x + END) & 2047) >> 11);
}

/* One output of the layer at hand. */
APART s64 ackclock_output(const struct policy *p, struct work *w, u32 output)
{
	u32 number, i, at, inputs;
	const struct layer *l;
	const s64 *x;
	s64 sum;

	if (!p || !w || output >= WIDTH || w->layer >= LAYERS)
		return 0;
	number = w->layer;
	if (number >= LAYERS)
		return 0;
	l = &p->heads[number];
	inputs = l->inputs;
	x = w->numbers[w->from & 1];
	sum = p->biases[(l->biases + output) & (BIASES - 1)] - w->excess;
	at = l->weights + output * inputs;
	for (i = 0; i < WIDTH; i += 4) {
		const u32 *weights;

		if (i >= inputs)
			break;
		weights = &p->weights[(at + i) & (WEIGHTS - 4)];
		sum += (u64)weights[0] * (u64)x[i] + (u64)weights[1] * (u64)x[i + 1];
		sum += (u64)weights[2] * (u64)x[i + 2] + (u64)weights[3] * (u64)x[i + 3];
	}
	sum >>= l->fraction & 63;
	sum = sum < -MOST_NUMBER ? -MOST_NUMBER : sum >= MOST_NUMBER ? MOST_NUMBER - 1 : sum;
	w->numbers[(w->from + 1) & 1][output & (WIDTH - 1)] = activated(p, l->function, sum);
	return 0;
}

/* What goes into the layer at hand, in all. */
APART u64 ackclock_sum(const struct policy *p, struct work *w)
{
	u64 sum = 0;
	u32 i, number, inputs;

	if (!p || !w)
		return 0;
	number = w->layer;
	if (number >= LAYERS)
		return 0;
	inputs = p->heads[number].inputs;
	for (i = 0; i < WIDTH; i++) {
		if (i >= inputs)
			break;
		sum += (u64)w->numbers[w->from & 1][i];
	}
	return sum;
}

/* The place of the greatest of so many numbers, the first of equals. */
APART u32 ackclock_greatest(struct work *w, u32 outputs)
{
	u32 i, best = 0;
	s64 greatest;

	if (!w)
		return 0;
	greatest = w->numbers[w->from & 1][0];
	for (i = 1; i < WIDTH; i++) {
		if (i >= outputs)
			break;
		if (w->numbers[w->from & 1][i] > greatest) {
			greatest = w->numbers[w->from & 1][i];
			best = i;
		}
	}
	return best;
}

/* ---- the LSTM ---- */

/* Puts the hidden state behind what goes into the layer at hand. */
APART s64 ackclock_remember(const struct policy *p, struct work *w, const struct memory *m)
{
	u32 i, cells, at;

	if (!p || !w || !m)
		return 0;
	cells = p->cells;
	at = p->hidden;
	for (i = 0; i < CELLS; i++) {
		if (i >= cells)
			break;
		w->numbers[w->from & 1][(at + i) & (WIDTH - 1)] = m->hidden[i];
	}
	return 0;
}

/* By itself, as the verifier does not follow a number that was doubled. */
APART s64 ackclock_sigmoid(const struct policy *p, s64 x)
{
	u32 place;
	s64 low, high;

	if (!p)
		return 0;
	if (x < -GATE_END)
		return 0;
	if (x >= GATE_END)
		return UNIT;
	place = ((u64)(x + GATE_END) >> 11) & 1023;
	low = p->gate[place];
	high = p->gate[place + 1];
	return low + ((high - low) * ((x + GATE_END) & 2047) >> 11);
}

INLINE s64 tanh_of(const struct policy *p, s64 x)
{
	return 2 * ackclock_sigmoid(p, 2 * x) - UNIT;
}

/* From 32 bits after the point to 16. */
INLINE s64 nearest(s64 number)
{
	return (number + (1 << 15)) >> 16;
}

/* What an LSTM gives, in the place of the sums of its gates, which are in the order of ONNX: input, output, forgetting, cell. */
APART s64 ackclock_step(const struct policy *p, struct work *w, struct memory *m)
{
	u32 i, cells;
	s64 *x;

	if (!p || !w || !m)
		return 0;
	cells = p->cells;
	x = w->numbers[w->from & 1];
	for (i = 0; i < CELLS; i++) {
		s64 state, out;

		if (i >= cells)
			break;
		state = ackclock_sigmoid(p, x[(2 * cells + i) & (WIDTH - 1)]) * m->cells[i];
		state += ackclock_sigmoid(p, x[i]) * tanh_of(p, x[(3 * cells + i) & (WIDTH - 1)]);
		state = nearest(state);
		state = state < -MOST_NUMBER ? -MOST_NUMBER : state >= MOST_NUMBER ? MOST_NUMBER - 1 : state;
		out = nearest(ackclock_sigmoid(p, x[(cells + i) & (WIDTH - 1)]) * tanh_of(p, state));
		m->cells[i] = state;
		m->hidden[i] = out;
		x[i] = out;
	}
	return 0;
}

struct pass {
	const struct policy *policy;
	struct work *work;
};

#ifdef __bpf__
static long run_output(u32 output, struct pass *pass)
{
	ackclock_output(pass->policy, pass->work, output);
	return 0;
}
#endif

/* The kernel runs the outputs by a helper, so that its verifier looks at one of them only. */
INLINE void run_layer(struct pass *pass, u32 outputs)
{
#ifdef __bpf__
	bpf_loop(outputs, run_output, pass, 0);
#else
	u32 i;

	for (i = 0; i < outputs; i++)
		ackclock_output(pass->policy, pass->work, i);
#endif
}

/* What is decided on the numbers in w, and on what is remembered: the number of a choice, or a value. */
INLINE s64 decide(const struct policy *p, struct work *w, struct memory *m)
{
	struct pass pass = {.policy = p, .work = w};
	u32 number, outputs = 0;
	s64 value;

	w->from = 0;
	for (number = 0; number < LAYERS; number++) {
		if (number >= p->layers)
			break;
		w->layer = number;
		if (number + 1 == p->lstm)
			ackclock_remember(p, w, m);
		w->excess = ackclock_sum(p, w) << 31;
		outputs = p->heads[number].outputs;
		run_layer(&pass, outputs);
		w->from = (w->from + 1) & 1;
		if (number + 1 == p->lstm) {
			ackclock_step(p, w, m);
			outputs = p->cells;
		}
	}
	if (p->has_values)
		return ackclock_greatest(w, outputs);
	value = w->numbers[w->from & 1][0];
	if (p->action != ORCA)
		return value;
	return value < -2 * UNIT ? -2 * UNIT : value > 2 * UNIT ? 2 * UNIT : value;
}

/* Puts the observations into w. What the first layer's rows have beyond them, up to three, is multiplied by zero. */
INLINE void look(const struct policy *p, struct work *w, const struct sight *s)
{
	u32 i;

	for (i = 0; i < OBSERVATIONS; i++)
		w->numbers[0][i] = i < p->inputs ? ackclock_input(p, i, s) : 0;
}

/* A window after a decision, in segments. */
INLINE u64 window_after(const struct policy *p, s64 decision, u32 cwnd)
{
	u32 place, part, low, high;
	u64 factor, power;
	s64 sum;

	if (p->action == DELTAS) {
		sum = (s64)cwnd + p->segments[(u64)decision & (CHOICES - 1)];
		return sum < 2 ? 2 : sum;
	}
	/* 2^decision, from a quarter to four */
	power = (u64)(decision + 2 * UNIT);
	place = (power >> 8) & 255;
	part = power & 255;
	low = p->powers[place];
	high = p->powers[place + 1];
	factor = (u64)(low + ((high - low) * part >> 8)) << ((power >> 16) & 7);
	return most((u64)cwnd * factor >> 18, 2);
}
#endif
