//! The schedule of flows: deficit round robin by octets (Shreedhar and Varghese 1995) with a list of new flows that go
//! first (RFC 8290 section 4.2). A flow that sends less than a quantum a round stays on that list: it is sparse, and
//! waits for other sparse flows only.

/// An octet in the unit of quanta and deficits: a quantum may be divided among flows, down to fractions of an octet.
pub(super) const OCTET: u64 = 1 << 16;

/// The index of an absent flow.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Idle,
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// The credit left in this round; negative if the last packet exceeded it.
    deficit: i64,
    next: u32,
    place: Place,
}

/// Flows in order, linked through [`Flow::next`].
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: Self = Self { head: NONE, tail: NONE };

    fn push(&mut self, flows: &mut [Flow], flow: u32) {
        flows[flow as usize].next = NONE;
        if self.tail == NONE {
            self.head = flow;
        } else {
            flows[self.tail as usize].next = flow;
        }
        self.tail = flow;
    }

    fn pop(&mut self, flows: &[Flow]) {
        self.head = flows[self.head as usize].next;
        if self.head == NONE {
            self.tail = NONE;
        }
    }
}

/// The condition for a new flow without packets to wait a round among the old ones. A flow that does not wait is new again
/// with its next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// It always waits (RFC 8290 section 4.2).
    Always,
    /// It waits if there are old flows, which it could starve otherwise (Linux's `fq_codel`).
    BehindOthers,
    /// It never waits (Linux's `cake`).
    Never,
}

/// The flows with packets to send, new ones first.
#[derive(Clone, Debug)]
pub(super) struct FlowSchedule {
    waits: Waits,
    flows: Vec<Flow>,
    new: List,
    old: List,
}

impl FlowSchedule {
    pub(super) fn new(flows: u32, waits: Waits) -> Self {
        let mut schedule = Self { waits, flows: Vec::new(), new: List::EMPTY, old: List::EMPTY };
        schedule.grow(flows, 0);
        schedule
    }

    /// Makes it `flows` flows, if there are fewer: the added ones have a credit for their first round.
    pub(super) fn grow(&mut self, flows: u32, credit: u64) {
        let idle = Flow { deficit: credit as i64, next: NONE, place: Place::Idle };
        self.flows.resize(self.flows.len().max(flows as usize), idle);
    }

    /// Adds the flow of an arriving packet. Returns true if the flow was idle: it is new, with a quantum to send.
    pub(super) fn activate(&mut self, flow: u32, quantum: u64) -> bool {
        self.resume(flow, |_| quantum as i64)
    }

    /// Adds the flow of an arriving packet, with a credit that depends on what was left to it. Returns true if it was idle.
    pub(super) fn resume(&mut self, flow: u32, credit: impl FnOnce(i64) -> i64) -> bool {
        if !self.is_idle(flow) {
            return false;
        }
        let state = &mut self.flows[flow as usize];
        state.deficit = credit(state.deficit);
        state.place = Place::New;
        self.new.push(&mut self.flows, flow);
        true
    }

    /// The flow whose turn it is. Each flow that is passed over, with its round used up, gets its quantum for the next.
    pub(super) fn turn(&mut self, quantum: impl Fn(u32) -> u64) -> Option<u32> {
        loop {
            let flow = if self.new.head == NONE { self.old.head } else { self.new.head };
            if flow == NONE {
                return None;
            }
            if self.flows[flow as usize].deficit > 0 {
                return Some(flow);
            }
            self.flows[flow as usize].deficit += quantum(flow).max(1) as i64;
            self.retire(flow);
        }
    }

    /// The flow whose turn is next, as far as it is known before its turn.
    pub(super) fn upcoming(&self) -> Option<u32> {
        let head = if self.new.head == NONE { self.old.head } else { self.new.head };
        let flow = self.flows.get(head as usize)?;
        Some(if flow.deficit > 0 || flow.next == NONE { head } else { flow.next })
    }

    /// Charges the octets that the flow has sent in its turn.
    pub(super) fn charge(&mut self, flow: u32, octets: u64) {
        self.flows[flow as usize].deficit -= (octets * OCTET) as i64;
    }

    /// Takes note that the flow has nothing to send in its turn. Returns true if it is idle from now on. A new flow that
    /// [`Waits`] cannot come back as new before the old ones have had their turn.
    pub(super) fn on_empty(&mut self, flow: u32) -> bool {
        let is_new = self.flows[flow as usize].place == Place::New;
        let waits = match self.waits {
            Waits::Always => true,
            Waits::BehindOthers => self.old.head != NONE,
            Waits::Never => false,
        };
        if is_new && waits {
            self.retire(flow);
            return false;
        }
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop(&self.flows);
        self.flows[flow as usize].place = Place::Idle;
        true
    }

    /// Moves the flow whose turn it is to the end of the old ones.
    fn retire(&mut self, flow: u32) {
        let list = if self.flows[flow as usize].place == Place::New { &mut self.new } else { &mut self.old };
        list.pop(&self.flows);
        self.flows[flow as usize].place = Place::Old;
        self.old.push(&mut self.flows, flow);
    }

    /// True if the flow is on neither list.
    pub(super) fn is_idle(&self, flow: u32) -> bool {
        self.flows[flow as usize].place == Place::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_with_packets_of_different_sizes_share_octets() {
        // Three flows always have packets, of 1500, 700 and 60 octets. After n rounds of quantum Q each has sent between
        // nQ - (largest packet) and nQ + (largest packet) octets (Shreedhar and Varghese 1995, lemma 2).
        let sizes = [1500, 700, 60];
        let mut schedule = FlowSchedule::new(3, Waits::Always);
        let mut sent = [0_u64; 3];
        for flow in 0..3 {
            schedule.activate(flow, 1514 * OCTET);
        }
        while sent.iter().sum::<u64>() < 3_000_000 {
            let flow = schedule.turn(|_| 1514 * OCTET).expect("all are busy");
            schedule.charge(flow, sizes[flow as usize]);
            sent[flow as usize] += sizes[flow as usize];
        }
        for octets in sent {
            // the end falls within a round: a quantum more or less
            assert!(octets.abs_diff(1_000_000) <= 1514 + 1500, "{sent:?}");
        }
    }

    #[test]
    fn a_new_flow_goes_before_the_old_ones_once() {
        let mut schedule = FlowSchedule::new(2, Waits::Always);
        schedule.activate(0, 1000 * OCTET);
        schedule.charge(0, 1500);
        assert_eq!(schedule.turn(|_| 1000 * OCTET), Some(0)); // -500 + 1000: old now
        schedule.activate(1, 1000 * OCTET);
        assert_eq!(schedule.turn(|_| 1000 * OCTET), Some(1));
        assert!(!schedule.on_empty(1), "a new flow that is empty waits among the old ones");
        assert_eq!(schedule.turn(|_| 1000 * OCTET), Some(0));
        assert!(!schedule.activate(1, 1000 * OCTET), "it has not come back as new");
        schedule.charge(0, 1500);
        assert_eq!(schedule.turn(|_| 1000 * OCTET), Some(1));
        assert!(schedule.on_empty(1));
        assert!(schedule.activate(1, 1000 * OCTET));
    }

    #[test]
    fn whose_turn_comes_is_known_while_one_has_its_turn() {
        let mut schedule = FlowSchedule::new(3, Waits::Always);
        assert_eq!(schedule.upcoming(), None);
        schedule.activate(2, 1000 * OCTET);
        schedule.activate(1, 1000 * OCTET);
        schedule.charge(2, 600);
        assert_eq!(schedule.upcoming(), Some(2)); // 400 octets are left to it
        schedule.charge(2, 600);
        assert_eq!(schedule.upcoming(), Some(1));
        assert_eq!(schedule.turn(|_| 1000 * OCTET), Some(1));
    }
}
