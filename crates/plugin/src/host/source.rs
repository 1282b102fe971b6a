//! A source of traffic of a plug-in, as the flow sees it.

use std::ffi::c_void;
use std::sync::Arc;

use ackclock_sim::{SourceStart, Supply, Then, TrafficSource};
use ackclock_units::{Bytes, SimTime};

use super::declaration::Config;
use crate::abi::{SourceTable, SupplyC, known};

/// Source of traffic of a plug-in.
#[derive(Debug)]
pub(super) struct PluginSource {
    config: Arc<Config>,
    instance: *mut c_void,
}

// SAFETY: a plug-in's sources are `Send`.
unsafe impl Send for PluginSource {}
// SAFETY: a plug-in's sources are `Sync`; what changes one takes `&mut self` here as there.
unsafe impl Sync for PluginSource {}

impl PluginSource {
    pub(super) fn new(config: &Arc<Config>, start: &SourceStart) -> Self {
        let origin = config.origin();
        let instance = (origin.table.source.make)(config.pointer(), start.seed);
        Self { config: Arc::clone(config), instance: origin.made(instance, "making") }
    }

    fn calls(&self) -> &'static SourceTable {
        &self.config.origin().table.source
    }
}

impl TrafficSource for PluginSource {
    fn next(&mut self, now: SimTime, unsent: Bytes) -> Supply {
        let mut supply = SupplyC::default();
        let status = (self.calls().next)(self.instance, now.0, unsent.0, &raw mut supply);
        self.config.origin().expect(status, "next");
        let then = match known(supply.at) {
            Some(time) => Then::At(SimTime(time)),
            None if supply.closes => Then::Close,
            None => Then::WhenRead,
        };
        Supply { write: Bytes(supply.write), then }
    }
}

impl Clone for PluginSource {
    fn clone(&self) -> Self {
        let instance = self.config.origin().made((self.calls().clone)(self.instance), "a copy");
        Self { config: Arc::clone(&self.config), instance }
    }
}

impl Drop for PluginSource {
    fn drop(&mut self) {
        (self.calls().drop)(self.instance);
    }
}
