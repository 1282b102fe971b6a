//! Expands `controller = "python:module:Class"` to `{ kind = "python", class = "module:Class" }`.

use super::node::{Node, Value};
use super::path::Step;

const PREFIX: &str = "python:";

/// Expands the short form wherever the format has a controller. The expanded table has the place of the short form.
pub(crate) fn expand_controllers(root: &mut Node) {
    expand_in(root);
    if let Some(Node { value: Value::List(flows), .. }) = root.child_mut(&Step::Key("flow".to_owned())) {
        flows.iter_mut().for_each(expand_in);
    }
    if let Some(Node { value: Value::List(appliances), .. }) = root.child_mut(&Step::Key("appliance".to_owned())) {
        for side in ["near", "far"] {
            let sides = appliances.iter_mut().filter_map(|appliance| appliance.child_mut(&Step::Key(side.to_owned())));
            sides.for_each(expand_in);
        }
    }
}

fn expand_in(table: &mut Node) {
    let Some(controller) = table.child_mut(&Step::Key("controller".to_owned())) else { return };
    let Value::Text(text) = &controller.value else { return };
    let Some(class) = text.strip_prefix(PREFIX) else { return };
    let node = |text: &str| Node {
        value: Value::Text(text.to_owned()),
        origin: controller.origin.clone(),
        key_origin: controller.key_origin.clone(),
    };
    controller.value = Value::Table(vec![("kind".to_owned(), node("python")), ("class".to_owned(), node(class))]);
}
