"""Checks of numeric arguments; errors give the name, the value and the bounds.

Booleans are refused, although Python counts them as integers.
"""

from numbers import Integral, Real


def whole(name: str, value: object, least: int, most: int) -> int:
    """Return a whole-number argument as a plain `int`.

    Args:
        name: Name of the argument, for the message.
        value: Value as given; NumPy integers are accepted.
        least: Least allowed value.
        most: Greatest allowed value.

    Raises:
        ValueError: If it is not a whole number within the bounds.

    Examples:
        >>> whole("threads", -1, 1, 1000)
        Traceback (most recent call last):
        ValueError: threads = -1: must be a whole number from 1 to 1000
    """
    if isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most:
        return int(value)
    raise ValueError(f"{name} = {value!r}: must be a whole number from {least} to {_text(most)}")


def real(name: str, value: object, least: float, most: float) -> float:
    """Return a numeric argument as a plain `float`.

    Args:
        name: Name of the argument, for the message.
        value: Value as given.
        least: Least allowed value.
        most: Greatest allowed value.

    Raises:
        ValueError: If it is not a number within the bounds; NaN is not.

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
