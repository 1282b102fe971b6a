//! The turns of Linux's `fq`: deficit round robin, new flows first, behind up to eight packets that came while no flow had any.
//!
//! Source: Linux 6.12 and 7.3, `net/sched/sch_fq.c`, by what it does at Ethernet's MTU of 1500 octets. A flow begins with ten packets'
//! octets, keeps what is left to it while it is idle, and has a quantum again after 40 ms.

use ackclock_units::{SimDuration, SimTime};

use crate::queue::Queued;
use crate::queue::fifo::{Fifo, Head};
use crate::queue::flow_schedule::{FlowSchedule, OCTET, Waits};

/// A frame of Ethernet without its check sequence.
const FRAME: u64 = 1_514;
const QUANTUM: u64 = 2 * FRAME * OCTET;
const INITIAL_QUANTUM: u64 = 10 * FRAME * OCTET;
/// The time after which an idle flow has a quantum.
const REFILL: SimDuration = SimDuration::from_millis(40);
/// The most packets that wait in order of arrival.
const AHEAD: usize = 8;
/// The most packets of a flow.
const FLOW_LIMIT: usize = 100;

/// The queues of flows, and the packets that go before them.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    ahead: Fifo,
    schedule: FlowSchedule,
    /// The queue of each flow, and the time at which it was found empty.
    flows: Vec<(Fifo, SimTime)>,
    /// The packets and octets of all flows, without those ahead.
    pub(super) packets: usize,
    pub(super) octets: u64,
}

impl Turns {
    pub(super) fn new() -> Self {
        let schedule = FlowSchedule::new(0, Waits::Always);
        Self { ahead: Fifo::default(), schedule, flows: Vec::new(), packets: 0, octets: 0 }
    }

    /// Takes a packet. Returns false if its flow has no room for it.
    pub(super) fn enqueue(&mut self, now: SimTime, arrival: Queued) -> bool {
        if self.packets == 0 && self.ahead.len() < AHEAD {
            self.ahead.push(arrival);
            return true;
        }
        let flow = arrival.packet.to.index();
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, (Fifo::default(), SimTime::ZERO));
            self.schedule.grow(flow as u32 + 1, INITIAL_QUANTUM);
        }
        let (queue, emptied) = &mut self.flows[flow];
        if queue.len() >= FLOW_LIMIT {
            return false;
        }
        let is_refilled = now.saturating_since(*emptied) > REFILL;
        self.schedule.resume(flow as u32, |left| if is_refilled { left.max(QUANTUM as i64) } else { left });
        queue.push(arrival);
        self.packets += 1;
        self.octets += arrival.octets;
        true
    }

    pub(super) fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        if self.packets == 0 || self.ahead.len() > 0 {
            return self.ahead.pop();
        }
        loop {
            let flow = self.schedule.turn(|_| QUANTUM)?;
            let (queue, emptied) = &mut self.flows[flow as usize];
            if let Some(first) = queue.pop() {
                self.schedule.charge(flow, first.octets);
                self.packets -= 1;
                self.octets -= first.octets;
                return Some(first);
            }
            if self.schedule.on_empty(flow) {
                *emptied = now;
            }
        }
    }
}
