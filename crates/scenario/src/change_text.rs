//! Adds a change of a link to a scenario's text, behind the changes that it has.

use std::fmt::Write as _;

use ackclock_declare::written;
use serde_json::{Map, Value, json};

use crate::tree::{end_of_inline_list, is_json};

const LIST: &str = "change";

/// The text of a correct scenario with this table behind the others of its `change`.
pub fn with_change(text: &str, change: &Map<String, Value>) -> String {
    if is_json(text) {
        return in_json(text, change);
    }
    let Some((place, is_empty)) = end_of_inline_list(text, LIST) else { return appended(text, change) };
    let (before, after) = text.split_at(place);
    let comma = if is_empty { "" } else { ", " };
    format!("{before}{comma}{}{after}", written(&json!(change)))
}

fn in_json(text: &str, change: &Map<String, Value>) -> String {
    let start = text.find('{').unwrap_or_default(); // a mark of the order of octets may stand before it
    let Ok(Value::Object(mut scenario)) = serde_json::from_str(&text[start..]) else { return text.to_owned() };
    match scenario.get_mut(LIST) {
        Some(Value::Array(changes)) => changes.push(json!(change)),
        _ => _ = scenario.insert(LIST.to_owned(), json!([change])),
    }
    format!("{:#}\n", Value::Object(scenario))
}

fn appended(text: &str, change: &Map<String, Value>) -> String {
    let mut table = format!("{text}\n[[{LIST}]]\n");
    for (field, value) in change {
        let _ = writeln!(table, "{field} = {}", written(value));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str) -> String {
        let change = json!({ "at": "2 s", "link": "bottleneck", "loss": 0.25 });
        with_change(text, change.as_object().expect("a table"))
    }

    /// The expected texts are written by hand, by the grammar of each language (toml.io, RFC 8259).
    #[test]
    fn a_change_stands_behind_those_that_the_text_has() {
        let new = "{ at = \"2 s\", link = \"bottleneck\", loss = 0.25 }";
        let table = "[[change]]\nat = \"2 s\"\nlink = \"bottleneck\"\nloss = 0.25\n";
        for (text, wanted) in [
            ("seed = 1\n".to_owned(), format!("seed = 1\n\n{table}")),
            ("[[change]]\nat = \"1 s\"".to_owned(), format!("[[change]]\nat = \"1 s\"\n{table}")),
            ("change = []\n[topology]\n".to_owned(), format!("change = [{new}]\n[topology]\n")),
            ("change = [{ a = 1 }]".to_owned(), format!("change = [{{ a = 1 }}, {new}]")),
            ("change = [\n  { a = 1 }, # ]\n]\n".to_owned(), format!("change = [\n  {{ a = 1 }}, {new}, # ]\n]\n")),
        ] {
            assert_eq!(changed(&text), wanted);
        }
    }

    #[test]
    fn json_stays_json() {
        let change = "{\n      \"at\": \"2 s\",\n      \"link\": \"bottleneck\",\n      \"loss\": 0.25\n    }";
        let with = |before: &str| format!("{{\n  \"seed\": 1,\n  \"change\": [\n{before}    {change}\n  ]\n}}\n");
        assert_eq!(changed("{\"seed\": 1}"), with(""));
        assert_eq!(changed("\u{feff}{\"seed\":1,\"change\":[{\"a\":1}]}"), with("    {\n      \"a\": 1\n    },\n"));
    }
}
