"""Packet scripts: packetdrill's language, run against the simulated endpoint in virtual time."""

from ackclock.script.model import ScriptError
from ackclock.script.runner import Failure, Verdict, run_script

__all__ = ["Failure", "ScriptError", "Verdict", "run_script"]
