//! `Endpoint`: one end of a connection without a network. Packets cross as the bytes of their IPv4 and TCP headers, as
//! they would to a kernel; their payload is a length only.

use std::net::SocketAddrV4;

use ackclock_scenario::endpoint_config;
use ackclock_tcp::{ConnectionError, Endpoint, Reading, SocketOption, State, TcpInfo};
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::{Addresses, Segment, emit, parse};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::to_scenario_error;

/// A TCP endpoint whose application reads on call.
#[pyclass(module = "ackclock._core", name = "Endpoint")]
pub(crate) struct PyEndpoint {
    inner: Endpoint,
    addresses: Addresses,
    /// Sent and not taken yet.
    sent: Vec<Segment>,
    identification: u16,
}

#[pymethods]
impl PyEndpoint {
    /// `options` is JSON with a scenario's `tcp` and `controller`; `local` and `remote` are `address:port`.
    #[new]
    #[pyo3(signature = (options, local, remote, overrides=vec![]))]
    fn new(py: Python<'_>, options: &str, local: &str, remote: &str, overrides: Vec<String>) -> PyResult<Self> {
        let (tcp, controller) =
            endpoint_config(options, &overrides).map_err(|mistakes| to_scenario_error(py, &mistakes))?;
        Ok(Self {
            inner: Endpoint::new(tcp, &controller, Reading::OnCall),
            addresses: Addresses { source: end(local)?, destination: end(remote)? },
            sent: Vec::new(),
            identification: 0,
        })
    }

    fn listen(&mut self) {
        self.inner.listen();
    }

    fn connect(&mut self, now_ns: u64) {
        self.inner.connect(SimTime(now_ns), &mut self.sent);
    }

    #[pyo3(signature = (now_ns, octets, *, more=false))]
    fn write(&mut self, now_ns: u64, octets: u64, more: bool) {
        let write = if more { Endpoint::write_more } else { Endpoint::write };
        write(&mut self.inner, SimTime(now_ns), Bytes(octets), &mut self.sent);
    }

    fn read(&mut self, now_ns: u64, octets: u64) -> u64 {
        self.inner.read_now(SimTime(now_ns), Bytes(octets), &mut self.sent).0
    }

    fn shutdown_write(&mut self, now_ns: u64) {
        self.inner.close(SimTime(now_ns), &mut self.sent);
    }

    fn close(&mut self, now_ns: u64) {
        self.inner.close_both(SimTime(now_ns), &mut self.sent);
    }

    fn abort(&mut self, now_ns: u64) {
        self.inner.abort(SimTime(now_ns), &mut self.sent);
    }

    /// Changes an option; `name` is the option's in lower case.
    fn set_option(&mut self, now_ns: u64, name: &str, value: u64) -> PyResult<()> {
        let option = socket_option(name, value)?;
        self.inner.set_option(SimTime(now_ns), &option, &mut self.sent);
        Ok(())
    }

    /// Goes on with another controller: that of `options`, which are as in the constructor.
    fn set_congestion(&mut self, py: Python<'_>, now_ns: u64, options: &str) -> PyResult<()> {
        let (_, controller) = endpoint_config(options, &[]).map_err(|mistakes| to_scenario_error(py, &mistakes))?;
        self.inner.set_option(SimTime(now_ns), &SocketOption::Congestion(controller), &mut self.sent);
        Ok(())
    }

    fn on_packet(&mut self, now_ns: u64, packet: &[u8]) -> PyResult<()> {
        let (_, segment) = parse(packet).map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.inner.on_segment(SimTime(now_ns), &segment, &mut self.sent);
        Ok(())
    }

    fn on_timer(&mut self, now_ns: u64) {
        self.inner.on_timer(SimTime(now_ns), &mut self.sent);
    }

    /// The headers of what was sent since the last call; the payload of each is its IPv4 length without them.
    fn take_packets<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let segments = std::mem::take(&mut self.sent);
        segments.iter().map(|segment| self.headers(py, segment)).collect()
    }

    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        let deadline = self.inner.deadline();
        (deadline != SimTime::NEVER).then_some(deadline.0)
    }

    #[getter]
    fn state(&self) -> &'static str {
        state_name(self.inner.state())
    }

    #[getter]
    fn error(&self) -> Option<&'static str> {
        Some(match self.inner.error()? {
            ConnectionError::Refused => "refused",
            ConnectionError::Reset => "reset",
            ConnectionError::TimedOut => "timed out",
        })
    }

    #[getter]
    fn writable_octets(&self) -> u64 {
        self.inner.writable().0
    }

    #[getter]
    fn unread_octets(&self) -> u64 {
        self.inner.unread().0
    }

    #[getter]
    fn unsent_octets(&self) -> u64 {
        self.inner.unsent().0
    }

    #[getter]
    fn is_peer_finished(&self) -> bool {
        self.inner.is_peer_finished()
    }

    #[getter]
    fn mss(&self) -> u32 {
        self.inner.mss()
    }

    /// What `getsockopt(TCP_INFO)` would say, in Linux's names (without `tcpi_`), numbers and units.
    fn tcp_info<'py>(&self, py: Python<'py>, now_ns: u64) -> PyResult<Bound<'py, PyDict>> {
        let info = PyDict::new(py);
        for (name, value) in numbers_of(&self.inner.tcp_info(SimTime(now_ns))) {
            info.set_item(name, value)?;
        }
        Ok(info)
    }
}

impl PyEndpoint {
    fn headers<'py>(&mut self, py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::with_capacity(segment.ip_len() as usize - segment.payload as usize);
        emit(segment, self.addresses, self.identification, &mut bytes)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.identification = self.identification.wrapping_add(1);
        Ok(PyBytes::new(py, &bytes))
    }
}

fn end(text: &str) -> PyResult<SocketAddrV4> {
    text.parse().map_err(|_| {
        PyValueError::new_err(format!("{text:?} is no end; write an address and a port, as in 192.0.2.1:8080"))
    })
}

fn socket_option(name: &str, value: u64) -> PyResult<SocketOption> {
    Ok(match name {
        "nodelay" => SocketOption::NoDelay(value != 0),
        "cork" => SocketOption::Cork(value != 0),
        "quickack" => SocketOption::QuickAck(value != 0),
        "notsent_lowat" => SocketOption::NotSentLowat((value != 0).then_some(Bytes(value))),
        "user_timeout_ms" => SocketOption::UserTimeout((value != 0).then(|| SimDuration::from_millis(value))),
        "send_buffer" => SocketOption::SendBuffer(Bytes(value)),
        "receive_buffer" => SocketOption::ReceiveBuffer(Bytes(value)),
        "max_segment" => SocketOption::MaxSegment(u32::try_from(value).unwrap_or(u32::MAX)),
        "pacing" => SocketOption::Pacing,
        _ => return Err(PyValueError::new_err(format!("an endpoint has no option {name:?}"))),
    })
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Closed => "CLOSED",
        State::Listen => "LISTEN",
        State::SynSent => "SYN-SENT",
        State::SynReceived => "SYN-RECEIVED",
        State::Established => "ESTABLISHED",
        State::FinWait1 => "FIN-WAIT-1",
        State::FinWait2 => "FIN-WAIT-2",
        State::CloseWait => "CLOSE-WAIT",
        State::Closing => "CLOSING",
        State::LastAck => "LAST-ACK",
        State::TimeWait => "TIME-WAIT",
    }
}

/// Linux's numbers of the states (`include/net/tcp_states.h` in its user interface).
fn state_number(state: State) -> u64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

/// What Linux shows for a threshold that is arbitrarily high.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

fn numbers_of(info: &TcpInfo) -> [(&'static str, u64); 30] {
    let micros = |span: SimDuration| span.0 / 1_000;
    [
        ("state", state_number(info.state)),
        ("ca_state", info.ca_state as u64),
        ("retransmits", u64::from(info.retransmits)),
        ("probes", u64::from(info.probes)),
        ("backoff", u64::from(info.backoff)),
        ("rto", micros(info.rto)),
        ("snd_mss", u64::from(info.snd_mss)),
        ("unacked", info.unacked),
        ("sacked", info.sacked),
        ("lost", info.lost),
        ("retrans", info.retrans),
        ("rtt", micros(info.rtt)),
        ("rttvar", micros(info.rttvar)),
        ("min_rtt", micros(info.min_rtt)),
        ("snd_ssthresh", info.snd_ssthresh.unwrap_or(INFINITE_SSTHRESH)),
        ("snd_cwnd", info.snd_cwnd),
        ("reordering", u64::from(info.reordering)),
        ("total_retrans", info.total_retrans),
        ("bytes_acked", info.bytes_acked),
        ("bytes_received", info.bytes_received),
        ("bytes_sent", info.bytes_sent),
        ("bytes_retrans", info.bytes_retrans),
        ("notsent_bytes", info.notsent_bytes),
        ("data_segs_out", info.data_segs_out),
        ("delivered", info.delivered),
        ("delivered_ce", info.delivered_ce),
        ("dsack_dups", info.dsack_dups),
        ("reord_seen", info.reord_seen),
        ("snd_wnd", info.snd_wnd),
        ("pacing_rate", info.pacing_rate.map_or(u64::MAX, |rate| rate.0 / 8)),
    ]
}
