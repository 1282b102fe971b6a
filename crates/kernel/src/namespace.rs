//! Network namespaces without names.
//!
//! A namespace lives as long as a thread is in it or a file of it is open, and so do the TUN devices in it. This program gives them no
//! names and mounts nothing, so that the kernel removes them with the last of its threads and files, however it ends: there is nothing
//! that could be left behind, found again or mixed up with what others made, and two runs at once do not meet.

use std::fs::{self, File};
use std::io;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// A network namespace, of our own or one that others made.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Makes an empty one; it needs `CAP_SYS_ADMIN`.
    pub fn new() -> io::Result<Self> {
        let made = thread::scope(|scope| {
            let maker = scope.spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET)?;
                File::open("/proc/thread-self/ns/net")
            });
            maker.join().expect("making a namespace does not panic")
        });
        Ok(Self { file: made? })
    }

    /// One that has a name (`ip netns`), or that of a process (`/proc/PID/ns/net`).
    pub fn named(name: &str) -> io::Result<Self> {
        let path = if name.contains('/') { name.to_owned() } else { format!("/run/netns/{name}") };
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
        Ok(Self { file: File::open(&path).map_err(told)? })
    }

    /// Does something on a thread in the namespace: sockets that it makes, and devices, are there for good.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                setns(&self.file, CloneFlags::CLONE_NEWNET)?;
                work()
            });
            worker.join().expect("work in a namespace does not panic")
        })
    }

    /// Sets a parameter such as `net.ipv4.tcp_sack`, and reads it back.
    pub fn set(&self, name: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        self.within(|| {
            let told = |error: io::Error| io::Error::new(error.kind(), format!("{name} = {value}: {error}"));
            fs::write(&path, value).map_err(told)?;
            let found = fs::read_to_string(&path).map_err(told)?;
            if found.split_whitespace().eq(value.split_whitespace()) {
                return Ok(());
            }
            Err(io::Error::other(format!("{name} = {value}: the kernel says {}", found.trim())))
        })
    }

    /// Reads a parameter of the namespace.
    pub fn get(&self, name: &str) -> io::Result<String> {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        self.within(|| Ok(fs::read_to_string(&path)?.trim().to_owned()))
    }
}
