"""Parameters of user-written parts, read from the constructor and described for the core."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from ackclock.scenario.named_modules import RefusedError


@dataclass(frozen=True, slots=True)
class Parameter:
    """Description of a parameter, for `typing.Annotated`.

    Bounds are numbers in the unit that the class gets, or strings as in a scenario ("30 ms").

    Attributes:
        meaning: Short description.
        above: Lower bound, exclusive.
        at_least: Lower bound, inclusive.
        below: Upper bound, exclusive.
        at_most: Upper bound, inclusive.
        unit: Unit of a number, in words.
        source: Source of the default.
    """

    meaning: str = ""
    above: float | str | None = None
    at_least: float | str | None = None
    below: float | str | None = None
    at_most: float | str | None = None
    unit: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Number that scenarios write as a string with a unit.

    Attributes:
        kind: Kind, in the core's terms.
        base: Unit of the core's whole number.
        per_unit: Number of base units in one unit of the class.
    """

    kind: str
    base: str
    per_unit: int

    def written(self, value: object) -> object:
        """Return a number as a string; strings are returned unchanged.

        Args:
            value: Number in the unit that the class gets.
        """
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return f"{round(value * self.per_unit)} {self.base}"


Seconds = Annotated[float, Quantity("duration", "ns", 1_000_000_000)]
"""A time: "30 ms" in a scenario, 0.03 for the class."""

ByteCount = Annotated[int, Quantity("bytes", "B", 1)]
"""An amount of data: "64 KiB" in a scenario, 65536 for the class."""

BitsPerSecond = Annotated[int, Quantity("rate", "bit/s", 1)]
"""A rate: "10 Mbit/s" in a scenario, 10000000 for the class."""

_TYPES: dict[Any, str] = {bool: "boolean", int: "integer", float: "number", str: "text"}
_REMEDY = "annotate it as float, int, bool, str, Literal of strings, Seconds, ByteCount or BitsPerSecond"


def described(kind: type, *, starts: bool = True) -> list[dict[str, Any]]:
    """Describe the parameters of a class, in the order of its constructor.

    Args:
        kind: The class; its constructor takes parameters by name.
        starts: Whether the constructor's first argument is the start object.

    Raises:
        RefusedError: If scenarios cannot express one of them.
    """
    return [_described(kind, parameter, hint) for parameter, hint in _parameters(kind, 2 if starts else 1)]


def _parameters(kind: type, first: int) -> Iterator[tuple[inspect.Parameter, object]]:
    """Yield the constructor's parameters, continuing with the next base class where `**` passes others on."""
    for owner in kind.__mro__:
        if "__init__" not in vars(owner):
            continue
        taken = list(inspect.signature(vars(owner)["__init__"]).parameters.values())[first:]
        hints = _hints(kind, owner)
        for parameter in taken:
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                yield parameter, hints.get(parameter.name, type(parameter.default))
        if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in taken):
            return


def _hints(kind: type, owner: type) -> dict[str, Any]:
    try:
        return get_type_hints(vars(owner)["__init__"], include_extras=True)
    except Exception as error:
        what = f"has a class {_title(kind)} with invalid annotations: {error}"
        raise RefusedError("use", what, "import the names that they use") from error


def _described(kind: type, parameter: inspect.Parameter, hint: object) -> dict[str, Any]:
    base, *extra = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    said = next((one for one in extra if isinstance(one, Parameter)), Parameter())
    quantity = next((one for one in extra if isinstance(one, Quantity)), None)
    description: dict[str, Any] = {"name": parameter.name, "meaning": said.meaning}
    if quantity is not None:
        description["type"] = quantity.kind
    elif get_origin(base) is Literal and all(isinstance(word, str) for word in get_args(base)):
        description |= {"type": "word", "words": list(get_args(base))}
    elif base in _TYPES:
        description["type"] = _TYPES[base]
    else:
        shown = "without a type" if base is type(inspect.Parameter.empty) else f"of a type {base!r}"
        what = f"has a class {_title(kind)} whose parameter {parameter.name} is {shown} that no scenario can write"
        raise RefusedError("use", what, _REMEDY)
    values = {name: getattr(said, name) for name in ("above", "at_least", "below", "at_most")}
    if parameter.default is not parameter.empty:
        values["default"] = parameter.default
    for name, value in values.items():
        if value is not None:
            description[name] = value if quantity is None else quantity.written(value)
    return description | {"unit": said.unit, "source": said.source}


def _title(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
