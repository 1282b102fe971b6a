//! Messages between parts that run at the same time: packets, and the progress of each part.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ackclock_units::interrupt::ask;
use ackclock_units::{Patience, SimDuration, SimTime};

use super::Partition;
use super::borders::Crossing;

/// Time for which a waiting part spins before it parks: as long as it mostly has to wait.
const LONGEST_LOOK: Duration = Duration::from_millis(1);

/// Longest sleep of a part before it asks whether the run is still wanted.
const NAP: Duration = Duration::from_millis(20);

/// Number of progress reports of a part in a lookahead.
const STRIDES: u64 = 4;

/// Synchronizes the parts of a run.
#[derive(Debug)]
pub(crate) struct Synchronizer {
    parts: Vec<PartStatus>,
    /// Number of messages sent.
    posts: AtomicU64,
    has_failed: Arc<AtomicBool>,
    /// Spin-wait of each part.
    patience: Patience,
    /// Parts that have let go of their cores, and what wakes them.
    sleepers: AtomicUsize,
    asleep: Mutex<()>,
    change: Condvar,
}

/// Result of waiting.
enum Answer {
    Reach(SimTime),
    Failure,
}

impl Answer {
    fn reach(self) -> Option<SimTime> {
        if let Self::Reach(time) = self { Some(time) } else { None }
    }
}

/// Progress of a part and its mailboxes, shared with the other parts.
#[derive(Debug)]
struct PartStatus {
    /// It sends nothing before this, but for what it has sent.
    clock: AtomicU64,
    /// It does nothing before this unless something comes that it has not taken in.
    next: AtomicU64,
    /// Mailboxes from each part from which packets come.
    boxes: Vec<Mailbox>,
    /// Distance that it goes before it reports its progress.
    stride: SimDuration,
}

/// Packets from one part to another.
#[derive(Debug)]
struct Mailbox {
    from: usize,
    /// Shortest time on the way.
    takes: SimDuration,
    crossings: Mutex<Vec<Crossing>>,
    /// Nothing in it arrives before this.
    earliest: AtomicU64,
}

impl Synchronizer {
    /// Between parts that have all come to `now`.
    pub(crate) fn new(partition: &Partition, now: SimTime) -> Self {
        let parts = 0..partition.parts();
        let mailbox = |from, to| Some(Mailbox::new(from, partition.lookahead(from, to)?));
        let status = |to| PartStatus {
            clock: AtomicU64::new(now.0),
            next: AtomicU64::new(now.0),
            boxes: parts.clone().filter_map(|from| mailbox(from, to)).collect(),
            stride: stride(parts.clone().filter_map(|other| partition.lookahead(to, other))),
        };
        Self {
            parts: parts.clone().map(status).collect(),
            posts: AtomicU64::new(0),
            has_failed: Arc::default(),
            patience: Patience::among(partition.parts(), LONGEST_LOOK),
            sleepers: AtomicUsize::new(0),
            asleep: Mutex::default(),
            change: Condvar::new(),
        }
    }

    /// Distance that a part goes before it reports its progress.
    pub(crate) fn stride(&self, part: usize) -> SimDuration {
        self.parts[part].stride
    }

    /// Nothing comes to a part before this but what has been sent.
    pub(crate) fn horizon(&self, part: usize) -> SimTime {
        self.horizon_if(part, SimTime::ZERO)
    }

    /// Horizon of a part if nothing happens anywhere before `quiet`.
    fn horizon_if(&self, part: usize, quiet: SimTime) -> SimTime {
        let arrival = |mailbox: &Mailbox| quiet.max(time(&self.parts[mailbox.from].clock)) + mailbox.takes;
        self.parts[part].boxes.iter().map(arrival).min().unwrap_or(SimTime::NEVER)
    }

    /// Time before which no part acts; `None` if that is not known, because one is sending.
    fn quiet(&self) -> Option<SimTime> {
        let posts = self.posts.load(SeqCst);
        // What a part takes in is in what it does next before it is out of the box, so the box is looked at first.
        let next = |status: &PartStatus| {
            status
                .boxes
                .iter()
                .map(|mailbox| time(&mailbox.earliest))
                .min()
                .into_iter()
                .chain([time(&status.next)])
                .min()
        };
        let first = self.parts.iter().filter_map(next).min();
        first.filter(|_| self.posts.load(SeqCst) == posts)
    }

    /// A part has sent, and come to `now`; what it does next is at `next`.
    pub(crate) fn post(&self, part: usize, outgoing: &mut [Vec<Crossing>], now: SimTime, next: SimTime) {
        let mut has_sent = false;
        for (status, crossings) in self.parts.iter().zip(outgoing).filter(|(_, crossings)| !crossings.is_empty()) {
            let mailbox = status.boxes.iter().find(|mailbox| mailbox.from == part);
            mailbox.expect("packets go where there is a way").put(crossings);
            has_sent = true;
        }
        if has_sent {
            self.posts.fetch_add(1, SeqCst);
        }
        self.parts[part].next.store(next.0, SeqCst);
        self.parts[part].clock.store(now.0, SeqCst);
        self.wake();
    }

    /// Something has changed that others may wait for.
    fn wake(&self) {
        if self.sleepers.load(SeqCst) > 0 {
            drop(self.asleep.lock());
            self.change.notify_all();
        }
    }

    /// Hands over what has been sent to a part, by sender and in the order of sending.
    pub(crate) fn collect(&self, part: usize, mut take: impl FnMut(&Crossing)) {
        let status = &self.parts[part];
        for mailbox in &status.boxes {
            mailbox.take(&status.next).iter().for_each(&mut take);
        }
    }

    /// Spin-wait of a part.
    pub(crate) fn patience(&self) -> Patience {
        self.patience.clone()
    }

    /// Waits until a part may go beyond `horizon`, and returns how far then; `None` if that will never be, because
    /// another has failed.
    pub(crate) fn wait(&self, part: usize, horizon: SimTime, patience: &mut Patience) -> Option<SimTime> {
        if let Some(answer) = patience.look(|| self.look(part, horizon)) {
            return answer.reach();
        }
        self.sleepers.fetch_add(1, SeqCst);
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = loop {
            if let Some(answer) = self.look(part, horizon) {
                break answer;
            }
            asleep = self.change.wait_timeout(asleep, NAP).unwrap_or_else(PoisonError::into_inner).0;
            ask();
        };
        self.sleepers.fetch_sub(1, SeqCst);
        answer.reach()
    }

    /// State for a waiting part; `None` while it has to wait.
    fn look(&self, part: usize, horizon: SimTime) -> Option<Answer> {
        if self.has_failed.load(SeqCst) {
            return Some(Answer::Failure);
        }
        let reach = self.horizon_if(part, self.quiet().unwrap_or(SimTime::ZERO));
        (reach > horizon).then_some(Answer::Reach(reach))
    }

    /// Set once a part has failed.
    pub(crate) fn failure(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_failed)
    }

    /// Alarm that informs the other parts if the thread that holds it panics.
    pub(crate) fn alarm(&self) -> Alarm<'_> {
        Alarm { synchronizer: self }
    }
}

impl Mailbox {
    fn new(from: usize, takes: SimDuration) -> Self {
        Self { from, takes, crossings: Mutex::default(), earliest: AtomicU64::new(u64::MAX) }
    }

    fn open(&self) -> MutexGuard<'_, Vec<Crossing>> {
        self.crossings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, crossings: &mut Vec<Crossing>) {
        let mut held = self.open();
        held.append(crossings);
        self.earliest.store(earliest(&held), SeqCst);
    }

    /// All that is in it, which `next` is no later than from now on.
    fn take(&self, next: &AtomicU64) -> Vec<Crossing> {
        let mut held = self.open();
        next.fetch_min(earliest(&held), SeqCst);
        self.earliest.store(u64::MAX, SeqCst);
        std::mem::take(&mut held)
    }
}

/// A part of the least of the lookaheads of those to whom a part sends.
fn stride(lookaheads: impl Iterator<Item = SimDuration>) -> SimDuration {
    SimDuration((lookaheads.min().map_or(u64::MAX / 2, |least| least.0) / STRIDES).max(1))
}

fn earliest(crossings: &[Crossing]) -> u64 {
    crossings.iter().map(|crossing| crossing.arrival.0).min().unwrap_or(u64::MAX)
}

fn time(clock: &AtomicU64) -> SimTime {
    SimTime(clock.load(SeqCst))
}

/// See [`Synchronizer::alarm`].
pub(crate) struct Alarm<'a> {
    synchronizer: &'a Synchronizer,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.synchronizer.has_failed.store(true, SeqCst);
            self.synchronizer.wake();
        }
    }
}
