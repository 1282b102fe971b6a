//! Runs a scenario file that may name the controller "sqrt", and prints its `summary.json`.

mod square_root;

use std::path::Path;
use std::process::ExitCode;

use ackclock::scenario::{BlamedField, ControllerRequest, Origin, Refusal};
use ackclock::{Extensions, ExternalConfig, Results, Run, Scenario, ScenarioError};

use crate::square_root::{Parameters, SquareRoot};

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("name a scenario file: rust-controller scenario.toml [path=value ...]");
        return ExitCode::from(2);
    };
    let overrides: Vec<String> = std::env::args().skip(2).collect();
    match run(Path::new(&file), &overrides) {
        Ok(results) => {
            let summary = serde_json::to_string_pretty(results.summary());
            println!("{}", summary.expect("a summary is plain numbers and strings"));
            ExitCode::SUCCESS
        }
        Err(mistakes) => {
            eprintln!("{mistakes}");
            ExitCode::from(2)
        }
    }
}

fn run(file: &Path, overrides: &[String]) -> Result<Results, ScenarioError> {
    let scenario = Scenario::load_with(file, overrides, &Extensions::new(find))?;
    Run::of(&scenario).finish()
}

/// Answer to `controller = { kind = "external", name = ..., parameters = ... }`.
fn find(request: &ControllerRequest<'_>) -> Result<ExternalConfig, Refusal> {
    if (request.origin, request.name) != (Origin::Program, "sqrt") {
        return refuse(BlamedField::Name, "is not a controller of this program", "use name = \"sqrt\"");
    }
    let known = ["alpha", "beta"];
    if let Some(other) = request.parameters.keys().find(|key| !known.contains(&key.as_str())) {
        return refuse(BlamedField::Parameters, &format!("has no {other:?}"), "use alpha and beta");
    }
    let number = |name: &str| match request.parameters.get(name) {
        None => Some(1.0),
        Some(value) => value.as_f64().filter(|number| *number > 0.0),
    };
    let (Some(alpha), Some(beta)) = (number("alpha"), number("beta")) else {
        return refuse(BlamedField::Parameters, "must be positive numbers", "use alpha = 1.0, beta = 1.0");
    };
    Ok(ExternalConfig::new("sqrt", move |start| SquareRoot::new(Parameters { alpha, beta }, start)))
}

fn refuse(field: BlamedField, message: &str, remedy: &str) -> Result<ExternalConfig, Refusal> {
    Err(Refusal { field, message: message.to_owned(), remedy: remedy.to_owned() })
}
