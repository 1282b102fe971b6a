//! The window that the peer advertises (RFC 9293 section 3.10.7.4: SND.WND, SND.WL1, SND.WL2).

/// See the module; offsets and octets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerWindow {
    /// Advertised, scaled, and the offset that it counts from.
    size: u64,
    from: u64,
    /// SND.WL1 as an offset of the peer's stream.
    seq: u64,
    largest: u64,
}

impl PeerWindow {
    /// As the segment that acknowledged the SYN has it.
    pub(crate) fn at_start(size: u64) -> Self {
        Self { size, from: 1, seq: 0, largest: size }
    }

    /// An acceptable ACK advertises a window. Returns true if that changes its size.
    pub(crate) fn update(&mut self, seq: u64, ack: u64, size: u64) -> bool {
        //= rfc9293-3.10.7.4-window-update
        if seq < self.seq || (seq == self.seq && ack < self.from) {
            return false;
        }
        let changed = size != self.size;
        (self.size, self.from, self.seq) = (size, ack, seq);
        self.largest = self.largest.max(size);
        changed
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
}
