//! TCP options as bytes: maximum segment size (RFC 9293 section 3.2), window scale and timestamps (RFC 7323), SACK
//! (RFC 2018), ACK congestion control (RFC 5690), whose two options have the numbers that RFC 4727 sets aside for
//! experiments, as its section 10 says, without the identifier that RFC 6994 later asked of experiments; accurate ECN
//! (RFC 9768) is in [`crate::accurate`].
//!
//! Departures: MSS, window scale and SACK-permitted are written and believed on a SYN only, SACK blocks on other segments
//! only, as those documents say they are sent; elsewhere they are skipped like options that nobody knows. So are options
//! with an experiment's number and another length than ours: they are another experiment's.

use crate::accurate::{AccurateEcn, ORDER_0, ORDER_1};
use crate::parse::ParseError;
use crate::segment::{Flags, SackBlock, Segment, Timestamps};
use crate::seq::Seq;

/// Octets that the options may take: 15 words of header without the fixed five.
pub(crate) const SPACE: u32 = 40;

/// Largest shift of the window (RFC 7323 section 2.3).
const MAX_WINDOW_SCALE: u8 = 14;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACK_CONTROL_PERMITTED: u8 = 253;
const ACK_RATIO: u8 = 254;

/// Writes the options of `segment`, padded to whole words, in the order of Linux.
pub(crate) fn emit_all(segment: &Segment, out: &mut Vec<u8>) {
    if segment.flags.has(Flags::SYN) {
        emit_syn(segment, out);
        return;
    }
    // Beside an ACK Ratio there is no space for NOPs.
    let nops: &[u8] = if segment.ack_ratio > 0 { &[] } else { &[NOP, NOP] };
    let start = out.len();
    if let Some(timestamps) = segment.timestamps {
        out.extend(nops);
        emit_timestamps(timestamps, out);
    }
    if segment.ack_ratio > 0 {
        out.extend([ACK_RATIO, 3, segment.ack_ratio]);
    }
    emit_accurate(segment, out);
    emit_sack(segment.carried_sack_blocks(), nops, out);
    while !(out.len() - start).is_multiple_of(4) {
        out.push(NOP);
    }
}

/// Writes the option in whole words.
fn emit_accurate(segment: &Segment, out: &mut Vec<u8>) {
    if let Some(option) = segment.accurate_ecn() {
        let start = out.len();
        option.emit(out);
        while !(out.len() - start).is_multiple_of(4) {
            out.push(NOP);
        }
    }
}

fn emit_sack(blocks: &[SackBlock], nops: &[u8], out: &mut Vec<u8>) {
    if !blocks.is_empty() {
        out.extend(nops);
        out.extend([SACK, 2 + 8 * blocks.len() as u8]);
    }
    for block in blocks {
        out.extend(block.start.0.to_be_bytes());
        out.extend(block.end.0.to_be_bytes());
    }
}

fn emit_syn(segment: &Segment, out: &mut Vec<u8>) {
    if segment.syn.mss > 0 {
        out.extend([MSS, 4]);
        out.extend(segment.syn.mss.to_be_bytes());
    }
    //= rfc2018-2-syn-only
    // SACK-permitted takes the place of the two NOPs before the timestamps, where there are any.
    if let Some(timestamps) = segment.timestamps {
        let first = if segment.syn.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] };
        out.extend(first);
        emit_timestamps(timestamps, out);
    }
    emit_accurate(segment, out);
    if segment.syn.sack_permitted && segment.timestamps.is_none() {
        out.extend([NOP, NOP, SACK_PERMITTED, 2]);
    }
    if let Some(shift) = segment.syn.window_scale {
        out.extend([NOP, WINDOW_SCALE, 3, shift]);
    }
    if segment.syn.ack_control_permitted {
        out.extend([NOP, NOP, ACK_CONTROL_PERMITTED, 2]);
    }
}

fn emit_timestamps(timestamps: Timestamps, out: &mut Vec<u8>) {
    out.extend([TIMESTAMPS, 10]);
    out.extend(timestamps.value.to_be_bytes());
    out.extend(timestamps.echo.to_be_bytes());
}

/// Reads the options into `segment`, whose flags are known already. Of an option that comes twice the last one counts
/// (SACK blocks add up).
pub(crate) fn parse_all(mut rest: &[u8], segment: &mut Segment) -> Result<(), ParseError> {
    //= rfc9293-3.1-option-kinds
    while let Some((&kind, after_kind)) = rest.split_first() {
        match kind {
            END => break,
            NOP => rest = after_kind,
            _ => {
                // A length counts its own octet and that of the kind (RFC 9293 section 3.1).
                let len = *after_kind.first().ok_or(ParseError::OptionWithoutLength { kind })?;
                //= rfc9293-3.1-illegal-option-length
                let value = rest.get(2..usize::from(len)).ok_or(ParseError::OptionLength { kind, len })?;
                parse_one(kind, value, segment).ok_or(ParseError::OptionLength { kind, len })?;
                rest = &rest[usize::from(len)..];
            }
        }
    }
    // Another stack may have packed its options without NOPs, so that ours would take more space than there is.
    if let Some(option) = segment.accurate_ecn() {
        segment.sack.remove_accurate();
        segment.set_accurate_ecn(option);
    }
    Ok(())
}

/// `None` if the option cannot be as long as `value` is.
//= rfc9293-3.1-unknown-options
fn parse_one(kind: u8, value: &[u8], segment: &mut Segment) -> Option<()> {
    let is_syn = segment.flags.has(Flags::SYN);
    match kind {
        MSS => {
            let mss = u16::from_be_bytes(value.try_into().ok()?);
            segment.syn.mss = if is_syn { mss } else { 0 };
        }
        WINDOW_SCALE => {
            let &[shift] = value else { return None };
            //= rfc7323-2.3-fourteen
            // A larger shift means 14 (RFC 7323 section 2.3).
            segment.syn.window_scale = is_syn.then_some(shift.min(MAX_WINDOW_SCALE));
        }
        SACK_PERMITTED => {
            let [] = value else { return None };
            segment.syn.sack_permitted = is_syn;
        }
        TIMESTAMPS => {
            let (value, echo) = two_words(value)?;
            segment.timestamps = Some(Timestamps { value, echo });
        }
        SACK => parse_sack(value, segment)?,
        ORDER_0 | ORDER_1 => segment.sack.set_accurate(AccurateEcn::parse(kind, value)?),
        ACK_CONTROL_PERMITTED if value.is_empty() => segment.syn.ack_control_permitted = is_syn,
        ACK_RATIO => {
            if let (&[ratio], false) = (value, is_syn) {
                segment.ack_ratio = ratio;
            }
        }
        _ => {}
    }
    Some(())
}

fn parse_sack(value: &[u8], segment: &mut Segment) -> Option<()> {
    if value.is_empty() {
        return None;
    }
    for block in value.chunks(8) {
        let (start, end) = two_words(block)?;
        if !segment.flags.has(Flags::SYN) {
            segment.sack.push(SackBlock { start: Seq(start), end: Seq(end) });
        }
    }
    Some(())
}

fn two_words(octets: &[u8]) -> Option<(u32, u32)> {
    let octets: [u8; 8] = octets.try_into().ok()?;
    let both = u64::from_be_bytes(octets);
    Some(((both >> 32) as u32, both as u32))
}
