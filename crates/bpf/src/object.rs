//! Compiled programs on their way into the kernel.

use std::cell::RefCell;
use std::ffi::OsStr;

use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, PrintLevel};

use crate::error::Error;

thread_local! {
    /// Messages of libbpf since the last failure: the verifier's own words are among them.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

#[expect(clippy::needless_pass_by_value, reason = "so libbpf-rs gives it")]
fn listen(level: PrintLevel, text: String) {
    if level == PrintLevel::Warn {
        // for whoever writes a program: all that the verifier says, and not its reason only
        if std::env::var_os("ACKCLOCK_BPF_LOG").is_some() {
            eprint!("{text}");
        }
        SAID.with_borrow_mut(|said| said.push_str(&text));
    }
}

/// Error with libbpf's most informative line.
pub(crate) fn refused(action: &str, error: &libbpf_rs::Error) -> Error {
    let said = SAID.take();
    let telling = verdict(&said).or_else(|| said.lines().next()).unwrap_or_default().trim().to_owned();
    Error::kernel(action, if telling.is_empty() { error.to_string() } else { format!("{error} ({telling})") })
}

/// The verifier's reason: the last line before its statistics.
fn verdict(said: &str) -> Option<&str> {
    let before: Vec<&str> = said.lines().take_while(|line| !line.starts_with("processed ")).collect();
    (before.len() < said.lines().count()).then(|| before.last().copied()).flatten()
}

/// Opens a compiled object.
pub(crate) fn open(name: &str, octets: &[u8]) -> Result<OpenObject, Error> {
    libbpf_rs::set_print(Some((PrintLevel::Warn, listen)));
    let opened = ObjectBuilder::default().name(name).and_then(|builder| builder.open_memory(octets));
    opened.map_err(|error| refused(&format!("opening the program {name}"), &error))
}

/// Sets what a variable begins with: `section` is the one that it lies in alone.
pub(crate) fn set(object: &mut OpenObject, section: &str, octets: &[u8]) {
    for mut map in object.maps_mut().filter(|map| map.name() == OsStr::new(section)) {
        if let Some(value) = map.initial_value_mut() {
            let length = value.len().min(octets.len());
            value[..length].copy_from_slice(&octets[..length]);
        }
    }
}

/// Loads it, with the verifier's words if it is refused.
pub(crate) fn load(object: OpenObject, name: &str) -> Result<Object, Error> {
    object.load().map_err(|error| refused(&format!("loading {name} into the kernel"), &error))
}

/// Registers the controller whose operations an object has.
pub(crate) fn register(loaded: &mut Object, kernel_name: &str) -> Result<Link, Error> {
    let mut ops = loaded.maps_mut().find(|map| map.name() == "ops").expect("a controller's program has its operations");
    ops.attach_struct_ops().map_err(|error| refused(&format!("registering {kernel_name}"), &error))
}

/// Writes the variable of a map that holds only it. Less than the variable's size is filled up with zeros.
pub(crate) fn write(map: &impl MapCore, octets: &[u8]) -> Result<(), Error> {
    let mut value = octets.to_vec();
    value.resize(map.value_size() as usize, 0);
    let written = map.update(&0_u32.to_ne_bytes(), &value, MapFlags::ANY);
    written.map_err(|error| Error::kernel("writing to a program's variable", error))
}

/// Reads the variable of a map that holds only it.
pub(crate) fn read(map: &impl MapCore) -> Result<Vec<u8>, Error> {
    let value = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
    let value = value.map_err(|error| Error::kernel("reading a program's variable", error))?;
    Ok(value.unwrap_or_default())
}
