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
mod gradient;
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

/// Each file of tests of a crate whose manifest names the programs is a module of one of them.
#[test]
fn every_file_is_in_a_program_of_its_crate() {
    let files = |folder: &Path| std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for tests in files(&crates).map(|folder| folder.join("tests")).filter(|tests| tests.join("suite.rs").is_file()) {
        let manifest = std::fs::read_to_string(tests.join("../Cargo.toml")).expect("a manifest");
        let named = manifest.split("[[test]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next());
        let programs: Vec<&str> = named.collect();
        let read =
            |program: &&str| std::fs::read_to_string(tests.join(program).with_extension("rs")).expect("a program");
        let text: String = programs.iter().map(read).collect();
        for file in files(&tests).filter(|file| file.extension() == Some("rs".as_ref())) {
            let name = file.file_stem().expect("a name").to_string_lossy();
            let is_in = programs.contains(&&*name) || text.contains(&format!("\nmod {name};\n"));
            assert!(is_in, "{}: the module {name} is missing in {programs:?}; add `mod {name};`", tests.display());
        }
    }
}
