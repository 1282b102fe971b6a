"""Runs of whole scripts, from their texts to verdicts: on this kernel, or inside a kernel in virtual time."""

from dataclasses import dataclass

from ackclock.running.inside import mapped_inside
from ackclock.running.linux_kernels import Kernel
from ackclock.script.kernel_host import KernelHost
from ackclock.script.namespace import in_real_time
from ackclock.script.options import Options
from ackclock.script.parse import parse
from ackclock.script.runner import Verdict, run
from ackclock.script.syntax import ScriptError


@dataclass(frozen=True, slots=True)
class Asked:
    """Script to run.

    Attributes:
        file: Its file, for messages.
        text: Its text.
        options: Options of its evaluation.
    """

    file: str
    text: str
    options: Options


def judge(asked: Asked) -> Verdict | ScriptError:
    """Run a script against the kernel that this process runs on.

    Raises:
        KernelError: If this machine cannot provide a namespace.
    """
    try:
        with in_real_time():
            return run(parse(asked.text, asked.file), KernelHost(), asked.options)
    except ScriptError as error:
        return error


def judge_inside(kernel: Kernel, scripts: list[Asked]) -> list[Verdict | ScriptError]:
    """Run scripts inside a kernel in virtual time, in one start of it.

    Raises:
        KernelError: If the kernel stopped.
    """
    return mapped_inside(kernel, judge, scripts)
