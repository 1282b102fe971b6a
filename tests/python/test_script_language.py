"""The language of packet scripts: what is read, what is refused, and where."""

import re

import pytest

from ackclock.script import packets, syntax
from ackclock.script.packets import ACK, CWR, ECE, PSH, SYN, Addresses, Packet, emit_packet, parse_packet
from ackclock.script.parse import parse
from ackclock.script.shell_lines import DEFAULTS, Discipline, InitialWindow, Sleep, Sysctl, settings
from ackclock.script.syntax import (
    Code,
    EcnCheck,
    Either,
    Integer,
    Name,
    Option,
    ScriptError,
    SystemCall,
    TcpPacket,
    Text,
    Timing,
    When,
)
from ackclock.script.sysctl import changes


def _only(text: str) -> syntax.Event:
    (event,) = parse(text).events
    return event


def _packet(text: str) -> TcpPacket:
    action = _only(text).action
    assert isinstance(action, TcpPacket)
    return action


def _call(text: str) -> SystemCall:
    action = _only(text).action
    assert isinstance(action, SystemCall)
    return action


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0", When(Timing.ABSOLUTE, 0)),
        ("1.5", When(Timing.ABSOLUTE, 1_500_000)),
        ("+.1", When(Timing.RELATIVE, 100_000)),
        ("+0.000001", When(Timing.RELATIVE, 1)),
        ("+0", When(Timing.RELATIVE, 0)),
        (".1~.3", When(Timing.ABSOLUTE, 100_000, 300_000)),
        ("+.1~+.25", When(Timing.RELATIVE, 100_000, 250_000)),
        ("*", When(Timing.ANY)),
    ],
)
def test_times(written: str, meant: When) -> None:
    assert _only(f"{written} > . 1:1(0) ack 1").when == meant


def test_a_call_that_blocks_has_an_end() -> None:
    call = _call("+0...0.100 read(4, ..., 1000) = 1000")
    assert (call.name, call.end_us) == ("read", 100_000)
    assert _call("0.5...0.75 accept(3, ..., ...) = 4").end_us == 750_000


@pytest.mark.parametrize(
    ("letters", "flags", "ace"),
    [
        (".", ACK, False),
        ("P.", PSH | ACK, False),
        ("SEW", SYN | ECE | CWR, False),
        ("SEWA", SYN | ECE | CWR | packets.AE, False),
        ("S.", SYN | ACK, False),
        ("R", packets.RST, False),
        ("FP.", packets.FIN | PSH | ACK, False),
        ("-", 0, False),
        (".5", ACK | packets.AE | ECE, True),  # RFC 9768: AE, CWR, ECE count 4, 2, 1
        ("S.2", SYN | ACK | CWR, True),
    ],
)
def test_flags(letters: str, flags: int, ace: bool) -> None:
    packet = _packet(f"0 > {letters} 0:0(0)")
    assert (packet.flags, packet.ace) == (flags, ace)


def test_every_part_of_a_packet() -> None:
    packet = _packet("0 < [ect0] P. 1:1001(1000) ack 5 win 257 urg 3 <nop,nop,sack 1:2 3:4>")
    assert packet == TcpPacket(
        inbound=True,
        flags=PSH | ACK,
        seq=1,
        payload=1000,
        ack=5,
        window=257,
        urgent=3,
        options=(Option(syntax.NOP), Option(syntax.NOP), Option(syntax.SACK, (1, 2, 3, 4))),
        ip=syntax.IpInfo(ecn=EcnCheck.ECT0),
    )


@pytest.mark.parametrize(
    ("written", "option"),
    [
        ("mss 1460", Option(syntax.MSS, (1460,))),
        ("wscale 7,nop", Option(syntax.WSCALE, (7,))),
        ("sackOK,nop,nop", Option(syntax.SACK_OK)),
        ("TS val 100 ecr 0,nop,nop", Option(syntax.TIMESTAMPS, (100, 0))),
        ("eol,nop,nop,nop", Option(syntax.EOL)),
        ("sack 1001:2001,nop,nop", Option(syntax.SACK, (1001, 2001))),
    ],
)
def test_tcp_options(written: str, option: Option) -> None:
    options = _packet(f"0 < S 0:0(0) win 1 <{written}>").options
    assert options is not None
    assert options[0] == option


def test_options_left_out_are_none_and_an_ellipsis_is_any() -> None:
    assert _packet("0 > . 1:1(0) ack 1").options == ()
    assert _packet("0 > . 1:1(0) ack 1 <...>").options is None


@pytest.mark.parametrize(
    ("written", "ip"),
    [
        ("[ce]", syntax.IpInfo(ecn=EcnCheck.CE)),
        ("[noecn]", syntax.IpInfo(ecn=EcnCheck.NOT_ECT)),
        ("(ect1)", syntax.IpInfo(ecn=EcnCheck.ECT1)),
        ("[ect01]", syntax.IpInfo(ecn=EcnCheck.ANY_ECT)),
        ("[tos 0x2]", syntax.IpInfo(tos=2)),
        ("[ttl 64]", syntax.IpInfo(ttl=64)),
    ],
)
def test_ip_headers(written: str, ip: syntax.IpInfo) -> None:
    assert _packet(f"0 > {written} . 1:1(0) ack 1").ip == ip


def test_arguments_of_calls() -> None:
    call = _call('0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "re" "no", 4) = 0')
    assert call.arguments == (Integer(3), Name("SOL_TCP"), Name("TCP_CONGESTION"), Text("reno"), Integer(4))
    flags = _call("0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0").arguments[2]
    assert flags == Either((Name("O_RDWR"), Name("O_NONBLOCK")))
    (polled,) = _call("0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1").arguments[0].items
    assert dict(polled.fields)["events"] == Either((Name("POLLIN"), Name("POLLOUT")))


def test_results_of_calls() -> None:
    failed = _call("0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)")
    assert (failed.result, failed.errno) == (Integer(-1), "EINPROGRESS")
    noted = _call("0 fcntl(3, F_GETFL) = 0x802 (flags O_RDWR|O_NONBLOCK)")
    assert (noted.result, noted.errno) == (Integer(0x802), None)


def test_structures_as_the_calls_write_them() -> None:
    message = "{msg_name(...)=..., msg_iov(2)=[{..., 1000}, {..., 5}], msg_flags=MSG_MORE}"
    assert _call(f"0 sendmsg(4, {message}, 0) = 1005").arguments[1].get("msg_flags") == Name("MSG_MORE")
    linger = _call("0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0").arguments[3]
    assert (linger.get("onoff"), linger.get("linger")) == (Integer(1), Integer(0))
    address = '{sa_family = AF_INET, sin_port = htons(8080), sin_addr = inet_addr("192.0.2.1")}'
    assert _call(f"0 bind(3, {address}, ...) = 0").arguments[1].get("sin_port") == Integer(8080)


def test_code_keeps_its_lines_and_braces() -> None:
    code = _only("0 %{\nx = {1: 2}\nassert x\n}%").action
    assert code == Code("\nx = {1: 2}\nassert x\n")


def test_comments_options_and_commands_around_the_events() -> None:
    script = parse(
        "// first\n--tolerance_usecs=500 # why\n/* two\nlines */\n`./defaults.sh\nsysctl -q a=1`\n"
        "0 `sysctl -q b=2`\n+0 > . 1:1(0) ack 1 // end\n`cleanup`\n"
    )
    assert [(option.text, option.line) for option in script.options] == [("--tolerance_usecs=500", 2)]
    assert script.init is not None and script.init[1] == 5
    assert [event.line for event in script.events] == [7, 8]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("0 > . 1:1(0) ack 1\n+0 < icmp unreachable", 2, "icmp packets are not supported"),
        ("0 < . 1:1(0) ack 1", 1, "needs a window"),
        ("0 < . 1:1(0) ack 1 win 1 <...>", 1, "for packets that are sent"),
        ("0 > . 1:5(3) ack 1", 1, "1:5(3) does not add up"),
        ("0 > . 4294967296:0(0) ack 1", 1, "a sequence number has 32 bits"),
        ("0 < . 1:1(0) ack 4294967296 win 5", 1, "an acknowledgement number has 32 bits"),
        ("0 < S 0:0(0) win 5 <mss 65536>", 1, "an MSS has 16 bits"),
        ("0 < S 0:0(0) win 5 <nop,wscale 256>", 1, "a window scale has 8 bits"),
        ("0 < [tos 256] . 1:1(0) ack 1 win 5", 1, "is not an octet"),
        ("0 < S 0:0(0) win 70000", 1, "16 bits"),
        ("*  close(3) = 0", 1, "only a packet that is sent"),
        ("0 > . 2:1(0) ack 1", 1, "does not add up"),
        ("0 > . 1:1(0) ack", 1, "ends after"),
        ("0 > . 1:1(0) ack 1\n\n+0 < S 0:0(0) win 9 <mss 5,FO>", 3, "Fast Open"),
        ("0 > . 1:1(0) ack 1\n+.2~+.1 > . 1:1(0) ack 1", 2, "ends before it starts"),
        ("0 > . 1:1(0) ack 1 <sack 1:2>", 1, "take 10 octets"),
        ("0 > 8080 > 99 . 1:1(0) ack 1", 1, "another connection"),
        ("0 < . 1:65497(65496) ack 1 win 9", 1, "room for 65495 octets"),
        ("0 < . 1:65493(65492) ack 1 win 9 <mss 9>", 1, "room for 65491 octets"),
        ("0 close(3) = 0\n.2 close(3) = 0\n.1 close(3) = 0", 3, "before that of the event above it"),
        pytest.param(f"0 close(3) = 0\n+0 close({'9' * 5000}) = 0", 2, "a number of thousands of digits", id="digits"),
        pytest.param(f"0 close(3) = 0\n+{'9' * 5000} close(3) = 0", 2, "thousands of digits", id="digits of a time"),
        pytest.param(f"0 close({'[' * 3000}{']' * 3000}) = 0", 1, "nested too deeply", id="deep"),
    ],
)
def test_what_cannot_be_run_is_refused_at_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(ScriptError, match=r".") as caught:
        parse(text, "a.pkt")
    assert (caught.value.file, caught.value.line) == ("a.pkt", line)
    assert said in caught.value.message
    assert caught.value.remedy


# ---- commands -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("../../common/defaults.sh", [*DEFAULTS]),
        ("sysctl -q net.ipv4.tcp_sack=0", [Sysctl("net.ipv4.tcp_sack", "0")]),
        ('sysctl -q net.ipv4.tcp_rmem="4096 1 2"', [Sysctl("net.ipv4.tcp_rmem", "4096 1 2")]),
        ("sysctl -w net.ipv4.tcp_sack = 0 > /dev/null 2>&1", [Sysctl("net.ipv4.tcp_sack", "0")]),
        ("./set_sysctls.py /proc/sys/net/ipv4/tcp_ecn=1", [Sysctl("net.ipv4.tcp_ecn", "1")]),
        ("echo 2 > /proc/sys/net/ipv4/tcp_ecn", [Sysctl("net.ipv4.tcp_ecn", "2")]),
        ("ip tcp_metrics flush all; tc qdisc replace dev tun0 root fq", [Discipline("fq")]),
        ("tc qdisc del dev tun0 root", [Discipline("pfifo")]),
        ("ip ro | grep tun | sed 's/$/ initcwnd 4/' | xargs ip ro change", [InitialWindow(4)]),
        ("ip route change 192.0.2.0/24 dev tun0 initcwnd 20", [InitialWindow(20)]),
        ("sleep 1 && /tmp/sysctl_restore_${PPID}.sh", [Sleep(1_000_000)]),
        ('sysctl -q net.ipv4.tcp_wmem="4096 $((256*1024)) 7"', [Sysctl("net.ipv4.tcp_wmem", "4096 262144 7")]),
        (
            "sysctl a=1;sysctl b=2 || true\nsysctl \\\n c=3 # d; sysctl d=4",
            [Sysctl(n, v) for n, v in ("a1", "b2", "c3")],
        ),
    ],
)
def test_commands(line: str, meant: list[object]) -> None:
    assert list(settings(line)) == meant


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tc qdisc replace dev tun0 root pfifo limit 0", "'limit 0' of tc qdisc pfifo is not simulated; leave it out"),
        ("ip route change default initcwnd 5 rto_min 5ms", "the metric rto_min of a route is not simulated; leave"),
        ("ip link set dev tun0 mtu 1400", "mtu of a route is not simulated"),
        ("ip link set dev tun0 down", "'ip link set dev tun0 down' is not known; use"),
        ("echo 1 > /sys/class/net/tun0/gro_flush_timeout", "is not simulated; write to /proc/sys"),
        ("sysctl -p settings.conf", "reads no files here; write its lines"),
        ("sysctl net.ipv4.tcp_sack 0", "sysctl net.ipv4.tcp_sack sets nothing; write net.ipv4.tcp_sack=VALUE"),
        ("echo 0 | tee /proc/sys/net/ipv4/tcp_sack", "is not simulated; set parameters with sysctl name=value"),
        ("sleep soon", "'sleep soon' is not a time; write seconds"),
    ],
)
def test_what_a_command_would_do_and_is_not_simulated_is_refused(line: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        list(settings(line))


def test_commands_and_parameters_that_are_not_known_are_refused() -> None:
    with pytest.raises(ValueError, match="'iptables -F' is not known"):
        list(settings("iptables -F"))
    with pytest.raises(ValueError, match="tcp_sock is unknown"):
        changes("net.ipv4.tcp_sock", "0")
    with pytest.raises(ValueError, match="tcp_recovery: 7 is not simulated; use 0 or 1"):
        changes("net.ipv4.tcp_recovery", "7")


# ---- packets as bytes -----------------------------------------------------------------------------------------------

_ENDS = Addresses(("192.168.0.1", 8080), ("192.0.2.1", 54321))


def test_a_packet_survives_being_written_and_read() -> None:
    options = (Option(syntax.MSS, (1460,)), Option(syntax.SACK_OK), Option(syntax.TIMESTAMPS, (1, 2**32 - 1)))
    options += (Option(syntax.NOP), Option(syntax.WSCALE, (7,)))
    packet = Packet(SYN | ECE | packets.AE, 2**32 - 1, 0, 65535, 10, options, urgent=1, tos=2, ttl=3)
    assert parse_packet(emit_packet(packet, _ENDS)) == (_ENDS, packet)


def test_checksums_are_those_of_a_worked_example() -> None:
    # An ACK from 192.168.0.1:8080 to 192.0.2.1:54321 with all numbers 1 and a window of 1, summed by hand:
    # IP words 4500+0028+0000+4000+4006+c0a8+0001+c000+0201 = 247d8 -> 47da -> b825
    # pseudo c0a8+0001+c000+0201+0006+0014 = 182c4; TCP 1f90+d431+0001+0001+5010+0001 = 143d4 (seq and ack are 0001 each
    # with 0000 above); together 2c698 -> c69a -> 3965
    data = emit_packet(Packet(ACK, 1, 1, 1, 0, ()), _ENDS)
    assert data[10:12].hex() == "b825"
    assert data[36:38].hex() == "3965"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "1: the script ends without an event"),
        ("// nothing\n", "1: the script ends without an event"),
        ("0 < S 0:0(0) win 1\n+0 < . 1:1(0) ack 1 win 1 <mss 1000\n", "2: the script ends after '.*<mss 1000'"),
    ],
)
def test_a_script_that_ends_too_soon_says_so(written: str, said: str) -> None:
    """It was `cannot be read from 'the end' on, in ''`, and from the last word on that can be read."""
    with pytest.raises(ScriptError, match=said):
        parse(written)
