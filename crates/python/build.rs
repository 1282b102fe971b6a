//! Names the engine: a hash of all sources that decide results, which records and kept results are held beside.
//!
//! It changes with any line of code of the crates that simulate and with any of their dependencies, and not with comments,
//! blank lines, tests, this crate's own glue or the version of the whole. Departures: a change of code that alters no
//! result changes it as well; kept results are then simulated again, which is the safe side, and a record tells by reference
//! runs (`ackclock.claims.reference`) whether results are the same.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Crates that translate or begin a run, or stand beside the simulator, and decide nothing in a simulated one.
const GLUE: [&str; 5] = ["python", "ackclock", "bpf", "kernel", "proxy"];

fn main() {
    let crates = PathBuf::from("..");
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    let mut hash = Sha256::new();
    for folder in sorted(&crates) {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let sources = folder.join("src");
        if sources.is_dir() && !GLUE.contains(&name.as_str()) {
            println!("cargo:rerun-if-changed={}", sources.display());
            sources_of(&sources, &mut hash);
        }
    }
    let lock = fs::read_to_string("../../Cargo.lock").unwrap_or_default();
    for line in lock.lines().filter(|line| line.starts_with("checksum")) {
        hash.update(line);
    }
    let digest = hash.finalize().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    println!("cargo:rustc-env=ACKCLOCK_ENGINE={digest}");
}

fn sources_of(folder: &Path, hash: &mut Sha256) {
    for path in sorted(folder) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && name != "tests" {
            sources_of(&path, hash);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            hash.update(path.to_string_lossy().replace('\\', "/")); // the same on Windows
            code_of(&fs::read_to_string(&path).unwrap_or_default(), hash);
        }
    }
}

fn code_of(text: &str, hash: &mut Sha256) {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        hash.update(line);
        hash.update("\n");
    }
}

/// The entries of a folder in the order of their paths, which does not depend on the file system.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
