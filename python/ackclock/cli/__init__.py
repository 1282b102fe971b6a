"""The command line: `ackclock COMMAND`. One file for each command or small group of them."""

from ackclock.cli.app import main

__all__ = ["main"]
