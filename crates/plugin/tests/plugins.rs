//! A plug-in that is loaded behaves like the same parts built in, and reports mistakes.

#[allow(unreachable_pub, reason = "the example is a library of its own")]
#[path = "../examples/parts.rs"]
mod parts;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use ackclock_agent::AgentConfig;
use ackclock_declare::Library;
use ackclock_env::Environment;
use ackclock_plugin::host::{PluginFailure, load};
use ackclock_scenario::{Extensions, Scenario};
use ackclock_sim::{Outcome, Simulation};
use ackclock_units::SimTime;

/// The example of this package, which Cargo builds with its tests.
fn file() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let target = test.parent().and_then(|deps| deps.parent()).expect("it lies in target/<profile>/deps");
    let name = format!("{}parts{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    target.join("examples").join(name)
}

fn loaded() -> Library {
    load(&file()).expect("a plug-in")
}

fn read(text: &str, library: &Library) -> Result<Scenario, String> {
    let extensions = Extensions::default().with_library(library);
    Scenario::parse_with(text, "<test>", &[], &extensions).map_err(|error| error.to_string())
}

const EVERYTHING: &str = r#"
duration = "10 s"
topology = { kind = "dumbbell", access = { rate = "100 Mbit/s", delay = "1 ms" }, bottleneck = { rate = "10 Mbit/s",
    delay = "10 ms", queue = { kind = "coin", p = 0.02 }, effect = { kind = "slow_data", by = "3 ms", each = 1009 } } }
tcp = { ecn = "request" }
flow = [
    { name = "mine", controller = { kind = "fraction", beta = 0.7 } },
    { name = "bursts", controller = "fraction", app = { kind = "bursts", count = 5, gap = "1 s" } },
    { name = "other", controller = "cubic", tcp = { ecn = "off" } },
    { name = "udp", protocol = "udp", app = { kind = "cbr", rate = "1 Mbit/s" } },
]
trace = { interval = "10 ms", internals = ["beta"] }
"#;

fn everything(library: &Library) -> Scenario {
    read(EVERYTHING, library).unwrap_or_else(|error| panic!("{error}"))
}

fn assert_same(one: &Outcome, other: &Outcome) {
    assert_eq!(one.summary, other.summary);
    // Unlike numbers, a column without a value equals itself in its text only.
    assert_eq!(format!("{:?}", one.flows), format!("{:?}", other.flows));
    assert_eq!(format!("{:?}", one.episodes), format!("{:?}", other.episodes));
}

#[test]
fn a_plug_in_does_what_the_same_parts_do_in_the_program() {
    let run = |library: &Library| Simulation::new(everything(library).config()).finish();
    let (of_plugin, of_program) = (run(&loaded()), run(&parts::plugin().library()));
    let link = &of_program.summary.links[0];
    assert!(link.drops > 0 && link.marks > 0 && link.losses > 0, "{link:?}");
    assert_same(&of_plugin, &of_program);
}

/// Parts of a plug-in get the demanded events (docs/reference/own-controllers.md: "in Rust `timer` asks for the last
/// alone", `on_timer`).
#[test]
fn a_plug_in_is_given_everything_that_it_demands() {
    let run = |library: &Library, ticking: bool| {
        let text = EVERYTHING.replace("beta = 0.7", &format!("beta = 0.7, ticking = {ticking}"));
        Simulation::new(read(&text, library).unwrap_or_else(|error| panic!("{error}")).config()).finish()
    };
    let (of_plugin, of_program) = (run(&loaded(), true), run(&parts::plugin().library(), true));
    assert_same(&of_plugin, &of_program);
    let flows = &of_program.summary.flows;
    assert!(flows.iter().all(|flow| flow.delivered_bytes > 0), "{flows:?}");
    assert_ne!(of_program.summary, run(&parts::plugin().library(), false).summary, "its timer is of consequence");
}

#[test]
fn a_plug_in_declines_ecn_where_marks_are_not_counted() {
    let marks = |library: &Library, declines: bool| {
        let alone = EVERYTHING
            .replace("[\n    { name = \"mine\", controller = { kind = \"fraction\", beta = 0.7 } },", "[\n    MINE")
            .split("    { name = \"bursts\"")
            .next()
            .expect("the first flow")
            .to_owned();
        let mine = format!("{{ controller = {{ kind = \"fraction\", declines = {declines} }} }},\n]");
        let scenario = read(&alone.replace("MINE", &mine), library).unwrap_or_else(|error| panic!("{error}"));
        Simulation::new(scenario.config()).finish().summary.links[0].marks
    };
    for library in [loaded(), parts::plugin().library()] {
        assert!(marks(&library, false) > 0);
        assert_eq!(marks(&library, true), 0); // RFC 3168 tells of a mark, and not of how many
    }
}

#[test]
fn a_simulation_with_plug_ins_is_cloned_as_a_whole() {
    let mut simulation = Simulation::new(everything(&loaded()).config());
    simulation.run_until(SimTime(4_000_000_000));
    let copy = simulation.clone();
    assert_same(&simulation.finish(), &copy.finish());
}

#[test]
fn parameters_are_those_that_the_plug_in_declares() {
    let text = EVERYTHING.replace("beta = 0.7", "beta = 1.5, gain = 2").replace("count = 5, ", "");
    let (of_plugin, of_program) = (read(&text, &loaded()), read(&text, &parts::plugin().library()));
    let error = of_plugin.expect_err("three mistakes");
    assert!(error.contains("flow[0].controller.beta must be more than 0 and less than 1"), "{error}");
    assert!(error.contains("controller.gain is not a known field"), "{error}");
    assert!(error.contains("flow[1].app.count is missing"), "{error}");
    assert_eq!(Err(error), of_program.map(|_| ()));
}

#[test]
fn a_panic_ends_the_simulation_with_its_message() {
    let text = EVERYTHING.replace("beta = 0.7", "panics = true");
    let scenario = read(&text, &loaded()).expect("a right scenario");
    let run = AssertUnwindSafe(|| Simulation::new(scenario.config()).finish());
    let payload = catch_unwind(run).expect_err("a panic");
    let failure = payload.downcast::<PluginFailure>().expect("of the plug-in");
    assert_eq!((failure.part.as_str(), failure.call), ("fraction", "on_congestion"));
    assert_eq!(failure.message, "as it was asked to");
}

const AGENT: &str = r#"{"observations": [{"kind": "level_segments", "kept": 0.75}, "rtt_ms"], "history": 2, "scaled": true,
    "decide": "round", "reward": {"kind": "toll", "price": 0.3}}"#;

fn environment(library: &Library, agent: &str) -> Result<Environment, String> {
    let agent = AgentConfig::from_json_with(agent, library).map_err(|error| error.to_string())?;
    Environment::new(everything(library), vec![("other".to_owned(), agent)]).map_err(|error| error.to_string())
}

/// The observations and rewards of an episode, to the bit.
fn course(mut environment: Environment) -> Vec<(Vec<u32>, u64)> {
    let mut row = vec![0.0; environment.config(0).observation_len()];
    let (mut step, mut seen) = (environment.reset(5), Vec::new());
    while !step.is_last() {
        let paid = environment.reward(0);
        environment.observe(0, &mut row);
        seen.push((row.iter().map(|number| number.to_bits()).collect(), paid.to_bits()));
        if seen.len() == 20 {
            environment = environment.clone();
        }
        step = environment.step(&[f64::from(seen.len() as u32 % 7)]);
    }
    seen
}

#[test]
fn observations_and_rewards_of_a_plug_in_are_those_of_the_program() {
    let of = |library: &Library| course(environment(library, AGENT).expect("an environment"));
    let (of_plugin, of_program) = (of(&loaded()), of(&parts::plugin().library()));
    assert!(of_program.len() > 50, "{}", of_program.len());
    assert!(of_program.iter().any(|(row, _)| f32::from_bits(row[2]) > 0.0), "something waits now and then");
    assert_eq!(of_plugin, of_program);
}

#[test]
fn mistakes_of_agents_are_those_that_the_plug_in_declares() {
    let agent = r#"{"observations": ["rtt_ms"], "reward": {"kind": "toll", "price": -1}}"#;
    let (of_plugin, of_program) = (environment(&loaded(), agent), environment(&parts::plugin().library(), agent));
    let error = of_plugin.map(|_| ()).expect_err("a mistake");
    assert_eq!(error, "agent.reward.price = -1 must be at least 0; the default is 0.1");
    assert_eq!(Err(error), of_program.map(|_| ()));
}

#[test]
fn a_panic_of_a_reward_ends_the_step_with_its_message() {
    let agent = r#"{"reward": {"kind": "toll", "panics": 2}}"#;
    let run = AssertUnwindSafe(|| course(environment(&loaded(), agent).expect("an environment")));
    let payload = catch_unwind(run).expect_err("a panic");
    let failure = payload.downcast::<PluginFailure>().expect("of the plug-in");
    assert_eq!((failure.part.as_str(), failure.call), ("toll", "reward"));
    assert_eq!(failure.message, "as it was asked to");
}

#[test]
fn what_is_no_plug_in_is_refused_with_a_remedy() {
    let error = load(&file().with_file_name("libnone.so")).expect_err("nothing is there");
    assert!(error.message.starts_with("cannot be read: ") && error.remedy.contains("cargo build --release"), "{error}");
    let error = load(&std::env::current_exe().unwrap()).expect_err("a program");
    assert!(error.message.contains("cannot be loaded") || error.message.contains("is not a plug-in"), "{error}");
    let error = load(file().parent().unwrap()).expect_err("a folder");
    assert_eq!(error.message, "is not a regular file");
}

#[test]
fn a_plug_in_is_loaded_once() {
    let names = |library: &Library| format!("{library:?}");
    let parts = r#"["fraction", "coin", "slow_data", "bursts", "level_segments", "toll"]"#;
    assert_eq!(names(&loaded()), parts);
    assert_eq!(names(&loaded()), names(&loaded()));
}
