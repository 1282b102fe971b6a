//! Fields that hold one of a few words.

use serde_json::{Value as Json, json};

/// An enum with a word for each of its values.
pub trait Words: Copy + PartialEq + std::fmt::Debug + Send + Sync + Sized + 'static {
    /// The values, each with its word and its meaning.
    const ALL: &'static [(&'static str, Self, &'static str)];

    /// The list of all words.
    fn every() -> Vec<&'static str> {
        Self::ALL.iter().map(|(word, ..)| *word).collect()
    }

    /// The word that stands for this value in a scenario.
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, value, _)| *value == self).map_or("", |(word, ..)| word)
    }
}

/// An enum of words: `"forward" = Forward`. Attributes and comments stay with their variants.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[doc = $doc:literal])+ $(#[default $($default:tt)*])? $word:literal = $variant:ident,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[doc = $doc])+ $(#[default $($default)*])? $variant,)*
        }

        impl $crate::Words for $name {
            const ALL: &'static [(&'static str, Self, &'static str)] =
                &[$(($word, Self::$variant, concat!($($doc),+)),)*];
        }

        impl $crate::Value for $name {
            $crate::without_range!();

            fn wanted() -> String {
                $crate::words_of::<Self>()
            }
            fn read(raw: &$crate::Json) -> Result<Self, String> {
                $crate::read_word(raw)
            }
            fn write(&self) -> $crate::Json {
                $crate::Words::word(*self).into()
            }
            fn schema() -> $crate::Json {
                $crate::schema_of_words::<Self>()
            }
            fn inside(_: &$crate::Range<$crate::Unordered>) -> Vec<Self> {
                <Self as $crate::Words>::ALL.iter().map(|(_, value, _)| *value).collect()
            }
            fn choices() -> Option<String> {
                Some($crate::words_of::<Self>())
            }
            fn words() -> Vec<(&'static str, &'static str)> {
                <Self as $crate::Words>::ALL.iter().map(|(word, _, meaning)| (*word, *meaning)).collect()
            }
        }
    };
}

/// The words in a sentence: `"a", "b" or "c"`.
pub fn words_of<T: Words>() -> String {
    listed(&T::every())
}

/// Reads a word of this list from a scenario's value.
pub fn read_word<T: Words>(raw: &Json) -> Result<T, String> {
    let found = raw.as_str().and_then(|text| T::ALL.iter().find(|(word, ..)| *word == text));
    found.map(|(_, value, _)| *value).ok_or_else(|| unknown(&T::every()))
}

/// The schema of an enum of words.
pub fn schema_of_words<T: Words>() -> Json {
    schema(&T::every())
}

// There are dozens of such enums: what needs no more than their words is compiled once.

#[inline(never)]
fn listed(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[inline(never)]
fn unknown(words: &[&str]) -> String {
    let words = listed(words);
    format!("must be {words}; write {words}")
}

#[inline(never)]
fn schema(words: &[&str]) -> Json {
    json!({ "enum": words })
}
