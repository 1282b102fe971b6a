//! ECE on a socket by order of its program: a program of the kernel on every packet that comes for a socket of this machine.
//!
//! Once [`attach`] has pinned it, whoever may write to the map at [`sockets`] raises ECE on a socket of its own by writing 1 under the
//! socket's descriptor (`bpf(2)`, `BPF_MAP_UPDATE_ELEM`; `CAP_BPF` or root). It stays until [`detach`].

use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use libbpf_rs::MapCore;

use crate::error::Error;
use crate::{machine, object};

const ECE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ece.bpf.o"));

/// Path at which the map is pinned.
pub fn sockets() -> Result<PathBuf, Error> {
    Ok(machine::pin_folder()?.join("ece_sockets"))
}

fn link() -> Result<PathBuf, Error> {
    Ok(machine::pin_folder()?.join("ece_link"))
}

/// Attaches the program to all sockets, and pins it; does nothing if it is there.
pub fn attach() -> Result<(), Error> {
    machine::check()?;
    let (sockets, link) = (sockets()?, link()?);
    if link.exists() {
        return Ok(());
    }
    let mut loaded = object::load(object::open("ece", ECE)?, "ece")?;
    let root = machine::cgroup_root()?;
    let folder = fs::File::open(&root).map_err(Error::file(&root))?;
    let refused = |what: &str| {
        let what = format!("{what} {}", root.display());
        move |error: libbpf_rs::Error| object::refused(&what, &error)
    };
    for mut map in loaded.maps_mut().filter(|map| map.name() == "sockets") {
        map.pin(&sockets).map_err(refused("pinning the map of sockets, for"))?;
    }
    let program = loaded.progs_mut().next().expect("the object has one program");
    let mut attached = program.attach_cgroup(folder.as_raw_fd()).map_err(refused("attaching to"))?;
    attached.pin(&link).map_err(refused("pinning what is attached to"))
}

/// Removes the program and its map.
pub fn detach() -> Result<(), Error> {
    for path in [link()?, sockets()?] {
        if path.exists() {
            fs::remove_file(&path).map_err(Error::file(path))?;
        }
    }
    Ok(())
}
