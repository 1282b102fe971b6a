//! `Endpoint`: one end of a connection, driven by hand: segments, calls and the time go in, segments come out.

use ackclock_scenario::endpoint_config;
use ackclock_tcp::{ConnectionError, Endpoint, Reading, SocketOption, State, TcpInfo};
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::Segment;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_scenario_error;
use crate::segment::PySegment;

/// One end of a connection. Its application reads on call.
#[pyclass(module = "ackclock._core", name = "Endpoint")]
pub(crate) struct PyEndpoint {
    inner: Endpoint,
    now: SimTime,
}

type Sent = Vec<PySegment>;

#[pymethods]
impl PyEndpoint {
    #[new]
    #[pyo3(signature = (options_json="{}", overrides=vec![]))]
    fn new(py: Python<'_>, options_json: &str, overrides: Vec<String>) -> PyResult<Self> {
        let config = endpoint_config(options_json, &overrides);
        let (tcp, controller) = config.map_err(|mistakes| to_scenario_error(py, &mistakes))?;
        Ok(Self { inner: Endpoint::new(&tcp, &controller, Reading::OnCall), now: SimTime::ZERO })
    }

    fn listen(&mut self) {
        self.inner.listen();
    }

    fn connect(&mut self, now_ns: u64) -> Sent {
        self.call(now_ns, Endpoint::connect)
    }

    #[pyo3(signature = (now_ns, octets, more=false))]
    fn write(&mut self, now_ns: u64, octets: u64, more: bool) -> Sent {
        self.call(now_ns, |end, now, out| {
            if more { end.write_more(now, Bytes(octets), out) } else { end.write(now, Bytes(octets), out) }
        })
    }

    fn read(&mut self, now_ns: u64, octets: u64) -> (u64, Sent) {
        let mut taken = Bytes::ZERO;
        let sent = self.call(now_ns, |end, now, out| taken = end.read_now(now, Bytes(octets), out));
        (taken.0, sent)
    }

    fn shutdown_write(&mut self, now_ns: u64) -> Sent {
        self.call(now_ns, Endpoint::close)
    }

    fn close(&mut self, now_ns: u64) -> Sent {
        self.call(now_ns, Endpoint::close_both)
    }

    fn abort(&mut self, now_ns: u64) -> Sent {
        self.call(now_ns, Endpoint::abort)
    }

    fn on_segment(&mut self, now_ns: u64, segment: &PySegment) -> Sent {
        let segment = segment.to_segment();
        self.call(now_ns, |end, now, out| end.on_segment(now, &segment, out))
    }

    fn on_timer(&mut self, now_ns: u64) -> Sent {
        self.call(now_ns, Endpoint::on_timer)
    }

    /// Changes a socket option; `value` is in the unit of the field: bytes, milliseconds, or 0 and 1.
    fn set_option(&mut self, now_ns: u64, name: &str, value: u64) -> PyResult<Sent> {
        let option = socket_option(name, value)?;
        Ok(self.call(now_ns, |end, now, out| end.set_option(now, &option, out)))
    }

    /// Another congestion controller, as a scenario's `controller` says it.
    fn set_congestion(&mut self, py: Python<'_>, now_ns: u64, options_json: &str) -> PyResult<Sent> {
        let config = endpoint_config(options_json, &[]);
        let (_, controller) = config.map_err(|mistakes| to_scenario_error(py, &mistakes))?;
        let option = SocketOption::Congestion(controller);
        Ok(self.call(now_ns, |end, now, out| end.set_option(now, &option, out)))
    }

    /// When `on_timer` wants to be called, or `None`.
    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        Some(self.inner.deadline()).filter(|deadline| *deadline != SimTime::NEVER).map(|deadline| deadline.0)
    }

    #[getter]
    fn state(&self) -> &'static str {
        state_name(self.inner.state())
    }

    #[getter]
    fn error(&self) -> Option<&'static str> {
        self.inner.error().map(|error| match error {
            ConnectionError::Refused => "ECONNREFUSED",
            ConnectionError::Reset => "ECONNRESET",
            ConnectionError::TimedOut => "ETIMEDOUT",
        })
    }

    #[getter]
    fn unread(&self) -> u64 {
        self.inner.unread().0
    }

    #[getter]
    fn unsent(&self) -> u64 {
        self.inner.unsent().0
    }

    #[getter]
    fn flight_size(&self) -> u64 {
        self.inner.flight_size().0
    }

    #[getter]
    fn writable(&self) -> u64 {
        self.inner.writable().0
    }

    #[getter]
    fn mss(&self) -> u32 {
        self.inner.mss()
    }

    #[getter]
    fn is_peer_finished(&self) -> bool {
        self.inner.is_peer_finished()
    }

    /// The fields of Linux's `TCP_INFO`, with their `tcpi_` names and units.
    fn tcp_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        info_dict(py, &self.inner.tcp_info(self.now))
    }
}

impl PyEndpoint {
    fn call(&mut self, now_ns: u64, call: impl FnOnce(&mut Endpoint, SimTime, &mut Vec<Segment>)) -> Sent {
        self.now = SimTime(now_ns);
        let mut out = Vec::new();
        call(&mut self.inner, self.now, &mut out);
        out.iter().map(PySegment::of).collect()
    }
}

fn socket_option(name: &str, value: u64) -> PyResult<SocketOption> {
    let on = value != 0;
    Ok(match name {
        "TCP_NODELAY" => SocketOption::NoDelay(on),
        "TCP_CORK" => SocketOption::Cork(on),
        "TCP_QUICKACK" => SocketOption::QuickAck(on),
        "TCP_NOTSENT_LOWAT" => SocketOption::NotSentLowat(on.then_some(Bytes(value))),
        "TCP_USER_TIMEOUT" => SocketOption::UserTimeout(on.then_some(SimDuration::from_millis(value))),
        "TCP_MAXSEG" => SocketOption::MaxSegment(u32::try_from(value).unwrap_or(u32::MAX)),
        "SO_SNDBUF" => SocketOption::SendBuffer(Bytes(value)),
        "SO_RCVBUF" => SocketOption::ReceiveBuffer(Bytes(value)),
        "SO_MAX_PACING_RATE" => SocketOption::Pacing,
        _ => return Err(PyValueError::new_err(format!("the endpoint has no socket option {name}"))),
    })
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Closed => "TCP_CLOSE",
        State::Listen => "TCP_LISTEN",
        State::SynSent => "TCP_SYN_SENT",
        State::SynReceived => "TCP_SYN_RECV",
        State::Established => "TCP_ESTABLISHED",
        State::FinWait1 => "TCP_FIN_WAIT1",
        State::FinWait2 => "TCP_FIN_WAIT2",
        State::CloseWait => "TCP_CLOSE_WAIT",
        State::Closing => "TCP_CLOSING",
        State::LastAck => "TCP_LAST_ACK",
        State::TimeWait => "TCP_TIME_WAIT",
    }
}

/// Linux's infinite ssthresh.
const TCP_INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

fn info_dict<'py>(py: Python<'py>, info: &TcpInfo) -> PyResult<Bound<'py, PyDict>> {
    let us = |duration: SimDuration| duration.0 / 1_000;
    let dict = PyDict::new(py);
    dict.set_item("tcpi_state", state_name(info.state))?;
    for (name, value) in [
        ("tcpi_ca_state", info.ca_state as u64),
        ("tcpi_retransmits", u64::from(info.retransmits)),
        ("tcpi_probes", u64::from(info.probes)),
        ("tcpi_backoff", u64::from(info.backoff)),
        ("tcpi_rto", us(info.rto)),
        ("tcpi_snd_mss", u64::from(info.snd_mss)),
        ("tcpi_unacked", info.unacked),
        ("tcpi_sacked", info.sacked),
        ("tcpi_lost", info.lost),
        ("tcpi_retrans", info.retrans),
        ("tcpi_rtt", us(info.rtt)),
        ("tcpi_rttvar", us(info.rttvar)),
        ("tcpi_min_rtt", us(info.min_rtt)),
        ("tcpi_snd_ssthresh", info.snd_ssthresh.unwrap_or(TCP_INFINITE_SSTHRESH)),
        ("tcpi_snd_cwnd", info.snd_cwnd),
        ("tcpi_reordering", u64::from(info.reordering)),
        ("tcpi_total_retrans", info.total_retrans),
        ("tcpi_bytes_acked", info.bytes_acked),
        ("tcpi_bytes_received", info.bytes_received),
        ("tcpi_bytes_sent", info.bytes_sent),
        ("tcpi_bytes_retrans", info.bytes_retrans),
        ("tcpi_notsent_bytes", info.notsent_bytes),
        ("tcpi_data_segs_out", info.data_segs_out),
        ("tcpi_delivered", info.delivered),
        ("tcpi_delivered_ce", info.delivered_ce),
        ("tcpi_dsack_dups", info.dsack_dups),
        ("tcpi_reord_seen", info.reord_seen),
        ("tcpi_snd_wnd", info.snd_wnd),
        ("tcpi_pacing_rate", info.pacing_rate.map_or(u64::MAX, |rate| rate.0 / 8)),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}
