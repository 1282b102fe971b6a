//! ECE by order of the program, where the kernel has been given a means for that.
//!
//! Linux has no option by which a program could raise ECE on a socket. `ackclock-kernel ece` attaches a program to the kernel that does it
//! for whoever writes the socket's descriptor into its map. Without that, policies that raise ECE are mistakes of the configuration.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

use crate::sys;

/// Path at which `ackclock-kernel ece` pins its map.
const MAP: &CStr = c"/sys/fs/bpf/ackclock/ece_sockets";

static SOCKETS: OnceLock<OwnedFd> = OnceLock::new();

/// Path of the means to raise ECE.
pub fn place() -> String {
    MAP.to_string_lossy().into_owned()
}

/// Looks for the means to raise ECE until it is there; the kernel's error if it is not.
pub fn find() -> io::Result<()> {
    if SOCKETS.get().is_none() {
        let _ = SOCKETS.set(sys::pinned_map(MAP)?);
    }
    Ok(())
}

/// Raises ECE on a socket, once: nothing comes of it with a peer that has no ECN.
pub fn raise(socket: impl AsFd) {
    if let Some(map) = SOCKETS.get() {
        let _ = sys::write_for_socket(map, socket, 1);
    }
}
