//! An effect of a plug-in, as the link sees it.

use std::ffi::c_void;
use std::sync::Arc;

use ackclock_net::{Fate, LinkEffect, Packet, PartStart};
use ackclock_units::{SimDuration, SimTime};

use super::declaration::Config;
use super::queue::{seen, start_of};
use crate::abi::{EffectTable, FateC};

/// Effect of links of a plug-in.
#[derive(Debug)]
pub(super) struct PluginEffect {
    config: Arc<Config>,
    instance: *mut c_void,
}

// SAFETY: a plug-in's effects are `Send`.
unsafe impl Send for PluginEffect {}
// SAFETY: a plug-in's effects are `Sync`; what changes one takes `&mut self` here as there.
unsafe impl Sync for PluginEffect {}

impl PluginEffect {
    pub(super) fn new(config: &Arc<Config>, start: &PartStart) -> Self {
        let origin = config.origin();
        let instance = (origin.table.effect.make)(config.pointer(), &start_of(start));
        Self { config: Arc::clone(config), instance: origin.made(instance, "making") }
    }

    fn calls(&self) -> &'static EffectTable {
        &self.config.origin().table.effect
    }
}

impl LinkEffect for PluginEffect {
    fn on_packet(&mut self, now: SimTime, packet: &Packet, octets: u64) -> Fate {
        let (packet, mut fate) = (seen(packet, octets, now, 0), FateC::default());
        let status = (self.calls().on_packet)(self.instance, now.0, &raw const packet, &raw mut fate);
        if !self.config.origin().expect(status, "on_packet") {
            return Fate::Lost;
        }
        let FateC { jitter, held, copied } = fate;
        Fate::Arrives { jitter: SimDuration(jitter), held: SimDuration(held), copied }
    }
}

impl Clone for PluginEffect {
    fn clone(&self) -> Self {
        let instance = self.config.origin().made((self.calls().clone)(self.instance), "a copy");
        Self { config: Arc::clone(&self.config), instance }
    }
}

impl Drop for PluginEffect {
    fn drop(&mut self) {
        (self.calls().drop)(self.instance);
    }
}
