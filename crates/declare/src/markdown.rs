//! Tables of parameters for the documentation.

use crate::part::Part;

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
