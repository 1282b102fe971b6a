"""The wheel for Pyodide: the package's files, its metadata by maturin, and the extension that build.sh linked.

maturin itself would link with emcc.
"""

import argparse
import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NATIVE = re.compile(r"^Tag: .*$", re.MULTILINE)


def metadata(folder: Path, tag: str) -> dict[str, bytes]:
    """Return the files of the folder `.dist-info`, without the list of files."""
    command = [Path(sys.executable).with_name("maturin"), "pep517", "write-dist-info", "--metadata-directory", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    found = {name: file.read_bytes() for name, file in files.items() if file.name != "RECORD"}
    (wheel,) = (name for name in found if name.endswith("/WHEEL"))
    found[wheel] = NATIVE.sub(f"Tag: {tag}", found[wheel].decode()).encode()
    return found


def package() -> dict[str, bytes]:
    """Return the package's files that Git has or would have."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "ackclock"]
    listed = subprocess.run(command, cwd=ROOT / "python", check=True, capture_output=True, text=True).stdout.split("\n")
    files = {name: ROOT / "python" / name for name in listed if name}
    return {name: file.read_bytes() for name, file in files.items() if file.is_file()}


def write(extension: Path, platform: str, out: Path) -> Path:
    """Write the wheel, and return its path."""
    tag = f"cp311-abi3-{platform}"
    with tempfile.TemporaryDirectory() as folder:
        about = metadata(Path(folder), tag)
    contents = package() | {"ackclock/_core.abi3.so": extension.read_bytes()} | about
    (name,) = {name.partition("/")[0] for name in about}
    record = f"{name}/RECORD"
    hashes = {file: base64.urlsafe_b64encode(hashlib.sha256(content).digest()) for file, content in contents.items()}
    rows = [f"{file},sha256={hashes[file].decode().rstrip('=')},{len(contents[file])}\n" for file in contents]
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{name.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        listed = "".join([*rows, f"{record},,\n"]).encode()
        for file, content in [*sorted(contents.items()), (record, listed)]:
            archive.writestr(zipfile.ZipInfo(file), content, zipfile.ZIP_DEFLATED, 9)
    return wheel


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extension", type=Path)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    print(write(given.extension, given.platform, given.out))
