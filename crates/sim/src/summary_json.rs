//! `summary.json` as Python writes it, directly into the file: as Python's own values, the summary of a hundred
//! thousand flows takes more memory than their simulation did.

use std::io::{self, Write};

use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::outcome::Summary;

/// Writes a summary with the bytes of Python's `json.dumps(summary, indent=2, ensure_ascii=False)` and a newline: those
/// of `summary.json`, whoever writes it.
pub fn write_summary(summary: &Summary, out: impl Write) -> io::Result<()> {
    write(summary, out)
}

fn write(summary: &impl serde::Serialize, mut out: impl Write) -> io::Result<()> {
    summary.serialize(&mut Serializer::with_formatter(&mut out, AsPython(PrettyFormatter::new())))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A formatter with two spaces a level, as in both languages, and with numbers as Python writes them.
struct AsPython(PrettyFormatter<'static>);

impl Formatter for AsPython {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        let size = value.abs();
        if size == 0.0 || (1e-4..1e16).contains(&size) {
            return write!(out, "{value:?}"); // the shortest that is read as this number, in both languages
        }
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').expect("a number in this form has an exponent");
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        write!(out, "{digits}e{sign}{exponent:0>2}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected texts are the output of `python3 -c 'print(repr(...))'` for each number.
    #[test]
    fn numbers_are_as_python_writes_them() {
        let numbers = [0.0, -0.0, 1.0, 0.1, 5_282_304.0, 0.0001, 0.000_099, 1e-5, 1.5e-7, -2.5e-12, 1e15, 1e16];
        let mut text = Vec::new();
        write(&numbers, &mut text).expect("a Vec takes all");
        let text = String::from_utf8(text).expect("text");
        let written: Vec<&str> = text.trim_matches(['[', ']', '\n']).split(',').map(str::trim).collect();
        let python = ["0.0", "-0.0", "1.0", "0.1", "5282304.0", "0.0001", "9.9e-05", "1e-05", "1.5e-07", "-2.5e-12"];
        assert_eq!(written, [&python[..], &["1000000000000000.0", "1e+16"]].concat());
        let mut large = Vec::new();
        write(&(1.797_693_134_862_315_7e308, 123_456_789_012_345_680_000.0), &mut large).expect("a Vec takes all");
        assert_eq!(large, b"[\n  1.7976931348623157e+308,\n  1.2345678901234568e+20\n]\n");
    }

    /// The expected text is the output of `json.dumps({"a": [], "b": {}, "ü\"\u0001": None}, indent=2,
    /// ensure_ascii=False)`.
    #[test]
    fn empty_lists_and_unusual_signs_are_as_python_writes_them() {
        let value = serde_json::json!({"a": [], "b": {}, "ü\"\u{1}": null});
        let mut text = Vec::new();
        write(&value, &mut text).expect("a Vec takes all");
        assert_eq!(
            String::from_utf8(text).expect("text"),
            "{\n  \"a\": [],\n  \"b\": {},\n  \"ü\\\"\\u0001\": null\n}\n"
        );
    }
}
