//! Can any text make the reader of scenario files panic, or a scenario that it accepts fail to be built and begun?

#![no_main]

use ackclock_scenario::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Scenario::from_json(text, &[]);
    match Scenario::parse(text, "fuzz.toml", &[]) {
        Err(error) => assert!(!error.diagnostics.is_empty()),
        Ok(scenario) => {
            let again = Scenario::from_json(&scenario.to_json(), &[]).expect("its own JSON is the same scenario");
            assert_eq!(again.config(), scenario.config());
        }
    }
});
