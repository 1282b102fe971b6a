//! `--set path=value`: values put into the tree before it is read.

use super::node::{Node, Origin, Value};
use super::path::{FieldPath, Step};
use super::renamed::rename_path;
use super::toml_text::parse_toml_value;

/// Lists whose items an override may address by their name.
const NAMED_LISTS: [&str; 3] = ["flow", "host", "appliance"];

/// Applies overrides in order, later ones winning. Returns what is wrong with each that cannot be applied, beside its
/// index.
pub(crate) fn apply_overrides(root: &mut Node, overrides: &[String]) -> Vec<(usize, String)> {
    let mut errors = Vec::new();
    for (index, text) in overrides.iter().enumerate() {
        if let Err(message) = apply(root, text, index) {
            errors.push((index, message));
        }
    }
    errors
}

fn apply(root: &mut Node, text: &str, index: usize) -> Result<(), String> {
    let (path, value) = text.split_once('=').ok_or("has no \"=\"; write it like \"seed=2\"")?;
    let path = FieldPath::parse(path.trim()).map_err(|why| format!("{why}; write it like \"flow[0].start=1 s\""))?;
    let mut path = resolve_names(root, path)?;
    rename_path(&mut path);
    let mut node = root;
    for (place, step) in path.0.iter().enumerate() {
        if let (Some(Step::Index(position)), Value::Table(_), None) =
            (path.0.get(place + 1), &node.value, node.child(step))
        {
            let list = FieldPath(path.0[..=place].to_vec());
            return Err(format!(
                "asks for item [{position}] of a list that is not there; write it whole, as {list}=[{{ ... }}]"
            ));
        }
        node = descend(node, step, index)?;
    }
    *node = Node::new(stamp(parse_toml_value(value.trim()), index), Origin::Override(index));
    Ok(())
}

/// `flow.old.start` becomes `flow[1].start`. A flow name may itself contain dots (`flow.old.2`).
fn resolve_names(root: &Node, path: FieldPath) -> Result<FieldPath, String> {
    let [Step::Key(list), Step::Key(_), ..] = path.0.as_slice() else { return Ok(path) };
    let Some(items) = NAMED_LISTS.contains(&list.as_str()).then(|| root.child(&path.0[0])).flatten() else {
        return Ok(path);
    };
    let Value::List(items) = &items.value else { return Ok(path) };
    for length in (1..path.0.len()).rev() {
        let Some(name) = joined(&path.0[1..=length]) else { continue };
        if let Some(position) = items.iter().position(|item| name_of(item) == Some(name.as_str())) {
            let mut steps = vec![path.0[0].clone(), Step::Index(position)];
            steps.extend_from_slice(&path.0[length + 1..]);
            return Ok(FieldPath(steps));
        }
    }
    let known: Vec<&str> = items.iter().filter_map(name_of).collect();
    Err(format!("names no {list}; known names: {}; an unnamed one is {list}[0], {list}[1], ...", known.join(", ")))
}

fn joined(steps: &[Step]) -> Option<String> {
    let keys: Option<Vec<&str>> =
        steps.iter().map(|step| if let Step::Key(key) = step { Some(key.as_str()) } else { None }).collect();
    keys.map(|keys| keys.join("."))
}

fn name_of(item: &Node) -> Option<&str> {
    match item.child(&Step::Key("name".to_owned())).map(|node| &node.value) {
        Some(Value::Text(name)) => Some(name),
        _ => None,
    }
}

/// The child at `step`, made if a table lacks it. A bare kind ("`drop_tail`") becomes a table, so that a parameter can
/// be set in it; a quantity ("10 Mbit/s") is no kind.
fn descend<'tree>(node: &'tree mut Node, step: &Step, index: usize) -> Result<&'tree mut Node, String> {
    let origin = Origin::Override(index);
    if let (Value::Text(kind), Step::Key(_)) = (&node.value, step)
        && !kind.starts_with(|first: char| first.is_ascii_digit())
    {
        let kind = Node::new(Value::Text(kind.clone()), node.origin.clone());
        node.value = Value::Table(vec![("kind".to_owned(), kind)]);
    }
    match (&mut node.value, step) {
        (Value::Table(entries), Step::Key(key)) => {
            let position = entries.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
                entries.push((key.clone(), Node::new(Value::Table(Vec::new()), origin)));
                entries.len() - 1
            });
            Ok(&mut entries[position].1)
        }
        (Value::List(items), Step::Index(position)) => {
            let count = items.len();
            items
                .get_mut(*position)
                .ok_or_else(|| format!("asks for item [{position}] of a list of {count}; count from 0"))
        }
        (other, Step::Key(key)) => Err(format!("asks for {key:?} in {}; only a table has fields", other.describe())),
        (other, Step::Index(position)) => {
            Err(format!("asks for item [{position}] of {}; only a list has items", other.describe()))
        }
    }
}

/// Gives everything inside an override's value the override as its origin.
fn stamp(value: Value, index: usize) -> Value {
    let stamp_node = |node: Node| Node::new(stamp(node.value, index), Origin::Override(index));
    match value {
        Value::List(items) => Value::List(items.into_iter().map(stamp_node).collect()),
        Value::Table(entries) => Value::Table(entries.into_iter().map(|(key, node)| (key, stamp_node(node))).collect()),
        other => other,
    }
}
