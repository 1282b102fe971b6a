"""The option `--on`: the simulator, a kernel in virtual time, or this machine's kernel."""

from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.cli.failures import InputError

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="PLACE",
        help="Run in the simulator, or on linux or linux:NAME, a kernel of ackclock linux build in virtual time.",
    ),
]
"""Option of commands that do not run on this machine's kernel in real time."""


def kernel_of(on: str, others: str = "simulator") -> "Kernel | None":
    """Return the kernel in virtual time that `--on` names.

    Args:
        on: Value of the option.
        others: Other values that the command takes, separated by commas.

    Returns:
        The kernel; None for one of the other places.

    Raises:
        InputError: If there is no such place.
        KernelError: If the kernel has not been built.
    """
    if on in others.split(", "):
        return None
    from ackclock.running import linux_kernels

    if (found := linux_kernels.at(on)) is None:
        raise InputError(f"--on {on}: must be {others}, linux or linux:NAME, such as linux:6.12")
    return found
