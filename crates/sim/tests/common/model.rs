//! Internal values of a controller over time.

use ackclock_sim::{FlowId, Simulation};
use ackclock_units::{SimDuration, SimTime};

/// The named internal of a flow's controller.
pub fn internal(simulation: &Simulation, flow: usize, name: &str) -> f64 {
    simulation.controller(FlowId::new(flow)).internal(name).unwrap_or_else(|| panic!("the controller tells of {name}"))
}

/// Steps through the time from `from_s` to `to_s` every `step_ms`, calling `look` with the time in seconds.
pub fn watch(
    simulation: &mut Simulation,
    (from_s, to_s, step_ms): (f64, f64, u64),
    mut look: impl FnMut(f64, &Simulation),
) {
    let mut time = SimTime::ZERO + SimDuration::from_secs_f64(from_s);
    while time.as_secs_f64() <= to_s {
        simulation.run_until(time);
        look(time.as_secs_f64(), simulation);
        time += SimDuration::from_millis(step_ms);
    }
}

/// Payload delivered by a flow so far, octets.
pub fn delivered(simulation: &Simulation, flow: usize) -> f64 {
    simulation.sender(FlowId::new(flow)).counters().delivered as f64
}
