//! Tests through the public interface, in one program: a program for each file would take much longer to build.
//!
//! `cargo test -p ackclock-scenario --test suite ack_control` runs those of a file.

use std::path::Path;

mod ack_control;
mod appliances;
mod bbr_draft;
mod bbr_transports;
mod bursts;
mod capture_tools;
mod captures;
mod classic;
mod classic_laws;
mod common;
mod controller_grid;
mod datacentre;
mod declared_controllers;
mod declared_parts;
mod declared_queues;
mod declared_tcp;
mod decrease_laws;
mod delay;
mod delay_management;
mod determinism;
mod diagnostics;
mod dqn;
mod elasticity;
mod events;
mod external;
mod frozen;
mod host_noise;
mod internals;
mod limits;
mod link_changes;
mod links;
mod linux_bbr;
mod loss_window;
mod media_laws;
mod metamorphic;
mod metamorphic_nets;
mod mobile;
mod model;
mod own_parts;
mod parallel;
mod pcc;
mod policy;
mod profiles;
mod queue_laws;
mod queues;
mod quic_laws;
mod recovery_laws;
mod reference;
mod reference_evidence;
mod repairs;
mod scenario;
mod switches;
mod traffic;
mod vary;
mod vegas;
mod windows;
mod wrong_values;

/// Each file of tests of a crate that has a suite is a module of it.
#[test]
fn every_file_is_in_the_suite_of_its_crate() {
    let files = |folder: &Path| std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let suites = files(&crates).map(|folder| folder.join("tests/suite.rs")).filter(|suite| suite.is_file());
    for suite in suites {
        let text = std::fs::read_to_string(&suite).expect("a suite");
        for file in files(suite.parent().expect("its folder")).filter(|file| file.extension() == Some("rs".as_ref())) {
            let name = file.file_stem().expect("a name").to_string_lossy();
            let is_in = name == "suite" || text.contains(&format!("\nmod {name};\n"));
            assert!(is_in, "{}: the module {name} is missing; add `mod {name};`", suite.display());
        }
    }
}
