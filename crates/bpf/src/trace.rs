//! The state of TCP connections as they run: those of a port or of a cgroup, with every segment that they receive.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, Object, Program, RingBufferBuilder};

use crate::error::Error;
use crate::{machine, object, system};

const TRACE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/trace.bpf.o"));

/// Selection of the watched connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Connections with this port at either end.
    Port(u16),
    /// Connections of processes in the cgroup of this number.
    Cgroup(u64),
}

/// Cause of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A segment arrived: what it finds.
    Segment,
    /// The congestion state changes.
    State,
    /// A segment was sent again.
    Retransmission,
    /// The connection is established.
    Established,
    /// It is closed: the counts of all of it.
    Closed,
}

/// A member of a record, as the kernel's program lays it out.
trait Member: Sized {
    fn take(octets: &mut &[u8]) -> Option<Self>;
}

macro_rules! number {
    ($($number:ident)*) => {$(
        impl Member for $number {
            fn take(octets: &mut &[u8]) -> Option<Self> {
                let (word, rest) = octets.split_first_chunk()?;
                *octets = rest;
                Some(Self::from_ne_bytes(*word))
            }
        }
    )*};
}
number!(u32 u64);

impl Member for [u8; 16] {
    fn take(octets: &mut &[u8]) -> Option<Self> {
        let (text, rest) = octets.split_first_chunk()?;
        *octets = rest;
        Some(*text)
    }
}

macro_rules! record {
    ($($(#[$meaning:meta])* $field:ident: $type:ty,)*) => {
        /// The state of a connection; the names of counts are the kernel's.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Record {
            $($(#[$meaning])* pub $field: $type,)*
        }

        impl Record {
            /// Out of `struct record` of `programs/trace.bpf.c`; `None` if it is of another length.
            fn read(mut octets: &[u8]) -> Option<Self> {
                $(let $field = Member::take(&mut octets)?;)*
                octets.is_empty().then_some(Self { $($field,)* })
            }
        }
    };
}

record! {
    /// Time by the machine's monotonic clock, ns.
    time_ns: u64,
    /// The connection's number while this machine is up.
    flow: u64,
    /// Octets a second; the greatest number if nothing paces.
    pacing_rate: u64,
    /// Octets acknowledged since the connection began.
    bytes_acked: u64,
    /// Octets of payload sent, those sent again included.
    bytes_sent: u64,
    /// Octets of payload that were retransmitted.
    bytes_retrans: u64,
    /// Octets received in order.
    bytes_received: u64,
    /// See [`Self::kind`].
    kind: u32,
    /// The kernel's congestion state: 0 open, 1 disorder, 2 reduced, 3 recovery, 4 loss.
    state: u32,
    /// Port of this end.
    local_port: u32,
    /// Port of the other end.
    remote_port: u32,
    /// Congestion window, segments.
    cwnd: u32,
    /// Segments; 2^31 - 1 while it is arbitrarily high.
    ssthresh: u32,
    /// Smoothed round trip, microseconds.
    srtt_us: u32,
    /// The least round trip that the kernel remembers, us.
    min_rtt_us: u32,
    /// Segments sent and not acknowledged.
    packets_out: u32,
    /// Outstanding segments reported by SACK.
    sacked_out: u32,
    /// Outstanding segments considered lost.
    lost_out: u32,
    /// Outstanding segments that were retransmitted.
    retrans_out: u32,
    /// Retransmissions since the connection began.
    total_retrans: u32,
    /// Largest segment, octets.
    mss: u32,
    /// Segments delivered in the latest sample of the delivery rate.
    rate_delivered: u32,
    /// The time of that sample, us.
    rate_interval_us: u32,
    /// Variation of the round trip, microseconds.
    rttvar_us: u32,
    /// The window that the other end advertises, octets.
    snd_wnd: u32,
    /// Segments with data sent, those sent again included.
    data_segs_out: u32,
    /// Duplicates that the other end reported.
    dsack_dups: u32,
    /// Address family, in the kernel's numbers.
    family: u32,
    /// Octets sent and not acknowledged.
    flight_bytes: u32,
    /// Smoothed round trip in the kernel's unit, eighths of a microsecond: a sample follows from two of these.
    srtt_eighths: u32,
    /// Segments taken for lost since the connection began.
    lost: u32,
    /// This end's address as on the wire, filled up with zeros.
    local: [u8; 16],
    /// Address of the other end.
    remote: [u8; 16],
    /// The controller's name in the kernel, filled up with zeros.
    controller: [u8; 16],
}

/// Linux's number of `AF_INET6`.
pub(crate) const FAMILY_OF_V6: u32 = 10;

impl Record {
    /// Cause of the record.
    pub fn kind(&self) -> Kind {
        match self.kind {
            0 => Kind::Segment,
            1 => Kind::State,
            2 => Kind::Retransmission,
            3 => Kind::Established,
            _ => Kind::Closed,
        }
    }

    /// The address and port of this end, and of the other.
    pub fn ends(&self) -> [SocketAddr; 2] {
        [(self.local, self.local_port), (self.remote, self.remote_port)].map(|(address, port)| {
            let address = if self.family == FAMILY_OF_V6 {
                Ipv6Addr::from(address).to_canonical()
            } else {
                let [a, b, c, d, ..] = address;
                IpAddr::from([a, b, c, d])
            };
            SocketAddr::new(address, port as u16)
        })
    }

    /// The controller's name in the kernel.
    pub fn controller(&self) -> &str {
        let end = self.controller.iter().position(|octet| *octet == 0).unwrap_or(self.controller.len());
        std::str::from_utf8(&self.controller[..end]).unwrap_or_default()
    }

    /// Segments in flight as the kernel reckons them.
    pub fn inflight(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// The latest sample of the delivery rate, bit/s; 0 without one.
    pub fn delivery_rate_bps(&self) -> u64 {
        let bits = u64::from(self.rate_delivered) * u64::from(self.mss) * 8_000_000;
        bits.checked_div(u64::from(self.rate_interval_us)).unwrap_or(0)
    }
}

/// Watches connections until it is dropped.
#[derive(Debug)]
pub struct Trace {
    object: Object,
    _links: Vec<Link>,
    /// While it is open, the kernel counts the time that programs take; `None` where it does not let us.
    clock: Option<OwnedFd>,
}

impl Trace {
    /// Begins to trace the watched connections.
    pub fn new(watched: Watched) -> Result<Self, Error> {
        machine::check()?;
        let (cgroup, port) = match watched {
            Watched::Port(port) => (0, u64::from(port)),
            Watched::Cgroup(number) => (number, 0),
        };
        let mut opened = object::open("trace", TRACE)?;
        let wanted: Vec<u8> = [cgroup, port].into_iter().flat_map(u64::to_ne_bytes).collect();
        object::set(&mut opened, ".data.wanted", &wanted);
        let loaded = object::load(opened, "trace")?;
        let attached: Result<Vec<Link>, Error> = loaded
            .progs_mut()
            .map(|program| program.attach().map_err(|error| object::refused("attaching to TCP's tracepoints", &error)))
            .collect();
        Ok(Self { _links: attached?, object: loaded, clock: system::count_time_of_programs().ok() })
    }

    /// Hands over what has come since the last call, in order, without waiting.
    pub fn take(&self, mut each: impl FnMut(&Record)) -> Result<(), Error> {
        let ring = self.object.maps().find(|map| map.name() == "records").expect("the object has this map");
        let mut builder = RingBufferBuilder::new();
        let added = builder.add(&ring, |octets: &[u8]| {
            if let Some(record) = Record::read(octets) {
                each(&record);
            }
            0
        });
        added.map_err(|error| Error::kernel("opening the ring of records", error))?;
        let ring = builder.build().map_err(|error| Error::kernel("opening the ring of records", error))?;
        ring.consume().map_err(|error| Error::kernel("reading the ring of records", error))
    }

    /// Records that found no room, since this began.
    pub fn missed(&self) -> Result<u64, Error> {
        let map = self.object.maps().find(|map| map.name() == ".data.missed").expect("the object has this variable");
        let octets = object::read(&map)?;
        Ok(octets.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)))
    }
}

impl Trace {
    /// The CPU time that the tracepoints' programs have taken since this began; `None` where the kernel does not count it.
    pub fn program_time(&self) -> Option<Duration> {
        self.clock.as_ref()?;
        let mine: Vec<u32> =
            self.object.progs().filter_map(|program| Program::id_from_fd(program.as_fd()).ok()).collect();
        let times = ProgInfoIter::default().filter(|info| mine.contains(&info.id)).map(|info| info.run_time_ns);
        Some(Duration::from_nanos(times.sum()))
    }
}

/// Interval at which the ring is emptied: at 100,000 records a second it is then a seventh full.
pub const PAUSE: Duration = Duration::from_millis(200);
