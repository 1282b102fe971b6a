//! An observation or a reward of a plug-in, as the agent sees it.

use std::ffi::c_void;
use std::sync::Arc;

use ackclock_agent::{OwnObservation, OwnReward, Values};

use super::declaration::Config;
use crate::abi::{AgentTable, Text, ValuesC};

/// Observation or reward of a plug-in.
#[derive(Debug)]
pub(super) struct PluginNumber {
    config: Arc<Config>,
    instance: *mut c_void,
    /// Name of the call in the plug-in's source.
    call: &'static str,
}

// SAFETY: a plug-in's observations and rewards are `Send`.
unsafe impl Send for PluginNumber {}
// SAFETY: a plug-in's observations and rewards are `Sync`; what changes one takes `&mut self` here as there.
unsafe impl Sync for PluginNumber {}

impl PluginNumber {
    pub(super) fn new(config: &Arc<Config>, call: &'static str) -> Self {
        let origin = config.origin();
        let instance = (origin.table.agent.make)(config.pointer());
        Self { config: Arc::clone(config), instance: origin.made(instance, "making"), call }
    }

    fn calls(&self) -> &'static AgentTable {
        &self.config.origin().table.agent
    }

    fn number(&mut self, values: &Values<'_>) -> f64 {
        let shown = ValuesC { now: values.now().0, context: std::ptr::from_ref(values).cast(), read };
        let mut number = f64::NAN;
        let status = (self.calls().number)(self.instance, &raw const shown, &raw mut number);
        self.config.origin().expect(status, self.call);
        number
    }
}

extern "C" fn read(context: *const c_void, name: Text) -> f64 {
    // SAFETY: the context is the `Values` of `PluginNumber::number`, during whose call the plug-in reads them; the plug-in
    // keeps its texts alive during its call.
    let (values, name) = unsafe { (&*context.cast::<Values<'_>>(), name.read()) };
    values.get(name).unwrap_or(f64::NAN)
}

impl OwnObservation for PluginNumber {
    fn value(&mut self, values: &Values<'_>) -> f64 {
        self.number(values)
    }
}

impl OwnReward for PluginNumber {
    fn reward(&mut self, values: &Values<'_>) -> f64 {
        self.number(values)
    }
}

impl Clone for PluginNumber {
    fn clone(&self) -> Self {
        let instance = self.config.origin().made((self.calls().clone)(self.instance), "a copy");
        Self { config: Arc::clone(&self.config), instance, call: self.call }
    }
}

impl Drop for PluginNumber {
    fn drop(&mut self) {
        (self.calls().drop)(self.instance);
    }
}
