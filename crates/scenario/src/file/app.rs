//! Applications as a file says them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{Empty, kinds, table};
use super::{Duration, List, Rate, RateApp, RequestResponseApp, Size, Spacing, VideoApp};

kinds! {
    /// What is written into a connection.
    pub(crate) enum App {
        /// Without end.
        "bulk" = Bulk(Empty),
        /// One file.
        "file" = File(FileApp),
        /// Several files in turn.
        "files" = Files(FilesApp),
        /// During on periods.
        "on_off" = OnOff(OnOffApp),
        /// Requests, each answered by the receiving end.
        "request_response" = RequestResponse(RequestResponseApp),
        /// A video whose bitrate adapts.
        "video" = Video(VideoApp),
        /// UDP only: evenly spaced datagrams.
        "cbr" = Cbr(RateApp),
        /// UDP only: datagrams with exponential gaps.
        "poisson" = Poisson(RateApp),
    }
}

table! {
    /// One file of a given size; the connection closes after it.
    pub(crate) struct FileApp {
        /// Its size.
        #[schemars(required)]
        size: Size,
    }
}

table! {
    /// Several files in turn: each begins when the receiver has read the last; the connection closes after the last.
    pub(crate) struct FilesApp {
        /// The size of each.
        sizes: List<Size>,
        /// The size of all, with `count`.
        size: Size,
        /// How many, with `size`.
        count: u64,
        /// From the end of one to the beginning of the next; none by default.
        gap: Duration,
    }
}

table! {
    /// Writes during on periods, is silent during off periods.
    pub(crate) struct OnOffApp {
        /// Length of an on period.
        #[schemars(required)]
        on: Spacing,
        /// Length of an off period.
        #[schemars(required)]
        off: Spacing,
        /// How fast it writes; by default as fast as the connection takes it.
        rate: Rate,
    }
}
