"""The code of a measure: every edit that may change its number makes another subject, and no other edit does.

The rule is in the head of `ackclock.claims.own_code`.
"""

import ast
import sys
from pathlib import Path

import pytest

from ackclock.claims.folder import load_module
from ackclock.claims.own_code import parts
from ackclock.claims.python_text import said


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("x = f'{a:.3f} {{'\n", "x  = f'{a:.3f} {{'  # three\n", True),
        ("x = f'{a:.3f}'\n", "x = f'{a:.2f}'\n", False),
        ('x = "a b"\n', 'x = "ab"\n', False),
        ("if a:\n    b()\n    c()\n", "if a:\n    b()\nc()\n", False),
        ("def f():\n    '''One.'''\n    return 1\n", "def f():\n\treturn 1\n", True),
        ("x = ('a'\n     'b')\n", "x = ('a' 'b')\n", True),
        ("x = f(a, 'b')\n", 'x = f(\n    a,\n    "b",\n)\n', True),
        ("x = 1_000.0\n", "x = 1e3\n", True),
        ("x = (a - b) - c\n", "x = a - b - c\n", True),
        ("x = a - (b - c)\n", "x = a - b - c\n", False),
        ("x = 1\n", "x = 1.0\n", False),
        ("x = None\n", "x = 0\n", False),
        ("def f(): return None\n", "def f(): return False\n", False),
        ("x = [a, *b]\n", "x = [a, b]\n", False),
        ("x = f(a, b=1)\n", "x = f(a, 1)\n", False),
        ("x = {**a, 'b': 1}\n", "x = {'b': 1, **a}\n", False),
    ],
)
def test_texts_are_one_where_their_trees_are(one: str, other: str, is_same: bool) -> None:
    assert (said(ast.parse(one)) == said(ast.parse(other))) is is_same


def _parts(folder: Path) -> list[object]:
    load_module(folder / "measure.py")
    return parts(folder, "A")


RESTS: dict[str, tuple[str, str, str]] = {
    "a table filled later": ("TABLE = {}\nTABLE['a'] = 1", "TABLE['a'] = 1", "TABLE['a'] = 2"),
    "a table filled in a loop": ("TABLE = {}\nfor k in 'ab':\n    TABLE[k] = 1", "= 1", "= 2"),
    "a table under another name": ("TABLE = {}\nOTHER = TABLE\nOTHER['a'] = 1", "['a'] = 1", "['a'] = 2"),
    "a register": ("TABLE = []\n@TABLE.append\ndef hidden():\n    return 1", "return 1", "return 2"),
    "a helper under a condition": ("if True:\n    def TABLE():\n        return 1", "return 1", "return 2"),
    "a helper that is tried": (
        "try:\n    import nothing\nexcept ImportError:\n    TABLE = 1",
        "TABLE = 1",
        "TABLE = 2",
    ),
    "a default": ("def TABLE(by=1): return by", "by=1", "by=2"),
    "a range": ("TABLE = measure_of(range(3))", "range(3)", "range(4)"),
    "an instance": ("class Own:\n    def __init__(self, by): self.by = by\nTABLE = Own(1)", "Own(1)", "Own(2)"),
    "a lambda": ("TABLE = {'x': lambda: 1}", "lambda: 1", "lambda: 2"),
    "a cached function": ("from functools import cache\n@cache\ndef TABLE(): return 1", "return 1", "return 2"),
    "a file": ("TABLE = HERE / 'data' / 'a.json'", "@data/a.json", ""),
    "files": ("TABLE = [HERE / f'data/{x}.json' for x in 'ab']", "@data/b.json", ""),
    "a module": ("more = load_module(HERE / 'more.py')\nTABLE = more.number", "@more.py", "number = 2"),
    "a module in a function": ("def TABLE(): return load_module(HERE / 'more.py').number", "@more.py", "number = 2"),
    "a module that is handed on": (
        "more = load_module(HERE / 'more.py')\ndef get(): return more\ndef TABLE(): return get().number",
        "@more.py",
        "number = 2",
    ),
    "an import": (
        "sys.path.insert(0, str(HERE))\nfrom own_helper import number as TABLE",
        "@own_helper.py",
        "number = 2",
    ),
    "a star": (
        "sys.path.insert(0, str(HERE))\nfrom own_helper import *\nTABLE = number",
        "@own_helper.py",
        "number = 2",
    ),
    "a name that is made": (
        "more = load_module(HERE / 'more.py')\ndef TABLE(): return getattr(more, 'num' + 'ber')",
        "@more.py",
        "number = 2",
    ),
    "an import in a condition": (
        "sys.path.insert(0, str(HERE))\nif True:\n    from own_helper import number as TABLE",
        "@own_helper.py",
        "number = 2",
    ),
    "a module by its name": (
        "import importlib\nsys.path.insert(0, str(HERE))\nTABLE = importlib.import_module('own_helper').number",
        "@own_helper.py",
        "number = 2",
    ),
    "a subclass": (
        "class Base:\n    by = 0\nclass Sub(Base):\n    by = 1\ndef TABLE(): return Base.__subclasses__()[0].by",
        "by = 1",
        "by = 2",
    ),
    "files of a pattern": ("TABLE = sorted(HERE.glob('data/*.json'))", "@data/b.json", ""),
    "a file without a suffix": ("TABLE = (HERE / 'wan')", "@wan", "2"),
    "limits": ("TABLE = HERE / 'claims.toml'", "@claims.toml", "[[claim]]\nid = 'A'\nlow = 2\n"),
}
RESTING = """\
import ast
import sys
from pathlib import Path
from ackclock.claims.folder import load_module
HERE = Path(__file__).parent
def measure_of(what):
    return lambda runs: what
@BODY@
MEASURES = {"A": measure_of(lambda: TABLE), "B": measure_of(0)}
"""


@pytest.fixture
def resting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "data").mkdir()
    for name in ("data/a.json", "data/b.json", "own_helper.py", "more.py", "wan"):
        (tmp_path / name).write_text("number = 1")
    (tmp_path / "claims.toml").write_text("[[claim]]\nid = 'A'\nlow = 1\n")
    return tmp_path


@pytest.mark.parametrize(("body", "old", "new"), RESTS.values(), ids=RESTS)
def test_a_measure_rests_on_whatever_its_code_uses(resting: Path, body: str, old: str, new: str) -> None:
    """Each edit that changes the number of the measure makes its record that of another."""
    text = RESTING.replace("@BODY@", body)
    (resting / "measure.py").write_text(text)
    found = _parts(resting)
    assert _parts(resting) == found
    file = resting / (old[1:] if old[0] == "@" else "measure.py")
    assert old[0] == "@" or old in text
    file.write_text(new if old[0] == "@" else text.replace(old, new))
    assert _parts(resting) != found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("measure_of(0)", "measure_of(1)"),
        ('"B": measure_of(0)', '"B": measure_of(0), "C": measure_of(2)'),
        ("MEASURES =", "OTHER = 3\nMEASURES ="),
        ("MEASURES =", "def other(): return TABLE\nMEASURES ="),
        ("import sys", "import sys  # of Python"),
        ("    return", '    """Say it."""\n\n    return'),
        ("import sys\nfrom pathlib import Path", "from pathlib import Path\nimport sys"),
        ("MEASURES =", "MOVED"),
    ],
)
def test_a_measure_rests_on_nothing_else(resting: Path, old: str, new: str) -> None:
    text = RESTING.replace("@BODY@", "TABLE = 1")
    (resting / "measure.py").write_text(text)
    found = _parts(resting)
    assert old in text
    moved = "def measure_of(what):\n    return lambda runs: what\n"
    edited = (
        text.replace(moved, "").replace("MEASURES =", f"{moved}MEASURES =")
        if new == "MOVED"
        else text.replace(old, new)
    )
    (resting / "measure.py").write_text(edited)
    assert _parts(resting) == found


TABLES: dict[str, tuple[str, bool]] = {
    "written out": ('MEASURES = {"A": one(1), "B": one(2)}', True),
    "joined": ('MORE = {"B": one(2)}\nMEASURES = {"A": one(1)} | MORE', True),
    "joined, not written out": ('MORE = {"B": one(2), "A": one(1)}\nMEASURES = {} | MORE', True),
    "spread": ('def more(): return {"A": one(1)}\nMEASURES = {**more(), "B": one(2)}', True),
    "drawn from another": (
        'MY_MEASURES = {"A": one(1), "B": one(2)}\nMEASURES = {k: v for k, v in MY_MEASURES.items()}',
        False,
    ),
    "one by one": ('MEASURES = {}\nMEASURES["A"] = one(1)\nMEASURES["B"] = one(2)', True),
    "updated": ('MEASURES = {"B": one(2)}\nMEASURES.update(A=one(1))', True),
    "in a loop": ('MEASURES = {"B": one(2)}\nfor name in "A":\n    MEASURES[name] = one(1)', False),
    "one of a few": ('OTHER_MEASURES = {"x": one(1)}\nMEASURES = {"A": OTHER_MEASURES["x"], "B": one(2)}', True),
    "renamed": (
        'BY_MEASURES = {"x": one(1)}\nMEASURES = {k.replace("x", "A"): v for k, v in BY_MEASURES.items()}',
        True,
    ),
    "of another name": ('def here(): return one(1)\nA = here()\nMEASURES = {"A": A, "B": one(2)}', True),
    "reckoned": ('MEASURES = {name: one(1) for name in "AC"} | {"B": one(2)}', True),
}


@pytest.mark.parametrize(("table", "leaves_others"), TABLES.values(), ids=TABLES)
def test_an_entry_is_found_however_its_table_is_made(resting: Path, table: str, leaves_others: bool) -> None:
    """A record is lost with its own entry; that of another is left where the text says which it is."""
    found = []
    for one, two in ((1, 2), (3, 2), (1, 4)):
        made = table.replace("one(1)", f"one({one})").replace("one(2)", f"one({two})")
        (resting / "measure.py").write_text(f"def one(by):\n    return lambda runs: by\n{made}\n")
        found.append(_parts(resting))
    assert found[0] != found[1]
    assert (found[0] == found[2]) is leaves_others


def test_a_text_may_be_the_name_of_a_file_that_is_not_python(resting: Path) -> None:
    (resting / "data.py").write_text("print 1\n")
    (resting / "measure.py").write_text(RESTING.replace("@BODY@", "TABLE = 'data'"))
    assert _parts(resting)


JOINED = {
    "loaded": "MEASURES = {**load_module(HERE / 'more.py').MEASURES}",
    "loaded before": "more = load_module(HERE / 'more.py')\nMEASURES = {} | more.MEASURES",
    "imported": "sys.path.insert(0, str(HERE))\nfrom more import MEASURES",
    "imported as another": "sys.path.insert(0, str(HERE))\nfrom more import MEASURES as MORE\nMEASURES = {**MORE}",
    "a function": "sys.path.insert(0, str(HERE))\nfrom more import one, two\nMEASURES = {'A': one, 'B': two}",
}
MORE = "def one(runs):\n    return 1\ndef two(runs):\n    return 2\nMEASURES = {'A': one, 'B': two}\n"


@pytest.mark.parametrize("text", JOINED.values(), ids=JOINED)
def test_an_entry_may_be_of_another_module(resting: Path, text: str) -> None:
    begin = RESTING.partition("def ")[0]
    (resting / "measure.py").write_text(f"{begin}{text}\n")
    found = []
    for more in (MORE, MORE.replace("return 1", "return 3"), MORE.replace("return 2", "return 4")):
        (resting / "more.py").write_text(more)
        sys.modules.pop("more", None)
        found.append(_parts(resting))
    assert found[0] != found[1]
    assert (found[0] == found[2]) is ("import MEASURES" not in text)
