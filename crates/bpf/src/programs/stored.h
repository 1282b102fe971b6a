/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A flow's state in a storage of its socket's, where the socket's own room does not suffice or is somebody else's; after kernel.h,
 * core.h and a `struct flow`. */
#ifndef ACKCLOCK_STORED_H
#define ACKCLOCK_STORED_H

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

/* NULL where there was no room for it when its controller began. */
INLINE struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&flows, sk, 0, 0);
}

/* What the socket had before begins anew, in zeros. */
INLINE struct flow *begin_flow(struct sock *sk)
{
	bpf_sk_storage_delete(&flows, sk);
	return bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}
#endif
