"""Values as the text of TOML that says them: for overrides, and for files that are written."""

import json
import re
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(value: Any) -> str:  # noqa: ANN401  whatever TOML can say
    """Write a value as TOML, tables inline.

    Args:
        value: As TOML was read: text, number, truth value, array or table.

    Examples:
        >>> toml_text({"kind": "fixed", "a b": [1, True]})
        '{ kind = "fixed", "a b" = [1, true] }'
    """
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {toml_text(entry)}' for key, entry in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_text, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return _string(value) if isinstance(value, str) else str(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    """A basic string: TOML has neither the surrogates of JSON's escapes nor a bare DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
