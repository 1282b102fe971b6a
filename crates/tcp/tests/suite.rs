//! The tests from outside, in one program: a program for each file would take much longer to build.
//!
//! `cargo test -p ackclock-tcp --test suite ack_control` runs those of a file.

mod ack_control;
mod application;
mod common;
mod connection;
mod controller;
mod fq;
mod probes;
mod recovery;
mod switches;

#[test]
fn every_file_is_in_the_suite() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let files = std::fs::read_dir(folder).expect("this folder").map(|entry| entry.expect("a file").path());
    for file in files.filter(|file| file.extension().is_some_and(|suffix| suffix == "rs")) {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let line = format!("\nmod {name};\n");
        assert!(name == "suite" || include_str!("suite.rs").contains(&line), "add `mod {name};` to {folder}/suite.rs");
    }
}
