//! Series of controllers' internal values.

use ackclock_scenario::Scenario;
use ackclock_sim::{ColumnData, Simulation};

fn scenario(internals: &str) -> Result<Scenario, String> {
    let text = format!(
        "duration = \"5 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n[[flow]]\ncontroller = \"cubic\"\n\
         [trace]\ninternals = {internals}\n"
    );
    Scenario::parse(&text, "test.toml", &[]).map_err(|error| error.to_string())
}

#[test]
fn each_internal_is_a_column() {
    let scenario = scenario("[\"w_max_segments\", \"no_such\"]").expect("a good scenario");
    let flows = Simulation::new(scenario.config()).finish().flows;
    let column = |wanted: &str| {
        let column = flows.columns.iter().find(|column| column.name == wanted).expect("a column");
        let ColumnData::F64(values) = &column.data else { panic!("not numbers") };
        values.clone()
    };
    // Slow start overshoots the 20 packets of the path and the 20 of its queue: W_max lies between them and twice that.
    let w_max: Vec<f64> = column("w_max_segments").into_iter().filter(|value| value.is_finite()).collect();
    assert!(w_max.iter().all(|&value| (20.0..=100.0).contains(&value)) && !w_max.is_empty(), "{w_max:?}");
    assert!(column("no_such").iter().all(|value| value.is_nan()));
}

#[test]
fn a_name_can_be_only_one_column() {
    for taken in ["[\"cwnd_bytes\"]", "[\"x\", \"x\"]", "[\"flow\"]"] {
        let error = scenario(taken).expect_err(taken);
        assert!(
            error.contains("trace.internals") && error.contains("must not be the name of another column"),
            "{error}"
        );
    }
}
