//! What an operating system does by itself: both socket buffers fill up.

/// No discipline but the sizes of the buffers.
#[derive(Clone, Copy, Debug)]
pub struct Socket;
