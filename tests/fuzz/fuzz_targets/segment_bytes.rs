//! Can any bytes make the parser of packets panic, or read as a segment that does not survive being written again?

#![no_main]

use ackclock_wire::{Segment, emit, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((addresses, segment)) = parse(bytes) else { return };
    // Options may take more octets when written again, padded: leave a long payload room.
    let segment = Segment { payload: segment.payload.min(60_000), ..segment };
    let mut packet = Vec::new();
    emit(&segment, addresses, 1, &mut packet).expect("the packet is below 65,536 octets");
    assert_eq!(packet.len() as u32 + segment.payload, segment.ip_len());
    assert_eq!(parse(&packet), Ok((addresses, segment)));
});
