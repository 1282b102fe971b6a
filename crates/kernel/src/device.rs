//! The TUN device by which a namespace's hosts reach the emulated network.
//!
//! The device takes super-packets (`IFF_VNET_HDR`), as a network card with segmentation offload does, which are cut into segments here:
//! one call to the kernel for up to 64 kB, and each segment is a packet of its own to the network's queues. The kernel is told how many
//! segments there is room for: of small ones 64 kB are more. What is written to the device is given to TCP one by one, so that nothing
//! is merged before it is acknowledged.

mod super_packets;

use std::fmt;
use std::fs;
use std::io::{self, IoSlice};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

use tun_rs::{DeviceBuilder, SyncDevice, VIRTIO_NET_HDR_LEN};

use crate::namespace::Namespace;

/// Octets of the network's addresses; both sides are in it, so that each has a route to the other.
const PREFIX: u8 = 16;

/// Packets that the device holds for us. It drops what comes beyond, which no queue of the scenario knows of.
const HELD_PACKETS: u32 = 20_000;

/// Its name in its namespace.
const NAME: &str = "ackclock";

/// The largest IP packet, and super-packet.
const LARGEST: usize = 65_535;
/// Segments of a super-packet at most: as many as 64 kB have of Ethernet's size, and some more.
const SEGMENTS: u16 = 64;

/// `struct virtio_net_hdr` of a packet that is one segment, with its checksum.
const NO_OFFLOAD: [u8; VIRTIO_NET_HDR_LEN] = [0; VIRTIO_NET_HDR_LEN];

/// A TUN device, alone in its namespace.
pub struct Device {
    tun: SyncDevice,
    name: String,
    address: Ipv4Addr,
}

/// Packets taken from a device with one call: the segments of a super-packet, or a packet. It is made once and used
/// again.
#[derive(Debug, Default)]
pub struct Batch {
    raw: Vec<u8>,
    segments: Vec<Vec<u8>>,
    sizes: Vec<usize>,
    len: usize,
}

impl Batch {
    /// A batch for devices whose largest IP packet is `mtu`.
    pub fn new(mtu: u16) -> Self {
        Self {
            raw: vec![0; VIRTIO_NET_HDR_LEN + LARGEST],
            segments: vec![vec![0; usize::from(mtu)]; usize::from(SEGMENTS)],
            sizes: vec![0; usize::from(SEGMENTS)],
            len: 0,
        }
    }

    /// The packets, in the order in which they were sent.
    pub fn packets(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().zip(&self.sizes).take(self.len).map(|(octets, size)| &octets[..*size])
    }
}

/// Packets that a device has dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceDrops {
    /// Packets that hosts sent, dropped before they were read.
    pub sent: u64,
    /// Packets written to the device, dropped before hosts received them.
    pub received: u64,
}

impl Device {
    /// Makes one in a namespace of our own, with an address, up; `mtu` is the largest IP packet.
    pub fn new(namespace: &Namespace, address: Ipv4Addr, mtu: u16) -> io::Result<Self> {
        Self::named(namespace, NAME, (address, PREFIX), mtu)
    }

    /// Device with a name, in a network of its address and prefix length, in a namespace that others may use.
    pub fn named(namespace: &Namespace, name: &str, (address, prefix): (Ipv4Addr, u8), mtu: u16) -> io::Result<Self> {
        let tun = namespace.within(|| {
            let device = DeviceBuilder::new()
                .name(name)
                .ipv4(address, prefix, None)
                .mtu(mtu)
                .with(|device| {
                    device.tx_queue_len(HELD_PACKETS).offload(true);
                })
                .build_sync()?;
            fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1").or_else(absent)?;
            super_packets::limit(device.if_index()?, SEGMENTS)?;
            device.set_nonblocking(true)?;
            Ok(device)
        })?;
        Ok(Self { tun, name: name.to_owned(), address })
    }

    /// The address of the hosts behind it.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Takes the next packet or super-packet that a host has sent, and returns how many packets it is; 0 if there is none.
    pub fn receive(&self, batch: &mut Batch) -> io::Result<usize> {
        let Batch { raw, segments, sizes, len } = batch;
        *len = match self.tun.recv_multiple(raw, segments, sizes, 0) {
            Ok(packets) => packets,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        Ok(*len)
    }

    /// Hands a packet to the hosts; the kernel's TCP has dealt with it when this returns, unless its socket was in use.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        self.tun.send_vectored(&[IoSlice::new(&NO_OFFLOAD), IoSlice::new(packet)]).map(|_| ())
    }

    /// Counts of packets that the device has dropped.
    pub fn drops(&self, namespace: &Namespace) -> io::Result<DeviceDrops> {
        let text = namespace.within(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        let missing = || io::Error::other(format!("no counters of {} in /proc/net/dev", self.name));
        read_drops(&text, &self.name).ok_or_else(missing)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("address", &self.address).finish_non_exhaustive()
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

/// A kernel without IPv6 has no such parameter.
fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Fields of `/proc/net/dev`: the fourth of those received, and the fourth of those sent, count drops.
fn read_drops(text: &str, name: &str) -> Option<DeviceDrops> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let counts: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    Some(DeviceDrops { received: *counts.get(3)?, sent: *counts.get(11)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_found_in_the_kernels_table() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
             lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n\
             ackclock: 1234 12 0 3 0 0 0 0 5678 56 0 7 0 0 0 0\n";
        assert_eq!(read_drops(text, NAME), Some(DeviceDrops { received: 3, sent: 7 }));
        assert_eq!(read_drops("  lo: 1 2 3 4 5 6 7 8 9 10 11 12\n", NAME), None);
    }
}
