//! Sets of flows that a queue treats specially.

use std::collections::BTreeSet;

use ackclock_declare::{Context, Json, Mistake, Range, Unordered, Value};

/// Connections by their numbers ([`ConnectionIndex`](crate::ConnectionIndex)). A scenario writes the name of a flow or of a group of
/// flows, or a list of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSet(pub Vec<usize>);

/// The names of the list, each with its place.
fn names_in(raw: &Json) -> Result<Vec<(String, &str)>, String> {
    let wrong = || format!("must be {wanted}; write {wanted}", wanted = FlowSet::wanted());
    match raw {
        Json::String(name) => Ok(vec![(String::new(), name)]),
        Json::Array(names) => {
            let names = names.iter().enumerate().filter(|(_, name)| !name.is_null());
            names.map(|(index, name)| Ok((format!("[{index}]"), name.as_str().ok_or_else(wrong)?))).collect()
        }
        _ => Err(wrong()),
    }
}

/// The number of the flow of this name, or of every flow of the group.
fn numbers_of(name: &str, flows: &[(String, Option<usize>)]) -> Result<Vec<usize>, Mistake> {
    let numbers: Vec<Option<usize>> =
        flows.iter().filter(|(flow, _)| flow == name).map(|(_, number)| *number).collect();
    if numbers.is_empty() {
        let mut listed = BTreeSet::new();
        let names = flows.iter().filter(|(flow, _)| listed.insert(flow)).map(|(flow, _)| format!("{flow:?}"));
        let names: Vec<String> = names.collect();
        return Err(Mistake::new("must be the name of a flow", format!("use one of {}", names.join(", "))));
    }
    let message = "must not be a group of short flows, which a queue cannot distinguish";
    let numbers: Option<Vec<usize>> = numbers.into_iter().collect();
    numbers.ok_or_else(|| Mistake::new(message, "leave flows out, and choose packets by class or size"))
}

impl Value for FlowSet {
    ackclock_declare::without_range!();

    fn wanted() -> String {
        "the name of a flow, or a list of names".to_owned()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        names_in(raw).map(|_| Self::default())
    }
    fn read_in(raw: &Json, context: &Context) -> Result<Self, Vec<Mistake>> {
        let names = names_in(raw).map_err(|message| vec![Mistake::new(message, "")])?;
        let Some(crossing) = context.crossing() else { return Ok(Self::default()) };
        let (mut numbers, mut mistakes) = (Vec::new(), Vec::new());
        for (at, name) in names {
            match numbers_of(name, &crossing.flows) {
                Ok(found) => numbers.extend(found),
                Err(mistake) => mistakes.push(mistake.within(&at)),
            }
        }
        if mistakes.is_empty() { Ok(Self(numbers)) } else { Err(mistakes) }
    }
    /// Names belong to a network, and this knows only numbers.
    fn write(&self) -> Json {
        self.0.iter().map(|number| Json::from(format!("connection {number}"))).collect()
    }
    fn canonical(raw: &Json) -> Result<Json, String> {
        names_in(raw).map(|_| raw.clone())
    }
    fn schema() -> Json {
        let text = Json::Object(std::iter::once(("type".to_owned(), "string".into())).collect());
        let list = [("type".to_owned(), "array".into()), ("items".to_owned(), text.clone())].into_iter().collect();
        Json::Object(std::iter::once(("anyOf".to_owned(), vec![text, Json::Object(list)].into())).collect())
    }
    fn inside(_: &Range<Unordered>) -> Vec<Self> {
        Vec::new()
    }
}
