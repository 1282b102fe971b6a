//! Fields under their former names, which old scenarios still have.

use super::node::{Node, Value};
use super::path::{FieldPath, Step};

/// Former and present names of fields, with the list of tables that has each.
const RENAMED: [(&str, &str, &str); 1] = [("appliance", "discipline", "buffer_policy")];

/// Renames such fields to their present names. A table that has both keeps the old one, which is reported as unknown.
pub(crate) fn rename_fields(root: &mut Node) {
    for (list, before, now) in RENAMED {
        if let Some(Node { value: Value::List(tables), .. }) = root.child_mut(&Step::Key(list.to_owned())) {
            for table in tables {
                rename(table, before, now);
            }
        }
    }
}

fn rename(table: &mut Node, before: &str, now: &str) {
    let Value::Table(fields) = &mut table.value else { return };
    if fields.iter().all(|(name, _)| name != now)
        && let Some((name, _)) = fields.iter_mut().find(|(name, _)| name == before)
    {
        now.clone_into(name);
    }
}

/// Renames such a field in the path of an override.
pub(crate) fn rename_path(path: &mut FieldPath) {
    let [Step::Key(in_list), Step::Index(_), Step::Key(field), ..] = path.0.as_mut_slice() else { return };
    if let Some((_, _, now)) = RENAMED.iter().find(|(list, before, _)| in_list == list && field == before) {
        (*now).clone_into(field);
    }
}
