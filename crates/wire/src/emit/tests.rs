//! Two packets worked by hand.

use super::*;
use crate::segment::{Ecn, Flags, SackBlock, SackBlocks, SynOptions, Timestamps};
use crate::seq::Seq;

const ADDRESSES: Addresses = Addresses {
    source: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 40_000),
    destination: SocketAddrV4::new(Ipv4Addr::new(172, 16, 0, 1), 5_001),
};

fn emitted(segment: &Segment, identification: u16) -> Vec<u8> {
    let mut out = Vec::new();
    emit(segment, ADDRESSES, identification, &mut out).expect("the segment is short enough");
    out
}

#[test]
fn a_syn_is_that_of_linux() {
    let segment = Segment {
        seq: Seq(1_000),
        window: 65_535,
        flags: Flags::SYN,
        syn: SynOptions { mss: 1_460, window_scale: Some(7), sack_permitted: true, ..SynOptions::default() },
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..Segment::default()
    };
    // IPv4: 4500 + 003c + 0001 + 4000 + 4006 + 0a00 + 0001 + ac10 + 0001 = 17b55; 7b55 + 1 = 7b56; complement 84a9.
    // TCP: pseudo header 0a00 + 0001 + ac10 + 0001 + 0006 + 0028 (40 octets) = b640; + ports 9c40 + 1389 = 16609;
    // + seq 03e8 = 169f1; + offset and flags a002 = 209f3; + window ffff = 309f2; + MSS 0204 + 05b4 = 311aa;
    // + SACK-permitted 0402 = 315ac; + timestamps 080a + 0001 = 31db7; + scale 0103 + 0307 = 321c1;
    // 21c1 + 3 = 21c4; complement de3b.
    #[rustfmt::skip]
    let expected = [
        0x45, 0x00, 0x00, 0x3c, 0x00, 0x01, 0x40, 0x00, 0x40, 0x06, 0x84, 0xa9, 10, 0, 0, 1, 172, 16, 0, 1,
        0x9c, 0x40, 0x13, 0x89, 0x00, 0x00, 0x03, 0xe8, 0, 0, 0, 0, 0xa0, 0x02, 0xff, 0xff, 0xde, 0x3b, 0, 0,
        2, 4, 0x05, 0xb4,  4, 2,  8, 10, 0, 0, 0, 1, 0, 0, 0, 0,  1,  3, 3, 7,
    ];
    assert_eq!(emitted(&segment, 1), expected);
}

#[test]
fn a_data_segment_sums_its_zeros_as_absent() {
    let segment = Segment {
        seq: Seq(1_001),
        ack: Seq(2_001),
        payload: 1_448,
        window: 502,
        flags: Flags::ACK.with(Flags::PSH),
        ecn: Ecn::Ect0,
        timestamps: Some(Timestamps { value: 2, echo: 1 }),
        ..Segment::default()
    };
    // IPv4: 4502 + 05dc + 0002 + 4000 + 4006 + 0a00 + 0001 + ac10 + 0001 = 180f8; 80f8 + 1 = 80f9; complement 7f06.
    // TCP: pseudo header 0a00 + 0001 + ac10 + 0001 + 0006 + 05c8 (32 + 1448 octets) = bbe0; + ports 9c40 + 1389 = 16ba9;
    // + seq 03e9 = 16f92; + ack 07d1 = 17763; + offset and flags 8018 = 1f77b; + window 01f6 = 1f971;
    // + NOPs 0101 = 1fa72; + timestamps 080a + 0002 + 0001 = 2027f; 027f + 2 = 0281; complement fd7e.
    #[rustfmt::skip]
    let expected = [
        0x45, 0x02, 0x05, 0xdc, 0x00, 0x02, 0x40, 0x00, 0x40, 0x06, 0x7f, 0x06, 10, 0, 0, 1, 172, 16, 0, 1,
        0x9c, 0x40, 0x13, 0x89, 0x00, 0x00, 0x03, 0xe9, 0x00, 0x00, 0x07, 0xd1, 0x80, 0x18, 0x01, 0xf6, 0xfd, 0x7e, 0, 0,
        1, 1,  8, 10, 0, 0, 0, 2, 0, 0, 0, 1,
    ];
    assert_eq!(emitted(&segment, 2), expected);
}

#[test]
fn sack_blocks_follow_the_timestamps() {
    let mut segment = Segment { flags: Flags::ACK, timestamps: Some(Timestamps::default()), ..Segment::default() };
    segment.sack.push(SackBlock { start: Seq(0x0102_0304), end: Seq(0x0506_0708) });
    let packet = emitted(&segment, 0);
    assert_eq!(packet[40..], [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_fourth_sack_block_has_no_space_beside_timestamps() {
    let mut sack = SackBlocks::default();
    (1..=4).for_each(|start| sack.push(SackBlock { start: Seq(start), end: Seq(start + 1) }));
    let with_timestamps =
        Segment { flags: Flags::ACK, sack, timestamps: Some(Timestamps::default()), ..Segment::default() };
    assert_eq!(emitted(&with_timestamps, 0).len(), 80); // 20 + 20 + 12 + 4 + 3 * 8
    assert_eq!(emitted(&Segment { timestamps: None, ..with_timestamps }, 0).len(), 76); // 20 + 20 + 4 + 4 * 8
}

#[test]
fn the_options_of_ack_congestion_control_have_the_numbers_of_experiments() {
    // RFC 5690 sections 4.1, 4.2 and 10; RFC 4727 section 3: 253 and 254.
    let syn = SynOptions { ack_control_permitted: true, ..SynOptions::default() };
    let packet = emitted(&Segment { flags: Flags::SYN, syn, ..Segment::default() }, 0);
    assert_eq!(packet[40..], [1, 1, 253, 2]);
    let data = Segment { flags: Flags::ACK, payload: 100, ack_ratio: 8, ..Segment::default() };
    assert_eq!(emitted(&data, 0)[40..], [254, 3, 8, 1]);
    let timestamps = Some(Timestamps::default());
    let packet = emitted(&Segment { timestamps, ..data }, 0);
    assert_eq!(packet[40..], [8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 254, 3, 8, 1, 1, 1]);
}

#[test]
fn a_length_beyond_16_bits_is_refused() {
    let segment = Segment { flags: Flags::ACK, payload: 65_495, ..Segment::default() };
    assert_eq!(emitted(&segment, 0)[2..4], [0xff, 0xff]); // 40 + 65,495 = 65,535
    let mut out = vec![7];
    let too_long = Segment { payload: 65_496, ..segment };
    assert_eq!(emit(&too_long, ADDRESSES, 0, &mut out), Err(TooLong { ip_len: 65_536 }));
    assert_eq!(out, [7]);
}
