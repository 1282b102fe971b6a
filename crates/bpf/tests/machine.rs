//! The tests with connections of this machine's kernel, in a program of their own: one connection at a time, and what is late is tried again.
//!
//! `cargo test -p ackclock-bpf --test machine on_this_kernel` runs those of a file.

mod agent;
mod corrected;
mod lab;
mod on_this_kernel;
mod policies;
mod records;
