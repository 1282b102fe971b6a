//! First process of a [user-mode kernel](crate::clock::is_virtual): it runs one command, of this program or another, then powers the
//! kernel off.
//!
//! The kernel shows the files of its host, and may write to the folder only in which it was started. That folder has the command
//! (`order.json`) with its standard input (`in`), and gets what the command wrote (`out`, `err`) and its exit code (`code`).

use std::convert::Infallible;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use serde::Deserialize;

/// The kernel's folder among the files of its host, as the host resolves it.
const STARTED_IN: &str = "/proc/self/cwd/";
/// Its place among the kernel's files. The host's own files are all seen where they are, but for those of devices and processes.
const FOLDER: &str = "/dev/ackclock";
/// Exit code of a command that did not begin, or was killed.
const NOT_RUN: i32 = 1;

/// The command that a kernel was started for.
#[derive(Debug, Deserialize)]
struct Order {
    /// Program to run; this one by default.
    #[serde(default = "this_program")]
    program: PathBuf,
    /// Its arguments.
    arguments: Vec<String>,
    /// Folder to which relative file names in them belong.
    folder: PathBuf,
}

fn this_program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Mounts what a program needs, runs the command and powers off. It returns only if that fails, with which the kernel stops.
pub fn run() -> io::Result<Infallible> {
    let special = [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tracefs", "/sys/kernel/tracing")];
    for (kind, place) in special {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)
            .or_else(|error| if kind == "tracefs" { Ok(()) } else { Err(error) })
            .map_err(|error| io::Error::other(format!("{place}: {error}")))?;
    }
    fs::create_dir(FOLDER)?;
    mount(None::<&str>, FOLDER, Some("hostfs"), MsFlags::empty(), Some(STARTED_IN))?;
    let folder = Path::new(FOLDER);
    let code = command(folder).unwrap_or_else(|error| {
        let _ = fs::write(folder.join("err"), format!("error: {error}\n"));
        NOT_RUN
    });
    fs::write(folder.join("code"), code.to_string())?;
    Ok(reboot(RebootMode::RB_POWER_OFF)?)
}

/// Runs the command, and returns its exit code.
fn command(folder: &Path) -> io::Result<i32> {
    let order: Order = serde_json::from_str(&fs::read_to_string(folder.join("order.json"))?)?;
    let status = Command::new(order.program)
        .args(order.arguments)
        .current_dir(order.folder)
        .stdin(File::open(folder.join("in"))?)
        .stdout(File::create(folder.join("out"))?)
        .stderr(File::create(folder.join("err"))?)
        .status()?;
    Ok(status.code().unwrap_or(NOT_RUN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_for_this_program_unless_it_names_another() {
        let read = |text| serde_json::from_str::<Order>(text).unwrap();
        assert_eq!(read(r#"{"arguments": ["run"], "folder": "/"}"#).program, PathBuf::from("/proc/self/exe"));
        let other = read(r#"{"program": "/usr/bin/env", "arguments": ["A=b"], "folder": "/"}"#);
        assert_eq!(other.program, PathBuf::from("/usr/bin/env"));
    }
}
