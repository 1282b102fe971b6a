"""Reader of a command line of mahimahi's shells: `mm-delay`, `mm-loss` and `mm-link`.

Source: mm-link(1) and its neighbours (mahimahi 0.98). A trace's line lets 1504 octets leave, four of them a tunnel's.

Departures: data goes along the uplink, from a sender in the shell outward. Logs and meters are left out.
"""

import re
from typing import Any, Final

from ackclock.recording.command_words import Way, Words, commands, lines
from ackclock.recording.streams import RecordingError

BEGIN: Final = re.compile(r"^(?:[^#\n]*[\s/])?mm-(?:delay|link|loss|onoff)\s", re.MULTILINE)
"""Name of one of the shells."""

_WITH_VALUE: Final = tuple(
    f"--{side}-{what}" for side in ("uplink", "downlink") for what in ("log", "queue", "queue-args")
)
_METERS: Final = tuple(f"--meter-{side}{what}" for side in ("uplink", "downlink") for what in ("", "-delay"))
_FRAMING, _OPPORTUNITY = "4 bytes", "1504 bytes"


def ways_of(text: str, name: str) -> list[Way]:
    """Return the uplink and the downlink of a command line of mahimahi's shells.

    Args:
        text: The command, on one line or continued with backslashes.
        name: File, for messages.

    Raises:
        RecordingError: If it is not understood.
    """
    words = _command(text, name)
    up, down = ways = [Way(), Way()]
    while words:
        word = words.next().rpartition("/")[2]
        if word == "mm-delay":
            up.delay_ms = down.delay_ms = up.delay_ms + words.value({"": 1}, "20")
        elif word == "mm-loss":
            way = up if (direction := _direction(words)) == "uplink" else down
            if "loss" in way.fields:
                raise RecordingError(f"{words.place}: a path must have one mm-loss {direction}; leave the others out")
            way.fields["loss"] = {"kind": "random", "p": words.value({"": 1}, "0.01")}
        elif word == "mm-link":
            if "rate" in up.fields:
                raise RecordingError(f"{words.place}: a path must have one mm-link; leave the others out")
            _mm_link(words, ways)
        elif word.startswith("mm-"):
            raise RecordingError(f"{words.place}: {word} is not known; known: mm-delay, mm-link, mm-loss")
    if "rate" not in up.fields:
        raise RecordingError(f"{words.place}: the command must have mm-link with two traces; add it")
    return ways


def _command(text: str, name: str) -> Words:
    found = [
        Words(command, place)
        for line, place in lines(text, name)
        for command in commands(line, place)
        if BEGIN.search(" ".join(command))
    ]
    if len(found) != 1:
        place = found[1].place if found else name
        raise RecordingError(f"{place}: one command of mahimahi is a path; leave the others out")
    return found[0]


def _direction(words: Words) -> str:
    direction = words.next()
    if direction not in ("uplink", "downlink"):
        raise RecordingError(f'{words.place}: "{direction}" must be uplink or downlink; write one')
    return direction


def _mm_link(words: Words, ways: list[Way]) -> None:
    options: dict[str, str] = {}
    traces: list[str] = []
    while words and (len(traces) < len(ways) or words.has(lambda word: word.startswith("--") and word != "--")):
        word = words.next()
        key, is_joined, value = word.partition("=")
        if key in _WITH_VALUE:
            options[key] = value if is_joined else words.next()
        elif word in ("--once", "--meter-all", *_METERS):
            options[key] = ""
        elif word.startswith("-"):
            raise RecordingError(f'{words.place}: unknown option "{key}" of mm-link; leave it out')
        else:
            traces.append(word)
    for way, side, trace in zip(ways, ("uplink", "downlink"), traces, strict=False):
        rate: dict[str, Any] = {"trace": trace, "opportunity": _OPPORTUNITY}
        way.fields["rate"] = rate | ({"once": True} if "--once" in options else {})
        way.fields["framing"] = _FRAMING
        way.fields["queue"] = _mm_queue(
            options.get(f"--{side}-queue", "infinite"), options.get(f"--{side}-queue-args", ""), words.place
        )
    if len(traces) != len(ways):
        raise RecordingError(f"{words.place}: mm-link must have two traces; write UPLINK and DOWNLINK")


def _mm_queue(kind: str, arguments: str, place: str) -> dict[str, Any]:
    given = dict(re.findall(r"(\w+)=(\d+)", arguments))
    unknown = re.sub(r"\b(?:packets|bytes|target|interval)=\d+(?:,\s*|$)", "", arguments)
    if unknown or {"packets", "bytes"} <= given.keys():
        raise RecordingError(
            f'{place}: the arguments "{arguments}" of a queue must be packets= or bytes=, target= and interval='
        )
    limits = [f"{given[unit]} {unit}" for unit in ("packets", "bytes") if unit in given]
    limit = {"limit": limits[0]} if limits else {}
    if kind == "infinite":
        return {"kind": "drop_tail", "limit": "unlimited"}
    if kind == "droptail" and limit:
        return {"kind": "drop_tail", **limit}
    if kind in ("codel", "pie"):
        times = {key: f"{given[key]} ms" for key in ("target", "interval") if key in given}
        return {"kind": kind, **limit, **times}
    known = "infinite, droptail with packets= or bytes=, codel or pie"
    raise RecordingError(f'{place}: the queue "{kind}" must be {known}')
