//! Puts the values of `--set path=value` into the tree before it is read.

use std::cmp::Reverse;

use super::node::{Node, Origin, Value};
use super::path::{FieldPath, Step};
use super::renamed::rename_path;
use super::toml_text::parse_toml_value;

/// Lists whose items an override may address by name.
const NAMED_LISTS: [&str; 3] = ["flow", "host", "appliance"];

/// Applies overrides in order, where later ones win. Returns the mistake of each that cannot be applied, with its
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
    let (mut path, value) = parts(root, text)?;
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

/// Splits `path=value`; a name becomes an index, as `flow[1].start` for `flow.old.start`.
fn parts<'text>(root: &Node, text: &'text str) -> Result<(FieldPath, &'text str), String> {
    let named = named_item(root, text);
    let (item, rest) = named.as_ref().map_or(("", text), |(item, rest)| (item.as_str(), *rest));
    let (path, value) = rest.split_once('=').ok_or("has no \"=\"; write it like \"seed=2\"")?;
    let path = FieldPath::parse(&format!("{item}{}", path.trim()))
        .map_err(|why| format!("{why}; write it like \"flow[0].start=1 s\""))?;
    check_name(root, &path)?;
    Ok((path, value))
}

/// The item, as `flow[1]`, whose name `text` begins with after the list, and the rest of the text.
///
/// A name may hold anything, even the signs of a path. The longest name that fits is meant; a whole item is meant only
/// where no field of another fits.
fn named_item<'text>(root: &Node, text: &'text str) -> Option<(String, &'text str)> {
    let below =
        |list: &&'static str| Some((*list, text.trim_start().strip_prefix(*list)?.trim_start().strip_prefix('.')?));
    let (list, rest) = NAMED_LISTS.iter().find_map(below)?;
    let Value::List(items) = &root.child(&Step::Key(list.to_owned()))?.value else { return None };
    let fit = |(position, item): (usize, &Node)| {
        let name = name_of(item)?;
        let after = rest.trim_start().strip_prefix(name)?.trim_start();
        let is_field = after.starts_with(['.', '[']);
        (is_field || after.starts_with('=')).then_some(((is_field, name.len(), Reverse(position)), after))
    };
    let ((.., Reverse(position)), after) = items.iter().enumerate().filter_map(fit).max()?;
    Some((format!("{list}[{position}]"), after))
}

/// Refuses a name in place of an index if no item of the list has it.
fn check_name(root: &Node, path: &FieldPath) -> Result<(), String> {
    let [Step::Key(list), Step::Key(_), ..] = path.0.as_slice() else { return Ok(()) };
    let items = NAMED_LISTS.contains(&list.as_str()).then(|| root.child(&path.0[0])).flatten();
    let Some(Node { value: Value::List(items), .. }) = items else { return Ok(()) };
    let mut known: Vec<String> = items.iter().filter_map(name_of).map(|name| format!("{list}.{name}")).collect();
    known.push(format!("{list}[0]"));
    Err(format!("must begin with the name or the number of a {list}; known: {}, ...", known.join(", ")))
}

fn name_of(item: &Node) -> Option<&str> {
    match item.child(&Step::Key("name".to_owned())).map(|node| &node.value) {
        Some(Value::Text(name)) => Some(name),
        _ => None,
    }
}

/// The child at `step`, which is added if a table lacks it.
///
/// A bare kind ("`drop_tail`") becomes a table, so that a parameter can be set in it; a quantity ("10 Mbit/s") does
/// not.
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

/// Gives a value of an override, and everything in it, the override as its origin.
fn stamp(value: Value, index: usize) -> Value {
    let stamp_node = |node: Node| Node::new(stamp(node.value, index), Origin::Override(index));
    match value {
        Value::List(items) => Value::List(items.into_iter().map(stamp_node).collect()),
        Value::Table(entries) => Value::Table(entries.into_iter().map(|(key, node)| (key, stamp_node(node))).collect()),
        other => other,
    }
}
