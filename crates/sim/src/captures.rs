//! The packets that links record, for those that asked.

use ackclock_net::{ConnectionIndex, LinkId, NetworkConfig, Packet};
use ackclock_units::SimTime;

use crate::capture::DEFAULT_PORT;
use crate::outcome::CapturedPacket;

/// What the packets of a connection look like from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Face {
    /// The flow that they are of.
    pub(crate) flow: u32,
    /// Of the accepting end.
    pub(crate) port: u16,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Captures {
    /// Of each link that asked.
    packets: Vec<Option<Vec<CapturedPacket>>>,
    is_any_wanted: bool,
    /// What captures show of each connection, where that is not its number and the default port; empty without captures.
    faces: Vec<Option<Face>>,
}

impl Captures {
    pub(crate) fn new(config: &NetworkConfig) -> Self {
        Self {
            packets: config.links.iter().map(|link| link.capture.then(Vec::new)).collect(),
            is_any_wanted: config.links.iter().any(|link| link.capture),
            faces: Vec::new(),
        }
    }

    /// True if this link asked.
    pub(crate) fn are_wanted(&self, link: LinkId) -> bool {
        self.packets[link.index()].is_some()
    }

    /// The first bit of a packet enters the wire of a link.
    pub(crate) fn record(&mut self, link: LinkId, time: SimTime, packet: &Packet) {
        if self.are_wanted(link) {
            self.keep(link, time, packet);
        }
    }

    fn keep(&mut self, link: LinkId, time: SimTime, packet: &Packet) {
        let Face { flow, port } = self.face(packet);
        let Some(packets) = &mut self.packets[link.index()] else { return };
        let Packet { payload, generation, .. } = *packet;
        packets.push(CapturedPacket { time, flow, direction: packet.direction(), port, generation, payload });
    }

    /// Faces are wanted for something else, too. Before the first is set.
    pub(crate) fn keep_faces(&mut self) {
        self.is_any_wanted = true;
    }

    /// What a packet looks like from outside.
    pub(crate) fn face(&self, packet: &Packet) -> Face {
        self.face_of(packet.connection())
    }

    /// What a connection does.
    pub(crate) fn face_of(&self, connection: ConnectionIndex) -> Face {
        let number = connection.index();
        let face = self.faces.get(number).copied().flatten();
        face.unwrap_or(Face { flow: number as u32, port: DEFAULT_PORT })
    }

    /// From now on captures show `face` of a connection.
    pub(crate) fn set_face(&mut self, connection: ConnectionIndex, face: Face) {
        if self.is_any_wanted {
            let number = connection.index();
            self.faces.resize(self.faces.len().max(number + 1), None);
            self.faces[number] = Some(face);
        }
    }

    /// Takes what a link recorded elsewhere over, and gives what it has recorded here for it.
    pub(crate) fn swap(&mut self, other: &mut Self, link: LinkId) {
        std::mem::swap(&mut self.packets[link.index()], &mut other.packets[link.index()]);
    }

    /// What each link recorded, by number.
    pub(crate) fn take(&mut self) -> Vec<Option<Vec<CapturedPacket>>> {
        std::mem::take(&mut self.packets)
    }
}
