//! The program at work: threads, listeners, signals; reload, upgrade and the end.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::config::file::File;
use crate::config::{self, Config, Diagnostic, Known, Listener, duration, reload};
use crate::end_reason::Ending;
use crate::handover::Inherited;
use crate::service::{Service, Shared};
use crate::worker::{Backlog, Command, ConnectionInfo, Handle, Pair, Worker};
use crate::{check, listener, log, side};

/// Interval between checks for an awaited end.
const GLANCE: Duration = Duration::from_millis(20);

/// A listener at work: its sockets are those of the threads, kept to hand them to a successor.
#[derive(Debug)]
pub struct Active {
    /// Address at which it listens.
    pub address: SocketAddr,
    /// Listening sockets, one for each thread.
    pub sockets: Vec<OwnedFd>,
    /// State of the listener that the threads share.
    pub service: Arc<Service>,
}

/// The proxy's process: its configuration, threads and listeners.
#[derive(Debug)]
pub struct App {
    path: PathBuf,
    config: Config,
    /// The file with which it started: fields that a restart alone changes are as in it.
    started: File,
    /// It has given up what it does not need, and so has every successor.
    pub has_confined: bool,
    /// State that all threads share.
    pub shared: Arc<Shared>,
    handles: Vec<Handle>,
    threads: Vec<JoinHandle<()>>,
    /// The listeners, for whoever looks after the health of servers.
    pub active: Arc<Mutex<Vec<Active>>>,
}

/// Time within which a process that takes no more connections must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// It ends within `timeouts.drain`.
    InTime,
    /// It ends at once.
    AtOnce,
}

/// Ends the process where a thread that carries connections panics: the kernel would go on giving connections to its socket, at
/// which nobody takes them. Whoever watches over the process starts it again.
struct EndsWithPanic;

impl Drop for EndsWithPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

impl App {
    /// Threads and listeners of a configuration; sockets of a predecessor are used where they fit.
    pub fn start(path: PathBuf, config: Config, mut inherited: Inherited, has_confined: bool) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(&config));
        let active = Arc::default();
        shared.troubles.look_after(Arc::clone(&active))?;
        let mut handles = Vec::new();
        let mut workers = Vec::new();
        for _ in 0..config.workers {
            let (worker, handle) = Worker::new(&config, Arc::clone(&shared))?;
            workers.push(worker);
            handles.push(handle);
        }
        let started = config.file.clone();
        let app = Self { path, config, started, has_confined, shared, handles, threads: Vec::new(), active };
        let mut app = app;
        for index in 0..app.config.listeners.len() {
            app.open(index, &mut inherited)?;
        }
        for (index, worker) in workers.into_iter().enumerate() {
            let thread = thread::Builder::new().name(format!("carrier-{index}")).spawn(move || {
                let _guard = EndsWithPanic;
                worker.run();
            })?;
            app.threads.push(thread);
        }
        Ok(app)
    }

    /// Opens a listener's sockets, one for each thread, and hands them out.
    fn open(&mut self, index: usize, inherited: &mut Inherited) -> io::Result<()> {
        let of = &self.config.listeners[index];
        let address = of.listen.address.0;
        let inherited = inherited.take(of);
        for socket in &inherited {
            let socket = SockRef::from(socket);
            listener::configure(&socket, of)?;
            listener::start(&socket, of)?;
        }
        let sockets = self.sockets(of, inherited)?;
        side::try_all(of)?;
        let service = Arc::new(Service::new(of, &self.config, &self.shared.metrics, None));
        let active = Active { address, sockets, service };
        self.hand_out(&active)?;
        tracing::info!(listener = of.name, %address, "listening");
        self.listeners().push(active);
        Ok(())
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, Vec<Active>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the configuration anew; the names of listeners that could not be made as it says. With a mistake in it everything stays
    /// as it is.
    pub fn reload(&mut self) -> Result<Vec<String>, Vec<Diagnostic>> {
        let services: Vec<_> = self.listeners().iter().map(|active| Arc::clone(&active.service)).collect();
        let known: Known = services.iter().flat_map(|service| service.upstreams.known()).collect();
        let config = config::load_again(&self.path, &known)?;
        let changed = reload::unchanged(&self.started, &config.file);
        if !changed.is_empty() {
            tracing::warn!(
                fields = changed.join(", "),
                "these fields take effect after a restart only, and are as they were"
            );
        }
        self.config = config;
        log::follow(&self.config.file.log);
        self.shared.limit(&self.config);
        self.close_others();
        let mut failed = Vec::new();
        for index in 0..self.config.listeners.len() {
            if let Err(error) = self.renew(index) {
                let Listener { name, listen, .. } = &self.config.listeners[index];
                let error = check::explained(listen.address.0, error);
                tracing::error!(listener = name, %error, "not as configured");
                failed.push(name.clone());
            }
        }
        Ok(failed)
    }

    /// Listeners that the configuration has no more.
    fn close_others(&mut self) {
        let kept: Vec<SocketAddr> = self.config.listeners.iter().map(|it| it.listen.address.0).collect();
        self.listeners().retain(|active| {
            let stays = kept.contains(&active.address);
            if !stays {
                tracing::info!(address = %active.address, "no longer listening");
                self.handles.iter().for_each(|handle| handle.tell(Command::StopListening(active.address)));
            }
            stays
        });
    }

    fn renew(&mut self, index: usize) -> io::Result<()> {
        let of = &self.config.listeners[index];
        let mut listeners = self.listeners();
        let Some(active) = listeners.iter_mut().find(|active| active.address == of.listen.address.0) else {
            drop(listeners);
            return self.open(index, &mut Inherited::default());
        };
        side::try_all(of)?;
        let before = &active.service.listener.listen;
        // A socket cannot be told to forget what it was set to.
        let needs_sockets = (&before.near, before.mode) != (&of.listen.near, of.listen.mode);
        let sockets = if needs_sockets { self.sockets(of, Vec::new())? } else { Vec::new() };
        for socket in &active.sockets {
            listener::start(&SockRef::from(socket), of)?;
        }
        let service = Service::new(of, &self.config, &self.shared.metrics, Some(&active.service));
        active.service = Arc::new(service);
        if needs_sockets {
            self.handles.iter().for_each(|handle| handle.tell(Command::StopListening(active.address)));
            active.sockets = sockets;
            return self.hand_out(active);
        }
        self.handles.iter().for_each(|handle| handle.tell(Command::Replace(Arc::clone(&active.service))));
        Ok(())
    }

    /// A listener's sockets, one for each thread: these, and as many new ones as are missing.
    fn sockets(&self, of: &Listener, mut sockets: Vec<OwnedFd>) -> io::Result<Vec<OwnedFd>> {
        while sockets.len() < self.handles.len() {
            sockets.push(listener::listen(of)?);
        }
        Ok(sockets)
    }

    /// Has the threads listen at a listener's sockets.
    fn hand_out(&self, active: &Active) -> io::Result<()> {
        for (socket, handle) in active.sockets.iter().zip(self.handles.iter().cycle()) {
            handle.tell(Command::Listen(Arc::clone(&active.service), socket.try_clone()?));
        }
        Ok(())
    }

    /// Open connections, from every thread that answers.
    pub fn describe(handles: &[Handle]) -> Vec<ConnectionInfo> {
        Self::asked(handles, Command::Describe)
    }

    /// Waiting octets in the connections of each listener, from every thread that answers.
    pub fn backlogs(handles: &[Handle]) -> Vec<Backlog> {
        Self::asked(handles, Command::Survey)
    }

    /// Pairs of sockets, from every thread that answers.
    pub fn pairs(handles: &[Handle]) -> Vec<Pair> {
        Self::asked(handles, Command::Pair)
    }

    fn asked<T>(handles: &[Handle], question: impl Fn(Sender<Vec<T>>) -> Command) -> Vec<T> {
        let (answer, answers) = channel();
        for handle in handles {
            handle.tell(question(answer.clone()));
        }
        drop(answer);
        let until = Instant::now() + Duration::from_secs(2);
        let mut all = Vec::new();
        while let Ok(some) = answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
            all.extend(some);
        }
        all
    }

    /// Handles of the threads, for others.
    pub fn handles(&self) -> Vec<Handle> {
        self.handles.iter().filter_map(|handle| handle.again().ok()).collect()
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Takes no more connections, and waits for the end of those that are there: as long as it takes, and `timeouts.drain` from when
    /// it is `asked` to end in time. True if it was asked to end at once.
    pub fn drain(mut self, mut asked: impl FnMut() -> Option<Haste>) -> bool {
        // What is known of the servers is still shown.
        self.listeners().iter_mut().for_each(|active| active.sockets.clear());
        self.handles.iter().for_each(|handle| handle.tell(Command::Drain));
        let (mut until, mut is_at_once) = (None, false);
        while !self.threads.iter().all(JoinHandle::is_finished)
            && until.is_none_or(|until| Instant::now() < until)
            && !is_at_once
        {
            match asked() {
                Some(Haste::InTime) => {
                    until.get_or_insert_with(|| Instant::now() + duration(self.config.file.timeouts.drain));
                }
                Some(Haste::AtOnce) => is_at_once = true,
                None => thread::sleep(GLANCE),
            }
        }
        self.end(if is_at_once { Ending::Stopped } else { Ending::Drained });
        is_at_once
    }

    /// Ends now: connections that are there are reset.
    pub fn stop(&mut self) {
        self.end(Ending::Stopped);
    }

    fn end(&mut self, why: Ending) {
        self.handles.iter().for_each(|handle| handle.tell(Command::Stop(why)));
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread has panicked");
            }
        }
    }
}
