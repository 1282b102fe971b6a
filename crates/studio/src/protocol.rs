//! Questions and answers as octets: what crosses between a page and the engine.
//!
//! Texts are JSON in UTF-8; series and packets are numbers of 64 bits, little-endian, as a page's `Float64Array` reads them.

use ackclock_scenario::{Scenario, ScenarioError};
use ackclock_units::{SimDuration, SimTime};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::describe;
use crate::engine::{Engine, Options};
use crate::run::{Change, Run};

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// Operation that a page can call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $($(#[$doc])* $name = $number,)*
        }

        impl Operation {
            fn of_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

operations! {
    /// Nothing; JSON of controllers, queues and profiles.
    Catalogue = 0,
    /// A name, a zero octet, and the file of this name; nothing.
    Attach = 1,
    /// Nothing; nothing. Files are forgotten.
    Detach = 2,
    /// `{ "text", "file" }`; as of `Load`, and nothing is run.
    Check = 3,
    /// `{ "text", "file", "sample_s", "packets" }`; `{ "scenario" }`, with `{ "row" }` of `{ "numbers", "flows", "links" }`, or
    /// `{ "diagnostics", "has_more" }`.
    Load = 4,
    /// `{ "until_s" }`; `{ "now_s", "is_finished", "events", "packets_delivered" }`.
    Advance = 5,
    /// Nothing; the rows of series since the last question ([`Run::take_rows`]).
    Rows = 6,
    /// Nothing; what happened to packets since the last question ([`Run::take_packets`]).
    Packets = 7,
    /// Nothing; the bytes of `summary.json` ([`Run::summary`]).
    Summary = 8,
    /// `{ "changes" }`, a list of [`Change`]; `{ "scenario", "text", "anew" }`, or `{ "diagnostics", "has_more" }` ([`Run::change`]).
    Change = 9,
    /// Nothing; the text of what is run, changes included.
    Text = 10,
}

#[derive(Deserialize)]
struct Load {
    text: String,
    #[serde(default = "scenario_file")]
    file: String,
    #[serde(default)]
    sample_s: f64,
    #[serde(default)]
    packets: bool,
}

fn scenario_file() -> String {
    "scenario.toml".to_owned()
}

impl Load {
    fn options(&self) -> Options {
        let given = SimDuration::from_secs_f64(self.sample_s.clamp(0.0, 1e6));
        let sample = if given.is_zero() { Options::default().sample } else { given };
        Options { sample, packets: self.packets }
    }
}

#[derive(Deserialize)]
struct Changes {
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Advance {
    until_s: f64,
}

/// Answers a question into `output`. What is no question is answered by `{ "error" }`.
pub fn answer(engine: &mut Engine, operation: u32, input: &[u8], output: &mut Vec<u8>) {
    let answered = Operation::of_number(operation)
        .ok_or_else(|| format!("unknown operation {operation}"))
        .and_then(|operation| answer_one(engine, operation, input, output));
    if let Err(error) = answered {
        output.clear();
        put(output, &json!({ "error": error }));
    }
}

fn answer_one(engine: &mut Engine, operation: Operation, input: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
    match operation {
        Operation::Catalogue => put(output, &describe::catalogue()),
        Operation::Attach => attach(engine, input)?,
        Operation::Detach => engine.detach_all(),
        Operation::Check => {
            let Load { text, file, .. } = read(input)?;
            put(output, &told(engine.check(&text, &file).as_ref()));
        }
        Operation::Load => load(engine, &read(input)?, output),
        Operation::Advance => advance(run(engine)?, &read(input)?, output),
        Operation::Rows => put_numbers(output, &run(engine)?.take_rows()),
        Operation::Packets => put_numbers(output, &run(engine)?.take_packets()),
        Operation::Summary => *output = run(engine)?.summary(),
        Operation::Change => change(run(engine)?, &read(input)?, output),
        Operation::Text => output.extend(run(engine)?.text().as_bytes()),
    }
    Ok(())
}

fn run(engine: &mut Engine) -> Result<&mut Run, String> {
    engine.run().ok_or_else(|| "no scenario is loaded".to_owned())
}

fn read<'a, T: Deserialize<'a>>(input: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(input).map_err(|error| error.to_string())
}

fn attach(engine: &mut Engine, input: &[u8]) -> Result<(), String> {
    let end = input.iter().position(|octet| *octet == 0).ok_or("a name, a zero octet and the file are expected")?;
    let name = std::str::from_utf8(&input[..end]).map_err(|error| error.to_string())?;
    engine.attach(name, input[end + 1..].to_vec());
    Ok(())
}

fn load(engine: &mut Engine, load: &Load, output: &mut Vec<u8>) {
    let loaded = engine.load(&load.text, &load.file, load.options());
    let mut answer = told(loaded);
    if let (Some(run), true) = (engine.run(), answer.get("scenario").is_some()) {
        let (numbers, flows, links) = run.shape();
        answer["row"] = json!({ "numbers": numbers, "flows": flows, "links": links });
    }
    put(output, &answer);
}

fn change(run: &mut Run, Changes { changes }: &Changes, output: &mut Vec<u8>) {
    let answer = match run.change(changes) {
        Ok(anew) => {
            let mut answer = told(Ok::<_, ScenarioError>(run.scenario()));
            (answer["text"], answer["anew"]) = (run.text().into(), anew.into());
            answer
        }
        Err(mistakes) => told(Err(mistakes)),
    };
    put(output, &answer);
}

fn told(checked: Result<&Scenario, impl std::borrow::Borrow<ScenarioError>>) -> Value {
    match checked {
        Ok(scenario) => json!({ "scenario": describe::scenario(scenario) }),
        Err(mistakes) => {
            let ScenarioError { diagnostics, has_more } = mistakes.borrow();
            json!({ "diagnostics": diagnostics, "has_more": has_more })
        }
    }
}

fn advance(run: &mut Run, Advance { until_s }: &Advance, output: &mut Vec<u8>) {
    run.advance(SimTime(SimDuration::from_secs_f64(until_s.clamp(0.0, 1e9)).0));
    let counters = run.counters();
    let answer = json!({
        "now_s": run.now().as_secs_f64(),
        "is_finished": run.is_finished(),
        "events": counters.events,
        "packets_delivered": counters.packets_delivered,
    });
    put(output, &answer);
}

fn put(output: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(output, value).expect("a Vec takes all");
}

fn put_numbers(output: &mut Vec<u8>, numbers: &[f64]) {
    output.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}
