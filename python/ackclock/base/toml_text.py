"""TOML text of values, for overrides and for files."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters not allowed in a TOML comment."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(value: Any) -> str:  # noqa: ANN401  whatever TOML can say
    """Return a value as TOML, tables inline.

    Args:
        value: A text, number, boolean, array or table, as parsed from TOML.

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
    """Return a basic string; TOML has neither JSON's surrogate escapes nor a bare DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def scenario_toml(tree: Mapping[str, Any], comments: Sequence[str]) -> str:
    """Return a scenario as a TOML file.

    Args:
        tree: The scenario's tables: `name`, `duration`, `topology` and `flow`; `seed`, `measure`, `use` and `tcp` if it
            has them.
        comments: Comment lines at the top.
    """
    lines = [f"# {_CONTROL.sub(' ', comment)}" for comment in comments]
    top = ("name", "duration", "seed", "measure", "use")
    lines += [f"{key} = {toml_text(tree[key])}" for key in top if key in tree]
    tables = [("[topology]", tree["topology"]), *([("[tcp]", tree["tcp"])] if "tcp" in tree else [])]
    for head, table in (*tables, *(("[[flow]]", flow) for flow in tree["flow"])):
        lines += ["", head, *(f"{key} = {toml_text(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"
