"""The name by which scenarios call a part of one's own."""

import re
from typing import ClassVar

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Named:
    """What has a name in scenarios: a class with the keyword `name`, as in `class Mine(Queue, name="mine")`.

    Attributes:
        scenario_name: The name; None for a class without, which a scenario cannot name so.
    """

    __slots__ = ()

    scenario_name: ClassVar[str | None] = None

    def __init_subclass__(cls, *, name: str | None = None, **more: object) -> None:
        """Take the name up; a derived class has another name, or none.

        Args:
            name: What scenarios call it.
            more: For other base classes.

        Raises:
            ValueError: If scenarios have no such names.
        """
        super().__init_subclass__(**more)
        if name is not None and not _NAME.fullmatch(name):
            raise ValueError(
                f"{cls.__qualname__} is called {name!r}; "
                "names in scenarios are of lower-case letters, digits and underscores"
            )
        cls.scenario_name = name
