//! Measures the loop on the benchmark's shapes.
#[path = "../tests/common/mod.rs"]
mod common;
use ackclock_cc::*;
use ackclock_net::*;
use ackclock_sim::*;
use ackclock_units::*;
use common::*;

fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.split_whitespace().collect();
    (f[13].parse::<f64>().unwrap() + f[14].parse::<f64>().unwrap()) / 100.0
}
fn go(name: &str, d: &Dumbbell, reps: u32) {
    let c0 = cpu();
    let mut o = None;
    for _ in 0..reps { o = Some(d.run()); }
    let dt = cpu() - c0;
    let o = o.unwrap();
    let n = f64::from(reps);
    println!("{name}: {:.2} Mpkt/s, {:.1} Mev/s, ev/pkt {:.2} cpu {:.3}", o.engine.packets_delivered as f64 * n / dt / 1e6,
        o.engine.events as f64 * n / dt / 1e6, o.engine.events as f64 / o.engine.packets_delivered as f64, dt / n);
    let f = &o.summary.flows[0];
    println!("   goodput {:.3} sent {} retx {} lost {} to {} fr {} rtt {:?} jain {:?} drops {}", f.goodput_bps / 1e6, f.sent_segments,
        f.retransmitted_segments, f.lost_segments, f.timeouts, f.fast_recoveries, f.rtt_ms.map(|r| (r.mean, r.p95)), o.summary.jain_index, o.summary.links[0].drops);
}
fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    let ms = SimDuration::from_millis;
    if which == "dump" { dump(); }
    if which.is_empty() || which == "a" {
        let d = Dumbbell::new(Bandwidth(100_000_000), ms(30), QueueLimit::Bytes(Bytes(750_000)), SimDuration::from_secs(50));
        go("a", &d, 20);
    }
    if which.is_empty() || which == "b" {
        let mut d = Dumbbell::new(Bandwidth(10_000_000_000), ms(10), QueueLimit::Bytes(Bytes(25_000_000)), SimDuration::from_secs(5));
        d.controllers = vec![cubic(); 100];
        go("b", &d, 1);
    }
    if which.is_empty() || which == "c" {
        let mut d = Dumbbell::new(Bandwidth(1_000_000_000), ms(10), QueueLimit::Bytes(Bytes(2_500_000)), SimDuration::from_secs(5));
        d.controllers = vec![cubic(); 1000];
        go("c", &d, 3);
    }
    if which.is_empty() || (which.starts_with("d") && which != "dump") {
        for w in [10u64, 100, 1000, 10_000, 100_000] {
            if which.len() > 1 && which[1..] != w.to_string() { continue; }
            let mut d = Dumbbell::new(Bandwidth(w * 1448 * 8 * 20), ms(25), QueueLimit::Unlimited, SimDuration((10_000_000 * 50_000_000 / w).max(2_000_000_000)));
            d.controllers = vec![ControllerConfig::Fixed(FixedConfig { window: Bytes(w * 1448) })];
            d.discard = Some((PacketClass::Data, Selection::Probability(if std::env::var("NOLOSS").is_ok() {0.0} else {1e-4})));
            go(&format!("d{w}"), &d, 1);
        }
    }
}
#[allow(dead_code)]
fn dump() {
    let ms = SimDuration::from_millis;
    let mut d = Dumbbell::new(Bandwidth(10_000_000_000), ms(10), QueueLimit::Bytes(Bytes(25_000_000)), SimDuration::from_secs(5));
    d.controllers = vec![cubic(); 100];
    let o = d.run();
    for f in o.summary.flows.iter().filter(|f| f.goodput_bps > 200e6 || f.retransmitted_segments > 20000) {
        println!("{} {:.1} sent {} retx {} lost {} to {} fr {}", f.name, f.goodput_bps / 1e6, f.sent_segments, f.retransmitted_segments, f.lost_segments, f.timeouts, f.fast_recoveries);
    }
    println!("{:?}", o.summary.links[0]);
}
