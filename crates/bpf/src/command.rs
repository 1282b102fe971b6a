//! A command in a cgroup of its own, by which its connections are known: each is given a controller, or watched.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use libbpf_rs::{Link, Object};
use rustix::process::Signal;

use crate::error::Error;
use crate::{machine, object};

const CHOOSE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/choose.bpf.o"));
/// Interval at which the end of a command is checked.
const PAUSE: Duration = Duration::from_millis(20);
/// Time that an interrupted command has for ending by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Groups that this process has made.
static GROUPS: AtomicU32 = AtomicU32::new(0);
/// Held while this process is in a group: what another thread started meanwhile would begin there, too.
static MOVING: Mutex<()> = Mutex::new(());
/// Prefix of the commands' cgroups, followed by the process that made one and its number there.
const PREFIX: &str = "ackclock-exec-";

/// A cgroup for a command; it goes when this does.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    /// The program that gives connections a controller, and what attaches it.
    chooser: Option<(Object, Link)>,
}

/// Counts of a group's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Number of connections that got the controller.
    pub connections: u64,
    /// The kernel would not give it to them.
    pub refused: u64,
}

impl Group {
    /// Creates an empty group.
    pub fn new() -> Result<Self, Error> {
        machine::check()?;
        let root = machine::cgroup_root()?;
        sweep(&root);
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("{PREFIX}{}.{number}", std::process::id()));
        fs::create_dir_all(&path).map_err(Error::file(&path))?;
        Ok(Self { path, chooser: None })
    }

    /// Gives its connections, from now on, the controller that the kernel has by this name.
    pub fn choose(&mut self, kernel_name: &str) -> Result<(), Error> {
        let mut opened = object::open("choose", CHOOSE)?;
        object::set(&mut opened, ".data.controller", kernel_name.as_bytes());
        let loaded = object::load(opened, "choose")?;
        let folder = fs::File::open(&self.path).map_err(Error::file(&self.path))?;
        let program = loaded.progs_mut().next().expect("the object has one program");
        let link = program.attach_cgroup(folder.as_raw_fd());
        let link = link.map_err(|error| object::refused(&format!("attaching to {}", self.path.display()), &error))?;
        self.chooser = Some((loaded, link));
        Ok(())
    }

    /// The number by which the kernel knows it.
    pub fn number(&self) -> Result<u64, Error> {
        Ok(fs::metadata(&self.path).map_err(Error::file(&self.path))?.ino())
    }

    /// Runs a command in it to its end; `meanwhile` is called now and then until then.
    pub fn run(&self, command: &[String], meanwhile: impl FnMut() -> Result<(), Error>) -> Result<ExitStatus, Error> {
        self.run_until(command, &AtomicBool::new(false), meanwhile)
    }

    /// Runs a command like [`Self::run`]; if `stop` becomes true and the command does not end by itself soon, as one in
    /// the foreground does at Ctrl-C, it is sent SIGTERM.
    pub fn run_until(
        &self,
        command: &[String],
        stop: &AtomicBool,
        mut meanwhile: impl FnMut() -> Result<(), Error>,
    ) -> Result<ExitStatus, Error> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| Error::WrongArgument("-- must be followed by a command".to_owned()))?;
        // A child begins in its parent's cgroup: this process goes there, has the child and goes back.
        let moving = MOVING.lock().unwrap_or_else(PoisonError::into_inner);
        let home = self.home()?;
        enter(&self.path)?;
        let spawned = Command::new(program).args(arguments).spawn();
        enter(&home)?;
        drop(moving);
        let mut child =
            spawned.map_err(|error| Error::WrongArgument(format!("{program} cannot be started: {error}")))?;
        let (mut stopped, mut is_told, mut done) = (None, false, Ok(()));
        loop {
            if stop.load(Ordering::Relaxed) {
                let since = *stopped.get_or_insert_with(Instant::now);
                if !is_told && since.elapsed() > GRACE {
                    is_told = true;
                    // It may have ended meanwhile, which is as well.
                    let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM);
                }
            }
            let ended = child.try_wait().map_err(|error| Error::kernel(format!("waiting for {program}"), error))?;
            // A command is not left to itself because its records cannot be written.
            done = done.and_then(|()| meanwhile());
            if let Some(status) = ended {
                return done.map(|()| status);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The cgroup that this process is in now.
    fn home(&self) -> Result<PathBuf, Error> {
        folder_of("self", self.path.parent().expect("a cgroup lies in another"))
    }

    /// Counts of its connections so far.
    pub fn chosen(&self) -> Result<Chosen, Error> {
        let Some((object, _)) = &self.chooser else { return Ok(Chosen::default()) };
        let map = object.maps().find(|map| libbpf_rs::MapCore::name(map) == ".data.chosen");
        let octets = crate::object::read(&map.expect("the object has this variable"))?;
        let word = |place: usize| {
            octets.get(place..place + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_ne_bytes)
        };
        Ok(Chosen { connections: word(0), refused: word(8) })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.chooser = None;
        // With processes left in it the cgroup stays, and the next group sweeps it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The cgroup that a process is in, below the root of all.
fn folder_of(process: &str, root: &Path) -> Result<PathBuf, Error> {
    let file = format!("/proc/{process}/cgroup");
    let lines = fs::read_to_string(&file).map_err(Error::file(&file))?;
    Ok(root.join(lines.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default()))
}

/// The number by which the kernel knows the cgroup that a process is in.
pub fn cgroup_of(process: u32) -> Result<u64, Error> {
    machine::check()?;
    let folder = folder_of(&process.to_string(), &machine::cgroup_root()?)?;
    Ok(fs::metadata(&folder).map_err(Error::file(&folder))?.ino())
}

fn enter(group: &Path) -> Result<(), Error> {
    let file = group.join("cgroup.procs");
    fs::write(&file, "0").map_err(Error::file(file))
}

/// Removes the empty cgroups of groups whose process was killed.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('.').next());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
