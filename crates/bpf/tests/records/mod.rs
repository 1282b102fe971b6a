//! A connection with a controller of the kernel, as its records show it.

use ackclock_bpf::command::Group;
use ackclock_bpf::trace::{Record, Trace, Watched};

use crate::lab::Lab;

/// Sends for some seconds with a controller; the records of the connection.
pub(crate) fn run(lab: &Lab, kernel_name: &str, seconds: f64) -> Vec<Record> {
    let mut group = Group::new().expect("root");
    group.choose(kernel_name).expect("registered");
    let trace = Trace::new(Watched::Cgroup(group.number().expect("a cgroup"))).expect("root");
    let mut records = Vec::new();
    let status = group.run(&lab.send(seconds), || trace.take(|record| records.push(*record))).expect("starts");
    assert!(status.success(), "{status}");
    let chosen = group.chosen().expect("loaded");
    assert_eq!((chosen.connections, chosen.refused), (1, 0));
    assert_eq!(trace.missed().expect("loaded"), 0);
    records
}
