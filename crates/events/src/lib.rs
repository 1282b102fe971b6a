//! Typed events of a run: a packet is dropped, a segment is taken for lost, a recovery begins.
//!
//! A run that is watched hands each [`Record`] to an [`Observer`], in the order of time. Which [`EventKind`]s of which
//! sources are wanted is chosen before the run ([`EventKinds`]); what nobody wants is never made.

mod event;
mod kinds;
mod names;
mod observer;
mod perfetto;
mod qlog;
#[cfg(test)]
mod sample;
mod source;

pub use event::{
    AckArrived, ControllerState, DropCause, Event, LossDetection, PacketInfo, ProbeKind, RecoveryCause, SegmentSent,
    SlowStartExit,
};
pub use kinds::{EventKind, EventKinds};
pub use observer::{Observer, Record};
pub use perfetto::{PerfettoWriter, write_perfetto};
pub use qlog::{QlogWriter, write_qlog};
pub use source::{Source, SourceId, SourceKind};
