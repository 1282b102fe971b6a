//! Tables of parameters for the documentation.

use crate::part::{Part, Parts};

/// The fields of a part as a table of Markdown. `names` stand in its head: parts that share their fields share a table.
pub fn parameter_table<C, X>(names: &[&str], part: &Part<C, X>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let mut lines = vec![format!("| {} | default | allowed | |", names.join(", ")), "|---|---|---|---|".to_owned()];
    for field in part.fields.iter() {
        let source = if field.source.is_empty() { String::new() } else { format!(" ({})", field.source) };
        let row =
            [&format!("`{}`", field.name), &field.default_text, &field.range, &format!("{}{source}", field.meaning)];
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.join("\n") + "\n"
}

/// Every part with what it is, as a table of Markdown. `kind` stands in its head.
pub fn summary_table<C, X>(kind: &str, parts: &Parts<C, X>) -> String {
    let row = |part: &Part<C, X>| format!("| `{}` | {} |\n", part.about.name, part.about.summary.replace('|', "\\|"));
    format!("| {kind} | |\n|---|---|\n") + &parts.iter().map(row).collect::<String>()
}
