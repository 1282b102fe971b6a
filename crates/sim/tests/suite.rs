//! The tests from outside, in one program: a program for each file would take much longer to build.
//!
//! `cargo test -p ackclock-sim --test suite appliance` runs those of a file.

mod appliance;
mod bbr;
mod common;
mod controller_calls;
mod linux_controllers;
mod marks;
mod pcc;
mod short_appliance;
mod siad;
mod theory;
mod traffic;
