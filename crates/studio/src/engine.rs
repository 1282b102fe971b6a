//! State of a page: files that were handed over, and the run of the scenario that was loaded last.

use std::collections::BTreeMap;
use std::sync::Arc;

use ackclock_scenario::{Scenario, ScenarioError};
use ackclock_units::{SimDuration, SimTime};

use crate::run::{Run, Source};

/// Options of observation; they change nothing of a run's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Between two rows of series.
    pub sample: SimDuration,
    /// Report packets, segments and ACKs, which takes time.
    pub packets: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { sample: SimDuration::from_millis(20), packets: false }
    }
}

/// Files and the current run of a page.
#[derive(Debug, Default)]
pub struct Engine {
    files: Arc<BTreeMap<String, Vec<u8>>>,
    run: Option<Run>,
}

impl Engine {
    /// A file that scenarios may name from now on, under this name.
    pub fn attach(&mut self, name: &str, content: Vec<u8>) {
        Arc::make_mut(&mut self.files).insert(name.to_owned(), content);
    }

    /// Removes all files.
    pub fn detach_all(&mut self) {
        self.files = Arc::default();
    }

    /// Reads and checks a scenario without running it; `file` is what mistakes call it. Fails with every mistake at once.
    pub fn check(&self, text: &str, file: &str) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with_files(text, file, &[], Arc::clone(&self.files))
    }

    /// Same as [`Self::check`]; a valid scenario becomes the run, at time zero, in place of the one before.
    pub fn load(&mut self, text: &str, file: &str, options: Options) -> Result<&Scenario, ScenarioError> {
        let source = Source { text: text.to_owned(), file: file.to_owned(), files: Arc::clone(&self.files) };
        let scenario = source.parse()?;
        Ok(self.run.insert(Run::new(source, scenario, options)).scenario())
    }

    /// The run under way.
    pub fn run(&mut self) -> Option<&mut Run> {
        self.run.as_mut()
    }

    /// Simulates up to a time, itself included; nothing where no scenario is loaded.
    pub fn advance(&mut self, until: SimTime) {
        if let Some(run) = &mut self.run {
            run.advance(until);
        }
    }
}
