//! Can a peer that sends anything at all make an endpoint panic, lose count of its data, or send outside its window?

#![no_main]

use ackclock_cc::{ControllerConfig, CubicConfig};
use ackclock_tcp::{Endpoint, LossRecovery, Reading, TcpConfig};
use ackclock_units::{Bytes, SimDuration};
use ackclock_wire::{Ecn, Flags, SackBlock, SackBlocks, Segment, Seq, SynOptions, Timestamps};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[path = "../../../crates/tcp/tests/common/mod.rs"]
mod common;

/// A segment near what the endpoint expects: numbers are offsets from the two initial sequence numbers.
#[derive(Arbitrary, Debug)]
struct Injected {
    seq: i32,
    ack: i32,
    payload: u16,
    window: u16,
    flags: u16,
    ecn: u8,
    sack: Vec<(i32, i32)>,
    ack_ratio: u8,
    echo: Option<u32>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Inject(Injected),
    /// An acceptable ACK of everything sent.
    AcknowledgeAll,
    Write(u16),
    Read(u16),
    Close,
    Wait(u32),
    Timer,
}

#[derive(Arbitrary, Debug)]
struct Input {
    recovery: u8,
    switches: u32,
    reads_on_call: bool,
    initial_sequence: u32,
    peer_sequence: u32,
    syn: (u16, Option<u8>, bool, bool, bool),
    steps: Vec<Step>,
}

fuzz_target!(|input: Input| {
    let loss_recovery = [LossRecovery::Tahoe, LossRecovery::Reno, LossRecovery::NewReno, LossRecovery::Sack]
        [usize::from(input.recovery % 4)];
    let switches = common::switches(loss_recovery, input.switches);
    let config = TcpConfig { mss: 1448, initial_sequence: input.initial_sequence, ..switches };
    let reading = if input.reads_on_call { Reading::OnCall } else { Reading::AtOnce };
    let mut end = Endpoint::new(config, &ControllerConfig::Cubic(CubicConfig::default()), reading);
    let mut out: Vec<Segment> = Vec::new();
    let mut now = ackclock_units::SimTime::ZERO;
    end.connect(now, &mut out);
    let (mss, window_scale, sack_permitted, timestamps, ack_control_permitted) = input.syn;
    now += SimDuration::from_millis(10);
    end.on_segment(
        now,
        &Segment {
            seq: Seq(input.peer_sequence),
            ack: Seq(input.initial_sequence.wrapping_add(1)),
            window: 65_535,
            flags: Flags::SYN.with(Flags::ACK),
            syn: SynOptions { mss, window_scale, sack_permitted, ack_control_permitted },
            timestamps: timestamps.then_some(Timestamps { value: 1, echo: 1 }),
            ..Segment::default()
        },
        &mut out,
    );
    let ours = |offset: i32| Seq(input.initial_sequence.wrapping_add(offset as u32));
    let theirs = |offset: i32| Seq(input.peer_sequence.wrapping_add(offset as u32));
    let mut closed = false;
    for step in input.steps.iter().take(200) {
        match step {
            Step::Inject(injected) => {
                let mut sack = SackBlocks::default();
                for (start, end) in &injected.sack {
                    sack.push(SackBlock { start: ours(*start), end: ours(*end) });
                }
                let segment = Segment {
                    seq: theirs(injected.seq),
                    ack: ours(injected.ack),
                    payload: u32::from(injected.payload),
                    window: injected.window,
                    flags: Flags(injected.flags & 0x1ff & !Flags::RST.0),
                    ecn: Ecn::of_bits(injected.ecn),
                    timestamps: injected.echo.map(|echo| Timestamps { value: 1, echo }),
                    sack,
                    ack_ratio: injected.ack_ratio,
                    ..Segment::default()
                };
                end.on_segment(now, &segment, &mut out);
            }
            Step::AcknowledgeAll => {
                let last = out.iter().map(|sent| sent.seq.0.wrapping_add(sent.sequence_len())).next_back();
                let segment = Segment {
                    seq: theirs(1),
                    ack: Seq(last.unwrap_or(input.initial_sequence.wrapping_add(1))),
                    window: 65_535,
                    flags: Flags::ACK,
                    ..Segment::default()
                };
                end.on_segment(now, &segment, &mut out);
            }
            Step::Write(octets) if !closed => end.write(now, Bytes(u64::from(*octets)), &mut out),
            Step::Read(octets) => {
                end.read_now(now, Bytes(u64::from(*octets)), &mut out);
            }
            Step::Close if !closed => {
                closed = true;
                end.close(now, &mut out);
            }
            Step::Wait(us) => now += SimDuration::from_micros(u64::from(*us)),
            Step::Timer if end.deadline() != ackclock_units::SimTime::NEVER => {
                now = now.max(end.deadline());
                end.on_timer(now, &mut out);
            }
            _ => {}
        }
        assert!(end.pipe().0 <= 2 * end.flight_size().0, "pipe {} of flight {}", end.pipe(), end.flight_size());
        assert!(out.iter().all(|sent| sent.payload <= end.mss().max(config.mss)));
    }
});
