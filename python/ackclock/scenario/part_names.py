"""Names of user-written parts in scenarios."""

import re
from typing import ClassVar

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Named:
    """Base class of parts with a scenario name, given by the keyword `name`: `class Mine(Queue, name="mine")`.

    Attributes:
        scenario_name: The name; None for a class without, which a scenario cannot name so.
    """

    __slots__ = ()

    scenario_name: ClassVar[str | None] = None

    def __init_subclass__(cls, *, name: str | None = None, **more: object) -> None:
        """Set the name, which is not inherited.

        Args:
            name: Name in scenarios.
            more: Keywords for other base classes.

        Raises:
            ValueError: If the name is not valid in scenarios.
        """
        super().__init_subclass__(**more)
        if name is not None and not _NAME.fullmatch(name):
            raise ValueError(
                f"{cls.__qualname__} is called {name!r}; "
                "names in scenarios must be lower-case letters, digits and underscores"
            )
        cls.scenario_name = name
