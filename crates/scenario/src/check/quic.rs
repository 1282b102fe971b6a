//! Checks of flows over QUIC: their settings, and fields that only TCP has.

use std::sync::Arc;

use ackclock_cc::Stack;
use ackclock_sim::QuicConfig;
use ackclock_tcp::{EcnMode, TcpConfig};

use super::declarations::read_table;
use super::location::Location;
use super::plans::FlowPlan;
use super::tcp::tcp;
use super::traffic::HEADERS;
use crate::file::{App, Controller, Fields, FlowTable, Protocol};

/// Size of the headers of a full TCP packet with timestamps, octets.
const TCP_HEADERS: u64 = 52;

/// The fields of QUIC in a flow's table; `None` for other transports.
pub(crate) fn quic_of(table: &FlowTable) -> Option<&Fields<QuicConfig>> {
    if let Some(Protocol::Quic(fields)) = &table.protocol { Some(fields) } else { None }
}

/// The settings of a flow over QUIC, and a TCP configuration from which the simulation takes the size of packets.
pub(crate) fn quic(plan: &FlowPlan<'_>, controller: &Controller) -> Option<(Arc<QuicConfig>, TcpConfig)> {
    let fields = quic_of(plan.table)?;
    check_quic(plan.table, &plan.at);
    check_quic_needs(controller.stack(), &plan.at.key("controller"));
    let mut config = read_table(fields, &plan.at.key("protocol")).unwrap_or_default();
    // What a controller brings for TCP's ECN and delayed ACKs holds for QUIC's.
    let brought = tcp(&[], &[Stack { loss_recovery: None, ..controller.stack() }], plan.at.sink);
    if brought.ecn.mode == EcnMode::Request && !fields.says("ecn") {
        (config.ecn, config.ect1) = (true, config.ect1 || brought.ecn.ect1);
    }
    if config.ect1 && !config.ecn {
        let what = "has no effect without ecn = true";
        plan.at.key("protocol").key("ect1").report(what, "leave it out, or add ecn = true");
    }
    if brought.delayed_ack.segments == 1 && !fields.says("ack_every") {
        config.ack_every = 1;
    }
    let mss = u64::from(config.max_datagram_size) + HEADERS - TCP_HEADERS;
    Some((Arc::new(config), TcpConfig { mss: mss as u32, ..TcpConfig::default() }))
}

/// Reports a controller that needs something only TCP has.
fn check_quic_needs(stack: Stack, at: &Location<'_>) {
    let what = if stack.loss_recovery.is_some() {
        "must not be a name for a loss recovery of TCP: QUIC has its own"
    } else if stack.needs.iter().any(|need| need.switch == "timestamps") {
        "works on TCP's timestamps, which QUIC does not have"
    } else if stack.telemetry {
        "works on what links write into packets, and they write into those of TCP only"
    } else {
        return;
    };
    at.report(what, "use another controller, such as \"reno\" or \"cubic\"; or protocol = \"tcp\"");
}

fn check_quic(table: &FlowTable, at: &Location<'_>) {
    let of_tcp = [
        ("tcp", table.tcp.is_some()),
        ("sender_tcp", table.sender_tcp.is_some()),
        ("receiver_tcp", table.receiver_tcp.is_some()),
    ];
    let remedy = "remove it; settings of QUIC stand in protocol = { kind = \"quic\", ... }";
    at.refuse(&of_tcp, "must not be set for a flow over QUIC", remedy);
    let of_sockets = [
        ("reply", table.reply.is_some()),
        ("read_rate", table.read_rate.is_some()),
        ("stops_reading", table.stops_reading.is_some()),
        ("accepts", table.accepts.is_some()),
        ("abort_at", table.abort_at.is_some()),
    ];
    let what = "must not be set for a flow over QUIC, which sends one way, to an application that reads at once";
    at.refuse(&of_sockets, what, "remove it, or use protocol = \"tcp\"");
    if !matches!(table.app, None | Some(App::Bulk(_) | App::File(_) | App::Files(_))) {
        let remedy = "use \"bulk\", \"file\" or \"files\"; or protocol = \"tcp\"";
        at.key("app").report("must be data that is sent one way, over QUIC", remedy);
    }
}
