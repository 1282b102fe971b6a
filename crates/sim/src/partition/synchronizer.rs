//! Messages between parts that run at the same time: packets, and the progress of each part.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ackclock_units::interrupt::check;
use ackclock_units::{SimDuration, SimTime, SpinWait};

use super::Partition;
use super::borders::Crossing;

/// Time for which a waiting part spins before it parks, as long as most waits.
const LONGEST_LOOK: Duration = Duration::from_millis(1);

/// Longest sleep of a part before it checks whether the run is cancelled.
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
    spin_wait: SpinWait,
    /// Parked parts, and the means to wake them.
    sleepers: AtomicUsize,
    asleep: Mutex<()>,
    change: Condvar,
}

/// The result of waiting.
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
    /// Time before which it sends nothing more.
    clock: AtomicU64,
    /// Time before which it does nothing, unless it takes new packets.
    next: AtomicU64,
    /// Mailboxes from each part from which packets come.
    boxes: Vec<Mailbox>,
    /// Distance between its progress reports.
    stride: SimDuration,
}

/// Packets from one part to another.
#[derive(Debug)]
struct Mailbox {
    from: usize,
    /// Shortest delay on the way.
    takes: SimDuration,
    crossings: Mutex<Vec<Crossing>>,
    /// Time before which nothing in it arrives.
    earliest: AtomicU64,
}

impl Synchronizer {
    /// A synchronizer of parts that have all come to `now`.
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
            spin_wait: SpinWait::among(partition.parts(), LONGEST_LOOK),
            sleepers: AtomicUsize::new(0),
            asleep: Mutex::default(),
            change: Condvar::new(),
        }
    }

    /// Distance between the progress reports of a part.
    pub(crate) fn stride(&self, part: usize) -> SimDuration {
        self.parts[part].stride
    }

    /// Time before which only sent packets come to a part.
    pub(crate) fn horizon(&self, part: usize) -> SimTime {
        self.horizon_if(part, SimTime::ZERO)
    }

    /// Horizon of a part if no part acts before `quiet`.
    fn horizon_if(&self, part: usize, quiet: SimTime) -> SimTime {
        let arrival = |mailbox: &Mailbox| quiet.max(time(&self.parts[mailbox.from].clock)) + mailbox.takes;
        self.parts[part].boxes.iter().map(arrival).min().unwrap_or(SimTime::NEVER)
    }

    /// Time before which no part acts; `None` if it is unknown, because one is sending.
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

    /// Takes the packets that a part has sent, and its time `now`; its next event is at `next`.
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

    /// Wakes parts that may wait for a change.
    fn wake(&self) {
        if self.sleepers.load(SeqCst) > 0 {
            drop(self.asleep.lock());
            self.change.notify_all();
        }
    }

    /// Hands over the packets to a part, by sender and in the order of sending.
    pub(crate) fn collect(&self, part: usize, mut take: impl FnMut(&Crossing)) {
        let status = &self.parts[part];
        for mailbox in &status.boxes {
            mailbox.take(&status.next).iter().for_each(&mut take);
        }
    }

    /// Spin-wait of a part.
    pub(crate) fn spin_wait(&self) -> SpinWait {
        self.spin_wait.clone()
    }

    /// Waits until a part may go beyond `horizon`, and returns the new horizon; `None` if another part has failed.
    pub(crate) fn wait(&self, part: usize, horizon: SimTime, spin_wait: &mut SpinWait) -> Option<SimTime> {
        if let Some(answer) = spin_wait.poll(|| self.look(part, horizon)) {
            return answer.reach();
        }
        self.sleepers.fetch_add(1, SeqCst);
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = loop {
            if let Some(answer) = self.look(part, horizon) {
                break answer;
            }
            asleep = self.change.wait_timeout(asleep, NAP).unwrap_or_else(PoisonError::into_inner).0;
            check();
        };
        self.sleepers.fetch_sub(1, SeqCst);
        answer.reach()
    }

    /// The answer for a waiting part; `None` while it has to wait.
    fn look(&self, part: usize, horizon: SimTime) -> Option<Answer> {
        if self.has_failed.load(SeqCst) {
            return Some(Answer::Failure);
        }
        let reach = self.horizon_if(part, self.quiet().unwrap_or(SimTime::ZERO));
        (reach > horizon).then_some(Answer::Reach(reach))
    }

    /// The flag that is set once a part has failed.
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

    /// Takes all packets; `next` is no later than they are from now on.
    fn take(&self, next: &AtomicU64) -> Vec<Crossing> {
        let mut held = self.open();
        next.fetch_min(earliest(&held), SeqCst);
        self.earliest.store(u64::MAX, SeqCst);
        std::mem::take(&mut held)
    }
}

/// The distance between reports: a fraction of the least lookahead to the receiving parts.
fn stride(lookaheads: impl Iterator<Item = SimDuration>) -> SimDuration {
    SimDuration((lookaheads.min().map_or(u64::MAX / 2, |least| least.0) / STRIDES).max(1))
}

fn earliest(crossings: &[Crossing]) -> u64 {
    crossings.iter().map(|crossing| crossing.arrival.0).min().unwrap_or(u64::MAX)
}

fn time(clock: &AtomicU64) -> SimTime {
    SimTime(clock.load(SeqCst))
}

/// An alarm of a thread: see [`Synchronizer::alarm`].
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
