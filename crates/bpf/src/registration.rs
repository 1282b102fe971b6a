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
use crate::policy::{self, Policy};
use crate::{machine, object, system};

/// The variables of a controller's program, each in a section of its own.
const VARIABLES: [&str; 7] = ["params", "curve", "about", "policy_0", "policy_1", "in_force", "tally"];

/// Program to load: a controller with its parameters or a policy, and its name for sockets.
#[derive(Clone, Debug)]
pub struct Order {
    /// Name in scenarios.
    name: String,
    compiled_name: &'static str,
    object: &'static [u8],
    kernel_name: String,
    config: Option<ControllerConfig>,
    /// Values of its variables.
    variables: Vec<(&'static str, Vec<u8>)>,
}

impl Order {
    /// Order for a controller by its name, with parameters, or for a file of a policy by its path; for sockets by
    /// another name than its own if there is one.
    pub fn new(name: &str, assignments: &[Assignment], alias: Option<&str>) -> Result<Self, Error> {
        if let Some(policy) = Policy::of_file(name)? {
            return Self::of_policy(&policy, assignments, alias);
        }
        let program = Program::find(name)?;
        let words = assignments.iter().map(|(field, value)| format!(" {field}={value}"));
        let about = format!("{}{}", program.name, words.collect::<String>());
        Self::with(program, program.config(assignments)?, alias.unwrap_or(program.kernel_name), &about)
    }

    /// Order for a controller from a scenario, with a name for sockets.
    pub fn of(name: &str, config: ControllerConfig, kernel_name: &str) -> Result<Self, Error> {
        let program = Program::find(name)?;
        Self::with(program, config, kernel_name, program.name)
    }

    /// Order for a policy in whole numbers from a scenario, with a name for sockets.
    pub fn of_image(image: &[u8], kernel_name: &str) -> Result<Self, Error> {
        Self::of_policy(&Policy::of_image(image)?, &[], Some(kernel_name))
    }

    fn of_policy(policy: &Policy, assignments: &[Assignment], alias: Option<&str>) -> Result<Self, Error> {
        if let Some((field, _)) = assignments.first() {
            let message = format!("{field}: a policy has no parameters; what it was trained with is in its file");
            return Err(Error::WrongArgument(message));
        }
        let variables = vec![("policy_0", policy.image().to_vec()), ("about", about(&policy.about()))];
        Ok(Self {
            name: policy::NAME.to_owned(),
            compiled_name: policy::KERNEL_NAME,
            object: policy::OBJECT,
            kernel_name: checked(alias.unwrap_or(policy::KERNEL_NAME))?,
            config: None,
            variables,
        })
    }

    fn with(
        program: &'static Program,
        config: ControllerConfig,
        kernel_name: &str,
        words: &str,
    ) -> Result<Self, Error> {
        let params = program.params(&config, 0)?;
        let mut variables = vec![("params", params.iter().flat_map(|word| word.to_ne_bytes()).collect())];
        variables.extend(Program::curve(&config).map(|curve| ("curve", curve.octets())));
        variables.push(("about", about(words)));
        Ok(Self {
            name: program.name.to_owned(),
            compiled_name: program.kernel_name,
            object: program.object,
            kernel_name: checked(kernel_name)?,
            config: Some(config),
            variables,
        })
    }

    /// Name for sockets.
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// Whether both are one controller with the same parameters.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.config == other.config && self.variables == other.variables
    }

    fn variable(&self, name: &str) -> Option<&[u8]> {
        self.variables.iter().find(|(variable, _)| *variable == name).map(|(_, octets)| octets.as_slice())
    }

    fn open(&self) -> Result<OpenObject, Error> {
        machine::check()?;
        let mut opened = object::open(&self.name, self.object)?;
        for (name, octets) in &self.variables {
            object::set(&mut opened, &section_of(name), octets);
        }
        for mut map in opened.maps_mut().filter(|map| map.name() == "ops") {
            if let Some(value) = map.initial_value_mut() {
                rename(value, self.compiled_name, &self.kernel_name);
            }
        }
        Ok(opened)
    }
}

/// Description that a program keeps, cut to 255 octets.
fn about(words: &str) -> Vec<u8> {
    words.bytes().take(255).collect()
}

/// A name that the kernel has room for.
fn checked(kernel_name: &str) -> Result<String, Error> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if kernel_name.is_empty() || kernel_name.len() > 15 || !kernel_name.chars().all(is_plain) {
        let message =
            format!("{kernel_name:?}: the name of a controller must be 1 to 15 letters, digits and underscores");
        return Err(Error::WrongArgument(message));
    }
    Ok(kernel_name.to_owned())
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
    /// Loads the program and registers the controller.
    pub fn new(order: &Order) -> Result<Self, Error> {
        let opened = order.open()?;
        if machine::available_controllers().contains(&order.kernel_name) {
            return Err(Error::Registered { name: order.kernel_name.clone() });
        }
        let mut loaded = object::load(opened, &order.name)?;
        let link = object::register(&mut loaded, &order.kernel_name)?;
        Ok(Self { kernel_name: order.kernel_name.clone(), link, object: loaded })
    }

    /// Name for sockets.
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// Keeps it registered after this program has ended.
    pub fn keep(mut self) -> Result<(), Error> {
        let folder = machine::pin_folder()?.join(&self.kernel_name);
        self.pin_into(&folder).inspect_err(|_| {
            let _ = remove(&folder);
        })
    }

    /// The link comes last: without it nothing is registered.
    fn pin_into(&mut self, folder: &Path) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
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
    /// Name for sockets.
    pub kernel_name: String,
    /// The controller and the parameters that it was given.
    pub about: String,
    /// Cost of its decisions, if it is a policy.
    pub spent: Option<policy::Spent>,
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
        let spent = spent(&path)?;
        found.push(Kept {
            spent,
            kernel_name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            about,
        });
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
    let folder = place_of(name)?;
    // one that was killed while it loaded left variables and no link, which are of no use either
    if folder.is_dir() { remove(&folder) } else { Err(Error::NotRegistered { name: name.to_owned() }) }
}

fn remove(folder: &Path) -> Result<(), Error> {
    for name in ["link"].iter().chain(&VARIABLES) {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(Error::file(path))?;
        }
    }
    fs::remove_dir(folder).map_err(Error::file(folder))
}

/// Path where a controller is kept, by its name in the kernel or in scenarios.
fn place_of(name: &str) -> Result<PathBuf, Error> {
    let known = PROGRAMS.iter().find(|program| program.name == name).map(|program| program.kernel_name);
    Ok(machine::pin_folder()?.join(checked(known.unwrap_or(name))?))
}

/// Folder of a controller that is kept.
fn folder_of(name: &str) -> Result<PathBuf, Error> {
    let folder = place_of(name)?;
    if folder.join("link").exists() { Ok(folder) } else { Err(Error::NotRegistered { name: name.to_owned() }) }
}

/// Replaces a controller that is kept by one with other parameters, while flows run: those that have it go by the new ones from
/// their next ACK on, since they share the variables; sockets that take it from now on get the program as it is compiled now.
pub fn update(name: &str, assignments: &[Assignment]) -> Result<(), Error> {
    machine::check()?;
    let folder = folder_of(name)?;
    let kernel_name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if folder.join(IN_FORCE).exists() {
        return Err(Error::WrongArgument(format!("{name} is a policy: update it with --policy FILE")));
    }
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
    let mut loaded = object::load(opened, &order.name)?;
    // Registering it fails, as the name is taken, and leaves the operations filled in, which an update needs.
    if object::register(&mut loaded, &kernel_name).is_ok() {
        return Err(Error::kernel(format!("replacing {kernel_name}"), "it was removed meanwhile"));
    }
    let link = Link::open(folder.join("link")).map_err(|error| Error::kernel("opening the registration", error))?;
    let ops = loaded.maps().find(|map| map.name() == "ops").expect("a controller's program has its operations");
    system::update_link(link.as_fd(), ops.as_fd())
        .map_err(|error| Error::kernel(format!("replacing {kernel_name}"), error))?;
    for name in VARIABLES {
        if let (Some(octets), path) = (order.variable(name), folder.join(name)) {
            object::write(&pinned_map(&path)?, octets)?;
        }
    }
    Ok(())
}

const IN_FORCE: &str = "in_force";

/// Puts another policy in the place of one that is kept, while flows run: those that have it ask the new one from their next decision on,
/// and what they remember of the one before is dropped.
/// It is written to the place that is not in force first, so that no decision is made by half of each.
pub fn swap(name: &str, file: &str) -> Result<(), Error> {
    machine::check()?;
    let folder = folder_of(name)?;
    let refused = |message: String| Err(Error::WrongArgument(message));
    let Some(policy) = Policy::of_file(file)? else { return refused(format!("{file} is not a quantised policy")) };
    if !folder.join(IN_FORCE).exists() {
        return refused(format!("{name} is not a policy; update it with --param NAME=VALUE"));
    }
    let place = pinned_map(&folder.join(IN_FORCE))?;
    let count = object::read(&place)?.first_chunk().map_or(0, |octets| u32::from_ne_bytes(*octets));
    let next = count.wrapping_add(1);
    object::write(&pinned_map(&folder.join(format!("policy_{}", next & 1)))?, policy.image())?;
    object::write(&place, &next.to_ne_bytes())?;
    object::write(&pinned_map(&folder.join("about"))?, &about(&policy.about()))
}

/// Cost of the decisions of a policy that is kept.
fn spent(folder: &Path) -> Result<Option<policy::Spent>, Error> {
    let path = folder.join("tally");
    if !path.exists() {
        return Ok(None);
    }
    Ok(policy::Spent::read(&object::read(&pinned_map(&path)?)?))
}
