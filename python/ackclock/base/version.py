"""Version of the package: the one that the compiled core was built with."""

from ackclock._core import build_info

__version__: str = str(build_info()["version"])
