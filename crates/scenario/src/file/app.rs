//! Applications as a file says them.

use ackclock_sim::{FileApp, FilesApp, MediaApp, OnOffApp, RateApp, VideoApp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{Empty, kinds};
use super::{Fields, RequestResponseApp, Source};

kinds! {
    /// The application that writes into a connection.
    pub(crate) enum App {
        /// Data without end (ns-2's FTP, ns-3's bulk send).
        "bulk" = Bulk(Empty),
        /// One file; the connection closes after it.
        "file" = File(Fields<FileApp>),
        /// Files one after another, each begun when the receiver has read the last.
        "files" = Files(Fields<FilesApp>),
        /// Data during on periods, silence during off periods; also for UDP, with a rate.
        "on_off" = OnOff(Fields<OnOffApp>),
        /// Requests on one connection, each answered by the receiving end (RPC, HTTP).
        "request_response" = RequestResponse(RequestResponseApp),
        /// A video client that chooses the bitrate of each segment (DASH).
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
