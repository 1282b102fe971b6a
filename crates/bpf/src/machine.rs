//! Requirements of this machine: rights, type information of the kernel, its age, file systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// The first kernel that registers a controller through a link, which goes when its holder does.
const LEAST_KERNEL: (u32, u32) = (6, 4);
/// Type information of the running kernel, by which programs find their way in its structures.
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// File system where registrations outlive their program.
const BPF_FILE_SYSTEM: &str = "/sys/fs/bpf";

/// Nothing if programs can be loaded here; the first thing that is missing otherwise.
pub fn check() -> Result<(), Error> {
    check_kernel()?;
    if !has_rights() {
        return Err(missing("loading programs into the kernel needs root", "run it with sudo"));
    }
    Ok(())
}

/// Nothing if whoever has the rights can load programs into this kernel; the first thing that is missing otherwise.
pub fn check_kernel() -> Result<(), Error> {
    if !cfg!(target_os = "linux") {
        return Err(missing("this is not Linux", "use a Linux machine"));
    }
    at_least(LEAST_KERNEL, "registering controllers that are removed with their program")?;
    if !Path::new(BTF).exists() {
        return Err(missing(&format!("{BTF} is missing"), "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y"));
    }
    Ok(())
}

/// Nothing if the kernel is of this version or a later one, which `what` takes.
pub(crate) fn at_least(version: (u32, u32), what: &str) -> Result<(), Error> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if version_of(&release).is_some_and(|running| running >= version) {
        return Ok(());
    }
    let (major, minor) = version;
    Err(missing(&format!("the kernel is {}", release.trim()), &format!("{what} needs {major}.{minor} or later")))
}

fn missing(what: &str, remedy: &str) -> Error {
    Error::Missing { what: what.to_owned(), remedy: remedy.to_owned() }
}

/// `6.18.44-something` as (6, 18).
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// `CAP_NET_ADMIN` (12) and `CAP_BPF` (39) in effect, by their numbers in the kernel's interface.
fn has_rights() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    effective & (1 << 12) != 0 && effective & (1 << 39) != 0
}

/// The folder in which registrations are kept, made if need be.
pub(crate) fn pin_folder() -> Result<PathBuf, Error> {
    let place = match mount_of("bpf") {
        Some(place) => place,
        // Each mount of this file system is one of its own, and one of a namespace goes with it.
        None if is_in_own_mounts() => {
            let what = "registrations do not persist in this mount namespace (perhaps that of `ip netns exec`)";
            return Err(missing(what, "run it outside: a controller is registered for all network namespaces"));
        }
        None => mount("bpf", Path::new(BPF_FILE_SYSTEM))?,
    };
    let folder = place.join("ackclock");
    fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    Ok(folder)
}

/// Mount point of the cgroups of version 2; `ip netns exec` hides it.
pub(crate) fn cgroup_root() -> Result<PathBuf, Error> {
    mount_of("cgroup2").map_or_else(|| mount("cgroup2", Path::new("/run/ackclock/cgroup2")), Ok)
}

/// False where nobody may know what the first process has, as in some containers.
fn is_in_own_mounts() -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    namespace("1").is_some_and(|first| namespace("self") != Some(first))
}

fn mount(kind: &str, place: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(place).map_err(Error::file(place))?;
    let mounted = Command::new("mount").args(["-t", kind, "ackclock"]).arg(place).status();
    if mounted.is_ok_and(|status| status.success()) {
        return Ok(place.to_owned());
    }
    let what = format!("no {kind} file system is mounted, and mounting one failed");
    Err(missing(&what, &format!("mount -t {kind} none {}", place.display())))
}

/// The first mount of a kind of file system.
fn mount_of(kind: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let place = words.next()?;
        (words.next()? == kind).then(|| place.into())
    })
}

/// The controllers that sockets of this network namespace can take.
pub(crate) fn available_controllers() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_a_version_in_front() {
        assert_eq!(version_of("6.18.44-fc-v669\n"), Some((6, 18)));
        assert_eq!(version_of("5.4-generic"), Some((5, 4)));
        assert_eq!(version_of("unknown"), None);
    }
}
