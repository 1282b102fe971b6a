//! TCP options as bytes: maximum segment size (RFC 9293 section 3.2), window scale and timestamps (RFC 7323), SACK
//! (RFC 2018).
//!
//! Departures: MSS, window scale and SACK-permitted are written and believed on a SYN only, SACK blocks on other segments
//! only, as those documents say they are sent; elsewhere they are skipped like options that nobody knows.

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

/// Writes the options of `segment`, padded to whole words, in the order of Linux.
pub(crate) fn emit_all(segment: &Segment, out: &mut Vec<u8>) {
    if segment.flags.has(Flags::SYN) {
        emit_syn(segment, out);
        return;
    }
    if let Some(timestamps) = segment.timestamps {
        out.extend([NOP, NOP]);
        emit_timestamps(timestamps, out);
    }
    let blocks = segment.carried_sack_blocks();
    if !blocks.is_empty() {
        out.extend([NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
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
    // SACK-permitted takes the place of the two NOPs before the timestamps, where there are any.
    match (segment.syn.sack_permitted, segment.timestamps) {
        (true, Some(_)) => out.extend([SACK_PERMITTED, 2]),
        (false, Some(_)) => out.extend([NOP, NOP]),
        (true, None) => out.extend([NOP, NOP, SACK_PERMITTED, 2]),
        (false, None) => {}
    }
    if let Some(timestamps) = segment.timestamps {
        emit_timestamps(timestamps, out);
    }
    if let Some(shift) = segment.syn.window_scale {
        out.extend([NOP, WINDOW_SCALE, 3, shift]);
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
    while let Some((&kind, after_kind)) = rest.split_first() {
        match kind {
            END => break,
            NOP => rest = after_kind,
            _ => {
                // A length counts its own octet and that of the kind (RFC 9293 section 3.1).
                let len = *after_kind.first().ok_or(ParseError::OptionWithoutLength { kind })?;
                let value = rest.get(2..usize::from(len)).ok_or(ParseError::OptionLength { kind, len })?;
                parse_one(kind, value, segment).ok_or(ParseError::OptionLength { kind, len })?;
                rest = &rest[usize::from(len)..];
            }
        }
    }
    Ok(())
}

/// `None` if the option cannot be as long as `value` is.
fn parse_one(kind: u8, value: &[u8], segment: &mut Segment) -> Option<()> {
    let is_syn = segment.flags.has(Flags::SYN);
    match kind {
        MSS => {
            let mss = u16::from_be_bytes(value.try_into().ok()?);
            segment.syn.mss = if is_syn { mss } else { 0 };
        }
        WINDOW_SCALE => {
            let &[shift] = value else { return None };
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
