//! The programs as they are run: over the loopback, and for root in network namespaces.

mod check;
mod killed;
mod log;
mod metrics;
mod names;
mod namespaces;
mod operation;
mod package;
mod page;
mod program;
mod record;
mod reference;
mod resources;
mod router;
mod routing;
mod shared;
mod sides;
mod torture;
mod upgrade;
