//! Suggestions for an unknown name: papers write DQN-CUBIC, ns-3 `DropTail`, Linux `pfifo`.

use std::iter;

/// The largest number of suggestions.
const MOST: usize = 3;

/// The least number of letters of a name that is searched for within another.
const FEWEST_WITHIN: usize = 3;

/// The least number of letters of a name in which a wrong letter is a slip.
const FEWEST_OF_SLIP: usize = 5;

/// The words before the name of another system's or another measure's term: "OPNET's Initial RTO", "half of the RTT".
const NAMING: [&str; 2] = ["'s ", "half of the "];

/// The known names that `given` may mean; `known` has a description for each. The first kind of similarity with a
/// result decides.
///
/// Case, signs between words and the order of words do not count. A name that a description mentions comes before one that
/// is only spelt alike.
///
/// ```
/// use ackclock_declare::meant;
///
/// let known = [("htcp", ""), ("highspeed", "HighSpeed TCP (HSTCP)"), ("dqn_cubic", ""), ("cubic", "")];
/// assert_eq!(meant("DQN-CUBIC", &known), ["dqn_cubic"]);
/// assert_eq!(meant("hstcp", &known), ["highspeed"]);
/// assert_eq!(meant("tcp_cubic", &known), ["cubic"]);
/// ```
pub fn meant<'a>(given: &str, known: &[(&'a str, &str)]) -> Vec<&'a str> {
    let given = Name::of(given);
    if given.words.is_empty() {
        return Vec::new();
    }
    let names: Vec<(&'a str, Name)> = known.iter().map(|(name, _)| (*name, Name::of(name))).collect();
    let alike = |is_alike: &dyn Fn(&Name) -> bool| -> Vec<&'a str> {
        names.iter().filter(|(_, name)| is_alike(name)).map(|(written, _)| *written).collect()
    };
    let first = |found: Vec<&'a str>| found.into_iter().take(1).collect::<Vec<_>>();
    let some = |found: Vec<&'a str>| found.into_iter().take(MOST).collect::<Vec<_>>();
    let mentioned = || known.iter().filter(|(_, said)| known_as(said, &given.written).is_some());
    let kinds: [&dyn Fn() -> Vec<&'a str>; 8] = [
        &|| first(alike(&|name| name.joined == given.joined)),
        &|| first(alike(&|name| name.sorted() == given.sorted())),
        &|| some(mentioned().map(|(name, _)| *name).collect()),
        &|| first(alike(&|name| given.is_abbreviated(&name.joined) || name.is_abbreviated(&given.joined))),
        &|| first(alike(&|name| given.is_slip_of(name))),
        &|| some(alike(&|name| given.is_among(name, |_| true))),
        &|| some(alike(&|name| given.is_among(name, |word| !word.starts_with(|sign: char| sign.is_ascii_digit())))),
        &|| given.longest_within(&names),
    ];
    let found = kinds.iter().map(|kind| kind()).find(|found| !found.is_empty());
    found.unwrap_or_else(|| given.nearest(&names))
}

/// True if one letter of a name of five or more is wrong, missing, superfluous or exchanged with the next.
pub fn is_slip(given: &str, name: &str) -> bool {
    Name::of(given).is_slip_of(&Name::of(name))
}

/// The term in a description of something that is known elsewhere as `key`, however that is spelt: "OPNET's Initial
/// RTO". It stands after "OPNET's" or "half of the", by itself in parentheses, or as the first words, as in "Random
/// Early Detection (RED): ...".
pub fn known_as<'a>(description: &'a str, key: &str) -> Option<&'a str> {
    let key = Name::of(key);
    let is_name = key.joined.contains(char::is_alphabetic);
    let is_key = |name: &str| is_name && Name::of(name).joined == key.joined;
    mentions(description).find_map(|(mention, name)| is_key(name).then_some(mention))
}

/// The terms that a description mentions, each with the name in it.
fn mentions(description: &str) -> impl Iterator<Item = (&str, &str)> {
    let in_parentheses = description.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    let alone = in_parentheses.flat_map(|inside| inside.split([',', ';'])).map(|item| {
        let item = item.trim();
        (item, NAMING.iter().find_map(|word| item.split_once(word)).map_or(item, |(_, name)| name))
    });
    let of_systems = NAMING.iter().flat_map(|word| description.match_indices(word)).filter_map(|(at, word)| {
        let from = description[..at].rfind(|letter: char| !letter.is_alphanumeric() && letter != '-');
        let from = if word.starts_with('\'') { from.map_or(0, |blank| blank + 1) } else { at };
        let name = description[at + word.len()..].split([',', ')', '.', ';', ':']).next()?;
        let is_name = name.starts_with(char::is_uppercase) || name.contains('_');
        is_name.then(|| (&description[from..at + word.len() + name.len()], name))
    });
    let first = description.split(['(', ',', ')', '.', ';', ':']).next().map(|words| (words, words));
    of_systems.chain(alone).chain(first)
}

/// A name and its words in lower case: `Drop`, `Tail` of `DropTail`, `bbr`, `3` of `BBRv3`.
struct Name {
    written: String,
    words: Vec<String>,
    joined: String,
}

impl Name {
    fn of(written: &str) -> Self {
        let spaced = written.replace('\'', "").replace('+', " plus ");
        let mut words: Vec<String> = Vec::new();
        for word in spaced.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
            split_word(word, &mut words);
        }
        Self { written: written.to_owned(), joined: words.concat(), words }
    }

    fn sorted(&self) -> Vec<&String> {
        let mut words: Vec<&String> = self.words.iter().collect();
        words.sort_unstable();
        words
    }

    /// True if `short` consists of the beginnings of all these words: `mss` of "maximum segment size".
    fn is_abbreviated(&self, short: &str) -> bool {
        self.words.len() > 1 && begins_with_all(&self.words, short)
    }

    fn is_slip_of(&self, other: &Self) -> bool {
        let letters = self.joined.chars().count().max(other.joined.chars().count());
        letters >= FEWEST_OF_SLIP && strsim::damerau_levenshtein(&self.joined, &other.joined) <= 1
    }

    /// True if the other name has all significant words of this one.
    fn is_among(&self, other: &Self, counts: fn(&str) -> bool) -> bool {
        let mut words = self.words.iter().filter(|word| counts(word));
        words.clone().any(|word| word.len() > 1) && words.all(|word| other.words.contains(word))
    }

    /// The longest names that words of this one form, such as `newreno` from `TcpNewReno`.
    fn longest_within<'a>(&self, names: &[(&'a str, Self)]) -> Vec<&'a str> {
        let is_within = |name: &Self| name.joined.len() >= FEWEST_WITHIN && name.is_made_of(&self.words);
        let within = || names.iter().filter(|(_, name)| is_within(name));
        let longest = within().map(|(_, name)| name.joined.len()).max();
        within().filter(|(_, name)| Some(name.joined.len()) == longest).map(|(written, _)| *written).collect()
    }

    fn is_made_of(&self, words: &[String]) -> bool {
        let rest =
            words.iter().fold(self.joined.as_str(), |rest, word| rest.strip_prefix(word.as_str()).unwrap_or(rest));
        rest.is_empty()
    }

    /// The name with the fewest changes of a letter, at most a third of its letters.
    fn nearest<'a>(&self, names: &[(&'a str, Self)]) -> Vec<&'a str> {
        let near = names.iter().filter_map(|(written, name)| {
            let letters = self.joined.chars().count().max(name.joined.chars().count());
            let changes = strsim::damerau_levenshtein(&self.joined, &name.joined);
            (changes <= letters / 3).then_some((changes, *written))
        });
        near.min_by_key(|(changes, _)| *changes).map(|(_, written)| written).into_iter().collect()
    }
}

/// Splits a word between a small letter and a capital, and between letters and digits; the v of a version is not part
/// of the name.
fn split_word(word: &str, words: &mut Vec<String>) {
    let mut from = 0;
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let ends = letters.windows(2).filter(|pair| is_between(pair[0].1, pair[1].1)).map(|pair| pair[1].0);
    for end in ends.chain(iter::once(word.len())) {
        let part = &word[from..end];
        let is_of_version = word[end..].starts_with(|letter: char| letter.is_ascii_digit());
        let part = if is_of_version { part.strip_suffix(['v', 'V']).unwrap_or(part) } else { part };
        words.extend((!part.is_empty()).then(|| part.to_lowercase()));
        from = end;
    }
}

fn is_between(before: char, after: char) -> bool {
    before.is_lowercase() && after.is_uppercase() || before.is_ascii_digit() != after.is_ascii_digit()
}

fn begins_with_all(words: &[String], short: &str) -> bool {
    let Some((word, later)) = words.split_first() else { return short.is_empty() };
    let common = word.bytes().zip(short.bytes()).take_while(|(one, other)| one == other).count();
    let ends = (1..=common).rev().filter(|end| short.is_char_boundary(*end));
    ends.into_iter().any(|end| begins_with_all(later, &short[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_names(given: &str, names: &[&'static str]) -> Vec<&'static str> {
        meant(given, &names.iter().map(|name| (*name, "")).collect::<Vec<_>>())
    }

    const CONTROLLERS: [&str; 15] = [
        "reno",
        "newreno",
        "cubic",
        "htcp",
        "vegas",
        "vegas_modified",
        "ledbat",
        "ledbat_plus_plus",
        "hpcc",
        "bbr",
        "bbr3",
        "pcc_allegro",
        "pcc_vivace",
        "dqn_cubic",
        "siad",
    ];

    #[test]
    fn names_as_papers_and_other_simulators_write_them_lead_to_ours() {
        for (given, ours) in [
            ("CUBIC", vec!["cubic"]),
            ("BBR", vec!["bbr"]),
            ("BBRv1", vec!["bbr", "bbr3"]),
            ("BBRv3", vec!["bbr3"]),
            ("PCC", vec!["pcc_allegro", "pcc_vivace"]),
            ("Vivace", vec!["pcc_vivace"]),
            ("DQN-CUBIC", vec!["dqn_cubic"]),
            ("modified Vegas", vec!["vegas_modified"]),
            ("NewReno", vec!["newreno"]),
            ("TcpNewReno", vec!["newreno"]),
            ("tcp_cubic", vec!["cubic"]),
            ("H-TCP", vec!["htcp"]),
            ("LEDBAT++", vec!["ledbat_plus_plus"]),
            ("cubics", vec!["cubic"]),
            ("TCP-NV", vec![]),
            ("xyz", vec![]),
        ] {
            assert_eq!(of_names(given, &CONTROLLERS), ours, "{given}");
        }
    }

    #[test]
    fn abbreviations_and_what_they_stand_for_are_one() {
        let keys = ["mss", "sack", "ecn", "cbr", "initial_window", "window_scaling"];
        for (given, ours) in [
            ("maximum_segment_size", "mss"),
            ("selective_ack", "sack"),
            ("explicit congestion notification", "ecn"),
            ("ConstantBitRate", "cbr"),
            ("iw", "initial_window"),
            ("window_scale", "window_scaling"),
        ] {
            assert_eq!(of_names(given, &keys), [ours], "{given}");
        }
    }

    #[test]
    fn versions_lead_to_what_there_is_of_the_same_name() {
        let profiles = ["linux-6.x", "linux-2.4", "windows-11", "ns3-3.4x", "ns2"];
        for (given, ours) in [
            ("linux", vec!["linux-6.x", "linux-2.4"]),
            ("Windows 10", vec!["windows-11"]),
            ("ns-3", vec!["ns3-3.4x"]),
            ("ns-2", vec!["ns2"]),
        ] {
            assert_eq!(of_names(given, &profiles), ours, "{given}");
        }
    }

    #[test]
    fn a_short_name_leads_to_no_other_short_one() {
        assert_eq!(of_names("cc", &["tcp", "rtt"]), [""; 0]);
        assert_eq!(of_names("icw", &["ecn"]), [""; 0]);
        assert_eq!(of_names("redd", &["red"]), ["red"]);
        assert_eq!(of_names("", &["red"]), [""; 0]);
    }

    #[test]
    fn a_description_says_how_others_call_a_thing() {
        let rto = "Before the first sample (OPNET's Initial RTO).";
        for key in ["Initial RTO", "initial_rto", "INITIAL-RTO"] {
            assert_eq!(known_as(rto, key), Some("OPNET's Initial RTO"), "{key}");
        }
        assert_eq!(known_as("One-way delay (latency), half of the RTT.", "rtt"), Some("half of the RTT"));
        assert_eq!(known_as("One-way delay (latency), half of the RTT.", "latency"), Some("latency"));
        assert_eq!(known_as("Congestion control; by default CUBIC.", "congestion_control"), Some("Congestion control"));
        assert_eq!(known_as("first in, first out (FIFO; Linux's pfifo)", "pfifo"), Some("Linux's pfifo"));
        assert_eq!(known_as("first in, first out (tail drop)", "TailDrop"), Some("tail drop"));
        assert_eq!(known_as("first in, first out (tail drop)", "taildrop"), Some("tail drop"));
        // Neither the words of a sentence nor a number are a name.
        assert_eq!(known_as("Send packets with ECT(1), the identifier of L4S.", "1"), None);
        assert_eq!((known_as("Karn's rule.", "rule"), known_as("the host's own link", "own_link")), (None, None));
    }
}
