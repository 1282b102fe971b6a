"""Errors: readable messages, and the exit code of each kind.

Rich is imported only when there is something to print, as its import takes as long as everything else.
"""

import os
import re
import shlex
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ackclock._core import ScenarioError, build_info, take_fault
from ackclock.base import extras, storage
from ackclock.base.extras import MissingPackageError
from ackclock.base.input_files import InputError as InputError
from ackclock.base.printable import amount
from ackclock.base.storage import OutputExistsError
from ackclock.base.user_code import UserCodeError
from ackclock.running import simulate
from ackclock.running.kernel import KernelError, RefusedError
from ackclock.scenario.diagnostics import Diagnostic

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_PANIC = "PanicException"
"""Python type of a Rust panic, which is not an `Exception`."""

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130

_NAMED_SINGLY = 3
"""Largest number of written files and folders that are named one by one."""


class WorkError(RuntimeError):
    """Error: the work failed for the reason in the message."""


_WRONG_INPUTS = (ScenarioError, InputError, OutputExistsError, RefusedError, MissingPackageError)
"""Errors that the user can correct."""

_SAY_THEMSELVES = (
    InputError, OutputExistsError, WorkError, KernelError, MissingPackageError, UserCodeError,
)  # fmt: skip
"""Errors whose message says everything, without a prefix or a traceback."""


def errors() -> "Console":
    """Return a console on standard error; standard output is for data."""
    from rich.console import Console

    from ackclock.plotting.terminal import filtered

    return filtered(Console(stderr=True, highlight=False, emoji=False, soft_wrap=True))


def guarded(work: Callable[[], object]) -> int:
    """Run the work and return its exit code; errors are printed on standard error."""
    try:
        work()
    except SystemExit as ending:
        if _is_of_a_controller(ending):
            return _explain(ending)
        code = _code(ending)
        return _interrupted() if code == INTERRUPTED else code
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError as error:
        return _explain(error) if _is_of_a_controller(error) else DONE
    except Exception as error:
        return _interrupted() if _is_of_a_signal(error) else _explain(error)
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        return _interrupted() if _signals else _explain_panic(error)
    return DONE


_signals = 0


def note_signal() -> None:
    """Note that a signal requested the end, so that later failures count as interruption."""
    global _signals
    _signals += 1


def _is_of_a_signal(error: Exception) -> bool:
    """Return whether an exception was caused by a signal; class creation and imports may convert it to another one."""
    if _signals:
        return True
    causes: list[BaseException] = [error]
    while (before := causes[-1].__cause__) is not None and before not in causes:
        causes.append(before)
    return any(
        isinstance(cause, KeyboardInterrupt) or (isinstance(cause, SystemExit) and cause.code == INTERRUPTED)
        for cause in causes
    )


def _explain_panic(error: BaseException) -> int:
    """Report a panic of the core in one line, as a bug to be reported."""
    fault = take_fault() or str(error)
    core = build_info()
    build = f"ackclock {core['version']} ({core['profile']}, {core['target']})"
    command = shlex.join(["ackclock", *sys.argv[1:]])
    wanted = f"please send us this line and the scenario with its files and its seed; it was {command}, {build}"
    if os.environ.get("ACKCLOCK_DEBUG") == "1":
        errors().print_exception()
    tell(lambda: say(f"this is a fault of ackclock: {fault}; {wanted}; ACKCLOCK_DEBUG=1 shows where"))
    return FAILED


def _interrupted() -> int:
    """Report an interruption: a sweep keeps finished points, a training its checkpoint; others list what they wrote."""
    kept = {
        "sweep": "the same command goes on from here",
        "study": "the same command goes on from here",
        "train": "the same command with --resume goes on from the last checkpoint",
    }
    placed = list(dict.fromkeys(storage.placed))
    folders = Counter(path.parent for path in placed)
    named = placed if len(placed) <= _NAMED_SINGLY else [f"{count:,} in {folder}" for folder, count in folders.items()]
    otherwise = f"written: {', '.join(map(str, named))}" if placed else "no results were written"
    tell(lambda: errors().print(f"interrupted; {kept.get(''.join(sys.argv[1:2]), otherwise)}", markup=False))
    return INTERRUPTED


def _code(ending: SystemExit) -> int:
    if ending.code is None or isinstance(ending.__context__, BrokenPipeError):
        return DONE
    return ending.code if isinstance(ending.code, int) else FAILED


def _explain(error: Exception | SystemExit) -> int:
    if isinstance(error, ModuleNotFoundError) and not _is_of_a_controller(error):
        error = extras.explained(error) or error
    tell(partial(_describe_failure, error))
    is_wrong_input = isinstance(error, _WRONG_INPUTS)
    return WRONG_INPUT if is_wrong_input and not _is_of_a_controller(error) else FAILED


def tell(print_it: Callable[[], None]) -> None:
    """Print if standard error is still open; the exit code does not depend on it."""
    try:
        print_it()
        sys.stderr.flush()
    except (OSError, SystemExit):  # Rich makes a SystemExit of a broken pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _describe_failure(error: Exception | SystemExit) -> None:
    if os.environ.get("ACKCLOCK_DEBUG") == "1":
        errors().print_exception()
    if _is_of_a_controller(error):
        _show_traceback(error)
    elif isinstance(error, ScenarioError):
        print_diagnostics(error)
    elif isinstance(error, RefusedError):
        errors().print(str(error), markup=False)
    elif isinstance(error, OSError) and not isinstance(error, (OutputExistsError, InputError)):
        say(_describe(error))
    elif isinstance(error, _SAY_THEMSELVES):
        say(str(error))
    else:
        say(f"{type(error).__name__}: {error} (this is a fault of ackclock; ACKCLOCK_DEBUG=1 shows where)")


def _is_of_a_controller(error: BaseException) -> bool:
    """Return whether user-written code raised an exception, which the core marks."""
    return hasattr(error, "ackclock_part")


def _show_traceback(error: BaseException) -> None:
    """Print the traceback of user-written code, from where the simulation called it."""
    told = getattr(error.__cause__, "tb", None)
    text = _from_call(told) if isinstance(told, str) else _traceback(error)
    errors().print(text, end="", markup=False)
    say("a part of the scenario failed; no results were written")


def _from_call(told: str) -> str:
    """Extract the part of a traceback below the call, from the text that another process sent."""
    head, *frames = re.split(r'(?m)^(?=  File ")', told.strip('"\n'))
    calling = [place for place, frame in enumerate(frames, 1) if f", in {simulate.__name__}\n" in frame]
    return f"{head}{''.join(frames[max(calling, default=0) :])}\n"


def _traceback(error: BaseException) -> str:
    frame = inside = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code is simulate.__code__:
            inside = frame.tb_next
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, inside))


def say(message: str) -> None:
    """Print an error in one line."""
    from rich.markup import escape

    errors().print(f"[bold red]error:[/] {escape(' '.join(message.splitlines()))}")


def _describe(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    kept = "" if storage.placed else "; no results were written"
    return f"{error.filename}: {reason}{kept}" if error.filename else reason


def print_diagnostics(error: ScenarioError) -> None:
    """Print every mistake of a scenario with its place, value and remedy."""
    console = errors()
    for diagnostic in error.diagnostics:
        # Left unwrapped: what is marked in a line has to stay above its marks.
        console.print(_diagnostic(diagnostic), soft_wrap=True)
    count = len(error.diagnostics)
    more = "more than " if error.has_more else ""
    console.print(f"[bold red]{more}{amount(count, 'mistake')}[/]; nothing was run")


def _diagnostic(diagnostic: Diagnostic) -> "Text":
    """Format a diagnostic: `file:line:column: error: ...`, for editors to jump to, the marked line and the remedy."""
    from rich.text import Text

    places = (diagnostic["file"], diagnostic["line"], diagnostic["column"])
    place = ":".join(str(part) for part in places if part is not None)
    text = Text.assemble((f"{place}: ", "bold"), ("error: ", "bold red"))
    message = diagnostic["message"]
    if diagnostic["field"]:
        text.append(diagnostic["field"], "cyan").append(": " if message.startswith("there ") else " ")
    text.append(message)
    if diagnostic["source_line"] is not None:
        text.append(f"\n    {diagnostic['source_line']}\n    ").append(diagnostic["marks"] or "", "bold red")
    if diagnostic["unseen_value"]:
        text.append("\n  value: ", "dim").append(diagnostic["unseen_value"])
    if diagnostic["remedy"]:
        text.append("\n  remedy: ", "dim").append(diagnostic["remedy"], "green")
    return text
