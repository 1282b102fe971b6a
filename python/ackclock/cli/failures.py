"""Errors as a person reads them, and the exit code of each.

Rich, which prints them, loads as long as all the rest, so that it is loaded when there is something to print.
"""

import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ackclock._core import ScenarioError, build_info, take_fault
from ackclock.base import extras, storage
from ackclock.base.extras import MissingPackageError
from ackclock.base.input_files import InputError as InputError
from ackclock.base.storage import OutputExistsError
from ackclock.base.user_code import UserCodeError
from ackclock.running import simulate
from ackclock.running.kernel import KernelError, RefusedError
from ackclock.scenario.diagnostics import Diagnostic

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_PANIC = "PanicException"
"""What a panic of Rust is to Python, no `Exception`."""

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


class WorkError(RuntimeError):
    """The work failed for a reason that the message tells."""


_WRONG_INPUTS = (ScenarioError, InputError, OutputExistsError, RefusedError, MissingPackageError)
"""What the user can mend."""

_SAY_THEMSELVES = (
    InputError, OutputExistsError, WorkError, KernelError, MissingPackageError, UserCodeError,
)  # fmt: skip
"""Whose messages are all that there is to say."""


def errors() -> "Console":
    """Return a console on standard error; data goes to standard output."""
    from rich.console import Console

    from ackclock.plotting.terminal import filtered

    return filtered(Console(stderr=True, highlight=False, emoji=False, soft_wrap=True))


def guarded(work: Callable[[], object]) -> int:
    """Do the work and turn how it ends into an exit code, with a message on standard error."""
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
    """A signal asks for the end: what fails from now on fails of that."""
    global _signals
    _signals += 1


def _is_of_a_signal(error: Exception) -> bool:
    """Python makes another exception of one that comes while it makes a class, packages of one while they load."""
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
    """A fault of the compiled core, in a line that is to be sent to us."""
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
    """A sweep keeps the points that it finished, a training its checkpoint; others tell what they have written."""
    kept = {
        "sweep": "the same command goes on from here",
        "study": "the same command goes on from here",
        "train": "the same command with --resume goes on from the last checkpoint",
    }
    written = ", ".join(str(path) for path in storage.placed)
    otherwise = f"written: {written}" if written else "no results were written"
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
    """Say it if anybody reads standard error still; the exit code is the same."""
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
    """The core marks an exception that a class of the user raised, whatever its type."""
    return hasattr(error, "ackclock_part")


def _show_traceback(error: BaseException) -> None:
    """An exception of the user's own class, as Python prints it, from where the simulation called the class."""
    told = getattr(error.__cause__, "tb", None)
    text = _from_call(told) if isinstance(told, str) else _traceback(error)
    errors().print(text, end="", markup=False)
    say("a part of the scenario failed; no results were written")


def _from_call(told: str) -> str:
    """A traceback that another process told, which cannot send more than its text."""
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
    """Print what went wrong, on one line."""
    from rich.markup import escape

    errors().print(f"[bold red]error:[/] {escape(' '.join(message.splitlines()))}")


def _describe(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    kept = "" if storage.placed else "; no results were written"
    return f"{error.filename}: {reason}{kept}" if error.filename else reason


def print_diagnostics(error: ScenarioError) -> None:
    """Print every mistake of a scenario with its place, its value and the remedy."""
    console = errors()
    for diagnostic in error.diagnostics:
        # Left unwrapped: what is marked in a line has to stay above its marks.
        console.print(_diagnostic(diagnostic), soft_wrap=True)
    count = len(error.diagnostics)
    more = "more than " if error.has_more else ""
    console.print(f"[bold red]{more}{count} mistake{'s' if count != 1 else ''}[/]; nothing was run")


def _diagnostic(diagnostic: Diagnostic) -> "Text":
    """`file:line:column: error: field must be ...`, which editors can jump to, the line with its marks, the remedy."""
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
