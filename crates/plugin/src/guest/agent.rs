//! Observations and rewards of agents, as a host calls them.

use std::ffi::c_void;

use ackclock_agent::{ExternalObservation, ExternalReward, Values};
use ackclock_units::SimTime;

use super::{Config, config, guarded, status_of};
use crate::abi::{AgentTable, Status, Text, ValuesC};

pub(super) const TABLE: AgentTable = AgentTable { make, clone, drop: free, number };

#[derive(Clone)]
enum Instance {
    Observation(Box<dyn ExternalObservation>),
    Reward(Box<dyn ExternalReward>),
}

impl Instance {
    fn number(&mut self, values: &Values<'_>) -> f64 {
        match self {
            Self::Observation(observation) => observation.value(values),
            Self::Reward(reward) => reward.reward(values),
        }
    }
}

fn leaked(instance: Instance) -> *mut c_void {
    Box::into_raw(Box::new(instance)).cast()
}

extern "C" fn make(parameters: *const c_void) -> *mut c_void {
    // SAFETY: the host passes what `read` returned.
    let parameters = unsafe { config(parameters) };
    let made = guarded(|| match parameters {
        Config::Observation(external) => leaked(Instance::Observation(external.make())),
        Config::Reward(external) => leaked(Instance::Reward(external.make(&()))),
        _ => unreachable!("a host makes what it has read"),
    });
    made.unwrap_or(std::ptr::null_mut())
}

extern "C" fn clone(instance: *const c_void) -> *mut c_void {
    // SAFETY: the host passes what `make` or `clone` returned.
    let instance = unsafe { &*instance.cast::<Instance>() };
    guarded(|| leaked(instance.clone())).unwrap_or(std::ptr::null_mut())
}

extern "C" fn free(instance: *mut c_void) {
    // SAFETY: the host passes what `make` or `clone` returned, once.
    let instance = unsafe { Box::from_raw(instance.cast::<Instance>()) };
    guarded(|| drop(instance));
}

extern "C" fn number(instance: *mut c_void, values: *const ValuesC, number: *mut f64) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, values that live during the call, and a place for the answer,
    // which nothing else uses during the call.
    let (instance, values, out) = unsafe { (&mut *instance.cast::<Instance>(), &*values, &mut *number) };
    status_of(|| {
        let read = |name: &str| (values.read)(values.context, Text::of(name));
        *out = instance.number(&Values::new(SimTime(values.now), &|observation| read(observation.name)));
    })
}
