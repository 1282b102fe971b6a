//! A thread that works on shares which are handed to it, one at a time, and handed back.
//!
//! A step of a few environments takes microseconds, and waking a thread that sleeps takes as long. So who waits looks for a
//! while before it sleeps: the thread for the next step, the caller for the end of this one. Looks in vain, as where steps are
//! far apart or other programs have the cores, make it look half as long the next time, until now and then it tries anew.

use std::hint::spin_loop;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread;

use crate::error::EnvironmentError;
use crate::share::Share;

/// How often to look at most: some ten microseconds, which is more than a caller takes between two steps.
const MOST_LOOKS: u32 = 500;

/// After so many waits in a row in which looks were in vain, it looks as often as at first.
const TRIES_ANEW: u32 = 64;

/// See the module. The thread ends with it.
#[derive(Debug)]
pub(crate) struct Helper {
    work: SyncSender<Box<Share>>,
    /// Behind a lock that is never taken: what holds this may be shared between threads, and a receiver may not.
    done: Mutex<Inbox>,
}

/// Where shares arrive.
#[derive(Debug)]
struct Inbox {
    shares: Receiver<Box<Share>>,
    /// Waits in a row in which looks were in vain.
    in_vain: u32,
}

impl Helper {
    pub(crate) fn new() -> Result<Self, EnvironmentError> {
        let (work, takes) = sync_channel::<Box<Share>>(1);
        let (gives, done) = sync_channel(1);
        let serve = move || {
            let mut inbox = Inbox::new(takes);
            while let Ok(mut share) = inbox.next() {
                share.work();
                if gives.send(share).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("ackclock-env".to_owned())
            .spawn(serve)
            .map_err(|error| EnvironmentError::Threads { reason: error.to_string() })?;
        Ok(Self { work, done: Mutex::new(Inbox::new(done)) })
    }

    /// Hands over a share.
    pub(crate) fn give(&self, share: Box<Share>) {
        self.work.send(share).expect("a thread lives as long as its helper, unless a simulation on it panicked");
    }

    /// Waits until the share is done, and takes it back.
    pub(crate) fn take(&mut self) -> Box<Share> {
        let done = self.done.get_mut().expect("the lock is never taken");
        done.next().expect("a thread gives back what it got, unless a simulation on it panicked")
    }
}

impl Inbox {
    fn new(shares: Receiver<Box<Share>>) -> Self {
        Self { shares, in_vain: 0 }
    }

    /// The next share, or the news that there will be none.
    fn next(&mut self) -> Result<Box<Share>, RecvError> {
        for _ in 0..MOST_LOOKS.checked_shr(self.in_vain).unwrap_or(0) {
            match self.shares.try_recv() {
                Ok(share) => {
                    self.in_vain = 0;
                    return Ok(share);
                }
                Err(TryRecvError::Empty) => spin_loop(),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
            }
        }
        self.in_vain = (self.in_vain + 1) % TRIES_ANEW;
        self.shares.recv()
    }
}
