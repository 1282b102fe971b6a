//! Tables of parameters, and of what their words mean, for the documentation.

use serde_json::Value as Json;

use crate::part::{FieldInfo, Part};

/// The fields of a part as a table of Markdown, those of tables within below them. `names` stand in its head: parts that share their fields share a table.
pub fn parameter_table<C, X>(names: &[&str], part: &Part<C, X>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let mut lines = vec![format!("| {} | default | allowed | |", names.join(", ")), "|---|---|---|---|".to_owned()];
    add_rows(&mut lines, &part.fields, "");
    lines.join("\n") + "\n"
}

/// What each word of the fields of a part means, as a table of Markdown.
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

fn add_rows(lines: &mut Vec<String>, fields: &[FieldInfo], above: &str) {
    for field in fields {
        let name = format!("{above}{}", field.name);
        let source = if field.source.is_empty() { String::new() } else { format!(" ({})", field.source) };
        let default = match (&field.table, &field.default) {
            (Some(_), Some(Json::Object(_))) => "as below",
            _ => field.default_text.as_str(),
        };
        let row = [&format!("`{name}`"), default, &field.range, &format!("{}{source}", field.meaning)];
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        lines.push(format!("| {} |", cells.join(" | ")));
        if let Some(table) = &field.table {
            add_rows(lines, &table.fields, &format!("{name}."));
        }
    }
}
