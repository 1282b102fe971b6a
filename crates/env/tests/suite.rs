//! The tests from outside, in one program: a program for each file would take much longer to build.
//!
//! `cargo test -p ackclock-env --test suite environment` runs those of a file.

mod environment;
mod kernel_controllers;
mod own_parts;
mod policy;
