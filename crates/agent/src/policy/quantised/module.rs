//! An integer policy as a C file that is compiled into a Linux kernel: the code of the eBPF program that runs policies, with the image
//! as a constant.

use std::fmt::Write;

use super::Quantised;

const CORE: &str = include_str!("core.h");
const POLICY: &str = include_str!("policy.h");
const ASKED: &str = include_str!("asked.h");
const MODULE: &str = include_str!("module.c");

/// The largest number of octets in a kernel's name of a controller (`TCP_CA_NAME_MAX` less one).
pub const LONGEST_NAME: usize = 15;

impl Quantised {
    /// The policy as a C file with a `struct tcp_congestion_ops` of this name, which has letters, digits and `_` only.
    /// `config` is the agent's configuration as JSON.
    ///
    /// # Panics
    ///
    /// Panics if the name is empty or too long, or has another character.
    pub fn module(&self, name: &str, config: &str) -> String {
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'_';
        assert!(
            (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_plain),
            "{name:?} must have letters, digits and _ only"
        );
        let parts = [
            ("// core.h\n", CORE),
            ("// policy.h\n", &POLICY.replace("#include \"core.h\"\n", "")),
            ("// asked.h\n", ASKED),
            ("// image\n", &self.constant()),
            ("\"NAME\"", &format!("\"{name}\"")),
        ];
        let text = parts.iter().fold(MODULE.to_owned(), |text, (place, part)| text.replacen(place, part, 1));
        let config = config.replace("*/", "* /").replace('\n', " ");
        let origin = format!("/* Written by `ackclock export --to module`, of a policy of the agent {config} */");
        format!("// SPDX-License-Identifier: MIT OR GPL-2.0\n{origin}\n{text}")
    }

    /// `struct policy` as a constant of 64-bit words, of which zeros are left out.
    fn constant(&self) -> String {
        let octets = self.image.octets();
        let (words, rest) = octets.as_chunks::<8>();
        assert!(rest.is_empty(), "the image is one of whole words");
        let mut text = format!("static const u64 image[{}] = {{", words.len());
        let mut next = None;
        for (place, word) in words.iter().map(|word| u64::from_le_bytes(*word)).enumerate().filter(|word| word.1 != 0) {
            if next != Some(place) {
                let _ = write!(text, "\n\t[{place}] =");
            } else if place % 8 == 0 {
                text.push_str("\n\t");
            }
            let _ = write!(text, " {word:#x},");
            next = Some(place + 1);
        }
        text.push_str("\n};\nstatic const struct policy *const policy = (const struct policy *)image;\n");
        text
    }
}
