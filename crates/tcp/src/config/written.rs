//! Switches that a scenario writes in another form than an endpoint keeps: amounts in segments, and words for no limit.

use ackclock_declare::{Json, Range, Settles, Value};
use ackclock_units::{Amount, Bytes, SimDuration};

use super::TcpConfig;

/// A value, or the word for there being none.
macro_rules! or_word {
    ($($(#[doc = $doc:literal])+ $name:ident: $value:ty, or $word:literal;)*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) enum $name {
                None,
                Of($value),
            }

            impl Value for $name {
                type Bound = <$value as Value>::Bound;

                fn wanted() -> String {
                    format!("{}, or {:?}", <$value>::wanted(), $word)
                }
                fn read(raw: &Json) -> Result<Self, String> {
                    if raw.as_str().is_some_and(|text| text.trim() == $word) {
                        return Ok(Self::None);
                    }
                    <$value>::read(raw).map(Self::Of).map_err(|error| format!("{error}, or {:?}", $word))
                }
                fn write(&self) -> Json {
                    match self {
                        Self::None => $word.into(),
                        Self::Of(value) => value.write(),
                    }
                }
                fn schema() -> Json {
                    <$value>::schema()
                }
                fn bounded(&self) -> Vec<Self::Bound> {
                    match self {
                        Self::None => Vec::new(),
                        Self::Of(value) => value.bounded(),
                    }
                }
                fn inside(range: &Range<Self::Bound>) -> Vec<Self> {
                    <$value>::inside(range).into_iter().map(Self::Of).chain([Self::None]).collect()
                }
                fn outside(range: &Range<Self::Bound>) -> Vec<Self> {
                    <$value>::outside(range).into_iter().map(Self::Of).collect()
                }
            }
        )*
    };
}

or_word! {
    /// A buffer: of a given size, or as large as the window field can say.
    Buffer: Bytes, or "unlimited";
    /// The first slow-start threshold.
    Ssthresh: Amount, or "infinite";
}

impl Settles<TcpConfig> for Buffer {
    type Held = Bytes;

    fn settle(self, config: &TcpConfig) -> Bytes {
        match self {
            Self::None => config.largest_window(),
            Self::Of(size) => size,
        }
    }
    fn unsettle(held: &Bytes, _: &TcpConfig) -> Self {
        Self::Of(*held)
    }
}

impl Settles<TcpConfig> for Ssthresh {
    type Held = Option<Bytes>;

    fn settle(self, config: &TcpConfig) -> Option<Bytes> {
        match self {
            Self::None => None,
            Self::Of(amount) => Some(amount.in_bytes(config.mss.into())),
        }
    }
    fn unsettle(held: &Option<Bytes>, _: &TcpConfig) -> Self {
        held.map_or(Self::None, |bytes| Self::Of(Amount::Bytes(bytes)))
    }
}

impl Settles<TcpConfig> for Amount {
    type Held = Bytes;

    fn settle(self, config: &TcpConfig) -> Bytes {
        self.in_bytes(config.mss.into())
    }
    fn unsettle(held: &Bytes, config: &TcpConfig) -> Self {
        Self::Segments(held.0 / u64::from(config.mss))
    }
}

/// A time of zero stands for never.
impl Settles<TcpConfig> for SimDuration {
    type Held = Option<Self>;

    fn settle(self, _: &TcpConfig) -> Option<Self> {
        (!self.is_zero()).then_some(self)
    }
    fn unsettle(held: &Option<Self>, _: &TcpConfig) -> Self {
        held.unwrap_or(Self::ZERO)
    }
}
