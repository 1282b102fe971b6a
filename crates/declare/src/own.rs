//! Fields that are declared at run time, by parts in another language.

use std::sync::Arc;

use ackclock_units::{Bandwidth, Bytes, SimDuration};
use serde_json::{Map, Value as Json, json};

use crate::field::{described, with_remedies};
use crate::part::{About, FieldInfo, Part, Reading, info_of};
use crate::spec::{Spec, default, required};
use crate::table::{Context, Mistake, Table};
use crate::value::{Value, written};

/// A field of an external part.
pub struct OwnField {
    info: FieldInfo,
    example: Json,
    read: Read,
}

type Read = Box<dyn Fn(&Json, &Context) -> Result<Json, Vec<Mistake>> + Send + Sync>;

impl OwnField {
    /// A field of a type that scenarios can write.
    pub fn new<T: Value>(name: &'static str, meaning: &str, spec: Spec<T>) -> Self {
        let described = described(&spec);
        let example = described.example.clone();
        let info = info_of(name, meaning.to_owned(), described.clone(), Some(example.clone()));
        let read = move |raw: &Json, context: &Context| {
            let read = spec.read(raw, context).map(|value| value.write());
            read.map_err(|mistakes| with_remedies(mistakes, &spec.default.write(), &described))
        };
        Self { info, example, read: Box::new(read) }
    }

    /// A field from a description in another language: `name`, `meaning`, `type` (`number`, `integer`, `boolean`,
    /// `text`, `word`, `duration`, `bytes` or `rate`), `default` unless it is `required`, the ends of its range
    /// (`above`, `at_least`, `below`, `at_most`), `unit`, `source`, and the `words` of a word. The error names the
    /// wrong one.
    pub fn from_json(description: &Json) -> Result<Self, String> {
        let name = text(description, "name").ok_or("a parameter has no name")?;
        let wrong = |what: String| format!("the parameter {name} {what}");
        match text(description, "type").unwrap_or_default() {
            "number" => ranged::<f64>(name, description),
            "integer" => ranged::<i64>(name, description),
            "duration" => ranged::<SimDuration>(name, description),
            "bytes" => ranged::<Bytes>(name, description),
            "rate" => ranged::<Bandwidth>(name, description),
            "boolean" => spec_of::<bool>(description).map(|spec| field(name, description, spec)),
            "text" => spec_of::<String>(description).map(|spec| field(name, description, spec)),
            "word" => word(name, description),
            other => Err(format!("has the type {other:?}, which a scenario cannot express")),
        }
        .map_err(wrong)
    }

    /// The value of an absent field, and the mistakes in that.
    fn absent(&self) -> (Json, Vec<Mistake>) {
        if !self.info.is_required {
            return (self.info.default.clone().unwrap_or(Json::Null), Vec::new());
        }
        let remedy = format!("add it, such as {} = {}", self.info.name, written(&self.example));
        (self.example.clone(), vec![Mistake::new("is missing", remedy)])
    }

    fn value(&self, table: &Table, context: &Context) -> (Json, Vec<Mistake>) {
        let Some(raw) = table.get(self.info.name) else { return self.absent() };
        match (self.read)(raw, context) {
            Ok(value) => (value, Vec::new()),
            Err(mistakes) => (self.example.clone(), mistakes),
        }
    }
}

impl<C: 'static, X> Part<C, X> {
    /// A part whose fields are declared at run time. `into` takes every field, with defaults, and makes the
    /// configuration.
    pub fn of_own_fields(
        about: About,
        extra: X,
        fields: Vec<OwnField>,
        into: impl Fn(Table) -> C + Send + Sync + 'static,
    ) -> Self {
        let infos = fields.iter().map(|field| field.info.clone()).collect();
        let read = move |table: &Table, context: &Context| {
            let (mut values, mut mistakes) = (Map::new(), Vec::new());
            for field in &fields {
                let (value, found) = field.value(table, context);
                mistakes.extend(found.into_iter().map(|mistake| mistake.within(field.info.name)));
                values.insert(field.info.name.to_owned(), value);
            }
            Reading { config: into(values), mistakes }
        };
        Self::described(about, extra, infos, read)
    }
}

fn text<'a>(description: &'a Json, key: &str) -> Option<&'a str> {
    description.get(key)?.as_str()
}

/// A text with the program's lifetime, which declarations need.
fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn field<T: Value>(name: &str, description: &Json, spec: Spec<T>) -> OwnField {
    let meaning = text(description, "meaning").unwrap_or_default();
    let (unit, source) = (text(description, "unit"), text(description, "source"));
    let spec = spec.unit(kept(unit.unwrap_or_default())).source(kept(source.unwrap_or_default()));
    OwnField::new(kept(name), meaning.trim().trim_end_matches('.'), spec)
}

/// Specification with its default, or an example if it is required.
fn spec_of<T: Value>(description: &Json) -> Result<Spec<T>, String> {
    match description.get("default").filter(|value| !value.is_null()) {
        Some(value) => T::read(value).map(default).map_err(|error| format!("has a default that {error}")),
        None => match T::inside(&crate::range::Range::ALL).into_iter().next() {
            Some(example) => Ok(required(example)),
            None => Err("has no default".to_owned()),
        },
    }
}

fn ranged<T: Value<Bound = T> + crate::range::Bound>(name: &str, description: &Json) -> Result<OwnField, String> {
    let mut spec = spec_of::<T>(description)?;
    for (key, add) in [
        ("above", Spec::above as fn(Spec<T>, T) -> Spec<T>),
        ("at_least", Spec::at_least),
        ("below", Spec::below),
        ("at_most", Spec::at_most),
    ] {
        if let Some(end) = description.get(key).filter(|end| !end.is_null()) {
            spec = add(spec, T::read(end).map_err(|error| format!("has for {key} what {error}"))?);
        }
    }
    if spec.is_required {
        spec.default = T::inside(&spec.range).swap_remove(0);
    } else if !spec.holds(&spec.default) {
        return Err(format!("has a default out of its own range: it must be {}", spec.range_in_words()));
    }
    Ok(field(name, description, spec))
}

/// A field with one of a few words: a text with its list.
fn word(name: &str, description: &Json) -> Result<OwnField, String> {
    let words: Vec<String> =
        serde_json::from_value(description["words"].clone()).map_err(|_| "has no list of words".to_owned())?;
    if words.is_empty() {
        return Err("has no words to choose from".to_owned());
    }
    let one_of = words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    let mut field = field(name, description, spec_of::<String>(description)?);
    if !field.info.is_required && !words.iter().any(|word| field.example == *word) {
        return Err(format!("has a default that is none of {one_of}"));
    }
    let choices = words.clone();
    let (example, range) = (Json::from(words[0].clone()), format!("one of {one_of}"));
    let wanted = format!("must be {range}");
    field.info.schema = json!({ "enum": words });
    field.info.range = range;
    field.info.canonical = Arc::new(move |raw| match raw.as_str() {
        Some(word) if choices.iter().any(|choice| choice == word) => Ok(raw.clone()),
        _ => Err(wanted.clone()),
    });
    let canonical = Arc::clone(&field.info.canonical);
    field.read = Box::new(move |raw, _| {
        canonical(raw).map_err(|message| vec![Mistake::new(message, format!("write one of {one_of}"))])
    });
    if field.info.is_required {
        field.example = example;
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(fields: &[Json]) -> Part<Table> {
        let about = About { name: "mine", aliases: &[], summary: "", source: "", departures: "" };
        let fields = fields.iter().map(|one| OwnField::from_json(one).expect("a field")).collect();
        Part::of_own_fields(about, (), fields, |table| table)
    }

    #[test]
    fn what_is_left_out_has_its_default_and_what_is_written_its_type() {
        let part = part(&[
            json!({ "name": "gain", "type": "number", "default": 2, "above": 0, "meaning": "Growth." }),
            json!({ "name": "target", "type": "duration", "default": "5 ms" }),
            json!({ "name": "mode", "type": "word", "words": ["fast", "slow"], "default": "slow" }),
        ]);
        let given = json!({ "target": "0.1 s" });
        let reading = part.read(given.as_object().unwrap(), &Context::default());
        assert_eq!(Json::Object(reading.config), json!({ "gain": 2.0, "target": "100 ms", "mode": "slow" }));
        assert_eq!(reading.mistakes, []);
        assert_eq!((part.fields[0].meaning.as_str(), part.fields[0].range.as_str()), ("Growth", "more than 0"));
    }

    #[test]
    fn every_mistake_is_told_at_its_field() {
        let part = part(&[
            json!({ "name": "gain", "type": "number", "default": 2, "above": 0 }),
            json!({ "name": "mode", "type": "word", "words": ["fast", "slow"], "default": "slow" }),
            json!({ "name": "rate", "type": "rate", "at_least": "1 Mbit/s" }),
        ]);
        let given = json!({ "gain": -1, "mode": "other" });
        let mistakes = part.read(given.as_object().unwrap(), &Context::default()).mistakes;
        let told: Vec<_> = mistakes.iter().map(|one| (one.field.as_str(), one.message.as_str())).collect();
        assert_eq!(
            told,
            [("gain", "must be more than 0"), ("mode", "must be one of \"fast\", \"slow\""), ("rate", "is missing")]
        );
        assert_eq!(mistakes[2].remedy, "add it, such as rate = \"1 Mbit/s\"");
    }

    #[test]
    fn a_declaration_that_contradicts_itself_is_refused() {
        let refused = |description: Json| OwnField::from_json(&description).err().expect("a refusal");
        let default = json!({ "name": "gain", "type": "number", "default": 2, "below": 1 });
        assert_eq!(refused(default), "the parameter gain has a default out of its own range: it must be less than 1");
        let kind = json!({ "name": "gain", "type": "matrix" });
        assert_eq!(refused(kind), "the parameter gain has the type \"matrix\", which a scenario cannot express");
    }
}
