//! Applications as a file says them.

use ackclock_sim::{FileApp, FilesApp, MediaApp, OnOffApp, RateApp, VideoApp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{Empty, kinds};
use super::{Fields, RequestResponseApp, Source};

kinds! {
    /// What is written into a connection.
    pub(crate) enum App {
        /// Without end.
        "bulk" = Bulk(Empty),
        /// One file.
        "file" = File(Fields<FileApp>),
        /// Several files in turn.
        "files" = Files(Fields<FilesApp>),
        /// During on periods.
        "on_off" = OnOff(Fields<OnOffApp>),
        /// Requests, each answered by the receiving end.
        "request_response" = RequestResponse(RequestResponseApp),
        /// A video whose bitrate adapts.
        "video" = Video(Fields<VideoApp>),
        /// UDP only: evenly spaced datagrams.
        "cbr" = Cbr(Fields<RateApp>),
        /// UDP only: datagrams with exponential gaps.
        "poisson" = Poisson(Fields<RateApp>),
        /// UDP only: interactive video whose rate a controller sets.
        "media" = Media(Fields<MediaApp>),
    }
    own Own(Source);
}
