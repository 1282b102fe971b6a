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
    /// The bound of a new segment, if the largest window sets it.
    longest_segment: u32,
    halves_segments: bool,
    /// An ACK of nothing new may make the window smaller.
    shrinks_on_repeat: bool,
}

impl PeerWindow {
    /// The window of the segment that acknowledged the SYN; none before.
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

    /// True if a smaller window in a repeated ACK is ignored; a closed one is taken (Linux).
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

    /// Longest new segment that suits the largest window.
    pub(crate) fn longest_segment(&self) -> u64 {
        u64::from(self.longest_segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc9293-3.10.7.4-window-update
    #[test]
    fn a_repeated_ack_may_make_the_window_smaller() {
        // RFC 9293 section 3.10.7.4: SND.WL2 =< SEG.ACK. Linux 6.18: only an ACK that advances does, or one that closes the window.
        for (shrinks_on_repeat, sizes) in [(true, [6_000, 0, 4_000]), (false, [8_000, 0, 4_000])] {
            let config = TcpConfig { window_shrinks_on_repeat: shrinks_on_repeat, ..TcpConfig::default() };
            let mut window = PeerWindow::at_start(8_000, &config);
            let mut update = |ack, size| {
                window.update(1, ack, size);
                window.size()
            };
            update(1_001, 8_000);
            assert_eq!([update(1_001, 6_000), update(1_001, 0), update(2_001, 4_000)], sizes);
        }
    }

    #[test]
    fn a_segment_is_half_of_a_small_window() {
        // By packet scripts played against Linux 6.18 (tests/scripts/window).
        let config = TcpConfig { segments_of_half_window: true, ..TcpConfig::default() };
        let of = |size| PeerWindow::at_start(size, &config).longest_segment();
        assert_eq!([536, 1_000, 4_000].map(of), [536, 500, 2_000]);
        let mut window = PeerWindow::at_start(1_000, &config);
        window.update(1, 501, 500);
        assert_eq!(window.longest_segment(), 500); // of the largest
        window.update(1, 1_001, 3_000);
        assert_eq!(window.longest_segment(), 1_500);
    }
}
