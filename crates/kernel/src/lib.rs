//! The same scenario on the real Linux kernel: its flows are sockets, its network is that of the simulator in real time.
//!
//! [`run`] takes a checked scenario. [`plan`] says what it comes to in parameters of the kernel, or what the kernel cannot do of it;
//! [`namespace`] and [`device`] make hosts' surroundings, which vanish with the process; [`emulator`] moves packets along the links of
//! `ackclock_net`; [`hosts`] sends and receives, and reads the kernel's reports. The result is a [`run::Outcome`], in the form
//! of the simulator's results. [`carry`] gives the network alone to programs of others.

pub mod carry;
pub mod cli;
pub mod clock;
pub mod device;
pub mod emulator;
pub mod hosts;
pub mod init;
pub mod namespace;
pub mod output;
pub mod plan;
pub mod run;
mod summary;
pub mod sys;
