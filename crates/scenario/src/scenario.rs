//! A checked scenario.

use ackclock_sim::SimulationConfig;
use sha2::{Digest, Sha256};

use crate::check::{check, read_file};
use crate::diagnostic::{Diagnostics, ScenarioError, SyntaxError};
use crate::extensions::Extensions;
use crate::file::ScenarioFile;
use crate::tree::{Node, apply_overrides, expand_controllers, parse_json, parse_toml};

/// A scenario that has been checked: a simulation can be built from it without any further way to fail.
#[derive(Clone, Debug)]
pub struct Scenario {
    file: ScenarioFile,
    config: SimulationConfig,
    extensions: Extensions,
}

impl Scenario {
    /// Reads TOML text. `file` is what diagnostics call it, and its stem the scenario's name unless it has one.
    /// `overrides` are `path=value` texts, applied in order. Fails with every mistake at once.
    pub fn parse(text: &str, file: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::parse_with(text, file, overrides, &Extensions::default())
    }

    /// As [`Self::parse`], with controllers from outside.
    pub fn parse_with(
        text: &str,
        file: &str,
        overrides: &[String],
        extensions: &Extensions,
    ) -> Result<Self, ScenarioError> {
        Self::from_tree(parse_toml(text), text, file, overrides, extensions)
    }

    /// Reads the same format written as JSON.
    pub fn from_json(text: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::from_json_with(text, overrides, &Extensions::default())
    }

    /// As [`Self::from_json`], with controllers from outside.
    pub fn from_json_with(text: &str, overrides: &[String], extensions: &Extensions) -> Result<Self, ScenarioError> {
        Self::from_tree(parse_json(text), text, "<json>", overrides, extensions)
    }

    /// Reads a TOML file.
    pub fn load(path: &std::path::Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::load_with(path, overrides, &Extensions::default())
    }

    /// As [`Self::load`], with controllers from outside.
    pub fn load_with(
        path: &std::path::Path,
        overrides: &[String],
        extensions: &Extensions,
    ) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let remedy = "check the path, and that the file is readable text";
            ScenarioError::of_file(&name, format!("cannot be read: {error}"), remedy)
        })?;
        Self::parse_with(&text, &name, overrides, extensions)
    }

    fn from_tree(
        parsed: Result<Node, Vec<SyntaxError>>,
        text: &str,
        file: &str,
        overrides: &[String],
        extensions: &Extensions,
    ) -> Result<Self, ScenarioError> {
        let mut tree = parsed.map_err(|errors| ScenarioError::of_syntax(file, errors))?;
        expand_controllers(&mut tree); // before, so that an override reaches into what was short
        let unapplied = apply_overrides(&mut tree, overrides);
        expand_controllers(&mut tree);
        let mut diagnostics = Diagnostics::new(file, text, overrides, &tree);
        for (index, message) in &unapplied {
            diagnostics.report_override(*index, message);
        }
        let mut read = read_file(&tree, &mut diagnostics);
        let config = check(&read, stem(file), extensions, &mut diagnostics);
        let Some(config) = config else { return Err(diagnostics.into_error()) };
        read.name = Some(config.name.clone());
        read.seed = Some(config.seed);
        Ok(Self { file: read, config, extensions: extensions.clone() })
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
        let config = check(&file, &self.config.name, &self.extensions, &mut diagnostics);
        let config = config.expect("a seed makes no scenario wrong");
        Self { file, config, extensions: self.extensions.clone() }
    }

    /// The scenario as JSON in a fixed order, overrides, name and seed included. Read by [`Self::from_json`], it is this
    /// scenario.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.file).expect("a scenario consists of texts, numbers, lists and tables")
    }

    /// SHA-256 of [`Self::to_json`], in hexadecimal.
    pub fn hash(&self) -> String {
        use std::fmt::Write as _;
        let digest = Sha256::digest(self.to_json().as_bytes());
        digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// `scenarios/two-flows.toml` is called `two-flows`.
fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() || stem.starts_with('<') { "scenario" } else { stem }
}
