//! Sources of events.

/// The number of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// Kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The sending end of a flow of the scenario.
    Flow,
    /// An end of an appliance that sends on what a flow brought.
    Relay,
    /// A link with its queue.
    Link,
}

/// Something that events come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Kind of the source.
    pub kind: SourceKind,
    /// Name in results: the flow's name, the link's; for an appliance its name, the flow's and the direction.
    pub name: String,
    /// The controller at work there; empty for a link.
    pub controller: String,
}
