//! A scenario before its values are drawn.

use std::sync::Arc;

use ackclock_declare::Library;

use super::find::find_places;
use super::place::{Distribution, Draw, DrawnValue, Place, fill, rounds};
use crate::attachments::Attachments;
use crate::check::{check, read_file};
use crate::diagnostic::{Diagnostics, Found, ScenarioError, SyntaxError};
use crate::extensions::Extensions;
use crate::files::Files;
use crate::own_parts;
use crate::scenario::{Scenario, folder, stem};
use crate::traces;
use crate::tree::{
    FieldPath, Node, Origin, Step, Value, apply_overrides, expand_controllers, parse_json, parse_toml, rename_fields,
};

/// Number of seeds, besides the ends of all ranges, with which a scenario is tried when it is loaded.
const TRIED_SEEDS: u64 = 8;

/// A scenario that may have drawn values. It is checked with all of them at their lowest, at their highest, with each
/// alternative of every choice, and as some seeds draw them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ScenarioTemplate(Arc<Template>);

#[derive(Debug)]
struct Template {
    text: String,
    file: String,
    overrides: Vec<String>,
    extensions: Extensions,
    library: Library,
    tree: Node,
    places: Vec<Place>,
    files: Files,
}

impl ScenarioTemplate {
    /// Reads TOML text, as [`Scenario::parse_with`] does.
    pub fn parse_with(
        text: &str,
        file: &str,
        overrides: &[String],
        extensions: &Extensions,
    ) -> Result<Self, ScenarioError> {
        Ok(Self::load(parse_toml(text), text, file, overrides, extensions, Files::default())?.0)
    }

    /// Reads the same format written as JSON.
    pub fn from_json_with(text: &str, overrides: &[String], extensions: &Extensions) -> Result<Self, ScenarioError> {
        Ok(Self::load(parse_json(text), text, "<json>", overrides, extensions, Files::default())?.0)
    }

    /// The scenario that `seed` draws, with this seed. It reads no file.
    ///
    /// Fails if the values, each in its range, do not fit together, as a measurement that begins after a drawn end of
    /// the run. The check at loading cannot rule that out.
    pub fn draw(&self, seed: u64) -> Result<Scenario, ScenarioError> {
        let mut tree = self.0.tree.clone();
        set_seed(&mut tree, seed);
        let made = self.0.realize(tree, Draw::Seed(seed), &mut self.0.files.clone());
        let scenario = made.map_err(|found| labelled(found, &format!("as seed {seed} draws")))?;
        Ok(scenario.with_template(self))
    }

    /// The text that it was read from, its name in diagnostics, and its overrides.
    pub(crate) fn source(&self) -> (&str, &str, &[String]) {
        (&self.0.text, &self.0.file, &self.0.overrides)
    }

    /// Every place whose value is drawn, with its distribution; those in the alternatives of a choice included.
    pub fn varies(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        list(&self.0.places, &mut found);
        found
    }

    /// The template, and the scenario that its own seed draws. Fails with every mistake at once.
    pub(crate) fn load(
        parsed: Result<Node, Vec<SyntaxError>>,
        text: &str,
        file: &str,
        overrides: &[String],
        extensions: &Extensions,
        mut files: Files,
    ) -> Result<(Self, Scenario), ScenarioError> {
        let mut tree = parsed.map_err(|errors| ScenarioError::of_syntax(file, errors))?;
        expand_controllers(&mut tree); // before, so that an override reaches into what was short
        rename_fields(&mut tree); // likewise
        let unapplied = apply_overrides(&mut tree, overrides);
        rename_fields(&mut tree);
        let diagnostics = Diagnostics::new(file, text, overrides, &tree);
        for (index, message) in &unapplied {
            diagnostics.report_override(*index, message);
        }
        let places = find_places(&tree, &diagnostics);
        let mut found = diagnostics.into_found();
        let diagnostics = Diagnostics::new(file, text, overrides, &tree);
        let library = own_parts::library(&tree, extensions, &diagnostics);
        if !diagnostics.is_empty() {
            // Without its parts nothing can be said of what names them.
            found.extend(diagnostics.into_found());
            return Err(ScenarioError::of_found(found));
        }
        let (text, file, overrides) = (text.to_owned(), file.to_owned(), overrides.to_vec());
        let mut template = Template {
            text,
            file,
            overrides,
            extensions: extensions.clone(),
            library,
            tree,
            places,
            files: Files::default(),
        };
        template.verify(&mut files, &mut found);
        let made = template.realize(template.tree.clone(), Draw::Seed(template.seed()), &mut files);
        template.files = files;
        match made {
            Ok(scenario) if found.is_empty() => {
                let template = Self(Arc::new(template));
                let scenario = if template.0.places.is_empty() { scenario } else { scenario.with_template(&template) };
                Ok((template, scenario))
            }
            Ok(_) => Err(ScenarioError::of_found(found)),
            Err(more) => {
                add_new(&mut found, more);
                Err(ScenarioError::of_found(found))
            }
        }
    }
}

impl Template {
    /// The scenario's seed; 1 if it has none, or none that can be read.
    fn seed(&self) -> u64 {
        match self.tree.child(&Step::Key("seed".to_owned())).map(|node| &node.value) {
            Some(Value::Integer(seed)) => u64::try_from(*seed).unwrap_or(1),
            _ => 1,
        }
    }

    /// Tries the draws of the check at loading, except the one of the scenario's own seed, which its builder tries.
    fn verify(&self, files: &mut Files, found: &mut Vec<Found>) {
        if self.places.is_empty() {
            return;
        }
        for round in 0..rounds(&self.places) {
            let lowest = self.mistakes(Draw::Lowest(round), files);
            let highest = self.mistakes(Draw::Highest(round), files);
            let both = |one: &Found, others: &[Found]| others.iter().any(|other| one.is_of_same_place(other));
            let (always, low): (Vec<_>, Vec<_>) = lowest.into_iter().partition(|one| both(one, &highest));
            let high = highest.into_iter().filter(|one| !both(one, &always)).collect();
            add_new(found, always);
            add_new(found, with_label(low, "where all ranges are at their lowest"));
            add_new(found, with_label(high, "where all ranges are at their highest"));
        }
        for seed in (0..TRIED_SEEDS).map(|more| self.seed().wrapping_add(more)) {
            let more = self.mistakes(Draw::Seed(seed), files);
            add_new(found, with_label(more, &format!("as seed {seed} draws")));
        }
    }

    fn mistakes(&self, draw: Draw, files: &mut Files) -> Vec<Found> {
        self.realize(self.tree.clone(), draw, files).err().unwrap_or_default()
    }

    /// The scenario of `tree` with its places filled.
    fn realize(&self, tree: Node, draw: Draw, files: &mut Files) -> Result<Scenario, Vec<Found>> {
        self.library.open(|| self.realize_with_open_library(tree, draw, files))
    }

    fn realize_with_open_library(&self, mut tree: Node, draw: Draw, files: &mut Files) -> Result<Scenario, Vec<Found>> {
        let mut drawn = Vec::new();
        fill(&mut tree, &self.places, &FieldPath::default(), draw, &mut drawn);
        expand_controllers(&mut tree);
        let mut diagnostics = Diagnostics::new(&self.file, &self.text, &self.overrides, &tree);
        diagnostics.knows_drawn(&drawn);
        let mut read = read_file(&tree, &diagnostics);
        traces::embed(&mut read, &self.file, files, &diagnostics);
        let attachments = Attachments::read(&mut read, folder(&self.file), files, &diagnostics);
        let config = check(&read, stem(&self.file), &attachments, &self.extensions, &diagnostics);
        let Some(config) = config else { return Err(diagnostics.into_found()) };
        let known = (self.extensions.clone(), self.library.clone());
        Ok(Scenario::of(read, config, attachments, known, drawn.iter().filter_map(told).collect()))
    }
}

/// A value that was drawn for a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The place in the text, such as `topology.bottleneck.rate` or `topology.bottleneck.queue.choice[1].limit`.
    pub place: String,
    /// Its distribution as the scenario writes it.
    pub distribution: String,
    /// The value as the scenario format writes it.
    pub value: serde_json::Value,
}

fn told(drawn: &DrawnValue) -> Option<Drawn> {
    let value = drawn.value.as_ref()?.to_json();
    Some(Drawn { place: drawn.name.clone(), distribution: drawn.distribution.clone(), value })
}

fn list(places: &[Place], found: &mut Vec<(String, String)>) {
    for place in places {
        found.push((place.name.clone(), place.text.clone()));
        if let Distribution::Choice(alternatives) = &place.distribution {
            for alternative in alternatives {
                list(&alternative.places, found);
            }
        }
    }
}

fn set_seed(tree: &mut Node, seed: u64) {
    let value = Node::new(Value::Integer(seed.into()), Origin::Unknown);
    let Value::Table(entries) = &mut tree.value else { return };
    match entries.iter_mut().find(|(key, _)| key == "seed") {
        Some((_, node)) => *node = value,
        None => entries.push(("seed".to_owned(), value)),
    }
}

/// Adds the mistakes at places without one so far: if many draws have the same mistake, the first is kept.
fn add_new(found: &mut Vec<Found>, more: Vec<Found>) {
    let before = found.len();
    for one in more {
        if !found[..before].iter().any(|known| known.is_of_same_place(&one)) {
            found.push(one);
        }
    }
}

/// Adds to each mistake the draw under which it occurs; mistakes of a drawn value have that already.
fn with_label(mut found: Vec<Found>, label: &str) -> Vec<Found> {
    for one in found.iter_mut().filter(|one| !one.is_of_drawn) {
        one.diagnostic.message = format!("{} ({label})", one.diagnostic.message);
    }
    found
}

fn labelled(found: Vec<Found>, label: &str) -> ScenarioError {
    ScenarioError::of_found(with_label(found, label))
}
