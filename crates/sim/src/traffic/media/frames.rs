//! Frames of video: their creation, and their complete arrival.

use std::collections::VecDeque;

use ackclock_units::{Histogram, SimDuration, SimTime};

use crate::config::MeasureWindow;

/// The age from which a frame counts as lost.
const OLD: SimDuration = SimDuration::from_secs(60);

#[derive(Clone, Copy, Debug)]
struct Frame {
    made: SimTime,
    /// Number of missing packets.
    packets: u32,
}

/// The frames on their way.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    under_way: VecDeque<Frame>,
    /// Number of the first frame on its way.
    first: u32,
    /// Number of frames made within the window.
    counted: u64,
    delay: Histogram,
}

impl Frames {
    pub(super) fn encode(&mut self, now: SimTime, packets: u32, window: &MeasureWindow) {
        self.counted += u64::from(window.holds(now));
        self.under_way.push_back(Frame { made: now, packets });
        while let Some(front) = self.under_way.front()
            && (front.packets == 0 || now.saturating_since(front.made) > OLD)
        {
            self.under_way.pop_front();
            self.first += 1;
        }
    }

    /// Takes the first arrival of one of its packets.
    pub(super) fn on_packet(&mut self, now: SimTime, frame: u32, window: &MeasureWindow) {
        let index = frame.checked_sub(self.first).map(|index| index as usize);
        let Some(frame) = index.and_then(|index| self.under_way.get_mut(index)) else { return };
        frame.packets -= 1;
        if frame.packets == 0 && window.holds(frame.made) {
            self.delay.add(now.saturating_since(frame.made).0);
        }
    }

    /// Number of frames made within the window.
    pub(super) fn made(&self) -> u64 {
        self.counted
    }

    /// Time from the encoder to the arrival of the last packet, nanoseconds.
    pub(super) fn delay(&self) -> &Histogram {
        &self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_arrived_with_its_last_packet() {
        let (mut frames, window) = (Frames::default(), MeasureWindow::default());
        frames.encode(SimTime(0), 2, &window);
        frames.encode(SimTime(40), 1, &window);
        frames.on_packet(SimTime(100), 0, &window);
        assert!(frames.delay().is_empty());
        frames.on_packet(SimTime(150), 0, &window);
        assert_eq!((frames.made(), frames.delay().weight(), frames.delay().max()), (2, 1, 150));
    }
}
