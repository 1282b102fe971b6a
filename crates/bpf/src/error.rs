//! Errors, each with its remedy.

use std::path::PathBuf;

/// A mistake of the command line, something that the machine lacks, or a refusal of the kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no program of this name.
    #[error("unknown controller {name:?}; {remedy}")]
    UnknownController {
        /// Requested name.
        name: String,
        /// The names that may be meant, and those that there are.
        remedy: String,
    },
    /// The controller has no such parameter.
    #[error("{controller} has no parameter {field:?}; {remedy}")]
    UnknownParameter {
        /// Name of the controller.
        controller: &'static str,
        /// Requested parameter.
        field: String,
        /// The names that may be meant, and those that there are.
        remedy: String,
    },
    /// A value out of range.
    #[error("{controller}: {field} {message}; {remedy}")]
    WrongParameter {
        /// Name of the controller.
        controller: &'static str,
        /// Name of the parameter.
        field: String,
        /// The mistake.
        message: String,
        /// Instruction what to write instead.
        remedy: String,
    },
    /// An argument of the command line that is not as it must be.
    #[error("{0}")]
    WrongArgument(String),
    /// The machine lacks something.
    #[error("{what}; {remedy}")]
    Missing {
        /// Missing requirement.
        what: String,
        /// Instruction how to get it.
        remedy: String,
    },
    /// The kernel or libbpf said no.
    #[error("{action}: {reason}")]
    Kernel {
        /// Action that failed.
        action: String,
        /// Answer of libbpf or the kernel.
        reason: String,
    },
    /// A controller of this name is registered already.
    #[error("{name} is registered already; unload it first, or update it")]
    Registered {
        /// Its name in the kernel.
        name: String,
    },
    /// A controller of this name is not registered by this program.
    #[error("{name} is not loaded; run `ackclock-kernel load {name}` first")]
    NotRegistered {
        /// Name of the controller.
        name: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
}

impl Error {
    /// The exit code of a command that ends with it: 2 for wrong input, 1 for what failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownController { .. }
            | Self::UnknownParameter { .. }
            | Self::WrongParameter { .. }
            | Self::WrongArgument(_)
            | Self::NotRegistered { .. } => 2,
            _ => 1,
        }
    }

    /// Error of an action that libbpf or the kernel refused.
    pub(crate) fn kernel(action: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Kernel { action: action.into(), reason: reason.to_string() }
    }

    /// Error of a file operation.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
