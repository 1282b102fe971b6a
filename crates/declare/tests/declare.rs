//! A declaration and everything that comes from it.

use ackclock_declare::{
    About, Context, Mistake, Part, Parts, Review, Settles, Switched, Table, Value, declare, default, kinds,
    parameter_table, required, unset, word_table, words,
};
use ackclock_units::{Amount, Bytes, SimDuration};
use serde_json::json;

words! {
    /// Authors of the rules.
    #[derive(Default)]
    enum Variant {
        /// Rules of the paper.
        #[default]
        "paper" = Paper,
        /// Linux's.
        "linux" = Linux,
    }
}

declare! {
    /// Parameters of learning.
    struct Learning {
        /// Nodes of each layer.
        hidden: Vec<usize> = default(vec![3, 2])
            .at_least(1)
            .at_most(8)
            .must_be("at most 4 layers", |layers| layers.len() <= 4),
        /// Its pace.
        rate: f64 = default(1e-3).above(0.0).at_most(1.0).source("RFC 1149"),
    }
}

declare! {
    /// Bounds of a timer.
    struct Timer {
        /// Lower bound of the timer.
        min: SimDuration = default(SimDuration::from_secs(1)).above(SimDuration::ZERO),
        /// Upper bound of the timer.
        max: SimDuration = default(SimDuration::from_secs(60)).above(SimDuration::ZERO),
    }
    check |timer, review| review.at_most(("min", &timer.min), ("max", &timer.max));
}

declare! {
    /// Parameters of pacing.
    struct Spread {
        /// Ratio of the rate.
        ratio: f64 = default(2.0).at_least(0.01).at_most(1e3),
    }
}

kinds! {
    /// Rule with its parameters.
    enum Rule {
        /// Table of a timer.
        "timer" = Timed(Timer),
        /// Spread.
        "spread" = Spread(Spread),
    }
}

declare! {
    /// Parameters of the test.
    struct Config {
        /// Authors of the rules.
        variant: Variant = Variant::Paper,
        /// The delay
        /// to hold.
        target: SimDuration = required(SimDuration::from_millis(50)).above(SimDuration::ZERO),
        /// Fewer make it grow.
        low as "alpha": u32 = default(2).at_least(1).at_most(100).unit("segments"),
        /// More make it shrink.
        high as "beta": u32 = default(4).at_least(1).at_most(100).unit("segments"),
        /// Factor on a mark.
        beta_ecn: Option<f64> = unset("as on a loss").above(0.0).below(1.0),
    }
    within {
        /// Parameters of the agent.
        learning: Learning = Learning { hidden: vec![5], ..Learning::default() },
    }
    tables {
        /// Table of a timer.
        timer: Timer = Timer::default(),
    }
    switched {
        /// Spread.
        spread as "pacing": Option<Spread> = None,
    }
    apart {
        /// Seed of its random stream.
        seed: u64 = 7,
    }
    bases by variant: Variant = Config::of;
    check Config::review;
}

impl Config {
    fn of(variant: Variant) -> Self {
        let declared = Self { variant, ..Self::as_declared() };
        match variant {
            Variant::Paper => declared,
            Variant::Linux => Self { low: 1, ..declared },
        }
    }

    fn review(&self, review: &mut Review<'_>) {
        review.at_most(("alpha", &self.low), ("beta", &self.high));
    }
}

const ABOUT: About = About { name: "ours", aliases: &["its"], summary: "a part", source: "none", departures: "none" };

fn part() -> Part<Config> {
    Part::new(ABOUT, (), &[], |_| (), |config: Config| config)
}

fn table(value: &serde_json::Value) -> Table {
    value.as_object().cloned().expect("a table")
}

fn mistakes(value: &serde_json::Value) -> Vec<Mistake> {
    part().read(&table(value), &Context::default()).mistakes
}

#[test]
fn what_is_not_written_is_as_declared_under_the_chosen_word() {
    let read = |value: serde_json::Value| part().read(&table(&value), &Context::default()).config;
    let paper = read(json!({ "target": "20 ms", "beta": 9 }));
    let expected = Config { target: SimDuration::from_millis(20), high: 9, ..Config::default() };
    assert_eq!((paper.low, paper.seed, paper.learning.hidden.as_slice()), (2, 7, [5].as_slice()));
    assert_eq!(paper, expected);
    let linux = read(json!({ "target": "20 ms", "variant": "linux", "rate": 0.5 }));
    assert_eq!((linux.variant, linux.low, linux.learning.rate.to_bits()), (Variant::Linux, 1, 0.5_f64.to_bits()));
}

#[test]
fn every_mistake_is_at_its_field_with_its_range_its_default_and_its_source() {
    let found = mistakes(&json!({ "alpha": 0, "beta_ecn": 1.0, "rate": 2, "hidden": [9] }));
    let said: Vec<_> =
        found.iter().map(|one| (one.field.as_str(), one.message.as_str(), one.remedy.as_str())).collect();
    assert_eq!(
        said,
        [
            ("target", "is missing", "add it, such as target = \"50 ms\""),
            ("alpha", "must be at least 1 and at most 100 segments", "the default is 2"),
            ("beta_ecn", "must be more than 0 and less than 1", "leave it out: as on a loss"),
            ("hidden", "must be at most 4 layers, at least 1 and at most 8", "the default is [5]"),
            ("rate", "must be more than 0 and at most 1", "the default is 0.001 (RFC 1149)"),
        ]
    );
}

#[test]
fn what_does_not_go_together_is_at_the_field_that_was_written() {
    let one =
        |value: serde_json::Value| mistakes(&value).into_iter().map(|one| (one.field, one.message)).collect::<Vec<_>>();
    let target = "1 s";
    assert_eq!(
        one(json!({ "target": target, "alpha": 5 })),
        [("alpha".to_owned(), "must be at most beta, which is 4".to_owned())]
    );
    assert_eq!(
        one(json!({ "target": target, "beta": 1 })),
        [("beta".to_owned(), "must be at least alpha, which is 2".to_owned())]
    );
    assert_eq!(one(json!({ "target": target, "alpha": 4 })), []);
}

#[test]
fn the_catalogue_computes_what_it_says() {
    let part = part();
    let said: Vec<_> =
        part.fields.iter().map(|one| (one.name, one.default_text.as_str(), one.range.as_str())).collect();
    let words = "\"paper\" or \"linux\"";
    let segments = "at least 1 and at most 100 segments";
    assert_eq!(
        said,
        [
            ("variant", "\"paper\"", words),
            ("target", "required", "more than 0 ns"),
            ("alpha", "2; with variant = \"linux\" 1", segments),
            ("beta", "4", segments),
            ("beta_ecn", "as on a loss", "more than 0 and less than 1"),
            ("hidden", "[5]", "at most 4 layers, at least 1 and at most 8"),
            ("rate", "0.001", "more than 0 and at most 1"),
            ("timer", "{ min = \"1 s\", max = \"60 s\" }", "a table"),
            ("pacing", "false", "true, false or a table"),
        ]
    );
    assert_eq!(part.fields[1].meaning, "The delay to hold");
    assert_eq!(part.to_json()["parameters"][3]["name"], "beta");
    assert_eq!(part.schema()["required"], json!(["target"]));
    assert_eq!(part.schema()["properties"]["variant"]["enum"], json!(["paper", "linux", null]));
    let rows = parameter_table(&["ours", "its"], &part);
    assert!(rows.contains("| `rate` | 0.001 | more than 0 and at most 1 | Its pace (RFC 1149) |"), "{rows}");
}

#[test]
fn values_for_tests_are_in_the_range_or_just_out_of_it() {
    let part = part();
    let alpha = part.field("alpha").expect("a field");
    assert_eq!(alpha.inside, [1, 25, 50, 100].map(|number| json!(number)));
    assert_eq!(alpha.outside, [0, 101].map(|number| json!(number)));
    assert_eq!(part.field("target").map(|field| field.outside.clone()), Some(vec![json!("0 ns")]));
}

#[test]
fn parts_are_found_by_each_of_their_names() {
    let parts = Parts::new(vec![part()]);
    assert!(parts.find("ours").is_some() && parts.find("its").is_some() && parts.find("theirs").is_none());
    assert_eq!(parts.names(), ["ours"]);
}

#[test]
fn tables_within_have_their_own_mistakes_and_switches_stand_for_tables() {
    let target = "1 s";
    let found = mistakes(&json!({ "target": target, "timer": { "min": "0 s" }, "pacing": { "ratio": 0 } }));
    let places: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(places, ["timer.min", "pacing.ratio"]);
    let found = mistakes(&json!({ "target": target, "timer": { "max": "10 ms" } }));
    assert_eq!(
        (found[0].field.as_str(), found[0].message.as_str()),
        ("timer.max", "must be at least min, which is 1 s")
    );
    let pacing = |value: serde_json::Value| {
        part().read(&table(&json!({ "target": target, "pacing": value })), &Context::default()).config.spread
    };
    assert_eq!(pacing(json!(false)), None);
    assert_eq!(pacing(json!(true)), Some(Spread { ratio: 2.0 }));
    assert_eq!(pacing(json!({ "ratio": 3 })), Some(Spread { ratio: 3.0 }));
}

#[test]
fn a_kind_is_a_word_or_a_table_with_its_mistakes_at_their_fields() {
    let read = |value: serde_json::Value| Rule::read_in(&value, &Context::default());
    assert_eq!(read(json!("spread")), Ok(Rule::Spread(Spread { ratio: 2.0 })));
    assert_eq!(read(json!("timer")), Ok(Rule::Timed(Timer::default())));
    assert_eq!(read(json!({ "kind": "spread", "ratio": 0 })).expect_err("out of range")[0].field, "ratio");
    assert!(read(json!("luck")).is_err() && read(json!({ "ratio": 1 })).is_err());
    let written = json!({ "max": "1000 ms", "kind": "timer" });
    assert_eq!(Rule::canonical(&written), Ok(json!({ "kind": "timer", "max": "1 s" })));
    assert!(
        Rule::canonical(&json!({ "kind": "timer", "ratio": 1 })).expect_err("another's").contains("timer has min, max")
    );
}

#[test]
fn parts_share_an_entry_with_their_names_before_what_is_their_own() {
    let parts = Parts::new(vec![
        Part::new(ABOUT, (), &["timer", "pacing"], |_| (), |config: Config| config),
        Part::new(About { name: "theirs", ..ABOUT }, (), &["pacing"], |_| (), |config: Config| config),
    ]);
    let entry = parts.to_json(&About { name: "both", ..ABOUT });
    let parameters = entry["parameters"].as_array().expect("a list");
    let names: Vec<&str> = parameters.iter().filter_map(|parameter| parameter["name"].as_str()).collect();
    assert_eq!(names[..2], ["theirs: timer", "variant"]);
}

declare! {
    /// A step in time.
    struct Step {
        /// Time of the step.
        at: SimDuration = required(SimDuration::from_secs(1)),
    }
}

declare! {
    /// Field that is held in another form than written, and may be left out.
    struct Window {
        /// Octets of a segment.
        segment: u64 = default(100).at_least(1),
        /// Largest value.
        most: u64 = 1_000,
    }
    settled {
        /// Initial value.
        start as "window": Bytes as Amount = default(Amount::Segments(3)).at_least(1).unit("segments"),
    }
    tables {
        /// Step that happens once.
        step as "jump": Option<Step> = None,
    }
    settle Window::settle;
    check |window, review| review.at_most(("window", &window.start.0), ("most", &window.most));
}

impl Settles<Window> for Amount {
    type Held = Bytes;

    fn settle(self, window: &Window) -> Bytes {
        self.in_bytes(window.segment)
    }
    fn unsettle(held: &Bytes, window: &Window) -> Self {
        Self::Segments(held.0 / window.segment)
    }
}

impl Window {
    fn settle(&mut self, given: &Table) {
        if !given.contains_key("most") {
            self.most = self.most.max(self.start.0);
        }
    }
}

declare! {
    /// A window beside another field.
    struct Holder {
        /// Another field.
        other: bool = false,
    }
    within {
        /// Parameters of the window.
        window: Window = Window::default(),
    }
}

fn held(value: &serde_json::Value) -> (Window, Vec<Mistake>) {
    let part = Part::new(ABOUT, (), &[], |_| (), |holder: Holder| holder.window);
    let reading = part.read(&table(value), &Context::default());
    (reading.config, reading.mistakes)
}

#[test]
fn what_is_written_in_another_form_is_settled_by_the_fields_before_it() {
    assert_eq!(Window::default().start, Bytes(300)); // 3 segments of 100
    assert_eq!(held(&json!({ "segment": 200 })).0.start, Bytes(600));
    assert_eq!(held(&json!({ "segment": 200, "window": "1 kB" })).0.start, Bytes(1_000));
    let (window, mistakes) = held(&json!({ "window": "0 segments" }));
    assert_eq!((window.start, mistakes[0].message.as_str()), (Bytes(300), "must be at least 1 segment"));
    assert_eq!(mistakes[0].remedy, "the default is \"3 segments\"");
    let written = ackclock_declare::table_of(&Window { segment: 100, start: Bytes(450), ..Window::default() });
    assert_eq!(written["window"], json!("4 segments")); // whole ones
}

#[test]
fn structs_within_settle_and_check_what_their_fields_come_to() {
    assert_eq!(held(&json!({ "window": "20 segments" })).0.most, 2_000); // raised, for it was not written
    let (_, mistakes) = held(&json!({ "window": "20 segments", "most": 1_500 }));
    assert_eq!(mistakes[0].field, "most");
    assert_eq!(mistakes[0].message, "must be at least window, which is 2000");
}

#[test]
fn a_table_that_is_an_option_may_be_left_out_but_lacks_nothing_if_it_is_there() {
    assert_eq!(held(&json!({})).0.step, None);
    assert_eq!(held(&json!({ "jump": { "at": "2 s" } })).0.step, Some(Step { at: SimDuration::from_secs(2) }));
    assert_eq!(held(&json!({ "jump": {} })).1[0].field, "jump.at");
    assert!(!ackclock_declare::table_of(&Window::default()).contains_key("jump"));
}

#[test]
fn tables_for_documents_show_tables_within_and_what_words_mean() {
    let rows = parameter_table(&["ours"], &part());
    assert!(rows.contains("| `timer` | as below | a table | Table of a timer |\n| `timer.min` | \"1 s\" |"), "{rows}");
    assert!(word_table("ours", &part()).contains("| `variant` | \"linux\" | Linux's |"));
}

words! {
    /// Place of waiting.
    enum Place {
        /// Waiting in the sender.
        "sender" = Sender,
        /// Waiting in the host.
        "host" = Host,
    }
}

declare! {
    /// A table that a word of one of its fields stands for.
    struct Waiting {
        /// Place of waiting.
        place: Place = Place::Sender,
        /// Time of waiting.
        time: f64 = default(2.0).above(0.0),
    }
    apart {
        /// Waiting is on.
        is_on: bool = false,
    }
}

impl Switched for Waiting {
    type Fields = Self;

    const CHOSEN_BY: &'static str = "place";

    fn switched(on: bool) -> Self {
        Self { is_on: on, ..Self::default() }
    }
    fn of(fields: Self) -> Self {
        Self { is_on: true, ..fields }
    }
    fn fields(&self) -> Option<Self> {
        self.is_on.then(|| self.clone())
    }
}

declare! {
    /// Struct with such a table.
    struct Sender {}
    switched {
        /// Whether it waits.
        waiting: Waiting = Waiting::default(),
    }
}

#[test]
fn a_word_of_one_of_its_fields_may_stand_for_a_switch() {
    let about = About { name: "sender", aliases: &[], summary: "", source: "", departures: "" };
    let part = Part::new(about, (), &[], |_| (), |sender: Sender| sender);
    let read = |value: serde_json::Value| part.read(&table(&json!({ "waiting": value })), &Context::default());
    let waiting = |value: serde_json::Value| read(value).config.waiting;
    let host = Waiting { place: Place::Host, time: 2.0, is_on: true };
    assert_eq!(waiting(json!("host")), host);
    assert_eq!(waiting(json!({ "place": "host" })), host);
    assert_eq!(waiting(json!("sender")), waiting(json!(true)));
    let mistakes = read(json!("nowhere")).mistakes;
    assert_eq!(mistakes[0].field, "waiting.place");
    assert!(mistakes[0].message.contains("\"sender\" or \"host\""), "{mistakes:?}");
    assert_eq!(part.fields[0].range, "true, false, \"sender\", \"host\" or a table");
    assert_eq!(read(json!(3)).mistakes[0].message, "must be true, false, \"sender\", \"host\" or a table");
}
