//! Finds the code that a scenario names, in its text before anything is drawn or run.

use crate::tree::{Node, Value, apply_overrides, expand_controllers, parse_text, rename_fields};

const PREFIX: &str = "python:";

/// Every entry of a `use` and every class of Python that `text` names with these overrides, each once, in order.
///
/// The text decides, not a draw of it: all alternatives of a choice count, and so does a place whose meaning is not
/// certain. Naming too much costs a question; naming too little runs code that nobody has read. `None` if the text
/// cannot be parsed.
pub fn code_of(text: &str, overrides: &[String]) -> Option<Vec<String>> {
    let mut tree = parse_text(text).ok()?;
    expand_controllers(&mut tree); // as a scenario is read, so that an override reaches what it reaches there
    rename_fields(&mut tree);
    apply_overrides(&mut tree, overrides);
    rename_fields(&mut tree);
    let mut found = Vec::new();
    collect(&tree, false, &mut found);
    Some(found)
}

/// Adds the code that `node` names; every text within a `use` or a `class` counts.
fn collect(node: &Node, is_code: bool, found: &mut Vec<String>) {
    match &node.value {
        Value::Text(text) => {
            let name = text.strip_prefix(PREFIX);
            if (is_code || name.is_some()) && !found.iter().any(|known| known == name.unwrap_or(text)) {
                found.push(name.unwrap_or(text).to_owned());
            }
        }
        Value::List(items) => items.iter().for_each(|item| collect(item, is_code, found)),
        Value::Table(entries) => {
            for (key, child) in entries {
                collect(child, is_code || matches!(last_step(key), "use" | "class"), found);
            }
        }
        _ => {}
    }
}

/// The last field in a key: studies have paths as keys, such as `flow[0].controller.class`.
fn last_step(key: &str) -> &str {
    let last = key.rsplit('.').next().unwrap_or(key);
    last.split('[').next().unwrap_or(last).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_in_every_place_that_a_draw_could_reach() {
        for (text, name) in [
            ("use = [\"evil\"]", "evil"),
            ("use = { choice = [[\"evil\"]] }", "evil"),
            ("use = [{ choice = [\"evil\"] }]", "evil"),
            ("choice = [{ use = [\"evil\"] }]", "evil"),
            ("{\"use\": {\"choice\": [[\"evil\"]]}}", "evil"),
            ("[[flow]]\ncontroller = \"python:evil:X\"", "evil:X"),
            ("[[flow]]\ncontroller = { choice = [\"cubic\", \"python:evil:X\"] }", "evil:X"),
            ("[[flow]]\ncontroller = { kind = \"python\", class = { choice = [\"evil:X\"] } }", "evil:X"),
            ("[[appliance]]\nnear = { controller = { choice = [\"python:evil:X\"] } }", "evil:X"),
            (
                "[[flow]]\ncontroller = { kind = \"policy\", controller = { choice = [{ class = \"evil:X\" }] } }",
                "evil:X",
            ),
            ("[set]\n\"flow[0].controller.class\" = [\"evil:X\"]", "evil:X"),
            ("[set]\n\"use[0]\" = \"evil\"", "evil"),
        ] {
            assert_eq!(code_of(text, &[]).expect("parsed"), [name], "{text}");
        }
    }

    #[test]
    fn overrides_count_and_what_names_no_code_does_not() {
        let text = "name = \"python\"\n[[flow]]\ncontroller = \"cubic\"";
        assert!(code_of(text, &[]).expect("parsed").is_empty());
        assert_eq!(code_of("[[", &[]), None);
        for set in ["use=[{ choice = [\"evil\"] }]", "flow[0].controller={ choice = [\"python:evil\"] }"] {
            assert_eq!(code_of(text, &[set.to_owned()]).expect("parsed"), ["evil"], "{set}");
        }
    }
}
