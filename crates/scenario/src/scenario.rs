//! A checked scenario.

use ackclock_sim::SimulationConfig;
use sha2::{Digest, Sha256};

use crate::attachments::{Attachments, hex};
use crate::check::{check, read_file};
use crate::diagnostic::{Diagnostics, ScenarioError, SyntaxError};
use crate::file::ScenarioFile;
use crate::tree::{Node, apply_overrides, parse_json, parse_toml};

/// A scenario that has been checked: a simulation can be built from it without any further way to fail.
#[derive(Clone, Debug)]
pub struct Scenario {
    file: ScenarioFile,
    config: SimulationConfig,
    attachments: Attachments,
}

impl Scenario {
    /// Reads TOML text. `file` is what diagnostics call it, and its stem the scenario's name unless it has one.
    /// `overrides` are `path=value` texts, applied in order. Fails with every mistake at once.
    pub fn parse(text: &str, file: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::from_tree(parse_toml(text), text, file, overrides)
    }

    /// Reads the same format written as JSON.
    pub fn from_json(text: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::from_tree(parse_json(text), text, "<json>", overrides)
    }

    /// Reads a TOML file.
    pub fn load(path: &std::path::Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let remedy = "check the path, and that the file is readable text";
            ScenarioError::of_file(&name, format!("cannot be read: {error}"), remedy)
        })?;
        Self::parse(&text, &name, overrides)
    }

    fn from_tree(
        parsed: Result<Node, Vec<SyntaxError>>,
        text: &str,
        file: &str,
        overrides: &[String],
    ) -> Result<Self, ScenarioError> {
        let mut tree = parsed.map_err(|errors| ScenarioError::of_syntax(file, errors))?;
        let unapplied = apply_overrides(&mut tree, overrides);
        let mut diagnostics = Diagnostics::new(file, text, overrides, &tree);
        for (index, message) in &unapplied {
            diagnostics.report_override(*index, message);
        }
        let mut read = read_file(&tree, &mut diagnostics);
        let attachments = Attachments::read(&mut read, folder(file), &mut diagnostics);
        let config = check(&read, stem(file), &attachments, &mut diagnostics);
        let Some(config) = config else { return Err(diagnostics.into_error()) };
        read.name = Some(config.name.clone());
        read.seed = Some(config.seed);
        Ok(Self { file: read, config, attachments })
    }

    /// What a simulation is built from.
    pub fn config(&self) -> &SimulationConfig {
        &self.config
    }

    /// The same scenario under another seed: everything random is drawn anew.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut file = self.file.clone();
        file.seed = Some(seed);
        let tree = Node::new(crate::tree::Value::Table(Vec::new()), crate::tree::Origin::Unknown);
        let mut diagnostics = Diagnostics::new("", "", &[], &tree);
        let config = check(&file, &self.config.name, &self.attachments, &mut diagnostics)
            .expect("a seed makes no scenario wrong");
        Self { file, config, attachments: self.attachments.clone() }
    }

    /// The scenario as JSON in a fixed order, overrides, name and seed included. Read by [`Self::from_json`], it is this
    /// scenario.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.file).expect("a scenario consists of texts, numbers, lists and tables")
    }

    /// SHA-256 of [`Self::to_json`], in hexadecimal.
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.to_json().as_bytes()))
    }
}

/// Where the files that `file` names are looked for.
fn folder(file: &str) -> &std::path::Path {
    std::path::Path::new(file).parent().unwrap_or(std::path::Path::new(""))
}

/// `scenarios/two-flows.toml` is called `two-flows`.
fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() || stem.starts_with('<') { "scenario" } else { stem }
}
