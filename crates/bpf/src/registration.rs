//! Controllers in the kernel: registered for as long as a program runs, or kept until they are unloaded.
//!
//! A registration is a link of BPF. Held by a program, it goes when that ends, however it ends. Kept, it is pinned in the BPF file
//! system, in a folder of its own under `ackclock/`, with the variables that can be changed while flows run.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use ackclock_cc::ControllerConfig;
use libbpf_rs::{Link, MapCore, MapHandle, Object, OpenObject};

use crate::catalogue::{Assignment, PROGRAMS, Program};
use crate::error::Error;
use crate::exchange::PARAMS;
use crate::{machine, object, system};

/// The variables of a controller's program, each in a section of its own.
const VARIABLES: [&str; 3] = ["params", "curve", "about"];

/// What to load: a controller with its parameters, and the name that sockets take it by.
#[derive(Clone, Debug)]
pub struct Order {
    program: &'static Program,
    kernel_name: String,
    params: [u64; PARAMS],
    config: ControllerConfig,
    about: String,
}

impl Order {
    /// Of a controller by its name, with parameters, and for sockets by another name than its own if there is one.
    pub fn new(name: &str, assignments: &[Assignment], alias: Option<&str>) -> Result<Self, Error> {
        let program = Program::find(name)?;
        let words = assignments.iter().map(|(field, value)| format!(" {field}={value}"));
        let about = format!("{}{}", program.name, words.collect::<String>());
        Self::with(program, program.config(assignments)?, alias.unwrap_or(program.kernel_name), about)
    }

    /// Of a controller as a scenario has it, for sockets by a name.
    pub fn of(name: &str, config: ControllerConfig, kernel_name: &str) -> Result<Self, Error> {
        let program = Program::find(name)?;
        Self::with(program, config, kernel_name, program.name.to_owned())
    }

    fn with(
        program: &'static Program,
        config: ControllerConfig,
        kernel_name: &str,
        about: String,
    ) -> Result<Self, Error> {
        let params = program.params(&config, 0)?;
        let kernel_name = kernel_name.to_owned();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if kernel_name.is_empty() || kernel_name.len() > 15 || !kernel_name.chars().all(is_plain) {
            let message =
                format!("{kernel_name:?} is no name for a controller: 1 to 15 letters, digits and underscores");
            return Err(Error::WrongArgument(message));
        }
        Ok(Self { program, kernel_name, params, config, about })
    }

    /// As sockets name it.
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// Whether both are one controller with the same parameters.
    pub fn is_same(&self, other: &Self) -> bool {
        self.program.name == other.program.name && self.config == other.config
    }

    fn variable(&self, name: &str) -> Option<Vec<u8>> {
        match name {
            "params" => Some(self.params.iter().flat_map(|word| word.to_ne_bytes()).collect()),
            "curve" => Program::curve(&self.config).map(|curve| curve.octets()),
            _ => Some(self.about.bytes().take(255).collect()),
        }
    }

    fn open(&self) -> Result<OpenObject, Error> {
        machine::check()?;
        let mut opened = object::open(self.program.name, self.program.object)?;
        for name in VARIABLES {
            if let Some(octets) = self.variable(name) {
                object::set(&mut opened, &section_of(name), &octets);
            }
        }
        for mut map in opened.maps_mut().filter(|map| map.name() == "ops") {
            if let Some(value) = map.initial_value_mut() {
                rename(value, self.program.kernel_name, &self.kernel_name);
            }
        }
        Ok(opened)
    }
}

fn section_of(variable: &str) -> String {
    format!(".data.{variable}")
}

/// Puts another name in the place of the one that a structure was compiled with, which is 16 octets long.
fn rename(structure: &mut [u8], compiled: &str, name: &str) {
    let mut wanted = [0; 16];
    wanted[..name.len()].copy_from_slice(name.as_bytes());
    let place = structure
        .windows(compiled.len() + 1)
        .position(|octets| octets.starts_with(compiled.as_bytes()) && octets[compiled.len()] == 0);
    if let Some(place) = place {
        structure[place..place + 16].copy_from_slice(&wanted);
    }
}

/// A controller that the kernel has for as long as this lives.
#[derive(Debug)]
pub struct Registration {
    kernel_name: String,
    link: Link,
    object: Object,
}

impl Registration {
    /// Loads and registers.
    pub fn new(order: &Order) -> Result<Self, Error> {
        let opened = order.open()?;
        if machine::available_controllers().contains(&order.kernel_name) {
            return Err(Error::Registered { name: order.kernel_name.clone() });
        }
        let mut loaded = object::load(opened, order.program.name)?;
        let link = object::register(&mut loaded, &order.kernel_name)?;
        Ok(Self { kernel_name: order.kernel_name.clone(), link, object: loaded })
    }

    /// As sockets name it.
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// Keeps it registered after this program has ended.
    pub fn keep(mut self) -> Result<(), Error> {
        let folder = machine::pin_folder()?.join(&self.kernel_name);
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        for name in VARIABLES {
            for mut map in self.object.maps_mut().filter(|map| map.name() == section_of(name).as_str()) {
                pin(&folder.join(name), |path| map.pin(path))?;
            }
        }
        pin(&folder.join("link"), |path| self.link.pin(path))
    }
}

fn pin(path: &Path, pinned: impl FnOnce(&Path) -> libbpf_rs::Result<()>) -> Result<(), Error> {
    if path.exists() {
        fs::remove_file(path).map_err(Error::file(path))?;
    }
    pinned(path).map_err(|error| Error::kernel(format!("pinning {}", path.display()), error))
}

/// A controller that is registered and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// As sockets name it.
    pub kernel_name: String,
    /// The controller and the parameters that it was given.
    pub about: String,
}

/// All that are kept, in the order of their names.
pub fn kept() -> Result<Vec<Kept>, Error> {
    let folder = machine::pin_folder()?;
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(Error::file(&folder))? {
        let path = entry.map_err(Error::file(&folder))?.path();
        if !path.join("link").exists() {
            continue;
        }
        let about = object::read(&pinned_map(&path.join("about"))?)?;
        let about = String::from_utf8_lossy(&about).trim_end_matches('\0').to_owned();
        found.push(Kept { kernel_name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(), about });
    }
    found.sort_by(|a, b| a.kernel_name.cmp(&b.kernel_name));
    Ok(found)
}

fn pinned_map(path: &Path) -> Result<MapHandle, Error> {
    MapHandle::from_pinned_path(path).map_err(|error| Error::kernel(format!("opening {}", path.display()), error))
}

/// Unregisters a controller that is kept: no socket can take it from now on, and those that have it keep it to their end.
pub fn unload(name: &str) -> Result<(), Error> {
    machine::check()?;
    let folder = folder_of(name)?;
    for name in VARIABLES.iter().chain(&["link"]) {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(Error::file(path))?;
        }
    }
    fs::remove_dir(&folder).map_err(Error::file(&folder))
}

/// Where a controller is kept, by its name in the kernel or in scenarios.
fn folder_of(name: &str) -> Result<PathBuf, Error> {
    let folder = machine::pin_folder()?;
    let known = PROGRAMS.iter().find(|program| program.name == name).map(|program| program.kernel_name);
    let folder = folder.join(known.unwrap_or(name));
    if folder.join("link").exists() { Ok(folder) } else { Err(Error::NotRegistered { name: name.to_owned() }) }
}

/// Replaces a controller that is kept by one with other parameters, while flows run: those that have it go by the new ones from
/// their next ACK on, since they share the variables; sockets that take it from now on get the program as it is compiled now.
pub fn update(name: &str, assignments: &[Assignment]) -> Result<(), Error> {
    machine::check()?;
    let folder = folder_of(name)?;
    let kernel_name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let about = kept()?.into_iter().find(|kept| kept.kernel_name == kernel_name).map(|kept| kept.about);
    let controller = about.as_deref().and_then(|about| about.split(' ').next()).unwrap_or(name).to_owned();
    let order = Order::new(&controller, assignments, Some(&kernel_name))?;
    let mut opened = order.open()?;
    for name in VARIABLES {
        let path = folder.join(name);
        for mut map in opened.maps_mut().filter(|map| map.name() == section_of(name).as_str()) {
            map.reuse_pinned_map(&path)
                .map_err(|error| Error::kernel(format!("taking over {}", path.display()), error))?;
        }
    }
    let mut loaded = object::load(opened, order.program.name)?;
    // Registering it fails, as the name is taken, and leaves the operations filled in, which an update needs.
    if object::register(&mut loaded, &kernel_name).is_ok() {
        return Err(Error::kernel(format!("replacing {kernel_name}"), "it went away meanwhile"));
    }
    let link = Link::open(folder.join("link")).map_err(|error| Error::kernel("opening the registration", error))?;
    let ops = loaded.maps().find(|map| map.name() == "ops").expect("a controller's program has its operations");
    system::update_link(link.as_fd(), ops.as_fd())
        .map_err(|error| Error::kernel(format!("replacing {kernel_name}"), error))?;
    for name in VARIABLES {
        if let (Some(octets), path) = (order.variable(name), folder.join(name)) {
            object::write(&pinned_map(&path)?, &octets)?;
        }
    }
    Ok(())
}
