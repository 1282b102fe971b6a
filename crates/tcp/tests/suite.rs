//! The tests from outside, in one program: a program for each file would take much longer to build.
//!
//! `cargo test -p ackclock-tcp --test suite ack_control` runs those of a file.

mod ack_control;
mod application;
mod common;
mod connection;
mod controller;
mod fq;
mod linux_fq;
mod probes;
mod recovery;
mod switches;
