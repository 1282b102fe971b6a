//! The line of a text with a mistake, and a second line that marks its place, as compilers show them.
//!
//! The text may come from anyone: characters that move the cursor, change the direction of writing or have no width are
//! replaced. Of a long line only a part around the place is shown.

use std::ops::Range;

use unicode_width::UnicodeWidthChar as _;

/// The largest number of columns shown, so that a line fits on a terminal of 80 with its prefix.
const MAX_COLUMNS: usize = 72;

/// The columns before the marked place where a line is cut.
const COLUMNS_BEFORE: usize = 24;

/// Mark for a part of a line that is not shown.
const CUT: &str = "...";

/// The columns of a tab.
const TAB: &str = "    ";

/// A line of the text and the marks below it; on a terminal the marks stand under the marked columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, or a part of it.
    pub line: String,
    /// Line of spaces and carets.
    pub marks: String,
}

impl Excerpt {
    /// The line of `text` in which `span` (in bytes) begins. The part of the span in further lines is not marked.
    pub fn of(text: &str, span: &Range<usize>) -> Option<Self> {
        let before = text.get(..span.start)?;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let begin = span.start - start;
        let end = (span.end.saturating_sub(start)).clamp(begin, line.len().max(begin));
        Some(Self::of_parts(line.get(..begin)?, line.get(begin..end)?, line.get(end..)?))
    }

    /// The line `before marked after`.
    pub fn of_parts(before: &str, marked: &str, after: &str) -> Self {
        let (before, marked, after) = (harmless(before), harmless(marked.trim_end()), harmless(after.trim_end()));
        let before = before.trim_start();
        let before = if width(before) + width(&marked).min(MAX_COLUMNS) > MAX_COLUMNS {
            format!("{CUT}{}", last_columns(before, COLUMNS_BEFORE))
        } else {
            before.to_owned()
        };
        let room = MAX_COLUMNS.saturating_sub(width(&before));
        let marked = cut(&marked, room);
        let after = cut(&after, room.saturating_sub(width(&marked)));
        let marks = " ".repeat(width(&before)) + &"^".repeat(width(&marked).max(1));
        Self { line: before + &marked + &after, marks }
    }
}

/// The text without characters that a terminal does not simply show, each of them replaced.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.push_str(TAB),
            // The pictures of control characters, which stand in their order.
            '\0'..='\x1f' => shown.push(char::from_u32(0x2400 + character as u32).unwrap_or('?')),
            '\x7f' => shown.push('\u{2421}'),
            _ if character.width().is_none_or(|columns| columns == 0) || turns_writing(character) => {
                shown.push(char::REPLACEMENT_CHARACTER);
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// True for characters that change the direction of writing, or begin a line.
fn turns_writing(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn columns_of(character: char) -> usize {
    character.width().unwrap_or(1)
}

fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The beginning of `text`, in at most `room` columns.
fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(CUT.len());
    let fits = |character: &char| {
        let fits = columns_of(*character) <= left;
        left = if fits { left - columns_of(*character) } else { 0 };
        fits
    };
    let shown: String = text.chars().take_while(fits).collect();
    shown + &CUT[..CUT.len().min(room)]
}

/// The end of `text`, in at most `room` columns.
fn last_columns(text: &str, room: usize) -> &str {
    let mut taken = 0;
    let start = text.char_indices().rev().find(|(_, character)| {
        taken += columns_of(*character);
        taken > room
    });
    start.map_or(text, |(index, character)| &text[index + character.len_utf8()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, marked: &str) -> [String; 2] {
        let start = text.find(marked).expect("it is in the text");
        let Excerpt { line, marks } = Excerpt::of(text, &(start..start + marked.len())).expect("a line");
        [line, marks]
    }

    #[test]
    fn marks_stand_under_the_value() {
        let text = "seed = 1\r\nduration = \"0 s\" # short\r\n";
        assert_eq!(shown(text, "\"0 s\""), ["duration = \"0 s\" # short", "           ^^^^^"]);
        assert_eq!(shown("a = [\n  1,\n]\n", "[\n  1,\n]"), ["a = [", "    ^"]);
    }

    #[test]
    fn indentation_goes_and_tabs_and_wide_characters_keep_the_marks_in_place() {
        assert_eq!(shown("\t  a =\t7", "7"), ["a =    7", "       ^"]);
        // Each of the two takes two columns of a terminal: name = "" is 9 columns with 4 within the quotes.
        assert_eq!(shown("name = \"網路\", x = 7", "7"), ["name = \"網路\", x = 7", "                   ^"]);
        assert_eq!(shown("x = \"網路\"", "\"網路\""), ["x = \"網路\"", "    ^^^^^^"]);
    }

    #[test]
    fn what_a_terminal_obeys_is_shown_as_a_picture() {
        let [line, marks] = shown("a = \"\u{1b}[2J\u{7}\u{202e}\u{200b}\u{85}\", b = 7", "7");
        assert_eq!(line, "a = \"\u{241b}[2J\u{2407}\u{fffd}\u{fffd}\u{fffd}\", b = 7");
        assert_eq!(marks, " ".repeat(20) + "^");
        assert!(!line.chars().any(char::is_control));
    }

    #[test]
    fn of_a_long_line_the_part_around_the_value_is_shown() {
        let long = format!("x = \"{}\", rate = \"fast\", y = \"{}\"", "a".repeat(5_000), "b".repeat(5_000));
        let [line, marks] = shown(&long, "\"fast\"");
        assert!(line.starts_with("...") && line.ends_with("...") && width(&line) <= MAX_COLUMNS, "{line}");
        let place = marks.find('^').expect("marks");
        assert_eq!(&line[place..place + marks.trim_start().len()], "\"fast\"");
        let [line, marks] = shown(&long, &long[4..5_006]);
        assert_eq!((width(&line), marks.len()), (MAX_COLUMNS, MAX_COLUMNS));
    }

    #[test]
    fn a_span_outside_of_the_text_shows_nothing() {
        assert_eq!(Excerpt::of("seed = 1", &(40..41)), None);
        assert_eq!(Excerpt::of("", &(0..0)).map(|excerpt| excerpt.marks), Some("^".to_owned()));
    }
}
