"""The wheel installs and runs where there is no Rust."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ("run", "--bottleneck", "10 Mbit/s", "--rtt", "20 ms", "--flows", "cubic,reno", "--duration", "2 s")


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_clean_environment_without_rust_runs_the_example(tmp_path: Path) -> None:
    wheel = _build_wheel(tmp_path / "dist")
    assert "abi3" in wheel.name, "one wheel for every Python from 3.11 on"
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    environment = _without_rust()
    locked = ROOT / "requirements" / "base.lock"
    _run([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", locked], environment)
    _run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], environment)

    shown = _run([tmp_path / "clean" / "bin" / "ackclock", *EXAMPLE, "-o", tmp_path / "out"], environment)
    assert "goodput" in shown
    assert (tmp_path / "out" / "summary.json").is_file()
    place = _run([python, "-c", "import ackclock; print(ackclock.__file__)"], environment).strip()
    assert Path(place).is_relative_to(tmp_path / "clean")
    for command in (("validate-linux", "--only", "d_reno_ws1"), ("bench", "a"), ("script", "--differential", "1")):
        words = [tmp_path / "clean" / "bin" / "ackclock", *command]
        refused = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd="/")
        assert refused.returncode == 2 and "pip install 'ackclock[studies]'" in refused.stderr


def _build_wheel(folder: Path) -> Path:
    """Build with the same Cargo command line as `make build`, whose work is reused."""
    maturin = Path(sys.executable).parent / "maturin"
    build = [maturin, "build", "--quiet", "--release", "--locked", "--out", folder, "--interpreter", sys.executable]
    _run(build, dict(os.environ), cwd=ROOT)
    (wheel,) = folder.glob("ackclock-*.whl")
    return wheel


def _without_rust() -> dict[str, str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    places = os.environ["PATH"].split(os.pathsep)
    kept = [place for place in places if not any((Path(place) / tool).exists() for tool in ("cargo", "rustc"))]
    environment["PATH"] = os.pathsep.join(kept)
    return environment


def _run(command: list[object], environment: dict[str, str], cwd: Path | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd=cwd or Path("/"))
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout
