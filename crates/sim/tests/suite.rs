//! The tests from outside, in one program: a program for each file would take much longer to build.
//!
//! `cargo test -p ackclock-sim --test suite appliance` runs those of a file.

mod appliance;
mod bbr;
mod common;
mod linux_controllers;
mod marks;
mod pcc;
mod short_appliance;
mod siad;
mod theory;
mod traffic;

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
