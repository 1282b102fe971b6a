//! Reads files that a user names, so that none blocks or fills the memory.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::path::Path;

use crate::attachments::BYTE_ORDER_MARK;

/// The longest scenario, octets.
pub const MOST_OF_SCENARIO: u64 = 64 << 20;
/// The longest policy, octets: sixteen million weights.
pub(crate) const MOST_OF_POLICY: u64 = 64 << 20;
/// The longest trace, list of arrivals or distribution, octets: a line for each full packet of a minute at 10 Gbit/s.
pub(crate) const MOST_OF_TABLE: u64 = 500_000_000;

/// Reads a regular file, or a device that ends, of at most `most` octets.
///
/// # Errors
///
/// If it cannot be read, is longer, or is a folder, a pipe, a socket or a terminal: reading one could wait for ever.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path).map_err(|error| of_link(path, error))?;
    if let Some(what) = no_file(&metadata) {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {what}, not a regular file")));
    }
    let file = File::open(path)?;
    if file.is_terminal() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is a terminal, not a regular file"));
    }
    let mut content = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("it is larger than {} MB", most / 1_000_000)));
    }
    Ok(content)
}

/// Reads a text as [`read_file`] does, without a byte order mark.
///
/// # Errors
///
/// If [`read_file`] fails, or the text is not UTF-8; the error names the first wrong octet.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::from_utf8(read_file(path, most)?).map_err(|error| {
        let (before, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let line = before.split(|octet| *octet == b'\n').count();
        let at = before.len() - before.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1) + 1;
        let octet = rest.first().copied().unwrap_or_default();
        let message = format!("it is not text in UTF-8: octet {octet:#04x} in line {line}, the {at}. of that line");
        io::Error::new(ErrorKind::InvalidData, message)
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

/// An error that tells a missing target from a missing link: a link to nothing exists.
fn of_link(path: &Path, error: io::Error) -> io::Error {
    match (error.kind(), std::fs::read_link(path)) {
        (ErrorKind::NotFound, Ok(target)) => {
            let message = format!("it is a link to {}, which does not exist", target.display());
            io::Error::new(ErrorKind::NotFound, message)
        }
        (_, Ok(_)) if error.kind() != ErrorKind::PermissionDenied => {
            io::Error::new(ErrorKind::InvalidInput, format!("it is a link that cannot be followed: {error}"))
        }
        _ => error,
    }
}

/// The word for a file that may never end; `None` for a regular file.
fn no_file(metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_block_device() {
            return Some("a block device");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_end_a_folder_and_what_is_too_long_are_refused() {
        let said = |path: &str, most| read_file(Path::new(path), most).expect_err("refused").to_string();
        assert_eq!(said("/dev/zero", 1_000_000), "it is larger than 1 MB");
        assert_eq!(said("/", 1), "it is a folder, not a regular file");
        assert_eq!(read_file(Path::new("/dev/null"), 0).expect("empty"), b"");
    }

    #[test]
    fn the_first_octet_that_is_no_text_is_named_with_its_line() {
        let path = std::env::temp_dir().join(format!("ackclock-reading-{}", std::process::id()));
        std::fs::write(&path, b"ab\ncd\xff").expect("written");
        let error = read_text(&path, 100).expect_err("no text").to_string();
        std::fs::write(&path, "\u{feff}{}").expect("written"); // RFC 8259 section 8.1: it may be ignored
        assert_eq!(read_text(&path, 100).expect("text"), "{}");
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(error, "it is not text in UTF-8: octet 0xff in line 2, the 3. of that line");
    }
}
