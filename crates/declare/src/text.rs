//! Fields that hold a text.

use serde_json::{Value as Json, json};

use crate::range::{Range, Unordered};
use crate::value::{Value, wrong_type};

impl Value for String {
    crate::without_range!();

    fn wanted() -> String {
        "a string".to_owned()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        raw.as_str().map(Self::from).ok_or_else(|| wrong_type::<Self>(raw))
    }
    fn write(&self) -> Json {
        self.as_str().into()
    }
    fn schema() -> Json {
        json!({ "type": "string" })
    }
    fn inside(_: &Range<Unordered>) -> Vec<Self> {
        Vec::new()
    }
}
