//! The rules of a controller as bytecode in the kernel, given events by hand: what a socket's controller computes, without a
//! socket.

use libbpf_rs::{Object, ProgramInput};

use crate::catalogue::Program;
use crate::error::Error;
use crate::exchange::Exchange;
use crate::{machine, object};

/// The rules of one controller, loaded.
#[derive(Debug)]
pub struct Replay(Object);

impl Replay {
    /// Of a controller with these parameters; those in an [`Exchange`] count, but for the response of `HighSpeed`.
    pub fn new(program: &Program, config: &ackclock_cc::ControllerConfig) -> Result<Self, Error> {
        machine::check()?;
        let mut opened = object::open(program.name, program.replay)?;
        if let Some(curve) = Program::curve(config) {
            object::set(&mut opened, ".data.curve", &curve.octets());
        }
        Ok(Self(object::load(opened, program.name)?))
    }

    /// Gives an event to the rules.
    pub fn drive(&self, exchange: &mut Exchange) -> Result<(), Error> {
        let program = self.0.progs_mut().next().expect("the object has one program");
        let input = ProgramInput { context_in: Some(exchange.octets_mut()), ..ProgramInput::default() };
        program.test_run(input).map_err(|error| object::refused("running a controller's rules", &error))?;
        Ok(())
    }
}
