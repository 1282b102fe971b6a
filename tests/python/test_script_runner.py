"""The runner of scripts: its times, how packets and calls are compared, and what a failure says.

The thing under test is played back, so that every expected value is written here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from ackclock.script import syntax
from ackclock.script.backend import Outcome, Request, Sent
from ackclock.script.options import Options
from ackclock.script.packets import ACK, PSH, SYN, Packet
from ackclock.script.parse import parse
from ackclock.script.runner import Verdict, run
from ackclock.script.shell_lines import Setting
from ackclock.script.simulated_host import SimulatedHost
from ackclock.script.syntax import Option, ScriptError

_ISN = 5_000_000
_NOP = Option(syntax.NOP)


@dataclass
class _Ticket:
    outcome: Outcome | None
    finished_us: int

    def settle(self, until_us: int) -> None:
        pass


@dataclass
class Playback:
    """Sends what it was given, whatever arrives."""

    sends: list[Sent] = field(default_factory=list)
    outcomes: list[tuple[int, Outcome]] = field(default_factory=list)
    arrived: list[tuple[int, Packet]] = field(default_factory=list)
    now_us: int = 0
    patience_us: int = 1_000_000
    info: dict[str, int] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def apply(self, setting: Setting) -> None:
        pass

    def advance_to(self, time_us: int) -> None:
        self.now_us = max(self.now_us, time_us)

    def inject(self, packet: Packet) -> None:
        self.arrived.append((self.now_us, packet))

    def next_sent(self, until_us: int) -> Sent | None:
        if not self.sends or self.sends[0].at_us > until_us:
            return None
        sent = self.sends.pop(0)
        self.now_us = max(self.now_us, sent.at_us)
        return sent

    def begin(self, request: Request, *, blocks: bool = False) -> _Ticket:
        self.requests.append(request)
        at_us, outcome = self.outcomes.pop(0)
        return _Ticket(outcome, at_us)

    def tcp_info(self) -> Mapping[str, int]:
        return self.info

    def close(self) -> None:
        pass


def _data(at_us: int, seq: int, payload: int, flags: int = ACK, **fields: object) -> Sent:
    packet = Packet(flags, seq, 1, 500, payload, (), **fields)  # type: ignore[arg-type]
    return Sent(at_us, packet)


def _run(text: str, backend: Playback, options: Options | None = None) -> Verdict:
    return run(parse(text, "a.pkt"), backend, options)


EXACT = Options(tolerance_percent=0.0)


@pytest.mark.parametrize(
    ("at_us", "passes"),
    [(96_000, True), (104_000, True), (95_999, False), (104_001, False)],
)
def test_a_packet_may_be_four_milliseconds_early_or_late(at_us: int, passes: bool) -> None:
    assert _run("0.1 > . 1:1001(1000) ack 1", Playback([_data(at_us, 1, 1000)]), EXACT).passed is passes


def test_a_long_wait_has_an_eighth_of_itself_as_tolerance() -> None:
    # 12.5 % of 0.8 s: 0.7 to 0.9 s.
    assert _run("0.8 > . 1:1001(1000) ack 1", Playback([_data(700_000, 1, 1000)])).passed
    assert not _run("0.8 > . 1:1001(1000) ack 1", Playback([_data(699_999, 1, 1000)])).passed


def test_option_lines_set_the_tolerance() -> None:
    text = "--tolerance_usecs=50\n0.1 > . 1:1001(1000) ack 1"
    assert not _run(text, Playback([_data(100_051, 1, 1000)]), EXACT).passed
    assert _run(text, Playback([_data(100_050, 1, 1000)]), EXACT).passed


def test_a_range_of_time_has_the_tolerance_at_both_ends() -> None:
    text = "0.1~0.2 > . 1:1001(1000) ack 1"
    assert _run(text, Playback([_data(204_000, 1, 1000)]), EXACT).passed
    assert not _run(text, Playback([_data(204_001, 1, 1000)]), EXACT).passed


@pytest.mark.parametrize(
    "event",
    ["0.2 < . 1:1(0) ack 1 win 9", "0.2 write(4, ..., 1) = 1", "0.2 `true`", "0.2 %{ assert True }%"],
)
@pytest.mark.parametrize(("at_us", "passes"), [(204_000, True), (204_001, False)])
def test_an_event_whose_time_is_past_is_a_failure(event: str, at_us: int, passes: bool) -> None:
    """packetdrill checks the time of each event once it has waited for it (run.c, wait_for_event)."""
    backend = Playback([_data(at_us, 1, 1000)], [(at_us, Outcome(1))])
    verdict = _run(f"* > . 1:1001(1000) ack 1\n{event}", backend, EXACT)
    assert verdict.passed is passes
    if verdict.failure is not None:
        assert verdict.failure.message == "its turn comes at 0.204001 s, not at 0.200000 s"


def test_whenever_is_any_time() -> None:
    assert _run("0 < . 1:1(0) win 9\n* > . 1:1001(1000) ack 1", Playback([_data(900_000, 1, 1000)])).passed


def test_a_relative_time_counts_from_when_the_packet_before_was_sent() -> None:
    text = "0.1 > . 1:1001(1000) ack 1\n+.05 < . 1:1(0) ack 1 win 9"
    backend = Playback([_data(103_000, 1, 1000)])
    assert _run(text, backend).passed
    assert [at_us for at_us, _ in backend.arrived] == [153_000]


def test_packets_that_arrive_in_a_row_count_from_each_other() -> None:
    backend = Playback()
    _run("0 < . 1:1(0) win 9\n+.01 < . 1:1(0) win 9\n+.01 < . 1:1(0) win 9", backend)
    assert [at_us for at_us, _ in backend.arrived] == [0, 10_000, 20_000]


def test_segments_in_a_row_are_one_packet_of_the_script() -> None:
    sends = [_data(0, 1, 1000), _data(0, 1001, 1000), _data(0, 2001, 500, ACK | PSH)]
    assert _run("0 > P. 1:2501(2500) ack 1", Playback(sends)).passed


def test_segments_with_a_gap_are_not() -> None:
    verdict = _run("0 > . 1:2001(2000) ack 1", Playback([_data(0, 1, 1000), _data(0, 1501, 500)]))
    assert verdict.failure is not None
    assert [(one.field, one.actual) for one in verdict.failure.differences] == [("payload", "1000")]


def test_every_field_that_differs_is_named() -> None:
    verdict = _run("0 > P. 1:1001(1000) ack 7 win 9", Playback([_data(0, 3, 999, tos=2)]))
    assert verdict.failure is not None
    assert {one.field for one in verdict.failure.differences} == {"flags", "seq", "payload", "ack", "win"}


def test_ecn_is_compared_if_the_script_says_it() -> None:
    assert _run("0 > . 1:1001(1000) ack 1", Playback([_data(0, 1, 1000, tos=2)])).passed
    assert _run("0 > [ect01] . 1:1001(1000) ack 1", Playback([_data(0, 1, 1000, tos=2)])).passed
    assert not _run("0 > [ce] . 1:1001(1000) ack 1", Playback([_data(0, 1, 1000, tos=2)])).passed


def test_a_packet_that_never_comes_is_a_failure() -> None:
    verdict = _run("0.1 > . 1:1001(1000) ack 1", Playback())
    assert verdict.failure is not None
    assert verdict.failure.message == "nothing was sent"


def test_sequence_numbers_are_relative_to_the_first() -> None:
    text = """
        0 listen(3, 1) = 0
        +0 < S 100:100(0) win 9
        +0 > S. 0:0(0) ack 101
        +0 < . 1:1(0) ack 1 win 9 <sack 5:9,nop,nop>
    """
    backend = Playback([Sent(0, Packet(SYN | ACK, _ISN, 101, 9, 0, ()))], [(0, Outcome(0))])
    verdict = _run(text, backend)
    assert verdict.passed, verdict.failure
    (_, syn), (_, ack) = backend.arrived
    assert syn.seq == 100
    # Relative to the peer's 100 and to our 5,000,000.
    assert (ack.seq, ack.ack) == (101, _ISN + 1)
    assert ack.options[0].numbers == (_ISN + 5, _ISN + 9)


def _stamped(at_us: int, value: int, echo: int) -> Sent:
    return Sent(at_us, Packet(ACK, 1, 1, 9, 0, (_NOP, _NOP, Option(syntax.TIMESTAMPS, (value, echo)))))


def test_an_echoed_timestamp_is_the_one_that_was_sent() -> None:
    text = "0 > . 1:1(0) ack 1 <nop,nop,TS val 10 ecr 0>\n+0 < . 1:1(0) ack 1 win 9 <nop,nop,TS val 7 ecr 10>"
    backend = Playback([_stamped(0, 77_000, 0)])
    assert _run(text, backend).passed
    assert backend.arrived[0][1].options[2].numbers == (7, 77_000)


def test_a_timestamp_that_was_never_sent_cannot_be_echoed() -> None:
    verdict = _run("0 < . 1:1(0) ack 1 win 9 <nop,nop,TS val 7 ecr 10>", Playback())
    assert verdict.failure is not None
    assert "never sent" in verdict.failure.message


@pytest.mark.parametrize(("value", "passes"), [(77_104, True), (77_105, False)])
def test_timestamps_are_checked_if_a_tick_is_given(value: int, passes: bool) -> None:
    # From 10 to 110 is 100 ticks; four more are the tolerance of 4 ms.
    text = """--tcp_ts_tick_usecs=1000
        0 > . 1:1(0) ack 1 <nop,nop,TS val 10 ecr 0>
        +.1 > . 1:1(0) ack 1 <nop,nop,TS val 110 ecr 0>
    """
    backend = Playback([_stamped(0, 77_000, 0), _stamped(100_000, value, 0)])
    assert _run(text, backend).passed is passes


def test_echoes_that_are_sent_are_compared_if_asked() -> None:
    text = "0 > . 1:1(0) ack 1 <nop,nop,TS val 10 ecr 5>"
    assert _run(text, Playback([_stamped(0, 1, 6)])).passed
    assert not _run(text, Playback([_stamped(0, 1, 6)]), Options(checks_echoes=True)).passed


def test_options_are_compared_in_their_order() -> None:
    options = (_NOP, _NOP, Option(syntax.SACK, (11, 21)))
    sent = Sent(0, Packet(ACK, 1, 1, 9, 0, options))
    assert _run("0 > . 1:1(0) ack 1 <nop,nop,sack 11:21>", Playback([sent])).passed
    assert not _run("0 > . 1:1(0) ack 1 <sack 11:21,nop,nop>", Playback([sent])).passed
    assert not _run("0 > . 1:1(0) ack 1", Playback([sent])).passed
    assert _run("0 > . 1:1(0) ack 1 <...>", Playback([sent])).passed


# ---- calls ----------------------------------------------------------------------------------------------------------


def test_results_and_errors_of_calls_are_compared() -> None:
    verdict = _run("0 write(4, ..., 1000) = 1000", Playback(outcomes=[(0, Outcome(-1, "EPIPE"))]))
    assert verdict.failure is not None
    assert verdict.failure.message == "write must return 1000 and returns -1 EPIPE"


def test_what_calls_fill_in_is_compared() -> None:
    outcome = (0, Outcome(0, value={"option": 3}))
    assert _run("0 getsockopt(4, SOL_SOCKET, SO_ERROR, [3], [4]) = 0", Playback(outcomes=[outcome])).passed
    assert _run("0 getsockopt(4, SOL_SOCKET, SO_ERROR, ..., [4]) = 0", Playback(outcomes=[outcome])).passed
    assert not _run("0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0", Playback(outcomes=[outcome])).passed


def test_a_call_that_blocks_must_end_in_time() -> None:
    text = "0...0.1 read(4, ..., 10) = 10"
    assert _run(text, Playback(outcomes=[(104_000, Outcome(10))]), EXACT).passed
    late = _run(text, Playback(outcomes=[(104_001, Outcome(10))]), EXACT)
    assert late.failure is not None
    assert late.failure.message == "read returns at 0.104001 s, not at 0.100000 s"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("splice(4, ..., 5) = 0", "splice is not supported"),
        ("socket(..., SOCK_DGRAM, IPPROTO_UDP) = 3", "use SOCK_STREAM"),
        ("setsockopt(4, SOL_TCP, TCP_NODELEY, [1], 4) = 0", "unknown constant TCP_NODELEY"),
    ],
)
def test_calls_that_cannot_be_made_are_errors_of_the_script(call: str, said: str) -> None:
    with pytest.raises(ScriptError, match=r"a\.pkt:2") as caught:
        _run(f"\n0 {call}", Playback())
    assert said in str(caught.value)


# ---- code -----------------------------------------------------------------------------------------------------------


def test_code_sees_what_the_connection_says_then() -> None:
    text = "0 %{ was = tcpi_snd_cwnd }%\n+0 %{ assert was == 10 and tcpi_state == TCP_ESTABLISHED }%"
    assert _run(text, Playback(info={"snd_cwnd": 10, "state": 1})).passed


def test_code_that_fails_shows_what_it_looked_at() -> None:
    verdict = _run("0 %{ assert tcpi_snd_cwnd == 11, 'grew' }%", Playback(info={"snd_cwnd": 10, "state": 1}))
    assert verdict.failure is not None
    assert verdict.failure.message == "assertion failed (grew)"
    assert verdict.failure.values == {"tcpi_snd_cwnd": 10}


def test_code_that_ends_python_fails_its_script() -> None:
    """By Python's documentation `sys.exit` raises `SystemExit`, which is a failure of the code that a script calls."""
    verdict = _run("0 %{ import sys; sys.exit(0) }%", Playback())
    assert verdict.failure is not None and verdict.failure.message.startswith("SystemExit: ")


def test_buffers_and_segments_that_nobody_set_are_read_before_a_connection() -> None:
    """Defaults are those of Linux 6.18: the middle of tcp_wmem and tcp_rmem, and RFC 9293's 536 octets."""
    asked = [("SOL_SOCKET", "SO_RCVBUF", 60000), ("SOL_SOCKET", "SO_SNDBUF", 16384), ("SOL_TCP", "TCP_MAXSEG", 536)]
    calls = [f"+0 getsockopt(3, {level}, {option}, [{value}], [4]) = 0" for level, option, value in asked]
    start = '0 `sysctl -q net.ipv4.tcp_rmem="4096 60000 70000"`\n+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n'
    assert run(parse(start + "\n".join(calls), "a.pkt"), SimulatedHost()).passed


def test_names_are_given_meaning_by_definitions() -> None:
    text = "--define=SIZE=0x3e8\n--define=FLAG=MSG_DONTWAIT\n0 send(4, ..., SIZE, FLAG) = 1000"
    assert _run(text, Playback(outcomes=[(0, Outcome(1000))])).passed


def test_what_a_command_line_says_holds_whatever_a_script_says() -> None:
    text = "--define=SIZE=5\n--tolerance_usecs=50\n0.1 > . 1:1001(1000) ack 1\n+0 read(4, ..., SIZE) = 1"
    chosen = {"definitions": {"SIZE": "1000"}, "tolerance_us": 2_000}
    backend = Playback([_data(101_000, 1, 1000)], outcomes=[(0, Outcome(1))])
    assert _run(text, backend, Options(tolerance_percent=0.0, chosen=chosen)).passed
    assert backend.requests[0].numbers[0] == 1000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("--define=SIZE", "--define=SIZE defines nothing; write --define=NAME=VALUE"),
        ("--define==5", "defines nothing"),
        ("--mtu=1400", "--mtu=1400 is not supported; use 1500"),
        ("--ip_version=ipv6", "--ip_version=ipv6 is not supported; use ipv4"),
        ("--strict_segments", "the option --strict_segments is not supported; leave it out"),
        ("--init_scripts=a.sh", "the option --init_scripts is not supported; leave it out"),
        ("--tolerance_percent=nan", "--tolerance_percent=nan must be a number; write 0 or more"),
        ("--tolerance_percent=inf", "--tolerance_percent=inf must be a number"),
        ("--tolerance_usecs=-1", "--tolerance_usecs=-1 must be a whole number"),
        pytest.param(f"--tolerance_usecs={'9' * 5000}", "must be a whole number", id="digits"),
    ],
)
def test_option_lines_that_cannot_be_followed_are_refused(text: str, said: str) -> None:
    with pytest.raises(ScriptError, match=r"a\.pkt:1") as caught:
        _run(f"{text}\n0 write(4, ..., 1) = 1", Playback())
    assert said in f"{caught.value.message}; {caught.value.remedy}"


def test_a_name_that_is_no_command_is_refused_in_its_line() -> None:
    with pytest.raises(ScriptError, match=r"a\.pkt:2: RESTORE is not a command"):
        _run("0 write(4, ..., 1) = 1\n+0 RESTORE", Playback(outcomes=[(0, Outcome(1))]))


def test_a_trace_has_every_packet_in_the_order_of_time() -> None:
    sends = [_data(0, 1, 1000), _data(0, 1001, 1000), _data(50, 2001, 500), _data(90, 2501, 500)]
    verdict = _run("0 > . 1:2001(2000) ack 1\n+.1 < . 1:1(0) ack 1 win 9", Playback(sends))
    texts = [step.text for step in verdict.steps]
    ranges = ["1:1001(1000)", "1001:2001(1000)", "2001:2501(500)", "2501:3001(500)", "1:1(0)"]
    assert [text.split()[1] for text in texts] == ranges
    assert [text.endswith("(not in the script)") for text in texts] == [False, False, True, True, False]


CONNECTED = [
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "+0 bind(3, ..., ...) = 0",
    "+0 listen(3, 1) = 0",
    "+0 < S 0:0(0) win 65535 <mss 1000>",
    "+0 > S. 0:0(0) ack 1 <...>",
    "+.1 < . 1:1(0) ack 1 win 1000",
    "+0 accept(3, ..., ...) = 4",
]


def test_a_time_without_room_is_refused_in_its_line() -> None:
    script = parse("\n".join([*CONNECTED, "+99999999999999999999 write(4, ..., 1) = 1"]), "t.pkt")
    with pytest.raises(ScriptError, match="that is too large") as raised:
        run(script, SimulatedHost())
    assert raised.value.line == 8


def test_options_take_negative_numbers_as_linux() -> None:
    lines = [
        "+0 setsockopt(4, SOL_TCP, TCP_CORK, [-1], 4) = 0",
        "+0 setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [-1], 4) = -1 EINVAL (Invalid argument)",
        "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [-1], 4) = 0",
    ]
    assert run(parse("\n".join([*CONNECTED, *lines])), SimulatedHost()).failure is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sendto(4, ..., 1000, MSG_OOB, ..., ...) = 1000", "MSG_OOB is not simulated; leave it out, or use --kernel"),
        ("recv(4, ..., 1000, MSG_OOB) = 1000", "MSG_OOB is not simulated"),
        ("setsockopt(4, SOL_TCP, TCP_KEEPIDLE, [1], 4) = 0", "simulated with Linux's default only; use 7200"),
        ("setsockopt(4, SOL_TCP, TCP_LINGER2, [1], 4) = 0", "simulated with Linux's default only; use 60"),
        ("setsockopt(4, SOL_SOCKET, SO_RCVLOWAT, [-1], 4) = 0", "SO_RCVLOWAT of -1 is not simulated; use 0 or more"),
        ("getsockopt(4, SOL_SOCKET, SO_TYPE, [1], [4]) = 0", "the socket option SO_TYPE is not simulated"),
        ("setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=5}, 8) = 0", "close that waits 5 s is not simulated"),
        ("setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 1) = 0", "an option of 1 octets is not supported; write 4"),
        ("getsockopt(4, SOL_SOCKET, SO_SNDBUF, [5], [4]) = 0", "SO_SNDBUF that was not set is not simulated"),
        ("getsockopt(4, SOL_TCP, TCP_INFO, {tcpi_state=1}, [4]) = 0", "what TCP_INFO fills in is not looked at"),
        ("fcntl(4, F_SETFL, O_RDWR|O_ASYNC) = 0", "is not simulated; use F_GETFL, or F_SETFL"),
        ("fcntl(4, F_SETOWN, 1) = 0", "is not simulated; use F_GETFL, or F_SETFL"),
        ("ioctl(4, 0x5421, [1]) = 0", "is not simulated; use SIOCINQ"),
        ("poll([{fd=4, events=POLLIN, revents=0}], 2, 0) = 0", "poll of 2 descriptors has 1; write as many"),
        ("accept4(3, ..., ..., O_DIRECT) = 5", "of accept4 are not supported; use SOCK_NONBLOCK or SOCK_CLOEXEC"),
        ("socket(AF_UNIX, SOCK_STREAM, 0) = 5", "AF_UNIX is not supported; use AF_INET"),
        (
            "recvmsg(4, {msg_iov(1)=[{..., 9}], msg_flags=MSG_TRUNC}, 0) = 9",
            "msg_flags=MSG_TRUNC is not supported; write msg_flags=0",
        ),
        (
            "sendmsg(4, {msg_iov(1)=[{..., 9}], msg_control=[{cmsg_level=SOL_SOCKET, cmsg_type=37}]}, 0) = 9",
            "a control message that is sent is not supported; leave msg_control out",
        ),
        (
            "recvmsg(4, {msg_iov(1)=[{..., 9}], msg_control=[{cmsg_level=SOL_SOCKET, cmsg_type=37}]}, 0) = 9",
            "control messages other than TCP_CM_INQ are not supported",
        ),
        ("< PU. 1:2(1) ack 1 win 257 urg 1", "urgent data is not simulated"),
        (
            "epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLEXCLUSIVE, fd=4}) = 0",
            "EPOLLEXCLUSIVE is not simulated",
        ),
    ],
)
def test_flags_of_a_call_that_would_have_no_effect_are_refused(line: str, said: str) -> None:
    script = parse("\n".join([*CONNECTED, "+0 epoll_create(1) = 5", f"+0 {line}"]), "a.pkt")
    with pytest.raises(ScriptError, match=r"a\.pkt:9") as raised:
        run(script, SimulatedHost())
    assert said in str(raised.value)


def test_a_write_whose_end_the_socket_would_tell_of_is_refused() -> None:
    """Linux's msg_zerocopy.rst: with SO_ZEROCOPY the error queue, and POLLERR, tell that a buffer is free again."""
    writes = "+0 send(4, ..., 10, MSG_ZEROCOPY) = 10"
    assert run(parse("\n".join([*CONNECTED, writes])), SimulatedHost()).passed
    asks = "+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0"
    with pytest.raises(ScriptError, match="MSG_ZEROCOPY is not simulated; leave it out, or use --kernel"):
        run(parse("\n".join([*CONNECTED, asks, writes])), SimulatedHost())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sysctl -q net.ipv4.tcp_congestion_control=rAeno", "reno"),
        ("sysctl -q net.ipv4.tcp_retries2=99999999999", "tcp.max_retries"),
        ("sysctl -q net.ipv4.tcp_rmem='-1 -1 -1'", "is not a value of it"),
        ("sysctl -q net.ipv4.tcp_fin_timeout=1", "is not simulated; use 60"),
        ("sysctl -q net.ipv4.tcp_min_rtt_wlen=1", "is not simulated; use 300"),
        ("sysctl -q net.ipv4.tcp_tso_win_divisor=x", "is not a value of it"),
        ("sysctl -q net.ipv4.tcp_syncookies=2", "is not simulated; use 1 or 0"),
        ("sysctl -q net.ipv4.tcp_max_tw_buckets=0", "is not simulated; use 16 or more"),
        ("sysctl -q net.ipv4.tcp_mem='0 1 2'", "is not simulated; use 4096 or more"),
        ("sysctl -q net.ipv4.tcp_fastopen=0x207", "is not simulated; use 1, 2 or 3"),
        ("ip route replace 192.0.2.0/24 dev tun0 initcwnd many", "initcwnd many must be a number of segments"),
        ("ip route replace 192.0.2.0/24 dev tun0 initcwnd 99999999999", "initcwnd 99999999999 is not simulated"),
        ("sysctl -q net.core.wmem_max=$((9999999999*9999999999))", "is too large; write less than 2^63"),
        ("echo 2 > /sys/module/tcp_cubic/parameters/hystart_detect", "2 is not simulated; use 0 or 3"),
        ("echo 2 > /sys/module/tcp_bbr/parameters/x", "sysctl tcp_bbr.x is not known"),
    ],
)
def test_commands_that_make_no_endpoint_are_refused_in_their_line(command: str, said: str) -> None:
    script = parse(f"// first\n`{command}`\n 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", "a.pkt")
    with pytest.raises(ScriptError, match=r"a\.pkt:2: ") as raised:
        run(script, SimulatedHost())
    if command.startswith("sysctl -q net.ipv4."):
        assert "a.pkt:2: sysctl net.ipv4." in str(raised.value)
    assert said in str(raised.value)


@pytest.mark.parametrize(("detect", "ssthresh"), [(3, 28), (0, 0x7FFFFFFF)])
def test_hystart_is_a_parameter_of_linux_cubic(detect: int, ssthresh: int) -> None:
    """Ha and Rhee 2011: of a window of 20, nine ACKs after 240 ms, where 200 are the least, end slow start at 28."""
    text = [
        f"`echo {detect} > /sys/module/tcp_cubic/parameters/hystart_detect`",
        *CONNECTED[:3],
        "+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>",
        CONNECTED[4],
        "+.2 < . 1:1(0) ack 1 win 257",
        CONNECTED[6],
        "+0 write(4, ..., 30000) = 30000",
        "+.2 < . 1:1(0) ack 10001 win 257",
        *(f"+{0.24 if not place else 0.001} < . 1:1(0) ack {11001 + 1000 * place} win 257" for place in range(12)),
        f"+0 %{{ assert tcpi_snd_ssthresh == {ssthresh}, tcpi_snd_ssthresh }}%",
    ]
    verdict = run(parse("\n".join(text), "a.pkt"), SimulatedHost("linux-6.x"))
    assert verdict.passed, verdict.failure


def test_events_are_compared_each_with_its_descriptor() -> None:
    waits = [*CONNECTED, "+0 epoll_create(1) = 5", "+0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLOUT, fd=4}) = 0"]
    for expected, passes in (("{events=EPOLLOUT, fd=4}", True), ("{events=EPOLLOUT, fd=3}", False)):
        script = parse("\n".join([*waits, f"+0 epoll_wait(5, {expected}, 1, 0) = 1"]), "a.pkt")
        assert run(script, SimulatedHost()).passed is passes


def test_a_buffer_is_no_larger_than_the_machine_allows() -> None:
    """socket(7): "The maximum allowed value is set by the /proc/sys/net/core/wmem_max file"; it is doubled."""
    asks = ["+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [9000000], 4) = 0"]
    for most, got in ((100_000, 200_000), (None, 2 * 4_194_304)):
        first = [f"`sysctl -q net.core.wmem_max={most}`"] if most else []
        lines = [*first, *CONNECTED, *asks, f"+0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [{got}], [4]) = 0"]
        verdict = run(parse("\n".join(lines), "a.pkt"), SimulatedHost())
        assert verdict.passed, verdict.failure


def test_syns_and_their_answers_are_sent_again_as_often_as_each_is_told() -> None:
    first = "`sysctl -q net.ipv4.tcp_syn_retries=1 net.ipv4.tcp_synack_retries=2`"
    answers = [*CONNECTED[:5], *["+1 > S. 0:0(0) ack 1 <...>", "+2 > S. 0:0(0) ack 1 <...>", "+20 close(3) = 0"]]
    asks = ["0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", "+0...3 connect(3, ..., ...) = -1 ETIMEDOUT (timed out)"]
    for lines in (answers, [*asks, "0 > S 0:0(0) <...>", *["+1 > S 0:0(0) <...>"] * 2]):  # 1 + 2 s, as 6.18 has it
        verdict = run(parse("\n".join([first, *lines]), "a.pkt"), SimulatedHost("linux-6.x"))
        assert verdict.passed, verdict.failure
