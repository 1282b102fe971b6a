"""Reader of tables of two columns, a time and a rate, as measurements of mobile networks are published.

Columns are separated by blanks, commas, semicolons or tabs. A heading may name units: s, ms, us or ns of times;
bit/s, kbit/s, Mbit/s, Gbit/s, or bps with the same prefixes, of rates. B/s, Bps and bytes/s are octets; MBPS is Mbit/s.
Without one, times are seconds and rates Mbit/s.

Departures: a rate holds until the next time, the last one as long as the one before it. Times begin at 0.
"""

import re
from typing import Any, Final

from ackclock.recording.streams import RecordingError

_SEPARATOR: Final = re.compile(r"\s*[,;\t]\s*|\s+")
_TIME: Final = re.compile(r"(?:^|[^a-z])(ms|us|ns|s|(?:milli|micro|nano)?seconds?|secs?)(?:[^a-z]|$)")
_RATE: Final = re.compile(r"((?:[kmg]i?)?)((?:bit|byte)s?(?:/s(?:ec)?| per second)|b/s|bps)", re.IGNORECASE)
_SECONDS: Final = {"ms": 1e-3, "mil": 1e-3, "us": 1e-6, "mic": 1e-6, "ns": 1e-9, "nan": 1e-9}
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


def schedule_of(text: str, name: str) -> tuple[list[dict[str, Any]], float]:
    """Return the rates with their times, as a schedule of a scenario, and its length in seconds.

    Args:
        text: The table.
        name: File, for messages.

    Raises:
        RecordingError: If a line is not two numbers, or times do not grow; the message has the line.
    """
    second_s, bit = 1.0, 1e6
    rows: list[tuple[float, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not _has_content(line):
            second_s, bit = _units(line) if not rows and "#" in line else (second_s, bit)
            continue
        row = _numbers(_SEPARATOR.split(line.strip()))
        if row is None and not rows:
            second_s, bit = _units(line)
            continue
        if row is None or not 0 <= row[1] * bit < 1e14 or (rows and row[0] <= rows[-1][0]):
            raise RecordingError(f"{name}, line {number}: must be a time after the last one, and a rate; mend the line")
        rows.append(row)
    if not 2 <= len(rows) <= _MOST_ROWS:
        raise RecordingError(f"{name}: must have 2 to {_MOST_ROWS:,} rows, and has {len(rows):,}; cut it")
    begin = rows[0][0]
    times_s = [(time - begin) * second_s for time, _ in rows]
    schedule = [
        {"at": seconds(time_s), "rate": f"{round(rate * bit)} bit/s"}
        for time_s, (_, rate) in zip(times_s, rows, strict=True)
    ]
    return schedule, 2 * times_s[-1] - times_s[-2]


def seconds(value: float) -> str:
    """Return a time as text, exact to a nanosecond.

    Examples:
        >>> seconds(4.0), seconds(1e-6)
        ('4 s', '0.000001 s')
    """
    return f"{value:.9f}".rstrip("0").rstrip(".") + " s"


def _units(heading: str) -> tuple[float, float]:
    """Return a time unit in seconds and a rate unit in bit/s, as a heading names them."""
    text = heading.replace("_", " ")
    time = _TIME.search(_RATE.sub("", text).lower())
    second_s = _SECONDS.get(time[1][:3], 1.0) if time else 1.0
    rate = _RATE.search(text)
    if rate is None:
        return second_s, 1e6
    has_octets = "byte" in rate[2].lower() or rate[2].startswith(("B/", "Bp"))
    return second_s, _PREFIXES[rate[1].lower()] * (8 if has_octets else 1)
