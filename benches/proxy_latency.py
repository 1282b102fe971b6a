"""Delay in a proxy, and goodput through it, over a long path: Reno in, another controller out.

    sudo python benches/proxy_latency.py [--rate 50] [--delay 14] [--queue 120] [--seconds 20] [--runs 3]

Client, proxy and server are hosts on an emulated network (benches/appliance/lab.py). The client is next to the proxy,
as in Isogaki's thesis (2005), and its own controller is Reno. Each case runs by itself: no proxy, ours with buffer
policies, HAProxy, nginx. Printed: what the server got after the first third (Mbit/s), and how long octets took from
being written by the client to being read by the server, as stamps in the stream tell, less the link's own delay
(median and 99th percentile, ms). Standard library only.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "appliance"))

import ends
from lab import BOX, PORT, SERVER, Lab

SCENARIO = """
duration = "100000 s"
[topology]
kind = "chain"
nodes = ["L", {{ name = "B", kind = "router" }}, "X"]
links = [
    {{ rate = "10 Gbit/s", delay = "0.05 ms", queue = {{ kind = "drop_tail", limit = "10000 packets" }} }},
    {{ rate = "{rate} Mbit/s", delay = "{delay} ms", queue = {{ kind = "drop_tail", limit = "{queue} packets" }} }},
]
[[flow]]
name = "unused"
controller = "cubic"
"""


def start_proxy(lab: Lab, kind: str, congestion: str, policy: str) -> None:
    """Start a proxy on its host. Only ours can choose a controller for a side: that of the others is the machine's."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    if kind == "ours":
        lab.proxy(
            f'workers = 1\n[[listen]]\naddress = "{BOX}:{PORT}"\nupstream = ["{SERVER}:{PORT}"]\n'
            f'clients = ["10.91.0.0/24"]\nfar = {{ congestion = "{congestion}" }}\nbuffer_policy = {policy}\n'
        )
    elif kind == "haproxy":
        (folder / "c").write_text(
            "global\n maxconn 100\ndefaults\n mode tcp\n option splice-auto\n"
            " timeout connect 9s\n timeout client 9m\n timeout server 9m\n"
            f"listen l\n bind {BOX}:{PORT}\n server s {SERVER}:{PORT}\n"
        )
        lab.start(1, "haproxy", "-db", "-q", "-f", folder / "c")
    elif kind == "nginx":
        (folder / "c").write_text(
            f"load_module /usr/lib/nginx/modules/ngx_stream_module.so;\ndaemon off;\npid {folder}/pid;\nevents {{}}\n"
            f"stream {{ server {{ listen {BOX}:{PORT}; proxy_pass {SERVER}:{PORT}; }} }}\n"
        )
        lab.start(1, "nginx", "-p", folder, "-c", folder / "c", "-e", folder / "log")
    time.sleep(1.0)


def play(options: argparse.Namespace, scenario: Path, kind: str, congestion: str, policy: str) -> ends.Arrived:
    """Return what one case came to."""
    with Lab(scenario, ("L", "B", "X")) as lab:
        start_proxy(lab, kind, congestion, policy)
        arrived = lab.begin(2, ends.receive, (SERVER, PORT), options.seconds / 3, options.seconds)
        time.sleep(0.3)
        sent = lab.begin(0, ends.send, (SERVER if kind == "none" else BOX, PORT), "reno", options.seconds)
        got: ends.Arrived = arrived()
        sent()
    return got


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--delay", type=float, default=14.0)
    parser.add_argument("--queue", type=int, default=120)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--congestion", default="cubic")
    parser.add_argument("--policies", default='"socket","credit","not_sent","drain_rate","codel_window"')
    parser.add_argument("--beside", default="none,haproxy,nginx")
    options = parser.parse_args()
    scenario = Path(tempfile.mkdtemp()) / "path.toml"
    scenario.write_text(SCENARIO.format(rate=options.rate, delay=options.delay, queue=options.queue))
    cases = [("ours", policy) for policy in options.policies.split(",")]
    cases = [(kind, "") for kind in options.beside.split(",") if kind] + cases
    print("| | Mbit/s | p50 ms | p99 ms |\n|---|---|---|---|")
    for kind, policy in cases:
        runs = [play(options, scenario, kind, options.congestion, policy) for _ in range(options.runs)]
        cells = []
        for pick in ("goodput_bps", "p50_s", "p99_s"):
            values = [getattr(run, pick) for run in runs]
            values = [v / 1e6 if pick == "goodput_bps" else 1e3 * v - options.delay - 0.05 for v in values]
            cells.append(f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})")
        name = f"{kind} {policy}".strip().replace('"', "")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
