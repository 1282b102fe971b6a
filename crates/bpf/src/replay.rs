//! The rules of a controller as bytecode in the kernel, given events by hand: what a socket's controller computes, without a
//! socket.

use libbpf_rs::{MapCore, Object, ProgramInput};

use crate::catalogue::Program;
use crate::error::Error;
use crate::exchange::Exchange;
use crate::flight::Flight;
use crate::policy::Policy;
use crate::{machine, object};

/// The rules of one controller, loaded.
#[derive(Debug)]
pub struct Replay(Object);

/// A policy in whole numbers as bytecode in the kernel, asked by hand.
#[derive(Debug)]
pub struct AskedPolicy(Object);

/// A question's octets in `programs/replay_policy.bpf.c`: what is seen, then the decision and the window after it.
const SIGHT: usize = 88;

impl AskedPolicy {
    /// Loads the policy.
    pub fn new(policy: &Policy) -> Result<Self, Error> {
        machine::check()?;
        let mut opened = object::open("policy", crate::policy::REPLAY)?;
        object::set(&mut opened, ".data.policy_0", policy.image());
        Ok(Self(object::load(opened, "policy")?))
    }

    /// Sets its memory to zero, as when a flow begins.
    pub fn forget(&self) -> Result<(), Error> {
        let memory = self.0.maps().find(|map| map.name() == ".data.memory").expect("the object has this variable");
        object::write(&memory, &[])
    }

    /// Decides on a `struct sight`. Returns the decision, and the mean time of `repeat` decisions, ns; each moves its
    /// memory on.
    pub fn decide(&self, sight: &[u8; SIGHT], repeat: u32) -> Result<(i64, u64), Error> {
        let at_hand = self.0.maps().find(|map| map.name() == ".data.at_hand").expect("the object has this variable");
        object::write(&at_hand, sight)?;
        let program = self.0.progs_mut().next().expect("the object has one program");
        let began = std::time::Instant::now();
        for _ in 0..repeat {
            let ran = program.test_run(ProgramInput::default());
            ran.map_err(|error| object::refused("asking a policy", &error))?;
        }
        let spent = began.elapsed().as_nanos() as u64 / u64::from(repeat.max(1));
        let octets = object::read(&at_hand)?;
        let decision = octets[SIGHT..SIGHT + 8].try_into().expect("eight octets");
        Ok((i64::from_ne_bytes(decision), spent))
    }
}

impl Replay {
    /// Replay of a controller with these parameters; those in an [`Exchange`] count, but for the response of
    /// `HighSpeed`.
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

    /// Gives an event to the rules of a controller with a rate of its own.
    pub fn fly(&self, flight: &mut Flight) -> Result<(), Error> {
        let at_hand = self.0.maps().find(|map| map.name() == ".data.at_hand").expect("the object has this variable");
        object::write(&at_hand, flight.octets_mut())?;
        let program = self.0.progs_mut().next().expect("the object has one program");
        program
            .test_run(ProgramInput::default())
            .map_err(|error| object::refused("running a controller's rules", &error))?;
        let octets = object::read(&at_hand)?;
        flight.octets_mut().copy_from_slice(&octets);
        Ok(())
    }
}
