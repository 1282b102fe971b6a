//! The programs as they are run: over the loopback, and for root in network namespaces.

mod namespaces;
mod operation;
mod page;
mod program;
mod reference;
mod torture;
