//! Values that are drawn for a scenario.

use std::collections::BTreeMap;

use ackclock_scenario::{Extensions, Scenario, ScenarioError, ScenarioTemplate};
use serde_json::{Value, json};

/// A dumbbell with `more` after its bottleneck's rate.
fn text(rate: &str, more: &str) -> String {
    format!(
        "duration = \"5 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         [topology.bottleneck]\nrate = {rate}\ndelay = \"10 ms\"\n{more}\n[[flow]]\n"
    )
}

fn template(text: &str) -> ScenarioTemplate {
    ScenarioTemplate::parse_with(text, "test.toml", &[], &Extensions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn drawn(template: &ScenarioTemplate, seed: u64) -> BTreeMap<String, Value> {
    let scenario = template.draw(seed).unwrap_or_else(|error| panic!("{error}"));
    scenario.drawn().iter().map(|drawn| (drawn.place.clone(), drawn.value.clone())).collect()
}

fn mistakes(text: &str) -> ScenarioError {
    Scenario::parse(text, "test.toml", &[]).expect_err(text)
}

const RATE: &str = "{ log_uniform = [\"1 Mbit/s\", \"100 Mbit/s\"] }";

#[test]
fn rates_are_drawn_between_their_ends_with_the_laws_log_mean() {
    let template = template(&text(RATE, ""));
    let rates: Vec<f64> = (0..2_000)
        .map(|seed| {
            let scenario = template.draw(seed).expect("a good scenario");
            let json: Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
            let rate = json["topology"]["bottleneck"]["rate"].as_str().expect("a text");
            rate.parse::<ackclock_units::Bandwidth>().expect("a rate").0 as f64
        })
        .collect();
    assert!(rates.iter().all(|rate| (1e6..=1e8).contains(rate)));
    // log10 is uniform on 6 ... 8: mean 7, standard error 2 / sqrt(12 * 2000) = 0.0129
    let log_mean = rates.iter().map(|rate| rate.log10()).sum::<f64>() / rates.len() as f64;
    assert!((log_mean - 7.0).abs() < 0.065, "log-mean {log_mean}");
}

#[test]
fn a_choice_takes_each_alternative_as_often() {
    let template =
        template(&text("\"10 Mbit/s\"", "queue = { choice = [\"drop_tail\", \"codel\", \"pie\", \"fq_codel\"] }"));
    let mut counts = BTreeMap::new();
    for seed in 0..2_000 {
        *counts.entry(drawn(&template, seed)["topology.bottleneck.queue"].to_string()).or_insert(0_u32) += 1;
    }
    // 500 each, standard error sqrt(2000 * 1/4 * 3/4) = 19.4
    assert_eq!(counts.len(), 4);
    assert!(counts.values().all(|count| count.abs_diff(500) < 97), "{counts:?}");
}

#[test]
fn the_same_seed_draws_the_same_and_another_something_else() {
    let template = template(&text(RATE, ""));
    let hash = |seed| template.draw(seed).expect("a good scenario").hash();
    assert_eq!(hash(7), hash(7));
    assert_ne!(drawn(&template, 7), drawn(&template, 8));
    let parsed = Scenario::parse(&text(RATE, ""), "test.toml", &["seed=7".to_owned()]).expect("a good scenario");
    assert_eq!(parsed.hash(), hash(7), "loading draws by the scenario's seed");
    assert_eq!(parsed.draw(8).expect("a good scenario").hash(), hash(8));
    assert_eq!(parsed.with_seed(8).expect("a scenario").drawn(), parsed.drawn(), "another run on the same network");
}

#[test]
fn one_more_place_changes_what_no_other_draws() {
    let one = template(&text(RATE, ""));
    let two = template(&text(RATE, "loss = { kind = \"random\", p = { uniform = [0, 0.01] } }"));
    for seed in 0..50 {
        let place = "topology.bottleneck.rate";
        assert_eq!(drawn(&one, seed)[place], drawn(&two, seed)[place]);
    }
}

#[test]
fn places_are_drawn_independently() {
    let more = "loss = { kind = \"random\", p = { uniform = [0, 1] } }\nduplicate = { uniform = [0, 1] }";
    let template = template(&text("\"10 Mbit/s\"", more));
    let number = |value: &Value| value.as_f64().expect("a number") - 0.5;
    let count = 5_000;
    let covariance: f64 = (0..count)
        .map(|seed| {
            let drawn = drawn(&template, seed);
            number(&drawn["topology.bottleneck.loss.p"]) * number(&drawn["topology.bottleneck.duplicate"])
        })
        .sum::<f64>()
        / count as f64;
    // of two independent uniforms the product has the variance 1/144: standard error 1/12 / sqrt(5000) = 0.00118
    assert!(covariance.abs() < 0.006, "covariance {covariance}");
}

#[test]
fn decimals_are_drawn_where_the_format_has_decimals_and_integers_where_it_has_integers() {
    let more = "loss = { kind = \"random\", p = { uniform = [0, 1] } }";
    let text = text("\"10 Mbit/s\"", more) + "count = { uniform = [1, 3] }\n";
    let template = template(&text);
    let values: Vec<_> = (0..40).map(|seed| drawn(&template, seed)).collect();
    assert!(
        values.iter().all(|drawn| drawn["topology.bottleneck.loss.p"].as_f64().is_some_and(|p| p > 0.0 && p < 1.0))
    );
    let counts: std::collections::BTreeSet<u64> =
        values.iter().map(|drawn| drawn["flow[0].count"].as_u64().expect("an integer")).collect();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn what_is_drawn_from_a_choice_may_be_drawn_in_turn() {
    let more = "queue = { choice = [{ kind = \"drop_tail\", limit = { uniform = [\"10 packets\", \"20 packets\"] } }, \"codel\"] }";
    let template = template(&text("\"10 Mbit/s\"", more));
    let inner = "topology.bottleneck.queue.choice[0].limit";
    assert_eq!(
        template.varies().into_iter().map(|(place, _)| place).collect::<Vec<_>>(),
        ["topology.bottleneck.queue", inner]
    );
    let mut limits = 0;
    for seed in 0..60 {
        let drawn = drawn(&template, seed);
        let is_drop_tail = drawn["topology.bottleneck.queue"] != json!("codel");
        assert_eq!(drawn.contains_key(inner), is_drop_tail);
        if let Some(limit) = drawn.get(inner) {
            let packets: u64 =
                limit.as_str().and_then(|text| text.strip_suffix(" packets")?.parse().ok()).expect("packets");
            assert!((10..=20).contains(&packets));
            assert_eq!(drawn["topology.bottleneck.queue"]["limit"], *limit);
            limits += 1;
        }
    }
    assert!((15..=45).contains(&limits), "half of 60, within four standard errors of 3.9: {limits}");
}

#[test]
fn sizes_keep_the_uniform_that_is_drawn_for_each_flow() {
    let size = |form: &str| {
        let text =
            text("\"10 Mbit/s\"", "") + "arrivals = { process = \"poisson\", rate = \"10 /s\", size = " + form + " }\n";
        Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(size("{ uniform = [\"1 kB\", \"3 kB\"] }").varies().is_empty());
    assert_eq!(size("{ log_uniform = [\"1 kB\", \"3 kB\"] }").varies().len(), 1);
    assert_eq!(size("{ choice = [\"1 kB\", { exponential = \"3 kB\" }] }").varies().len(), 1);
}

#[test]
fn a_range_that_leaves_what_is_allowed_is_reported_at_loading() {
    let error = mistakes(&text("\"10 Mbit/s\"", "loss = { kind = \"random\", p = { uniform = [0.5, 1.5] } }"));
    let [mistake] = error.diagnostics.as_slice() else { panic!("{error}") };
    assert_eq!(mistake.field, "topology.bottleneck.loss.p");
    assert_eq!((mistake.line, mistake.value.as_deref()), (Some(8), Some("1.5")));
    assert!(mistake.message.contains("drawn from { uniform = [0.5, 1.5] }"), "{error}");
}

#[test]
fn values_that_do_not_go_together_are_reported_with_the_draw() {
    let text = text("\"10 Mbit/s\"", "") + "[measure]\nfrom = \"2 s\"\n";
    let text = text.replace("duration = \"5 s\"", "duration = { uniform = [\"1 s\", \"5 s\"] }");
    let error = mistakes(&text);
    let [mistake] = error.diagnostics.as_slice() else { panic!("{error}") };
    assert_eq!(mistake.field, "measure.from");
    assert!(mistake.message.contains("(where all ranges are at their lowest)"), "{error}");
}

#[test]
fn some_draws_are_tried_at_loading_beside_the_ends() {
    // good at both ends (1 ns of 5 s, 100 s of 100.001 s), and wrong in about half of all pairs between them
    let text = text("\"10 Mbit/s\"", "") + "[measure]\nfrom = { uniform = [\"1 ns\", \"100 s\"] }\n";
    let text = text.replace("duration = \"5 s\"", "duration = { uniform = [\"5 s\", \"100001 ms\"] }");
    let mut outcomes = [0, 0];
    for seed in 0..200 {
        let overrides = [format!("seed={seed}")];
        outcomes[usize::from(Scenario::parse(&text, "test.toml", &overrides).is_ok())] += 1;
    }
    // eight draws, each wrong with a probability near 0.5: all are good once in some 256 times
    assert!(outcomes[0] > 180, "{outcomes:?}");
}

#[test]
fn each_alternative_is_tried_and_blamed_where_it_stands() {
    let more = "queue = { choice = [\"drop_tail\", { kind = \"codel\", target = \"5 ms\" }, { kind = \"codel\", targt = \"5 ms\" }] }";
    let error = mistakes(&text("\"10 Mbit/s\"", more));
    let [mistake] = error.diagnostics.as_slice() else { panic!("{error}") };
    assert_eq!(mistake.field, "topology.bottleneck.queue.targt");
    assert_eq!(mistake.line, Some(8));
    let before = more.find("targt").expect("the mistake");
    assert_eq!(mistake.column, Some(before + 1));
    assert!(mistake.remedy.contains("target") && !mistake.message.contains("where all"), "{error}");
}

#[test]
fn each_mistake_in_a_distribution_has_its_place_and_remedy() {
    let cases = [
        (
            "{ uniform = [\"20 Mbit/s\", \"10 Mbit/s\"] }",
            "rate.uniform",
            "must not begin above its end",
            "smaller number first",
        ),
        ("{ uniform = [\"10 Mbit/s\", \"10 ms\"] }", "rate.uniform", "from a data rate to a time", "same quantity"),
        ("{ log_uniform = [\"0 bit/s\", \"10 Mbit/s\"] }", "rate.log_uniform", "to have a logarithm", "begin above 0"),
        ("{ uniform = [\"10 Mbit/s\"] }", "rate.uniform", "must be a range", "two ends"),
        ("{ uniform = \"10 Mbit/s\" }", "rate.uniform", "must be a range", "two ends"),
        ("{ uniform = [\"slow\", \"10 Mbit/s\"] }", "rate.uniform[0]", "must be the end of a range", "10 Mbit/s"),
        ("{ choice = [] }", "rate.choice", "must hold at least one value", "at least one"),
        ("{ choice = \"10 Mbit/s\" }", "rate.choice", "must be a list", "choice = ["),
        (
            "{ choice = [\"1 Mbit/s\"], uniform = [1, 2] }",
            "rate.choice",
            "must not be combined with \"uniform\"",
            "keep one",
        ),
        (
            "{ choice = [\"1 Mbit/s\"], repeat = \"1 s\" }",
            "rate.repeat",
            "must not be combined with \"choice\"",
            "keep one",
        ),
    ];
    for (rate, field, message, remedy) in cases {
        let error = mistakes(&text(rate, ""));
        let [mistake] = error.diagnostics.as_slice() else { panic!("{rate}: {error}") };
        assert_eq!(mistake.field, format!("topology.bottleneck.{field}"), "{error}");
        assert_eq!(mistake.line, Some(6), "{error}");
        assert!(mistake.message.contains(message) && mistake.remedy.contains(remedy), "{error}");
    }
}

#[test]
fn seeds_and_kinds_are_not_drawn() {
    let seed = mistakes(&("seed = { uniform = [1, 9] }\n".to_owned() + &text("\"10 Mbit/s\"", "")));
    assert!(seed.to_string().contains("must not be drawn: it is the seed of all draws"), "{seed}");
    let kind = mistakes(&text("\"10 Mbit/s\"", "queue = { kind = { choice = [\"codel\", \"pie\"] } }"));
    assert!(kind.to_string().contains("draw the whole table"), "{kind}");
}

#[test]
fn overrides_draw_values_and_take_draws_back() {
    let parse = |text: &str, value: &str| {
        Scenario::parse(text, "test.toml", &[format!("topology.bottleneck.rate={value}")]).expect("a good scenario")
    };
    assert!(parse(&text(RATE, ""), "10 Mbit/s").varies().is_empty());
    assert_eq!(parse(&text("\"1 Mbit/s\"", ""), RATE).drawn().len(), 1);
}

#[test]
fn the_drawn_scenario_is_read_again_as_it_is() {
    let more =
        "queue = { choice = [\"codel\", \"pie\"] }\nloss = { kind = \"random\", p = { log_uniform = [1e-5, 1e-2] } }";
    let template = template(&text(RATE, more));
    for seed in 0..20 {
        let json = template.draw(seed).expect("a good scenario").to_json();
        let again = Scenario::from_json(&json, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.to_json(), json);
        assert!(again.varies().is_empty());
    }
}

#[test]
fn traces_are_read_when_loading_and_never_again() {
    let folder = std::env::temp_dir().join(format!("ackclock-vary-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("a.trace"), "1\n5\n9\n").expect("a file");
    std::fs::write(folder.join("b.trace"), "2\n4\n").expect("a file");
    let text = text("{ trace = { choice = [\"a.trace\", \"b.trace\"] } }", "");
    let file = folder.join("test.toml").display().to_string();
    let template = ScenarioTemplate::parse_with(&text, &file, &[], &Extensions::default());
    std::fs::remove_dir_all(&folder).expect("a folder");
    let template = template.unwrap_or_else(|error| panic!("{error}"));
    let instants: std::collections::BTreeSet<String> = (0..20)
        .map(|seed| {
            let json: Value = serde_json::from_str(&template.draw(seed).expect("a scenario").to_json()).expect("JSON");
            json["topology"]["bottleneck"]["rate"]["instants"].as_str().expect("a trace").to_owned()
        })
        .collect();
    assert_eq!(instants.into_iter().collect::<Vec<_>>(), ["1 5 9", "2 4"]);
}

#[test]
fn the_schema_has_a_distribution_at_every_value_but_the_seed() {
    let schema = ackclock_scenario::schema();
    let forms = schema["$defs"]["Drawn"]["anyOf"].as_array().expect("three forms");
    assert_eq!(forms.len(), 3);
    let allows = |field: &Value| {
        field["anyOf"].as_array().is_some_and(|forms| forms.iter().any(|form| form["$ref"] == "#/$defs/Drawn"))
    };
    let fields = schema["properties"].as_object().expect("a table");
    for (name, field) in fields {
        assert_eq!(allows(field), name != "seed", "{name}");
    }
    let link = schema["$defs"]["LinkTable"]["properties"].as_object().expect("a link");
    assert!(link.values().all(allows) && link.len() > 5);
    assert!(link["rate"]["description"].is_string());
}
