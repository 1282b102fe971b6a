"""Values of settings: their text for people, and a key for comparison."""

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any


def value_key(value: Any) -> str:  # noqa: ANN401
    """Return a key that is the same for equal values, however they are written.

    Args:
        value: Any TOML value.

    Examples:
        >>> value_key(0) == value_key(0.0), value_key(1) == value_key(True), value_key("red") == value_key(["red"])
        (True, False, False)
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {value_key(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_key, value))}]"
    if isinstance(value, float) and value.is_integer():
        return json.dumps(int(value))
    return json.dumps(value, default=str)


def each_once(values: Iterable[Any]) -> list[Any]:
    """Return each value once, as it was first written.

    Args:
        values: The values.

    Examples:
        >>> each_once([0, 0.01, 0.0, True, 1])
        [0, 0.01, True, 1]
    """
    found: dict[str, Any] = {}
    for value in values:
        found.setdefault(value_key(value), value)
    return list(found.values())


def value_text(value: Any) -> str:  # noqa: ANN401
    """Return a short text of a value; a table begins with its kind, a policy with its file and folder.

    Args:
        value: Any TOML value.

    Examples:
        >>> value_text({"kind": "red", "limit": "2 bdp"}), value_text(True)
        ('red (limit 2 bdp)', 'true')
        >>> value_text({"kind": "policy", "file": "learnt/policy.onnx", "controller": "reno"})
        'learnt/policy.onnx (controller reno)'
        >>> value_text([1, 2]), value_text([])
        ('1, 2', 'none')
    """
    if isinstance(value, Mapping):
        is_policy = value.get("kind") == "policy" and isinstance(value.get("file"), str)
        kind = str(PurePath(*PurePath(value["file"]).parts[-2:])) if is_policy else str(value.get("kind", ""))
        left_out = ("kind", "file") if is_policy else ("kind",)
        texts = {key: value_text(entry) for key, entry in value.items() if key not in left_out}
        rest = ", ".join(f"{key} {text[:8] if key == 'sha256' else text}" for key, text in texts.items())
        return f"{kind} ({rest})" if kind and rest else kind or rest
    if isinstance(value, bool):
        return str(value).lower()
    return (", ".join(map(value_text, value)) or "none") if isinstance(value, list) else str(value)
