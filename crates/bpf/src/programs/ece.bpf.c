/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Lets a program raise ECE on a socket: it writes how often into the map, under the socket's descriptor, and so many of the packets that
 * come for it next are marked as if the network had been congested (CE, RFC 3168 section 5). The kernel's TCP answers each
 * with ECE until the sender has answered with CWR, as it does marks of routers. Packets of a sender without ECN stay as they are.
 *
 * Source: what is done is J. Isogaki's interface for raising ECE on a socket (JAIST 2005), which was a change of the kernel.
 * Departure: a mark rides on the next packet, and so on what the sender sends, not on the next ACK. */
#include "kernel.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} sockets SEC(".maps");

SEC("cgroup_skb/ingress")
int raise_ece(struct __sk_buff *packet)
{
	struct bpf_sock *socket = packet->sk;
	__u32 *wanted;

	if (!socket)
		return 1;
	socket = bpf_sk_fullsock(socket);
	if (!socket)
		return 1;
	wanted = bpf_sk_storage_get(&sockets, socket, 0, 0);
	if (wanted && *wanted && bpf_skb_ecn_set_ce(packet))
		*wanted -= 1;
	return 1;
}
