//! Custom parts written in Python: queues, effects of links, sources of traffic, observations and rewards; controllers
//! are in [`crate::controller`].
//!
//! A module that a scenario's `use` names has classes that derive from those of `ackclock.parts`. `ackclock.parts` finds
//! them and describes their parameters; a [`PyOwnPart`] is what a scenario then names as it names a built-in part.

mod agent;
mod effect;
mod loader;
mod own;
mod packet;
mod queue;
mod source;

pub(crate) use agent::PyValues;
pub(crate) use effect::PyFate;
pub(crate) use loader::{is_plugin, loader};
pub(crate) use own::PyOwnPart;
pub(crate) use packet::PyPacket;
pub(crate) use queue::{PyLinkStart, PyQueueState};
pub(crate) use source::{PySourceStart, PySupply};
