//! Tables of parameters for the documentation.

use serde_json::Value as Json;

use crate::part::{FieldInfo, Part, Parts};

/// The fields of a part as a table of Markdown. `names` stand in its head: parts that share their fields share a table.
pub fn parameter_table<C, X>(names: &[&str], part: &Part<C, X>) -> String {
    let source = |source: &str| if source.is_empty() { String::new() } else { format!(" ({source})") };
    let row = |field: &FieldInfo| {
        let meaning = format!("{}{}", field.meaning, source(field.source));
        row([field.name, &field.default_text, &field.range, &meaning])
    };
    head(names) + &part.fields.iter().map(row).collect::<String>()
}

/// The parameters of an entry of a catalogue as such a table.
pub fn entry_table(entry: &Json) -> String {
    let text = |value: &Json, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let row = |parameter: &Json| row(["name", "default", "range", "meaning"].map(|key| text(parameter, key)));
    let parameters = entry["parameters"].as_array().into_iter().flatten();
    head(&[&text(entry, "name")]) + &parameters.map(row).collect::<String>()
}

fn head(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("| {} | default | allowed | |\n|---|---|---|---|\n", names.join(", "))
}

fn row(cells: [impl AsRef<str>; 4]) -> String {
    let [name, default, range, meaning] = cells.map(|cell| cell.as_ref().replace('|', "\\|"));
    format!("| `{name}` | {default} | {range} | {meaning} |\n")
}

/// Every part with what it is, as a table of Markdown. `kind` stands in its head.
pub fn summary_table<C, X>(kind: &str, parts: &Parts<C, X>) -> String {
    let row = |part: &Part<C, X>| format!("| `{}` | {} |\n", part.about.name, part.about.summary.replace('|', "\\|"));
    format!("| {kind} | |\n|---|---|\n") + &parts.iter().map(row).collect::<String>()
}
