//! `Endpoint`: one end of a connection without a network. Packets are the bytes of their IPv4 and TCP headers, as for a
//! kernel; their payload is a length only.

use std::net::SocketAddrV4;

use ackclock_scenario::endpoint_config;
use ackclock_tcp::{ConnectionError, Endpoint, Reading, SocketOption, State, TcpInfo, Write};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::{Addresses, Segment, emit, parse};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::to_scenario_error;

/// One end of a TCP connection without a network, whose application reads when called.
///
/// The caller gives the time, in nanoseconds, which must not go back. Packets are the bytes of their IPv4 and
/// TCP headers (RFC 791, RFC 9293); their payload is a length only.
///
/// Args:
///     options: JSON with `tcp`, `controller` and `seed` as in a scenario; each may be left out.
///     local: This end's `address:port`, as in `192.0.2.1:8080`.
///     remote: The other end's.
///     overrides: `path=value` strings, applied in order, as in `tcp.profile=linux-6.x`.
///
/// Raises:
///     ScenarioError: If the options are wrong.
///     ValueError: If `local` or `remote` is not an IPv4 address with a port.
#[pyclass(module = "ackclock._core", name = "Endpoint")]
pub(crate) struct PyEndpoint {
    inner: Endpoint,
    addresses: Addresses,
    /// Segments sent and not taken yet.
    sent: Vec<Segment>,
    identification: u16,
}

#[pymethods]
impl PyEndpoint {
    /// An endpoint; `options` is JSON with a scenario's `tcp` and `controller`, and `local` and `remote` are
    /// `address:port`.
    #[new]
    #[pyo3(signature = (options, local, remote, overrides=vec![]))]
    fn new(py: Python<'_>, options: &str, local: &str, remote: &str, overrides: Vec<String>) -> PyResult<Self> {
        let (tcp, controller) =
            endpoint_config(options, &overrides).map_err(|mistakes| to_scenario_error(py, &mistakes))?;
        let mut inner = Endpoint::new(tcp, &controller, Reading::OnCall);
        inner.measure_delivery();
        Ok(Self {
            inner,
            addresses: Addresses { source: end(local)?, destination: end(remote)? },
            sent: Vec::new(),
            identification: 0,
        })
    }

    /// Wait for a connection: from CLOSED to LISTEN.
    fn listen(&mut self) {
        self.inner.listen();
    }

    /// Open the connection: send a SYN.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    fn connect(&mut self, now_ns: u64) {
        self.inner.connect(SimTime(now_ns), &mut self.sent);
    }

    /// Write data to the send buffer, and send as much as is allowed.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    ///     octets: Amount of data, bytes.
    ///     more: More data follows, so that a small segment waits for it (`MSG_MORE`).
    ///     ends_record: No segment has octets from both sides of the end of this data (`MSG_EOR`).
    #[pyo3(signature = (now_ns, octets, *, more=false, ends_record=false))]
    fn write(&mut self, now_ns: u64, octets: u64, more: bool, ends_record: bool) {
        let write = Write { octets: Bytes(octets), more, ends_record };
        self.inner.write_as(SimTime(now_ns), write, &mut self.sent);
    }

    /// Note that the application waits for room in the send buffer, which it does until `is_writable`.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    fn wait_for_room(&mut self, now_ns: u64) {
        self.inner.wait_for_room(SimTime(now_ns));
    }

    /// Take data that has arrived in order from the receive buffer.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    ///     octets: The most to take, bytes.
    ///
    /// Returns:
    ///     The amount taken, bytes.
    fn read(&mut self, now_ns: u64, octets: u64) -> u64 {
        self.inner.read_now(SimTime(now_ns), Bytes(octets), &mut self.sent).0
    }

    /// Close the sending half: a FIN follows the written data. Data may still arrive.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    fn shutdown_write(&mut self, now_ns: u64) {
        self.inner.close(SimTime(now_ns), &mut self.sent);
    }

    /// Close both halves: a FIN follows the written data, and data that still arrives is answered with a reset.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    fn close(&mut self, now_ns: u64) {
        self.inner.close_both(SimTime(now_ns), &mut self.sent);
    }

    /// Abort the connection with a reset.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    fn abort(&mut self, now_ns: u64) {
        self.inner.abort(SimTime(now_ns), &mut self.sent);
    }

    /// Set a socket option.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    ///     name: `nodelay`, `cork`, `quickack`, `notsent_lowat`, `user_timeout_ms`, `send_buffer`, `receive_buffer`,
    ///         `max_segment` or `pacing`.
    ///     value: 0 or 1 for switches, bytes for sizes, milliseconds for the time, bytes per second for `pacing`, which
    ///         limits the rate. 0 resets `notsent_lowat` and `user_timeout_ms`.
    ///
    /// Raises:
    ///     ValueError: If the option is unknown.
    fn set_option(&mut self, now_ns: u64, name: &str, value: u64) -> PyResult<()> {
        let option = socket_option(name, value)?;
        self.inner.set_option(SimTime(now_ns), &option, &mut self.sent);
        Ok(())
    }

    /// Continue from the present window with another controller (`TCP_CONGESTION`).
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    ///     options: JSON with `controller`, as in the constructor.
    ///
    /// Raises:
    ///     ScenarioError: If the options are wrong.
    fn set_congestion(&mut self, py: Python<'_>, now_ns: u64, options: &str) -> PyResult<()> {
        let (_, controller) = endpoint_config(options, &[]).map_err(|mistakes| to_scenario_error(py, &mistakes))?;
        self.inner.set_option(SimTime(now_ns), &SocketOption::Congestion(controller), &mut self.sent);
        Ok(())
    }

    /// Process a packet that has arrived.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    ///     packet: Its IPv4 and TCP headers; the payload is the rest of the IPv4 length.
    ///
    /// Raises:
    ///     ValueError: If the bytes are not such headers.
    fn on_packet(&mut self, now_ns: u64, packet: &[u8]) -> PyResult<()> {
        let (_, segment) = parse(packet).map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.inner.on_segment(SimTime(now_ns), &segment, &mut self.sent);
        Ok(())
    }

    /// True if a SYN in TIME-WAIT opens a new connection: its sequence number is beyond all of the old one's.
    ///
    /// Args:
    ///     packet: The packet, as in `on_packet`.
    ///
    /// Raises:
    ///     ValueError: If the bytes are not such headers.
    fn is_reopened_by(&self, packet: &[u8]) -> PyResult<bool> {
        let (_, segment) = parse(packet).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(self.inner.is_reopened_by(&segment))
    }

    /// Run the timer at `deadline_ns`.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    fn on_timer(&mut self, now_ns: u64) {
        self.inner.on_timer(SimTime(now_ns), &mut self.sent);
    }

    /// Take the headers of the packets that were sent since the last call, in order.
    ///
    /// The payload of each is its IPv4 length without its headers.
    ///
    /// Raises:
    ///     ValueError: If a segment is too long for IPv4.
    fn take_packets<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let segments = std::mem::take(&mut self.sent);
        segments.iter().map(|segment| self.headers(py, segment)).collect()
    }

    /// Time at which `on_timer` is to be called, in nanoseconds; None if not at all.
    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        let deadline = self.inner.deadline();
        (deadline != SimTime::NEVER).then_some(deadline.0)
    }

    /// State of the connection, by its name in RFC 9293 section 3.3.2, as in "SYN-SENT".
    #[getter]
    fn state(&self) -> &'static str {
        state_name(self.inner.state())
    }

    /// The reason of an early end of the connection: "refused", "reset" or "timed out"; None otherwise.
    #[getter]
    fn error(&self) -> Option<&'static str> {
        Some(match self.inner.error()? {
            ConnectionError::Refused => "refused",
            ConnectionError::Reset => "reset",
            ConnectionError::TimedOut => "timed out",
        })
    }

    /// The number of bytes that one write takes by the send buffer and `TCP_NOTSENT_LOWAT`; more may fit later.
    #[getter]
    fn writable_octets(&self) -> u64 {
        self.inner.writable_at_once().0
    }

    /// True if a poll shows the socket as writable, and a waiting write continues.
    ///
    /// It holds if a third of the send buffer is free and unsent data is below half of `TCP_NOTSENT_LOWAT`.
    #[getter]
    fn is_writable(&self) -> bool {
        self.inner.is_writable()
    }

    /// Data that arrived in order and was not read, in bytes.
    #[getter]
    fn unread_octets(&self) -> u64 {
        self.inner.unread().0
    }

    /// Data that was written and never sent, in bytes.
    #[getter]
    fn unsent_octets(&self) -> u64 {
        self.inner.unsent().0
    }

    /// True once all data of the peer and its FIN have arrived.
    #[getter]
    fn is_peer_finished(&self) -> bool {
        self.inner.is_peer_finished()
    }

    /// Payload of a full segment as negotiated, in bytes.
    #[getter]
    fn mss(&self) -> u32 {
        self.inner.mss()
    }

    /// Return the values of Linux's `getsockopt(TCP_INFO)`.
    ///
    /// Args:
    ///     now_ns: The time, nanoseconds.
    ///
    /// Returns:
    ///     Linux's names without `tcpi_`, with Linux's units: microseconds for times; segments for the window and its
    ///     neighbours; bytes per second for `delivery_rate` and `pacing_rate`, the latter 2^64 - 1 without one.
    ///     `snd_ssthresh` is 2^31 - 1 while it is arbitrarily high.
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
        PyValueError::new_err(format!("{text:?} is not an end; write an address and a port, as in 192.0.2.1:8080"))
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
        "pacing" => SocketOption::Pacing(Bandwidth(value.saturating_mul(8))),
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

/// The value that Linux shows for a threshold that is arbitrarily high.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

fn numbers_of(info: &TcpInfo) -> [(&'static str, u64); 48] {
    let micros = |span: SimDuration| span.0 / 1_000;
    let [received_e0, received_ce, received_e1] = info.received_by_mark;
    let [delivered_e0, delivered_ce, delivered_e1] = info.delivered_by_mark;
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
        ("delivery_rate", info.delivery_rate.map_or(0, |rate| rate.0 / 8)),
        ("delivery_rate_app_limited", u64::from(info.delivery_rate_app_limited)),
        ("busy_time", micros(info.busy_time)),
        ("rwnd_limited", micros(info.rwnd_limited)),
        ("sndbuf_limited", micros(info.sndbuf_limited)),
        ("rcv_wnd", info.rcv_wnd),
        ("ato", micros(info.ato)),
        ("rcv_rtt", micros(info.rcv_rtt)),
        ("rcv_space", info.rcv_space),
        ("rcv_ooopack", info.rcv_ooopack),
        ("total_rto", info.total_rto),
        ("received_ce", info.received_ce),
        ("received_e0_bytes", received_e0),
        ("received_e1_bytes", received_e1),
        ("received_ce_bytes", received_ce),
        ("delivered_e0_bytes", delivered_e0),
        ("delivered_e1_bytes", delivered_e1),
        ("delivered_ce_bytes", delivered_ce),
    ]
}
