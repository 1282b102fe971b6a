"""Arguments that are to be numbers within bounds: what is none is told by its name, its value and the bounds.

True and False are numbers to Python, and mistakes here.
"""

from numbers import Integral, Real


def whole(name: str, value: object, least: int, most: int) -> int:
    """Return an argument that is to be a whole number, as a plain one.

    Args:
        name: Of the argument, for the message.
        value: As given; NumPy's whole numbers are some, too.
        least: The least that it may be.
        most: The most that it may be.

    Raises:
        ValueError: If it is none, or beyond.

    Examples:
        >>> whole("threads", -1, 1, 1000)
        Traceback (most recent call last):
        ValueError: threads = -1: must be a whole number from 1 to 1000
    """
    if isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most:
        return int(value)
    raise ValueError(f"{name} = {value!r}: must be a whole number from {least} to {_text(most)}")


def real(name: str, value: object, least: float, most: float) -> float:
    """Return an argument that is to be a number, as a plain one.

    Args:
        name: Of the argument, for the message.
        value: As given.
        least: The least that it may be.
        most: The most that it may be.

    Raises:
        ValueError: If it is none, NaN, or beyond.

    Examples:
        >>> real("tie", float("nan"), 0, 1)
        Traceback (most recent call last):
        ValueError: tie = nan: must be a number from 0 to 1
    """
    if isinstance(value, Real) and not isinstance(value, bool) and least <= float(value) <= most:
        return float(value)
    raise ValueError(f"{name} = {value!r}: must be a number from {least:g} to {most:g}")


def _text(number: int) -> str:
    bits = number.bit_length()
    return f"2^{bits} - 1" if bits > 32 and number + 1 == 1 << bits else str(number)
