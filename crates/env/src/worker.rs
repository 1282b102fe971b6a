//! A thread that works on shards which are handed to it, one at a time, and handed back.
//!
//! A step of a few environments takes microseconds, and waking a thread that sleeps takes as long. So who waits looks for a
//! while before it sleeps: the thread for the next step, the caller for the end of this one. Looks in vain, as where steps are
//! far apart or other programs have the cores, make it look half as long the next time, until now and then it tries anew.

use std::hint::spin_loop;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread;

use crate::error::EnvironmentError;
use crate::shard::Shard;

/// How often to look at most: some ten microseconds, which is more than a caller takes between two steps.
const MOST_LOOKS: u32 = 500;

/// After so many waits in a row in which looks were in vain, it looks as often as at first.
const TRIES_ANEW: u32 = 64;

/// See the module. The thread ends with it.
#[derive(Debug)]
pub(crate) struct Worker {
    work: SyncSender<Box<Shard>>,
    /// Behind a lock that is never taken: what holds this may be shared between threads, and a receiver may not.
    done: Mutex<PollingReceiver>,
}

/// Where shards arrive: looks for a while before it sleeps.
#[derive(Debug)]
struct PollingReceiver {
    shards: Receiver<Box<Shard>>,
    /// Waits in a row in which looks were in vain.
    in_vain: u32,
}

impl Worker {
    pub(crate) fn new() -> Result<Self, EnvironmentError> {
        let (work, takes) = sync_channel::<Box<Shard>>(1);
        let (gives, done) = sync_channel(1);
        let serve = move || {
            let mut receiver = PollingReceiver::new(takes);
            while let Ok(mut shard) = receiver.next() {
                shard.work();
                if gives.send(shard).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("ackclock-env".to_owned())
            .spawn(serve)
            .map_err(|error| EnvironmentError::Threads { reason: error.to_string() })?;
        Ok(Self { work, done: Mutex::new(PollingReceiver::new(done)) })
    }

    /// Hands over a shard.
    pub(crate) fn give(&self, shard: Box<Shard>) {
        self.work.send(shard).expect("a thread lives as long as its worker, unless a simulation on it panicked");
    }

    /// Waits until the shard is done, and takes it back.
    pub(crate) fn take(&mut self) -> Box<Shard> {
        let done = self.done.get_mut().expect("the lock is never taken");
        done.next().expect("a thread gives back what it got, unless a simulation on it panicked")
    }
}

impl PollingReceiver {
    fn new(shards: Receiver<Box<Shard>>) -> Self {
        Self { shards, in_vain: 0 }
    }

    /// The next shard, or the news that there will be none.
    fn next(&mut self) -> Result<Box<Shard>, RecvError> {
        for _ in 0..MOST_LOOKS.checked_shr(self.in_vain).unwrap_or(0) {
            match self.shards.try_recv() {
                Ok(shard) => {
                    self.in_vain = 0;
                    return Ok(shard);
                }
                Err(TryRecvError::Empty) => spin_loop(),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
            }
        }
        self.in_vain = (self.in_vain + 1) % TRIES_ANEW;
        self.shards.recv()
    }
}
