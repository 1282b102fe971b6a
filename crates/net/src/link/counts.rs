//! Counts of a link beside those of its ring.

use super::ledger::Ledger;
use crate::link_stats::LinkStats;
use crate::queue::QueueCounters;

/// Counts of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) stats: LinkStats,
    pub(super) ledger: Ledger,
    /// Drops since the beginning of the run.
    pub(super) total_drops: u64,
    pub(super) total_marks: u64,
}

impl Counts {
    pub(super) fn on_dropped(&mut self) {
        self.total_drops += 1;
        self.stats.on_drop();
    }

    /// Adds the drops and marks of a queue.
    pub(super) fn add(&mut self, new: QueueCounters) {
        if new == QueueCounters::default() {
            return;
        }
        self.total_marks += new.marks;
        self.stats.on_marks(new.marks);
        for _ in 0..new.drops {
            self.on_dropped();
            self.ledger.on_dropped(0);
        }
    }
}
