//! The commands of the page docs/how-to/controllers-in-the-kernel.md exist, and those that need no network do what it
//! says. Needs root for the latter, and says so.

use std::process::Command;

use ackclock_agent::policy::quantised::Quantised;
use ackclock_agent::policy::{Activation, Policy, trained_policy};
use ackclock_bpf::cli::Commands;
use ackclock_bpf::{machine, registration};
use clap::{Parser, Subcommand};

const PAGE: &str = include_str!("../../../docs/how-to/controllers-in-the-kernel.md");

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Commands,
}

/// Each command of the program on the page, as a shell takes it apart: none has more than one quoted word.
fn commands() -> Vec<Vec<String>> {
    let shell = |line: &str| {
        let words = Command::new("bash").args(["-c", &format!("printf '%s\\n' {line}")]).output().expect("bash");
        String::from_utf8(words.stdout).expect("text").lines().map(str::to_owned).collect()
    };
    PAGE.lines().filter(|line| line.starts_with("ackclock-kernel ")).map(shell).collect()
}

#[test]
fn every_command_of_the_page_is_one() {
    let commands = commands();
    assert!(commands.len() >= 10, "{}", commands.len());
    for words in commands {
        if let Err(error) = Arguments::try_parse_from(&words) {
            panic!("{words:?}: {error}");
        }
    }
    let named = |name: &str| PAGE.contains(&format!("`{name}`"));
    assert!(ackclock_bpf::PROGRAMS.iter().all(|program| named(program.name)), "the page names every controller");
    for name in Commands::augment_subcommands(clap::Command::new("all")).get_subcommands() {
        assert!(PAGE.contains(&format!("ackclock-kernel {}", name.get_name())), "{}", name.get_name());
    }
}

#[test]
fn what_needs_no_network_does_what_the_page_says() {
    if let Err(missing) = machine::check() {
        println!("skipped: {missing}");
        return;
    }
    let about = |name: &str| {
        let kept = registration::kept().expect("root");
        kept.into_iter().find(|kept| kept.kernel_name == name).map(|kept| kept.about)
    };
    // the files that `ackclock export --to bpf` would have written
    let folder = std::env::temp_dir().join(format!("ackclock-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::env::set_current_dir(&folder).expect("just made");
    for name in ["policy.whole", "better.whole"] {
        let agent = r#"{"observations": ["cwnd_segments", "srtt_ms"], "action": "deltas"}"#;
        let onnx = trained_policy(agent, Activation::Relu, &[(vec![0.5; 14], vec![0.1; 7])]).expect("it fits");
        let whole = Quantised::of(&Policy::from_onnx(&onnx, None).expect("it fits")).expect("small");
        std::fs::write(name, whole.file(agent)).expect("a temporary folder");
    }
    let mut seen = Vec::new();
    for words in commands().iter().filter(|words| ["load", "list", "update", "unload"].contains(&words[1].as_str())) {
        let arguments = Arguments::try_parse_from(words).expect("looked at in the other test");
        let code = ackclock_bpf::cli::run(arguments.command);
        assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::SUCCESS), "{words:?}");
        let policy = about("mine").and_then(|about| about.split(' ').nth(1).map(str::to_owned));
        seen.push((words[1].clone(), about("scalable_fast").or(policy), about("ac_vegas_mod").is_some()));
    }
    std::fs::remove_dir_all(&folder).expect("its own");
    let fast = |value: &str| Some(format!("scalable a={value}"));
    let expected = [
        ("load", None, true),
        ("load", fast("0.02"), true),
        ("list", fast("0.02"), true),
        ("update", fast("0.005"), true),
        ("unload", None, true),
        ("unload", None, false),
        ("load", Some("policy.whole".to_owned()), false),
        ("update", Some("better.whole".to_owned()), false),
        ("unload", None, false),
    ];
    assert_eq!(seen, expected.map(|(command, about, is_kept)| (command.to_owned(), about, is_kept)));
}
