"""Descriptions of paths as scenarios: tc, mahimahi, mininet and tables, worked out by hand from their manuals."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.recording import RecordingError, read
from ackclock.recording.path_files import scenario_of
from conftest import Cli

TBF = "tc qdisc add dev eth0 root tbf rate 5mbit burst 32kbit latency 50ms\n"
NETEM = "tc qdisc add dev eth0 root netem rate 1mbit delay 40ms\n"
HTB = "tc class add dev eth0 parent 1: classid 1:10 htb rate 10mbit "
MININET = "from mininet.net import Mininet\na = net.addHost('a')\nb = net.addHost('b')\n"


def _tree(folder: Path, text: str) -> dict[str, Any]:
    file = folder / "path.txt"
    file.write_text(text)
    made = scenario_of(file, folder / "path.toml")
    ackclock.Scenario.parse(made, str(folder / "path.toml"))
    return tomllib.loads(made)


def _bottleneck(folder: Path, text: str) -> dict[str, Any]:
    found: dict[str, Any] = _tree(folder, text)["topology"]["bottleneck"]
    return found


def test_htb_with_netem_below_it(tmp_path: Path) -> None:
    script = """\
        #!/bin/sh
        tc qdisc del dev eth0 root
        tc qdisc add dev eth0 root handle 1: htb default 10
        sudo tc class add dev eth0 parent 1: classid 1:10 htb rate 10mbit ceil 20mbit burst 15k
        sudo /sbin/tc qdisc add dev eth0 parent 1:10 handle 10: \\
            netem delay 20ms loss 0.1% limit 100
        """
    assert _bottleneck(tmp_path, script) == {
        "rate": "10 Mbit/s",
        "delay": "20 ms",
        "queue": {"kind": "drop_tail", "limit": "100 packets"},
        "loss": {"kind": "random", "p": 0.001},
        "reverse": {"rate": "1000 Mbit/s", "delay": "0 ms", "queue": "drop_tail"},
    }


@pytest.mark.parametrize("between", [" && ", "; ", " || ", "\n"])
def test_what_follows_an_htb_class_on_its_line_is_read(between: str, tmp_path: Path) -> None:
    found = _bottleneck(tmp_path, f"{HTB}{between}tc qdisc add dev eth0 parent 1:10 netem delay 40ms loss 5%\n")
    assert (found["rate"], found["delay"], found["loss"]["p"]) == ("10 Mbit/s", "40 ms", 0.05)


@pytest.mark.parametrize(
    ("script", "limit"),
    [
        (HTB, "1000 packets"),  # a pfifo of txqueuelen
        (f"{TBF}tc qdisc add dev eth0 parent 1: netem delay 40ms", "1000 packets"),  # replaces tbf's bfifo
        (f"tc qdisc add dev eth0 root handle 1: netem delay 40ms\n{TBF.replace('root', 'parent 1:')}", "50 ms"),
        (f"{HTB}\ntc qdisc add dev eth0 parent 1:10 pfifo limit 50", "50 packets"),
    ],
)
def test_the_lowest_queue_of_a_tree_has_the_limit(script: str, limit: str, tmp_path: Path) -> None:
    assert _bottleneck(tmp_path, script)["queue"]["limit"] == limit


def test_commands_in_namespaces_are_commands(tmp_path: Path) -> None:
    script = "tc -n a qdisc add dev a0 root tbf rate 10mbit burst 5kb limit 60kb\n# tc qdisc add dev x root hfsc\n"
    script += "sudo ip netns exec b tc qdisc add dev b0 root netem rate 1gbit delay 40ms\n"
    found = _bottleneck(tmp_path, script)
    assert (found["rate"], found["queue"]["limit"]) == ("10 Mbit/s", "61440 bytes")
    assert (found["reverse"]["rate"], found["reverse"]["delay"]) == ("1000 Mbit/s", "40 ms")


@pytest.mark.parametrize(
    "begin", ["tc -n {}", "sudo /sbin/tc -netns {}", "ip netns exec {} tc", "sudo ip netns exec {} tc -s"]
)
def test_devices_of_one_name_in_two_namespaces_are_two(begin: str, tmp_path: Path) -> None:
    script = f"{begin.format('a')} qdisc add dev eth0 root tbf rate 10mbit burst 5kb limit 60kb && "
    script += f"{begin.format('b')} qdisc add dev eth0 root netem rate 1gbit delay 40ms\n"
    found = _bottleneck(tmp_path, script)
    assert (found["rate"], found["delay"], found["queue"]["limit"]) == ("10 Mbit/s", "0 ms", "61440 bytes")
    assert (found["reverse"]["rate"], found["reverse"]["delay"]) == ("1000 Mbit/s", "40 ms")


def test_the_path_of_the_lab_sheet_is_a_scenario(tmp_path: Path) -> None:
    """Its first question: 10 Mbit/s times 40 ms are 33 packets, and 60 KiB are 41."""
    page = (Path(__file__).parents[2] / "docs" / "lessons" / "kernel-lab.md").read_text(encoding="utf-8")
    (script,) = [block for block in page.split("```sh\n") if block.startswith("tc -n a")]
    found = _bottleneck(tmp_path, script.partition("```")[0])
    assert (found["rate"], found["delay"], found["queue"]["limit"]) == ("10 Mbit/s", "0 ms", "61440 bytes")
    assert found["reverse"]["delay"] == "40 ms"


def test_a_second_device_is_the_way_back(tmp_path: Path) -> None:
    found = _bottleneck(tmp_path, TBF + "tc qdisc replace root dev eth1 netem rate 1mbit delay 30ms\n")
    assert found["queue"] == {"kind": "drop_tail", "limit": "50 ms"}
    back = {"rate": "1 Mbit/s", "delay": "30 ms", "queue": {"kind": "drop_tail", "limit": "1000 packets"}}
    assert found["reverse"] == back


@pytest.mark.parametrize(
    ("word", "rate"),
    [("8mbit", "8 Mbit/s"), ("1mbps", "8 Mbit/s"), ("1.5Gbit", "1500 Mbit/s"), ("64000", "0.064 Mbit/s"),
     ("1mibit", "1.048576 Mbit/s")],
)  # fmt: skip
def test_rates_of_tc_are_bits_unless_they_say_octets(word: str, rate: str, tmp_path: Path) -> None:
    assert _bottleneck(tmp_path, f"tc qdisc add dev eth0 root netem rate {word}")["rate"] == rate


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("delay 20ms 5ms", {"delay": "15 ms", "jitter": {"kind": "uniform", "max": "10 ms"}, "keep_order": False}),
        ("delay 20000", {"delay": "20 ms"}),
        ("delay 20ms 5ms distribution normal",
         {"delay": "0 ms", "jitter": {"kind": "normal", "mean": "20 ms", "deviation": "5 ms"}, "keep_order": False}),
        ("delay 10ms reorder 25%", {"delay": "0 ms", "reorder": {"kind": "probability", "p": 0.75, "extra": "10 ms"}}),
        ("duplicate 1%", {"duplicate": 0.01}),
        ("loss gemodel 1% 10% 70% 0.1%",
         {"loss": {"kind": "gilbert_elliott", "p": 0.01, "r": 0.1, "loss_bad": 0.7, "loss_good": 0.001}}),
        ("loss gemodel 1%",  # the manual: r = 1 - p, 1-h = 1, 1-k = 0
         {"loss": {"kind": "gilbert_elliott", "p": 0.01, "r": 0.99, "loss_bad": 1.0, "loss_good": 0.0}}),
    ],
)  # fmt: skip
def test_netem_impairs_as_its_manual_says(words: str, fields: dict[str, Any], tmp_path: Path) -> None:
    found = _bottleneck(tmp_path, f"tc qdisc add dev eth0 root netem rate 10mbit {words}")
    assert {key: found.get(key) for key in fields} == fields


@pytest.mark.parametrize(
    ("words", "queue"),
    [
        ("fq_codel limit 500 target 10ms noecn",
         {"kind": "fq_codel", "limit": "500 packets", "target": "10 ms", "ecn": False}),
        ("pfifo limit 100", {"kind": "drop_tail", "limit": "100 packets"}),
        ("bfifo limit 30kb", {"kind": "drop_tail", "limit": "30720 bytes"}),
    ],
)  # fmt: skip
def test_a_queue_below_a_shaper_is_the_queue(words: str, queue: dict[str, Any], tmp_path: Path) -> None:
    assert _bottleneck(tmp_path, f"{TBF}tc qdisc add dev eth0 parent 1: {words}\n")["queue"] == queue


@pytest.mark.parametrize(
    ("delayed", "delay"),
    [("tc q a dev eth0 parent 1: netem delay 50ms", "50 ms"), ("tc qd r dev eth0 parent 1: netem delay 50ms", "50 ms"),
     ("tc qdisc ls dev eth0", "0 ms"), ("tc q", "0 ms"), ("tc -s c sh dev eth0", "0 ms"),
     ("tc f add dev eth0 parent 1: u32", "0 ms"), ("tc qdisc d dev eth0 root\n" + TBF, "0 ms"),
     ("tc help", "0 ms"), ("echo tc is set", "0 ms")],
)  # fmt: skip
def test_words_of_tc_are_shortened_as_tc_reads_them(delayed: str, delay: str, tmp_path: Path) -> None:
    """iproute2's `matches`: a word is the first that begins so: `c` is class, `ls` is lst, `r` is replace."""
    assert _bottleneck(tmp_path, f"{TBF}{delayed}\n")["delay"] == delay


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TBF + "tc qdisc ad dev eth0 parent 1: nettem delay 50ms", 'line 2: unknown word "nettem"'),
        (TBF + "tc qdisc addd dev eth0 parent 1: netem delay 50ms", 'line 2: unknown .*"addd".*did you mean "add"'),
        (TBF + "sudo tc qdsic add dev eth0 root netem delay 5ms", 'line 2: unknown .*"qdsic".*did you mean "qdisc"'),
        (TBF + "tc class link dev eth0 parent 1: htb rate 1mbit", 'line 2: unknown .*"link"'),
        (f"{TBF}mm-delay 20 mm-loss uplink 0.1 mm-loss uplink 0.2 mm-link a b", "one mm-loss uplink"),
        ("tc qdisc add dev eth0 root netem delay 20ms\ntc qdisc del dev eth0 root\n",
         'line 1: "tc qdisc add dev eth0 root netem delay 20ms" sets no rate, and the path must have one'),
        (MININET + "net.addLink(a, b, bw=10)\na.cmd('tc qdisc add dev a-eth0 root netem delay 20ms')\n",
         "line 5: commands of tc in a mininet program are not read; write"),
        (MININET + "net.addLnk(a, b, bw=10)\n", 'line 4: unknown .*"addLnk".*did you mean "addLink"'),
        (MININET + "TCLink(a, b, bw=10)\n", "line 4: write addLink"),
    ],
)  # fmt: skip
def test_no_command_that_shapes_is_skipped(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=said):
        _tree(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tc qdisc add dev eth0 root netem delay 20ms", 'line 1: ".*" sets no rate, and the path must have one'),
        (TBF.replace("5mbit", "$RATE"), r'path\.txt, line 1: "\$RATE" must be a value such as'),
        (TBF.replace("latency 50ms", ""), "must have a rate, and a latency or limit"),
        ("tc qdisc add root netem rate 1mbit", "has no dev"),
        ("\ntc qdisc add dev eth0 root netem rate 1mbit slot 1", r'line 2: unknown word "slot"'),
        ("tc qdisc add dev eth0 root netem rate 1mbit loss 1% 25%", "leave the correlation out"),
        (f"ssh h1 {TBF}", 'unknown word "ssh" before tc; known: sudo'),
        (f"bash -c '{TBF.strip()}'", 'unknown word "bash" before tc'),
        (TBF + TBF.replace("add", "change"), "line 2: the device must have one tbf"),
        (NETEM + NETEM.replace("add", "replace"), "line 2: the device must have one netem"),
        (TBF + NETEM, "line 2: the device must have one rate"),
        (NETEM + TBF, "line 2: the device must have one rate"),
        (HTB + "delay 40ms", 'line 1: unknown word "delay" of htb'),
        (HTB + "overhead 4", 'line 1: unknown word "overhead" of htb'),
        (TBF + "tc qdisc del dev eth0 parent 1: handle 10:\n", "line 2: only root can be deleted"),
        (TBF.strip() + " mpu 1500", "line 1: mpu must be at most 64 bytes"),
        ("tc qdisc add dev eth0 root hfsc", 'unknown word "hfsc"; known: netem'),
        ("tc qdisc add dev eth0 root netem rate", "the command ends early"),
        ("tc qdisc add dev 'eth0 root netem", "mend the quotes"),
        ("mm-delay 20 iperf", "must have mm-link"),
        ("mm-delay 20 mm-onoff uplink 1 1 mm-link a b", "mm-onoff is not known"),
        ("mm-link --uplink-queue=sfq a b", 'the queue "sfq" must be'),
        ("mm-link a b\nmm-link c d", "line 2: one command of mahimahi is a path"),
        ("mm-link a b mm-link c d", "line 1: a path must have one mm-link"),
        ("mm-link a b --uplink-queue=droptail --uplink-queue-args=packets=1,bytes=1", "must be packets= or bytes="),
        ("mm-link --cbr a b", 'unknown option "--cbr" of mm-link'),
        ("mm-link a", "must have two traces"),
        ("net.addLink(a, b)\n", "not known without running"),
        ("from mininet.net import Mininet\nfor\n", "line 2: this is not Python"),
        ("from mininet.net import Mininet\n", "at least two hosts"),
        ("0 1\n1 2\n1 3\n", "line 3: must be a time after the last one"),
        ("what is this?", "does not describe a path"),
    ],
)
def test_what_is_not_understood_is_said_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=said):
        _tree(tmp_path, text)


def test_a_command_line_of_mahimahi(tmp_path: Path) -> None:
    for name in ("up.trace", "down.trace"):
        (tmp_path / name).write_text("1\n2\n")
    found = _bottleneck(
        tmp_path,
        "mm-delay 10 mm-delay 20 mm-loss downlink 0.01 mm-link up.trace down.trace --uplink-queue=droptail "
        '--uplink-queue-args="packets=100" --meter-all --downlink-log=x -- iperf3 -c 1.2.3.4',
    )
    reverse = found.pop("reverse")
    both = {"delay": "30 ms", "framing": "4 bytes"}
    assert found == both | {
        "rate": {"trace": "up.trace", "opportunity": "1504 bytes"},
        "queue": {"kind": "drop_tail", "limit": "100 packets"},
    }
    assert reverse == both | {
        "rate": {"trace": "down.trace", "opportunity": "1504 bytes"},
        "queue": {"kind": "drop_tail", "limit": "unlimited"},
        "loss": {"kind": "random", "p": 0.01},
    }


def test_what_belongs_to_options_of_mahimahi_is_no_trace(tmp_path: Path) -> None:
    for name in ("up.trace", "down.trace"):
        (tmp_path / name).write_text("1\n2\n")
    script = "# mm-delay 10 is for later\nmm-link --uplink-log FILE --downlink-queue droptail "
    script += "--downlink-queue-args packets=10 \\\n up.trace down.trace -- mm-delay 20 bash\n"
    found = _bottleneck(tmp_path, script)
    assert (found["rate"]["trace"], found["reverse"]["rate"]["trace"]) == ("up.trace", "down.trace")
    assert (found["delay"], found["reverse"]["queue"]["limit"]) == ("20 ms", "10 packets")


def test_traces_are_named_from_the_scenarios_folder(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("mm-link up.trace /traces/down.trace true\n")
    made = tomllib.loads(scenario_of(tmp_path / "run.sh", tmp_path / "scenarios" / "mine.toml"))
    bottleneck = made["topology"]["bottleneck"]
    assert bottleneck["rate"]["trace"] == "../up.trace"
    assert bottleneck["reverse"]["rate"]["trace"] == "/traces/down.trace"


@pytest.mark.parametrize("delete", ["del dev eth0 root", "delete root dev eth0 handle 1:"])
def test_a_device_that_is_shaped_again_is_as_it_was_shaped_last(delete: str, tmp_path: Path) -> None:
    """tc-qdisc(8): `del` with root removes all that was added to the device."""
    cleared = f"tc qdisc {delete}\n"
    found = _bottleneck(tmp_path, NETEM + cleared + TBF + cleared)
    assert (found["rate"], found["delay"], found["queue"]["limit"]) == ("5 Mbit/s", "0 ms", "50 ms")


def test_an_mpu_that_no_packet_of_tcp_is_below_is_read(tmp_path: Path) -> None:
    """An ACK with timestamps is a frame of 14 + 20 + 20 + 12 = 66 octets."""
    assert _bottleneck(tmp_path, TBF.strip() + " mpu 64")["rate"] == "5 Mbit/s"


def test_a_mininet_program_is_read_and_not_run(tmp_path: Path) -> None:
    tree = _tree(
        tmp_path,
        "from mininet.topo import Topo\n"
        "raise SystemExit\n"
        "class Mine(Topo):\n"
        "    def build(self):\n"
        "        left = self.addHost('h1')\n"
        "        right = self.addHost('h2')\n"
        "        self.middle = self.addSwitch('s1')\n"
        "        slow = dict(bw=10, delay='5ms', loss=1, max_queue_size=50, use_htb=True)\n"
        "        self.addLink(left, self.middle)\n"
        "        self.addLink(self.middle, right, cls=TCLink, **slow)\n",
    )
    topology = tree["topology"]
    assert [node["kind"] for node in topology["node"]] == ["host", "host", "router"]
    fast, slow = topology["link"]
    assert (fast["from"], fast["to"], fast["rate"], fast["delay"]) == ("h1", "s1", "10 Gbit/s", "0 ms")
    lost = {"loss": {"kind": "random", "p": 0.01}}
    assert slow == {
        "from": "s1", "to": "h2", "rate": "10 Mbit/s", "delay": "5 ms",
        "queue": {"kind": "drop_tail", "limit": "50 packets"}, **lost, "reverse": lost,
    }  # fmt: skip
    assert (tree["flow"][0]["from"], tree["flow"][0]["to"]) == ("h1", "h2")


@pytest.mark.parametrize(
    ("delay", "jitter", "netem"),
    [("5ms", "1ms", "5ms 1ms"), ("1ms", "3ms", "1ms 3ms"), ("0.1s", "250", "100ms 250us")],
)
def test_jitter_of_mininet_is_that_of_netem(delay: str, jitter: str, netem: str, tmp_path: Path) -> None:
    """`TCIntf` passes both to netem as `delay DELAY JITTER`: 5 ms and 1 ms are 4 to 6 ms."""
    program = MININET + f"net.addLink(a, b, bw=10, delay='{delay}', jitter='{jitter}')\n"
    (link,) = _tree(tmp_path, program)["topology"]["link"]
    shaped = _bottleneck(tmp_path, f"tc qdisc add dev eth0 root netem rate 10mbit delay {netem}")
    for key in ("delay", "jitter", "keep_order"):
        assert link[key] == shaped[key]
    assert link["reverse"] == {"jitter": shaped["jitter"]}


@pytest.mark.parametrize(
    "link",
    [
        "net.addLink(a, b, 1, 2, bw=10, delay='5ms')",
        "net.addLink(a, b, None, port2=1, **dict(bw=10, delay='5ms'))",
        "net.addLink(a, b, **dict(**{'bw': 10}, delay='5ms'))",
        "o = dict({'bw': 20}, **{'bw': 10, 'delay': '5ms'})\nnet.addLink(a, b, **o)",
        "o = {'bw': 20, **dict(bw=10), 'delay': '5ms'}\nnet.addLink(a, b, **o)",
    ],
)
def test_options_of_a_mininet_link_are_those_that_python_makes(link: str, tmp_path: Path) -> None:
    (found,) = _tree(tmp_path, MININET + link)["topology"]["link"]
    assert (found["rate"], found["delay"]) == ("10 Mbit/s", "5 ms")


def test_a_reassigned_name_of_a_mininet_program_is_refused(tmp_path: Path) -> None:
    same = MININET + "bw = 10\nbw = 10\na = net.get('a')\nnet.addLink(a, b, bw=bw)\n"
    assert _tree(tmp_path, same)["topology"]["link"][0]["rate"] == "10 Mbit/s"
    for again in ("bw = 20", "bw += 10"):
        program = MININET + f"bw = 10\nnet.addLink(a, b, bw=bw)\n{again}\nnet.addLink(a, b, bw=bw)\n"
        with pytest.raises(RecordingError, match=r"path\.txt, line 5: bw must have one value; write it out"):
            _tree(tmp_path, program)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("net.addLink(a, b, bandwidth=10)", 'line 4: unknown option "bandwidth" of a link; known: bw, delay'),
        ("net.addLink(a, b, bw=10, latency='10ms')", 'line 4: unknown option "latency"'),
        ("net.addLink(a, b, params1={'bw': 10})", 'line 4: unknown option "params1"'),
        ("net.addLink(a, b, **{'Bw': 10})", 'line 4: unknown option "Bw"'),
        ("net.addLink(a, b, bw='10')", "line 4: bw must be a number"),
        ("net.addLink(a, b, loss='1')", "line 4: loss must be a number"),
        ("net.addLink(a, b, max_queue_size=[1])", "line 4: max_queue_size must be a number"),
        ("o = 5\nnet.addLink(a, b, **o)", r"line 5: \*\*o must be a dict"),
        ("net.addLink(a, b, {'bw': 10})", "line 4: the third and fourth argument of addLink must be numbers of ports"),
        ("net.addLink(a, b, 1, TCLink)", "line 4: TCLink is not known without running"),
        ("net.addLink({[1]: 2}, b)", r"line 4: \{\[1\]: 2\} is not known without running"),
        ("net.addLink(a, b, bw={[1]: 2})", r"line 4: \{\[1\]: 2\} is not known without running"),
        ("o = {[1]: 2}\nnet.addLink(a, b, **o)", "line 5: o is not known without running"),
        ("net.addLink(a, b)\0", "line 4: this is not Python"),
    ],
)
def test_a_mistake_in_a_mininet_program_is_said_with_its_line(line: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=rf"path\.txt, {said}"):
        _tree(tmp_path, MININET + line)


def test_a_line_after_a_continued_command_has_its_number(tmp_path: Path) -> None:
    continued = "tc qdisc add dev eth0 root \\\n  netem rate 1mbit \\\n  delay 1ms\n"
    with pytest.raises(RecordingError, match=r'path\.txt, line 4: unknown word "hfsc"'):
        _tree(tmp_path, continued + "tc qdisc add dev eth0 root hfsc\n")


@pytest.mark.parametrize(
    ("text", "times", "rates"),
    [
        ("0 10\n0.5 20\n", ["0 s", "0.5 s"], [10e6, 20e6]),
        ("Time (ms), Throughput (Mbps)\n100,1.5\n1100,0\n", ["0 s", "1 s"], [1.5e6, 0]),
        ("# time_s\trate_kbit/s\n1700000000\t800\n1700000001.25\t900\n", ["0 s", "1.25 s"], [8e5, 9e5]),
        ("timestamp;bits per second\n0;1000\n1;2000\n", ["0 s", "1 s"], [1e3, 2e3]),
        ("Time (s),Throughput (MB/s)\n0,1\n1,2\n", ["0 s", "1 s"], [8e6, 16e6]),
        ("time_ms KBps\n0 1\n1000 2\n", ["0 s", "1 s"], [8e3, 16e3]),
        ("Time,Kb/s\n0,1\n1,2\n", ["0 s", "1 s"], [1e3, 2e3]),
        ("TIME,RATE_MBPS\n0,1\n1,2\n", ["0 s", "1 s"], [1e6, 2e6]),
        ("time;kbytes/s\n0;1\n1;2\n", ["0 s", "1 s"], [8e3, 16e3]),
        ("Time,MiB/s\n0,1\n1,2\n", ["0 s", "1 s"], [2**23, 2**24]),
        ("Time (s),Throughput(KBps)\n0,1\n1,2\n", ["0 s", "1 s"], [8e3, 16e3]),
        ("time_msec,throughput_bytes_per_sec\n0,1\n1000,2\n", ["0 s", "1 s"], [8, 16]),
        ("time [µs],ThroughputMbps\n0,1\n1000000,2\n", ["0 s", "1 s"], [1e6, 2e6]),
        ("minute bitrate_kbps\n0 1\n1 2\n", ["0 s", "60 s"], [1e3, 2e3]),
        ("Time (ms) Rate (Mbps)\n0 1\n1000 2\n", ["0 s", "1 s"], [1e6, 2e6]),
        ("# time_ms,rate_kbps\n# LTE, on a train\n0,1\n1000,2\n", ["0 s", "1 s"], [1e3, 2e3]),
    ],
)
def test_a_table_of_two_columns_is_a_schedule(text: str, times: list[str], rates: list[float], tmp_path: Path) -> None:
    tree = _tree(tmp_path, text)
    rate = tree["topology"]["bottleneck"]["rate"]
    assert [entry["at"] for entry in rate["schedule"]] == times
    assert [float(entry["rate"].split()[0]) for entry in rate["schedule"]] == rates
    assert rate["repeat"] == tree["duration"] == f"{2 * float(times[1].split()[0]):g} s"


@pytest.mark.parametrize(
    "heading",
    ["time,throughput (kbit)", "time,throughput_KB", "time,latency_ms", "time,latency", "time (m),rate", "time,Tbps",
     "time_100ms,rate", "time_ms (s),rate", "rate_mbps,time_s", "throughput,time", "time,packets/s",
     "time (s),rate (10 kbit/s)"],
)  # fmt: skip
def test_a_column_of_another_unit_is_refused(heading: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r'path\.txt, line 1: the column ".*" must have a known unit'):
        _tree(tmp_path, f"{heading}\n0,1\n1,2\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# times in ms and rates in kbit/s\n0 1\n1 2\n", "line 1: units must be in a heading of two columns"),
        ("# time_ms,rate\n# time_s,rate\n0 1\n1 2\n", "line 2: the unit of the time must be the one above"),
        ("0 1\nnan 2\n3 1\n", "line 2: must be a time after the last one"),
        ("0 1\n1 2\ninf 1\n", "line 3: must be a time after the last one"),
    ],
)
def test_units_and_times_are_not_guessed(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=said):
        _tree(tmp_path, text)


def test_the_units_of_a_table_are_printed_and_written(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "rates.csv").write_text("time_ms,rate_kB/s\n0,1\n1000,2\n")
    units = "Units of the table: times in units of 0.001 s, rates of 8000 bit/s."
    assert cli("import", "rates.csv", "-o", "mine.toml").stdout == f"mine.toml\n{units}\n"
    assert f"# {units}\n" in (tmp_path / "mine.toml").read_text()


def test_the_command_writes_a_scenario_that_runs(tmp_path: Path, cli: Cli) -> None:
    script = tmp_path / "link.sh"
    script.write_text(TBF)
    done = cli("import", script, "-o", "mine.toml", "--name", "mine")
    assert (done.returncode, done.stdout) == (0, "mine.toml\n"), done.stderr
    assert ackclock.Scenario.load(tmp_path / "mine.toml", ["duration=1 s"]).name == "mine"
    assert cli("run", "mine.toml", "--set", "duration=1 s").returncode == 0
    again = cli("import", script, "-o", "mine.toml")
    assert again.returncode == 2 and "--force" in again.stderr


def test_the_folder_of_the_scenario_is_made(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "link.sh").write_text(TBF)
    assert cli("import", "link.sh", "-o", "sub/dir/mine.toml").returncode == 0
    assert (tmp_path / "sub" / "dir" / "mine.toml").is_file()


def test_a_value_that_is_not_possible_is_said_with_the_file(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "link.sh").write_text("tc qdisc add dev eth0 root netem rate 1mbit loss 200%\n")
    done = cli("import", "link.sh", "-o", "sub/mine.toml")
    assert done.returncode == 2 and "link.sh: must describe a possible path" in done.stderr
    assert not (tmp_path / "sub").exists()


@pytest.mark.parametrize("script", ["tc qdisc add dev eth0 \\\r\n root netem rate 1mbit\r\n", "mm-link \\\r\n a b\r\n"])
def test_lines_of_windows_continue_too(script: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("1\n2\n")
    (tmp_path / "path.sh").write_bytes(script.encode())
    assert "rate" in scenario_of(tmp_path / "path.sh", tmp_path / "path.toml")


def test_a_path_is_not_a_recording(tmp_path: Path) -> None:
    (tmp_path / "link.sh").write_text(TBF)
    with pytest.raises(RecordingError, match=r"describes a path; make a scenario of it: -o FILE\.toml"):
        read([tmp_path / "link.sh"])
