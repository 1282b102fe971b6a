//! Trained policies in whole numbers, as `ackclock export --to bpf` writes them, for the kernel. The arithmetic is that of `programs/policy.h`.

use std::io::Read;

use crate::error::Error;

pub(crate) const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/policy.bpf.o"));
pub(crate) const REPLAY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/policy.replay.o"));
pub(crate) const NAME: &str = "policy";
/// Name for sockets, unless another is given.
pub const KERNEL_NAME: &str = "ac_policy";

/// The first line of such a file, as `ackclock-agent` has it; the second is what it was trained with.
const MAGIC: &[u8] = b"ackclock policy in whole numbers, 2\n";
/// Beginning of older files, which end where an LSTM would begin.
const MAGIC_1: &[u8] = b"ackclock policy in whole numbers, 1\n";
/// The length of `struct policy` of `programs/policy.h`.
const IMAGE: usize = size_of_image();

const fn size_of_image() -> usize {
    let heads = 6 * 24;
    32 + 64 * 4 + 32 * 4 + 32 * 4 + 32 * 8 + heads + 257 * 4 * 2 + 513 * 4 + 12 + 512 * 8 + 16_384 * 4 + LSTM
}

/// Octets of an LSTM's section at the end of the image.
const LSTM: usize = (3 + 1_025) * 4;

/// A policy out of a file.
#[derive(Clone, Debug)]
pub struct Policy {
    agent: String,
    image: Vec<u8>,
    file: String,
}

impl Policy {
    /// Reads a file; `None` if there is none of that path, or it is no such policy.
    pub fn of_file(path: &str) -> Result<Option<Self>, Error> {
        let Ok(mut file) = std::fs::File::open(path) else { return Ok(None) };
        let mut octets = Vec::new();
        let most = (2 * IMAGE) as u64;
        if file.by_ref().take(most).read_to_end(&mut octets).is_err() {
            return Ok(None);
        }
        if octets.starts_with(MAGIC_1) {
            octets.resize(octets.len() + LSTM, 0);
        }
        let Some(rest) = octets.strip_prefix(MAGIC).or_else(|| octets.strip_prefix(MAGIC_1)) else {
            let message = format!("{path} is not a quantised policy; convert it with: ackclock export {path} --to bpf");
            return Err(Error::WrongArgument(message));
        };
        let end = rest.iter().position(|octet| *octet == b'\n').unwrap_or(rest.len().saturating_sub(1));
        let (agent, image) = rest.split_at((end + 1).min(rest.len()));
        let agent = String::from_utf8_lossy(agent).trim().to_owned();
        Ok(Some(Self { agent, file: path.to_owned(), ..Self::of_image(image)? }))
    }

    /// One that has been read elsewhere: `struct policy` of `programs/policy.h`, as octets.
    pub(crate) fn of_image(image: &[u8]) -> Result<Self, Error> {
        if image.len() == IMAGE {
            return Ok(Self { agent: String::new(), image: image.to_vec(), file: String::new() });
        }
        let message = format!("the policy is truncated or damaged: it has {} octets, not {IMAGE}", image.len());
        Err(Error::WrongArgument(message))
    }

    /// `struct policy` of `programs/policy.h`, as octets.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// Description in words: its file, and the agent that it was trained with.
    pub fn about(&self) -> String {
        let name = std::path::Path::new(&self.file).file_name().unwrap_or_default().to_string_lossy();
        format!("{NAME} {name} {}", self.agent)
    }
}

/// Cost of a policy's decisions in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Number of decisions.
    pub decisions: u64,
    /// Total time of the decisions, ns.
    pub ns: u64,
    /// Time of the longest decision, ns; interruptions in the middle of it included.
    pub longest_ns: u64,
}

impl Spent {
    pub(crate) fn read(octets: &[u8]) -> Option<Self> {
        let word = |place: usize| Some(u64::from_ne_bytes(octets.get(8 * place..8 * place + 8)?.try_into().ok()?));
        Some(Self { decisions: word(0)?, ns: word(1)?, longest_ns: word(2)? })
    }
}
