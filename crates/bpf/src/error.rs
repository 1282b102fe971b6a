//! What can go wrong, each with what to do about it.

use std::path::PathBuf;

/// A mistake of the command line, something that the machine lacks, or a refusal of the kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no program of this name.
    #[error("{name:?} is no controller for the kernel; there are {known}")]
    UnknownController {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The controller has no such parameter.
    #[error("{controller} has no parameter {field:?}; it has {known}")]
    UnknownParameter {
        /// The controller's name.
        controller: &'static str,
        /// What was asked for.
        field: String,
        /// The names that there are.
        known: String,
    },
    /// A value out of range.
    #[error("{controller}: {field} {message}; {remedy}")]
    WrongParameter {
        /// The controller's name.
        controller: &'static str,
        /// The parameter's name.
        field: String,
        /// What is wrong.
        message: String,
        /// What to write instead.
        remedy: String,
    },
    /// An argument of the command line that is not as it must be.
    #[error("{0}")]
    WrongArgument(String),
    /// The machine lacks something.
    #[error("{what}; {remedy}")]
    Missing {
        /// What is missing.
        what: String,
        /// How to get it.
        remedy: String,
    },
    /// The kernel or libbpf said no.
    #[error("{action}: {reason}")]
    Kernel {
        /// What was being done.
        action: String,
        /// What was answered.
        reason: String,
    },
    /// A controller of this name is registered already.
    #[error("{name} is registered already; unload it first, or update it")]
    Registered {
        /// Its name in the kernel.
        name: String,
    },
    /// A controller of this name is not registered by this program.
    #[error("{name} is not loaded; `load {name}` does that")]
    NotRegistered {
        /// Its name.
        name: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
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

    /// Of something that libbpf or the kernel refused.
    pub(crate) fn kernel(action: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Kernel { action: action.into(), reason: reason.to_string() }
    }

    /// Of a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
