//! The server name in the first message of TLS, read as it passes: nothing is decrypted.
//!
//! Source: RFC 8446 sections 4 (handshake messages), 4.1.2 (`ClientHello`), 4.2 (extensions) and 5.1 (records), which earlier versions
//! share in form; RFC 6066 section 3 (`server_name`).
//!
//! Departures: what a server looks at and this does not (versions, cipher suites, other extensions) may be anything.

/// A longer `ClientHello` counts as none. A record holds 16 KiB, and hellos with keys for post-quantum key exchange take two.
pub const LONGEST: usize = 16 << 10;

/// A longer host name is none (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;

/// Octets of a record's header, and the most that it may announce (RFC 8446 section 5.1).
const RECORD_HEADER: usize = 5;
const MAX_FRAGMENT: usize = 1 << 14;

/// Octets before the body of a handshake message: its type and its length.
const MESSAGE_HEADER: usize = 4;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: usize = 0;
const HOST_NAME: usize = 0;

/// Result of looking at the first octets of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// A `ClientHello`, with the server name in lower case if it has one.
    Name(Option<String>),
    /// The beginning of a `ClientHello`.
    Incomplete,
    /// The octets are something else.
    Other,
}

/// Reads a `ClientHello` at the beginning of `octets`, however many records it spans.
pub fn read(octets: &[u8]) -> Read {
    let mut message = Vec::new();
    let mut rest = octets;
    loop {
        // Whatever is there of a header decides, so that another protocol is known by its first octet.
        let is_handshake = rest.first().is_none_or(|kind| *kind == HANDSHAKE);
        if !is_handshake || rest.get(1).is_some_and(|major| *major != 3) {
            return Read::Other;
        }
        let Some((header, after)) = rest.split_at_checked(RECORD_HEADER) else { break };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if !(1..=MAX_FRAGMENT).contains(&length) {
            return Read::Other;
        }
        let (fragment, after) = after.split_at(length.min(after.len()));
        message.extend_from_slice(fragment);
        match body(&message) {
            Err(read) => return read,
            Ok(Some(body)) => return hello(Octets(body)).map_or(Read::Other, Read::Name),
            Ok(None) if fragment.len() < length => break,
            Ok(None) => rest = after,
        }
    }
    if octets.len() < LONGEST { Read::Incomplete } else { Read::Other }
}

/// The body of a handshake message, once it is whole.
fn body(message: &[u8]) -> Result<Option<&[u8]>, Read> {
    if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
        return Err(Read::Other);
    }
    let Some((header, body)) = message.split_at_checked(MESSAGE_HEADER) else { return Ok(None) };
    let length = usize::from(header[1]) << 16 | usize::from(header[2]) << 8 | usize::from(header[3]);
    if length > LONGEST { Err(Read::Other) } else { Ok(body.get(..length)) }
}

/// The name in a `ClientHello`; `None` where its lengths contradict each other.
#[allow(clippy::option_option, reason = "a hello without a name is one all the same")]
fn hello(mut octets: Octets<'_>) -> Option<Option<String>> {
    let (_version, _random) = (octets.take(2)?, octets.take(32)?);
    let (session, suites, compressions) = (octets.vector::<1>()?, octets.vector::<2>()?, octets.vector::<1>()?);
    if session.0.len() > 32 || suites.0.is_empty() || suites.0.len() % 2 != 0 || compressions.0.is_empty() {
        return None;
    }
    if octets.0.is_empty() {
        return Some(None);
    }
    let mut extensions = octets.vector::<2>()?;
    let mut name = None;
    while !extensions.0.is_empty() {
        let (kind, data) = (extensions.number::<2>()?, extensions.vector::<2>()?);
        if kind == SERVER_NAME && name.replace(server_name(data)?).is_some() {
            return None;
        }
    }
    octets.0.is_empty().then_some(name.flatten())
}

/// The host name of a `server_name` extension. RFC 6066: it has no more than one, of ASCII characters.
#[allow(clippy::option_option, reason = "a list of other kinds of names is one all the same")]
fn server_name(mut octets: Octets<'_>) -> Option<Option<String>> {
    let mut names = octets.vector::<2>()?;
    let mut found = None;
    while !names.0.is_empty() {
        let (kind, name) = (names.number::<1>()?, names.vector::<2>()?);
        if kind == HOST_NAME {
            let text = std::str::from_utf8(name.0).ok().filter(|text| !text.is_empty() && text.is_ascii())?;
            let host = (text.len() <= LONGEST_NAME).then(|| text.to_ascii_lowercase());
            if found.replace(host).is_some() {
                return None;
            }
        }
    }
    octets.0.is_empty().then_some(found.flatten())
}

/// Octets that are read from the front. What is `None` asks for more than there are.
struct Octets<'octets>(&'octets [u8]);

impl<'octets> Octets<'octets> {
    fn take(&mut self, count: usize) -> Option<&'octets [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    /// A number of this many octets.
    fn number<const COUNT: usize>(&mut self) -> Option<usize> {
        Some(self.take(COUNT)?.iter().fold(0, |number, octet| number << 8 | usize::from(*octet)))
    }

    /// A vector whose length has this many octets.
    fn vector<const COUNT: usize>(&mut self) -> Option<Self> {
        let length = self.number::<COUNT>()?;
        self.take(length).map(Octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8448 section 3: the record with the `ClientHello` of a handshake with "server".
    const OF_RFC_8448: &str = "16 03 01 00 c4 01 00 00 c0 03 03 cb 34 ec b1 e7 81 63 ba 1c 38 c6 da cb 19 6a 6d ff a2 1a 8d 99 12 ec \
        18 a2 ef 62 83 02 4d ec e7 00 00 06 13 01 13 03 13 02 01 00 00 91 00 00 00 0b 00 09 00 00 06 73 65 72 76 65 72 ff 01 00 \
        01 00 00 0a 00 14 00 12 00 1d 00 17 00 18 00 19 01 00 01 01 01 02 01 03 01 04 00 23 00 00 00 33 00 26 00 24 00 1d 00 20 \
        99 38 1d e5 60 e4 bd 43 d2 3d 8e 43 5a 7d ba fe b3 c0 6e 51 c1 3c ae 4d 54 13 69 1e 52 9a af 2c 00 2b 00 03 02 03 04 00 \
        0d 00 20 00 1e 04 03 05 03 06 03 02 03 08 04 08 05 08 06 04 01 05 01 06 01 02 01 04 02 05 02 06 02 02 02 00 2d 00 02 01 \
        01 00 1c 00 02 40 01";

    /// Places in it, by hand: the extensions' length, the extension `server_name` with the lengths within, and the one after it.
    const EXTENSIONS: usize = 54;
    const NAME_EXTENSION: usize = 56;
    const NAME: usize = 65;
    const NEXT_EXTENSION: usize = 71;

    fn record() -> Vec<u8> {
        OF_RFC_8448.split_whitespace().map(|octet| u8::from_str_radix(octet, 16).unwrap()).collect()
    }

    fn named(name: &str) -> Read {
        Read::Name(Some(name.to_owned()))
    }

    #[test]
    fn the_name_is_that_of_the_rfc_however_the_octets_come() {
        let record = record();
        assert_eq!(record.len(), 201);
        for length in 0..record.len() {
            assert_eq!(read(&record[..length]), Read::Incomplete, "{length}");
        }
        assert_eq!(read(&record), named("server"));
        assert_eq!(read(&[&record[..], b"what comes after"].concat()), named("server"));
        let mut loud = record;
        loud[NAME..NEXT_EXTENSION].copy_from_slice(b"SerVer"); // RFC 6066: names are case-insensitive
        assert_eq!(read(&loud), named("server"));
    }

    /// RFC 8446 section 5.1: "Handshake messages MAY be [...] fragmented across several records."
    #[test]
    fn a_message_may_span_records() {
        let record = record();
        for size in [1, 3, 64, 195] {
            let records = record[5..].chunks(size).flat_map(|part| [&[22, 3, 1, 0, part.len() as u8], part].concat());
            let octets: Vec<u8> = records.collect();
            assert_eq!(read(&octets), named("server"), "records of {size}");
            assert_eq!(read(&octets[..octets.len() - 1]), Read::Incomplete, "records of {size}");
        }
        assert_eq!(read(&[22, 3, 1, 0, 0]), Read::Other, "a record of nothing");
        let interrupted = [&[22, 3, 1, 0, 2, 1, 0][..], &[21, 3, 1, 0, 2, 1, 0]].concat();
        assert_eq!(read(&interrupted), Read::Other, "an alert within");
    }

    /// RFC 1035 section 2.3.4: names have 255 octets or less. The lengths around the name are those of the record, the message, the
    /// extensions, the extension, its list and the name: RFC 8446 sections 5.1, 4 and 4.2, RFC 6066 section 3.
    #[test]
    fn a_longer_name_than_there_are_is_none() {
        let of_length = |length: usize| {
            let mut record = record();
            record.splice(NAME..NEXT_EXTENSION, vec![b'a'; length]);
            for place in [3, 7, EXTENSIONS, NAME_EXTENSION + 2, NAME_EXTENSION + 4, NAME_EXTENSION + 7] {
                let number = u16::from_be_bytes([record[place], record[place + 1]]);
                let number = number - 6 + length as u16;
                record[place..place + 2].copy_from_slice(&number.to_be_bytes());
            }
            record
        };
        assert_eq!(read(&of_length(255)), named(&"a".repeat(255)));
        for length in [256, 12_000] {
            assert_eq!(read(&of_length(length)), Read::Name(None), "{length}");
        }
    }

    #[test]
    fn other_protocols_are_known_by_their_first_octets() {
        for octets in [&b"G"[..], b"SSH-2.0-", b"\x80\x2e\x01\x03\x01", b"\x16\x02", b"\x16\x03\x01\x00\x04\x02"] {
            assert_eq!(read(octets), Read::Other, "{octets:?}");
        }
        assert_eq!(read(b""), Read::Incomplete);
        let [too_long, never_whole] = [[22, 3, 1, 0x40, 1], [22, 3, 1, 0, 4]];
        assert_eq!(read(&too_long), Read::Other, "a record of 16385");
        assert_eq!(read(&[&never_whole[..], &[1, 1, 0, 0]].concat()), Read::Other, "a message of 65536");
    }

    #[test]
    fn a_hello_without_a_name_has_none() {
        let record = record();
        let mut other = record.clone();
        other[NAME_EXTENSION + 1] = 99; // another extension in its place
        assert_eq!(read(&other), Read::Name(None));
        // Up to TLS 1.2 there may be no extensions at all: RFC 5246 section 7.4.1.2.
        let mut bare = record[..EXTENSIONS].to_vec();
        bare[4] = (EXTENSIONS - 5) as u8;
        bare[8] = (EXTENSIONS - 9) as u8;
        assert_eq!(read(&bare), Read::Name(None));
    }

    /// Each length of the message that is one too large or too small contradicts another.
    #[test]
    fn lengths_that_contradict_each_other_are_refused() {
        let record = record();
        let lengths = [43, 45, 52, EXTENSIONS + 1, NAME_EXTENSION + 3, NAME_EXTENSION + 5, NAME_EXTENSION + 8];
        for (place, by) in lengths.into_iter().flat_map(|place| [(place, 1), (place, u8::MAX)]) {
            let mut wrong = record.clone();
            wrong[place] = wrong[place].wrapping_add(by);
            assert_ne!(read(&wrong), named("server"), "octet {place} by {by}");
            assert_ne!(read(&wrong), Read::Incomplete, "octet {place} by {by}");
        }
        let mut odd = record.clone();
        odd[NAME] = 0xc3;
        assert_eq!(read(&odd), Read::Other, "RFC 6066: names are ASCII");
        let mut twice = record;
        twice[NEXT_EXTENSION..NEXT_EXTENSION + 2].fill(0);
        assert_eq!(read(&twice), Read::Other, "RFC 8446 section 4.2: one extension of a type");
    }
}
