//! The tests from outside, in one program: a program for each file would take much longer to build.
//!
//! `cargo test -p ackclock-relay --test suite comparison` runs those of a file.

mod comparison;
mod model;
mod properties;
