//! Tables of parameters, and of the meanings of their words, for the documentation.

use serde_json::Value as Json;

use crate::part::{FieldInfo, Part, Parts};

/// The fields of a part as a table of Markdown, with those of tables within below. Its head has `names`, since parts
/// with the same fields share a table.
pub fn parameter_table<C, X>(names: &[&str], part: &Part<C, X>) -> String {
    let mut rows = head(names);
    add_rows(&mut rows, &part.fields, "");
    rows
}

/// The parameters of a catalogue's entry as such a table.
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
    format!("| `{name}` | {default} | {} | {meaning} |\n", short(&range))
}

/// An allowed range as a table says it: "0 to 1" for "at least 0 and at most 1".
fn short(range: &str) -> String {
    let ends = range.strip_prefix("at least ").and_then(|rest| rest.split_once(" and at most "));
    let range = ends.map_or_else(|| range.to_owned(), |(least, most)| format!("{least} to {most}"));
    range.replace(" as a string such as ", ", such as ")
}

/// The parts with their summaries, as a table of Markdown. Its head has `kind`.
pub fn summary_table<C, X>(kind: &str, parts: &Parts<C, X>) -> String {
    let row = |part: &Part<C, X>| format!("| `{}` | {} |\n", part.about.name, part.about.summary.replace('|', "\\|"));
    format!("| {kind} | |\n|---|---|\n") + &parts.iter().map(row).collect::<String>()
}

/// Meaning of each word of a part's fields, as a table of Markdown.
pub fn word_table<C, X>(name: &str, part: &Part<C, X>) -> String {
    let mut lines = vec![format!("| `{name}` | word | |"), "|---|---|---|".to_owned()];
    add_words(&mut lines, &part.fields, "");
    lines.join("\n") + "\n"
}

fn add_words(lines: &mut Vec<String>, fields: &[FieldInfo], above: &str) {
    for field in fields {
        for (word, meaning) in &field.words {
            let meaning = meaning.trim().trim_end_matches('.').replace('|', "\\|");
            lines.push(format!("| `{above}{}` | {word:?} | {meaning} |", field.name));
        }
        if let Some(table) = &field.table {
            add_words(lines, &table.fields, &format!("{above}{}.", field.name));
        }
    }
}

fn add_rows(rows: &mut String, fields: &[FieldInfo], above: &str) {
    for field in fields {
        let name = format!("{above}{}", field.name);
        let source = if field.source.is_empty() { String::new() } else { format!(" ({})", field.source) };
        let default = match (&field.table, &field.default) {
            (Some(_), Some(Json::Object(_))) => "as below",
            _ => field.default_text.as_str(),
        };
        rows.push_str(&row([&name, default, &field.range, &format!("{}{source}", field.meaning)]));
        if let Some(table) = &field.table {
            add_rows(rows, &table.fields, &format!("{name}."));
        }
    }
}
