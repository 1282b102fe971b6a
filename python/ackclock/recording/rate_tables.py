"""Reader of tables of two columns, a time and a rate, as measurements of mobile networks are published.

Columns are separated by blanks, commas, semicolons or tabs. A heading may name units: s, ms, us, ns, min or h of times;
bit/s, kbit/s, Mbit/s, Gbit/s, or bps with the same prefixes, of rates. B/s, Bps and bytes/s are octets; MBPS is Mbit/s.
Without one, times are seconds and rates Mbit/s. A column that names another unit is refused.

Departures: a rate holds until the next time, the last one as long as the one before it. Times begin at 0.
"""

import math
import re
from typing import Any, Final

from ackclock.recording.streams import RecordingError

_SEPARATOR: Final = re.compile(r"\s*[,;\t]\s*|\s+")
_HEADING_SEPARATORS: Final = (re.compile(r"[,;\t]"), re.compile(r"\s{2,}"), re.compile(r"\s+"))
_BRACKETS: Final = re.compile(r"[(\[]\s*(.*?)\s*[)\]]")
_RATE: Final = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))([kKmMgG]?i?)"
    r"((?:(?i:bit|byte|octet)(?i:s?)|[bB])(?:(?i:/| per )(?i:s|sec|second)|(?i:ps)))(?![A-Za-z])"
)
_SECONDS: Final = (
    dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0)
    | dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds", "millis"), 1e-3)
    | dict.fromkeys(("us", "usec", "usecs", "microsecond", "microseconds", "micros"), 1e-6)
    | dict.fromkeys(("ns", "nsec", "nsecs", "nanosecond", "nanoseconds", "nanos"), 1e-9)
    | dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0)
    | dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0)
)
_OTHER_RATE: Final = re.compile(r"(?i)bit(?!rate|[ ]rate)|byte|octet|bps|pps|packet|/s|\bper\b|\b[kmgtp]?i?b\b")
_OTHER_TIME: Final = re.compile(r"(?i)\b(?:m|d|days?|weeks?|months?|years?|dates?|ticks?|frames?|samples?|slots?|ps)\b")
_NO_RATE: Final = re.compile(r"(?i)time|latency|delay|rtt|jitter|loss")
_PREFIXES: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 1024.0, "mi": 1024.0**2, "gi": 1024.0**3}
_MOST_ROWS: Final = 1_000_000


def is_table(text: str) -> bool:
    """Return whether the first lines are a table of two columns of numbers, with or without a heading."""
    rows = [_SEPARATOR.split(line.strip()) for line in text.splitlines()[:20] if _has_content(line)]
    numbers = [row for row in rows if _numbers(row) is not None]
    return len(numbers) > 1 and len(numbers) >= len(rows) - 1


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _numbers(row: list[str]) -> tuple[float, float] | None:
    try:
        time, rate = map(float, row)
    except ValueError:
        return None
    return time, rate


def schedule_of(text: str, name: str) -> tuple[list[dict[str, Any]], float, str]:
    """Return the rates with their times, as a schedule of a scenario, its length in seconds, and the units in words.

    Args:
        text: The table.
        name: File, for messages.

    Raises:
        RecordingError: If a line is not two numbers, times do not grow, or a unit is not known; the message has the
            line.
    """
    units: dict[str, float] = {}
    rows: list[tuple[float, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{name}, line {number}"
        row = _numbers(_SEPARATOR.split(line.strip())) if _has_content(line) else None
        if row is None and (not rows or not _has_content(line)):
            _add_units(units, {} if rows else _units(line, place), place)
            continue
        if row is None or not _is_rate(row, units) or (rows and row[0] <= rows[-1][0]):
            raise RecordingError(f"{place}: must be a time after the last one, and a rate; mend the line")
        rows.append(row)
    if not 2 <= len(rows) <= _MOST_ROWS:
        raise RecordingError(f"{name}: must have 2 to {_MOST_ROWS:,} rows, and has {len(rows):,}; cut it")
    second_s, bit = units.get("time", 1.0), units.get("rate", 1e6)
    begin = rows[0][0]
    times_s = [(time - begin) * second_s for time, _ in rows]
    schedule = [
        {"at": seconds(time_s), "rate": f"{round(rate * bit)} bit/s"}
        for time_s, (_, rate) in zip(times_s, rows, strict=True)
    ]
    return schedule, 2 * times_s[-1] - times_s[-2], f"times in units of {second_s:g} s, rates of {bit:.12g} bit/s"


def _is_rate(row: tuple[float, float], units: dict[str, float]) -> bool:
    return math.isfinite(row[0]) and 0 <= row[1] * units.get("rate", 1e6) < 1e14


def seconds(value: float) -> str:
    """Return a time as text, exact to a nanosecond.

    Examples:
        >>> seconds(4.0), seconds(1e-6)
        ('4 s', '0.000001 s')
    """
    return f"{value:.9f}".rstrip("0").rstrip(".") + " s"


def _add_units(units: dict[str, float], found: dict[str, float], place: str) -> None:
    for column, unit in found.items():
        if units.setdefault(column, unit) != unit:
            raise RecordingError(f"{place}: the unit of the {column} must be the one above; leave one out")


def _units(heading: str, place: str) -> dict[str, float]:
    """Return the time unit in seconds and the rate unit in bit/s, if a heading names them."""
    text = heading.strip().lstrip("#").strip()
    text = re.sub(r"\s+(?=[(\[])", "", text.replace("\u00b5", "u").replace("\u03bc", "u"))
    for separator in _HEADING_SEPARATORS:
        columns = separator.split(text)
        if len(columns) == 2:
            time, rate = (column.replace("_", " ") for column in columns)
            found = {"time": _time_unit(time, place), "rate": _rate_unit(rate, place)}
            return {column: unit for column, unit in found.items() if unit is not None}
    text = text.replace("_", " ")
    if _OTHER_RATE.search(text) or any(word in _SECONDS and word != "s" for word in re.findall("[a-z]+", text.lower())):
        raise RecordingError(f"{place}: units must be in a heading of two columns; write time_s,rate_Mbit/s")
    return {}


def _time_unit(column: str, place: str) -> float | None:
    named = _BRACKETS.findall(column)
    spaced = re.sub(r"(?i)\b(time(?:stamp)?)(?!stamp)(?=[a-z])", r"\1 ", re.sub("(?<=[a-z])(?=[A-Z])", " ", column))
    words = [word for word in re.findall("[a-z]+", spaced.lower()) if word in _SECONDS]
    unit = _only({_SECONDS.get(word.lower()) for word in [*named, *words]}, column, place)
    if not named and (_OTHER_TIME.search(spaced) or _OTHER_RATE.search(column) or (re.search(r"\d", column) and words)):
        raise _unknown(column, place)
    return unit


def _rate_unit(column: str, place: str) -> float | None:
    named = _BRACKETS.findall(column)
    found = [_RATE.fullmatch(word) for word in named] if named else list(_RATE.finditer(column))
    unit = _only({_bits(match) for match in found}, column, place)
    rest = _BRACKETS.sub("", column) if named else _RATE.sub("", column)
    is_scaled = not named and any(re.search(r"\d\s*$", column[: match.start()]) for match in found if match)
    has_time = any(word in _SECONDS for word in re.findall("[a-z]+", rest.lower()))
    if is_scaled or has_time or _OTHER_RATE.search(rest) or _NO_RATE.search(rest):
        raise _unknown(column, place)
    return unit


def _bits(found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    has_octets = re.match("(?i:byte|octet)|B(?:/|p| )", found[2]) is not None
    return _PREFIXES[found[1].lower()] * (8 if has_octets else 1)


def _only(units: set[float | None], column: str, place: str) -> float | None:
    if len(units) > 1 or None in units:
        raise _unknown(column, place)
    return next(iter(units), None)


def _unknown(column: str, place: str) -> RecordingError:
    known = "s, ms, us, ns, min or h of times; bit/s, kbit/s, Mbit/s, Gbit/s, kB/s or MB/s of rates"
    return RecordingError(f'{place}: the column "{column.strip()}" must have a known unit; write {known}')
