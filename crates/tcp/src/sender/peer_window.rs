//! The window that the peer advertises (RFC 9293 section 3.10.7.4: SND.WND, SND.WL1, SND.WL2).

use crate::config::TcpConfig;

/// The largest window of which a segment may take all (Linux's `TCP_MSS_DEFAULT`).
const SMALL: u64 = 536;

/// The shortest segment that a small window leads to: an IP datagram of 68 octets (RFC 791 section 3.2) with a header of TCP in it.
const LEAST: u64 = 48;

/// See the module; offsets and octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerWindow {
    /// Advertised, scaled, and the offset that it counts from.
    size: u64,
    from: u64,
    /// SND.WL1 as an offset of the peer's stream.
    seq: u64,
    largest: u64,
    /// What bounds a new segment, if the largest window does.
    longest_segment: u32,
    halves_segments: bool,
    /// An ACK of nothing new may make the window smaller.
    shrinks_on_repeat: bool,
}

impl PeerWindow {
    /// As the segment that acknowledged the SYN has it; none before.
    pub(crate) fn at_start(size: u64, config: &TcpConfig) -> Self {
        let mut window = Self {
            size: 0,
            from: 1,
            seq: 0,
            largest: 0,
            longest_segment: u32::MAX,
            halves_segments: config.segments_of_half_window,
            shrinks_on_repeat: config.window_shrinks_on_repeat,
        };
        window.take(size);
        window
    }

    /// An acceptable ACK advertises a window. Returns true if that changes its size.
    pub(crate) fn update(&mut self, seq: u64, ack: u64, size: u64) -> bool {
        //= rfc9293-3.10.7.4-window-update
        if seq < self.seq || (seq == self.seq && ack <= self.from && (ack < self.from || self.is_kept(size))) {
            return false;
        }
        let changed = size != self.size;
        (self.from, self.seq) = (ack, seq);
        self.take(size);
        changed
    }

    fn take(&mut self, size: u64) {
        self.size = size;
        if size > self.largest {
            self.largest = size;
            if self.halves_segments {
                self.longest_segment = (if size > SMALL { size / 2 } else { size.max(LEAST) }) as u32; // of 30 bits (RFC 7323)
            }
        }
    }

    /// A repeated ACK tells of a smaller window, and that is not taken; a closed one is (Linux).
    fn is_kept(&self, size: u64) -> bool {
        !self.shrinks_on_repeat && 0 < size && size < self.size
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The offset after the last octet that the peer takes.
    pub(crate) fn end(&self) -> u64 {
        self.from + self.size
    }

    /// The largest that the peer ever advertised.
    pub(crate) fn largest(&self) -> u64 {
        self.largest
    }

    /// How long a new segment may be for the largest window.
    pub(crate) fn longest_segment(&self) -> u64 {
        u64::from(self.longest_segment)
    }
}
