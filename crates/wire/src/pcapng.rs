//! A capture file that Wireshark, tshark and tcptrace read: pcapng (draft-ietf-opsawg-pcapng), one section, interfaces of
//! raw IP packets, times in nanoseconds.
//!
//! Our own, because it is three kinds of block, and the crate for it (`pcap-file`) is between releases: its 2.0 is old, and
//! of 3.0 there are candidates only.
//!
//! Departures: always little-endian, so that the same run gives the same bytes on every machine. The link type is RAW
//! (101), not IPV4 (228), which older tools such as tcptrace do not know.

use std::io::{self, Write};

use ackclock_units::SimTime;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINKTYPE_RAW: u16 = 101;
/// A limit of zero is none.
const SNAP_LEN: u32 = 0;

const OPTION_END: u16 = 0;
const OPTION_USER_APPLICATION: u16 = 4;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;
/// Ticks are 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Writes a capture file packet by packet.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: W,
    /// The block under construction, kept to be used again.
    body: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a file whose interfaces have the given names. `out` gets a write for each block: buffer it.
    pub fn new(out: W, interface_names: &[impl AsRef<str>]) -> io::Result<Self> {
        let mut writer = Self { out, body: Vec::new() };
        writer.section_header()?;
        for name in interface_names {
            writer.interface_description(name.as_ref())?;
        }
        Ok(writer)
    }

    /// Appends a packet: at which of the interfaces, what was kept of it, and its length on the wire.
    pub fn packet(
        &mut self,
        interface: u32,
        time: SimTime,
        packet_header_bytes: &[u8],
        original_len: u32,
    ) -> io::Result<()> {
        let captured_len = u32::try_from(packet_header_bytes.len()).ok().filter(|&captured| captured <= original_len);
        let captured_len = captured_len.ok_or_else(|| {
            let kept = packet_header_bytes.len();
            invalid(format!("{kept} bytes were captured of a packet of only {original_len} bytes"))
        })?;
        self.words(&[interface, (time.0 >> 32) as u32, time.0 as u32, captured_len, original_len]);
        self.padded(packet_header_bytes);
        self.block(ENHANCED_PACKET)
    }

    /// Gives the destination back.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn section_header(&mut self) -> io::Result<()> {
        // Version 1.0; a section length of -1 is unknown.
        self.words(&[BYTE_ORDER_MAGIC, 1, u32::MAX, u32::MAX]);
        self.option(OPTION_USER_APPLICATION, b"ackclock")?;
        self.option(OPTION_END, &[])?;
        self.block(SECTION_HEADER)
    }

    fn interface_description(&mut self, name: &str) -> io::Result<()> {
        self.words(&[u32::from(LINKTYPE_RAW), SNAP_LEN]);
        self.option(OPTION_INTERFACE_NAME, name.as_bytes())?;
        self.option(OPTION_TIME_RESOLUTION, &[NANOSECONDS])?;
        self.option(OPTION_END, &[])?;
        self.block(INTERFACE_DESCRIPTION)
    }

    fn words(&mut self, words: &[u32]) {
        self.body.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let len = u16::try_from(value.len())
            .map_err(|_| invalid(format!("an interface name of {} bytes is longer than 65535 bytes", value.len())))?;
        self.body.extend(code.to_le_bytes());
        self.body.extend(len.to_le_bytes());
        self.padded(value);
        Ok(())
    }

    fn padded(&mut self, octets: &[u8]) {
        self.body.extend(octets);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    /// Writes the body between its type and length and the length again, and empties it.
    fn block(&mut self, kind: u32) -> io::Result<()> {
        let len = (12 + self.body.len() as u32).to_le_bytes();
        self.body.splice(0..0, kind.to_le_bytes().into_iter().chain(len));
        self.body.extend(len);
        let written = self.out.write_all(&self.body);
        self.body.clear();
        written
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_block_is_laid_out_as_the_draft_says() {
        let mut writer = PcapngWriter::new(Vec::new(), &["wire"]).unwrap();
        let headers = writer.out.len();
        writer.packet(1, SimTime(0x0102_0304_0506_0708), &[0xaa; 5], 1_500).unwrap();
        #[rustfmt::skip]
        let expected = [
            6, 0, 0, 0,  40, 0, 0, 0,  1, 0, 0, 0,                       // kind, length, interface
            4, 3, 2, 1,  8, 7, 6, 5,                                     // time: upper half, then lower half
            5, 0, 0, 0,  0xdc, 5, 0, 0,                                  // 5 octets of 1500
            0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0, 0, 0,  40, 0, 0, 0,         // padded to whole words; length again
        ];
        assert_eq!(writer.into_inner()[headers..], expected);
    }

    #[test]
    fn a_packet_cannot_have_more_captured_than_it_had() {
        let mut writer = PcapngWriter::new(Vec::new(), &["wire"]).unwrap();
        let before = writer.out.clone();
        let error = writer.packet(0, SimTime::ZERO, &[0; 41], 40).unwrap_err();
        assert_eq!(error.to_string(), "41 bytes were captured of a packet of only 40 bytes");
        assert_eq!(writer.into_inner(), before);
    }

    #[test]
    fn an_interface_name_has_a_16_bit_length() {
        assert!(PcapngWriter::new(Vec::new(), &["x".repeat(65_535)]).is_ok());
        let error = PcapngWriter::new(Vec::new(), &["x".repeat(65_536)]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
