//! Mapping of foreign packets to connections of the network: every pair of addresses and ports is one to queues.
//!
//! Programs may open as many as they like, for as long as they like, so that the number known at a time is limited. Where one more comes, those
//! that were used longest ago are forgotten, half of all. Their numbers are given out anew between the same two hosts, so that a
//! packet still under way arrives where it was going.

use std::collections::HashMap;

use ackclock_net::{ConnectionIndex, EndpointId};

use super::packet::Conversation;

/// Largest number of known conversations.
const MOST: usize = 16_384;

/// The number of a host.
pub(super) type Host = usize;

/// Known conversations, and the connections that stand for them.
#[derive(Debug)]
pub(super) struct Conversations {
    most: usize,
    /// End where packets come out, by addresses and ports.
    ends: HashMap<Conversation, EndpointId>,
    /// Connections by their number.
    connections: Vec<Connection>,
    /// Numbers that belong to no conversation, by their hosts.
    free: HashMap<(Host, Host), Vec<ConnectionIndex>>,
    /// Number of packets so far, as the time of the last use.
    time: u64,
    met: u64,
}

#[derive(Debug)]
struct Connection {
    /// Hosts of the opener and of the acceptor.
    hosts: (Host, Host),
    /// Conversation in the opener's direction; `None` once forgotten.
    conversation: Option<Conversation>,
    used: u64,
}

impl Default for Conversations {
    fn default() -> Self {
        Self::with_room_for(MOST)
    }
}

impl Conversations {
    fn with_room_for(most: usize) -> Self {
        Self { most, ends: HashMap::new(), connections: Vec::new(), free: HashMap::new(), time: 0, met: 0 }
    }

    /// The end that a packet is for, if its conversation is known.
    pub(super) fn find(&mut self, conversation: &Conversation) -> Option<EndpointId> {
        let end = *self.ends.get(conversation)?;
        self.time += 1;
        self.connections[end.connection().index()].used = self.time;
        Some(end)
    }

    /// The end that the first packet of a conversation from one host to another is for; `connect` makes a connection between them.
    pub(super) fn meet(
        &mut self,
        conversation: Conversation,
        hosts: (Host, Host),
        connect: impl FnOnce() -> ConnectionIndex,
    ) -> EndpointId {
        if self.ends.len() >= 2 * self.most {
            self.forget_half();
        }
        let freed = self.free.get_mut(&hosts).and_then(Vec::pop);
        let number = freed.unwrap_or_else(connect);
        self.time += 1;
        self.met += 1;
        let connection = Connection { hosts, conversation: Some(conversation), used: self.time };
        if number.index() < self.connections.len() {
            self.connections[number.index()] = connection;
        } else {
            self.connections.push(connection);
        }
        self.ends.insert(conversation, EndpointId::acceptor(number));
        self.ends.insert(conversation.reversed(), EndpointId::opener(number));
        EndpointId::acceptor(number)
    }

    /// The host at which packets to this end come out.
    pub(super) fn host(&self, end: EndpointId) -> Host {
        let (opener, acceptor) = self.connections[end.connection().index()].hosts;
        if end == EndpointId::opener(end.connection()) { opener } else { acceptor }
    }

    /// Number of conversations so far.
    pub(super) fn met(&self) -> u64 {
        self.met
    }

    fn forget_half(&mut self) {
        let known = self.connections.iter().filter(|one| one.conversation.is_some());
        let mut uses: Vec<u64> = known.map(|one| one.used).collect();
        let middle = uses.len() / 2;
        let newest_forgotten = *uses.select_nth_unstable(middle).1;
        for (number, connection) in self.connections.iter_mut().enumerate() {
            let Some(conversation) = connection.conversation.take_if(|_| connection.used <= newest_forgotten) else {
                continue;
            };
            self.ends.remove(&conversation);
            self.ends.remove(&conversation.reversed());
            self.free.entry(connection.hosts).or_default().push(ConnectionIndex::new(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram from 10.0.0.1 at this port to 10.0.0.2 at port 53.
    fn conversation(port: u16) -> Conversation {
        let mut octets = vec![0; 28];
        (octets[0], octets[9], octets[12], octets[15], octets[16], octets[19]) = (0x45, 17, 10, 1, 10, 2);
        octets[20..22].copy_from_slice(&port.to_be_bytes());
        octets[23] = 53;
        Conversation::of(&octets).expect("IPv4")
    }

    #[test]
    fn a_thousand_conversations_take_the_room_of_eight_and_the_one_in_use_stays() {
        let mut known = Conversations::with_room_for(8);
        let mut made = 0;
        let mut meet = |known: &mut Conversations, port| {
            let connect = || {
                made += 1;
                ConnectionIndex::new(made - 1)
            };
            known.meet(conversation(port), (0, 1), connect)
        };
        let first = meet(&mut known, 1);
        for port in 2..=1_000 {
            let end = meet(&mut known, port);
            assert_ne!(end, first, "a number in use is nobody else's");
            assert_eq!((known.find(&conversation(1)), known.find(&conversation(port))), (Some(first), Some(end)));
            assert_eq!(known.find(&conversation(port).reversed()), Some(end.peer()));
        }
        assert_eq!((known.host(first), known.host(first.peer())), (1, 0));
        assert_eq!((known.met(), known.ends.len() <= 16, known.connections.len()), (1_000, true, 8));
        assert_eq!((made, known.find(&conversation(500))), (8, None));
    }
}
