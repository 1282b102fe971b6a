"""ackclock-proxy for a long time: is its memory flat, and do its descriptors come back?

    python benches/appliance/soak.py [--idle 10000] [--busy 500] [--minutes 20]

Over the loopback. Idle connections are open and say nothing; each busy one sends a question and reads its answer
without end, and is replaced by another after a random number of them. Memory is read every tenth of the time, with
all connections there; it is flat if the last third has at most 2 % and 1 MB more than the third before. Prints a line
of JSON; exit code 1 if it is not, or if descriptors are left when all are closed. Standard library only.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROXY = os.environ.get("PROXY", ROOT / "target/release/ackclock-proxy")
QUESTION = bytes(range(256)) * 4
ANSWER = bytes(reversed(range(256))) * 16


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every question."""
    try:
        while await reader.readexactly(len(QUESTION)):
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def serve_all(port: int) -> None:
    """Serve, in a process of its own, until it is ended."""

    async def serving() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=4096)
        await server.serve_forever()

    asyncio.run(serving())


async def busy(port: int, counts: dict[str, int], until: float, number: int) -> None:
    """Ask and be answered, in one connection after the other."""
    chooser = random.Random(number)
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(chooser.randrange(1, 200)):
            writer.write(QUESTION)
            answer = await reader.readexactly(len(ANSWER))
            counts["answers"] += 1
            counts["wrong"] += answer != ANSWER
            await asyncio.sleep(chooser.random())
            if time.monotonic() > until:
                break
        writer.close()
        counts["connections"] += 1


def memory_kb(pid: int) -> int:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def descriptors(pid: int) -> int:
    """Return how many a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def open_files(needed: int) -> int:
    """Return how many open files a process may have, once that is as many as are needed, if we may raise it so far."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, needed), max(most, needed)))
    except ValueError:  # it takes CAP_SYS_RESOURCE
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


async def soak(port: int, pid: int, options: argparse.Namespace) -> dict[str, object]:
    """Hold connections for as long as is asked, and return what was seen."""
    fresh, fresh_kb = descriptors(pid), memory_kb(pid)
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(options.idle)]
    counts = {"answers": 0, "wrong": 0, "connections": 0}
    until = time.monotonic() + options.minutes * 60
    tasks = [asyncio.ensure_future(busy(port, counts, until, number)) for number in range(options.busy)]
    samples = []
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(left, options.minutes * 6))
        samples.append(memory_kb(pid))
    await asyncio.gather(*tasks)
    tried = idle[:: max(1, len(idle) // 100)]
    is_alive = sum([await _still_answers(reader, writer) for reader, writer in tried])
    for _, writer in idle:
        writer.close()
    for _ in range(100):
        await asyncio.sleep(0.1)
        if (left_open := descriptors(pid) - fresh) <= PIPES:
            break
    return counts | {
        "idle_tried": is_alive,
        "memory_kb": samples,
        "memory_before_after_kb": [fresh_kb, memory_kb(pid)],
        "descriptors_before_after": [fresh, descriptors(pid)],
        "descriptors_left": left_open,
        "load": os.getloadavg()[0],
    }


PIPES = 64
"""Descriptors of pipes that the proxy keeps to lend again: what is beyond is lost."""


async def _still_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    writer.write(QUESTION)
    return await asyncio.wait_for(reader.readexactly(len(ANSWER)), 30) == ANSWER


def main() -> int:
    """Soak, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--busy", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=20.0)
    options = parser.parse_args()
    needed = 2 * (options.idle + options.busy) + 200
    most = open_files(needed)
    if needed > most:
        parser.error(f"the proxy would have {needed} open files, and {most} are allowed: ulimit -n, or fewer")
    port, upstream = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "proxy.toml"
        config.write_text(
            f'workers = 2\n[[listen]]\naddress = "127.0.0.1:{port}"\nupstream = ["127.0.0.1:{upstream}"]\n'
            '[log]\nlevel = "error"\n'
        )
        server = multiprocessing.Process(target=serve_all, args=(upstream,), daemon=True)
        server.start()
        proxy = subprocess.Popen([PROXY, config])
        try:
            time.sleep(1.0)
            seen = asyncio.run(soak(port, proxy.pid, options))
        finally:
            proxy.kill()
            proxy.wait()
            server.kill()
    samples = seen["memory_kb"]
    assert isinstance(samples, list)
    third = max(1, len(samples) // 3)
    growth_kb = statistics.mean(samples[-third:]) - statistics.mean(samples[-2 * third : -third] or samples[-third:])
    is_flat = growth_kb <= 1024 + 0.02 * statistics.mean(samples)
    is_good = is_flat and not seen["wrong"] and int(str(seen["descriptors_left"])) <= PIPES
    print(json.dumps(seen | {"growth_kb": round(growth_kb), "good": is_good}))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
