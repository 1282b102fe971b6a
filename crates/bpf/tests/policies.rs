//! A trained policy in whole numbers decides in the kernel as in the engine, bit for bit, in time; and its connections get another
//! while they run. What needs root says so.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::lab::Lab;
use crate::records::run;
use ackclock_agent::policy::Policy as Trained;
use ackclock_agent::policy::quantised::{Memory, Quantised, Sight};
use ackclock_bpf::machine;
use ackclock_bpf::policy::{Policy, Spent};
use ackclock_bpf::registration::{self, Order, Registration};
use ackclock_bpf::replay::AskedPolicy;
use ackclock_bpf::trace::{Kind, Record};
use ackclock_units::RandomStream;

/// Linux's number of the state without losses, `TCP_CA_Open`.
const OPEN: u32 = 0;

/// A network as wide as Stable-Baselines3 makes them, two layers of 64, of random weights, for this agent.
fn wide(seed: u64, agent: &str, inputs: usize, outputs: usize) -> Vec<u8> {
    let mut random = RandomStream::new(seed, "wide");
    let mut layer = |rows: usize, columns: usize| {
        let reach = 1.0 / (columns as f64).sqrt();
        let weights: Vec<f32> =
            (0..rows * columns).map(|_| ((2.0 * random.uniform() - 1.0) * reach * 3.0) as f32).collect();
        let biases: Vec<f32> = (0..rows).map(|_| (random.uniform() - 0.5) as f32).collect();
        (weights, biases)
    };
    let layers = [layer(64, inputs), layer(64, 64), layer(outputs, 64)];
    ackclock_agent::policy::trained_policy(agent, ackclock_agent::policy::Activation::Tanh, &layers).expect("it fits")
}

const AGENT: &str = r#"{"observations": ["cwnd_segments", "threshold_segments", "mean_rtt_ms", "min_rtt_ms", "delivery_rate_bps", "loss_fraction", "queue_share"], "scaled": true, "decide": "round", "action": "deltas"}"#;

struct File(PathBuf);

impl File {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("ackclock-{}-{name}", std::process::id()));
        std::fs::write(&path, content).expect("a temporary file");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("plain letters")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn octets_of(sight: &Sight) -> [u8; 88] {
    let mut octets = Vec::new();
    for word in [
        sight.cwnd,
        sight.ssthresh,
        sight.threshold,
        sight.acked,
        sight.lost,
        sight.delivery_rate,
        sight.max_delivery_rate,
    ] {
        octets.extend(word.to_ne_bytes());
    }
    for word in [
        sight.rtt_us,
        sight.srtt_us,
        sight.min_rtt_us,
        sight.mean_rtt_us,
        sight.interval_us,
        sight.acks,
        sight.in_slow_start,
        sight.in_recovery,
    ] {
        octets.extend(word.to_ne_bytes());
    }
    octets.try_into().expect("88 octets")
}

fn draw(random: &mut RandomStream) -> Sight {
    let mut up_to = |most: f64| (most.powf(random.uniform())) as u64;
    Sight {
        cwnd: up_to(1e6) << 8,
        ssthresh: up_to(1e6) << 8,
        threshold: up_to(1e6) << 8,
        acked: up_to(1e6) << 8,
        lost: up_to(1e5) << 8,
        delivery_rate: up_to(1e12),
        max_delivery_rate: up_to(1e12),
        rtt_us: up_to(1e6) as u32,
        srtt_us: up_to(1e6) as u32,
        min_rtt_us: up_to(1e6) as u32,
        mean_rtt_us: up_to(1e6) as u32,
        interval_us: up_to(1e6) as u32,
        acks: up_to(1e4) as u32,
        in_slow_start: 0,
        in_recovery: up_to(2.0) as u32 & 1,
    }
}

#[test]
fn the_kernel_decides_as_the_engine_does_bit_for_bit() {
    if let Err(missing) = machine::check() {
        println!("skipped: {missing}");
        return;
    }
    for (agent, outputs) in [(AGENT.to_owned(), 7), (AGENT.replace("deltas", "orca"), 1)] {
        let trained = Trained::from_onnx(&wide(3, &agent, 7, outputs), None).expect("it fits");
        let quantised = Quantised::of(&trained).expect("small");
        let file = File::new(&format!("bits{outputs}"), &quantised.file(&agent));
        let policy = Policy::of_file(file.path()).expect("readable").expect("a policy");
        let asked = AskedPolicy::new(&policy).unwrap_or_else(|error| panic!("{error}"));
        let mut random = RandomStream::new(11, "sights");
        let mut decisions = std::collections::BTreeSet::new();
        for _ in 0..3_000 {
            let sight = draw(&mut random);
            let (decision, _) = asked.decide(&octets_of(&sight), 1).expect("loaded");
            assert_eq!(decision, quantised.decide(&sight, &mut Memory::default()), "{sight:?}");
            decisions.insert(decision);
        }
        println!(
            "{outputs} outputs: {} decisions, accuracy {:?}",
            decisions.len(),
            quantised.accuracy(&trained, 20_000)
        );
        assert!(decisions.len() >= 4, "{decisions:?}");
    }
}

/// A policy that `PyTorch` exported with an LSTM (tests/vectors/recurrent), in whole numbers, and its file.
fn recurrent(name: &str) -> (Quantised, File) {
    // tests run beside each other, and each removes its file
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/recurrent");
    let onnx = std::fs::read(place.join(format!("{name}.onnx"))).expect("part of the tree");
    let trained = Trained::from_onnx(&onnx, None).unwrap_or_else(|error| panic!("{name}: {error}"));
    let quantised = Quantised::of(&trained).unwrap_or_else(|error| panic!("{name}: {error}"));
    println!("{name}: {:?}", quantised.accuracy(&trained, 20_000));
    let own = format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let file = File::new(&own, &quantised.file(&ackclock_agent::policy::agent_of(&onnx).expect("it has one")));
    (quantised, file)
}

#[test]
fn the_kernel_remembers_as_the_engine_does_bit_for_bit() {
    if let Err(missing) = machine::check() {
        println!("skipped: {missing}");
        return;
    }
    for name in ["first_old", "between_old", "kept", "kept_old", "wide_old", "counting_old"] {
        let (quantised, file) = recurrent(name);
        let policy = Policy::of_file(file.path()).expect("readable").expect("a policy");
        let asked = AskedPolicy::new(&policy).unwrap_or_else(|error| panic!("{error}"));
        let mut random = RandomStream::new(13, name);
        let mut decisions = std::collections::BTreeSet::new();
        for _ in 0..4 {
            let mut memory = Memory::default();
            asked.forget().expect("loaded");
            for step in 0..500 {
                let sight = draw(&mut random);
                let (decision, _) = asked.decide(&octets_of(&sight), 1).expect("loaded");
                assert_eq!(decision, quantised.decide(&sight, &mut memory), "{name}, step {step}: {sight:?}");
                decisions.insert(decision);
            }
        }
        println!("{name}: {} decisions", decisions.len());
        // a number, or a choice of which some may never be the best
        let numbers = matches!(name, "between_old" | "kept_old");
        assert!(decisions.len() >= if numbers { 500 } else { 1 }, "{name}: {decisions:?}");
    }
}

/// The counting policy has counted by then, as slow start, and the losses that may end it, are over long before.
const SETTLED_S: f64 = 2.9;

/// Gain of a connection's window from then on, in segments, if a policy is put in the place of its own after that;
/// `None` if the window had not been the same for half a second, or if something else than the policy changes it later.
fn gained(lab: &Lab, alias: &'static str, swap: Option<String>) -> Option<i64> {
    let swapped = swap.map(|path| {
        std::thread::spawn(move || {
            // the connection takes a while to begin
            std::thread::sleep(std::time::Duration::from_secs_f64(SETTLED_S + 1.1));
            registration::swap(alias, &path)
        })
    });
    let seen = run(lab, alias, 6.5);
    if let Some(swapped) = swapped {
        swapped.join().expect("ends").expect("kept");
    }
    let segments: Vec<_> = seen.iter().filter(|record| record.kind() == Kind::Segment).collect();
    let at_ns = |seconds: f64| segments[0].time_ns + (seconds * 1e9) as u64;
    let before: Vec<_> = segments.iter().filter(|record| record.time_ns < at_ns(SETTLED_S)).collect();
    let (settled, last) = (before.last()?, segments.last()?);
    let same = before.iter().filter(|record| record.time_ns > at_ns(SETTLED_S - 0.5));
    let is_settled = same.map(|record| record.cwnd).all(|cwnd| cwnd == settled.cwnd);
    let is_disturbed = last.bytes_retrans != settled.bytes_retrans || last.ssthresh != settled.ssthresh;
    println!("{} segments, then {}; settled {is_settled}, disturbed {is_disturbed}", settled.cwnd, last.cwnd);
    (is_settled && !is_disturbed).then(|| i64::from(last.cwnd) - i64::from(settled.cwnd))
}

/// The policy counts: a segment more at each of its first twenty decisions, then none. A connection remembers that it has counted, and
/// forgets it when another policy takes the place, be it the same.
#[test]
fn a_connection_remembers_until_its_policy_is_exchanged() {
    let Some(lab) = Lab::new(50, 400_000, None) else { return };
    let alias = "act_counting";
    let _ = registration::unload(alias);
    let (_, counting) = recurrent("counting_old");
    let (_, wide) = recurrent("wide_old");
    Registration::new(&Order::new(counting.path(), &[], Some(alias)).expect("a policy"))
        .and_then(Registration::keep)
        .unwrap_or_else(|error| panic!("{error}"));
    for (swap, expected) in [(None, 0), (Some(counting.path().to_owned()), 20)] {
        // a machine that stood still loses a packet now and then
        let found = (0..5).find_map(|_| gained(&lab, alias, swap.clone())).expect("one of five undisturbed");
        assert_eq!(found, expected);
    }

    registration::swap(alias, wide.path()).expect("kept");
    decides_in_time(&lab, alias, "an LSTM of 32, layers of 48 and 5");
    registration::unload(alias).expect("kept");
}

/// Runs a connection until a decision takes 20 us on average, three times at most, as other work only adds to it. (8 to 12 us on the EPYC of
/// docs/explanation/performance.md: more where the processor sleeps between decisions.)
fn decides_in_time(lab: &Lab, alias: &str, what: &str) {
    let took = || {
        let before = spent(alias);
        // some thirty round trips of 50 ms, fewer on a machine that is slow to begin
        run(lab, alias, 2.0);
        let after = spent(alias);
        let decisions = after.decisions - before.decisions;
        assert!(decisions >= 10, "{before:?} {after:?}");
        let each = (after.ns - before.ns) as f64 / 1e3 / decisions as f64;
        println!("{what}: {decisions} decisions, {each:.2} us each");
        each
    };
    assert!((0..3).any(|_| took() < 20.0), "{what}: see above");
}

fn spent(alias: &str) -> Spent {
    let kept = registration::kept().expect("root").into_iter().find(|kept| kept.kernel_name == alias).expect("kept");
    kept.spent.expect("a policy")
}

/// A policy that always takes one choice: its biases say so.
fn constant(choice: usize) -> Vec<u8> {
    let biases: Vec<f32> = (0..7).map(|place| if place == choice { 1.0 } else { 0.0 }).collect();
    let layers = [(vec![0.0; 49], biases)];
    ackclock_agent::policy::trained_policy(AGENT, ackclock_agent::policy::Activation::Tanh, &layers).expect("it fits")
}

#[test]
fn a_kept_policy_is_exchanged_while_a_connection_asks_it() {
    let Some(lab) = Lab::new(50, 400_000, None) else { return };
    let alias = "act_policy";
    let _ = registration::unload(alias);
    // a segment less in each round trip, then three more
    let [less, more, real] = [constant(2), constant(5), wide(3, AGENT, 7, 7)].map(|onnx| {
        let quantised = Quantised::of(&Trained::from_onnx(&onnx, None).expect("it fits")).expect("small");
        quantised.file(AGENT)
    });
    let [less, more, real] =
        [("less", less), ("more", more), ("real", real)].map(|(name, file)| File::new(name, &file));
    Registration::new(&Order::new(less.path(), &[], Some(alias)).expect("a policy"))
        .and_then(Registration::keep)
        .unwrap_or_else(|error| panic!("{error}"));
    let path = more.path().to_owned();
    let swapped = std::thread::spawn(move || {
        // How long a connection takes to begin, and slow start to end, is the machine's; what the policy was asked is not.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while spent(alias).decisions < 12 && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        registration::swap(alias, &path)
    });
    let seen = run(&lab, alias, 4.0);
    swapped.join().expect("ends").expect("kept");
    // Between losses, and after slow start, which may be long here and overflow the queue, the window is the policy's.
    let segments: Vec<_> = seen.iter().filter(|record| record.kind() == Kind::Segment).collect();
    let is_calm =
        |pair: &&[&Record]| pair.iter().all(|record| record.state == OPEN) && pair[0].ssthresh == pair[1].ssthresh;
    let step = |pair: &[&Record]| i64::from(pair[1].cwnd) - i64::from(pair[0].cwnd);
    let steps: Vec<i64> = segments.windows(2).filter(is_calm).map(step).filter(|step| *step != 0).collect();
    let exchanged = 1 + steps.windows(2).position(|pair| pair == [-1, 3]).expect("one policy after the other");
    println!("exchanged after {exchanged} steps: {steps:?}");
    assert!(steps[..exchanged].ends_with(&[-1; 8]), "one less in each round trip: {steps:?}");
    assert!(steps[exchanged..].starts_with(&[3; 8]), "three more in each: {steps:?}");

    registration::swap(alias, real.path()).expect("kept");
    decides_in_time(&lab, alias, "two layers of 64");
    let kept = registration::kept().expect("root").into_iter().find(|kept| kept.kernel_name == alias).expect("kept");
    assert!(kept.about.contains("real"), "{}", kept.about);
    registration::unload(alias).expect("kept");
}
