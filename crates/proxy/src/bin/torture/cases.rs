//! The cases: ways to end crossed with who ends first and how much was said before, and others by themselves.

use crate::case::{Case, Server, Step};
use crate::stream::Random;

const MEGABYTE: u64 = 1 << 20;

const ENDS: [(&str, Step); 3] = [("fin", Step::Fin), ("close", Step::Close), ("reset", Step::Reset)];

/// Octets up and down.
const SIZES: [(u64, u64); 6] = [(0, 0), (1, 1), (1000, 1000), (MEGABYTE, 1000), (1000, MEGABYTE), (MEGABYTE, MEGABYTE)];

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    [orders(), half_closed(), windows(), small(), answers(), starts(), resets(), urgent()].concat()
}

/// Each way to end of either end, each order of the two, each amount.
fn orders() -> Vec<Case> {
    let mut cases = Vec::new();
    for (up, down) in SIZES {
        for (client, client_end) in ENDS {
            for (server, server_end) in ENDS {
                let first = vec![Step::Send(up), client_end];
                let then = vec![Step::ReadToEnd(65_536), Step::Send(down), server_end];
                cases.push(case(format!("client-{client}-then-server-{server}-{up}-{down}"), first, then));
                let first = vec![Step::Send(down), server_end];
                let then = vec![Step::ReadToEnd(65_536), Step::Send(up), client_end];
                cases.push(case(format!("server-{server}-then-client-{client}-{up}-{down}"), then, first));
                let [one, other] = [(up, client_end), (down, server_end)]
                    .map(|(octets, end)| vec![Step::Meet, Step::Send(octets), end]);
                let is_race = client != "fin" || server != "fin";
                cases.push(Case { is_race, ..case(format!("both-{client}-{server}-{up}-{down}"), one, other) });
            }
        }
    }
    cases
}

/// One end is done; the other says more, and reads slowly or fast.
fn half_closed() -> Vec<Case> {
    let mut cases = Vec::new();
    for more in [0, 1, 5000, 3 * MEGABYTE] {
        for pause in [0, 300] {
            let done = vec![Step::Send(100), Step::Fin, Step::Wait(pause), Step::ReadToEnd(4096)];
            let more_steps = vec![Step::ReadToEnd(4096), Step::Wait(pause), Step::Send(more), Step::Fin];
            cases.push(case(format!("client-half-closed-{more}-pause-{pause}"), done.clone(), more_steps.clone()));
            cases.push(case(format!("server-half-closed-{more}-pause-{pause}"), more_steps, done));
        }
    }
    cases
}

/// A reader that does not read: the window closes, and what ends the stream waits behind it.
fn windows() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, end) in [("fin", Step::Fin), ("close", Step::Close)] {
        for pause in [200, 700] {
            for at_a_time in [1000, 65_536] {
                let sends = vec![Step::Send(4 * MEGABYTE), end];
                let reads = vec![Step::Wait(pause), Step::ReadToEnd(at_a_time), Step::Fin];
                let small = |name, client: &[Step], server: &[Step]| Case {
                    receive_buffer: Some(8192),
                    ..case(name, client.to_vec(), server.to_vec())
                };
                cases.push(small(format!("window-closed-up-{name}-{pause}-{at_a_time}"), &sends, &reads));
                cases.push(small(format!("window-closed-down-{name}-{pause}-{at_a_time}"), &reads, &sends));
            }
        }
    }
    cases
}

/// Octets one by one.
fn small() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, end) in ENDS {
        for (sent_by, read_by) in [(1, 1), (1, 65_536), (65_536, 1), (7, 3)] {
            let sends = vec![Step::SendBy(3000, sent_by), end];
            let reads = vec![Step::ReadToEnd(read_by), Step::Close];
            cases.push(case(format!("small-up-{name}-{sent_by}-{read_by}"), sends.clone(), reads.clone()));
            cases.push(case(format!("small-down-{name}-{sent_by}-{read_by}"), reads, sends));
        }
    }
    cases
}

/// Cases of questions and answers.
fn answers() -> Vec<Case> {
    [1, 100, 1460, 16_384, 65_536, 262_144]
        .map(|size| {
            let (mut asks, mut answers) = (Vec::new(), Vec::new());
            for _ in 0..30 {
                asks.extend([Step::Send(size), Step::Read(size)]);
                answers.extend([Step::Read(size), Step::Send(size)]);
            }
            asks.push(Step::Close);
            answers.push(Step::ReadToEnd(100));
            case(format!("answers-{size}"), asks, answers)
        })
        .into()
}

/// Cases of a connection's beginning.
fn starts() -> Vec<Case> {
    let talk = || {
        (
            vec![Step::Send(2000), Step::Fin, Step::ReadToEnd(1000)],
            vec![Step::ReadToEnd(1000), Step::Send(500), Step::Fin],
        )
    };
    let mut cases = Vec::new();
    for (name, at_first) in [("absent", Server::Absent), ("late", Server::Late), ("busy", Server::Busy)] {
        let (client, server) = talk();
        cases.push(Case { at_first, ..case(format!("server-{name}"), client, server) });
        let silent = vec![Step::ReadToEnd(1000)];
        let greets = vec![Step::Send(500), Step::Close];
        cases.push(Case { at_first, ..case(format!("server-{name}-greets"), silent, greets) });
        let gone = vec![Step::Send(2000), Step::Reset];
        // Who resets before the server is there may find it without a connection at all.
        let (_, server) = talk();
        cases.push(Case { at_first, is_race: true, ..case(format!("server-{name}-client-gone"), gone, server) });
    }
    let (client, server) = talk();
    cases.push(Case { same_port: true, ..case("same-port-again".to_owned(), client, server) });
    let closes = vec![Step::Send(10), Step::Read(10), Step::Close];
    let echoes = vec![Step::Read(10), Step::Send(10), Step::ReadToEnd(10), Step::Close];
    cases.push(Case { same_port: true, ..case("same-port-again-client-in-time-wait".to_owned(), closes, echoes) });
    cases
}

/// Resets where something is left unread or unsent, or the peer is in the middle of something.
fn resets() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut both_ways = |name: &str, one: &[Step], other: &[Step], is_race: bool| {
        cases.push(Case { is_race, ..case(format!("{name}-client"), one.to_vec(), other.to_vec()) });
        cases.push(Case { is_race, ..case(format!("{name}-server"), other.to_vec(), one.to_vec()) });
    };
    for octets in [1, 100_000] {
        let unread = [Step::Meet, Step::Wait(100), Step::Close];
        both_ways(
            &format!("closes-with-{octets}-unread"),
            &unread,
            &[Step::Send(octets), Step::Meet, Step::ReadToEnd(100)],
            octets > 1,
        );
    }
    let after_fin = [Step::Send(10), Step::Fin, Step::Wait(150), Step::ResetAtOnce];
    both_ways(
        "resets-after-its-fin",
        &after_fin,
        &[Step::ReadToEnd(100), Step::Wait(400), Step::Send(10), Step::Wait(200), Step::Send(10)],
        true,
    );
    let silent = [Step::Wait(100), Step::ResetAtOnce];
    both_ways("resets-while-other-waits", &silent, &[Step::ReadToEnd(100)], false);
    both_ways("resets-under-load", &[Step::Read(200_000), Step::ResetAtOnce], &[Step::Send(64 * MEGABYTE)], true);
    both_ways(
        "resets-after-data-slow-reader",
        &[Step::Send(100_000), Step::Reset],
        &[Step::Wait(300), Step::ReadToEnd(1000)],
        false,
    );
    both_ways("resets-after-large-data", &[Step::Send(3 * MEGABYTE), Step::Reset], &[Step::ReadToEnd(65_536)], false);
    cases
}

/// Urgent octets, at several places.
fn urgent() -> Vec<Case> {
    let mut cases = Vec::new();
    for (before, after) in [(0, 0), (10, 0), (0, 10), (10, 10), (100_000, 1000)] {
        let sends = vec![Step::Send(before), Step::SendUrgent, Step::Wait(100), Step::Send(after), Step::Fin];
        let reads = vec![Step::ReadToEnd(65_536), Step::Close];
        cases.push(case(format!("urgent-up-{before}-{after}"), sends.clone(), reads.clone()));
        cases.push(case(format!("urgent-down-{before}-{after}"), reads, sends));
    }
    cases
}

/// Exchanges of random steps.
pub(crate) fn random(count: usize) -> Vec<Case> {
    let mut random = Random(7);
    let script = |random: &mut Random| {
        let mut steps = Vec::new();
        for _ in 0..random.below(4) {
            steps.push(match random.below(4) {
                0 => Step::Send(random.below(200_000)),
                1 => Step::SendBy(random.below(2000), 1 + random.below(300)),
                2 => Step::Wait(random.below(5)),
                _ => Step::Send(random.below(100)),
            });
        }
        steps.push([Step::Fin, Step::Close, Step::Fin, Step::Reset][random.below(4) as usize]);
        steps
    };
    let one = |index| {
        let (client, server) = (script(&mut random), script(&mut random));
        Case { is_race: true, ..case(format!("random-{index}"), client, server) }
    };
    (0..count).map(one).collect()
}

fn case(name: String, client: Vec<Step>, server: Vec<Step>) -> Case {
    Case { name, client, server, ..Case::default() }
}
