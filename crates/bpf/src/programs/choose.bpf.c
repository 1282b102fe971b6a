/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Gives each TCP socket of a cgroup a congestion controller when its connection begins, connecting or accepted, so that a
 * program gets it without knowing. A socket whose program chooses one itself later keeps what it chose. */
#include "kernel.h"

#define SOL_TCP 6
#define TCP_CONGESTION 13

char controller[16] SEC(".data.controller");

struct chosen {
	__u64 connections;
	__u64 refused;
};
struct chosen chosen SEC(".data.chosen");

SEC("sockops")
int choose(struct bpf_sock_ops *event)
{
	__u32 op = event->op;
	long refused;

	if (op != BPF_SOCK_OPS_TCP_CONNECT_CB && op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	refused = bpf_setsockopt(event, SOL_TCP, TCP_CONGESTION, controller, sizeof(controller));
	__sync_fetch_and_add(refused ? &chosen.refused : &chosen.connections, 1);
	return 1;
}
