"""Reader of commands of `tc` that emulate a link: netem, tbf and htb, with the queues below them.

Source: tc(8), tc-netem(8), tc-tbf(8), tc-htb(8) and the pages of the queues. A rate in `bps` is octets per second, and
`k` of a size is 1024.

Departures: the first device carries data; a second one is the way back. netem's limit counts packets under way, too;
here it is the limit of the queue before the link. A jitter without a distribution is uniform; packets that it makes
late let others pass. What `ceil` of htb lends, bursts and `peakrate` are left out. A device that is cleared and shaped
again is as it was shaped last; one that is cleared at the end is as it was before.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ackclock.base.printable import unknown
from ackclock.recording.command_words import VALUE, Way, Words, commands, lines, uniform_jitter
from ackclock.recording.streams import RecordingError

_OPTIONS: Final = r"(?:\s+-n(?:et|etns)?\s+\S+|\s+-\S+)*"
_SHAPING: Final = r"(?:q(?:d|di|dis|disc)?|c(?:l|la|las|lass)?)"

BEGIN: Final = re.compile(rf"^[^#\n]*?\btc{_OPTIONS}\s+{_SHAPING}\s", re.MULTILINE)
"""Beginning of a line with such a command."""

CHANGES: Final = re.compile(rf"\btc{_OPTIONS}\s+{_SHAPING}\s+(?:a|ch|r)[a-z]*\s")
"""Command of tc that shapes, anywhere in a text."""

_PREFIX: Final = r"(?:(?:sudo|-E|if|then|else|do|!|\{|ip\s+netns\s+exec\s+\S+)\s+)*(?:\S*/)?"
_CALL: Final = re.compile(rf"(?:^|[;&|])\s*{_PREFIX}tc{_OPTIONS}\s+(\S+)")
"""Command of tc and its object, in a line."""

_OBJECTS: Final = ("qdisc", "class", "filter", "chain", "actions", "monitor", "exec", "help")
_VERBS: Final = {
    "qdisc": ("add", "change", "replace", "link", "delete", "list", "show", "lst", "help"),
    "class": ("add", "change", "replace", "delete", "list", "show", "lst", "help"),
}
"""Words of tc in the order of its tests (iproute2, `tc.c`, `tc_qdisc.c`, `tc_class.c`): the first that begins so."""

_READING: Final = ("list", "show", "lst", "help")

_BITS: Final = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12}
_RATES: Final = (
    {"": 1}
    | _BITS
    | {unit.replace("bit", "ibit"): 1024**power for power, unit in enumerate(_BITS) if power}
    | {unit.replace("bit", "bps"): 8 * size for unit, size in _BITS.items()}
)
"""Units of tc's rates, in bit/s."""

_SIZES: Final = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2, "g": 1024**3, "gb": 1024**3}
_SIZES_IN_BITS: Final = {"kbit": 1024 / 8, "mbit": 1024**2 / 8, "gbit": 1024**3 / 8}
_TIMES: Final = {"": 1e-3, "us": 1e-3, "usec": 1e-3, "usecs": 1e-3, "ms": 1, "msec": 1, "msecs": 1} | dict.fromkeys(
    ("s", "sec", "secs"), 1e3
)
"""Units of tc's times, in milliseconds."""

_QUEUES: Final = ("fq_codel", "codel", "pie", "fq_pie", "sfq", "fq")
_FIFO: Final = {"pfifo": "packets", "bfifo": "bytes"}
_HTB_WORDS: Final = ("ceil", "burst", "buffer", "maxburst", "cburst", "cbuffer", "cmaxburst", "prio", "quantum", "mtu")
"""Words of an htb class with a value that does not matter."""

_BEFORE: Final = ("sudo", "-E", "ip", "if", "then", "else", "do", "!", "{")
"""Words before `tc` that do not matter."""

_LARGEST_MPU = 64
"""Octets of the smallest Ethernet frame, and less than any segment with timestamps has there."""

_LIMIT, _MOST_DEVICES = 1000, 2
"""Limit of netem, and of the queue of an htb class without a child (a device's `txqueuelen`), in packets."""


def _is_value(word: str) -> bool:
    return VALUE.fullmatch(word) is not None


def ways_of(text: str, name: str) -> list[Way]:
    """Return the directions that commands of tc shape, one for each device, at most two.

    Args:
        text: Commands, one a line, as in a shell script; other lines are skipped.
        name: File, for messages.

    Raises:
        RecordingError: If a command is not understood; the message has its line.
    """
    ways: dict[tuple[str, str], Way] = {}
    cleared: set[tuple[str, str]] = set()
    for namespace, words in _tc_commands(text, name):
        command = f"tc {words}"
        what = _whole(words.next(), _OBJECTS, words.place)
        verb = _whole(words.next(), _VERBS[what], words.place) if words else "list"
        if verb in _READING:
            continue
        is_root = words.has("root".__eq__)
        place = (namespace, _device(words))
        if verb == "delete":
            if is_root or words.has("root".__eq__):
                cleared.add(place)
            elif place in ways and not words.has(lambda word: word in ("ingress", "clsact")):
                raise RecordingError(f"{words.place}: only root can be deleted; leave out what is deleted again")
            continue
        if place in cleared:
            cleared.remove(place)
            ways[place] = Way()
        way = ways.setdefault(place, Way())
        way.source = f'{words.place}: "{command}"'
        _take(words, way, what)
    shaped = [way for way in ways.values() if way.fields]
    if not 1 <= len(shaped) <= _MOST_DEVICES:
        raise RecordingError(f"{name}: one or two devices must be shaped, not {len(shaped)}; leave the others out")
    return shaped


def _whole(word: str, known: Iterable[str], place: str) -> str:
    """Return the word of tc that a word shortens."""
    for whole in known:
        if whole.startswith(word):
            return whole
    raise RecordingError(f"{place}: {unknown('word of tc', word, known)}")


def _device(words: Words) -> str:
    """Take the words up to the device, and return it."""
    while words:
        if words.next() == "dev":
            return words.next()
    raise RecordingError(f"{words.place}: the command has no dev; name the device")


def _tc_commands(text: str, name: str) -> Iterator[tuple[str, Words]]:
    """Yield the commands of tc, from `qdisc` or `class` on, with the network namespace of each."""
    for line, place in lines(text, name):
        for command in commands(line, place) if BEGIN.match(line) or _CALL.search(line) else ():
            called = _CALL.match(joined := " ".join(command))
            if BEGIN.match(joined + " "):
                words = Words(command, place)
                yield _namespace(words), words
            elif called:
                _whole(called[1], _OBJECTS, place)


def _namespace(words: Words) -> str:
    """Take the words before `qdisc` or `class`, and return the namespace that they name."""
    namespace, is_tc = "", False
    while not (is_tc and words.has(lambda word: re.fullmatch(_SHAPING, word))):
        word = words.next()
        if word == "netns" and words.has("exec".__eq__):
            words.next()
            namespace = words.next()
        elif is_tc and word in ("-n", "-net", "-netns"):
            namespace = words.next()
        elif word.rpartition("/")[2] == "tc":
            is_tc = True
        elif not is_tc and word.rpartition("/")[2] not in _BEFORE:
            raise RecordingError(f'{words.place}: unknown word "{word}" before tc; known: sudo, ip netns exec NAME')
    return namespace


def _take(words: Words, way: Way, what: str) -> None:
    """Take the kind of a queueing discipline and what follows; where it hangs in the tree does not matter."""
    while words:
        kind = words.next()
        if kind in ("netem", "tbf"):
            if kind in way.kinds:
                raise RecordingError(f"{words.place}: the device must have one {kind}; leave the other out")
            way.kinds.append(kind)
        if kind == "netem":
            return _netem(words, way)
        if kind == "tbf":
            return _tbf(words, way)
        if kind == "htb":
            return _htb(words, way) if what == "class" else None
        if kind in _QUEUES or kind in _FIFO:
            return _queue(words, way, kind)
        if kind in ("root", "ingress", "clsact"):
            continue
        if kind not in ("parent", "handle", "classid"):
            known = ", ".join(("netem", "tbf", "htb", *_QUEUES, *_FIFO))
            raise RecordingError(f'{words.place}: unknown word "{kind}"; known: {known}')
        words.next()
    return None


def _netem(words: Words, way: Way) -> None:
    made, has_rate = way.fields, "rate" in way.fields
    made["queue"] = {"kind": "drop_tail", "limit": f"{_LIMIT} packets"}  # of a shaper, its child replaces the queue
    while words:
        word = words.next()
        if word == "delay":
            _delay(words, way)
        elif word == "rate":
            if has_rate:
                raise RecordingError(f"{words.place}: the device must have one rate; leave the other out")
            made["rate"] = _rate(words.value(_RATES, "10mbit"))
        elif word == "limit":
            made["queue"] = {"kind": "drop_tail", "limit": f"{words.value({'': 1}, '1000'):.0f} packets"}
        elif word in ("loss", "drop"):
            made["loss"] = _loss(words)
        elif word == "duplicate":
            made["duplicate"] = words.share()
        elif word == "reorder":
            made["reorder"] = {"kind": "probability", "p": round(1 - words.share(), 12)}
            _without_correlation(words)
        else:
            raise RecordingError(f'{words.place}: unknown word "{word}" of netem; leave it out')
    if "reorder" in made:  # what is not sent at once waits for the delay
        made["reorder"]["extra"] = f"{way.delay_ms:g} ms"
        way.delay_ms = 0.0


def _delay(words: Words, way: Way) -> None:
    way.delay_ms = words.value(_TIMES, "20ms")
    if not words.has(_is_value):
        return
    spread_ms = words.value(_TIMES, "5ms")
    _without_correlation(words)
    kind = "uniform"
    if words.has(lambda word: word == "distribution"):
        words.next()
        kind = words.next()
    if kind == "uniform":
        way.delay_ms, jitter = uniform_jitter(way.delay_ms, spread_ms)
        way.fields |= jitter
        return
    if kind != "normal":
        raise RecordingError(f'{words.place}: the distribution "{kind}" must be uniform or normal; choose one')
    way.fields["jitter"] = {"kind": "normal", "mean": f"{way.delay_ms:g} ms", "deviation": f"{spread_ms:g} ms"}
    way.fields["keep_order"] = False
    way.delay_ms = 0.0


def _loss(words: Words) -> dict[str, Any]:
    if words.has(lambda word: word == "random"):
        words.next()
    if words.has(lambda word: word == "gemodel"):
        words.next()
        shares = [words.share()]
        while words.has(lambda word: _is_value(word.removesuffix("%"))):
            shares.append(words.share())
        p, r, bad, good = (shares + [1 - shares[0], 1.0, 0.0][len(shares) - 1 :])[:4]
        return {"kind": "gilbert_elliott", "p": p, "r": r, "loss_bad": bad, "loss_good": good}
    p = words.share()
    _without_correlation(words)
    return {"kind": "random", "p": p}


def _without_correlation(words: Words) -> None:
    if words.has(lambda word: word.endswith("%")) and words.share() > 0:
        raise RecordingError(f"{words.place}: draws of a scenario are independent; leave the correlation out")


def _tbf(words: Words, way: Way) -> None:
    values: dict[str, float] = {}
    units = {"rate": _RATES, "peakrate": _RATES, "latency": _TIMES}
    known = ("rate", "latency", "limit", "burst", "buffer", "maxburst", "mtu", "minburst", "peakrate", "mpu")
    while words:
        word = words.next()
        if word not in known:
            raise RecordingError(f'{words.place}: unknown word "{word}" of tbf; leave it out')
        values[word] = words.value(units.get(word, _SIZES | _SIZES_IN_BITS), "10mbit, 32kbit or 50ms")
    if values.get("mpu", 0) > _LARGEST_MPU:
        raise RecordingError(f"{words.place}: mpu must be at most {_LARGEST_MPU} bytes; leave it out")
    if "rate" not in values or not {"latency", "limit"} & values.keys():
        raise RecordingError(f"{words.place}: tbf must have a rate, and a latency or limit; add them")
    if "rate" in way.fields:
        raise RecordingError(f"{words.place}: the device must have one rate; leave the other out")
    way.fields["rate"] = _rate(values["rate"])
    limit = f"{values['latency']:g} ms" if "latency" in values else f"{values['limit']:.0f} bytes"
    way.fields["queue"] = {"kind": "drop_tail", "limit": limit}


def _htb(words: Words, way: Way) -> None:
    if "rate" in way.fields:
        raise RecordingError(f"{words.place}: a device must have one class with a rate; leave the others out")
    way.fields["queue"] = {"kind": "drop_tail", "limit": f"{_LIMIT} packets"}
    while words:
        word = words.next()
        if word not in ("rate", *_HTB_WORDS):
            raise RecordingError(f'{words.place}: unknown word "{word}" of htb; leave it out')
        if word == "rate":
            way.fields["rate"] = _rate(words.value(_RATES, "10mbit"))
        else:
            words.next()


def _queue(words: Words, way: Way, kind: str) -> None:
    table: dict[str, Any] = {"kind": "drop_tail" if kind in _FIFO else kind}
    while words:
        word = words.next()
        if word in ("ecn", "noecn"):
            table["ecn"] = word == "ecn"
        elif word == "limit":
            table["limit"] = f"{words.value(_SIZES, '1000'):.0f} {_FIFO.get(kind, 'packets')}"
        elif word in ("target", "interval"):
            table[word] = f"{words.value(_TIMES, '5ms'):g} ms"
        else:
            raise RecordingError(f'{words.place}: unknown word "{word}" of {kind}; known: limit, target, interval, ecn')
    way.fields["queue"] = table


def _rate(bits: float) -> str:
    return f"{bits / 1e6:.12g} Mbit/s"
