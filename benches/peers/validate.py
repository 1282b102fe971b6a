"""Set one flow of ackclock beside the same flow on ns-3: goodput, retransmissions, the window at each loss.

    python benches/peers/validate.py --controller newreno --rate 10 --rtt 40 --queue 33 --lose 500,501,502

The two are meant to tell the same story, not to agree to the packet. ns-3's NewReno counts ACKs, so ours is told to;
both recover by SACK and PRR. ns-3's CUBIC has no Reno-friendly region, reduces cwnd where RFC 9438 reduces the flight
size, and until the first loss it grows by at least a segment for every 20 that are acknowledged, as Linux does.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import ns3_builds
import peer_programs
from rich.console import Console
from rich.table import Table

CONTROLLERS = {"newreno": "TcpNewReno", "cubic": "TcpCubic"}
OURS: dict[str, str | dict[str, str]] = {"newreno": {"kind": "reno", "increase": "acks_rounded"}, "cubic": "cubic"}


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--controller", choices=CONTROLLERS, default="cubic")
    parser.add_argument("--rate", type=float, default=100.0, metavar="MBIT_S", help="of the bottleneck (100)")
    parser.add_argument("--rtt", type=float, default=60.0, metavar="MS", help="two-way propagation delay (60)")
    parser.add_argument(
        "--queue", type=int, default=500, metavar="PACKETS", help="limit of the bottleneck's FIFO (500)"
    )
    parser.add_argument("--duration", type=float, default=20.0, metavar="S", help="simulated time (20)")
    parser.add_argument(
        "--ssthresh", type=int, default=0, metavar="SEGMENTS", help="initial; 0 is arbitrarily high (0)"
    )
    parser.add_argument("--delayed-ack", type=int, default=2, metavar="SEGMENTS", help="segments for each ACK (2)")
    parser.add_argument("--lose", default="", metavar="LIST", help="positions of data packets to drop, such as 500,501")
    parser.add_argument("--no-sack", action="store_true", help="without selective acknowledgements")
    parser.add_argument("--ns3-only", action="store_true", help="run ns-3 alone")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(arguments)


def run_ns3(options: argparse.Namespace) -> dict[str, Any]:
    """Run ns-3 and give its figures."""
    figures = peer_programs.run(
        ns3_builds.debian(),
        controller=CONTROLLERS[options.controller],
        rate=f"{options.rate}Mbps",
        rtt=options.rtt / 1e3,
        queue=options.queue,
        duration=options.duration,
        initialSsthresh=options.ssthresh,
        delayedAck=options.delayed_ack,
        sack=not options.no_sack,
        watch=True,
        buffer=_buffer_bytes(options),
        **({"lose": options.lose} if options.lose else {}),
    )
    return {
        "goodput_mbps": figures.goodput_bps / 1e6,
        "retransmitted_segments": figures.retransmitted_segments,
        "drops": figures.drops,
        "episodes": figures.episodes,
    }


def _buffer_bytes(options: argparse.Namespace) -> int:
    # Four times what the network can hold.
    return int(4 * (options.rate * options.rtt * 1e3 / 8 + options.queue * 1500))


def scenario(options: argparse.Namespace) -> dict[str, Any]:
    """Write the same work as a scenario of ackclock. ns-3's links frame packets in 2 bytes."""
    bottleneck: dict[str, Any] = {
        "rate": f"{options.rate} Mbit/s",
        "delay": f"{options.rtt / 2} ms",
        "framing": "2 bytes",
        "queue": {"kind": "drop_tail", "limit": f"{options.queue} packets"},
    }
    if options.lose:
        positions = [int(position) for position in options.lose.split(",")]
        bottleneck["discard"] = [{"kind": "list", "positions": positions, "of": "data"}]
    tcp: dict[str, Any] = {"sack": not options.no_sack, "delayed_ack": {"segments": options.delayed_ack}}
    if options.no_sack:
        tcp["loss_recovery"] = "newreno"
    if options.ssthresh:
        tcp["initial_ssthresh"] = f"{options.ssthresh} segments"
    return {
        "name": "validation",
        "duration": f"{options.duration} s",
        "topology": {
            "kind": "dumbbell",
            "access": {"rate": "10 Gbit/s", "delay": "0 ms"},
            "bottleneck": bottleneck,
        },
        "tcp": tcp,
        "flow": [{"name": "flow", "controller": OURS[options.controller]}],
    }


def run_ackclock(options: argparse.Namespace) -> dict[str, Any]:
    """Run ackclock and give its figures."""
    import ackclock

    results = ackclock.run(ackclock.Scenario.from_json(json.dumps(scenario(options))))
    flow = results.summary["flows"][0]
    return {
        "goodput_mbps": 8e-6 * flow["delivered_bytes"] / options.duration,
        "retransmitted_segments": flow["retransmitted_segments"],
        "drops": sum(link["drops"] for link in results.summary["links"]),
        "episodes": [
            {
                "time_s": row["time_s"],
                "cause": row["cause"],
                "cwnd_bytes": row["cwnd_before_bytes"],
                "ssthresh_after_bytes": row["ssthresh_after_bytes"],
            }
            for row in results.episodes.iter_rows(named=True)
        ],
    }


def print_table(sides: dict[str, dict[str, Any]], console: Console) -> None:
    """Print the figures, and the first ten episodes."""
    table = Table("", *(sides), title="one flow")
    for name in ("goodput_mbps", "retransmitted_segments", "drops"):
        table.add_row(name, *(f"{side[name]:,.2f}".removesuffix(".00") for side in sides.values()))
    table.add_row("episodes", *(str(len(side["episodes"])) for side in sides.values()))
    for index in range(min(10, max(len(side["episodes"]) for side in sides.values()))):
        table.add_row(f"episode {index + 1}", *(_episode_text(side["episodes"], index) for side in sides.values()))
    console.print(table)


def _episode_text(episodes: list[dict[str, Any]], index: int) -> str:
    if index >= len(episodes):
        return ""
    text = "{cause} at {time_s:.3f} s: cwnd {cwnd_bytes:,} B, ssthresh then {ssthresh_after_bytes:,} B"
    return text.format(**episodes[index])


def main() -> int:
    """Run both and print what they gave; 1 if something that is needed is missing."""
    options = parse_arguments()
    console = Console(stderr=options.json)
    try:
        sides = {} if options.ns3_only else {"ackclock": run_ackclock(options)}
        sides[f"ns-3 {ns3_builds.debian().version}"] = run_ns3(options)
    except peer_programs.PeerMissing as error:
        console.print(f"error: {error}", style="red", markup=False)
        return 1
    except ImportError as error:
        console.print(f"error: {error}; build ackclock first: make build", style="red", markup=False)
        return 1
    if options.json:
        sys.stdout.write(json.dumps(sides, indent=2) + "\n")
    else:
        print_table(sides, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
