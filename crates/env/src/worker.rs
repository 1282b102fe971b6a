//! A thread that works on shards which are handed to it, one at a time, and handed back.
//!
//! A step of a few environments takes microseconds. So who waits looks for a while before it sleeps ([`SpinWait`]): the thread for
//! the next step, the caller for the end of this one.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ackclock_units::SpinWait;
use ackclock_units::interrupt::{check, stop_by};

use crate::error::EnvironmentError;
use crate::shard::Shard;

/// Longest time of polling: longer than a thread takes to wake, and than a caller mostly takes between two steps.
pub(crate) const LONGEST_LOOK: Duration = Duration::from_micros(200);

/// Longest wait for a shard before asking whether it is still wanted.
const NAP: Duration = Duration::from_millis(20);

/// Result of a shard's task: itself, or the panic of a simulation in it, which may be the exception of a user's own
/// part.
pub(crate) type Done = Result<Box<Shard>, Box<dyn Any + Send>>;

/// See the module. The thread ends with it.
#[derive(Debug)]
pub(crate) struct Worker {
    work: SyncSender<Box<Shard>>,
    /// Ends what the thread is doing, for nobody waits for it any more.
    stop: Arc<AtomicBool>,
    /// Behind a lock that is never taken: what holds this may be shared between threads, and a receiver may not.
    done: Mutex<PollingReceiver<Done>>,
}

/// Receiver that polls for a while before it sleeps.
#[derive(Debug)]
struct PollingReceiver<T> {
    sent: Receiver<T>,
    spin_wait: SpinWait,
}

impl Worker {
    /// A worker that waits by this spin-wait, as does the thread that waits for it.
    pub(crate) fn new(spin_wait: &SpinWait) -> Result<Self, EnvironmentError> {
        let (work, takes) = sync_channel::<Box<Shard>>(1);
        let (gives, done) = sync_channel(1);
        let stop = Arc::<AtomicBool>::default();
        let is_stopped = Arc::clone(&stop);
        let its = spin_wait.clone();
        let serve = move || {
            stop_by(is_stopped);
            let mut receiver = PollingReceiver { sent: takes, spin_wait: its };
            while let Ok(shard) = receiver.next() {
                if gives.send(worked(shard)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("ackclock-env".to_owned())
            .spawn(serve)
            .map_err(|error| EnvironmentError::Threads { reason: error.to_string() })?;
        Ok(Self { work, stop, done: Mutex::new(PollingReceiver { sent: done, spin_wait: spin_wait.clone() }) })
    }

    /// Hands over a shard.
    pub(crate) fn give(&self, shard: Box<Shard>) {
        self.work.send(shard).expect("a thread lives as long as its worker");
    }

    /// Ends what the thread is doing; it is of no use any more.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until the shard is done, and takes it back.
    pub(crate) fn take(&mut self) -> Done {
        let done = self.done.get_mut().expect("the lock is never taken");
        done.next_if_wanted().expect("a thread gives back what it got")
    }
}

/// Does the task of a shard.
fn worked(mut shard: Box<Shard>) -> Done {
    catch_unwind(AssertUnwindSafe(move || {
        shard.work();
        shard
    }))
}

impl<T> PollingReceiver<T> {
    /// The next one, or the news that there will be none.
    fn next(&mut self) -> Result<T, RecvError> {
        if let Some(found) = self.look() {
            return found;
        }
        self.sent.recv()
    }

    /// Looks for a while.
    fn look(&mut self) -> Option<Result<T, RecvError>> {
        let Self { sent, spin_wait } = self;
        spin_wait.poll(|| match sent.try_recv() {
            Ok(one) => Some(Ok(one)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(RecvError)),
        })
    }

    /// The next item, checking from time to time whether it is still wanted.
    fn next_if_wanted(&mut self) -> Result<T, RecvError> {
        if let Some(found) = self.look() {
            return found;
        }
        loop {
            match self.sent.recv_timeout(NAP) {
                Ok(one) => return Ok(one),
                Err(RecvTimeoutError::Timeout) => check(),
                Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}
