//! Can any text, as TOML or as JSON and with overrides, make the reader of scenario files panic, or be a scenario that
//! is not the same when written out and read again?

#![no_main]

use ackclock_scenario::Scenario;
use libfuzzer_sys::fuzz_target;

/// Lines that begin with this are overrides, as `--set` gives them.
const OVERRIDE: &str = "#--set ";

fuzz_target!(|text: &str| {
    let overrides: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix(OVERRIDE)).take(4).map(str::to_owned).collect();
    for result in [Scenario::parse(text, "fuzz.toml", &overrides), Scenario::from_json(text, &overrides)] {
        match result {
            Err(error) => assert!(!error.diagnostics.is_empty()),
            Ok(scenario) => check(&scenario),
        }
    }
});

fn check(scenario: &Scenario) {
    let again = Scenario::from_json(&scenario.to_json(), &[]).expect("its own JSON is the same scenario");
    assert_eq!(again.config(), scenario.config());
    let _ = scenario.with_seed(scenario.config().seed ^ 1);
    let _ = scenario.draw(scenario.config().seed ^ 1);
}
