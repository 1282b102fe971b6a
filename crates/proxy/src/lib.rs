//! A TCP proxy for Linux: it ends a connection, and carries what comes on one side on by a connection of its own, with the
//! congestion control and the buffers that each side is given, and with a bound on what waits between them.
//!
//! ```
//! use ackclock_proxy::config::parse;
//!
//! let text = r#"
//!     [[listen]]
//!     address = "127.0.0.1:8080"
//!     upstream = ["127.0.0.1:80"]
//!     far = { congestion = "haste" }
//! "#;
//! let mistakes = parse("proxy.toml", text).unwrap_err();
//! assert_eq!(mistakes[0].field, "listen[0].far.congestion");
//! assert!(mistakes[0].remedy.contains("reno"), "the remedy names those that the kernel has");
//! ```
//!
//! `docs/how-to/run-the-proxy.md` of the repository says how the program is used, `docs/explanation/proxy.md` how it works.

pub mod app;
pub mod check;
pub mod client_hello;
pub mod config;
pub mod confine;
pub mod connection;
pub mod controllers;
pub mod direction;
pub mod ece;
pub mod end_reason;
pub mod handover;
pub mod health;
pub mod holder;
pub mod http;
pub mod latency;
pub mod listener;
pub mod log;
pub mod metrics;
pub mod pipes;
pub mod proxy_protocol;
pub mod rate;
pub mod record;
pub mod resolver;
pub mod rules;
pub mod service;
pub mod side;
pub mod sys;
pub mod timers;
pub mod top;
pub mod trouble;
pub mod upstream;
pub mod worker;
