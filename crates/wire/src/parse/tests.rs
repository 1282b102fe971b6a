//! Whatever is written reads back; whatever else is read gives an error that says what is wrong.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::accurate::AccurateEcn;
use crate::emit::emit;
use crate::segment::{SackBlock, SackBlocks, SynOptions, Timestamps};

fn addresses() -> impl Strategy<Value = Addresses> {
    let end = || (any::<u32>(), any::<u16>()).prop_map(|(ip, port)| SocketAddrV4::new(Ipv4Addr::from_bits(ip), port));
    (end(), end()).prop_map(|(source, destination)| Addresses { source, destination })
}

fn timestamps() -> impl Strategy<Value = Option<Timestamps>> {
    option::of((any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo }))
}

fn sack_blocks(at_most: usize) -> impl Strategy<Value = SackBlocks> {
    vec((any::<u32>(), any::<u32>()), 0..=at_most).prop_map(|pairs| {
        let mut blocks = SackBlocks::default();
        for (start, end) in pairs {
            blocks.push(SackBlock { start: Seq(start), end: Seq(end) });
        }
        blocks
    })
}

fn syn_options() -> impl Strategy<Value = SynOptions> {
    (any::<u16>(), option::of(0..=14u8), any::<[bool; 2]>()).prop_map(|(mss, window_scale, permitted)| SynOptions {
        mss,
        window_scale,
        sack_permitted: permitted[0],
        ack_control_permitted: permitted[1],
    })
}

fn accurate() -> impl Strategy<Value = Option<AccurateEcn>> {
    option::of((any::<bool>(), any::<[u32; 3]>()).prop_map(|(first, counts)| AccurateEcn::full(first, counts)))
}

fn fixed_fields() -> impl Strategy<Value = Segment> {
    (any::<[u32; 2]>(), 0..=65_000u32, any::<u16>(), 0..0x200u16, 0..4u8).prop_map(
        |([seq, ack], payload, window, flags, ecn)| Segment {
            seq: Seq(seq),
            ack: Seq(ack),
            payload,
            window,
            flags: Flags(flags),
            ecn: Ecn::of_bits(ecn),
            ..Segment::default()
        },
    )
}

/// Segments that carry only what their kind can carry.
fn segments() -> impl Strategy<Value = Segment> {
    let options = (timestamps(), syn_options(), sack_blocks(4), prop_oneof![Just(0), any::<u8>()], accurate());
    (fixed_fields(), options).prop_map(|(fixed, (timestamps, syn, sack, ack_ratio, accurate))| {
        let mut segment = Segment { timestamps, ..fixed };
        if segment.flags.has(Flags::SYN) {
            segment.syn = syn;
        } else {
            segment.ack_ratio = ack_ratio;
            segment.sack = sack;
            let carried = segment.carried_sack_blocks().to_vec();
            segment.sack = SackBlocks::default();
            for block in carried {
                segment.sack.push(block);
            }
        }
        if let Some(accurate) = accurate {
            segment.set_accurate_ecn(accurate);
        }
        segment
    })
}

/// The sum of all 16-bit words with its carries folded in; 0xffff over anything that contains its own checksum.
fn ones_complement_sum(words: impl Iterator<Item = u16>) -> u16 {
    words.fold(0, |sum: u16, word| {
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}

fn words(octets: &[u8]) -> impl Iterator<Item = u16> {
    octets.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

proptest! {
    //= rfc9293-3.1-option-kinds
    #[test]
    fn what_was_written_reads_back(segment in segments(), addresses in addresses(), identification: u16) {
        let mut packet = Vec::new();
        emit(&segment, addresses, identification, &mut packet).expect("payloads are short enough");
        prop_assert_eq!(packet.len() as u32 + segment.payload, segment.ip_len());
        prop_assert_eq!(parse(&packet), Ok((addresses, segment)));
    }

    //= rfc9293-3.1-checksum-sent
    #[test]
    fn both_checksums_hold(segment in segments(), addresses in addresses(), identification: u16) {
        let mut packet = Vec::new();
        emit(&segment, addresses, identification, &mut packet).expect("payloads are short enough");
        prop_assert_eq!(ones_complement_sum(words(&packet[..20])), 0xffff);
        let tcp_len = (segment.ip_len() - 20) as u16;
        let pseudo_header = words(&packet[12..20]).chain([6, tcp_len]);
        prop_assert_eq!(ones_complement_sum(pseudo_header.chain(words(&packet[20..]))), 0xffff);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..100)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn no_options_make_it_panic_or_read_differently_the_second_time(
        options in vec(any::<u8>(), 40), first in 0..9u8, flags: u8,
    ) {
        let mut packet = packet_with_options(&options);
        packet[40] = first;
        packet[33] = flags;
        if let Ok((addresses, segment)) = parse(&packet) {
            let mut again = Vec::new();
            emit(&segment, addresses, 0, &mut again).expect("the payload is empty");
            prop_assert_eq!(parse(&again), Ok((addresses, segment)));
        }
    }
}

/// A segment without payload that carries these options.
fn packet_with_options(options: &[u8]) -> Vec<u8> {
    let len = 40 + options.len();
    let mut packet = vec![0; 40];
    packet[0] = 0x45;
    packet[3] = len as u8;
    packet[9] = 6;
    packet[32] = ((len - 20) as u8 / 4) << 4;
    packet[33] = Flags::ACK.0 as u8;
    packet.extend(options);
    packet
}

fn error_of(packet: &[u8]) -> ParseError {
    parse(packet).expect_err("the packet is malformed")
}

//= rfc9293-3.1-unknown-options
#[test]
fn options_that_nobody_knows_are_skipped() {
    // Kind 30 (MPTCP) of 4 octets, then timestamps, the end of the list, and rubbish behind it.
    let packet = packet_with_options(&[30, 4, 9, 9, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 0, 255]);
    assert_eq!(parse(&packet).unwrap().1.timestamps, Some(Timestamps { value: 1, echo: 2 }));
}

//= rfc2018-2-syn-only
#[test]
fn options_of_a_syn_mean_nothing_elsewhere() {
    let packet = packet_with_options(&[2, 4, 5, 0xb4, 1, 3, 3, 7, 1, 1, 4, 2]);
    assert_eq!(parse(&packet).unwrap().1.syn, SynOptions::default());
}

#[test]
fn another_experiment_with_the_same_numbers_is_skipped() {
    // Kind 253 with an identifier as RFC 6994 has it, kind 254 of 4 octets.
    let (_, segment) = parse(&packet_with_options(&[253, 4, 0, 1, 254, 4, 7, 7])).unwrap();
    assert_eq!((segment.syn, segment.ack_ratio), (SynOptions::default(), 0));
}

//= rfc7323-2.3-fourteen
#[test]
fn a_shift_above_14_means_14() {
    let mut packet = packet_with_options(&[1, 3, 3, 255]);
    packet[33] = Flags::SYN.0 as u8;
    assert_eq!(parse(&packet).unwrap().1.syn.window_scale, Some(14));
}

//= rfc9293-3.1-illegal-option-length
#[test]
fn illegal_options_are_named() {
    let of = |options: &[u8]| error_of(&packet_with_options(options));
    assert_eq!(of(&[8, 0, 0, 0]), ParseError::OptionLength { kind: 8, len: 0 }); // would never end
    assert_eq!(of(&[99, 1, 0, 0]), ParseError::OptionLength { kind: 99, len: 1 }); // unknown, and shorter than itself
    assert_eq!(of(&[8, 10, 0, 0]), ParseError::OptionLength { kind: 8, len: 10 }); // beyond the header
    assert_eq!(of(&[2, 3, 0, 1]), ParseError::OptionLength { kind: 2, len: 3 });
    assert_eq!(of(&[5, 2, 1, 1]), ParseError::OptionLength { kind: 5, len: 2 }); // SACK without a block
    assert_eq!(of(&[5, 7, 1, 1, 1, 1, 1, 1]), ParseError::OptionLength { kind: 5, len: 7 });
    assert_eq!(of(&[1, 1, 1, 2]), ParseError::OptionWithoutLength { kind: 2 });
}

#[test]
fn illegal_headers_are_named() {
    let with = |changes: &[(usize, u8)]| {
        let mut packet = packet_with_options(&[]);
        for &(place, octet) in changes {
            packet[place] = octet;
        }
        error_of(&packet)
    };
    assert_eq!(error_of(&[]), ParseError::Truncated { needed: 20, available: 0 });
    assert_eq!(with(&[(0, 0x65)]), ParseError::NotIpv4 { version: 6 });
    assert_eq!(with(&[(0, 0x44)]), ParseError::HeaderLength { header: "IPv4", words: 4 });
    assert_eq!(with(&[(0, 0x4f)]), ParseError::Truncated { needed: 80, available: 40 });
    assert_eq!(with(&[(6, 0x20)]), ParseError::Fragment); // more to come
    assert_eq!(with(&[(7, 0x01)]), ParseError::Fragment); // not the first
    assert_eq!(with(&[(9, 17)]), ParseError::NotTcp { protocol: 17 });
    assert_eq!(with(&[(32, 0x40)]), ParseError::HeaderLength { header: "TCP", words: 4 });
    assert_eq!(with(&[(32, 0x60), (3, 44)]), ParseError::Truncated { needed: 44, available: 40 });
    assert_eq!(with(&[(3, 39)]), ParseError::TotalLength { total_len: 39, headers: 40 });
}
