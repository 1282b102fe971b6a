//! The packets that links and hosts record, where a scenario requests it.
//!
//! Both record where a packet's first bit enters a link's wire; a host records arriving packets, too. It records the
//! packets on its own wire, as a real capture would, and not those that its queue dropped.

use std::collections::BTreeMap;

use ackclock_net::{ConnectionIndex, EndpointId, LinkConfig, LinkId, NetworkConfig, Packet};
use ackclock_units::SimTime;

use crate::capture::{Capture, DEFAULT_PORT, addresses};
use crate::recording::{Recorder, Recording};

/// Appearance of a connection's packets in captures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Face {
    /// The flow of the packets.
    pub(crate) flow: u32,
    /// Port of the accepting end.
    pub(crate) port: u16,
}

/// A capture at the host of one flow's sender, or of a group's: its place in their list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ViewId(usize);

/// An end whose host records its packets.
#[derive(Clone, Copy, Debug)]
struct Viewed {
    view: ViewId,
    /// Link by which its packets leave the host. It keeps the records, so that they are in the part of the host.
    uplink: LinkId,
}

/// Recordings on a link.
#[derive(Clone, Debug, Default)]
struct Log {
    /// Recording of every packet, if the link requested a capture.
    of_link: Option<Recording>,
    /// Recordings for ends at hosts that the link leaves, if there are any.
    of_views: Option<BTreeMap<ViewId, Seen>>,
}

/// Packets seen by the hosts of a view's ends: each in the order of time.
#[derive(Clone, Debug, Default)]
struct Seen {
    arriving: Recording,
    leaving: Recording,
}

impl Log {
    fn recordings(&mut self) -> impl Iterator<Item = &mut Recording> {
        let of_views = self.of_views.iter_mut().flat_map(BTreeMap::values_mut);
        self.of_link.iter_mut().chain(of_views.flat_map(|Seen { arriving, leaving }| [arriving, leaving]))
    }
}

/// Packet captures of links and flows.
#[derive(Clone, Debug)]
pub(crate) struct Captures {
    /// Recordings by link; empty without captures.
    logs: Vec<Log>,
    /// The flow and its host, of each view.
    views: Vec<[String; 2]>,
    /// View of each end by its number; empty beyond the last viewed end.
    viewed: Vec<Option<Viewed>>,
    /// Appearance of each connection in captures, if it differs from its number and the default port; empty without
    /// captures.
    faces: Vec<Option<Face>>,
    /// True if another feature needs the appearances, too.
    keeps_faces: bool,
    /// Number of packets that each end has sent; empty without captures.
    sent: Vec<u16>,
    recorder: Recorder,
}

impl Captures {
    /// Captures of links that request one.
    pub(crate) fn new(config: &NetworkConfig) -> Self {
        let log = |link: &LinkConfig| Log { of_link: link.capture.then(Recording::default), of_views: None };
        let is_any_wanted = config.links.iter().any(|link| link.capture);
        let logs = if is_any_wanted { config.links.iter().map(log).collect() } else { Vec::new() };
        Self {
            logs,
            views: Vec::new(),
            viewed: Vec::new(),
            faces: Vec::new(),
            keeps_faces: false,
            sent: Vec::new(),
            recorder: Recorder::default(),
        }
    }

    /// Prepares captures of flows in a network of `links` links.
    pub(crate) fn expect_views(&mut self, links: usize) {
        self.logs.resize_with(links, Log::default);
    }

    /// Adds a capture of a flow at a host.
    pub(crate) fn add_view(&mut self, flow: &str, host: &str) -> ViewId {
        self.views.push([flow.to_owned(), host.to_owned()]);
        ViewId(self.views.len() - 1)
    }

    /// Puts `end`, whose packets leave its host by `uplink`, into the capture `view` from now on, or into none.
    pub(crate) fn set_view(&mut self, end: EndpointId, view: Option<ViewId>, uplink: LinkId) {
        if self.views.is_empty() {
            return;
        }
        *place(&mut self.viewed, end.number() as usize) = view.map(|view| Viewed { view, uplink });
        if view.is_some() {
            self.logs[uplink.index()].of_views.get_or_insert_default();
        }
    }

    /// True if this link records any packets.
    pub(crate) fn are_wanted(&self, link: LinkId) -> bool {
        self.logs.get(link.index()).is_some_and(|log| log.of_link.is_some() || log.of_views.is_some())
    }

    /// The IP identification of the next packet that is sent to `end`.
    pub(crate) fn identify(&mut self, end: EndpointId) -> u16 {
        if self.logs.is_empty() {
            return 0;
        }
        let sent = place(&mut self.sent, end.number() as usize);
        let identification = *sent;
        *sent = sent.wrapping_add(1);
        identification
    }

    /// Records a packet whose first bit enters the wire of a link.
    #[inline]
    pub(crate) fn record(&mut self, link: LinkId, time: SimTime, packet: &Packet) {
        if self.are_wanted(link) {
            self.keep(link, time, packet);
        }
    }

    fn keep(&mut self, link: LinkId, time: SimTime, packet: &Packet) {
        let viewed = self.viewed_at(packet.to.peer()).filter(|viewed| viewed.uplink == link);
        let addresses = addresses(packet, self.face(packet));
        let Log { of_link, of_views } = &mut self.logs[link.index()];
        if let Some(recording) = of_link {
            self.recorder.record(recording, time, packet, addresses);
        }
        if let (Some(views), Some(Viewed { view, .. })) = (of_views, viewed) {
            self.recorder.record(&mut views.entry(view).or_default().leaving, time, packet, addresses);
        }
        self.relieve();
    }

    /// Records a packet that has arrived at its destination end.
    #[inline]
    pub(crate) fn record_arrival(&mut self, time: SimTime, packet: &Packet) {
        if !self.logs.is_empty() {
            self.keep_arrival(time, packet);
        }
    }

    fn keep_arrival(&mut self, time: SimTime, packet: &Packet) {
        if let Some(Viewed { view, uplink }) = self.viewed_at(packet.to) {
            let addresses = addresses(packet, self.face(packet));
            let seen = self.logs[uplink.index()].of_views.get_or_insert_default().entry(view).or_default();
            self.recorder.record(&mut seen.arriving, time, packet, addresses);
            self.relieve();
        }
    }

    /// Moves recorded packets to the disk when there are many.
    fn relieve(&mut self) {
        if self.recorder.is_full() {
            self.recorder.relieve(self.logs.iter_mut().flat_map(Log::recordings));
        }
    }

    /// Keeps appearances for another feature, before the first is set.
    pub(crate) fn keep_faces(&mut self) {
        self.keeps_faces = true;
    }

    /// Appearance of a packet in captures.
    pub(crate) fn face(&self, packet: &Packet) -> Face {
        self.face_of(packet.connection())
    }

    /// Appearance of a connection's packets in captures.
    pub(crate) fn face_of(&self, connection: ConnectionIndex) -> Face {
        let number = connection.index();
        let face = self.faces.get(number).copied().flatten();
        face.unwrap_or(Face { flow: number as u32, port: DEFAULT_PORT })
    }

    /// Sets the appearance of a connection in captures from now on.
    pub(crate) fn set_face(&mut self, connection: ConnectionIndex, face: Face) {
        if self.keeps_faces || !self.logs.is_empty() {
            *place(&mut self.faces, connection.index()) = Some(face);
        }
    }

    /// Exchanges the recordings of a link between two parts.
    pub(crate) fn swap(&mut self, other: &mut Self, link: LinkId) {
        if let (Some(here), Some(there)) = (self.logs.get_mut(link.index()), other.logs.get_mut(link.index())) {
            std::mem::swap(here, there);
        }
    }

    /// Recorded captures: of each link that requested one, together with its reverse direction, then of each flow.
    pub(crate) fn take(&mut self, links: &[LinkConfig]) -> Vec<Capture> {
        let mut of_links: Vec<Option<Capture>> = Vec::with_capacity(links.len());
        let mut of_views: Vec<Capture> =
            self.views.drain(..).map(|[flow, host]| Capture::new(format!("flow {flow}"), host)).collect();
        for (link, log) in links.iter().zip(self.logs.drain(..)) {
            of_links.push(None);
            for (view, Seen { arriving, leaving }) in log.of_views.into_iter().flatten() {
                of_views[view.0].add(0, arriving);
                of_views[view.0].add(0, leaving);
            }
            let Some(recording) = log.of_link else { continue };
            if let Some(cable) = link.way_back_of.and_then(|forth| of_links[forth.index()].as_mut()) {
                cable.add_interface(&link.name, recording);
            } else {
                let mut capture = Capture::new(link.name.clone(), link.name.clone());
                capture.add(0, recording);
                *of_links.last_mut().expect("just pushed") = Some(capture);
            }
        }
        of_links.into_iter().flatten().chain(of_views).collect()
    }

    fn viewed_at(&self, end: EndpointId) -> Option<Viewed> {
        self.viewed.get(end.number() as usize).copied().flatten()
    }
}

/// The entry at `index`, which is made if it does not exist.
fn place<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}
