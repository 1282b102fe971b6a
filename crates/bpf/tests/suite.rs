//! The tests from outside that no other process disturbs, in one program: a program for each file would take longer to build.
//!
//! `cargo test -p ackclock-bpf --test suite same_flights` runs those of a file.

mod mirror;
mod page;
mod path;
mod same_flights;
mod same_numbers;
