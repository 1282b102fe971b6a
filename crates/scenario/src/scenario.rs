//! A checked scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use ackclock_declare::Library;
use ackclock_events::EventKinds;
use ackclock_sim::SimulationConfig;
use sha2::{Digest, Sha256};

use crate::attachments::{Attachments, hex};
use crate::check::{MAX_FLOWS, check};
use crate::diagnostic::{Diagnostics, ScenarioError};
use crate::extensions::Extensions;
use crate::file::{ScenarioFile, SwitchOr, TraceTable};
use crate::files::Files;
use crate::reading::{MOST_OF_SCENARIO, read_text};
use crate::tree::{Node, parse_json, parse_text};
use crate::vary::{Drawn, ScenarioTemplate};

/// A scenario that has been checked: a simulation can be built from it without any further way to fail.
#[derive(Clone, Debug)]
pub struct Scenario {
    file: ScenarioFile,
    config: Arc<SimulationConfig>,
    attachments: Attachments,
    extensions: Extensions,
    library: Library,
    drawn: Vec<Drawn>,
    /// The template that the scenario was drawn from, if it has drawn values.
    template: Option<ScenarioTemplate>,
}

impl Scenario {
    /// Reads TOML text. Diagnostics call it `file`, whose stem is the scenario's name unless it has one.
    ///
    /// `overrides` are `path=value` strings, applied in order. Fails with every mistake at once.
    pub fn parse(text: &str, file: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::parse_with(text, file, overrides, &Extensions::default())
    }

    /// Reads TOML text as [`Self::parse`] does, with controllers from outside.
    pub fn parse_with(
        text: &str,
        file: &str,
        overrides: &[String],
        extensions: &Extensions,
    ) -> Result<Self, ScenarioError> {
        Self::parse_from(text, file, overrides, extensions, Files::default())
    }

    /// Reads TOML text as [`Self::parse`] does, without a disk: the scenario may name `files`, by these names.
    pub fn parse_with_files(
        text: &str,
        file: &str,
        overrides: &[String],
        files: Arc<BTreeMap<String, Vec<u8>>>,
    ) -> Result<Self, ScenarioError> {
        Self::parse_from(text, file, overrides, &Extensions::default(), Files::given(files))
    }

    fn parse_from(
        text: &str,
        file: &str,
        overrides: &[String],
        extensions: &Extensions,
        files: Files,
    ) -> Result<Self, ScenarioError> {
        check_size(text, file)?;
        Ok(ScenarioTemplate::load(parse_text(text), text, file, overrides, extensions, files)?.1)
    }

    /// Reads the same format written as JSON.
    pub fn from_json(text: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::from_json_with(text, overrides, &Extensions::default())
    }

    /// Reads JSON as [`Self::from_json`] does, with controllers from outside.
    pub fn from_json_with(text: &str, overrides: &[String], extensions: &Extensions) -> Result<Self, ScenarioError> {
        Ok(ScenarioTemplate::load(parse_json(text), text, "<json>", overrides, extensions, Files::default())?.1)
    }

    /// Reads a TOML file.
    pub fn load(path: &std::path::Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::load_with(path, overrides, &Extensions::default())
    }

    /// Reads a file as [`Self::load`] does, with controllers from outside.
    pub fn load_with(
        path: &std::path::Path,
        overrides: &[String],
        extensions: &Extensions,
    ) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = read_text(path, MOST_OF_SCENARIO).map_err(|error| {
            let remedy = "check the path, and that the file is readable text";
            ScenarioError::of_file(&name, &format!("cannot be read: {error}"), remedy)
        })?;
        Self::parse_with(&text, &name, overrides, extensions)
    }

    /// A scenario whose `file` gets this name and seed.
    pub(crate) fn of(
        mut file: ScenarioFile,
        config: SimulationConfig,
        attachments: Attachments,
        (extensions, library): (Extensions, Library),
        drawn: Vec<Drawn>,
    ) -> Self {
        file.name = Some(config.name.clone());
        file.seed = Some(config.seed);
        Self { file, config: Arc::new(config), attachments, extensions, library, drawn, template: None }
    }

    /// The scenario with the template from which it can be drawn again.
    pub(crate) fn with_template(self, template: &ScenarioTemplate) -> Self {
        Self { template: Some(template.clone()), ..self }
    }

    /// The text, file and overrides from which it was drawn; `None` if it has no drawn values.
    ///
    /// Together with [`Self::to_json`], which has the drawn values, this is all that [`Self::restored`] needs.
    pub fn source(&self) -> Option<(&str, &str, &[String])> {
        self.template.as_ref().map(ScenarioTemplate::source)
    }

    /// The scenario of a [`Self::to_json`] with the source of `parsed`, another draw of the same file, and with its own
    /// drawn values.
    #[must_use]
    pub fn restored(self, parsed: Self, drawn: Vec<Drawn>) -> Self {
        Self { drawn, template: parsed.template, ..self }
    }

    /// The drawn values; empty if it has none.
    pub fn drawn(&self) -> &[Drawn] {
        &self.drawn
    }

    /// Every place whose value is drawn, with its distribution; see [`ScenarioTemplate::varies`].
    pub fn varies(&self) -> Vec<(String, String)> {
        self.template.as_ref().map_or_else(Vec::new, ScenarioTemplate::varies)
    }

    /// The scenario under `seed`: its drawn values and everything random in the run.
    ///
    /// Fails as [`ScenarioTemplate::draw`] and [`Self::with_seed`] do.
    pub fn draw(&self, seed: u64) -> Result<Self, ScenarioError> {
        self.template.as_ref().map_or_else(|| self.with_seed(seed), |template| template.draw(seed))
    }

    /// The entries of its `use`.
    pub fn uses(&self) -> Vec<&str> {
        let entries = self.file.own_parts.as_ref();
        entries.map_or_else(Vec::new, |list| list.iter().map(|(_, entry)| entry.as_str()).collect())
    }

    /// The library of parts that it may name beside the built-in ones: those of its `use` and of the reading program.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The scenario in the form of its file.
    pub(crate) fn file(&self) -> &ScenarioFile {
        &self.file
    }

    /// The configuration from which a simulation is built.
    pub fn config(&self) -> &SimulationConfig {
        &self.config
    }

    /// The configuration, shared with the simulation: with many thousand flows it takes megabytes.
    pub fn shared_config(&self) -> &Arc<SimulationConfig> {
        &self.config
    }

    /// The same scenario under another seed: everything random in the run is drawn anew, while the values that were
    /// drawn for the scenario itself stay; [`Self::draw`] draws these, too. Fails where starts that the seed draws ask for more
    /// than a limit allows.
    pub fn with_seed(&self, seed: u64) -> Result<Self, ScenarioError> {
        let mut file = self.file.clone();
        file.seed = Some(seed);
        self.checked_again(file)
    }

    /// The scenario, with events of these kinds observed on the flows and links that it chooses; `None` for no kind.
    pub fn with_events(&self, kinds: EventKinds) -> Option<Self> {
        if kinds.is_empty() {
            return None;
        }
        let mut file = self.file.clone();
        file.trace = Some(SwitchOr::Table(TraceTable::with_events(file.trace, kinds)));
        Some(self.checked_again(file).expect("events make no scenario wrong"))
    }

    /// The scenario with another file.
    fn checked_again(&self, file: ScenarioFile) -> Result<Self, ScenarioError> {
        let tree = Node::new(crate::tree::Value::Table(Vec::new()), crate::tree::Origin::Unknown);
        let diagnostics = Diagnostics::new(&self.config.name, "", &[], &tree);
        match check(&file, &self.config.name, &self.attachments, &self.extensions, &diagnostics) {
            Some(config) => Ok(Self { file, config: Arc::new(config), ..self.clone() }),
            None => Err(diagnostics.into_error()),
        }
    }

    /// The scenario as JSON in a fixed order, overrides, name and seed included. Read by [`Self::from_json`], it is this
    /// scenario.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.file).expect("a scenario consists of strings, numbers, lists and tables")
    }

    /// SHA-256 of [`Self::to_json`], in hexadecimal.
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.to_json().as_bytes()))
    }
}

/// The folder of `file`, in which the files that it names are searched.
pub(crate) fn folder(file: &str) -> &std::path::Path {
    std::path::Path::new(file).parent().unwrap_or(std::path::Path::new(""))
}

/// The name of a scenario without one: `two-flows` for `scenarios/two-flows.toml`.
pub(crate) fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() || stem.starts_with('<') { "scenario" } else { stem }
}

/// Refuses a file of far too many tables, before each takes its memory.
fn check_size(text: &str, file: &str) -> Result<(), ScenarioError> {
    let tables = text.lines().filter(|line| line.trim_start().starts_with("[[flow]]")).count() as u64;
    if tables <= MAX_FLOWS {
        return Ok(());
    }
    let message = format!("flow must be at most {MAX_FLOWS} tables, not {tables}");
    Err(ScenarioError::of_file(file, &message, "write count = 1000 for flows that are alike"))
}
