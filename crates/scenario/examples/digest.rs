//! One line a scenario file, with a sum over everything that its run reports: `digest THREADS FILE...`.
//!
//! Two builds that print the same simulate the same, and so do two numbers of threads. Files are TOML, or JSON where the name says
//! so. On stderr stands into how many parts each was cut.

use std::num::NonZeroUsize;

use ackclock_scenario::{Scenario, ScenarioError};
use ackclock_sim::{ColumnData, Outcome, ParallelSimulation, Table};

/// FNV-1a, which separates different outputs and needs no library.
struct Digest(u64);

impl Digest {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;

    fn bytes(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(Self::PRIME));
    }

    fn all(&mut self, values: impl Iterator<Item = impl AsRef<[u8]>>) {
        for value in values {
            self.bytes(value.as_ref());
        }
    }

    fn table(&mut self, table: &Table) {
        for column in &table.columns {
            self.bytes(column.name.as_bytes());
            match &column.data {
                ColumnData::F64(values) => self.all(values.iter().map(|value| value.to_bits().to_le_bytes())),
                ColumnData::U64(values) => self.all(values.iter().map(|value| value.to_le_bytes())),
                ColumnData::Bool(values) => self.all(values.iter().map(|&value| [u8::from(value)])),
                ColumnData::MaybeU64(values) => {
                    self.all(values.iter().map(|value| value.unwrap_or(u64::MAX).to_le_bytes()));
                }
                ColumnData::MaybeBool(values) => self.all(values.iter().map(|&value| [value.map_or(2, u8::from)])),
                ColumnData::Name { codes, names } => {
                    self.all(codes.iter().map(|code| code.to_le_bytes()));
                    self.all(names.iter());
                }
            }
        }
    }
}

fn main() {
    let mut given = std::env::args().skip(1);
    let Some(threads) = given.next().and_then(|threads| threads.parse::<NonZeroUsize>().ok()) else {
        return report("FILE...", "usage: digest THREADS");
    };
    for file in given {
        match load(&file) {
            Ok(scenario) => {
                let simulation = ParallelSimulation::new(scenario.config(), threads);
                tell(&file, simulation.partition().parts);
                report(&file, &format!("{:016x}", sum(&simulation.finish())));
            }
            Err(error) => report(&file, &format!("refused: {} mistakes", error.diagnostics.len())),
        }
    }
}

fn load(file: &str) -> Result<Scenario, ScenarioError> {
    let is_json = std::path::Path::new(file).extension().is_some_and(|extension| extension == "json");
    match std::fs::read_to_string(file) {
        Ok(text) if is_json => Scenario::from_json(&text, &[]),
        _ => Scenario::load(file.as_ref(), &[]),
    }
}

fn sum(outcome: &Outcome) -> u64 {
    let mut digest = Digest(Digest::OFFSET);
    digest.bytes(serde_json::to_string(&outcome.summary).expect("a summary is plain values").as_bytes());
    for table in [&outcome.flows, &outcome.links, &outcome.episodes, &outcome.completions, &outcome.appliances] {
        digest.table(table);
    }
    digest.0
}

#[allow(clippy::print_stderr, reason = "a program for a terminal")]
fn tell(file: &str, parts: usize) {
    eprintln!("{parts} {file}");
}

#[allow(clippy::print_stdout, reason = "a program for a terminal")]
fn report(file: &str, result: &str) {
    println!("{result} {file}");
}
