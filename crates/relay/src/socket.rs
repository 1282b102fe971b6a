//! Behaviour of an operating system by itself: both socket buffers fill up. No discipline is at work.

use ackclock_declare::{About, declare};

declare! {
    /// Parameters of `socket`: none.
    pub(crate) struct SocketConfig {}
}

pub(crate) const ABOUT: About = About {
    name: "socket",
    aliases: &[],
    summary: "none: as much is kept as both socket buffers hold",
    source: "what an operating system does by itself",
    departures: "none",
};
