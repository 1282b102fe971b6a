//! Values that are drawn: `{ uniform = [a, b] }`, `{ log_uniform = [a, b] }` and `{ choice = [...] }` in place of a
//! value. Between reading the text and checking it, their places are found once, and every draw fills them with values.

mod find;
mod meaning;
mod place;
mod quantity;
mod range;
mod schema;
mod template;

pub(crate) use meaning::Meaning;
pub(crate) use place::DrawnValue;
pub(crate) use schema::with_distributions;
pub use template::{Drawn, ScenarioTemplate};
