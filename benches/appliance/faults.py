"""Random connections through the appliance over links that lose, copy and reorder: nothing may be wrong.

    sudo python benches/appliance/faults.py [--connections 100000] [--at-once 200] [--policy credit] [--socket-memory 2]

Client, appliance and server are hosts on an emulated network whose links lose 1 % of packets each way, copy 1 % and
let some overtake others. Every connection sends a random number of octets both ways, in random pieces, and ends in a
random way: with a FIN from either side first, half-closed, or reset. The octets tell their place: a connection's own
part of a long random text. Each end checks all that it reads, and a FIN must come after exactly what was sent. A
reset may cut off what follows, and never changes what came before; one that the network loses is never sent again, by
anybody, so that the other end hears nothing (`silent`). Prints a line of JSON; exit code 1 if anything was wrong.
Standard library only, and the lab's two programs.
"""

import argparse
import asyncio
import json
import random
import socket
import struct
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab import BOX, PORT, SERVER, Lab, SocketMemory

TEXT = random.Random(2005).randbytes(1 << 21)
LONGEST = 200_000
HEADER = struct.Struct("!QII B")
PATIENCE_S = 120.0
AFTER_RESET_S = 10.0
SCENARIO = """
duration = "100000 s"
[topology]
kind = "chain"
nodes = ["L", { name = "B", kind = "router" }, "X"]
links = [
    { rate = "1 Gbit/s", delay = "0.5 ms", queue = { kind = "drop_tail", limit = "1000 packets" }, FAULTS },
    { rate = "1 Gbit/s", delay = "1 ms", queue = { kind = "drop_tail", limit = "1000 packets" }, FAULTS },
]
[[flow]]
name = "unused"
controller = "cubic"
"""
ONE_WAY = (
    'loss = { kind = "random", p = 0.01 }, duplicate = 0.01, '
    'jitter = { kind = "uniform", max = "2 ms" }, keep_order = false'
)
FAULTS = f"{ONE_WAY}, reverse = {{ {ONE_WAY} }}"


@dataclass
class Tally:
    """The fates of the connections at one end."""

    whole: int = 0
    reset: int = 0
    silent: int = 0
    octets: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """One connection: octets each way, and who ends it how."""

    number: int
    up: int
    down: int
    ending: int

    @classmethod
    def drawn(cls, number: int) -> "Plan":
        """Return that of a number."""
        chooser = random.Random(number)

        def amount() -> int:
            return int(LONGEST ** chooser.random()) if chooser.random() > 0.05 else 0

        return cls(number, amount(), amount(), chooser.randrange(4))

    def text(self, *, is_up: bool) -> bytes:
        """Return the octets of one way."""
        start = (self.number * 7919 + is_up * 104_729) % (len(TEXT) - LONGEST)
        return TEXT[start : start + (self.up if is_up else self.down)]


CLIENT_FIRST, SERVER_FIRST, TOGETHER, RESET = range(4)


async def _write(writer: asyncio.StreamWriter, octets: bytes, number: int) -> None:
    chooser = random.Random(number ^ 0x5EED)
    at = 0
    while at < len(octets):
        piece = 1 + int(50_000 ** chooser.random())
        writer.write(octets[at : at + piece])
        await writer.drain()
        at += piece


async def _read(reader: asyncio.StreamReader, wanted: bytes, tally: Tally, name: str, *, may_be_cut: bool) -> None:
    got = bytearray()
    try:
        patience = AFTER_RESET_S if may_be_cut else PATIENCE_S
        while data := await asyncio.wait_for(reader.read(1 << 16), patience):
            got += data
            if not wanted.startswith(got):
                tally.wrong.append(f"{name}: other octets among the first {len(got)} of {len(wanted)}")
                return
        if len(got) != len(wanted):
            tally.wrong.append(f"{name}: a clean end after {len(got)} of {len(wanted)} octets")
            return
        tally.whole += 1
    except ConnectionError as error:
        if may_be_cut:
            tally.reset += 1
        else:
            tally.wrong.append(f"{name}: {error!r} after {len(got)} of {len(wanted)} octets")
    except TimeoutError:
        if may_be_cut:
            tally.silent += 1
        else:
            tally.wrong.append(f"{name}: nothing for {PATIENCE_S:g} s after {len(got)} of {len(wanted)} octets")
    tally.octets += len(got)


def _reset(writer: asyncio.StreamWriter) -> None:
    s = writer.get_extra_info("socket")
    with suppress(OSError):  # it is closed already where a server did not answer in time
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()


async def client(plan: Plan, tally: Tally) -> None:
    """Hold the client's end of a connection."""
    name = f"client of {plan.number}"
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(BOX, PORT), PATIENCE_S)
    except (OSError, TimeoutError) as error:
        tally.wrong.append(f"{name}: cannot connect: {error!r}")
        return
    header = HEADER.pack(plan.number, plan.up, plan.down, plan.ending)
    try:
        if plan.ending == RESET:
            cut = random.Random(plan.number).randrange(plan.up + 1)
            await _write(writer, header + plan.text(is_up=True)[:cut], plan.number)
            await asyncio.sleep(0.01)
            return _reset(writer)
        answer = _read(reader, plan.text(is_up=False), tally, name, may_be_cut=False)
        if plan.ending == SERVER_FIRST:
            writer.write(header)
            await answer
            await _write(writer, plan.text(is_up=True), plan.number)
            writer.write_eof()
        else:
            reading = asyncio.ensure_future(answer)
            await _write(writer, header + plan.text(is_up=True), plan.number)
            writer.write_eof()
            await reading
    except OSError as error:  # of a socket that was reset meanwhile, shutting it down is ENOTCONN
        tally.wrong.append(f"{name}: {error!r} while writing, ending {plan.ending}")
    finally:
        writer.close()


async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tally: Tally) -> None:
    """Hold the server's end of a connection."""
    try:
        header = await asyncio.wait_for(reader.readexactly(HEADER.size), PATIENCE_S)
    except (asyncio.IncompleteReadError, ConnectionError):
        tally.reset += 1
        return writer.close()
    except TimeoutError:  # reset before its header came, and the reset was lost
        tally.silent += 1
        return writer.close()
    number, up, down, ending = HEADER.unpack(header)
    plan = Plan(number, up, down, ending)
    if plan != Plan.drawn(number):
        tally.wrong.append(f"server: a header that nobody sent: {plan}")
    name, is_reset = f"server of {number}", ending == RESET
    request = _read(reader, plan.text(is_up=True), tally, name, may_be_cut=is_reset)
    try:
        if ending == CLIENT_FIRST:
            await request
            await _write(writer, plan.text(is_up=False), number)
        else:
            reading = asyncio.ensure_future(request)
            if not is_reset:
                await _write(writer, plan.text(is_up=False), number)
                writer.write_eof()
            await reading
    except OSError as error:
        if not is_reset:
            tally.wrong.append(f"{name}: {error!r} while writing")
    writer.close()


def clients(first: int, count: int, at_once: int) -> Tally:
    """Hold so many connections, so many at a time."""
    tally = Tally()

    async def all_of_them() -> None:
        turns = asyncio.Semaphore(at_once)

        async def one(number: int) -> None:
            async with turns:
                await client(Plan.drawn(number), tally)

        await asyncio.gather(*(one(number) for number in range(first, first + count)))

    asyncio.run(all_of_them())
    return tally


def server(seconds: float) -> Tally:
    """Serve until nothing has come for so long."""
    tally = Tally()

    async def serving() -> None:
        open_ones = 0
        last = time.monotonic()

        async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal open_ones, last
            open_ones += 1
            try:
                await serve_one(reader, writer, tally)
            finally:
                open_ones -= 1
                last = time.monotonic()

        listening = await asyncio.start_server(one, SERVER, PORT, backlog=4096)
        while open_ones or time.monotonic() - last < seconds:
            await asyncio.sleep(0.2)
        listening.close()

    asyncio.run(serving())
    return tally


def _scenario(folder: Path) -> Path:
    file = folder / "faults.toml"
    file.write_text(SCENARIO.replace("FAULTS", FAULTS))
    return file


def main() -> int:
    """Play, and say what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=100_000)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first, of which all that it does is drawn")
    parser.add_argument("--policy", default="socket")
    parser.add_argument("--socket-memory", type=float, help="MB that the appliance's sockets may hold")
    options = parser.parse_args()
    start = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        SocketMemory(int(1e6 * options.socket_memory) if options.socket_memory else None) as memory,
        Lab(_scenario(Path(folder)), ("L", "B", "X"), seed=options.first + 1) as lab,
    ):
        for host in range(3):
            lab.parameters(host, {"net.ipv4.ip_local_port_range": "1024 65000", "net.ipv4.tcp_max_syn_backlog": "8192"})
        lab.proxy(
            f'workers = 2\n[[listen]]\naddress = "{BOX}:{PORT}"\nupstream = ["{SERVER}:{PORT}"]\n'
            f'clients = ["10.91.0.0/24"]\n'
            f'buffer_policy = "{options.policy}"\nbuffer_policy_back = "{options.policy}"\n',
            memory.folder,
        )
        served = lab.begin(2, server, 15.0)
        time.sleep(0.5)
        asked = lab.begin(0, clients, options.first, options.connections, options.at_once)
        tallies = {"clients": asked(), "servers": served()}
        memory.look()
    counts = ("delivered_packets", "losses", "duplicates", "reordered")
    links = {count: sum(link[count] for link in lab.carried["links"]) for count in counts}
    told = {name: asdict(tally) | {"wrong": tally.wrong[:20]} for name, tally in tallies.items()}
    wrong = sum(len(tally.wrong) for tally in tallies.values())
    summary = {"connections": options.connections, "wrong": wrong, "seconds": round(time.monotonic() - start, 1)}
    held = {"socket_memory": memory.told} if memory.told else {}
    print(json.dumps(summary | told | {"network": links} | held))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
