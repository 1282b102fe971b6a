//! Applications as a scenario writes them: files, on and off periods, datagrams.

use ackclock_declare::{About, Entry, Json, Range, Review, Value, declare, default, required, unset, words};
use ackclock_net::MAX_RATE;
use ackclock_units::{Bandwidth, Bytes, SimDuration};
use ackclock_wire::Ecn;

use super::sizes::LARGEST;
use crate::config::{AppConfig, Span};

declare! {
    /// A single file; the connection closes after it.
    #[derive(Copy, Eq)]
    pub struct FileApp {
        /// Size of the file.
        size: Bytes = required(Bytes(50_000_000)).at_least(Bytes(1)).at_most(LARGEST),
    }
}

impl FileApp {
    /// The application with these parameters.
    pub fn app(&self) -> AppConfig {
        AppConfig::Files { sizes: vec![self.size], gap: SimDuration::ZERO }
    }
}

impl Entry for FileApp {
    const ABOUT: About = About {
        name: "file",
        aliases: &[],
        summary: "app: one file; the connection closes after it",
        source: "file transfer",
        departures: "none",
    };
}

declare! {
    /// Several files in turn: each begins when the receiver has read the last; the connection closes after the last.
    #[derive(Eq)]
    pub struct FilesApp {
        /// Size of each file.
        sizes: Option<Vec<Bytes>> = unset("size and count")
            .at_least(Bytes(1))
            .at_most(LARGEST)
            .must_be("a list of at least one size", |sizes| sizes.as_ref().is_none_or(|sizes: &Vec<Bytes>| !sizes.is_empty())),
        /// Size of every file, with `count`.
        size: Option<Bytes> = unset("sizes").at_least(Bytes(1)).at_most(LARGEST),
        /// Number of files, with `size`.
        count: Option<u64> = unset("sizes").at_least(1).unit("files"),
        /// Time from the end of one file to the beginning of the next.
        gap: SimDuration = SimDuration::ZERO,
    }
    check FilesApp::review;
}

impl Entry for FilesApp {
    const ABOUT: About = About {
        name: "files",
        aliases: &[],
        summary: "app: files in turn, each begun when the receiver has read the last",
        source: "file transfer",
        departures: "none",
    };
}

impl FilesApp {
    fn review(&self, review: &mut Review<'_>) {
        match (&self.sizes, self.size, self.count) {
            (Some(_), None, None) | (None, Some(_), Some(_)) => {}
            (None, None, None) => review.report("sizes", "is missing", "add it, such as sizes = [\"1 MB\", \"10 MB\"]"),
            (None, None, Some(_)) => review.report("size", "is missing", "add it, such as size = \"50 MB\""),
            (None, Some(_), None) => review.report("count", "is missing", "add it, such as count = 10"),
            (Some(_), ..) => {
                review.report("sizes", "must not be combined with size or count", "keep sizes, or size and count");
            }
        }
    }

    /// Number of files.
    pub fn files(&self) -> u64 {
        self.sizes.as_ref().map_or(self.count.unwrap_or(0), |sizes| sizes.len() as u64)
    }

    /// The application with these parameters.
    pub fn app(&self) -> AppConfig {
        let alike = || vec![self.size.unwrap_or(Bytes(1)); self.files() as usize];
        AppConfig::Files { sizes: self.sizes.clone().unwrap_or_else(alike), gap: self.gap }
    }
}

declare! {
    /// Writes during on periods, and is silent during off periods.
    #[derive(Copy, Eq)]
    pub struct OnOffApp {
        /// Length of an on period; `{ exponential = "1 s" }` draws it.
        on: Span = required(Span::Constant(SimDuration::from_secs(1))).above(SimDuration::ZERO),
        /// Length of an off period; `{ exponential = "1 s" }` draws it.
        off: Span = required(Span::Constant(SimDuration::from_secs(1))).above(SimDuration::ZERO),
        /// Rate during on periods.
        rate: Option<Bandwidth> = unset("as fast as the connection takes it").at_least(Bandwidth(1)).at_most(MAX_RATE),
    }
}

impl OnOffApp {
    /// The application with these parameters.
    pub fn app(&self) -> AppConfig {
        AppConfig::OnOff { on: self.on, off: self.off, rate: self.rate }
    }
}

impl Entry for OnOffApp {
    const ABOUT: About = About {
        name: "on_off",
        aliases: &[],
        summary: "app: writes during on periods, is silent during off periods; also for UDP, with a rate",
        source: "the on/off sources of ns-2",
        departures: "none",
    };
}

/// A length, written as a duration, or as a table with the mean of an exponential one.
impl Value for Span {
    type Bound = SimDuration;

    fn wanted() -> String {
        "a duration such as \"30 ms\", or { exponential = \"30 ms\" }".to_owned()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        match raw {
            Json::Object(table) => match (table.get("exponential"), table.len()) {
                (Some(mean), 1) => SimDuration::read(mean).map(Self::Exponential),
                _ => Err(format!("must be {wanted}; write {wanted}", wanted = Self::wanted())),
            },
            _ => SimDuration::read(raw).map(Self::Constant),
        }
    }
    fn write(&self) -> Json {
        match self {
            Self::Constant(span) => span.write(),
            Self::Exponential(mean) => std::iter::once(("exponential".to_owned(), mean.write())).collect(),
        }
    }
    fn schema() -> Json {
        let object = |fields: Vec<(&str, Json)>| -> Json {
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        };
        let table = object(vec![
            ("type", "object".into()),
            ("properties", object(vec![("exponential", SimDuration::schema())])),
            ("required", vec!["exponential"].into()),
            ("additionalProperties", false.into()),
        ]);
        object(vec![("anyOf", vec![SimDuration::schema(), table].into())])
    }
    fn bounded(&self) -> Vec<SimDuration> {
        let (Self::Constant(span) | Self::Exponential(span)) = self;
        vec![*span]
    }
    fn inside(range: &Range<SimDuration>) -> Vec<Self> {
        SimDuration::inside(range)
            .into_iter()
            .flat_map(|span| [Self::Constant(span), Self::Exponential(span)])
            .collect()
    }
    fn outside(range: &Range<SimDuration>) -> Vec<Self> {
        SimDuration::outside(range)
            .into_iter()
            .flat_map(|span| [Self::Constant(span), Self::Exponential(span)])
            .collect()
    }
}

declare! {
    /// Datagrams at a constant rate.
    #[derive(Copy, Eq)]
    pub struct RateApp {
        /// Rate of the payload.
        rate: Bandwidth = required(Bandwidth(1_000_000)).at_least(Bandwidth(1)).at_most(MAX_RATE),
    }
}

/// Catalogue entry of datagrams that are evenly spaced.
const CBR: About = About {
    name: "cbr",
    aliases: &[],
    summary: "app of UDP: evenly spaced datagrams",
    source: "cross traffic at a constant rate",
    departures: "none",
};

/// Catalogue entry of datagrams with exponential gaps, by the name "poisson".
pub const POISSON: About = About {
    name: "poisson",
    summary: "app of UDP: datagrams with exponential gaps",
    source: "Poisson cross traffic",
    ..CBR
};

impl Entry for RateApp {
    const ABOUT: About = CBR;
}

words! {
    /// ECN field of a datagram's packet.
    pub enum DatagramEcn {
        /// Not ECN-capable: codepoint Not-ECT.
        "not_ect" = NotEct,
        /// Codepoint ECT(0), ECN-capable.
        "ect0" = Ect0,
        /// Codepoint ECT(1), the identifier of L4S.
        "ect1" = Ect1,
    }
}

impl From<DatagramEcn> for Ecn {
    fn from(ecn: DatagramEcn) -> Self {
        match ecn {
            DatagramEcn::NotEct => Self::NotEct,
            DatagramEcn::Ect0 => Self::Ect0,
            DatagramEcn::Ect1 => Self::Ect1,
        }
    }
}

declare! {
    /// Datagrams without congestion control.
    #[derive(Copy, Eq)]
    pub struct UdpProtocol {
        /// Payload of each datagram.
        // The largest and its headers fill IPv4's 16-bit length.
        payload: Bytes = default(Bytes(1_200)).at_least(Bytes(1)).at_most(Bytes(65_507)),
        /// Time from which no datagram leaves.
        until: Option<SimDuration> = unset("the end of the run"),
        /// ECN field of the datagrams' packets.
        ecn: DatagramEcn = DatagramEcn::NotEct,
    }
}

impl Entry for UdpProtocol {
    const ABOUT: About = About {
        name: "udp",
        aliases: &[],
        summary: "protocol: datagrams without congestion control; loss, one-way delay and jitter are reported",
        source: "RFC 768; loss and jitter as RFC 3550 counts them",
        departures: "none",
    };
}
