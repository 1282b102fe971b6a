"""Head of a script, which selects the stack: `// PROFILE: NAME` and `// SET: path=value`.

For any other program these lines are comments.
"""

import re
from dataclasses import dataclass

_LINE = re.compile(r"^// (PROFILE|SET): (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Head:
    """Stack for a script.

    Attributes:
        profile: Stack profile, if the script names one.
        overrides: Changes to the profile, as `path=value`.
    """

    profile: str | None
    overrides: tuple[str, ...]

    @property
    def is_any_linux(self) -> bool:
        """True if a default Linux is meant."""
        return self.profile in (None, "linux-6.x") and not self.overrides


def head_of(text: str) -> Head:
    r"""Return the stack that a script's text selects.

    Examples:
        >>> head_of("// PROFILE: rfc\n// SET: tcp.sack=false\n+0 ...")
        Head(profile='rfc', overrides=('tcp.sack=false',))
    """
    said = _LINE.findall(text)
    profiles = [value for key, value in said if key == "PROFILE"]
    return Head(profiles[-1] if profiles else None, tuple(value for key, value in said if key == "SET"))
